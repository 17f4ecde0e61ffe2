"""Panels for LTL: type a formula and a trace, and see where it holds, or see an automaton.

What they show is made by `lessons.status_tables` and `itekit.logic.automata`, which a notebook also
calls to show one setting for readers without a running kernel. Whatever is wrong with the typed
text is said inside the panel. Spot works in a process of its own, which is ended when a formula
takes too long, so that a panel always answers.
"""

import html
from collections.abc import Sequence

import ipywidgets as widgets

from itekit.datasets.limited import LimitedWorker
from itekit.logic.errors import FormulaError
from itekit.logic.formulas import Formula
from itekit.logic.infix import to_infix
from itekit.logic.infix_traces import trace_to_infix
from itekit.logic.notation import formula_from_text, trace_from_text
from itekit.logic.prefix import join
from itekit.logic.traces import Trace, parse_trace
from lessons.panels import Panel, error_html
from itekit.plots.graphviz import graph_svg
from itekit.plots.lassos import lasso_figure
from lessons.status_tables import StatusTable
from itekit.tasks.verdicts import TIME_OUT

MOST_TOKENS = 80
MOST_STEPS = 30
CPU_SECONDS = 5.0

EXAMPLES = (
    ("until", "a U b", "a;&ab;{b}"),
    ("a request is always answered", "G(a -> F b)", "{a;1;b}"),
    ("infinitely often, not always", "G F a & F G b", "{&ab;b}"),
    ("depends on the word", "X X b", "a;&a!b;{c}"),
    ("holds, though its parts depend", "G(a | !a)", "{1}"),
    ("constant, whichever: no", "G a | G !a", "{1}"),
    ("no step is the last", "X 0", "{1}"),
)


class LimitError(ValueError):
    """An input that is too large, or that took too long."""


def shown(formula: Formula) -> str:
    """The formula in both notations."""
    return f"{to_infix(formula)} · prefix {_text(formula)} · {_counted(formula.size, 'token')}"


class _LogicPanel(Panel):
    """A panel with a formula, and worker processes for what is asked about it."""

    def __init__(self, controls: Sequence[widgets.Widget]):
        self._workers: dict[str, LimitedWorker] = {}
        super().__init__(controls)

    def ask(self, task: str, item: list):
        """The answer of a function on one item, within CPU_SECONDS.

        Raises:
            LimitError: it took longer.
        """
        if task not in self._workers:
            self._workers[task] = LimitedWorker(task, CPU_SECONDS)
        (answer,) = self._workers[task].map([item])
        if answer == TIME_OUT:
            raise LimitError(f"not done after {CPU_SECONDS:g} CPU seconds: try a smaller formula")
        return answer

    def stop(self) -> None:
        """End the worker processes; the next question starts new ones."""
        for worker in self._workers.values():
            worker.close()
        self._workers.clear()


