"""What is true where, as text, as HTML and as figures: LTL on a trace, assignments on a formula.

Paper, appendices "Temporal logic overview" and "Propositional Logic". A trace stands for all words
that satisfy its steps: at each time a part of a formula holds on all of them, on none, or depends
on the word. An assignment may be partial: under all of its completions a part is true, false, or
open.
"""

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from itekit.logic import truth_tables
from itekit.logic.formulas import PROPOSITIONAL, Formula, parse_prefix, to_prefix
from itekit.logic.traces import Trace, parse_trace
from itekit.logic.truth_tables import Assignment
from itekit.tasks.propositional import TAUTOLOGY, check, classify, solve
from lessons.infix import to_infix, trace_to_infix
from lessons.plots import formula_tree, lasso_table
from lessons.plots.lassos import LOOKS
from lessons.semantics import (
    DEPENDS,
    FAILS,
    HOLDS,
    EmptyTraceError,
    evaluate_symbolic,
    example_words,
    implied_by,
)

VERDICTS = {
    HOLDS: "every word of the trace satisfies the formula",
    FAILS: "no word of the trace satisfies the formula",
    DEPENDS: "some words of the trace satisfy the formula, some do not",
}
SHOWN = 6  # completions or subformulas that are listed in one row at most


def html_table(rows: Sequence[Sequence], head: str = "td") -> str:
    """HTML of a table whose cells are HTML; `head`: the tag of a row's first cell."""
    look = "text-align:left;vertical-align:top;white-space:pre-wrap;padding:0.2em 1.5em 0.2em 0"
    lines = ""
    for first, *others in rows:
        cells = "".join(f'<td style="{look}">{cell}</td>' for cell in others)
        lines += f'<tr><{head} style="{look}">{first}</{head}>{cells}</tr>'
    return f"<table>{lines}</table>"


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
    def notes(self) -> list[str]:
        """The verdict, and what else there is to say."""
        status = self.rows[-1][0]  # of the whole formula at time 0
        found = [f"{LOOKS[status][0]} {VERDICTS[status]}"]
        if status == DEPENDS:
            words = [trace_to_infix(word) for word in self.examples if word]
            found += [f"satisfied by {words[0]}", f"violated by {words[1]}"]
        strange = [n for n in self.trace.propositions if n not in self.formula.propositions]
        if strange:
            found.append(f"only in the trace: {', '.join(strange)}")
        return found

    @property
    def labelled(self) -> list[tuple[str, Sequence[str]]]:
        """Each subformula in infix notation with its statuses, the smallest first."""
        return list(zip(map(to_infix, self.formula.subformulas()), self.rows, strict=True))

    @property
    def steps(self) -> tuple[list[str], list[str]]:
        """The steps of the prefix and of the cycle in infix notation."""
        return [to_infix(s) for s in self.trace.prefix], [to_infix(s) for s in self.trace.cycle]

    def figure(self) -> go.Figure:
        """The table as a figure; ValueError: more times than are drawn."""
        return lasso_table(*self.steps, self.labelled)

    def _cells(self, text: Callable[[str], str], sign: Callable[[str], str]) -> list[list[str]]:
        """Times, steps and statuses, with a column of marks before the cycle."""
        prefix, cycle = self.steps
        rows = [["time", *map(str, range(len(prefix + cycle)))]]
        rows.append(["step", *map(text, prefix + cycle)])
        rows += [[text(label), *map(sign, row)] for label, row in self.labelled]
        for row in rows:
            row.insert(1 + len(prefix), "↻" if row is rows[0] else "│")
        return rows

    def __repr__(self) -> str:
        rows = self._cells(str, lambda status: LOOKS[status][0])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join([*lines, *self.notes])

    def _repr_html_(self) -> str:
        def box(status: str) -> str:
            sign, fill, colour = LOOKS[status]
            look = f"width:2.4em;text-align:center;background:{fill};color:{colour}"
            return f'<div style="{look}" title="{status}">{sign}</div>'

        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return notes + html_table(self._cells(html.escape, box), "th")


def status_table(formula: Formula, trace: Trace) -> StatusTable:
    """The table of a formula and a trace; EmptyTraceError: the trace stands for no word."""
    rows = list(evaluate_symbolic(formula, trace).values())
    return StatusTable(formula, trace, rows, example_words(formula, trace))


def status_item(formula: str, trace: str) -> StatusTable | str:
    """The table of two prefix texts, or what is wrong with the trace; for a worker process."""
    try:
        return status_table(parse_prefix(formula), parse_trace(trace))
    except EmptyTraceError as error:
        return str(error)


# What is true under a partial assignment, and why.


def node_values(formula: Formula, assignment: Assignment) -> list[str]:
    """For each node in prefix order: "true", "false" or "open"."""
    is_true = {part: implied_by(part, assignment) for part in formula.subformulas()[::-1]}
    is_false = {part: implied_by(~part, assignment) for part in is_true}
    return [
        "true" if is_true[node] else "false" if is_false[node] else "open"
        for node in formula.nodes()
    ]


def failing_completions(
    formula: Formula, assignment: Assignment, most: int = SHOWN
) -> tuple[list[Assignment], int, int]:
    """The first completions under which it is false, how many there are, and of how many."""
    free = [name for name in formula.propositions if name not in assignment]
    if len(free) > (limit := truth_tables.LARGEST):
        raise ValueError(f"{len(free)} propositions are left free, at most {limit} can be")
    left, first = truth_tables.table((~formula).tokens(), free, assignment.as_dict()), []
    failures = left.bit_count()
    while left and len(first) < most:
        row = (left & -left).bit_length() - 1
        rest = tuple((name, bool(row >> place & 1)) for place, name in enumerate(free))
        first.append(Assignment((*assignment.values, *rest)))
        left &= left - 1
    return first, failures, 1 << len(free)


def superfluous(formula: Formula, assignment: Assignment) -> list[Assignment]:
    """The literals of a right assignment that can be left out, each alone."""
    found = []
    for literal in assignment.values:
        rest = Assignment(tuple(other for other in assignment.values if other != literal))
        if implied_by(formula, rest):
            found.append(Assignment((literal,)))
    return found


def findings(formula: Formula, assignment: Assignment) -> dict[str, str]:
    """What there is to say about an assignment: text under a heading each.

    ValueError: too many propositions are left free.
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


def values_figure(formula: Formula, assignment: Assignment) -> go.Figure:
    """The formula's tree, with the value of each subformula under an assignment.

    ValueError: a tree too large to be drawn.
    """
    symbols = {operator.token: operator.symbol for operator in PROPOSITIONAL.operators}
    labels = [symbols.get(token, token) for token in formula.tokens()]
    values = node_values(formula, assignment)
    pairs = zip(formula.nodes(), values, strict=True)
    said = [(value, f"{to_infix(node, unicode=True)}: {value}") for node, value in pairs]
    return formula_tree(labels, formula.tree_paths(), values=said)
