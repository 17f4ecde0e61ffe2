"""Where a formula and its parts hold on a symbolic trace: exactly, for all its words at once.

Paper, appendix "Temporal logic overview": a symbolic trace stands for every word that satisfies its
steps, and violates a formula that some of these words violate. At each time a subformula therefore
holds (on every word), fails (on every word), or depends on the word. Spot decides: a formula holds
at a time if no word of the trace from there on satisfies its negation, and fails if none satisfies
it. `semantics.evaluate_ltl` does the same for one concrete lasso, without Spot.
"""

from collections.abc import Sequence

import spot

from itekit.logic.formulas import Formula
from itekit.logic.prefix import join, parse_prefix
from itekit.logic.spot_bridge import to_spot, trace_automaton, word_to_trace
from itekit.logic.traces import Trace, parse_trace

HOLDS = "holds"
FAILS = "fails"
DEPENDS = "depends on the word"
STATUSES = (HOLDS, FAILS, DEPENDS)

FAST = ("Low", "Any")  # options of Spot's translation: no effort for a small automaton


class EmptyTraceError(ValueError):
    """A trace that stands for no word, since nothing satisfies one of its steps."""


def evaluate_symbolic(formula: Formula, trace: Trace) -> dict[Formula, list[str]]:
    """For every subformula, smallest first: its status at each time of prefix + cycle.

    A time in the cycle stands for all its repetitions. Where the status is DEPENDS, a word may
    choose differently at each of them.

    Raises:
        EmptyTraceError: a step cannot be satisfied: on no word, everything and nothing holds.
    """
    automaton = _automaton(trace)
    values = {}
    for part in formula.subformulas():
        yes, no = _both(part)
        values[part] = []
        for time in range(len(trace.steps)):
            automaton.set_init_state(time)
            depends = DEPENDS if automaton.intersects(yes) else FAILS
            values[part].append(depends if automaton.intersects(no) else HOLDS)
    return values


def example_words(formula: Formula, trace: Trace) -> tuple[Trace | None, Trace | None]:
    """Words of `trace` that satisfy the formula, and words that violate it; None: there are none.

    Raises:
        EmptyTraceError: a step cannot be satisfied.
    """
    automaton = _automaton(trace)
    yes, no = (_example(automaton, other) for other in _both(formula))
    return yes, no


def statuses_item(item: Sequence[str]) -> dict:
    """Both of the above on spaced prefix text and as JSON, for a worker process.

    Args:
        item: a formula and a trace.

    Returns:
        "rows": the statuses of each subformula, smallest first; "examples": two traces or None.
        Or "problem": why there is no answer.
    """
    formula, trace = parse_prefix(item[0], format="spaced"), parse_trace(item[1], format="spaced")
    try:
        rows, examples = evaluate_symbolic(formula, trace), example_words(formula, trace)
    except EmptyTraceError as error:
        return {"problem": str(error)}
    texts = [example and example.text(format="spaced") for example in examples]
    return {"rows": list(rows.values()), "examples": texts}


def _both(formula: Formula) -> tuple[spot.twa_graph, spot.twa_graph]:
    """Automata of the words that satisfy the formula, and of those that violate it."""
    f = to_spot(formula)
    return f.translate(*FAST), spot.formula.Not(f).translate(*FAST)


def _example(automaton: spot.twa_graph, other: spot.twa_graph) -> Trace | None:
    """Words of both automata, if there are any."""
    word = automaton.intersecting_word(other)
    return word and parse_trace(word_to_trace(word, format="spaced"), format="spaced")


def _automaton(trace: Trace) -> spot.twa_graph:
    """The automaton of the trace: its states are the times.

    Raises:
        EmptyTraceError: a step cannot be satisfied.
    """
    for number, step in enumerate(trace.steps):
        if trace_automaton(Trace((), (step,))).is_empty():
            shown = join(step.tokens(), "spaced")
            raise EmptyTraceError(
                f"step {number} ({shown}) cannot be satisfied: the trace stands for no word"
            )
    return trace_automaton(trace)