class TraceExplorer(_LogicPanel):
    """Type a formula and a trace, in prefix or infix notation; see where each subformula holds.

    Args:
        formula, trace: the first ones.
    """

    def __init__(self, formula: str = "G(a -> F b)", trace: str = "a;|ab;{1;b}"):
        shared = {"style": {"description_width": "6em"}, "layout": {"width": "34em"}}
        names = ["(choose one)", *(f"{name}: {formula}" for name, formula, _ in EXAMPLES)]
        options = [(name, number) for number, name in enumerate(names)]
        self.examples = widgets.Dropdown(options=options, description="examples", **shared)
        self.formula = _typed(formula, "formula", shared)
        self.trace = _typed(trace, "trace", shared)
        wide = {"layout": {"width": "auto"}}
        self.solve = widgets.Button(description="Trace by Spot", icon="check", **wide)
        self.quiet = False
        super().__init__([self.examples, self.formula, self.trace, widgets.HBox([self.solve])])
        self.examples.observe(self._choose, "value")
        for control in (self.formula, self.trace):
            control.observe(self._update, "value")
        self.solve.on_click(lambda _: self.safely(self._solve))
        self._update()

    def _choose(self, change) -> None:
        if change["new"]:
            self._set(*EXAMPLES[change["new"] - 1][1:])

    def _set(self, formula: str, trace: str) -> None:
        """Put both texts into the panel and answer once."""
        self.quiet = True
        self.formula.value, self.trace.value = formula, trace
        self.quiet = False
        self.safely(self._work)

    def _solve(self) -> str:
        formula = _limited(formula_from_text(self.formula.value))
        item = [join(formula.tokens(), "spaced"), "default", False, "spaced"]
        trace = self.ask("itekit.tasks.ltl:solve_item", item)
        if trace is None:
            self.draw(None)
            return f"<p>Nothing satisfies {html.escape(to_infix(formula))}: there is no trace.</p>"
        self._set(self.formula.value, _text(parse_trace(trace, format="spaced")))
        return self.answer.value

    def _update(self, change=None) -> None:
        if not self.quiet:
            self.examples.value = 0
            self.safely(self._work)

    def _work(self) -> str:
        self.draw(None)
        found, problems = {}, ""
        for box, read in (self.formula, formula_from_text), (self.trace, trace_from_text):
            try:
                found[box] = read(box.value)
            except FormulaError as error:
                problems += f"<p>This is no {box.description}:</p>{error_html(error)}"
        if problems:
            return problems
        formula, trace = _limited(found[self.formula]), found[self.trace]
        if len(trace.steps) > MOST_STEPS:
            raise LimitError(f"a trace of {len(trace.steps)} steps: at most {MOST_STEPS} here")
        spaced = [join(value.tokens(), "spaced") for value in (formula, trace)]
        answer = self.ask("itekit.logic.statuses:statuses_item", spaced)
        head = f"<p>{html.escape(shown(formula))}<br>trace {html.escape(trace_to_infix(trace))}</p>"
        if "problem" in answer:
            return f"{head}{error_html(LimitError(answer['problem']))}"
        examples = [text and parse_trace(text, format="spaced") for text in answer["examples"]]
        table = StatusTable(formula, trace, answer["rows"], tuple(examples))
        self.draw(lasso_figure(*table.steps), f"The trace {trace_to_infix(trace)} as a lasso")
        return head + table._repr_html_()


class AutomatonExplorer(_LogicPanel):
    """Type a formula; see the automaton that Spot translates it into, and an accepting run.

    Args:
        formula: the first one.
    """

    def __init__(self, formula: str = "G(a -> F b)"):
        shared = {"style": {"description_width": "6em"}, "layout": {"width": "34em"}}
        self.formula = _typed(formula, "formula", shared)
        super().__init__([self.formula])
        self.formula.observe(self._update, "value")
        self._update()

    def _update(self, change=None) -> None:
        self.safely(self._work)

    def _work(self) -> str:
        formula = _limited(formula_from_text(self.formula.value))
        item = [join(formula.tokens(), "spaced")]
        found = self.ask("itekit.logic.automata:automaton_item", item)
        trace = found["trace"] and _text(parse_trace(found["trace"], format="spaced"))
        states, edges = _counted(found["states"], "state"), _counted(found["edges"], "edge")
        lines = [shown(formula), f"{states}, {edges}"]
        lines.append(f"accepting run as a trace: {trace}" if trace else "nothing satisfies it")
        page = f"<p>{'<br>'.join(map(html.escape, lines))}</p>"
        if "dot" not in found:
            return page + "<p>Too large to be drawn.</p>"
        svg = graph_svg(found["dot"], f"Automaton of {to_infix(formula)}")
        return page + (svg or "") + f"<pre>{html.escape(found['text'])}</pre>"


def _typed(text: str, name: str, shared: dict) -> widgets.Text:
    return widgets.Text(text, description=name, continuous_update=False, **shared)


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'s' * (number != 1)}"


def _text(value: Formula | Trace) -> str:
    """Prefix text, spaced if a name is longer than a character."""
    long = any(len(token) > 1 for token in value.tokens())
    return join(value.tokens(), "spaced" if long else "characters")


def _limited(formula: Formula) -> Formula:
    if formula.size > MOST_TOKENS:
        raise LimitError(f"a formula of {formula.size} tokens: at most {MOST_TOKENS} here")
    return formula
