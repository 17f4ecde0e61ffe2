"""Truth tables in Python integers, partial assignments, and what one says about the other.

Paper, appendix "Propositional Logic": a solution is a partial assignment such as `a1b0` (a = 1,
b = 0) under which the formula is true whatever the other propositions are; the order does not
matter.

Bit i of a table is the formula's value under the assignment that gives the j-th name the value of
bit j of i. One pass over the prefix tokens from right to left makes it, one integer operation a
token, so that 5 atomic propositions (32 bits) take microseconds. Tables double with each name:
`itekit.logic.aiger_bridge` answers the same questions with a SAT solver.

An implicant of a formula is a partial assignment under which it is true whatever the rest; it is
prime if no literal can be left out. A prime implicant inside a model is what the paper (appendix
"Experimental Setup" of the propositional experiments) calls a minimal unsatisfiable core of the
negated formula.
"""

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from itekit.logic.formulas import Formula, FormulaError, is_name, join, positions, quoted

LARGEST = 20
"""Names up to which a table (a million bits) is quicker than the solver."""

BOOLEAN: dict[str, Callable[..., int]] = {
    "1": lambda: -1,
    "0": lambda: 0,
    "!": operator.invert,
    "&": operator.and_,
    "|": operator.or_,
    ">": lambda f, g: ~f | g,
    "=": lambda f, g: ~(f ^ g),
    "^": operator.xor,
}
"""What operators do with the bits of integers; bits past those that count are to be cut off."""


@dataclass(frozen=True, eq=False)
class Assignment:
    """A partial assignment; equal to another one with the same values in any order.

    Attributes:
        values: pairs of a name and its truth value, in the order in which they are printed.

    Raises:
        ValueError: a bad or repeated name, or a value that is not True or False.
    """

    values: tuple[tuple[str, bool], ...] = ()

    def __post_init__(self):
        object.__setattr__(self, "values", tuple((name, value) for name, value in self.values))
        for name, value in self.values:
            if not isinstance(name, str) or not is_name(name):
                raise ValueError(f"{name!r} is no name of an atomic proposition")
            if not isinstance(value, bool):
                raise ValueError(f"the value of {name!r} must be True or False, found {value!r}")
        if len(self.as_dict()) < len(self.values):
            raise ValueError(f"a name stands twice in {self}")

    def as_dict(self) -> dict[str, bool]:
        """Name -> value."""
        return dict(self.values)

    def tokens(self) -> tuple[str, ...]:
        """Each name followed by 0 or 1."""
        return tuple([token for name, value in self.values for token in (name, "01"[value])])

    def text(self) -> str:
        """The assignment's text, as `parse_assignment` reads it."""
        return join(self.tokens())

    def rename(self, renaming) -> "Assignment":
        """The assignment with its names changed by an `itekit.alpha.Renaming`."""
        new = renaming.mapping
        return Assignment(tuple((new.get(name, name), value) for name, value in self.values))

    def __contains__(self, name: object) -> bool:
        return name in self.as_dict()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Assignment):
            return NotImplemented
        return self.as_dict() == other.as_dict()

    def __hash__(self) -> int:
        return hash(frozenset(self.values))

    def __str__(self) -> str:
        return " ".join(self.tokens())


def parse_assignment(
    text: str | Sequence[str], *, propositions: Collection[str] | None = None
) -> Assignment:
    """The assignment that the text, or a sequence of tokens, stands for.

    `propositions` are the names that may have a value; any if None.

    Raises:
        FormulaError: an odd length, a value other than 0 and 1, or a name that is unknown or
            stands twice.
    """
    shown = text if isinstance(text, str) else join([str(token) for token in text])
    values: dict[str, bool] = {}
    name = None
    for token, position in positions(shown, 0, len(shown)):
        if name is not None:
            if token not in ("0", "1"):
                expected = f"0 or 1, the value of {quoted(name)}"
                raise FormulaError(shown, position, quoted(token), expected)
            values[name] = token == "1"
            name = None
        elif not is_name(token) or (propositions is not None and token not in propositions):
            names = "a small letter" if propositions is None else f"one of {' '.join(propositions)}"
            raise FormulaError(shown, position, quoted(token), f"a name of a proposition ({names})")
        elif token in values:
            raise FormulaError(shown, position, f"{quoted(token)} again", "each name at most once")
        else:
            name = token
    if name is not None:
        raise FormulaError(shown, len(shown), "the end", f"0 or 1, the value of {quoted(name)}")
    return Assignment(tuple(values.items()))


@lru_cache
def columns(count: int) -> tuple[int, ...]:
    """The tables of `count` names themselves."""
    full = (1 << (1 << count)) - 1
    return tuple(full ^ full // ((1 << (1 << place)) + 1) for place in range(count))


def table(
    tokens: Sequence[str], names: Sequence[str], values: Mapping[str, bool] | None = None
) -> int:
    """The truth table over `names`, the names in `values` replaced by their values.

    Raises:
        ValueError: a token is neither a Boolean operator nor in `names` or `values`, or operands
            are missing or left over.
    """
    full = (1 << (1 << len(names))) - 1
    known = {"0": 0, "1": full}
    if values:
        known.update((name, full if value else 0) for name, value in values.items())
    known.update(zip(names, columns(len(names)), strict=True))
    stack: list[int] = []
    push, pop = stack.append, stack.pop
    try:
        for token in reversed(tokens):
            if token in known:
                push(known[token])
            elif token == "!":
                push(full ^ pop())
            else:
                push(BOOLEAN[token](pop(), pop()) & full)
        (result,) = stack
    except KeyError:
        expected = f"a Boolean operator or a proposition ({' '.join(names)})"
        raise ValueError(f"found {token!r}, expected {expected}") from None
    except (IndexError, ValueError):
        raise ValueError(f"{join(tokens)!r} is not one formula") from None
    return result


def truth_table(formula: Formula, names: Sequence[str]) -> int:
    """The values of a Boolean formula under all assignments to `names`, as bits of an integer.

    ValueError as `table`, or if a name stands twice.
    """
    if len(set(names)) < len(names):
        raise ValueError(f"a name stands twice in {' '.join(names)}")
    return table(formula.tokens(), names)


def implied_by(tokens: Sequence[str], free: Sequence[str], values: Mapping[str, bool]) -> bool:
    """Whether the formula is true under `values` and every assignment of the `free` names."""
    return table(tokens, free, values) == (1 << (1 << len(free))) - 1


def prime_implicant(tokens: Sequence[str], names: Sequence[str]) -> dict[str, bool] | None:
    """One prime implicant, fixed by the formula and the order of the names; None if there is none.

    The first model, counting with False before True and the first name changing slowest, loses
    its literals one at a time, the last name first, where the others still imply the formula.
    Empty for a tautology.
    """
    truth = table(tokens, names[::-1])  # so that the first name has the highest place
    if not truth:
        return None
    model = (truth & -truth).bit_length() - 1
    cube = 1 << model  # the assignments that agree with the literals that are left
    kept = {}
    for place, name in enumerate(reversed(names)):
        value = model >> place & 1
        wider = cube | (cube >> (1 << place) if value else cube << (1 << place))
        if wider & truth == wider:
            cube = wider
        else:
            kept[name] = bool(value)
    return kept
