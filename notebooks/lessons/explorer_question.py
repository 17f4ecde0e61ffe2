"""One setting of the explorer, and what the network answers to it."""

from dataclasses import dataclass
from functools import cached_property

from itekit.alpha import Renaming
from lessons.explorer_subjects import Subject


@dataclass(frozen=True, eq=False)
class Question:
    """One setting of the explorer.

    Attributes:
        subject: the network on its task.
        problem: as `Subject.read` gives it.
        renaming: of the problem's names, applied before the network sees it.
        draw: number of the random draw of the embedding.
        remark: what a reader should know about how the problem was read.
    """

    subject: Subject
    problem: str
    renaming: Renaming = Renaming.identity
    draw: int = 0
    remark: str = ""

    @cached_property
    def asked(self) -> str:
        """The problem as the network sees it, renamed."""
        return self.renaming(self.problem)

    @cached_property
    def answer(self) -> str:
        """The network's answer to `asked`."""
        return self.subject.answers([self.asked], self.draw)[0]

    @cached_property
    def plain_answer(self) -> str:
        """The answer to the problem as it is, without the renaming."""
        if self.asked == self.problem:
            return self.answer
        return self.subject.answers([self.problem], self.draw)[0]
