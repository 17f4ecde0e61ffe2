"""Linear temporal logic solving (paper, appendix "Temporal logic overview").

A formula is given, and the model is to produce a symbolic trace, such as `a;&ab;{b}`, all of whose
words satisfy it. Labels come from Spot: an accepting run of the formula's automaton, as in
LTLRandom35 (DeepLTL). Formulas that nothing satisfies get no label. Two translations:

    default     the small automaton that Spot makes an effort for; the paper's data
    fast        Spot's options Low and Any; much less time for large formulas, other runs

A trace is checked by Spot: its automaton has no word in common with the automaton of the *negated*
formula, translated fast. That is exact, and a step may be any Boolean formula. A step that nothing
satisfies (`0`, `&a!a`) leaves no word at all, and such a trace satisfies every formula: by the
definition, for DeepLTL's checker, whose data label unsatisfiable formulas `{0}`, and the authors'.
Here it has a verdict of its own, VACUOUS.

Formulas and traces are prefix text (`itekit.logic.formulas`), or sequences of tokens. Spot is
imported when it is asked, so that a machine without it trains other tasks.
"""

from dataclasses import dataclass

from itekit.logic.formulas import LTL, FormulaError, Text, read_tokens, split
from itekit.logic.traces import Steps, parse_trace, read_trace, trace_equal
from itekit.tasks.logic import LogicTask
from itekit.tasks.verdicts import (
    CORRECT,
    EXACT,
    INCORRECT,
    INVALID,
    UNSATISFIABLE,
    VACUOUS,
)

TRANSLATIONS = ("default", "fast")
WITH_0 = "traces with 0"  # a step that nothing satisfies: left out of sets, as DeepLTL does
MANIFEST: dict = {}  # what a set says of its labels


def solve(formula: Text, translation: str = "default", *, simplify: bool = False) -> str | None:
    """The label of a formula: the trace of an accepting run; None if nothing satisfies it.

    The same text always gives the same trace, whatever the process did before. With `simplify`,
    Spot shortens the trace; the paper's data are not simplified. FormulaError if `formula` is not
    one LTL formula; ValueError for an unknown translation.
    """
    from itekit.logic.spot_bridge import accepting_trace

    if translation not in TRANSLATIONS:
        known = ", ".join(TRANSLATIONS)
        raise ValueError(f"unknown translation {translation!r}: expected one of {known}")
    return accepting_trace(read_tokens(formula, LTL), translation, simplify)


def label(formula: Text, method: str) -> str:
    """The label of a formula for a set, or why it has none: UNSATISFIABLE or WITH_0."""
    trace = solve(formula, method)
    if trace is None:
        return UNSATISFIABLE
    return WITH_0 if "0" in trace else trace


def check(formula: Text, answer: Text, label: Text | None = None) -> str:
    """The verdict on an answer (`itekit.tasks.verdicts`).

    EXACT if its steps are the label's up to the order of commutative operands; INVALID if it is no
    trace; CORRECT if it satisfies the formula, VACUOUS if it does so by no word; else INCORRECT.
    FormulaError if `formula` or `label` is none, where they are read.
    """
    try:
        steps = read_trace(answer)
    except FormulaError:
        return INVALID
    if answer == label:
        return EXACT
    same_tokens = label is not None and sorted(split(answer)) == sorted(split(label))
    if same_tokens and trace_equal(parse_trace(answer), parse_trace(label)):
        return EXACT
    if not _satisfies(formula, steps):
        return INCORRECT
    return VACUOUS if _satisfies("0", steps) else CORRECT


def satisfies(formula: Text, trace: Text) -> bool:
    """Whether all words of the trace satisfy the formula; true if the trace has no words."""
    return _satisfies(formula, read_trace(trace))


def is_empty(trace: Text) -> bool:
    """Whether the trace has no word at all, since nothing satisfies one of its steps."""
    return satisfies("0", trace)


def _satisfies(formula: Text, steps: Steps) -> bool:
    from itekit.logic import spot_bridge

    return spot_bridge.satisfies(read_tokens(formula, LTL), steps)


@dataclass(frozen=True)
class Ltl(LogicTask):
    """LTL solving: a formula is given, and a trace that satisfies it is to be produced."""

    set: str = "ltl35"

    kind = prefix = "ltl"
    fixed = "10!&|XU;{}"  # constants and operators; answers need `;` `{` `}`
    sets = LogicTask.sets | {"patterns": "-patterns"}  # formulas that people wrote (ours)
    needs = ("spot",)
    check = staticmethod(check)

    def solve(self, problem: Text) -> str | None:
        return solve(problem, "fast")
