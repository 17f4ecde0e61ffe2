"""Verdicts on the replies of a language model, by the checkers that judge our own networks.

Paper, section "Comparison with LLMs": the per cent of correct and of exact answers.
"""

from collections.abc import Sequence

from itekit.datasets.checking import check_all
from itekit.llm.answers import AnswerError, read_answer
from itekit.tasks.verdicts import CORRECT, EXACT, INVALID

GOOD = (EXACT, CORRECT)


def judge(
    task: str, formulas: Sequence[str], replies: Sequence[str], labels: Sequence[str] | None = None
) -> list[str]:
    """The verdict on each reply (`itekit.tasks.verdicts`); a reply that is no answer is invalid.

    Args:
        formulas, labels: in prefix notation; without labels nothing is exact.
        replies: as the language model gave them.
    """
    items = {}
    for number, (formula, reply) in enumerate(zip(formulas, replies, strict=True)):
        try:
            answer = read_answer(task, reply)
        except AnswerError:
            continue
        items[number] = (formula, answer, labels[number] if labels else None)
    found = dict(zip(items, check_all(task, list(items.values())), strict=True)) if items else {}
    return [found.get(number, INVALID) for number in range(len(replies))]


def count_empty(replies: Sequence[str], verdicts: Sequence[str]) -> int:
    """How many of the right traces stand for no word at all, as `a & !a; cycle{1}` does.

    By the paper's definition they are right; they say nothing.
    """
    from itekit.tasks.ltl import is_empty  # needs Spot, which the other task does not

    right = (r for r, verdict in zip(replies, verdicts, strict=True) if verdict in GOOD)
    return sum(is_empty(read_answer("ltl", reply)) for reply in right)
