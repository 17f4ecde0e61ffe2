"""Renamings of interchangeable tokens, and alpha-equivalence of token sequences.

Paper, section "Problem Definition": a renaming is a bijection f on the vocabulary that moves
interchangeable tokens only; applied to input and output together it gives an alpha-equivalent
pair.  Paper, section "Alpha-Covariance": how much of a model's answer survives a renaming.

A token sequence is a string (one character a token), a list or a tuple of tokens.  Where a
function takes ``interchangeable``, it is a collection of tokens, or a collection of classes of
tokens (such as ``vocabulary.interchangeable``): a renaming never leaves a class.
Plain Python and numpy: nothing here needs torch.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass
from itertools import permutations
from types import MappingProxyType
from typing import ClassVar

import numpy as np

LARGEST_RANK = 2**62


@dataclass(frozen=True, repr=False)
class Renaming:
    """A bijection on tokens that leaves every token it does not mention as it is.

    ``mapping`` is one-to-one, {old: new}.  Where it maps onto tokens that it does not rename
    itself, it is closed into a bijection along its chains: {a: b, b: c} also sends c to a, so
    that no two tokens ever merge.  Equal bijections compare equal, whatever they came from.

    Raises ValueError if two tokens get one name, or if a token is not a non-empty string, or
    (with ``interchangeable`` given) not interchangeable, or renamed into another class.
    """

    mapping: Mapping[str, str]
    interchangeable: InitVar[Iterable | None] = None
    identity: ClassVar["Renaming"]

    def __post_init__(self, interchangeable: Iterable | None) -> None:
        back: dict[str, str] = {}
        for old, new in self.mapping.items():
            for token in (old, new):
                if not isinstance(token, str) or not token:
                    raise ValueError(f"a token must be a non-empty string, found {token!r}")
            if new in back:
                raise ValueError(f"not one-to-one: {back[new]!r} and {old!r} both become {new!r}")
            back[new] = old
        if interchangeable is not None:
            _check_classes(self.mapping, interchangeable)
        full = dict(self.mapping)
        for end in back.keys() - full.keys():
            start = end
            while start in back:
                start = back[start]
            full[end] = start
        moved = {old: full[old] for old in sorted(full) if full[old] != old}
        object.__setattr__(self, "mapping", MappingProxyType(moved))

    def __call__(self, tokens: Sequence[str]) -> Sequence[str]:
        """Rename each token; a string gives a string, a list a list, a tuple a tuple.

        Raises ValueError if a string would get a name longer than one character.
        """
        renamed = [self.mapping.get(token, token) for token in tokens]
        if isinstance(tokens, str):
            for token in renamed:
                if len(token) > 1:
                    raise ValueError(f"{token!r} does not fit in a string; give a list of tokens")
            return "".join(renamed)
        return tuple(renamed) if isinstance(tokens, tuple) else renamed

    def apply_pair(
        self, source: Sequence[str], target: Sequence[str]
    ) -> tuple[Sequence[str], Sequence[str]]:
        """Rename input and output together: the paper's alpha-conversion of a pair."""
        return self(source), self(target)

    def inverse(self) -> "Renaming":
        """The renaming that undoes this one."""
        return Renaming({new: old for old, new in self.mapping.items()})

    def __matmul__(self, first: "Renaming") -> "Renaming":
        """``(r @ s)(x) == r(s(x))``: first s, then r."""
        if not isinstance(first, Renaming):
            return NotImplemented
        tokens = self.mapping.keys() | first.mapping.keys()
        return Renaming({token: self([first([token])[0]])[0] for token in tokens})

    def __hash__(self) -> int:
        return hash(tuple(self.mapping.items()))

    def __repr__(self) -> str:
        return f"Renaming({dict(self.mapping)!r})"

    def __reduce__(self) -> tuple:  # so that a renaming can be sent to a worker process
        return Renaming, (dict(self.mapping),)


Renaming.identity = Renaming({})


def used_tokens(tokens: Sequence[str], interchangeable: Iterable) -> list[str]:
    """The interchangeable tokens of a sequence, once each, by first appearance."""
    classes = _class_of(interchangeable)
    return [token for token in dict.fromkeys(tokens) if token in classes]


def all_renamings(used: Sequence[str], available: Sequence[str]) -> Iterator[Renaming]:
    """All P(n, k) = n! / (n - k)! ways of renaming k used tokens to n available ones.

    Lexicographic by position in ``available``.  ValueError if a token stands twice in either,
    or if k > n.  Made one at a time: the iterator holds nothing but its place.
    """
    used, available = _distinct(used, "used"), _distinct(available, "available")
    _count_renamings(used, available)
    return (
        Renaming(dict(zip(used, images, strict=True)))
        for images in permutations(available, len(used))
    )


def sample_renamings(
    used: Sequence[str], available: Sequence[str], count: int, rng: np.random.Generator
) -> list[Renaming]:
    """``count`` distinct renamings, uniformly without replacement, in random order.

    Exact however large P(n, k) is, and never lists it: memory is of the order of ``count``.
    ValueError as in ``all_renamings``, or if ``count`` is negative or above P(n, k).
    """
    used, available = _distinct(used, "used"), _distinct(available, "available")
    total = _count_renamings(used, available)
    if not 0 <= count <= total:
        raise ValueError(
            f"{count} distinct renamings asked for, but there are {total} from "
            f"{len(used)} used tokens to {len(available)} available ones"
        )
    bases = [len(available) - place for place in range(len(used))]
    if total <= LARGEST_RANK:
        ranks = rng.choice(total, size=count, replace=False)
        choices = [_digits(int(rank), bases) for rank in ranks]
    else:  # repeats are rare here, and drawing again when one comes up is exact
        seen: dict[tuple[int, ...], None] = {}
        while len(seen) < count:
            seen[tuple(int(rng.integers(base)) for base in bases)] = None
        choices = list(seen)
    return [_pick(used, available, choice) for choice in choices]


