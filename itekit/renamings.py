"""Renamings of interchangeable tokens: as values, all of them, and samples without repetition.

Paper, section "Problem Definition": a renaming is a bijection f on the vocabulary that moves
interchangeable tokens only; applied to input and output together it gives an alpha-equivalent
pair.  Section "Alpha-Covariance": n names and k used ones make P(n, k) = n! / (n - k)! such pairs.

A token sequence is a string (one character a token), a list or a tuple of tokens; values with a
``rename`` method (formulas, traces, assignments) are renamed likewise.  Where a function takes
``interchangeable``, it is a collection of tokens, or a collection of classes of tokens (such as
``vocabulary.interchangeable``): a renaming never leaves a class.
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
        """Rename each token; a string gives a string, a list a list, a formula a formula.

        Raises ValueError if a string would get a name longer than one character.
        """
        if hasattr(tokens, "rename"):
            return tokens.rename(self)
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

    def __reduce__(self) -> tuple:  # so that a renaming can be copied
        return Renaming, (dict(self.mapping),)


Renaming.identity = Renaming({})


def all_renamings(used: Sequence[str], available: Sequence[str]) -> Iterator[Renaming]:
    """All P(n, k) = n! / (n - k)! ways of renaming k used tokens to n available ones.

    Lexicographic by position in ``available``.  ValueError if a token stands twice in either,
    or if k > n.  Made one at a time: the iterator holds nothing but its place.
    """
    used, available = distinct(used, "used"), distinct(available, "available")
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
    used, available = distinct(used, "used"), distinct(available, "available")
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


def class_of(interchangeable: Iterable) -> dict[str, int]:
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
    classes = class_of(interchangeable)
    for old, new in mapping.items():
        for token in (old, new):
            if token not in classes:
                raise ValueError(f"{token!r} is not interchangeable ({old!r} -> {new!r})")
        if classes[old] != classes[new]:
            raise ValueError(f"{old!r} and {new!r} are in different interchangeable classes")


def distinct(tokens: Iterable[str], what: str) -> list[str]:
    """The tokens as a list; ValueError if one stands twice."""
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
