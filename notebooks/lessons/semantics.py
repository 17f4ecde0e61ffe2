"""What formulas mean, straight from the definitions: the reference for all faster code.

Paper, appendices "Temporal logic overview" and "Propositional Logic". LTL is evaluated on a
concrete lasso: a finite prefix of letters and a cycle of letters that repeats forever, a letter
being the set of the atomic propositions that are true at that time.

A symbolic trace stands for every word that satisfies its steps. On it, a subformula holds, fails,
or depends on the word at each time: `evaluate_symbolic` asks Spot, which nothing else here needs.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import product

from itekit.logic import truth_tables
from itekit.logic.formulas import PROPOSITION, Formula
from itekit.logic.traces import Trace, parse_trace
from itekit.logic.truth_tables import BOOLEAN, Assignment, truth_table

Letter = Collection[str]
Lasso = tuple[list[frozenset[str]], list[frozenset[str]]]
HOLDS, FAILS, DEPENDS = "holds", "fails", "depends on the word"

# What holds now, from what the operands say now and what the operator itself says at the next time.
# The second entry is what is assumed before anything is known: an until must be fulfilled (least
# fixpoint), a release need not be (greatest fixpoint).
_TEMPORAL = {
    "F": (lambda f, later: f | later, 0),
    "G": (lambda f, later: f & later, -1),
    "U": (lambda f, g, later: g | f & later, 0),
    "R": (lambda f, g, later: g & (f | later), -1),
    "W": (lambda f, g, later: g | f & later, -1),
    "M": (lambda f, g, later: g & (f | later), 0),
}


def evaluate_ltl(
    formula: Formula, prefix: Sequence[Letter], cycle: Sequence[Letter]
) -> dict[Formula, list[bool]]:
    """For every subformula, smallest first: at which times of prefix + cycle it holds."""
    if not cycle:
        raise ValueError("the cycle needs at least one letter")
    letters = [*prefix, *cycle]
    last, every = len(letters) - 1, (1 << len(letters)) - 1

    def following(values: int) -> int:  # bit t says what holds at time t + 1
        return values >> 1 | (values >> len(prefix) & 1) << last

    found: dict[Formula, int] = {}  # bit t: whether it holds at time t
    for part in formula.subformulas():
        operands = [found[operand] for operand in part.operands]
        if part.operator == PROPOSITION:
            values = sum((part.name in letter) << time for time, letter in enumerate(letters))
        elif part.operator == "X":
            values = following(*operands)
        elif part.operator in _TEMPORAL:
            equation, before = _TEMPORAL[part.operator]
            while (values := equation(*operands, following(before & every)) & every) != before:
                before = values
        else:
            values = BOOLEAN[part.operator](*operands) & every
        found[part] = values
    times = range(len(letters))
    return {part: [bool(values >> t & 1) for t in times] for part, values in found.items()}


def holds(formula: Formula, prefix: Sequence[Letter], cycle: Sequence[Letter]) -> bool:
    """Whether the word prefix cycle cycle cycle ... satisfies the formula."""
    return evaluate_ltl(formula, prefix, cycle)[formula][0]


def letters(step: Formula, names: Sequence[str]) -> list[frozenset[str]]:
    """All letters over `names` that satisfy a step of a trace."""
    table = truth_table(step, names)
    return [
        frozenset(name for place, name in enumerate(names) if number >> place & 1)
        for number in range(1 << len(names))
        if table >> number & 1
    ]


def lassos(trace: Trace, names: Sequence[str], turns: int = 1) -> Iterator[Lasso]:
    """The concrete lassos of a symbolic trace, with its cycle written out `turns` times.

    One that fails a formula refutes it; that all satisfy it proves nothing, since a word may choose
    differently in every turn forever.
    """
    start = len(trace.prefix)
    for chosen in product(*[letters(s, names) for s in (*trace.prefix, *trace.cycle * turns)]):
        yield list(chosen[:start]), list(chosen[start:])


def implied_by(formula: Formula, assignment: Assignment) -> bool:
    """Whether all completions of a partial assignment make a propositional formula true."""
    values = assignment.as_dict()
    free = [name for name in formula.propositions if name not in values]
    return truth_tables.implied_by(formula.tokens(), free, values)


class EmptyTraceError(ValueError):
    """A trace that stands for no word, since nothing satisfies one of its steps."""


def evaluate_symbolic(formula: Formula, trace: Trace) -> dict[Formula, list[str]]:
    """For every subformula, smallest first: its status at each time of prefix + cycle.

    Where the status is DEPENDS, a word may choose differently at each repetition of the cycle.
    EmptyTraceError if a step cannot be satisfied: on no word, everything and nothing holds.
    """
    from itekit.logic.spot_bridge import sides

    automaton, found = _automaton(trace), {}
    for part in formula.subformulas():
        yes, no = sides(part)
        found[part] = []
        for time in range(len(trace.steps)):
            automaton.set_init_state(time)
            depends = DEPENDS if automaton.intersects(yes) else FAILS
            found[part].append(depends if automaton.intersects(no) else HOLDS)
    return found


def example_words(formula: Formula, trace: Trace) -> tuple[Trace | None, Trace | None]:
    """Words of a trace that satisfy a formula, and words that violate it; None for no words."""
    from itekit.logic.spot_bridge import sides, word_to_trace

    automaton, found = _automaton(trace), []
    for other in sides(formula):  # each is needed until its word is text
        word = automaton.intersecting_word(other)
        found.append(word and parse_trace(word_to_trace(word)))
    return tuple(found)


def _automaton(trace: Trace):
    """Spot's automaton of the trace: its states are the times."""
    from itekit.logic.spot_bridge import trace_automaton

    for number, step in enumerate(trace.steps):
        if trace_automaton(Trace((), (step,))).is_empty():
            problem = f"step {number} ({step}) cannot be satisfied: the trace stands for no word"
            raise EmptyTraceError(problem)
    return trace_automaton(trace)
