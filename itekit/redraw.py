"""Redraw and verify: solve with several random embeddings and keep the first answer that checks.

Ours, not the paper's. A checker takes a tenth of a millisecond for an answer, and whether a network
with random embeddings solves a problem depends on the draw. So a problem that one draw does not
solve is tried again with the next. Networks whose embeddings are not random get the like from
renaming: try k solves the problem under a random renaming of its names, which is undone in the
answer. A symbol-invariant network would give the same answer again: its later tries are samples.

A problem counts as solved by k tries if any of the first k answers is correct and not vacuous: else
trying again would reward contradictions.
"""

import pkgutil
import time
from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np

from itekit.alpha import Renaming, like, used_tokens
from itekit.data import Batch, Pair, encode_texts
from itekit.datasets.sets import read_set
from itekit.decoding import END, TEST_SEED, Solver, copy_strings, greedy
from itekit.evaluation import COPIED, judge, propositions
from itekit.experiments import CopyingExperiment
from itekit.network import Network

PARTS = {"test": "35", "generalization": "-generalization"}  # of a result: kinds of sets
WRITTEN = {"patterns": "-patterns"}  # the formulas that people wrote


class Copier(Solver):
    """A network that copies: strings in, copies out; an empty one where it cannot read a string."""

    def _decode(self, strings: list[str]) -> list[list[str]]:
        copies, device = [], self.network.device
        for length, same in groupby(strings, len):  # a copy depends on the longest beside it
            same, size = list(same), max(1, COPIED[device.type] // (length + 1))
            for part in (same[i : i + size] for i in range(0, len(same), size)):
                source = encode_texts(part, self.vocabulary).to(device)
                chances = self.chances(source, 2 * length)
                if chances is None:
                    rows = copy_strings(self.network, self.U, Batch(source, source))
                else:
                    how = self.U, source, 2 * length, chances, self.scale
                    rows = greedy(self.network.model, *how)
                for string, row in zip(part, rows.tolist(), strict=True):
                    tokens = self.vocabulary.decode(i for i in row if i > END)
                    copies.append([like(string, tokens)])
        return copies


class Retries:
    """The tries of a network of any task, in evaluation mode; its experiment has the checker.

    `progress` shows bars; `scale` is that of the logits (see `Solver`).
    """

    def __init__(self, network: Network, progress: bool = True, scale: float | None = None):
        self.network, self.experiment, self.progress = network, network.experiment, progress
        self.scale = scale
        methods = {"dual_part": "random parts", "invariant": "samples"}
        self.method = methods.get(network.experiment.embedding.kind, "renamings")
        self.names = network.experiment.readable_vocabulary.interchangeable[0]

    def solver(self, draw: int = 0, sample: int | None = None) -> Solver:
        """Who answers under a draw of U, or samples."""
        kind = Copier if isinstance(self.experiment, CopyingExperiment) else Solver
        told = {"progress": self.progress, "sample": sample, "scale": self.scale}
        return kind(self.network, draw, **told)

    def renamings(self, number: int, problems: Sequence[str]) -> list[Renaming]:
        """How try `number` renames each problem; not at all where something else is random."""
        if self.method != "renamings" or number == 0:
            return [Renaming.identity] * len(problems)
        rng, names, renamings = np.random.default_rng([TEST_SEED, number]), self.names, []
        for problem in problems:
            used = used_tokens(problem, names)
            images = rng.permutation(len(names))[: len(used)]
            renamings.append(Renaming({u: names[i] for u, i in zip(used, images, strict=True)}))
        return renamings

    def answers(self, number: int, problems: Sequence[str]) -> list[list[str]]:
        """The answers of all beams to each problem in try `number`, counted from 0."""
        draw = number if self.method == "random parts" else 0
        solver = self.solver(draw, number if self.method == "samples" and number else None)
        renamings = self.renamings(number, problems)
        answers = solver.beam_answers([r(f) for r, f in zip(renamings, problems, strict=True)])
        undo = [r.inverse() for r in renamings]
        return [[r(answer) for answer in beams] for r, beams in zip(undo, answers, strict=True)]

    def solved_at(self, pairs: Sequence[Pair], tries: int) -> tuple[np.ndarray, np.ndarray]:
        """For each problem the try (from 1) that solved it, 0 for none: by the best beam, by any.

        Problems that are solved by the best beam are not tried again.
        """
        best, any_beam = (np.zeros(len(pairs), dtype=int) for _ in range(2))
        for number in range(tries):
            left = np.flatnonzero(best == 0)
            answers = self.answers(number, [pairs[i][0] for i in left])
            asked = [pairs[i] for i, beams in zip(left, answers, strict=True) for _ in beams]
            said = [answer for beams in answers for answer in beams]
            right = iter(judge(self.experiment.check, asked, said).marks["solved"])
            for i, beams in zip(left, answers, strict=True):
                good = [next(right) for _ in beams]
                if good and good[0]:
                    best[i] = number + 1
                if any(good) and not any_beam[i]:
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

    Also the try that solved each problem, 0 for none: by the best beam, and by any. All are by the
    number of names in a problem, too. ValueError for less than one try.
    """
    if tries < 1:
        raise ValueError(f"tries must be 1 or more, found {tries}")
    counts = propositions(pairs, network.experiment.test_vocabulary.interchangeable[0])
    groups = {"all": counts >= 0} | {str(k): counts == k for k in np.unique(counts)}
    start = time.process_time()
    best, any_beam = Retries(network, progress, scale).solved_at(pairs, tries)
    asked = tries * len(pairs) - sum(tries - k for k in best.tolist() if k)
    tried = zip(pairs, best.tolist(), any_beam.tolist(), strict=True)
    return {
        "samples": {key: int(rows.sum()) for key, rows in groups.items()},
        "solved": {key: _curve(best[rows], tries) for key, rows in groups.items()},
        "solved_beams": {key: _curve(any_beam[rows], tries) for key, rows in groups.items()},
        "cpu_seconds": {"try": (time.process_time() - start) / max(asked, 1)},
        "formulas": [[problem, *both] for (problem, _), *both in tried],
    }


def redraw_sets(
    network: Network,
    tries: int = 10,
    progress: bool = True,
    kinds: Mapping[str, str] = PARTS,
    scale: float | None = None,
) -> dict:
    """`redraw` on the kit's own problems: sets of a logic, or the grid of copying; JSON.

    Beside the seconds of a try it has those of Spot or the SAT solver for the same problem.
    """
    made, told = network.experiment, {"progress": progress, "scale": scale}
    result = {"tries": tries, "method": Retries(network).method, "scale": scale}
    if isinstance(made, CopyingExperiment):
        names, grid = made.test_vocabulary.interchangeable[0], made.grid
        cells = (grid.strings(*cell, TEST_SEED) for cell in grid.cells())
        strings = ["".join(names[i] for i in row) for cell in cells for row in cell]
        result["grid"] = redraw(network, [(s, s) for s in strings], tries, **told)
        del result["grid"]["formulas"]
        return result
    for part, kind in kinds.items():
        name, most = made.set_name(kind), made.samples if part == "test" else None
        pairs = read_set(name, made.scale)["test"][:most]
        result[part] = {"set": name} | redraw(network, pairs, tries, **told)
        start = time.process_time()
        solve = pkgutil.resolve_name(f"itekit.tasks.{made.task}:solve")
        for formula, _ in pairs:
            solve(formula, "fast")
        solver = (time.process_time() - start) / len(pairs)
        result[part]["cpu_seconds"]["solver"] = solver
        if kinds != WRITTEN:
            del result[part]["formulas"]
    return result


def _curve(solved_at: np.ndarray, tries: int) -> list[float]:
    """The rate of problems solved by 1, 2, ... tries."""
    return [float(((solved_at > 0) & (solved_at <= k)).mean()) for k in range(1, tries + 1)]
