"""Verdicts on many answers: all cores, a progress bar, and a limit that one hung check cannot pass.

Paper, sections "LTL Solving" and "Assignment Prediction for Propositional Logic": the per cent of
correct and of exact answers.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from itekit.datasets.jobs import CHECK
from itekit.datasets.parallel import Executor, map_limited
from itekit.tasks.verdicts import GOOD, VERDICTS


def check_all(
    task: str,
    items: Iterable[Sequence],
    *,
    cpu_seconds: float = 10.0,
    workers: int | None = None,
    progress: str | None = None,
    format: str = "characters",
    executor: Executor | None = None,
) -> list[str]:
    """The verdict on each answer, in order (see `itekit.tasks.verdicts`).

    Args:
        task: "ltl" or "propositional".
        items: (formula, answer), or (formula, answer, label); a label may be None. All are text.
        cpu_seconds: limit for one check; an answer that takes longer gets "time-out".
        workers, progress, executor: as for `map_limited`.
        format: of the text, "characters" or "spaced".

    Raises:
        TaskError: a formula or a label that cannot be read; the message shows the item.
        ValueError: an unknown task or format, or an item of another length.
    """
    if task not in CHECK:
        raise ValueError(f"unknown task {task!r}: expected one of {', '.join(CHECK)}")
    full = []
    for number, item in enumerate(items):
        if not 2 <= len(item) <= 3 or isinstance(item, str):
            raise ValueError(f"item {number} is {item!r}: expected formula, answer and maybe label")
        formula, answer, label = (*item, None)[:3]
        full.append([formula, answer, label, format])
    return map_limited(
        CHECK[task],
        full,
        cpu_seconds=cpu_seconds,
        workers=workers,
        progress=progress,
        executor=executor,
    )


def count_verdicts(verdicts: Iterable[str]) -> dict[str, int]:
    """How often each verdict was given, from best to worst, zeros included.

    An exact answer is also correct, but counted only as exact.

    Raises:
        ValueError: something that is no verdict.
    """
    counts = Counter(verdicts)
    if unknown := counts.keys() - set(VERDICTS):
        raise ValueError(f"{sorted(unknown)[0]!r} is no verdict: expected {', '.join(VERDICTS)}")
    return {verdict: counts[verdict] for verdict in VERDICTS}


def solved(task: str, verdicts: Sequence[str], answers: Sequence[str]) -> list[bool]:
    """Whether each answer is correct, and for LTL about some word.

    A trace that stands for no word at all (`&a!a;{1}`) satisfies every formula by the paper's
    definition of correct, but solves nothing.
    """
    good = [verdict in GOOD for verdict in verdicts]
    if task != "ltl":
        return good
    from itekit.tasks.ltl import is_empty  # needs Spot, which the other task does not

    return [right and not is_empty(one) for right, one in zip(good, answers, strict=True)]
