"""The explorer: one panel in which a person tries the shipped models by hand.

Choose a task and a model, type a problem, rename it, and look. `answer_html`, `attempts_html` and
the functions that end in `_figure` show a `Question` (see `lessons.subjects`) without a kernel too.

Shape letters: S source length, T target length, L layers, H heads.
"""

import html
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing

import ipywidgets as widgets
import numpy as np
import plotly.graph_objects as go
import torch
from torch import Tensor

from itekit.alpha import Renaming
from itekit.model import Transformer, rotate
from itekit.tasks.verdicts import CORRECT, EXACT, INCORRECT, INVALID, SOLVED, TIME_OUT, VACUOUS
from itekit.vocabulary import Vocabulary
from lessons.copies import Copy
from lessons.figures import attention_heatmap, slider
from lessons.panels import Panel, button, error_html, look, typed
from lessons.plots import COLOURS, GREY, embedding_matrix, formula_tree, light_rows, style
from lessons.plots.show import WIDEST, compact
from lessons.plots.trees import shaded_labels
from lessons.subjects import (
    TASKS,
    Attempt,
    Groups,
    Judge,
    Question,
    Subject,
    arrows,
    attempts,
    grouped,
    renamings_of,
    shipped_models,
)
from lessons.tables import html_table

DRAWS, TRIES = 10, 10
MOST_ROWS, LONGEST = 16, 30  # of different answers; characters of one that stand beside its row
KINDS = {"right": (COLOURS[0], "circle"), "wrong": (COLOURS[1], "x")}  # of a mark
KINDS |= {"vacuous": (COLOURS[3], "diamond-open"), "not checked": (COLOURS[4], "circle-open")}
KINDS["invalid"] = GREY, "square-open"
MEAN = "mean"  # over all layers or heads; None would leave the menu blank
CHECKERS = {"ltl": "Spot", "propositional": "py-aiger"}
WITHOUT_LABEL = {
    "ltl": "nothing satisfies the formula",
    "propositional": "nothing satisfies the formula, or everything does",
}
WORDS = {  # what a verdict is called in words, and in a legend
    EXACT: ("✓ right, and equal to the label", "right"),
    CORRECT: ("✓ right", "right"),
    VACUOUS: ("✗ right by the definition, but vacuous: it allows no word", "vacuous"),
    INCORRECT: ("✗ wrong", "wrong"),
    INVALID: ("✗ invalid", "invalid"),
    TIME_OUT: ("? not known: the check took too long", "not checked"),
}


# Words


def _written(subject: Subject, problem: str) -> str:
    text = f"<code>{html.escape(subject.shown(problem))}</code>"
    prefix = f" · prefix <code>{html.escape(problem)}</code>"
    return text if subject.task == "copying" else text + prefix


def _said(subject: Subject, problem: str, answer: str) -> str:
    if subject.task == "copying":
        return Copy(problem, answer).marked()
    return f"<code>{html.escape(answer) or '(empty)'}</code>{html.escape(subject.spelled(answer))}"


def _words(subject: Subject, verdict: str) -> str:
    if subject.task == "copying":
        return "✓ a perfect copy" if verdict == EXACT else "✗ no perfect copy"
    return WORDS[verdict][0]


def answer_html(question: Question, judge: Judge | None) -> str:
    """A table: problem, answer and verdict; where something is renamed, the answer undone too.

    A `judge` of None leaves the verdict out, for a first look.
    """
    subject, problem, asked = question.subject, question.problem, question.asked
    rows = [(subject.noun, _written(subject, problem))]
    if question.remark:
        rows.append(("", f"<small>{html.escape(question.remark)}</small>"))
    if asked != problem:
        rows.append(("renamed", _written(subject, asked)))
    if missing := subject.unreadable(asked):
        names = html.escape(", ".join(missing))
        rows.append(("answer", f"<em>(empty: the model has no embedding for {names})</em>"))
        return html_table(rows, "th")
    by = f", says {CHECKERS[subject.task]}" if subject.task in CHECKERS else ""

    def judged(problem: str, answer: str) -> str:
        badge = "<em>… being checked</em>"
        if judge:
            badge = f"<b>{_words(subject, judge.verdict(subject.task, problem, answer))}</b>{by}"
        return f"{_said(subject, problem, answer)} {badge}"

    rows.append(("answer", judged(asked, question.answer)))
    if asked != problem:
        undone = question.renaming.inverse()(question.answer)
        plain = Question(subject, problem, draw=question.draw).answer
        key = subject.experiment.task.comparison_key
        same = key(undone) == key(plain)
        remark = "the same answer as" if same else "another answer than"
        said = f"{_said(subject, problem, undone)}, {remark} without the renaming"
        rows.append(("renaming undone", said))
        if not same:
            rows.append(("without renaming", judged(problem, plain)))
    verdict = judge and judge.verdict(subject.task, asked, question.answer)
    if verdict not in (EXACT, None) and subject.task != "copying":
        label = judge.label(subject.task, asked)
        said = {None: f"none: {WITHOUT_LABEL[subject.task]}", TIME_OUT: "not known: too slow"}
        rows.append(("one right answer", said.get(label) or _said(subject, asked, label)))
    return html_table(rows, "th")