def canonical_renaming(
    tokens: Sequence[str], names: Iterable[str], interchangeable: Iterable
) -> Renaming:
    """The renaming that gives the i-th interchangeable token to appear the i-th name.

    Apply it to input and output alike.  With several classes, each takes its own names from
    ``names`` in order.  ValueError if a name is not interchangeable or if names run out.
    """
    classes = _class_of(interchangeable)
    free: dict[int, list[str]] = {}
    for name in _distinct(names, "names"):
        if name not in classes:
            raise ValueError(f"the name {name!r} is not interchangeable")
        free.setdefault(classes[name], []).append(name)
    mapping = {}
    for token in used_tokens(tokens, interchangeable):
        if not free.get(classes[token]):
            raise ValueError(f"no name is left for {token!r}: more tokens appear than names given")
        mapping[token] = free[classes[token]].pop(0)
    return Renaming(mapping)


def canonical(
    tokens: Sequence[str], names: Iterable[str], interchangeable: Iterable
) -> Sequence[str]:
    """The sequence renamed by first appearance: one form for each alpha-equivalence class."""
    return canonical_renaming(tokens, names, interchangeable)(tokens)


def renaming_between(
    a: Sequence[str], b: Sequence[str], interchangeable: Iterable
) -> Renaming | None:
    """A renaming r of interchangeable tokens with r(a) equal to b, or None if there is none."""
    classes = _class_of(interchangeable)
    forth: dict[str, str] = {}
    back: dict[str, str] = {}
    if len(a) != len(b):
        return None
    for old, new in zip(a, b, strict=True):
        if (old in classes or new in classes) and classes.get(old) != classes.get(new):
            return None
        if old not in classes and old != new:
            return None
        if forth.setdefault(old, new) != new or back.setdefault(new, old) != old:
            return None
    return Renaming(forth)


def alpha_equivalent(a: Sequence[str], b: Sequence[str], interchangeable: Iterable) -> bool:
    """Whether some renaming of interchangeable tokens turns sequence a into sequence b."""
    return renaming_between(a, b, interchangeable) is not None


def alpha_equivalent_pairs(
    pair: tuple[Sequence[str], Sequence[str]],
    other: tuple[Sequence[str], Sequence[str]],
    interchangeable: Iterable,
) -> bool:
    """Whether one renaming turns both halves of an (input, output) pair into the other pair."""
    if len(pair[0]) != len(other[0]):
        return False
    joined, other_joined = [*pair[0], *pair[1]], [*other[0], *other[1]]
    return alpha_equivalent(joined, other_joined, interchangeable)


def alpha_covariance(predictions_undone: Iterable[Sequence[str]]) -> float:
    """1 - (|U| - 1) / (|P| - 1): paper, equation "alpha-covariance".

    One prediction for each alpha-equivalent input of P, each with its renaming undone:
    ``[r.inverse()(predict(r(x))) for r in renamings]``.  U is the set of different ones.  1: no
    renaming changed the answer; 0: every one did.  The paper's equation divides by zero when
    |P| is 1: fewer than two predictions are a ValueError.
    """
    undone = [tuple(prediction) for prediction in predictions_undone]
    if len(undone) < 2:
        raise ValueError(f"alpha-covariance needs at least 2 predictions, found {len(undone)}")
    return 1.0 - (len(set(undone)) - 1) / (len(undone) - 1)


def _class_of(interchangeable: Iterable) -> dict[str, int]:
    """Token -> number of its class.  A collection of plain tokens is one class."""
    items = list(interchangeable)
    classes = [items] if all(isinstance(item, str) for item in items) else items
    result: dict[str, int] = {}
    for number, tokens in enumerate(classes):
        if isinstance(tokens, str):
            raise ValueError(f"tokens and classes of tokens are mixed: {tokens!r} is a token")
        for token in tokens:
            if result.setdefault(token, number) != number:
                raise ValueError(f"{token!r} is in two interchangeable classes")
    return result


def _check_classes(mapping: Mapping[str, str], interchangeable: Iterable) -> None:
    classes = _class_of(interchangeable)
    for old, new in mapping.items():
        for token in (old, new):
            if token not in classes:
                raise ValueError(f"{token!r} is not interchangeable ({old!r} -> {new!r})")
        if classes[old] != classes[new]:
            raise ValueError(f"{old!r} and {new!r} are in different interchangeable classes")


def _distinct(tokens: Iterable[str], what: str) -> list[str]:
    tokens = list(tokens)
    if len(set(tokens)) < len(tokens):
        twice = next(token for token in tokens if tokens.count(token) > 1)
        raise ValueError(f"{twice!r} stands twice among the {what} tokens")
    return tokens


def _count_renamings(used: list[str], available: list[str]) -> int:
    if len(used) > len(available):
        raise ValueError(
            f"{len(used)} used tokens cannot be renamed to {len(available)} available ones "
            "without two of them getting the same name"
        )
    return math.perm(len(available), len(used))


def _digits(rank: int, bases: list[int]) -> tuple[int, ...]:
    """Rank in lexicographic order -> the choice made at each place (mixed radix)."""
    digits = []
    for base in reversed(bases):
        rank, digit = divmod(rank, base)
        digits.append(digit)
    return tuple(reversed(digits))


def _pick(used: list[str], available: list[str], choices: tuple[int, ...]) -> Renaming:
    left = list(available)
    return Renaming({token: left.pop(choice) for token, choice in zip(used, choices, strict=True)})
