"""Redraw and verify: solve with several random embeddings and keep the first answer that checks.

Ours, not the paper's. A checker takes a tenth of a millisecond for an answer, and whether a network
with random embeddings solves a problem depends on the draw. So a problem that one draw does not
solve is tried again with the next. Networks whose embeddings are not random get the like from
renaming: try k solves the problem under a random renaming of its propositions, which is undone in
the answer. A symbol-invariant network would give the same answer again: its later tries are
samples.

A problem counts as solved by k tries if any of the first k answers is correct and, for LTL, about
some word: else trying again would reward contradictions. "averaged" is another use of k random
parts, without a checker: one decoding in which the logits are the mean over the first k.
"""

import time
from collections.abc import Sequence

import numpy as np

from itekit.alpha import Renaming, used_tokens
from itekit.data import Pair
from itekit.datasets.sets import read_set
from itekit.decoding import TEST_SEED, Solver
from itekit.evaluation import judge, propositions
from itekit.training import Network
from itekit.workers import call

AVERAGED = (1, 3, 10)  # draws that are averaged
PARTS = {"test": "35", "generalization": "-generalization"}  # of a result: kinds of sets
WRITTEN = {"patterns": "-patterns"}  # the formulas that people wrote


class Retries:
    """The tries of a network of a logic experiment, in evaluation mode.

    `progress` shows bars; `scale` is that of the logits (see `Solver`).
    """

    def __init__(self, network: Network, progress: bool = True, scale: float | None = None):
        self.network, self.experiment, self.progress = network, network.experiment, progress
        self.scale = scale
        methods = {"dual_part": "random parts", "invariant": "samples"}
        self.method = methods.get(network.experiment.embedding.kind, "renamings")
        self.names = network.experiment.readable_vocabulary.interchangeable[0]

    def renamings(self, number: int, formulas: Sequence[str]) -> list[Renaming]:
        """How try `number` renames each formula; not at all where something else is random."""
        if self.method != "renamings" or number == 0:
            return [Renaming.identity] * len(formulas)
        rng, names, found = np.random.default_rng([TEST_SEED, number]), self.names, []
        for formula in formulas:
            used = used_tokens(formula, names)
            images = rng.permutation(len(names))[: len(used)]
            found.append(Renaming({u: names[i] for u, i in zip(used, images, strict=True)}))
        return found

    def answers(self, number: int, formulas: Sequence[str]) -> list[list[str]]:
        """The answers of all beams to each formula in try `number`, counted from 0."""
        draw = number if self.method == "random parts" else 0
        sample = number if self.method == "samples" and number else None
        told = {"progress": self.progress, "sample": sample, "scale": self.scale}
        solver = Solver(self.network, draw, **told)
        renamings = self.renamings(number, formulas)
        found = solver.beam_answers([r(f) for r, f in zip(renamings, formulas, strict=True)])
        undo = [r.inverse() for r in renamings]
        return [[r(answer) for answer in beams] for r, beams in zip(undo, found, strict=True)]

    def averaged(self, pairs: Sequence[Pair], count: int) -> np.ndarray:
        """Whether the answer under the mean logits of the first `count` draws is right: bool."""
        solver = Solver(self.network, range(count), progress=self.progress, scale=self.scale)
        formulas = [formula for formula, _ in pairs]
        return self._solved(formulas, solver.answers(formulas))

    def _solved(self, formulas: Sequence[str], answers: Sequence[str]) -> np.ndarray:
        return judge(self.experiment.task, [(f, None) for f in formulas], answers).solved

    def solved_at(self, pairs: Sequence[Pair], tries: int) -> tuple[np.ndarray, np.ndarray]:
        """For each problem the try (from 1) that solved it, 0 for none: by the best beam, by any.

        Problems that are solved by the best beam are not tried again.
        """
        best, any_beam = (np.zeros(len(pairs), dtype=int) for _ in range(2))
        for number in range(tries):
            left = np.flatnonzero(best == 0)
            found = self.answers(number, [pairs[i][0] for i in left])
            asked = [pairs[i][0] for i, beams in zip(left, found, strict=True) for _ in beams]
            right = iter(self._solved(asked, [answer for beams in found for answer in beams]))
            for i, beams in zip(left, found, strict=True):
                good = [next(right) for _ in beams]
                if good and good[0]:
                    best[i] = number + 1
                if any(good) and not any_beam[i]:
                    any_beam[i] = number + 1
        return best, any_beam


def redraw(
    network: Network, tries: int = 10, progress: bool = True, parts=None, scale: float | None = None
) -> dict:
    """Solved problems against the number of tries, on the test split and on the grid; JSON.

    It has the CPU seconds of one try at a problem, checks included, and those of Spot or the SAT
    solver for the same problem. Of other `parts`, such as WRITTEN, it also has the try that solved
    each formula, 0 for none: by the best beam, and by any.

    Raises:
        ValueError: less than one try.
    """
    if tries < 1:
        raise ValueError(f"tries must be 1 or more, found {tries}")
    retries, experiment = Retries(network, progress, scale), network.experiment
    result = {"tries": tries, "method": retries.method, "scale": scale}
    for part, kind in (parts or PARTS).items():
        name = experiment.set_name(kind)
        most = experiment.samples if part == "test" else None
        pairs = read_set(name, experiment.scale)["test"][:most]
        counts = propositions(pairs, experiment.names)
        groups = {"all": counts >= 0} | {str(k): counts == k for k in np.unique(counts)}
        start = time.process_time()
        best, any_beam = retries.solved_at(pairs, tries)
        solving = time.process_time()
        for formula, _ in pairs:
            call((f"itekit.tasks.{experiment.task}:solve", formula, "fast"))
        solved = time.process_time() - solving
        asked = tries * len(pairs) - sum(tries - k for k in best.tolist() if k)
        result[part] = {
            "set": name,
            "samples": {key: int(rows.sum()) for key, rows in groups.items()},
            "solved": {key: _curve(best[rows], tries) for key, rows in groups.items()},
            "solved_beams": {key: _curve(any_beam[rows], tries) for key, rows in groups.items()},
            "cpu_seconds": {
                "try": (solving - start) / max(asked, 1),
                "solver": solved / len(pairs),
            },
        }
        if parts:
            tried = zip(pairs, best.tolist(), any_beam.tolist(), strict=True)
            result[part]["formulas"] = [[formula, *both] for (formula, _), *both in tried]
        elif retries.method == "random parts":
            right = {str(k): retries.averaged(pairs, k) for k in AVERAGED}
            result[part]["averaged"] = {
                k: {key: float(good[rows].mean()) for key, rows in groups.items()}
                for k, good in right.items()
            }
    return result


def _curve(solved_at: np.ndarray, tries: int) -> list[float]:
    """The rate of problems solved by 1, 2, ... tries."""
    return [float(((solved_at > 0) & (solved_at <= k)).mean()) for k in range(1, tries + 1)]