def attempts_html(question: Question, tried: Sequence[Attempt], most: int) -> str:
    """A table of the tries so far, and how it ended."""
    subject, rows = question.subject, []
    for one in tried:
        what = f"random part {one.number}"
        if subject.experiment.embedding.kind == "invariant":
            what = f"sample {one.number}" if one.number else "the best answer"
        elif not subject.is_random:
            pairs = ", ".join(arrows(one.renaming, subject.used(question.asked)))
            what = html.escape(pairs) if one.number else "as it is"
        said = _said(subject, question.asked, one.answer)
        rows.append([f"try {one.number + 1}", what, said, _words(subject, one.verdict)])
    ending = f"None of {most} tries was verified." if len(tried) == most else "Trying…"
    if tried and tried[-1].verdict in SOLVED:
        ending = f"Verified at try {len(tried)}."
    return f"<p>{ending}</p>{html_table(rows)}"


# Figures


def rows_figure(question: Question) -> go.Figure:
    """The whole embedding matrix, the rows of the problem and of the answer lit."""
    subject, embedding = question.subject, question.subject.network.embedding
    U = subject.matrix(question.draw).numpy()
    tokens = (*subject.vocabulary.tokens, "○ others")[: len(U)]
    read, asked = subject.as_read(question.asked), question.asked
    answer = "" if subject.unreadable(asked) else question.answer
    lit = {*read(asked), *read(answer), "<start>", "<end>"}
    figure = embedding_matrix(
        U,
        tokens,
        shared_dimensions=U.shape[1] - embedding.d_beta if subject.is_random else None,
        first_interchangeable=subject.vocabulary.learned_count,
        title="Rows in use" + f", random draw {question.draw}" * subject.is_random,
    )
    return light_rows(figure, lit & set(tokens)).update_layout(height=440)


