"""What formulas mean, straight from the definitions: the reference for all faster code.

Paper, appendices "Temporal logic overview" and "Propositional Logic". LTL is evaluated on a
concrete lasso: a finite prefix of letters and a cycle of letters that repeats for ever, a letter
being the set of the atomic propositions that are true at that time. `evaluate_ltl` says for every
subformula at which times it holds, so that one can see why a formula holds. Propositional formulas
have truth tables. Nothing here needs Spot or py-aiger.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import product

from itekit.logic.assignments import Assignment
from itekit.logic.formulas import PROPOSITION, Formula, from_tokens
from itekit.logic.traces import Trace

Letter = Collection[str]
Lasso = tuple[list[frozenset[str]], list[frozenset[str]]]

LARGEST_TABLE = 16
"""The most propositions for which `implied_by` lists all assignments."""

_BOOLEAN: dict[str, Callable[..., int]] = {  # on bits: one for a time, many for a truth table
    "1": lambda: -1,
    "0": lambda: 0,
    "!": lambda f: ~f,
    "&": lambda f, g: f & g,
    "|": lambda f, g: f | g,
    ">": lambda f, g: ~f | g,
    "=": lambda f, g: ~(f ^ g),
    "^": lambda f, g: f ^ g,
}

# What holds now, from what the operands say now and what the operator itself says at the next time.
# The second entry is what is assumed before anything is known: an until must be fulfilled (least
# fixpoint), a release need not be (greatest fixpoint).
_TEMPORAL: dict[str, tuple[Callable[..., bool], bool]] = {
    "F": (lambda f, later: f or later, False),
    "G": (lambda f, later: f and later, True),
    "U": (lambda f, g, later: g or (f and later), False),
    "R": (lambda f, g, later: g and (f or later), True),
    "W": (lambda f, g, later: g or (f and later), True),
    "M": (lambda f, g, later: g and (f or later), False),
}


def evaluate_ltl(
    formula: Formula, prefix: Sequence[Letter], cycle: Sequence[Letter]
) -> dict[Formula, list[bool]]:
    """For every subformula, smallest first: at which times of prefix + cycle it holds.

    A time in the cycle stands for all its repetitions: what holds there holds at each of them.

    Raises:
        ValueError: an empty cycle.
    """
    if not cycle:
        raise ValueError("the cycle needs at least one letter")
    letters = [*prefix, *cycle]
    times = range(len(letters))
    following = [*times[1:], len(prefix)]
    values: dict[Formula, list[bool]] = {}
    for part in formula.subformulas():
        operands = [values[operand] for operand in part.operands]
        if part.operator == PROPOSITION:
            values[part] = [part.name in letter for letter in letters]
        elif part.operator == "X":
            values[part] = [operands[0][following[time]] for time in times]
        elif part.operator in _TEMPORAL:
            values[part] = _fixpoint(*_TEMPORAL[part.operator], operands, following)
        else:
            now = _BOOLEAN[part.operator]
            values[part] = [bool(now(*(int(o[time]) for o in operands)) & 1) for time in times]
    return values


def _fixpoint(
    now: Callable[..., bool], start: bool, operands: list[list[bool]], following: list[int]
) -> list[bool]:
    """Apply `now` from the last time to the first until nothing changes."""
    values = [start] * len(following)
    while True:
        before = list(values)
        for time in reversed(range(len(values))):
            values[time] = now(*(o[time] for o in operands), values[following[time]])
        if values == before:
            return values


def holds(formula: Formula, prefix: Sequence[Letter], cycle: Sequence[Letter]) -> bool:
    """Whether the word prefix cycle cycle cycle ... satisfies the formula.

    Raises:
        ValueError: an empty cycle.
    """
    return evaluate_ltl(formula, prefix, cycle)[formula][0]


def letters(step: Formula, names: Sequence[str]) -> list[frozenset[str]]:
    """All letters over `names` that satisfy a step of a trace, a Boolean formula.

    Raises:
        ValueError: the step has a proposition that is not in `names`, or a temporal operator.
    """
    table = truth_table(step, names)
    return [
        frozenset(name for place, name in enumerate(names) if number >> place & 1)
        for number in range(1 << len(names))
        if table >> number & 1
    ]


def lassos(trace: Trace, names: Sequence[str], turns: int = 1) -> Iterator[Lasso]:
    """The concrete lassos of a symbolic trace, with its cycle written out `turns` times.

    A trace satisfies a formula if all its words do. One lasso that fails refutes it; that all of
    them hold proves nothing, since a word may choose differently in every turn for ever.

    Raises:
        ValueError: the trace has a proposition that is not in `names`.
    """
    choices = [letters(step, names) for step in (*trace.prefix, *trace.cycle * turns)]
    for chosen in product(*choices):
        yield list(chosen[: len(trace.prefix)]), list(chosen[len(trace.prefix) :])


def truth_table(formula: Formula, names: Sequence[str]) -> int:
    """The values of a Boolean formula under all assignments to `names`, as bits of an integer.

    Bit i is the value under the assignment that gives the j-th name the value of bit j of i.

    Raises:
        ValueError: the formula has a proposition that is not in `names`, or a temporal operator;
            or a name stands twice.
    """
    if len(set(names)) < len(names):
        raise ValueError(f"a name stands twice in {' '.join(names)}")
    rows = 1 << len(names)
    every = (1 << rows) - 1
    columns = {name: every // ((1 << (1 << j)) + 1) << (1 << j) for j, name in enumerate(names)}
    values: dict[Formula, int] = {}
    for part in formula.subformulas():
        operands = [values[operand] for operand in part.operands]
        if part.operator == PROPOSITION:
            if part.name not in columns:
                raise ValueError(f"proposition {part.name!r} is not one of {' '.join(names)}")
            values[part] = columns[part.name]
        elif part.operator in _BOOLEAN:
            values[part] = _BOOLEAN[part.operator](*operands) & every
        else:
            raise ValueError(f"{part.operator!r} is temporal: it has no truth table")
    return values[formula]


def implied_by(formula: Formula, assignment: Assignment) -> bool:
    """Whether a partial assignment makes the formula true, whatever the other propositions are.

    Raises:
        ValueError: more than 16 propositions are left free, or a temporal operator.
    """
    free = [name for name in formula.propositions if name not in assignment]
    if len(free) > LARGEST_TABLE:
        raise ValueError(f"{len(free)} propositions are left free, at most {LARGEST_TABLE} can be")
    constant = {name: "01"[value] for name, value in assignment.values}
    rest = from_tokens([constant.get(token, token) for token in formula.tokens()])
    return truth_table(rest, free) == (1 << (1 << len(free))) - 1
