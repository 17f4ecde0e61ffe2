"""A panel for notebook 14: a problem typed by hand, put to a language model, its reply judged."""

import html
import threading

import ipywidgets as widgets

from itekit.llm.client import LanguageModel
from itekit.llm.judging import judge
from itekit.llm.questions import Question
from itekit.logic.notation import formula_from_text
from itekit.logic.prefix import to_prefix
from lessons.panels import Panel
from itekit.tasks.vocabularies import LANGUAGES


class AskPanel(Panel):
    """Type a formula, in infix or prefix notation, and ask; the reply, and the verdict on it.

    Args:
        model: None where there is none, which the panel says when it is asked.
        formula: the first one, of LTL.
    """

    def __init__(self, model: LanguageModel | None, formula: str = "a U (b & X c)"):
        self.model = model
        self.task = widgets.Dropdown(options=list(LANGUAGES), description="task")
        self.text = widgets.Text(formula, description="formula", continuous_update=False)
        self.button = widgets.Button(description="Ask", icon="comment")
        super().__init__([self.task, self.text, self.button])
        self.button.on_click(self._start)
        for control in (self.task, self.text):
            control.observe(lambda _: self.safely(lambda: self._sent(self._question())), "value")
        self.safely(lambda: self._sent(self._question()))

    def _question(self) -> Question:
        formula = formula_from_text(self.text.value, LANGUAGES[self.task.value])
        if long := [name for name in formula.propositions if len(name) > 1]:
            raise ValueError(f"the prompt's propositions are single letters, found {long[0]!r}")
        if self.task.value == "ltl":
            formula = formula.core()  # the prompt explains no other operators
        return Question(self.task.value, to_prefix(formula))

    def _sent(self, question: Question) -> str:
        line = question.prompt.splitlines()[-2]
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
        question = self._question()
        if self.model is None:
            raise ValueError("there is no model here to ask: make llm installs one")
        sent = self._sent(question)
        self.answer.value = f"{sent}<p>asking, which takes some seconds …</p>"
        reply = self.model.ask(question).text
        verdict = judge(question.task, [question.formula], [reply])[0]
        return f"{sent}<pre>{html.escape(reply)}</pre><p>verdict: <b>{verdict}</b></p>"
