"""What is true where, as text, as HTML and as figures: LTL on a trace, assignments on a formula.

Paper, appendices "Temporal logic overview" and "Propositional Logic". A trace stands for all words
that satisfy its steps: at each time a part of a formula holds on all of them, on none, or depends
on the word. An assignment may be partial: under all of its completions a part is true, false, or
open.
"""

import html
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from itekit.logic import truth_tables
from itekit.logic.formulas import PROPOSITIONAL, Formula, parse_prefix, to_prefix
from itekit.logic.infix import to_infix, trace_to_infix
from itekit.logic.semantics import (
    DEPENDS,
    FAILS,
    HOLDS,
    EmptyTraceError,
    evaluate_symbolic,
    example_words,
)
from itekit.logic.traces import Trace, parse_trace
from itekit.logic.truth_tables import Assignment
from itekit.plots import formula_tree, lasso_table
from itekit.plots.lassos import LOOKS
from itekit.tasks.propositional import TAUTOLOGY, check, classify, solve

VERDICTS = {
    HOLDS: "every word of the trace satisfies the formula",
    FAILS: "no word of the trace satisfies the formula",
    DEPENDS: "some words of the trace satisfy the formula, some do not",
}
SHOWN = 6  # completions or subformulas that are listed in one row at most


@dataclass(frozen=True)
class StatusTable:
    """Where the parts of a formula hold on a trace.

    Attributes:
        rows: the status at each time of each of `formula.subformulas()`.
        examples: words that satisfy the formula and words that violate it, where there are any.
    """

    formula: Formula
    trace: Trace
    rows: Sequence[Sequence[str]]
    examples: tuple[Trace | None, Trace | None]

    @property
    def status(self) -> str:
        """The status of the whole formula at time 0."""
        return self.rows[-1][0]

    @property
    def notes(self) -> list[str]:
        """The verdict, and what else there is to say."""
        found = [f"{LOOKS[self.status][0]} {VERDICTS[self.status]}"]
        if self.status == DEPENDS:
            words = [trace_to_infix(word) for word in self.examples if word]
            found += [f"satisfied by {words[0]}", f"violated by {words[1]}"]
        strange = [n for n in self.trace.propositions if n not in self.formula.propositions]
        if strange:
            found.append(f"only in the trace: {', '.join(strange)}")
        return found

    @property
    def labelled(self) -> list[tuple[str, Sequence[str]]]:
        """Each subformula in infix notation with its statuses, the smallest first."""
        parts = self.formula.subformulas()
        return [(to_infix(part), row) for part, row in zip(parts, self.rows, strict=True)]

    @property
    def steps(self) -> tuple[list[str], list[str]]:
        """The steps of the prefix and of the cycle in infix notation."""
        return [to_infix(s) for s in self.trace.prefix], [to_infix(s) for s in self.trace.cycle]

    def figure(self, title: str = "") -> go.Figure:
        """The table as a figure.

        Raises:
            ValueError: more times than are drawn.
        """
        return lasso_table(*self.steps, self.labelled, title=title)

    def __repr__(self) -> str:
        prefix, cycle = self.steps
        times = [str(time) for time in range(len(prefix + cycle))]
        head = ["time", *times], ["step", *prefix, *cycle]
        body = [[label, *(LOOKS[s][0] for s in row)] for label, row in self.labelled]
        widths = [max(map(len, column)) for column in zip(*head, *body, strict=True)]
        lines = []
        for row in (*head, *body):
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            cells.insert(1 + len(prefix), "↻" if row is head[0] else "│")
            lines.append("  ".join(cells).rstrip())
        return "\n".join([*lines, *self.notes])

    def _repr_html_(self) -> str:
        prefix, cycle = map(len, self.steps)

        def cell(content: str, look: str, kind: str = "td") -> str:
            style = f"text-align:center;padding:3px 9px;{look}"
            return f'<{kind} style="{style}">{content}</{kind.split()[0]}>'

        def edge(time: int) -> str:
            """A line on the left of the cycle."""
            return "border-left:3px solid #0072B2" if time == prefix else ""

        over = f'<th></th><th colspan="{prefix}">once</th>' if prefix else "<th></th>"
        times = cell("step", "text-align:left", "th")
        for time, step in enumerate(self.steps[0] + self.steps[1]):
            times += cell(f"{html.escape(step)}<br>{time}", edge(time), "th")
        rows = [over + cell("↻ for ever", edge(prefix), f'th colspan="{cycle}"'), times]
        for number, (label, statuses) in enumerate(self.labelled, 1):
            name = html.escape(label)
            name = f"<b>{name}</b>" if number == len(self.rows) else name
            row = cell(name, "text-align:left;font-family:monospace")
            for time, status in enumerate(statuses):
                sign, fill, colour = LOOKS[status]
                box = f"display:inline-block;width:2.4em;background:{fill};color:{colour}"
                row += cell(f'<span style="{box}" title="{status}">{sign}</span>', edge(time))
            rows.append(row)
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return f"{notes}<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def status_table(formula: Formula, trace: Trace) -> StatusTable:
    """The table of a formula and a trace.

    Raises:
        EmptyTraceError: the trace stands for no word.
    """
    rows = list(evaluate_symbolic(formula, trace).values())
    return StatusTable(formula, trace, rows, example_words(formula, trace))


