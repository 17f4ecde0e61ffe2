"""Evaluation: what the answers of a network, a language model or a rule are worth.

Paper, sections "LTL Solving" (correct and exact answers), "Generalization" (the grid of atomic
propositions × length), "Alpha-Covariance"; appendices "Copying Task Experiments" (edit distance
over the grid of unique characters × length, the mean over 10 random embeddings) and "Sensitivity to
randomness in embeddings" (of some draws, the one of median loss).

A *solver* is anything that has `answers(problems)`: a network with a draw, a language model, a
rule. What is asked of it are *pairs* of a problem and its label; a *check* is a function (problem,
answer, label) -> verdict (`itekit.tasks.verdicts`). `judge` and `covariance` take these, of any
task. A task plans its evaluation and is handed an `Evaluation`, which measures.
"""

import json
import math
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from itekit.alpha import (
    Renaming,
    all_renamings,
    alpha_covariance,
    renamed_among,
    sample_renamings,
    used_tokens,
)
from itekit.decoding import Solver
from itekit.files import read_json, write_json
from itekit.network import Network
from itekit.tasks.streams import Pair
from itekit.tasks.task import TEST_SEED
from itekit.tasks.verdicts import INVALID, Judged, count_names, packed_bits
from itekit.vocabulary import Vocabulary
from itekit.workers import check_all

LOSS_PROBLEMS = 512  # problems on which a draw's loss is measured
DRAW_PROBLEMS = 2500  # problems on which the spread over draws is measured
MISTAKES = 30  # kept in a result


def judge(check: Callable, pairs: Sequence[Pair], answers: Sequence, progress=False) -> Judged:
    """Check each answer, on all cores, each with a time limit (`workers.check_all`).

    An answer may be None, which is invalid; where a label is None, no answer is exact.
    """
    rows = zip(pairs, answers, strict=True)
    items = [(problem, answer, label) for (problem, label), answer in rows if answer is not None]
    verdicts = iter(check_all(check, items, progress=progress))
    return Judged(pairs, answers, [INVALID if a is None else next(verdicts) for a in answers])


def covariance(
    solver,
    pairs: Sequence[Pair],
    names: Sequence[str],
    variants: float,
    key: Callable | None = None,
    undo: Callable[[Renaming, str], str] = Renaming.__call__,
) -> dict:
    """Mean alpha-covariance over problems: each renamed in all ways, or in `variants` random ones.

    Args:
        solver: it is asked once, about all renamed problems.
        names: the interchangeable tokens of the vocabulary.
        variants: the most renamings of a problem; math.inf: all.
        key: what answers are compared by; default: the comparison key of the solver's task.
        undo: (inverse renaming, answer) -> the answer with its renaming undone.

    Returns:
        The "mean"; "mean_text", of answers compared letter by letter; the values of "formulas".
    """
    key = key or solver.task.comparison_key
    rng = np.random.default_rng(TEST_SEED)
    renamings = []
    for problem, _ in pairs:
        used = used_tokens(problem, names)
        if math.perm(len(names), len(used)) <= variants:
            renamings.append(list(all_renamings(used, names)))
        else:
            renamings.append(sample_renamings(used, names, variants, rng))
    problems = [problem for problem, _ in pairs]
    renamed = [r(p) for p, rows in zip(problems, renamings, strict=True) for r in rows]
    answers = iter(solver.answers(renamed))
    formulas, texts = [], []
    for problem, rows in zip(problems, renamings, strict=True):
        undone = [undo(r.inverse(), next(answers)) for r in rows]
        value = alpha_covariance([key(answer) for answer in undone])
        formulas.append({"formula": problem, "value": value, "undone": undone})
        texts.append(alpha_covariance(undone))
    mean = float(np.mean([row["value"] for row in formulas]))
    text = float(np.mean(texts))
    return {"mean": mean, "mean_text": text, "samples": len(pairs), "formulas": formulas}


