"""Panels of controls for notebooks; whatever is wrong with what is typed is said inside them.

Each is a thin shell around functions that return HTML or a figure, which a notebook also calls to
show one setting for readers without a running kernel. Spot works in a process of its own, which is
ended when a formula takes too long, so that a panel always answers.
"""

import html
import threading
from collections.abc import Callable, Sequence
from contextlib import contextmanager

import ipywidgets as widgets
import numpy as np
import plotly.graph_objects as go

from itekit.alpha import sample_renamings
from itekit.decoding import Solver
from itekit.logic.formulas import LANGUAGES, PROPOSITIONAL, Formula, FormulaError, to_prefix
from itekit.logic.truth_tables import Assignment, parse_assignment
from itekit.network import Network
from itekit.tasks.propositional import solve
from itekit.tasks.verdicts import TIME_OUT
from itekit.vocabulary import proposition_names
from itekit.workers import Pool
from lessons.copies import check_text
from lessons.infix import formula_from_text, to_infix, trace_from_text, trace_to_infix
from lessons.plots import embedding_matrix, lasso_figure, mime_bundle
from lessons.plots.trees import MOST_NODES
from lessons.subjects import arrows
from lessons.tables import findings, html_table, status_item, values_figure

MOST_TOKENS, MOST_STEPS, MOST_STATES = 80, 30, 12  # of formula, trace and drawn automaton
CPU_SECONDS = 5.0
FEWEST_NAMES = 6  # that a random renaming draws from at least, so that formulas can get new ones
GREYED = "<style>.itekit-greyed { opacity: 0.35; }</style>"
EXAMPLES = {  # formulas and traces
    "until": ("a U b", "a;&ab;{b}"),
    "a request is always answered": ("G(a -> F b)", "{a;1;b}"),
    "infinitely often, not always": ("G F a & F G b", "{&ab;b}"),
    "depends on the word": ("X X b", "a;&a!b;{c}"),
    "holds, though its parts depend": ("G(a | !a)", "{1}"),
    "constant, whichever: no": ("G a | G !a", "{1}"),
    "no step is the last": ("X 0", "{1}"),
}


def error_html(error: Exception) -> str:
    """What is wrong, as a line for inside a panel; a caret below points at a wrong character."""
    kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
    picture = f"<pre>{html.escape(error.picture)}</pre>" if isinstance(error, FormulaError) else ""
    return f'<p role="alert"><b>✗</b> {html.escape(f"{kind}{error}")}</p>{picture}'


def look(name: str, width: str | None = None, margin: str = "6em") -> dict:
    """The name, the width, and the room for the name of a control."""
    layout, style = {"width": width}, {"description_width": margin}
    return {"description": name, "layout": layout, "style": style}


def typed(text: str, *shape: str) -> widgets.Text:
    """A box to type into, which answers when Enter is pressed; `shape` as for `look`."""
    return widgets.Text(text, continuous_update=False, **look(*shape))


def button(text: str, icon: str) -> widgets.Button:
    """A button as wide as its text."""
    return widgets.Button(description=text, icon=icon, layout={"width": "auto"})


class Panel(widgets.VBox):
    """Controls above an answer and a picture; what goes wrong is said between them.

    A panel's `work` gives the HTML of the answer to what the controls say; it may `draw`. Where it
    raises an error, the last answer and the last picture stay, greyed.
    """

    def __init__(self, controls: Sequence[widgets.Widget]):
        self.message, self.answer = widgets.HTML(), widgets.HTML()
        self.picture, self.quiet, self.drawn = widgets.Output(), False, ()
        super().__init__([*controls, self.message, self.answer, self.picture])

    def watch(self, *controls: widgets.Widget) -> None:
        """Answer now, and whenever one of the controls changes."""
        for control in controls:
            control.observe(lambda _: self.quiet or self.safely(self.work), "value")
        self.safely(self.work)

    def safely(self, work: Callable[[], str]) -> None:
        """Show the HTML that `work` returns and what it draws, or the error that it raises."""
        self.drawn = ()
        try:
            answer = work()
        except Exception as error:  # a reader sees what is wrong, never a traceback
            self.say(error_html(error), self.answer, self.picture)
        else:
            self.say("", self.answer, self.picture)
            self.answer.value, self.picture.outputs = answer, self.drawn

    def say(self, message: str, *below: widgets.Widget) -> None:
        """Show a message, and what is below it greyed; without a message as it was."""
        self.message.value = message and GREYED + message
        for widget in below:
            (widget.add_class if message else widget.remove_class)("itekit-greyed")

    def draw(self, figure: go.Figure, alt: str) -> None:
        """Show a figure below the answer."""
        data, metadata = mime_bundle(figure, alt, static_picture=False)
        self.drawn = ({"output_type": "display_data", "data": data, "metadata": metadata},)

    @contextmanager
    def quietly(self):
        """In here controls may be set without an answer to each."""
        self.quiet = True
        try:
            yield
        finally:
            self.quiet = False


