"""Alpha-covariance of a network: how much of its answers survives a renaming of the problem.

Paper, section "Alpha-Covariance". Every problem is renamed in all ways, or in some random ones; the
answers have their renaming undone, and are compared.
"""

from collections.abc import Sequence

import numpy as np

from itekit.alpha import all_renamings, alpha_covariance, sample_renamings, used_tokens
from itekit.evaluation import TEST_SEED
from itekit.logic.assignments import parse_assignment
from itekit.logic.errors import FormulaError
from itekit.pairs import Pair
from itekit.solving import Solver


def covariance(
    solver: Solver, pairs: Sequence[Pair], names: Sequence[str], variants: int
) -> dict[str, float]:
    """Mean alpha-covariance over problems: each renamed in all ways, or in `variants` random ones.

    Answers to propositional problems are compared as assignments, in any order; "mean_text"
    compares them as they stand.

    Returns:
        "mean", "mean_text", "samples".
    """
    task, rng = solver.experiment.task, np.random.default_rng(TEST_SEED)
    renamings = []
    for formula, _ in pairs:
        used = used_tokens(formula, names)
        every = list(all_renamings(used, names)) if _few(len(names), len(used), variants) else None
        renamings.append(every or sample_renamings(used, names, variants, rng))
    asked = [r(f) for (f, _), many in zip(pairs, renamings, strict=True) for r in many]
    answers = iter(solver.answers(asked))
    values, texts = [], []
    for many in renamings:
        undone = [r.inverse()(next(answers)) for r in many]
        texts.append(alpha_covariance(undone))
        values.append(alpha_covariance([_value(task, answer) for answer in undone]))
    return {
        "mean": float(np.mean(values)),
        "mean_text": float(np.mean(texts)),
        "samples": len(pairs),
    }


def _few(names: int, used: int, variants: int) -> bool:
    return np.prod(np.arange(names - used + 1, names + 1, dtype=float)) <= variants


def _value(task: str, answer: str) -> tuple:
    """What an answer is compared as."""
    if task == "propositional":
        try:
            return tuple(sorted(parse_assignment(answer).as_dict().items()))
        except FormulaError:
            pass
    return tuple(answer)
