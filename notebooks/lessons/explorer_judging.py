"""What the checkers say about answers, asked in a process of its own that can be ended.

Spot checks traces, py-aiger assignments. Neither is imported here: the process imports what a task
needs when it is first asked about it. A question that takes too long is a time-out.
"""

from collections.abc import Sequence
from importlib import import_module

from itekit.datasets.limited import LimitedWorker
from itekit.tasks.verdicts import CORRECT, EXACT, TIME_OUT

CPU_SECONDS = 3.0
GOOD = (EXACT, CORRECT)
CHECKERS = {"ltl": "Spot", "propositional": "py-aiger"}
EMPTY = "empty"  # an LTL answer that is correct only since it stands for no word


def judge_item(item: Sequence) -> str | None:
    """What the worker process does.

    Args:
        item: [task, formula] for the formula's label, or [task, formula, answer, label or None]
            for the verdict on the answer: `EMPTY` for a correct trace that stands for no word.
    """
    task, formula, *rest = item
    module = import_module(f"itekit.tasks.{task}")
    if not rest:
        return module.solve(formula)
    if task == "propositional":
        return module.check(formula, *rest, "aiger")
    verdict = module.check(formula, *rest)
    return EMPTY if verdict == CORRECT and module.is_empty(rest[0]) else verdict


class Judge:
    """Labels of formulas and verdicts on answers, remembered; `close` ends the process."""

    def __init__(self) -> None:
        self._worker: LimitedWorker | None = None
        self._known: dict[tuple, str | None] = {}

    def label(self, task: str, formula: str) -> str | None:
        """One right answer to the formula; None if there is none, "time-out" if that is not known.

        Raises:
            TaskError: the formula cannot be read.
        """
        return self._ask(task, formula)

    def verdict(self, task: str, formula: str, answer: str) -> str:
        """The verdict on an answer, one of `tasks.verdicts` or `EMPTY`.

        Raises:
            TaskError: the formula cannot be read.
        """
        label = self.label(task, formula)
        return self._ask(task, formula, answer, None if label == TIME_OUT else label)

    def close(self) -> None:
        """End the process; the next question starts a new one."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def _ask(self, *item) -> str | None:
        if item not in self._known:
            if self._worker is None:
                task = f"{judge_item.__module__}:{judge_item.__name__}"
                self._worker = LimitedWorker(task, CPU_SECONDS)
            (self._known[item],) = self._worker.map([list(item)])
        return self._known[item]