def status_item(formula: str, trace: str) -> StatusTable | str:
    """The table of two prefix texts, or what is wrong with the trace; for a worker process."""
    try:
        return status_table(parse_prefix(formula), parse_trace(trace))
    except EmptyTraceError as error:
        return str(error)


# What is true under a partial assignment, and why.


def _free(formula: Formula, assignment: Assignment) -> list[str]:
    free = [name for name in formula.propositions if name not in assignment]
    if len(free) > (most := truth_tables.LARGEST):
        raise ValueError(f"{len(free)} propositions are left free, at most {most} can be")
    return free


def node_values(formula: Formula, assignment: Assignment) -> list[str]:
    """For each node in prefix order: "true", "false" or "open".

    Raises:
        ValueError: more than 16 propositions are left free, or a temporal operator.
    """
    free, values = _free(formula, assignment), assignment.as_dict()
    settled, found = {(1 << (1 << len(free))) - 1: "true", 0: "false"}, {}
    for part in formula.subformulas():
        found[part] = settled.get(truth_tables.table(part.tokens(), free, values), "open")
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
    right = truth_tables.table(formula.tokens(), free, assignment.as_dict())
    left = right ^ (1 << completions) - 1
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
        if not failing_completions(formula, rest, 0)[1]:
            found.append(Assignment((literal,)))
    return found


def findings(formula: Formula, assignment: Assignment) -> dict[str, str]:
    """What there is to say about an assignment: text under a heading each.

    Raises:
        ValueError: more than 16 propositions are left free, a temporal operator, or a proposition
            that the formula lacks.
    """
    prefix = to_prefix(formula)
    label = solve(prefix)
    first, failures, completions = failing_completions(formula, assignment)
    if completions == 1:
        reason = f"nothing is left free, and the formula is {'false' if failures else 'true'}"
    elif failures:
        reason = f"false under {failures} of {completions} completions: "
        reason += _listed([one.text() for one in first], failures)
    else:
        reason = f"true under all {completions} completions"
    found = {
        "formula": f"{to_infix(formula, unicode=True)}   ({prefix}, {formula.size} tokens)",
        "verdict": f"{check(prefix, assignment.text(), label)}: {reason}",
    }
    if not failures:
        spare = [one.text() for one in superfluous(formula, assignment)]
        found["minimal"] = f"no: {' or '.join(spare)} can be left out" if spare else "yes"
    value_of = dict(zip(formula.nodes(), node_values(formula, assignment), strict=True))
    for value in ("true", "false", "open"):
        parts = [to_infix(part, unicode=True) for part in value_of if value_of[part] == value]
        found[value] = _listed(parts, len(parts)) or "nothing"
    if not label:
        kind = classify(prefix)
        kind = "a tautology, true under the empty assignment" if kind == TAUTOLOGY else kind
    found["label"] = label or f"none: the formula is {kind}"
    return found


def _listed(parts: list[str], count: int) -> str:
    """The first few parts in one line, and how many more there are."""
    more = [f"and {count - SHOWN} more"] if count > SHOWN else []
    return ",  ".join(parts[:SHOWN] + more)


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
