"""Redraw and verify: solve with several random embeddings and keep the first answer that checks.

Ours, not the paper's. A checker verifies an answer in microseconds, and whether a network with
random embeddings solves a problem depends on the draw. So a problem that one draw does not solve is
tried again with the next. Networks whose embeddings are not random get the like from renaming: try
k solves the problem under a random renaming of its propositions, which is undone in the answer.

A problem counts as solved by k tries if any of the first k answers is correct; "beams" counts the
answers of all beams of a try. A trace that stands for no word at all is correct by the paper's
definition but solves nothing: here it does not count, or trying again would reward contradictions.
"averaged" is another use of k random parts, without a checker: one decoding in which the logits are
the mean over the first k.
"""

from collections.abc import Sequence

import numpy as np

from itekit.alpha import Renaming, used_tokens
from itekit.datasets.checking import check_all, solved
from itekit.datasets.sets import read_set
from itekit.evaluation import TEST_SEED
from itekit.network import Network
from itekit.pairs import Pair
from itekit.solving import Solver

AVERAGED = (1, 3, 10)  # draws that are averaged


class Retries:
    """The tries of one network at some problems.

    Args:
        network: of a logic experiment, in evaluation mode.
        progress: show bars.
    """

    def __init__(self, network: Network, progress: bool = True):
        self.network, self.experiment, self.progress = network, network.experiment, progress
        self.is_random = network.experiment.embedding.kind == "dual_part"
        self.names = network.experiment.readable_vocabulary.interchangeable[0]

    def answers(self, number: int, formulas: Sequence[str]) -> list[list[str]]:
        """The answers of all beams to each formula in try `number`, counted from 0."""
        solver = Solver(self.network, number if self.is_random else 0, progress=self.progress)
        if self.is_random or number == 0:
            return solver.beam_answers(formulas)
        rng = np.random.default_rng([TEST_SEED, number])
        renamings = [self._renaming(formula, rng) for formula in formulas]
        renamed = [r(formula) for r, formula in zip(renamings, formulas, strict=True)]
        found = solver.beam_answers(renamed)
        return [
            [r.inverse()(answer) for answer in answers]
            for r, answers in zip(renamings, found, strict=True)
        ]

    def averaged(self, pairs: Sequence[Pair], count: int) -> np.ndarray:
        """Whether the answer under the mean logits of the first `count` draws is right: bool."""
        solver = Solver(self.network, range(count), progress=self.progress)
        found = solver.answers([formula for formula, _ in pairs])
        items = [(formula, answer) for (formula, _), answer in zip(pairs, found, strict=True)]
        return np.array(self._solved(items))

    def _solved(self, items: Sequence[tuple[str, str]]) -> list[bool]:
        """Whether each answer is correct, and is about some word."""
        task = self.experiment.task
        verdicts = check_all(task, items) if items else []
        return solved(task, verdicts, [answer for _, answer in items])

    def _renaming(self, formula: str, rng: np.random.Generator) -> Renaming:
        used = used_tokens(formula, self.names)
        images = rng.permutation(len(self.names))[: len(used)]
        return Renaming({old: self.names[new] for old, new in zip(used, images, strict=True)})

    def solved_at(self, pairs: Sequence[Pair], tries: int) -> tuple[np.ndarray, np.ndarray]:
        """For each problem the try (from 1) that solved it, 0 for none: by the best beam, by any.

        Problems that are solved by the best beam are not tried again.
        """
        best, any_beam = (np.zeros(len(pairs), dtype=int) for _ in range(2))
        for number in range(tries):
            left = np.flatnonzero(best == 0)
            formulas = [pairs[i][0] for i in left]
            for i, good in zip(left, self._good(number, formulas), strict=True):
                if good and good[0]:
                    best[i] = number + 1
                if any(good) and not any_beam[i]:
                    any_beam[i] = number + 1
        return best, any_beam

    def _good(self, number: int, formulas: list[str]) -> list[list[bool]]:
        """Whether the answer of each beam is right."""
        found = self.answers(number, formulas)
        items = [(f, one) for f, answers in zip(formulas, found, strict=True) for one in answers]
        solved = iter(self._solved(items))
        return [[next(solved) for _ in answers] for answers in found]


def redraw(network: Network, tries: int = 10, progress: bool = True) -> dict:
    """Solved problems against the number of tries, on the test split and on the grid; JSON."""
    retries, experiment = Retries(network, progress), network.experiment
    result = {"tries": tries, "method": "random parts" if retries.is_random else "renamings"}
    parts = ("test", "35", experiment.samples), ("generalization", "-generalization", None)
    for part, kind, most in parts:
        name = experiment.set_name(kind)
        pairs = read_set(name, experiment.scale)["test"][:most]
        best, any_beam = retries.solved_at(pairs, tries)
        counts = np.array([len(used_tokens(formula, experiment.names)) for formula, _ in pairs])
        groups = {"all": counts >= 0} | {str(k): counts == k for k in np.unique(counts)}
        result[part] = {
            "set": name,
            "samples": {key: int(rows.sum()) for key, rows in groups.items()},
            "solved": {key: _curve(best[rows], tries) for key, rows in groups.items()},
            "solved_beams": {key: _curve(any_beam[rows], tries) for key, rows in groups.items()},
        }
        if retries.is_random:
            result[part]["averaged"] = {
                str(k): {key: float(good[rows].mean()) for key, rows in groups.items()}
                for k in AVERAGED
                for good in [retries.averaged(pairs, k)]
            }
    return result


def _curve(solved_at: np.ndarray, tries: int) -> list[float]:
    """The rate of problems solved by 1, 2, ... tries."""
    return [float(((solved_at > 0) & (solved_at <= k)).mean()) for k in range(1, tries + 1)]
