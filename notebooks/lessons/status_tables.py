"""A formula's parts beside the times of a symbolic trace: where each holds, as HTML and as text.

Paper, appendix "Temporal logic overview". The statuses are those of `itekit.logic.statuses`: exact
for all words that the trace stands for.
"""

import html
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from itekit.logic.formulas import Formula
from itekit.logic.infix import to_infix
from itekit.logic.infix_traces import trace_to_infix
from itekit.logic.statuses import DEPENDS, FAILS, HOLDS, evaluate_symbolic, example_words
from itekit.logic.traces import Trace
from itekit.plots.lasso_tables import LOOKS, lasso_table

VERDICTS = {
    HOLDS: "every word of the trace satisfies the formula",
    FAILS: "no word of the trace satisfies the formula",
    DEPENDS: "some words of the trace satisfy the formula, some do not",
}


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
        cells = [_cell("step", "text-align:left", "th")]
        cells += [
            _cell(f"{html.escape(step)}<br>{time}", _edge(time, prefix), "th")
            for time, step in enumerate(self.steps[0] + self.steps[1])
        ]
        over = f'<th></th><th colspan="{prefix}">once</th>' if prefix else "<th></th>"
        over += _cell("↻ for ever", _edge(prefix, prefix), f'th colspan="{cycle}"')
        rows = [f"<tr>{over}</tr>", f"<tr>{''.join(cells)}</tr>"]
        for number, (label, row) in enumerate(self.labelled, 1):
            name = html.escape(label)
            name = f"<b>{name}</b>" if number == len(self.rows) else name
            cells = [_cell(name, "text-align:left;font-family:monospace")]
            for time, status in enumerate(row):
                sign, fill, colour = LOOKS[status]
                box = f"display:inline-block;width:2.4em;background:{fill};color:{colour}"
                sign = f'<span style="{box}" title="{status}">{sign}</span>'
                cells.append(_cell(sign, _edge(time, prefix)))
            rows.append(f"<tr>{''.join(cells)}</tr>")
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return f"{notes}<table>{''.join(rows)}</table>"


def status_table(formula: Formula, trace: Trace) -> StatusTable:
    """The table of a formula and a trace.

    Raises:
        EmptyTraceError: the trace stands for no word.
    """
    rows = list(evaluate_symbolic(formula, trace).values())
    return StatusTable(formula, trace, rows, example_words(formula, trace))


def _cell(content: str, look: str, kind: str = "td") -> str:
    tag = kind.split()[0]
    return f'<{kind} style="text-align:center;padding:3px 9px;{look}">{content}</{tag}>'


def _edge(time: int, start: int) -> str:
    """A line on the left of the cycle."""
    return "border-left:3px solid #0072B2" if time == start else ""
