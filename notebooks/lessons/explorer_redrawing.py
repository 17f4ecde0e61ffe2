"""Redraw and verify, try by try; `itekit.redraw` measures it on many problems."""

from collections.abc import Iterator
from dataclasses import dataclass

from itekit.alpha import Renaming
from lessons.explorer_judging import GOOD, Judge
from lessons.explorer_question import Question


@dataclass(frozen=True)
class Attempt:
    """One try of redrawing: its number from 0, the renaming tried, the answer and its verdict."""

    number: int
    renaming: Renaming
    answer: str
    verdict: str


def attempts(question: Question, judge: Judge, most: int) -> Iterator[Attempt]:
    """Redraw and verify: try after try, until an answer is verified."""
    for number in range(most):
        renaming, answer = question.subject.attempt(question.asked, number)
        verdict = question.subject.verdict(judge, question.asked, answer)
        yield Attempt(number, renaming, answer, verdict)
        if verdict in GOOD:
            return
