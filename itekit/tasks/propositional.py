"""Propositional assignment prediction (paper, appendix "Propositional Logic").

A formula is given, and the model is to produce a partial assignment, such as `a1b0`, under which
it is true whatever the other propositions are. Labels come from a model of the formula f: an
unsatisfiable core of not-f under the model's literals (appendix "Experimental Setup" of the
propositional experiments; the recipe of PropRandom35). Formulas without a model get no label, nor
do tautologies, whose label would be empty. Two methods answer the same questions:

    aiger   py-aiger, as the paper's authors use it: the authority. Its cores depend on the run,
            and some hold a literal too many.
    fast    truth tables, or the solver where there are many propositions. Its label is
            `truth_tables.prime_implicant`, fixed by the formula alone.

A label lists its propositions in the order in which the formula first names them, so that the label
of a renamed formula is the renamed label, letter by letter (ours).

Verdicts do not depend on the method. Formulas and assignments are prefix text
(`itekit.logic.formulas`), or sequences of tokens. py-aiger is imported when it is asked.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from itekit.logic import truth_tables
from itekit.logic.formulas import PROPOSITIONAL, FormulaError, Text, from_tokens, read_tokens
from itekit.logic.truth_tables import Assignment, parse_assignment
from itekit.tasks.logic import LogicTask
from itekit.tasks.streams import Pair
from itekit.tasks.task import one_of
from itekit.tasks.verdicts import CORRECT, EXACT, INCORRECT, INVALID, UNSATISFIABLE

METHODS = ("fast", "aiger")
TAUTOLOGY, CONTINGENT = "tautology", "contingent"
MANIFEST = {"label_order": "first appearance in the formula"}  # what a set says of its labels


def solve(formula: Text, method: str = "fast") -> str | None:
    """The label of a formula; None if it has none (`classify` says why).

    Method "aiger" gives a tautology a label too where the solver's core happens not to be empty,
    as in the authors' data. FormulaError if `formula` is none; ValueError for another method.
    """
    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}: expected one of {', '.join(METHODS)}")
    tokens, names = _read(formula)
    if method == "fast":
        literals = _implicant(tokens, names)
    else:
        from itekit.logic import aiger_bridge

        tree = from_tokens(tokens)
        model = aiger_bridge.model(tree)
        literals = model and aiger_bridge.core(tree, model).as_dict()
    if not literals:
        return None
    return Assignment(tuple((n, literals[n]) for n in names if n in literals)).text()


def label(formula: Text, method: str) -> str:
    """The label of a formula for a set, or why it has none: UNSATISFIABLE or TAUTOLOGY."""
    return solve(formula, method) or classify(formula)


def classify(formula: Text) -> str:
    """Whether a formula is UNSATISFIABLE, a TAUTOLOGY, or neither: CONTINGENT (FormulaError)."""
    label = _implicant(*_read(formula))
    return UNSATISFIABLE if label is None else CONTINGENT if label else TAUTOLOGY


def check(formula: Text, answer: Text, label: Text | None = None, method: str = "fast") -> str:
    """The verdict on an answer (`itekit.tasks.verdicts`).

    EXACT if it has the label's literals, in any order; INVALID if it is no assignment or names a
    proposition that the formula lacks; CORRECT if it implies the formula; else INCORRECT. (The
    authors' tool calls a proposition that the formula lacks incorrect, and lets the second value of
    a repeated one count.) FormulaError if `formula` or `label` is none, where they are read.
    """
    try:
        assignment = parse_assignment(answer)
    except FormulaError:
        return INVALID
    if label is not None and assignment == parse_assignment(label):
        return EXACT
    tokens, names = _read(formula)
    values = assignment.as_dict()
    if not values.keys() <= set(names):
        return INVALID
    free = [name for name in names if name not in values]
    if method == "fast" and len(free) <= truth_tables.LARGEST:
        implied = truth_tables.implied_by(tokens, free, values)
    else:
        from itekit.logic import aiger_bridge

        implied = aiger_bridge.implied_by(from_tokens(tokens), assignment)
    return CORRECT if implied else INCORRECT


def by_name(pair: Pair) -> Pair:
    """A problem, its label's literals sorted by name.

    A literal is a name and 0 or 1, as in "a1b0". The label of a renamed problem need then not be
    the renamed label, letter by letter.
    """
    formula, label = pair
    return formula, "".join(sorted(label[i : i + 2] for i in range(0, len(label), 2)))


@dataclass(frozen=True)
class Propositional(LogicTask):
    """A formula is given, and a partial assignment that implies it is to be produced.

    Attributes:
        label_order: of the literals in labels: by first "appearance" in the formula, as in the
            kit's sets, or sorted by "name".
    """

    limit: int = 22
    set: str = "prop35"
    label_order: str = "appearance"

    kind = "propositional"
    prefix = "prop"
    fixed = "10!&|=^"  # constants and operators
    needs = ("aiger", "aiger_sat")
    check = staticmethod(check)

    def __post_init__(self):
        super().__post_init__()
        one_of(self, "label_order", ("name", "appearance"))

    def solve(self, problem: Text) -> str | None:
        return solve(problem)

    def comparison_key(self, answer: Text) -> Assignment | Text:
        """The parsed assignment, or the text if it does not parse."""
        with suppress(FormulaError):
            return parse_assignment(answer)
        return answer

    def pack(self, pairs: Sequence[Pair], vocabulary):
        pairs = [by_name(pair) for pair in pairs] if self.label_order == "name" else pairs
        return super().pack(pairs, vocabulary)


def _read(formula: Text) -> tuple[Text, list[str]]:
    """The formula's tokens, and its propositions by first appearance."""
    tokens = read_tokens(formula, PROPOSITIONAL)
    return tokens, [name for name in dict.fromkeys(tokens) if name not in PROPOSITIONAL.by_token]


def _implicant(tokens: Text, names: list[str]) -> dict[str, bool] | None:
    """The prime implicant of which the fast label is made."""
    if len(names) <= truth_tables.LARGEST:
        return truth_tables.prime_implicant(tokens, names)
    from itekit.logic import aiger_bridge

    return aiger_bridge.prime_implicant(from_tokens(tokens))