def median_draw(losses: Sequence[float]) -> int:
    """Index of the draw with the (upper) median loss: the paper's choice of an embedding."""
    return sorted(range(len(losses)), key=losses.__getitem__)[len(losses) // 2]


class Evaluation:
    """What a task's `evaluate` measures with.

    Args:
        network: in evaluation mode.
        folder: where finished parts are saved, so that an interrupted evaluation resumes there.
        progress: show bars.
        seed: of the draws.

    Attributes:
        vocabulary: all that the network can read.
    """

    def __init__(
        self,
        network: Network,
        folder: Path | None = None,
        progress: bool = True,
        seed: int = TEST_SEED,
    ):
        self.network, self.folder, self.progress = network, folder and Path(folder), progress
        self.seed = seed
        self.task = network.experiment.task
        self.vocabulary = network.experiment.readable_vocabulary
        weights = sum(tensor.double().sum().item() for tensor in network.state_dict().values())
        self.identity = json.dumps([network.experiment.to_json(), weights, seed])

    def part(self, name: str, measure: Callable[..., dict], *arguments) -> dict:
        """Load a saved part of this network's evaluation, or compute and save it."""
        path = self.folder and self.folder / f"evaluation-{name}.json"
        saved = read_json(path, dict) if path and path.exists() else {}
        if saved.get("of") != self.identity:
            saved = {"of": self.identity, "part": measure(*arguments)}
            if path:
                write_json(path, saved)
        return saved["part"]

    def solvers(self, vocabulary: Vocabulary | None = None) -> list[Solver]:
        """A solver for each random embedding; one where nothing is random."""
        random = self.network.experiment.embedding.maker.random
        draws = range(self.task.draws if random else 1)
        options = {"progress": self.progress, "seed": self.seed}
        return [Solver(self.network, draw, vocabulary, **options) for draw in draws]

    def median(self, solvers: list[Solver], pairs: Sequence[Pair]) -> tuple[int, list[float]]:
        """Which solver has the median cross-entropy on what it can read, and that of all."""
        known = set(solvers[0].vocabulary.tokens)
        pairs = [pair for pair in pairs if set(pair[1]) <= known and solvers[0].can_read(pair[0])]
        losses = [solver.loss(pairs) if pairs else 0.0 for solver in solvers]
        return median_draw(losses), losses

    def _judge(self, solver: Solver, pairs: Sequence[Pair], beams: int | None = None) -> Judged:
        """A solver's answers; with other beams, by the same embedding."""
        if beams:
            draw, vocabulary = solver.draw, solver.vocabulary
            solver = Solver(self.network, draw, vocabulary, beams, self.progress, seed=self.seed)
        answers = solver.answers([problem for problem, _ in pairs], skip=True)
        return judge(self.task.check, pairs, answers, self.progress)

    def _draws(
        self, pairs: Sequence[Pair], vocabulary: Vocabulary | None
    ) -> tuple[Judged, Judged, dict]:
        """The median draw's answers, by the task's beams and greedily, and the rates of all draws.

        The median is by loss on the first LOSS_PROBLEMS that can be read. All draws answer every
        k-th problem greedily, about DRAW_PROBLEMS of them.
        """
        solvers = self.solvers(vocabulary)
        readable = (pair for pair in pairs if solvers[0].can_read(pair[0]))
        median, losses = self.median(solvers, list(islice(readable, LOSS_PROBLEMS)))
        judged = self._judge(solvers[median], pairs)
        greedy = self._judge(solvers[median], pairs, 1)
        draws = [{"cross_entropy": loss} for loss in losses]
        every = -(-len(pairs) // DRAW_PROBLEMS)
        for draw, solver in zip(draws, solvers, strict=True):
            if solver.draw == median:
                good = greedy.good[::every]
            else:
                good = self._judge(solver, pairs[::every], 1).good
            draw["correct_greedy"] = float(good.mean())
        return judged, greedy, {"draws": draws, "median_draw": median}

    def test(
        self, pairs: Sequence[Pair], vocabulary: Vocabulary | None = None, known: Sequence = ()
    ) -> dict:
        """Verdicts and rates of the answers to problems.

        "test": of the median draw, "good" with a bit for each problem; of it "unseen": the rates of
        problems that are no renaming of one in `known`. "draws", "median_draw": all draws, each
        with its loss and its rate of correct answers by greedy decoding. "mistakes": the first.
        """
        judged, greedy, draws = self._draws(pairs, vocabulary)
        names = self.task.test_vocabulary.interchangeable[0]
        others = {"greedy": greedy.rates(), "good": packed_bits(judged.good)}
        if known:
            new = ~np.array(renamed_among([p for p, _ in pairs], known, names))
            rates = judged.rates(new) if new.any() else {}
            others["unseen"] = {"samples": int(new.sum())} | rates
        mistakes = [
            dict(zip(("formula", "label", "answer", "verdict"), row, strict=True))
            for row in judged.mistakes(MISTAKES)
        ]
        return draws | {"test": judged.table(names, **others), "mistakes": mistakes}

    def grid(self, pairs: Sequence[Pair], names: Sequence[str]) -> dict:
        """Counts of correct answers over names × length, of the median draw; see `Judged.grid`."""
        judged, greedy, draws = self._draws(pairs, None)
        grid = judged.grid(names, correct_greedy=greedy.good)
        return grid | draws | {"good": packed_bits(judged.good)}

    def covariances(
        self, part: str, pairs: Sequence[Pair], vocabulary: Vocabulary, most: int, variants: int
    ) -> dict:
        """Alpha-covariance by number of names (from 2), on the first `most` problems with each.

        Problems that the network cannot read are left out. Each number is a part of its own, called
        PART-NUMBER.
        """
        solvers = self.solvers(vocabulary)
        pairs = [pair for pair in pairs if solvers[0].can_read(pair[0])]
        solver = solvers[self.median(solvers, pairs[:LOSS_PROBLEMS])[0]]
        names = vocabulary.interchangeable[0]
        counts = count_names(pairs, self.task.test_vocabulary.interchangeable[0])
        rows = {}
        for k in range(2, len(names) + 1):
            chosen = [pairs[i] for i in np.flatnonzero(counts == k)[:most]]
            if chosen:
                measure = solver, chosen, names, variants
                rows[str(k)] = self.part(f"{part}-{k}", _mean_covariance, *measure)
        return rows


def _mean_covariance(*arguments) -> dict:
    row = covariance(*arguments)
    del row["formulas"]
    return row


def evaluate_pairs(network: Network, pairs: Sequence[Pair], progress: bool = True) -> dict:
    """Evaluate a network of any task on problems; see `Evaluation.test`."""
    return Evaluation(network, progress=progress).test(pairs)


def evaluate_task(network: Network, folder: Path | None = None, progress: bool = True) -> dict:
    """Evaluate a network as its task asks; `folder` as for `Evaluation`."""
    return network.experiment.task.evaluate(Evaluation(network, folder, progress))
