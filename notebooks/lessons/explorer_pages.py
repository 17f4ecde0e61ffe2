"""The pages of the explorer: each shows one thing about a question, in steps.

`work` is a generator: what it does up to the next yield is one step, between which the explorer may
turn to something else. It runs on the thread of `steps.Steps`, and only sets what is shown; the
controls belong to the handlers.
"""

from collections.abc import Callable, Iterator, Sequence

import ipywidgets as widgets
import plotly.graph_objects as go

from lessons.explorer_figures import attention_figure, groups_figure, groups_line, rows_figure
from lessons.explorer_groups import grouped, renamings_of
from lessons.explorer_judging import Judge
from lessons.explorer_question import Question
from lessons.explorer_redrawing import attempts
from lessons.explorer_subjects import Subject
from lessons.explorer_texts import attempts_html
from lessons.panels import Panel, error_html

TRIES = 10
MEAN = "mean"  # over all layers or heads; None would leave the menu blank


class Page(Panel):
    """A page: controls, an answer in words and a picture.

    Attributes:
        title: of its tab.
        shown: the question whose answer stands on the page, all of it.
        changed: what to call when a control of the page was moved.
    """

    title, note = "", ""

    def __init__(self, controls: Sequence[widgets.Widget] = ()):
        self.bar = widgets.FloatProgress(min=0, max=1, layout={"width": "20em", "height": "1em"})
        self.bar.layout.visibility = "hidden"
        self.shown: Question | None = None
        self.changed: Callable[[], None] = lambda: None
        super().__init__([widgets.HTML(f"<small>{self.note}</small>"), *controls, self.bar])
        for control in controls:
            control.observe(self._control, "value")

    def _control(self, change) -> None:
        self.shown = None
        self.changed()

    def configure(self, subject: Subject) -> None:
        """Fit the controls to another network."""

    def fill(self, question: Question, judge: Judge) -> Iterator[None]:
        """Show everything about the question, or what is wrong, in steps."""
        self.shown = None
        try:
            yield from self.work(question, judge)
            self.shown = question
        except Exception as error:  # a reader sees what is wrong, never a traceback
            self.clear(error_html(error))
        finally:
            self.bar.layout.visibility = "hidden"

    def work(self, question: Question, judge: Judge) -> Iterator[None]:
        """What `fill` shows."""
        raise NotImplementedError

    def clear(self, answer: str = "") -> None:
        """Take the picture away and say something in its place."""
        self.shown, self.answer.value = None, answer
        self.draw(None)

    def progress(self, part: float) -> None:
        """Move the bar to this part of the whole, and show it."""
        self.bar.value, self.bar.layout.visibility = part, "visible"

    def draw(self, figure: go.Figure | None, alt: str = "") -> None:
        # The page keeps its height while a picture takes the place of another.
        self.picture.layout.min_height = f"{figure.layout.height}px" if figure else None
        super().draw(figure, alt)


class MatrixPage(Page):
    """The embedding matrix with the rows in use lit."""

    title = "Embedding matrix"
    note = "Lit rows belong to tokens of the problem and of the answer. A veil lies on the others."

    def work(self, question: Question, judge: Judge) -> Iterator[None]:
        self.draw(rows_figure(question), "The embedding matrix, a row a token; rows in use are lit")
        self.answer.value = ""  # an error may have stood there
        yield


class RenamingsPage(Page):
    """The answers under many renamings, grouped."""

    title = "Many renamings"
    note = (
        "The problem under many renamings. A row is one answer after the renaming is undone, "
        "and each mark in it a renaming. One row only: the model respects renaming."
    )

    def work(self, question: Question, judge: Judge) -> Iterator[None]:
        renamings = renamings_of(question.subject, question.problem)
        steps = grouped(question.subject, question.problem, renamings, question.draw)
        for groups in steps:
            figure = groups_figure(question, renamings, groups, judge)
            self.draw(figure, groups_line(groups))
            self.answer.value = ""
            self.progress(len(groups.undone) / len(renamings))
            yield


class RedrawPage(Page):
    """Redraw and verify, try after try."""

    title = "Redraw and verify"
    note = (
        "The model tries again with other random parts, until the checker verifies an answer. "
        "A model without random parts tries other renamings."
    )

    def __init__(self) -> None:
        style = {"description_width": "9em"}
        self.most = widgets.IntSlider(
            TRIES, 1, 50, description="tries at most", continuous_update=False, style=style
        )
        super().__init__([self.most])

    def work(self, question: Question, judge: Judge) -> Iterator[None]:
        tried, most = [], self.most.value
        self.draw(None)
        for attempt in attempts(question, judge, most):
            tried.append(attempt)
            self.answer.value = attempts_html(question, tried, most)
            self.progress(len(tried) / most)
            yield


class AttentionPage(Page):
    """Cross-attention of the answer on the problem."""

    title = "Attention"
    note = (
        "How much each token of the answer looks at each token of the problem. For a formula the "
        "slider below its tree goes through the tokens of the answer."
    )

    def __init__(self) -> None:
        options = {"layout": {"width": "15em"}, "style": {"description_width": "5em"}}
        self.layer = widgets.Dropdown(options=[MEAN], description="layer", **options)
        self.head = widgets.Dropdown(options=[MEAN], description="head", **options)
        self.form = widgets.Dropdown(options=["tree", "table"], description="drawn as", **options)
        self.quiet = False
        super().__init__([self.layer, self.head, self.form])
        self.children = (
            self.children[0],
            widgets.HBox([self.layer, self.head, self.form]),
            *self.children[4:],
        )

    def _control(self, change) -> None:
        if not self.quiet:
            super()._control(change)

    def configure(self, subject: Subject) -> None:
        config, self.quiet = subject.experiment.model, True
        for control, count in (self.layer, config.layers), (self.head, config.heads):
            if len(control.options) != count + 1:
                control.options = [(MEAN, MEAN), *((str(n + 1), n) for n in range(count))]
        self.form.layout.display = "none" if subject.task == "copying" else None
        self.quiet = False

    def work(self, question: Question, judge: Judge) -> Iterator[None]:
        table = self.form.value == "table"
        layer, head = (
            None if control.value == MEAN else control.value for control in (self.layer, self.head)
        )
        figure = attention_figure(question, layer, head, table=table)
        self.draw(figure, f"Cross-attention of the answer {question.answer} on {question.asked}")
        self.answer.value = ""
        yield
