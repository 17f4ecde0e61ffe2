"""Propositional assignment prediction (paper, appendix "Propositional Logic").

A formula is given, and the model is to produce a partial assignment, such as `a1b0`, under which
it is true whatever the other propositions are. Labels come from a model of the formula f: an
unsatisfiable core of not-f under the model's literals (appendix "Experimental Setup" of the
propositional experiments; the recipe of PropRandom35). Formulas without a model get no label, nor
do tautologies, whose label would be empty. A label's literals are sorted by name: a, b, ..., z,
aa, ab, ...

Two methods answer the same questions:

    aiger   py-aiger, as the paper's authors use it: the authority. Its cores depend on the run,
            and some hold a literal too many.
    fast    truth tables, or a SAT solver where there are many propositions. Its label is a prime
            implicant (no literal can be left out), fixed by the formula alone: the first model in
            counting order, False before True and the proposition that appears first changing
            slowest, loses its literals where the others suffice, the last first. So the label of
            a renamed formula is the renamed label.

Verdicts do not depend on the method. Labels do: both are right, one may be shorter.
"""

from collections.abc import Callable, Sequence
from string import ascii_lowercase
from typing import TypeVar

from itekit.logic import aiger_bridge, bits, cnf
from itekit.logic.assignments import Assignment, parse_assignment
from itekit.logic.formulas import MAX_DEPTH
from itekit.logic.operators import PROPOSITIONAL
from itekit.logic.prefix import FormulaError, parse_prefix
from itekit.tasks.verdicts import CORRECT, EXACT, INCORRECT, INVALID

METHODS = ("fast", "aiger")
UNSATISFIABLE, TAUTOLOGY, CONTINGENT = "unsatisfiable", "tautology", "contingent"

Answer = TypeVar("Answer")
LETTERS = frozenset(ascii_lowercase)


def solve(formula: str, method: str = "fast", *, format: str = "characters") -> str | None:
    """The label of a formula; None if it has none (`classify` says why).

    Method "aiger" gives a tautology a label too where the solver's core happens not to be empty,
    as in the authors' data.

    Raises:
        FormulaError: `formula` is not one propositional formula in prefix notation.
        ValueError: an unknown method or format.
    """
    label = _method(method, _fast_label, _aiger_label)(formula, format)
    if not label:
        return None
    ordered = sorted(label.items(), key=lambda literal: (len(literal[0]), literal[0]))
    return Assignment(tuple(ordered)).text(format=format)


def classify(formula: str, *, format: str = "characters") -> str:
    """Whether a formula is UNSATISFIABLE, a TAUTOLOGY, or neither: CONTINGENT.

    Raises:
        FormulaError: `formula` is not one propositional formula in prefix notation.
        ValueError: an unknown format.
    """
    label = _fast_label(formula, format)
    return UNSATISFIABLE if label is None else CONTINGENT if label else TAUTOLOGY


def check(
    formula: str,
    answer: str,
    label: str | None = None,
    method: str = "fast",
    *,
    format: str = "characters",
) -> str:
    """The verdict on an answer (`itekit.tasks.verdicts`).

    EXACT if it has the label's literals, in any order; INVALID if it is no assignment (an odd
    length, a value other than 0 and 1, a proposition twice) or names a proposition that the
    formula lacks; CORRECT if the formula is true under it whatever the other propositions are;
    else INCORRECT. The authors' tool calls a proposition that the formula lacks incorrect, and
    lets the second value of a repeated one count; what is correct is otherwise the same.

    Raises:
        FormulaError: `formula` or `label` cannot be read (neither is where the answer is no
            assignment; the formula is not where the answer is exact).
        ValueError: an unknown method or format.
    """
    implied_by = _method(method, _fast_verdict, _aiger_verdict)
    try:
        given = parse_assignment(answer, format=format)
    except FormulaError:
        return INVALID
    if label is not None and given == parse_assignment(label, format=format):
        return EXACT
    return implied_by(formula, given, format)


def solve_item(item: Sequence) -> str | None:
    """`solve` for a worker process: the item is [formula], or with a method and format too."""
    formula, method, format = (*item, *("fast", "characters")[len(item) - 1 :])
    return solve(formula, method, format=format)


def check_item(item: Sequence) -> str:
    """`check` for a worker process: [formula, answer], or with a label, method and format too."""
    formula, answer, label, method, format = (*item, *(None, "fast", "characters")[len(item) - 2 :])
    return check(formula, answer, label, method, format=format)


def _method(name: str, fast: Callable, aiger: Callable) -> Callable:
    if name not in METHODS:
        raise ValueError(f"unknown method {name!r}: expected one of {', '.join(METHODS)}")
    return fast if name == "fast" else aiger


def _fast_label(formula: str, format: str) -> dict[str, bool] | None:
    def implicant(tokens: Sequence[str], names: Sequence[str]) -> dict[str, bool] | None:
        return (bits if len(names) <= bits.LARGEST else cnf).prime_implicant(tokens, names)

    return _ask(implicant, formula, format)


def _aiger_label(formula: str, format: str) -> dict[str, bool] | None:
    tree = parse_prefix(formula, PROPOSITIONAL, format=format)
    model = aiger_bridge.model(tree)
    return None if model is None else aiger_bridge.core(tree, model).as_dict()


def _fast_verdict(formula: str, answer: Assignment, format: str) -> str:
    values = answer.as_dict()

    def verdict(tokens: Sequence[str], names: Sequence[str]) -> str:
        if not values.keys() <= set(names):
            return INVALID
        free = [name for name in names if name not in values]
        if len(free) <= bits.LARGEST:
            implied = bits.implied_by(tokens, free, values)
        else:
            implied = cnf.implied_by(tokens, names, values)
        return CORRECT if implied else INCORRECT

    return _ask(verdict, formula, format)


def _aiger_verdict(formula: str, answer: Assignment, format: str) -> str:
    tree = parse_prefix(formula, PROPOSITIONAL, format=format)
    if not set(answer) <= set(tree.propositions):
        return INVALID
    return CORRECT if aiger_bridge.implied_by(tree, answer) else INCORRECT


def _ask(
    question: Callable[[Sequence[str], Sequence[str]], Answer], formula: str, format: str
) -> Answer:
    """`question(tokens, names)`, the names by first appearance.

    Text in characters is its own tokens. Where that fails, `parse_prefix` knows the other
    spellings, and what is wrong.
    """
    if format == "characters" and len(formula) <= MAX_DEPTH:
        try:
            return question(formula, [name for name in dict.fromkeys(formula) if name in LETTERS])
        except bits.PrefixError:
            pass
    tree = parse_prefix(formula, PROPOSITIONAL, format=format)
    return question(tree.tokens(), tree.propositions)
