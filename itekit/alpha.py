"""Alpha-equivalence: renamings of interchangeable tokens, and what a renaming must not change.

Paper, section "Problem Definition": a renaming ρ is a bijection on the vocabulary that moves
interchangeable tokens only; two (input, output) pairs are alpha-equivalent if one renaming turns
input and output of the one into the other. Section "Alpha-Covariance": n names and k used ones make
P(n, k) = n! / (n - k)! such pairs, and the measure is how often a model's answer survives them.

A token sequence is a string (one character a token), a list or a tuple of tokens; anything that has
``tokens()`` and ``rename(renaming)``, as formulas and traces in `itekit.logic`, serves as well.
``interchangeable`` is the tokens of one class.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass
from itertools import permutations
from typing import ClassVar

import numpy as np

Tokens = Sequence[str]  # or a formula, trace or assignment
LARGEST_RANK = 2**62


@dataclass(frozen=True)
class Renaming:
    """A bijection on tokens that leaves every token it does not mention as it is.

    ``mapping`` is one-to-one, {old: new}. Where it maps onto tokens that it does not rename itself,
    it is closed into a bijection along its chains: {a: b, b: c} also sends c to a, so that no two
    tokens ever merge. Equal bijections compare equal, whatever they came from. With
    ``interchangeable`` given, ValueError for another token.
    """

    mapping: Mapping[str, str]
    interchangeable: InitVar[Iterable[str] | None] = None
    identity: ClassVar["Renaming"]

    def __post_init__(self, interchangeable: Iterable[str] | None) -> None:
        known = set(interchangeable or ())
        back = {}
        for old, new in self.mapping.items():
            for token in (old, new):
                if interchangeable is not None and token not in known:
                    raise ValueError(f"{token!r} is not interchangeable ({old!r} -> {new!r})")
            if new in back:
                raise ValueError(f"not one-to-one: {back[new]!r} and {old!r} both become {new!r}")
            back[new] = old
        full = dict(self.mapping)
        for end in back.keys() - full.keys():
            full[end] = end
            while full[end] in back:
                full[end] = back[full[end]]
        moved = {old: full[old] for old in sorted(full) if full[old] != old}
        object.__setattr__(self, "mapping", moved)

    def __call__(self, tokens: Tokens) -> Tokens:
        """Rename each token; a string gives a string, a list a list, a formula a formula."""
        if hasattr(tokens, "rename"):
            return tokens.rename(self)
        renamed = [self.mapping.get(token, token) for token in tokens]
        if isinstance(tokens, str):
            if long := [token for token in renamed if len(token) > 1]:
                raise ValueError(f"{long[0]!r} does not fit in a string; give a list of tokens")
            return "".join(renamed)
        return tuple(renamed) if isinstance(tokens, tuple) else renamed

    def apply_pair(self, source: Tokens, target: Tokens) -> tuple[Tokens, Tokens]:
        """Rename input and output together: the paper's alpha-conversion of a pair."""
        return self(source), self(target)

    def inverse(self) -> "Renaming":
        """The renaming that undoes this one."""
        return Renaming({new: old for old, new in self.mapping.items()})

    def __hash__(self) -> int:
        return hash(tuple(self.mapping.items()))


Renaming.identity = Renaming({})


def all_renamings(used: Sequence[str], available: Sequence[str]) -> Iterator[Renaming]:
    """All P(n, k) renamings of k used tokens to n available ones, in lexicographic order."""
    _count(used, available)
    images = permutations(available, len(used))
    return (Renaming(dict(zip(used, image, strict=True))) for image in images)


def sample_renamings(
    used: Sequence[str], available: Sequence[str], count: int, rng: np.random.Generator
) -> list[Renaming]:
    """``count`` distinct renamings, uniformly without replacement, in random order.

    Exact however large P(n, k) is, and never lists it: memory is of the order of ``count``.
    ValueError: there are fewer renamings than ``count``.
    """
    total = _count(used, available)
    bases = [len(available) - place for place in range(len(used))]
    if total <= LARGEST_RANK:  # a rank in lexicographic order is a number of mixed radix
        ranks = rng.choice(total, size=count, replace=False)
        choices = [np.unravel_index(rank, bases) for rank in ranks]
    else:  # repeats are rare here, and drawing again when one comes up is exact
        choices = {}
        while len(choices) < count:
            choices[tuple(int(rng.integers(base)) for base in bases)] = None
    renamings = []
    for choice in choices:
        left = list(available)
        images = {token: left.pop(place) for token, place in zip(used, choice, strict=True)}
        renamings.append(Renaming(images))
    return renamings


