"""Redraw and verify: solve with several random embeddings and keep the first answer that checks.

Ours, not the paper's. A checker takes a tenth of a millisecond for an answer, and whether a network
with random embeddings solves a problem depends on the draw. So a problem that one draw does not
solve is tried again with the next. Networks whose embeddings are not random get the like from
renaming: attempt k solves the problem under a random renaming of its names, which is undone in the
answer. A symbol-invariant network would give the same answer again: its later attempts are samples.

A problem counts as solved by k tries if any of the first k answers is correct and not vacuous: else
trying again would reward contradictions.
"""

import time
from collections.abc import Sequence

import numpy as np

from itekit.alpha import Renaming, used_tokens
from itekit.decoding import Solver
from itekit.evaluation import judge
from itekit.network import Network
from itekit.tasks.streams import Pair
from itekit.tasks.task import TEST_SEED
from itekit.tasks.verdicts import count_names


class Retries:
    """The attempts of a network of any task, in evaluation mode.

    `progress` shows bars; `scale` is that of the logits (see `Solver`). `method` says what differs
    from attempt to attempt: "random parts", "renamings" or "samples".
    """

    def __init__(self, network: Network, progress: bool = True, scale: float | None = None):
        self.network, self.progress, self.scale = network, progress, scale
        maker = network.experiment.embedding.maker
        self.method = "random parts" if maker.random else "renamings"
        if maker.transformer:  # renaming changes nothing
            self.method = "samples"
        self.names = network.experiment.readable_vocabulary.interchangeable[0]

    def solver(self, draw: int = 0, sample: int | None = None) -> Solver:
        """The solver for one draw of U, or for one sample."""
        options = {"progress": self.progress, "sample": sample, "scale": self.scale}
        return Solver(self.network, draw, **options)

    def renamings(self, number: int, problems: Sequence[str]) -> list[Renaming]:
        """The renaming of each problem in attempt `number`.

        The identity in the first one, and if embeddings or sampling vary.
        """
        if self.method != "renamings" or number == 0:
            return [Renaming.identity] * len(problems)
        rng = np.random.default_rng([TEST_SEED, number])
        renamings = []
        for problem in problems:
            used = used_tokens(problem, self.names)
            images = rng.permutation(len(self.names))[: len(used)]
            images = [self.names[i] for i in images]
            renamings.append(Renaming(dict(zip(used, images, strict=True))))
        return renamings

    def answers(self, number: int, problems: Sequence[str]) -> list[list[str]]:
        """The answers of all beams to each problem in attempt `number`, counted from 0."""
        draw = number if self.method == "random parts" else 0
        sample = number if self.method == "samples" and number else None
        renamings = self.renamings(number, problems)
        renamed = [r(problem) for r, problem in zip(renamings, problems, strict=True)]
        answers = self.solver(draw, sample).beam_answers(renamed)
        undo = [r.inverse() for r in renamings]
        return [[r(answer) for answer in beams] for r, beams in zip(undo, answers, strict=True)]

    def solved_at(self, pairs: Sequence[Pair], tries: int) -> tuple[np.ndarray, np.ndarray]:
        """The attempt (from 1) that solved each problem, 0 for none: by the best beam, by any.

        Problems that are solved by the best beam are not tried again.
        """
        best = np.zeros(len(pairs), dtype=int)
        any_beam = best.copy()
        check = self.network.experiment.task.check
        for number in range(tries):
            left = np.flatnonzero(best == 0)
            answers = self.answers(number, [pairs[i][0] for i in left])
            repeated = [pairs[i] for i, beams in zip(left, answers, strict=True) for _ in beams]
            flat = [answer for beams in answers for answer in beams]
            solved = iter(judge(check, repeated, flat).solved)
            for i, beams in zip(left, answers, strict=True):
                marks = [next(solved) for _ in beams]
                if marks and marks[0]:
                    best[i] = number + 1
                if any(marks) and not any_beam[i]:
                    any_beam[i] = number + 1
        return best, any_beam


def redraw(
    network: Network,
    pairs: Sequence[Pair],
    tries: int = 10,
    progress: bool = True,
    scale: float | None = None,
) -> dict:
    """Solved problems against the number of tries, and the CPU seconds of one, checks included.

    Also the attempt that solved each problem, 0 for none: by the best beam, and by any. All are by
    the number of names in a problem, too. ValueError for less than one try.
    """
    if tries < 1:
        raise ValueError(f"tries must be 1 or more, found {tries}")
    counts = count_names(pairs, network.experiment.task.test_vocabulary.interchangeable[0])
    groups = {"all": counts >= 0} | {str(k): counts == k for k in np.unique(counts)}
    start = time.process_time()
    best, any_beam = Retries(network, progress, scale).solved_at(pairs, tries)
    attempts = tries * len(pairs) - sum(tries - k for k in best.tolist() if k)
    rows = zip(pairs, best.tolist(), any_beam.tolist(), strict=True)
    return {
        "samples": {key: int(rows.sum()) for key, rows in groups.items()},
        "solved": {key: _curve(best[rows], tries) for key, rows in groups.items()},
        "solved_beams": {key: _curve(any_beam[rows], tries) for key, rows in groups.items()},
        "cpu_seconds": {"try": (time.process_time() - start) / max(attempts, 1)},
        "formulas": [[problem, *both] for (problem, _), *both in rows],
    }


def redraw_task(
    network: Network,
    tries: int = 10,
    progress: bool = True,
    parts: Sequence[str] = (),
    scale: float | None = None,
) -> dict:
    """`redraw` on parts of the task's own problems, as JSON.

    `parts`: by default those that the task names, and then without a row for each problem. Beside
    the CPU seconds of an attempt it has those of the task's own solver for the same problem.
    """
    task = network.experiment.task
    result = {"tries": tries, "method": Retries(network).method, "scale": scale}
    for part in parts or task.parts:
        pairs = task.pairs(part)
        result[part] = redraw(network, pairs, tries, progress, scale)
        start = time.process_time()
        for problem, _ in pairs:
            task.solve(problem)
        result[part]["cpu_seconds"]["solver"] = (time.process_time() - start) / len(pairs)
        if not parts:
            del result[part]["formulas"]
    return result


def _curve(solved_at: np.ndarray, tries: int) -> list[float]:
    """The rate of problems solved by 1, 2, ... tries."""
    return [float(((solved_at > 0) & (solved_at <= k)).mean()) for k in range(1, tries + 1)]