def groups_figure(
    question: Question, renamings: Sequence[Renaming], groups: Groups, judge: Judge
) -> go.Figure:
    """The answers so far under many renamings, grouped by what they undo to.

    A row is one of the different answers, and a mark in it a renaming that gave it, so a single row
    is alpha-covariance 1. Shape and colour of a mark say what the answer is. Those after the first
    15 share a row.
    """
    subject, found = question.subject, groups.sorted()
    used, last = subject.used(question.problem), min(len(found), MOST_ROWS) - 1
    names = [answer or "(empty)" for answer, _ in found[: last + 1]]
    if len(found) > MOST_ROWS:
        names[-1] = f"{len(found) - MOST_ROWS + 1} other answers"
    filled, marks = [0] * len(names), {}  # marks: kind -> (x, row, what the pointer shows)
    for place, (answer, numbers) in enumerate(found):
        _, kind = WORDS[judge.verdict(subject.task, question.problem, answer)]
        row = min(place, last)
        for number in numbers:
            filled[row] += 1
            text = f"{' '.join(arrows(renamings[number], used, '→'))}<br>undone: {answer}"
            marks.setdefault(kind, []).append((filled[row], row, text))
    widest, figure = max(filled), go.Figure()
    for kind, places in marks.items():
        (colour, symbol), (x, y, texts) = KINDS[kind], zip(*places, strict=True)
        marker = {"color": colour, "symbol": symbol, "size": max(4, min(13, 520 / widest))}
        shown = {"hovertext": texts, "hoverinfo": "text", "showlegend": True}
        figure.add_scatter(x=x, y=y, mode="markers", name=kind, marker=marker, **shown)
    step = 1 if widest < 10 else None  # no tick between two whole numbers
    figure.update_xaxes(title_text="renamings", range=[0, widest + 1], dtick=step)
    short = [name if len(name) <= LONGEST else name[: LONGEST - 1] + "…" for name in names]
    ticks = {"tickvals": [*range(len(names))], "ticktext": short, "tickfont_family": "monospace"}
    figure.update_yaxes(range=[len(names) - 0.4, -0.6], showgrid=False, ticks="", **ticks)
    legend = {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"}
    size = {"width": 800, "height": 170 + 26 * len(names), "margin_t": 90}
    alt = f"A row of marks for each different answer. {groups_line(groups)}."
    return style(figure, title=groups_line(groups), **size, legend=legend, meta={"alt": alt})


def groups_line(groups: Groups) -> str:
    """The measure in words."""
    count, different = len(groups.undone), len(groups.sorted())
    line = f"{count} renamings, {different} different answer{'s' * (different > 1)}"
    return f"{line}: alpha-covariance {groups.covariance:.3f}" if count > 1 else line


@torch.no_grad()
def answer_attention(
    model: Transformer, U: Tensor, vocabulary: Vocabulary, problem: str, answer: str
) -> Tensor:
    """How much each token of an answer looks at each of the problem: float [L, H, T, S].

    Vaswani et al. 2017, section 3.2. T: the answer's tokens, then its end; S: the problem's, then
    its end. The model's decoder runs once over the finished answer, and a hook on each layer's
    cross-attention computes softmax(query keyᵀ + mask). UnknownTokenError: one it cannot read.
    """
    source = torch.tensor([[*vocabulary.encode(problem), vocabulary.end_id]])
    inputs = torch.tensor([[vocabulary.start_id, *vocabulary.encode(answer)]])
    found = []

    def keep(cross, given, _output) -> None:
        x, rotation, (keys, _values), bias = given
        (query,) = cross.split(cross.query(x), 1)
        query = rotate(query, rotation) * query.shape[-1] ** -0.5
        weights = torch.softmax(query @ keys.mT + bias, dim=-1)
        found.append(weights.mean(0))  # over streams, if there are any

    hooks = [layer.cross.register_forward_hook(keep) for layer in model.decoder]
    try:
        model.decode(U, inputs, model.encode(U, source))
    finally:
        for hook in hooks:
            hook.remove()
    return torch.stack(found)


def attention_figure(
    question: Question, layer: int | None = None, head: int | None = None, table: bool = False
) -> go.Figure:
    """Cross-attention of the answer on the problem: over a formula's tree, unless `table`.

    A slider below the tree goes through the tokens of the answer; it works without a kernel too.
    `layer` and `head` are counted from 0; None: the mean over all. ValueError: the network cannot
    read the problem, or the tree is too large to be drawn.
    """
    subject, asked = question.subject, question.asked
    if missing := subject.unreadable(asked):
        raise ValueError(f"the model has no embedding for {', '.join(missing)}: it reads nothing")
    texts = [subject.as_read(asked)(text) for text in (asked, question.answer)]
    U = subject.matrix(question.draw)
    weights = answer_attention(subject.network.model, U, subject.vocabulary, *texts)
    weights = weights.mean(0) if layer is None else weights[layer]
    weights = (weights.mean(0) if head is None else weights[head]).numpy()
    tree, targets = subject.tree(asked), [*question.answer, "end"]
    if tree is None or table:
        return attention_heatmap(weights, targets, [*asked, "end"])
    (labels, paths), steps = tree, []
    nodes, ends = compact(weights[:, :-1]), weights[:, -1]  # the end token has no node
    top = float(nodes.max()) or 1.0
    for number, (target, shade, end) in enumerate(zip(targets, nodes, ends, strict=True)):
        title = f"Token {number + 1} of {len(targets)} of the answer: “{target}”"
        change = {
            "marker.color": [shade.tolist()],
            "textfont.color": [shaded_labels(shade, top)],
            "hovertext": [[f"{name}: {s:.3g}" for name, s in zip(labels, shade, strict=True)]],
        }
        changes = {"title.text": f"{title}, {end:.0%} of its attention on the end"}
        step = {"method": "update", "label": target, "value": str(number)}
        steps.append(step | {"args": [change, changes, [1]]})  # of trace 1, the nodes
    figure = formula_tree(labels, paths, weights=nodes[0], title=steps[0]["args"][1]["title.text"])
    figure.data[1].textfont.color = shaded_labels(nodes[0], top)
    below = slider(steps, "token of the answer: ", 30) | {"ticklen": 4}
    width = max(figure.layout.width, min(WIDEST, 180 + 26 * len(steps)))
    figure.update_layout(width=width, height=figure.layout.height + 90, margin_b=110)
    return figure.update_layout(coloraxis_cmax=top, sliders=[below])


# The panel


class NamesRow(widgets.HBox):
    """Menus "a → [d]"; `changed` is called when the reader has chosen.

    Whoever gets a name that another one has gives it the old one in exchange.
    """

    def __init__(self, changed: Callable[[], None]):
        super().__init__(layout={"flex_flow": "row wrap"})
        self.changed, self.quiet, self.used, self.menus = changed, False, [], []

    @property
    def renaming(self) -> Renaming:
        """What is chosen."""
        images = [menu.value for menu in self.children]
        return Renaming(dict(zip(self.used, images, strict=True)))

    def show(self, used: Sequence[str], names: Sequence[str], renaming: Renaming) -> None:
        """Offer the names to each used one, set to a renaming; `changed` is not called."""
        while len(self.menus) < len(used):
            self.menus.append(widgets.Dropdown(**look("", "7em", "2.2em")))
            self.menus[-1].observe(lambda change: self.quiet or self._chosen(change), "value")
        self.used, self.children, self.quiet = used, self.menus[: len(used)], True
        for menu, old, new in zip(self.children, used, renaming(used), strict=True):
            menu.description, menu.options, menu.value = f"{old} →", names, new
        self.quiet = False

    def _chosen(self, change) -> None:
        self.quiet = True
        for menu in self.children:
            if menu is not change["owner"] and menu.value == change["new"]:
                menu.value = change["old"]
        self.quiet = False
        self.changed()


class Page(Panel):
    """A page: controls, an answer in words and a picture; it shows one thing about a question.

    `work` is a generator, which the explorer may close after each step. Where a control was moved,
    `changed` is called; `shown` is the question that the whole page is about. `title` stands on the
    page's tab, the docstring above the page.
    """

    def __init__(self, *controls: widgets.Widget):
        self.bar = widgets.FloatProgress(max=1, layout={"width": "20em", "height": "1em"})
        self.bar.layout.visibility = "hidden"
        self.shown: Question | None = None
        self.changed: Callable[[], None] = lambda: None
        note = widgets.HTML(f"<small>{self.__doc__}</small>")
        super().__init__([note, widgets.HBox(controls), self.bar])
        for control in controls:
            control.observe(lambda _: self.quiet or self._control(), "value")

    def _control(self) -> None:
        self.shown = None
        self.changed()

    def fill(self, question: Question, judge: Judge) -> Iterator[None]:
        """Show everything about the question, or what is wrong, in steps."""
        self.shown = None
        try:
            yield from self.work(question, judge)
            self.shown = question
            self.say("", self.answer, self.picture)
        except Exception as error:  # a reader sees what is wrong, never a traceback
            self.say(error_html(error), self.answer, self.picture)
        finally:
            self.bar.layout.visibility = "hidden"

    def progress(self, part: float) -> None:
        """Move the bar to this part of the whole, and show it."""
        self.bar.value, self.bar.layout.visibility = part, "visible"

    def draw(self, figure: go.Figure, alt: str) -> None:
        # The page keeps its height while a picture takes the place of another.
        self.picture.layout.min_height = f"{figure.layout.height}px"
        super().draw(figure, alt)
        self.picture.outputs = self.drawn


class MatrixPage(Page):
    """Lit rows belong to tokens of the problem and of the answer. A veil lies on the others."""

    title = "Embedding matrix"

    def work(self, question: Question, judge: Judge) -> Iterator[None]:
        self.draw(rows_figure(question), "The embedding matrix, a row a token; rows in use are lit")
        yield


class RenamingsPage(Page):
    """The problem under many renamings. A row is one answer after the renaming is undone.

    Each mark in it is a renaming. One row only: the model respects renaming.
    """

    title = "Many renamings"

    def work(self, question: Question, judge: Judge) -> Iterator[None]:
        renamings = renamings_of(question.subject, question.problem)
        for groups in grouped(question.subject, question.problem, renamings, question.draw):
            self.draw(groups_figure(question, renamings, groups, judge), groups_line(groups))
            self.progress(len(groups.undone) / len(renamings))
            yield


class RedrawPage(Page):
    """The model tries again with other random parts, until the checker verifies an answer.

    A model without random parts tries other renamings.
    """

    title = "Redraw and verify"

    def __init__(self) -> None:
        shape = look("tries at most", None, "9em")
        self.most = widgets.IntSlider(TRIES, 1, 50, continuous_update=False, **shape)
        super().__init__(self.most)

    def work(self, question: Question, judge: Judge) -> Iterator[None]:
        tried, most = [], self.most.value
        for attempt in attempts(question, judge, most):
            tried.append(attempt)
            self.answer.value = attempts_html(question, tried, most)
            self.progress(len(tried) / most)
            yield


class AttentionPage(Page):
    """How much each token of the answer looks at each token of the problem.

    First as a mean over all layers and heads. For a formula the slider below its tree goes through
    the tokens of the answer.
    """

    title = "Attention"

    def __init__(self) -> None:
        self.layer, self.head = (
            widgets.Dropdown(options=[MEAN], **look(name, "15em", "5em"))
            for name in ("layer", "head")
        )
        self.form = widgets.Dropdown(options=["tree", "table"], **look("drawn as", "15em", "5em"))
        super().__init__(self.layer, self.head, self.form)

    def work(self, question: Question, judge: Judge) -> Iterator[None]:
        config = question.subject.experiment.model
        with self.quietly():
            for control, count in (self.layer, config.layers), (self.head, config.heads):
                if len(control.options) != count + 1:
                    control.options = [(MEAN, MEAN), *((str(n + 1), n) for n in range(count))]
        self.form.layout.display = "none" if question.subject.task == "copying" else None
        chosen = (None if one.value == MEAN else one.value for one in (self.layer, self.head))
        figure = attention_figure(question, *chosen, table=self.form.value == "table")
        self.draw(figure, f"Cross-attention of the answer {question.answer} on {question.asked}")
        yield


class Explorer(Panel):
    """One panel for all tasks and models.

    What takes long is a generator, whose steps take a fraction of a second each. One thread of our
    own works through one at a time, so that handlers, on whichever thread, only say what is to be
    done; new work takes the place of old. Setting a widget's value from a thread is safe.

    Args:
        task: the first task, one of TASKS.
        seed: of the random problems and of the shuffled names.
    """

    def __init__(self, task: str = "copying", seed: int = 0):
        self.models = shipped_models()
        self.judge, self.rng = Judge(), np.random.default_rng(seed)
        self.thread = ThreadPoolExecutor(1)
        self.current, self.last = None, None  # the work that is to be done, the last that was begun
        self.texts: dict[str, str] = {}
        self.question: Question | None = None  # what was asked last
        self.answered: Question | None = None  # whose answer and verdict are shown
        options = [(words, name) for name, words in TASKS.items()]
        self.task = widgets.ToggleButtons(options=options, value=task)
        self.model = widgets.Dropdown(**look("model", "40em", "7em"))
        self.text = typed("", "problem", "40em", "7em")
        self.random = button("Draw a random one", "random")
        self.shuffle = button("Shuffle the names", "exchange")
        self.reset = button("Names as they were", "undo")
        self.names = NamesRow(lambda: self.safely(self._ask))
        shape = look("random part", "40em", "7em")
        self.part = widgets.IntSlider(0, 0, DRAWS - 1, continuous_update=False, **shape)
        self.pages = [MatrixPage(), RenamingsPage(), RedrawPage(), AttentionPage()]
        self.tabs = widgets.Tab(self.pages, titles=[page.title for page in self.pages])
        buttons = widgets.HBox([self.random, self.shuffle, self.reset])
        super().__init__([self.task, self.model, self.text, buttons, self.names, self.part])
        self.children = (*self.children[:-1], self.tabs)  # pages in the place of a picture
        self.task.observe(lambda _: self._choose_task(), "value")
        self.model.observe(lambda _: self.quiet or self.safely(self._choose_model), "value")
        self.text.observe(lambda _: self.quiet or self.safely(self._name), "value")
        self.part.observe(lambda _: self.quiet or self.safely(self._ask), "value")
        self.tabs.observe(lambda _: self._turn(), "selected_index")
        self.random.on_click(lambda _: self.safely(self._random))
        self.shuffle.on_click(lambda _: self.safely(self._shuffle))
        self.reset.on_click(lambda _: self.safely(self._name))
        for page in self.pages:
            page.changed = self._turn
        self._choose_task()

    @property
    def subject(self) -> Subject:
        """The chosen model on its task."""
        return self.model.value.subject

    def start(self, work: Generator) -> None:
        """Do this from now on; what was being done ends after its step, and is closed."""
        if self.last:
            self.last.cancel()
        self.current = work  # before it can begin
        self.last = self.thread.submit(self._run, work)

    def _run(self, work: Generator) -> None:
        with closing(work):
            for _ in work:
                if work is not self.current:
                    return

    def wait(self, seconds: float = 60.0) -> bool:
        """Whether all that was asked for is shown, after waiting for it."""
        return not wait([self.last], seconds).not_done

    def stop(self) -> None:
        """End the thread and the checker's process; the panel answers no more."""
        self.current = None
        self.thread.shutdown()
        self.judge.close()

    def safely(self, work: Callable[[], None]) -> None:
        """Do it, or show what is wrong; what was right before is greyed."""
        try:
            work()
        except Exception as error:  # a reader sees what is wrong, never a traceback
            self.question = None
            self.start(self._failed(error_html(error)))

    def _failed(self, message: str) -> Iterator[None]:
        self.answered = None
        self.say(message, self.answer, self.tabs)
        yield

    def _choose_task(self) -> None:
        """Offer the models of the task."""
        models = [model for model in self.models if model.task == self.task.value]
        with self.quietly():
            self.model.options = [(model.label, model) for model in models]
            self.model.value = models[0]
            self.names.show([], [], Renaming.identity)
        self.safely(self._choose_model)

    def _choose_model(self) -> None:
        """Fit the controls to the model; the problem and its renaming stay, if the task does."""
        subject, images = self.subject, {menu.value for menu in self.names.children}
        with self.quietly():
            self.text.description = subject.noun
            self.text.value = self.texts.setdefault(subject.task, subject.example)
            self.part.disabled = not subject.is_random
        self._name(self.names.renaming if images <= {*subject.names} else Renaming.identity)

    def _name(self, renaming: Renaming = Renaming.identity) -> None:
        """Take what is typed, renamed."""
        subject = self.subject
        self.names.show(subject.used(subject.read(self.text.value)), subject.names, renaming)
        self.texts[subject.task] = self.text.value
        self._ask()

    def _random(self) -> None:
        self.text.value = self.subject.shown(self.subject.random(self.rng), unicode=False)

    def _shuffle(self) -> None:
        problem = self.subject.read(self.text.value)
        self._name(self.subject.shuffled(problem, self.rng))

    def _ask(self) -> None:
        """Answer what the controls say."""
        subject, text = self.subject, self.text.value
        draw = self.part.value if subject.is_random else 0
        remark = subject.remark(text)
        self.question = Question(subject, subject.read(text), self.names.renaming, draw, remark)
        self._turn()

    def _turn(self) -> None:
        """Fill the page that is looked at, unless it is filled."""
        if self.question is not None:
            self.start(self._work(self.question))

    def _work(self, question: Question) -> Iterator[None]:
        """First the answer, then its verdict, then the page that is looked at."""
        page = self.pages[self.tabs.selected_index or 0]
        try:
            if question is not self.answered:
                self.answer.value = answer_html(question, None)
                self.say("", self.answer, self.tabs)
                yield
                self.answer.value = answer_html(question, self.judge)
                self.answered = question
                yield
        except Exception as error:
            yield from self._failed(error_html(error))
            return
        if page.shown is not question:
            yield from page.fill(question, self.judge)