def _count(used: Sequence[str], available: Sequence[str]) -> int:
    """P(n, k), the number of renamings from k used tokens to n available ones."""
    for tokens in (used, available):
        if len(set(tokens)) < len(tokens):
            raise ValueError(f"a token stands twice in {tokens!r}")
    k, n = len(used), len(available)
    if k > n:
        raise ValueError(f"{k} used tokens cannot be renamed to {n} available ones: too few names")
    return math.perm(n, k)


def tokens_of(value) -> Tokens:
    """The tokens of a formula, trace or assignment; a token sequence as it is."""
    return value.tokens() if hasattr(value, "tokens") else value


def used_tokens(tokens: Tokens, interchangeable: Iterable[str]) -> list[str]:
    """The interchangeable tokens of a sequence, once each, by first appearance."""
    known = set(interchangeable)
    return [token for token in dict.fromkeys(tokens_of(tokens)) if token in known]


def _form(tokens: Tokens, names: set[str]) -> tuple:
    """Names numbered by first appearance: the same for alpha-equivalent sequences and no others."""
    first: dict[str, int] = {}
    return tuple(first.setdefault(t, len(first)) if t in names else t for t in tokens_of(tokens))


def renamed_among(
    sequences: Iterable[Tokens], known: Iterable[Tokens], interchangeable: Iterable[str]
) -> list[bool]:
    """Whether each sequence is a renaming of one of the known ones."""
    names = set(interchangeable)
    forms = {_form(tokens, names) for tokens in known}
    return [_form(tokens, names) in forms for tokens in sequences]


def as_type_of(tokens: Tokens, others: Sequence[str]) -> Tokens:
    """`others` in the type of `tokens`: a string for a string, a tuple for all else."""
    return "".join(others) if isinstance(tokens, str) else tuple(others)


def canonical_renaming(
    tokens: Tokens, names: Sequence[str], interchangeable: Iterable[str]
) -> Renaming:
    """The renaming that gives the i-th interchangeable token to appear the i-th name.

    Apply it to input and output alike. ValueError: there are fewer names than tokens.
    """
    used = used_tokens(tokens, interchangeable)
    if len(used) > len(names):
        raise ValueError(f"{len(used)} tokens appear, and there are {len(names)} names")
    return Renaming(dict(zip(used, names, strict=False)), interchangeable)


def canonical(tokens: Tokens, names: Sequence[str], interchangeable: Iterable[str]) -> Tokens:
    """The sequence renamed by first appearance: one form for each alpha-equivalence class."""
    return canonical_renaming(tokens, names, interchangeable)(tokens)


def alpha_equivalent(a: Tokens, b: Tokens, interchangeable: Iterable[str]) -> bool:
    """Whether some renaming of interchangeable tokens turns sequence a into sequence b."""
    names = set(interchangeable)
    return _form(a, names) == _form(b, names)


def alpha_equivalent_pairs(
    pair: tuple[Tokens, Tokens], other: tuple[Tokens, Tokens], interchangeable: Iterable[str]
) -> bool:
    """Whether one renaming turns both halves of an (input, output) pair into the other pair."""
    (a, b), (c, d) = (tuple(map(tokens_of, both)) for both in (pair, other))
    return len(a) == len(c) and alpha_equivalent([*a, *b], [*c, *d], interchangeable)


def alpha_covariance(predictions_undone: Iterable[Sequence[str]]) -> float:
    """1 - (|U| - 1) / (|P| - 1): paper, equation "alpha-covariance".

    One prediction for each alpha-equivalent input of P, each with its renaming undone:
    ``[r.inverse()(predict(r(x))) for r in renamings]``. U is the set of different ones. 1: no
    renaming changed the answer; 0: no two gave the same one. Predictions are compared as they are
    given: ``a1b0`` and ``b0a1`` (a true, b false) differ as text and are one assignment.
    """
    undone = [p if hasattr(p, "tokens") else tuple(p) for p in predictions_undone]
    if len(undone) < 2:
        raise ValueError(f"alpha-covariance needs at least 2 predictions, found {len(undone)}")
    return 1.0 - (len(set(undone)) - 1) / (len(undone) - 1)
