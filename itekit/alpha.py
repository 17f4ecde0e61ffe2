"""Alpha-equivalence of token sequences, and of formulas, traces and assignments.

Paper, section "Problem Definition": two pairs are alpha-equivalent if one renaming of
interchangeable tokens turns input and output of the one into the other.  Section
"Alpha-Covariance": how much of a model's answer survives a renaming.  The renamings themselves are
in `itekit.renamings`, and can be imported from here too.

Where a function takes a token sequence, it takes a formula, a trace or an assignment of
`itekit.logic` as well: anything that has ``tokens()`` and ``rename(renaming)``.
"""

from collections.abc import Iterable, Sequence

from itekit.renamings import Renaming, all_renamings, class_of, distinct, sample_renamings

__all__ = [
    "Renaming",
    "all_renamings",
    "alpha_covariance",
    "alpha_equivalent",
    "alpha_equivalent_pairs",
    "canonical",
    "canonical_renaming",
    "renaming_between",
    "sample_renamings",
    "tokens_of",
    "used_tokens",
]


def tokens_of(value) -> Sequence[str]:
    """The tokens of a formula, trace or assignment; a token sequence as it is."""
    return value.tokens() if hasattr(value, "tokens") else value


def used_tokens(tokens: Sequence[str], interchangeable: Iterable) -> list[str]:
    """The interchangeable tokens of a sequence, once each, by first appearance."""
    classes = class_of(interchangeable)
    return [token for token in dict.fromkeys(tokens_of(tokens)) if token in classes]


def canonical_renaming(
    tokens: Sequence[str], names: Iterable[str], interchangeable: Iterable
) -> Renaming:
    """The renaming that gives the i-th interchangeable token to appear the i-th name.

    Apply it to input and output alike.  With several classes, each takes its own names from
    ``names`` in order.  ValueError if a name is not interchangeable or if names run out.
    """
    classes = class_of(interchangeable)
    free: dict[int, list[str]] = {}
    for name in distinct(names, "names"):
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
    classes = class_of(interchangeable)
    forth: dict[str, str] = {}
    back: dict[str, str] = {}
    a, b = tokens_of(a), tokens_of(b)
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
    (source, target), (other_source, other_target) = map(tokens_of, pair), map(tokens_of, other)
    if len(source) != len(other_source):
        return False
    joined, other_joined = [*source, *target], [*other_source, *other_target]
    return alpha_equivalent(joined, other_joined, interchangeable)


def alpha_covariance(predictions_undone: Iterable[Sequence[str]]) -> float:
    """1 - (|U| - 1) / (|P| - 1): paper, equation "alpha-covariance".

    One prediction for each alpha-equivalent input of P, each with its renaming undone:
    ``[r.inverse()(predict(r(x))) for r in renamings]``.  U is the set of different ones.  1: no
    renaming changed the answer; 0: every one did.  The paper's equation divides by zero when
    |P| is 1: fewer than two predictions are a ValueError.  Predictions are compared as they are
    given: ``a1b0`` and ``b0a1`` differ as text, and are equal as assignments.
    """
    undone = [p if hasattr(p, "tokens") else tuple(p) for p in predictions_undone]
    if len(undone) < 2:
        raise ValueError(f"alpha-covariance needs at least 2 predictions, found {len(undone)}")
    return 1.0 - (len(set(undone)) - 1) / (len(undone) - 1)