def small_panel(work: Callable, *controls: widgets.Widget, rows: Sequence = ()) -> Panel:
    """A panel whose `work` makes of the controls' values HTML, or HTML, a figure and its text.

    `rows` are the controls as they are laid out; without them each has a row of its own.
    """
    panel = Panel(rows or controls)

    def answer() -> str:
        found = work(*(control.value for control in controls))
        if isinstance(found, str):
            return found
        panel.draw(*found[1:])
        return found[0]

    panel.work = answer
    panel.watch(*controls)
    return panel


# Copying


def rows_figure(network: Network, text: str, draw: int = 0) -> go.Figure:
    """The rows of U that a string uses, in order of U, its parts marked.

    ValueError: an empty or long string, or one that the network has no embeddings for.
    """
    solver, embedding = Solver(network, draw), network.embedding
    check_text(text, solver.vocabulary)
    ids = sorted(solver.vocabulary.encode(["<end>", "<start>", *dict.fromkeys(text)]))
    rows, tokens = solver.U[ids], solver.vocabulary.decode(ids)
    shared = rows.shape[1] - embedding.d_beta if embedding.random else None
    parts = {"shared_dimensions": shared, "first_interchangeable": 2}
    return embedding_matrix(rows, tokens, **parts, title=f"Rows in use, random draw {draw}")


# Linear temporal logic


class _SpotPanel(Panel):
    """A panel about a typed formula, whose questions Spot answers in a process of its own."""

    def __init__(self, formula: str, *controls: widgets.Widget):
        self.formula, self.pool = typed(formula, "formula", "34em"), Pool(1)
        super().__init__([*controls[:1], self.formula, *controls[1:]])

    def ask(self, function: Callable, *values):
        """The function's result for the values; ValueError: not within CPU_SECONDS."""
        (answer,) = self.pool.run(function, [values], unpack=True, limit=CPU_SECONDS)
        if answer == TIME_OUT:
            raise ValueError(f"not done after {CPU_SECONDS:g} CPU seconds: try a smaller formula")
        return answer

    def read(self) -> Formula:
        """The typed formula, unless it is too large."""
        formula = formula_from_text(self.formula.value)
        if formula.size > MOST_TOKENS:
            raise ValueError(f"a formula of {formula.size} tokens: at most {MOST_TOKENS} here")
        return formula


def _both(formula: Formula) -> str:
    """The formula in both notations."""
    return f"{to_infix(formula)} · prefix {to_prefix(formula)} · {formula.size} tokens"


class TraceExplorer(_SpotPanel):
    """Type a formula and a trace, in prefix or infix notation; see where each subformula holds."""

    def __init__(self, formula: str = "G(a -> F b)", trace: str = "a;|ab;{1;b}"):
        options = {f"{name}: {pair[0]}": pair for name, pair in EXAMPLES.items()}
        self.examples = widgets.Dropdown(options=options, value=None, **look("examples", "34em"))
        self.trace, self.solve = typed(trace, "trace", "34em"), button("Trace by Spot", "check")
        super().__init__(formula, self.examples, self.trace, widgets.HBox([self.solve]))
        self.examples.observe(lambda _: self.examples.value and self.safely(self._choose), "value")
        self.solve.on_click(lambda _: self.safely(self._solve))
        self.watch(self.formula, self.trace)
        for box in self.formula, self.trace:  # the same example can be chosen again
            box.observe(lambda _: self.quiet or setattr(self.examples, "value", None), "value")

    def _choose(self) -> str:
        with self.quietly():
            self.formula.value, self.trace.value = self.examples.value
        return self.work()

    def _solve(self) -> str:
        from itekit.tasks.ltl import solve  # Spot is not on every platform

        formula = self.read()
        trace = self.ask(solve, to_prefix(formula))
        if trace is None:
            raise ValueError(f"nothing satisfies {to_infix(formula)}: there is no trace")
        with self.quietly():
            self.trace.value = trace
        return self.work()

    def work(self) -> str:
        formula, trace = self.read(), trace_from_text(self.trace.value)
        if len(trace.steps) > MOST_STEPS:
            raise ValueError(f"a trace of {len(trace.steps)} steps: at most {MOST_STEPS} here")
        table = self.ask(status_item, to_prefix(formula), trace.text())
        shown = trace_to_infix(trace)
        head = f"<p>{html.escape(_both(formula))}<br>trace {html.escape(shown)}</p>"
        if isinstance(table, str):
            raise ValueError(table)
        self.draw(lasso_figure(*table.steps), f"The trace {shown} as a lasso")
        return head + table._repr_html_()


class AutomatonExplorer(_SpotPanel):
    """Type a formula; see the automaton that Spot translates it into, and an accepting run."""

    def __init__(self, formula: str = "G(a -> F b)"):
        super().__init__(formula)
        self.watch(self.formula)

    def work(self) -> str:
        from lessons.automata import automaton_figure, formula_automaton  # see `_solve`

        formula = self.read()
        found = self.ask(formula_automaton, formula)
        run = f"accepting run as a trace: {found.trace}" if found.trace else "nothing satisfies it"
        page = f"<p>{html.escape(_both(formula))}<br>{html.escape(run)}</p>"
        if found.states > MOST_STATES:
            return f"{page}<p>{found.states} states: too large to be drawn.</p>"
        self.draw(automaton_figure(found), f"Automaton of {to_infix(formula)}")
        return page


