"""What is true under a partial assignment, and why: in words, and on the formula's tree.

Paper, appendix "Propositional Logic": an assignment may be partial, and is right if the formula is
true whatever the other propositions are. Here the same is asked of every subformula: it is "true"
or "false" if it is so under all completions of the assignment, and "open" otherwise.
"""

import plotly.graph_objects as go

from itekit.logic import bits
from itekit.logic.assignments import Assignment
from itekit.logic.formulas import Formula
from itekit.logic.infix import to_infix
from itekit.logic.operators import PROPOSITIONAL
from itekit.logic.prefix import to_prefix
from itekit.plots.trees import formula_tree
from itekit.tasks.propositional import TAUTOLOGY, check, classify, solve

VALUES = ("true", "false", "open")
SHOWN = 6
"""The most completions or subformulas that are listed in one row."""


def text_format(formula: Formula) -> str:
    """The text form that the formula's names need: "characters" or "spaced"."""
    return "spaced" if any(len(name) > 1 for name in formula.propositions) else "characters"


def node_values(formula: Formula, assignment: Assignment) -> list[str]:
    """For each node in prefix order: "true", "false" or "open".

    Raises:
        ValueError: more than 16 propositions are left free, or a temporal operator.
    """
    free, values = _free(formula, assignment), assignment.as_dict()
    settled = {(1 << (1 << len(free))) - 1: "true", 0: "false"}
    found = {
        part: settled.get(bits.table(part.tokens(), free, values), "open")
        for part in formula.subformulas()
    }
    return [found[node] for node in formula.nodes()]


def failing_completions(
    formula: Formula, assignment: Assignment, most: int = SHOWN
) -> tuple[list[Assignment], int, int]:
    """The first completions under which the formula is false, how many there are, and of how many.

    Raises:
        ValueError: more than 16 propositions are left free, or a temporal operator.
    """
    free = _free(formula, assignment)
    completions = 1 << len(free)
    left = bits.table(formula.tokens(), free, assignment.as_dict()) ^ (1 << completions) - 1
    failures, first = left.bit_count(), []
    while left and len(first) < most:
        row = (left & -left).bit_length() - 1
        rest = tuple((name, bool(row >> place & 1)) for place, name in enumerate(free))
        first.append(Assignment((*assignment.values, *rest)))
        left &= left - 1
    return first, failures, completions


def superfluous(formula: Formula, assignment: Assignment) -> list[Assignment]:
    """The literals of a right assignment that can be left out, each alone.

    Raises:
        ValueError: more than 16 propositions are left free without one of them, or a temporal
            operator.
    """
    found = []
    for literal in assignment.values:
        rest = Assignment(tuple(other for other in assignment.values if other != literal))
        if not failing_completions(formula, rest)[1]:
            found.append(Assignment((literal,)))
    return found


def findings(formula: Formula, assignment: Assignment) -> dict[str, str]:
    """What there is to say about an assignment: text under a heading each.

    Raises:
        ValueError: more than 16 propositions are left free, a temporal operator, or a proposition
            that the formula lacks.
    """
    form = text_format(formula)
    prefix = to_prefix(formula, format=form)
    label = solve(prefix, format=form)
    verdict = check(prefix, assignment.text(format=form), label, format=form)
    first, failures, completions = failing_completions(formula, assignment)
    found = {
        "formula": f"{to_infix(formula, unicode=True)}   ({prefix}, {formula.size} tokens)",
        "verdict": verdict
        + ": "
        + _reason([one.text(format=form) for one in first], failures, completions),
    }
    if not failures:
        spare = [one.text(format=form) for one in superfluous(formula, assignment)]
        found["minimal"] = f"no: {' or '.join(spare)} can be left out" if spare else "yes"
    value_of = dict(zip(formula.nodes(), node_values(formula, assignment), strict=True))
    for value in VALUES:
        parts = [to_infix(part, unicode=True) for part in value_of if value_of[part] == value]
        found[value] = _listed(parts, len(parts)) or "nothing"
    found["label"] = label or f"none: the formula is {_kind(prefix, form)}"
    return found


def values_figure(
    formula: Formula, assignment: Assignment | None = None, *, title: str = ""
) -> go.Figure:
    """The formula's tree, with the value of each subformula where an assignment is given.

    Raises:
        ValueError: as `node_values`, or a tree too large to be drawn.
    """
    symbols = {operator.token: operator.symbol for operator in PROPOSITIONAL.operators}
    labels = [symbols.get(token, token) for token in formula.tokens()]
    hover = [to_infix(node, unicode=True) for node in formula.nodes()]
    values = None if assignment is None else node_values(formula, assignment)
    if values:
        hover = [f"{text}: {value}" for text, value in zip(hover, values, strict=True)]
    return formula_tree(labels, formula.tree_paths(), values=values, hover=hover, title=title)


def _free(formula: Formula, assignment: Assignment) -> list[str]:
    free = [name for name in formula.propositions if name not in assignment]
    if len(free) > bits.LARGEST:
        raise ValueError(f"{len(free)} propositions are left free, at most {bits.LARGEST} can be")
    return free


def _reason(first: list[str], failures: int, completions: int) -> str:
    if completions == 1:
        return "nothing is left free, and the formula is " + ("false" if failures else "true")
    if not failures:
        return f"true under all {completions} completions"
    return f"false under {failures} of {completions} completions: {_listed(first, failures)}"


def _listed(parts: list[str], count: int) -> str:
    """The first few parts in one line, and how many more there are."""
    more = [f"and {count - SHOWN} more"] if count > SHOWN else []
    return ",  ".join(parts[:SHOWN] + more)


def _kind(prefix: str, form: str) -> str:
    kind = classify(prefix, format=form)
    return "a tautology, true under the empty assignment" if kind == TAUTOLOGY else kind
