"""The explorer's panel: choose a task and a model, type a problem, rename it, and look.

    from lessons.explorer_panel import Explorer
    Explorer()

Handlers read the controls and return at once; what takes longer than an eye notices is done in
small steps on a thread (see `steps`), and what was asked last goes first.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from itekit.alpha import Renaming
from lessons.explorer_controls import Controls
from lessons.explorer_judging import Judge
from lessons.explorer_models import TASK_NAMES, given_models, shipped_models
from lessons.explorer_pages import AttentionPage, MatrixPage, RedrawPage, RenamingsPage
from lessons.explorer_question import Question
from lessons.explorer_steps import Steps
from lessons.explorer_subjects import Subject
from lessons.explorer_texts import answer_html
from itekit.network import Network
from lessons.panels import error_html


class Explorer(Controls):
    """One panel for all tasks and models.

    Args:
        networks: {name: network} to choose from; default: every shipped checkpoint.
        task: the first task; default: the first that there is a model for.
        seed: of the random problems and of the shuffled names.

    Raises:
        ValueError: there are no models, or none for the task.
    """

    def __init__(
        self,
        networks: Mapping[str, Network] | None = None,
        task: str | None = None,
        seed: int = 0,
    ):
        self.models = shipped_models() if networks is None else given_models(networks)
        tasks = [name for name in TASK_NAMES if any(m.task == name for m in self.models)]
        if not tasks or task not in (None, *tasks):
            raise ValueError(f"no model for the task {task!r}: there are some for {tasks}")
        self.steps, self.judge = Steps(), Judge()
        self.rng, self.quiet = np.random.default_rng(seed), False
        self.texts: dict[str, str] = {}
        self.question: Question | None = None  # what was asked last
        self.answered: Question | None = None  # whose answer and verdict are shown
        pages = MatrixPage(), RenamingsPage(), RedrawPage(), AttentionPage()
        options = [(TASK_NAMES[name], name) for name in tasks]
        super().__init__(options, task or tasks[0], pages, self._ask)
        self._observe()
        self._choose_task()

    def _observe(self) -> None:
        self.task.observe(lambda _: self._choose_task(), "value")
        self.model.observe(lambda _: self.quiet or self._choose_model(), "value")
        self.text.observe(lambda _: self.quiet or self._read(), "value")
        self.draw.observe(lambda _: self.quiet or self._ask(), "value")
        self.tabs.observe(lambda _: self._turn(), "selected_index")
        self.random.on_click(lambda _: self._safely(self._random))
        self.shuffle.on_click(lambda _: self._safely(self._shuffle))
        self.reset.on_click(lambda _: self._read())
        for page in self.pages:
            page.changed = self._turn

    def wait(self, seconds: float = 60.0) -> bool:
        """Whether all that was asked for is shown, after waiting for it."""
        return self.steps.wait(seconds)

    def stop(self) -> None:
        """End the thread and the checker's process; the panel answers no more."""
        self.steps.close()
        self.judge.close()

    @contextmanager
    def _quietly(self):
        self.quiet = True
        try:
            yield
        finally:
            self.quiet = False

    def _safely(self, work) -> None:
        try:
            work()
        except Exception as error:  # a reader sees what is wrong, never a traceback
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """Show what is wrong, and nothing of what was right before."""
        self.question = None
        self.steps.start(self._failed(error_html(error)))

    def _failed(self, message: str) -> Iterator[None]:
        self.answered, self.answer.value = None, message
        for page in self.pages:
            page.clear()
        yield

    def _choose_task(self) -> None:
        """Offer the models of the task."""
        models = [model for model in self.models if model.task == self.task.value]
        with self._quietly():
            self.model.options = [(model.label, model) for model in models]
            self.model.value = models[0]
            self.names.show([], [], Renaming.identity)
        self._choose_model()

    def _choose_model(self) -> None:
        """Fit the controls to the model; the problem and its renaming stay, if the task does."""
        self._safely(self._use)

    def _use(self) -> None:
        subject, images = self.subject, set(self.names.images.values())
        with self._quietly():
            self.text.description = subject.noun
            self.text.value = self.texts.setdefault(subject.task, subject.example)
            self.draw.disabled = not subject.is_random
        for page in self.pages:
            page.configure(subject)
        self._name(self.names.renaming if images <= {*subject.names} else Renaming.identity)

    @property
    def subject(self) -> Subject:
        """The chosen model on its task; loaded at the first call."""
        return self.model.value.subject

    def _read(self) -> None:
        """Take what is typed, with its own names."""
        self._safely(lambda: self._name(Renaming.identity))

    def _name(self, renaming: Renaming) -> None:
        """Rename the names of what is typed."""
        subject = self.subject
        self.names.show([], [], Renaming.identity)  # whatever may be wrong with the text
        used = subject.used(subject.read(self.text.value))
        self.names.show(used, subject.names, renaming)
        self.texts[subject.task] = self.text.value
        self._ask()

    def _random(self) -> None:
        with self._quietly():
            problem = self.subject.random(self.rng)
            self.text.value = self.subject.shown(problem, unicode=False)
        self._read()

    def _shuffle(self) -> None:
        problem = self.subject.read(self.text.value)
        for _ in range(20):  # seldom more than one: a formula without names has one renaming only
            renaming = self.subject.shuffled(problem, self.rng)
            if renaming != self.names.renaming:
                break
        self._name(renaming)

    def _ask(self) -> None:
        """Answer what the controls say."""
        self._safely(lambda: self.steps.start(self._work(self._asked())))

    def _asked(self) -> Question:
        subject, text = self.subject, self.text.value
        draw = self.draw.value if subject.is_random else 0
        problem, remark = subject.read(text), subject.remark(text)
        self.question = Question(subject, problem, self.names.renaming, draw, remark)
        return self.question

    def _turn(self) -> None:
        """Fill the page that is looked at, unless it is filled."""
        if self.question is not None:
            self.steps.start(self._work(self.question))

    def _work(self, question: Question) -> Iterator[None]:
        """First the answer, then its verdict, then the page that is looked at."""
        page = self.pages[self.tabs.selected_index or 0]
        try:
            if question is not self.answered:
                self.answer.value = answer_html(question, None)
                yield
                self.answer.value = answer_html(question, self.judge)
                self.answered = question
                yield
        except Exception as error:
            yield from self._failed(error_html(error))
            return
        if page.shown is not question:
            yield from page.fill(question, self.judge)
