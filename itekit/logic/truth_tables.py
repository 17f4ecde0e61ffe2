"""Truth tables in Python integers, partial assignments, and what one says about the other.

Paper, appendix "Propositional Logic": a solution is a partial assignment such as `a1b0` (a = 1,
b = 0) under which the formula is true whatever the other propositions are; the order does not
matter.

Bit i of a table is the formula's value under the assignment that gives the j-th name the value of
bit j of i. Tables double with each name; `itekit.logic.aiger_bridge` asks a SAT solver instead.

A solution is prime if no literal can be left out. A prime one inside a model is what the paper
(appendix "Experimental Setup" of the propositional experiments) calls a minimal unsatisfiable core
of the negated formula.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from itekit.logic.formulas import (
    Formula,
    FormulaError,
    Names,
    Text,
    is_name,
    join,
    positions,
    quoted,
)

LARGEST = 20  # names up to which a table (a million bits) is quicker than the solver
BOOLEAN: dict[str, Callable[..., int]] = {  # on the bits of integers; those past the table to cut
    "1": lambda: -1,
    "0": lambda: 0,
    "!": operator.invert,
    "&": operator.and_,
    "|": operator.or_,
    ">": lambda f, g: ~f | g,
    "=": lambda f, g: ~(f ^ g),
    "^": operator.xor,
}


@dataclass(frozen=True, eq=False)
class Assignment:
    """A partial assignment, whatever the order, no name twice (`parse_assignment` checks that)."""

    values: tuple[tuple[str, bool], ...] = ()  # in the order in which they are printed

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
        return isinstance(other, Assignment) and self.as_dict() == other.as_dict()

    def __hash__(self) -> int:
        return hash(frozenset(self.values))

    def __str__(self) -> str:
        return " ".join(self.tokens())


def sorted_assignment(values: Mapping[str, bool]) -> Assignment:
    """In the order of the names a, b, ..., z, aa, ab, ..., as the paper's labels have it."""
    return Assignment(tuple(sorted(values.items(), key=lambda item: (len(item[0]), item[0]))))


def parse_assignment(text: Text, *, propositions: Names = None) -> Assignment:
    """The assignment that the text stands for; FormulaError for what is none."""
    text = join(text)
    tokens = positions(text, 0, len(text))
    values = {}
    for number in range(0, len(tokens), 2):
        name, position = tokens[number]
        if name in values:
            raise FormulaError(text, position, f"{quoted(name)} again", "each name at most once")
        if not is_name(name) if propositions is None else name not in propositions:
            names = "a small letter" if propositions is None else f"one of {' '.join(propositions)}"
            raise FormulaError(text, position, quoted(name), f"a name of a proposition ({names})")
        value, position = [*tokens[number + 1 : number + 2], ("", len(text))][0]
        if value not in ("0", "1"):
            raise FormulaError(text, position, quoted(value), f"0 or 1, the value of {name!r}")
        values[name] = value == "1"
    return Assignment(tuple(values.items()))


@lru_cache
def columns(count: int) -> tuple[int, ...]:
    """The tables of `count` names themselves."""
    full = (1 << (1 << count)) - 1
    return tuple(full ^ full // ((1 << (1 << place)) + 1) for place in range(count))


def table(
    tokens: Sequence[str], names: Sequence[str], values: Mapping[str, bool] | None = None
) -> int:
    """The truth table of prefix tokens over `names`, others replaced by `values`; or ValueError."""
    full = (1 << (1 << len(names))) - 1
    known = {"0": 0, "1": full} | {name: full * value for name, value in (values or {}).items()}
    known |= zip(names, columns(len(names)), strict=True)
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
        return pop()
    except KeyError as error:
        expected = f"a Boolean operator or a proposition ({' '.join(names)})"
        raise ValueError(f"found {error.args[0]!r}, expected {expected}") from None


def truth_table(formula: Formula, names: Sequence[str]) -> int:
    """The values of a Boolean formula under all assignments to `names` (`table`)."""
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
    literals = {}
    for place, name in enumerate(reversed(names)):
        value = model >> place & 1
        wider = cube | (cube >> (1 << place) if value else cube << (1 << place))
        if wider & truth == wider:
            cube = wider
        else:
            literals[name] = bool(value)
    return literals