# Propositional logic


class AssignmentExplorer(Panel):
    """Type a formula, in prefix or infix notation, and a partial assignment such as `a1b0`.

    The panel says the value of each subformula, and the verdict.
    """

    def __init__(self, formula: str = "|&a!b&bc", assignment: str = "b0"):
        self.formula = typed(formula, "formula", "32em")
        self.assignment = typed(assignment, "assignment", "32em")
        self.label = button("Fill in the label", "check")
        self.rename = button("Rename both at random", "random")
        self.rng, buttons = np.random.default_rng(0), widgets.HBox([self.label, self.rename])
        super().__init__([self.formula, self.assignment, buttons])
        self.label.on_click(lambda _: self.safely(self._label))
        self.rename.on_click(lambda _: self.safely(self._rename))
        self.watch(self.formula, self.assignment)

    def _read(self) -> Formula:
        return formula_from_text(self.formula.value.strip(), PROPOSITIONAL)

    def _given(self, formula: Formula) -> Assignment:
        text = self.assignment.value.strip()
        return parse_assignment(text, propositions=formula.propositions)

    def _label(self) -> str:
        label = solve(to_prefix(self._read()))
        with self.quietly():
            self.assignment.value = label or ""
        note = "<p>This formula has no label: the assignment is left empty.</p>"
        return note * (label is None) + self.work()

    def _rename(self) -> str:
        formula = self._read()
        assignment, used = self._given(formula), list(formula.propositions)
        if not used:
            raise ValueError("the formula has no proposition to rename")
        names = list(dict.fromkeys([*proposition_names(FEWEST_NAMES), *used]))
        drawn = sample_renamings(used, names, 2, self.rng)  # one of them changes something
        renaming = next(one for one in drawn if one(used) != used)
        write = to_prefix if self.formula.value.strip() == to_prefix(formula) else to_infix
        formula, assignment = renaming.apply_pair(formula, assignment)
        with self.quietly():
            self.formula.value, self.assignment.value = write(formula), assignment.text()
        return f"<p>Renamed: {html.escape(', '.join(arrows(renaming, used)))}</p>" + self.work()

    def work(self) -> str:
        formula = self._read()
        if formula.size > MOST_NODES:
            raise ValueError(f"a formula of {formula.size} tokens: at most {MOST_NODES} here")
        assignment = self._given(formula)
        rows = findings(formula, assignment)
        self.draw(values_figure(formula, assignment), "The formula as a tree")
        return html_table([(name, html.escape(text)) for name, text in rows.items()], "th")


# Language models


class AskPanel(Panel):
    """Type a formula, in infix or prefix notation, and ask; the reply, and the verdict on it.

    `model` is an `lessons.llm.LanguageModel`, or None, which the panel says when it is asked.
    """

    EXAMPLES = {"ltl": "a U (b & X c)", "propositional": "a & (b | !c)"}

    def __init__(self, model, formula: str = EXAMPLES["ltl"]):
        self.model, self.text = model, typed(formula, "formula", None, "initial")
        self.task = widgets.Dropdown(options=list(LANGUAGES), description="task")
        self.button = button("Ask", "comment")
        super().__init__([self.task, self.text, self.button])
        self.button.on_click(self._start)
        self.task.observe(self._change_example, "value")
        self.watch(self.task, self.text)

    def _change_example(self, change) -> None:
        if self.text.value == self.EXAMPLES[change["old"]]:
            self.text.value = self.EXAMPLES[change["new"]]

    def _question(self):
        from lessons.prompts import Question

        formula = formula_from_text(self.text.value, LANGUAGES[self.task.value])
        if long := [name for name in formula.propositions if len(name) > 1]:
            raise ValueError(f"the prompt's propositions are single letters, found {long[0]!r}")
        if self.task.value == "ltl":
            formula = formula.core()  # the prompt explains no other operators
        return Question(self.task.value, to_prefix(formula))

    def work(self) -> str:
        line = self._question().prompt.splitlines()[-2]
        return f"<p>to be sent: the prompt, with <code>{html.escape(line)}</code></p>"

    def _start(self, _) -> None:
        """Ask in a thread, so that the kernel stays free."""
        self.button.disabled = True
        self.asking = threading.Thread(target=self._finish, daemon=True)
        self.asking.start()

    def _finish(self) -> None:
        self.safely(self._ask)
        self.button.disabled = False

    def _ask(self) -> str:
        from lessons.llm import judge

        question = self._question()
        if self.model is None:
            raise ValueError("there is no model here to ask: make llm installs one")
        sent = self.work()
        self.answer.value = f"{sent}<p>asking, which takes some seconds …</p>"
        reply = self.model.ask(question).text
        verdict = judge(question.task, [question.formula], [reply])[0]
        return f"{sent}<pre>{html.escape(reply)}</pre><p>verdict: <b>{verdict}</b></p>"
