"""A panel for propositional logic: type a formula and a partial assignment, see what is true.

What it shows is made by `lessons.satisfaction`, which a notebook also calls to show one setting for
readers without a running kernel. Whatever is wrong with the typed text is said inside the panel.
"""

import html

import ipywidgets as widgets
import numpy as np

from itekit.alpha import Renaming, sample_renamings
from itekit.logic.assignments import Assignment, parse_assignment
from itekit.logic.errors import FormulaError
from itekit.logic.formulas import Formula
from itekit.logic.infix import parse_infix, to_infix
from itekit.logic.operators import PROPOSITIONAL, proposition_names
from itekit.logic.prefix import parse_prefix, to_prefix
from lessons.panels import Panel, error_html
from itekit.plots.trees import MOST_NODES
from lessons.satisfaction import findings, text_format, values_figure
from itekit.tasks.propositional import solve

FEWEST_NAMES = 6
"""A random renaming draws from at least so many names, so that formulas can get new ones."""


def findings_html(formula: Formula, assignment: Assignment) -> str:
    """HTML of a table: what there is to say about an assignment.

    Raises:
        ValueError: as `satisfaction.findings`.
    """
    rows = [
        f'<tr><th style="text-align:left;padding-right:1em">{name}</th>'
        f'<td style="text-align:left;white-space:pre-wrap">{html.escape(text)}</td></tr>'
        for name, text in findings(formula, assignment).items()
    ]
    return f"<table>{''.join(rows)}</table>"


def random_renaming(formula: Formula, seed: int) -> Renaming:
    """A random renaming of the formula's propositions, not the one that changes nothing.

    Raises:
        ValueError: the formula has no proposition.
    """
    used = formula.propositions
    if not used:
        raise ValueError("the formula has no proposition to rename")
    names = list(dict.fromkeys([*proposition_names(FEWEST_NAMES), *used]))
    drawn = sample_renamings(used, names, 2, np.random.default_rng(seed))
    return next(renaming for renaming in drawn if renaming(list(used)) != list(used))


class AssignmentExplorer(Panel):
    """Type a formula and a partial assignment; see the value of each subformula and the verdict.

    Args:
        formula: the first formula, in prefix notation.
        assignment: the first assignment, such as `a1b0`.
    """

    def __init__(self, formula: str = "|&a!b&bc", assignment: str = "b0"):
        shared = {"style": {"description_width": "6em"}, "layout": {"width": "32em"}}
        typed = {"continuous_update": False, **shared}
        self.notation = widgets.Dropdown(
            options=["prefix", "infix"], description="notation", **shared
        )
        self.formula = widgets.Text(formula, description="formula", **typed)
        self.assignment = widgets.Text(assignment, description="assignment", **typed)
        wide = {"layout": {"width": "auto"}}
        self.label = widgets.Button(description="Fill in the label", icon="check", **wide)
        self.rename = widgets.Button(description="Rename both at random", icon="random", **wide)
        self.note, self.renamings, self.quiet = widgets.HTML(), 0, False
        texts = [self.notation, self.formula, self.assignment]
        super().__init__([*texts, widgets.HBox([self.label, self.rename]), self.note])
        self.notation.observe(self._translate, "value")
        for control in texts:
            control.observe(self._update, "value")
        self.label.on_click(lambda _: self.safely(self._label))
        self.rename.on_click(lambda _: self.safely(self._rename))
        self._update()

    def _read_formula(self, notation: str) -> Formula:
        text = self.formula.value.strip()
        if notation == "infix":
            return parse_infix(text, PROPOSITIONAL)
        form = "spaced" if " " in text else "characters"
        return parse_prefix(text, PROPOSITIONAL, format=form)

    def _read(self) -> tuple[Formula | None, Assignment | None, str]:
        """The formula and the assignment, None where the text is wrong, and HTML that says why."""
        formula = assignment = None
        problems = ""
        try:
            formula = self._read_formula(self.notation.value)
        except FormulaError as error:
            problems += f"<p>This is no formula{self._hint()}:</p>{error_html(error)}"
        names = formula.propositions if formula else None
        form = text_format(formula) if formula else "characters"
        try:
            text = self.assignment.value.strip()
            assignment = parse_assignment(text, format=form, propositions=names)
        except FormulaError as error:
            problems += f"<p>An invalid assignment:</p>{error_html(error)}"
        return formula, assignment, problems

    def _hint(self) -> str:
        """Words to add if the text is a formula in the notation that is not chosen."""
        chosen = self.notation.value
        (other,) = set(self.notation.options) - {chosen}
        try:
            self._read_formula(other)
        except FormulaError:
            return ""
        return f" in {chosen} notation, but it is one in {other} notation (choose that above)"

    def _write(self, formula: Formula) -> str:
        if self.notation.value == "infix":
            return to_infix(formula)
        return to_prefix(formula, format=text_format(formula))

    def _set(self, formula: Formula, assignment: str, note: str) -> str:
        """Put both texts into the panel at once; return the answer."""
        self.quiet = True
        self.formula.value, self.assignment.value = self._write(formula), assignment
        self.quiet = False
        self.note.value = html.escape(note)
        return self._work()

    def _translate(self, change) -> None:
        """Write the formula in the notation just chosen, if it can be read in the other one."""
        try:
            formula = self._read_formula(change["old"])
        except FormulaError:
            return
        self.quiet = True
        self.formula.value = self._write(formula)
        self.quiet = False

    def _label(self) -> str:
        formula, _, problems = self._read()
        if formula is None:
            return problems
        form = text_format(formula)
        label = solve(to_prefix(formula, format=form), format=form)
        note = "" if label else "This formula has no label: the assignment is left empty."
        return self._set(formula, label or "", note)

    def _rename(self) -> str:
        formula, assignment, problems = self._read()
        if problems:
            return problems
        self.renamings += 1
        renaming = random_renaming(formula, self.renamings)
        pairs = ", ".join(f"{old} → {renaming([old])[0]}" for old in formula.propositions)
        formula, assignment = renaming.apply_pair(formula, assignment)
        text = assignment.text(format=text_format(formula))
        return self._set(formula, text, f"Renamed: {pairs}")

    def _update(self, change=None) -> None:
        if not self.quiet:
            self.note.value = ""
            self.safely(self._work)

    def _work(self) -> str:
        self.draw(None)
        formula, assignment, problems = self._read()
        if formula is not None and formula.size > MOST_NODES:
            raise ValueError(f"a formula of {formula.size} tokens: at most {MOST_NODES} here")
        answer = problems or findings_html(formula, assignment)
        if formula is not None:
            self.draw(values_figure(formula, assignment), "The formula as a tree")
        return answer
