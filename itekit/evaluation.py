"""Evaluation: what the answers of a network, a language model or a rule are worth.

Paper, sections "LTL Solving" (correct and exact answers), "Generalization" (the grid of atomic
propositions × length), "Alpha-Covariance"; appendices "Copying Task Experiments" (edit distance
over the grid of unique characters × length, the mean over 10 random embeddings) and "Sensitivity to
randomness in embeddings" (of some draws, the one of median loss).

A *solver* is anything that has `answers(problems)` and an `experiment`: a network with a draw, a
language model, a rule. What is asked of it are *pairs* of a problem and its label; a *check* is a
function (problem, answer, label) -> verdict (`itekit.tasks.verdicts`). `judge`, `covariance` and
`evaluate_pairs` take these, of any task; `evaluate_logic` and `GridEvaluation` are the paper's.

Shape letters: G rows (unique characters or propositions), L columns (lengths), N answers.
"""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
from torch import Tensor
from tqdm.auto import tqdm

from itekit import alpha
from itekit.alpha import Renaming, used_tokens
from itekit.data import Batch, Pair, copying_batch
from itekit.datasets.sets import read_set
from itekit.decoding import TEST_SEED, Solver, copy_strings, cross_entropy
from itekit.files import read_json, write_json
from itekit.network import Network
from itekit.random_vectors import seeded
from itekit.tasks.copying import edit_distances
from itekit.tasks.verdicts import INVALID, Judged, propositions
from itekit.vocabulary import Vocabulary, proposition_names
from itekit.workers import check_all

COPIED = {"cpu": 2**14, "cuda": 2**20}  # strings × length copied at once: what fits a cache
LOSS_PROBLEMS = 512  # problems on which a draw's loss is measured
MISTAKES = 30  # kept in a result


def judge(check: Callable, pairs: Sequence[Pair], answers: Sequence, progress=False) -> Judged:
    """Check each answer, on all cores, each with a time limit (`workers.check_all`).

    Of the result `good` [N] says which are correct or exact, `rates` gives shares of verdicts,
    `table` these by number of names too, `grid` by names and length; keywords add entries.

    An answer may be None, which is invalid; where a label is None, no answer is exact.
    """
    asked = zip(pairs, answers, strict=True)
    items = [(problem, answer, label) for (problem, label), answer in asked if answer is not None]
    checked = iter(check_all(check, items, progress="text" if progress else None))
    verdicts = [INVALID if answer is None else next(checked) for answer in answers]
    return Judged(pairs, answers, verdicts)


def covariance(
    solver,
    pairs: Sequence[Pair],
    names: Sequence[str],
    variants: float,
    form: Callable | None = None,
    undo: Callable[[Renaming, str], str] = Renaming.__call__,
) -> dict:
    """Mean alpha-covariance over problems: each renamed in all ways, or in `variants` random ones.

    Args:
        solver: it is asked once, about all renamed problems.
        names: the interchangeable tokens of the vocabulary.
        variants: the most renamings of a problem; math.inf: all.
        form: what an answer is compared as; default: as its experiment says.
        undo: (inverse renaming, answer) -> the answer with its renaming undone.

    Returns:
        The "mean"; "mean_text", of answers compared as they stand; the values of "formulas".
    """
    form, rng, asked = form or solver.experiment.form, np.random.default_rng(TEST_SEED), []
    for problem, _ in pairs:
        used = used_tokens(problem, names)
        if math.perm(len(names), len(used)) <= variants:
            asked.append((problem, list(alpha.all_renamings(used, names))))
        else:
            asked.append((problem, alpha.sample_renamings(used, names, variants, rng)))
    answers = iter(solver.answers([r(problem) for problem, many in asked for r in many]))
    rows, texts = [], []
    for problem, many in asked:
        undone = [undo(r.inverse(), next(answers)) for r in many]
        value = alpha.alpha_covariance([form(answer) for answer in undone])
        rows.append({"formula": problem, "value": value, "undone": undone})
        texts.append(alpha.alpha_covariance(undone))
    mean, text = float(np.mean([row["value"] for row in rows])), float(np.mean(texts))
    return {"mean": mean, "mean_text": text, "samples": len(pairs), "formulas": rows}


def covariances(
    solver, pairs: Sequence[Pair], names: Sequence[str], most: int, *how, once=None
) -> dict:
    """Number of names, from 2 -> `covariance` of the first `most` problems that hold so many.

    `how`: variants, form and undo as for `covariance`. `once(k, measure)` gives what `measure()`
    does, or what was kept of it when an evaluation was interrupted.
    """
    counts = propositions(pairs, solver.experiment.test_vocabulary.interchangeable[0])
    groups = {k: np.flatnonzero(counts == k)[:most] for k in range(2, len(names) + 1)}
    once = once or (lambda _, measure: measure())
    return {
        str(k): once(k, partial(covariance, solver, [pairs[i] for i in rows], names, *how))
        for k, rows in groups.items()
        if len(rows)
    }


def median_draw(losses: Sequence[float]) -> int:
    """Index of the draw with the (upper) median loss: the paper's choice of an embedding."""
    return sorted(range(len(losses)), key=losses.__getitem__)[len(losses) // 2]


def _draws(experiment) -> range:
    """The random embeddings to draw: only one where nothing is random."""
    return range(experiment.draws if experiment.embedding.kind == "dual_part" else 1)


def choose_solver(
    network: Network, pairs: Sequence[Pair], vocabulary: Vocabulary | None = None, progress=False
) -> tuple[Solver, list[float]]:
    """The solver of the draw with the (upper) median loss on problems, and all draws' losses.

    Problems that the network cannot read are left out.
    """
    draws = _draws(network.experiment)
    solvers = [Solver(network, draw, vocabulary, progress=progress) for draw in draws]
    known, read = set(solvers[0].vocabulary.tokens), solvers[0].can_read
    readable = (pair for pair in pairs if set(pair[1]) <= known and read(pair[0]))
    some = list(islice(readable, LOSS_PROBLEMS))
    losses = [solver.loss(some) for solver in solvers] if some else [0.0] * len(solvers)
    return solvers[median_draw(losses)], losses


def _judged(solver: Solver, pairs: Sequence[Pair]) -> list[Judged]:
    """The solver's answers, and those of greedy decoding with the same embeddings."""
    greedy = Solver(solver.network, solver.draw, solver.vocabulary, 1, solver.progress)
    answers = [s.answers([problem for problem, _ in pairs]) for s in (solver, greedy)]
    return [judge(solver.experiment.check, pairs, some, solver.progress) for some in answers]


def evaluate_pairs(
    network: Network,
    pairs: Sequence[Pair],
    vocabulary: Vocabulary | None = None,
    known: Sequence = (),
    progress: bool = True,
) -> dict:
    """Evaluate a network of any task on problems; the result as JSON.

    "test": verdicts and rates; of it "unseen": the rates of those that are no renaming of a problem
    in `known`. "draws", "median_draw": the choice by median loss. "mistakes": the first ones.
    """
    solver, losses = choose_solver(network, pairs, vocabulary, progress)
    judged, greedy = _judged(solver, pairs)
    names, others = network.experiment.test_vocabulary.interchangeable[0], {}
    if known:
        new = ~np.array(alpha.renamed_among([p for p, _ in pairs], known, names))
        others["unseen"] = {"samples": int(new.sum())} | (judged.rates(new) if new.any() else {})
    keys, wrong = ("formula", "label", "answer", "verdict"), np.flatnonzero(~judged.good)
    rows = ((*pairs[i], judged.answers[i], judged.verdicts[i]) for i in wrong[:MISTAKES])
    return {
        "draws": [{"cross_entropy": loss} for loss in losses],
        "median_draw": solver.draw,
        "test": judged.table(names, greedy=greedy.rates(), **others),
        "mistakes": [dict(zip(keys, row, strict=True)) for row in rows],
    }


def _test(network: Network, progress: bool) -> dict:
    settings = network.experiment
    name, training = settings.set_name("35"), read_set(settings.set, settings.scale)["train"]
    pairs = read_set(name, settings.scale)["test"][: settings.samples]
    known = [formula for formula, _ in training]
    result = evaluate_pairs(network, pairs, settings.vocabulary, known, progress)
    return result | {"test": {"set": name} | result["test"]}


def _generalization(network: Network, progress: bool) -> dict:
    settings, name = network.experiment, network.experiment.set_name("-generalization")
    pairs = read_set(name, settings.scale)["test"]
    judged, greedy = _judged(choose_solver(network, pairs, None, progress)[0], pairs)
    names = proposition_names(max(26, settings.test_propositions))  # also what it cannot read
    grid = judged.grid(names, correct_greedy=greedy.good)
    return {"generalization": {"set": name} | grid}


def _alpha_covariances(network: Network, progress: bool, once: Callable) -> dict:
    settings, result = network.experiment, {"alpha_covariance": None}

    def mean(part: str, count: int, measure: Callable[[], dict]) -> dict:
        """A row, kept without its formulas."""
        return once(
            f"{part}-{count}", lambda: {k: v for k, v in measure().items() if k != "formulas"}
        )

    parts = {"alpha_covariance_training": ("35", settings.vocabulary)}
    if len(settings.readable_vocabulary) > len(settings.vocabulary):
        parts["alpha_covariance"] = "-alpha-covariance", settings.readable_vocabulary
    for part, (kind, vocabulary) in parts.items():
        name, names = settings.set_name(kind), vocabulary.interchangeable[0]
        pairs = read_set(name, settings.scale)["test"]
        solver, _ = choose_solver(network, pairs, vocabulary, progress)
        how = pairs, names, settings.renamed, settings.variants
        rows = covariances(solver, *how, once=partial(mean, part))
        about = {"set": name, "vocabulary": len(names), "variants": settings.variants}
        result[part] = about | {"by_propositions": rows}
    return result


def evaluate_logic(network: Network, keep: Path | None = None, progress: bool = True) -> dict:
    """Evaluate a network on LTL or propositional problems; the result as JSON.

    "test", verdicts on the test split of the task's set of up to 35 tokens; "generalization",
    counts over the grid, of problems of the larger vocabulary; "alpha_covariance_training" and
    "alpha_covariance", by number of propositions, in the vocabulary of training and in the larger
    one (None for ordinary embeddings, which have the one of training alone). In the folder `keep`
    finished parts are kept, also each number of propositions, so that an interrupted evaluation
    goes on from there.
    """
    weights = sum(tensor.double().sum().item() for tensor in network.state_dict().values())
    of = json.dumps([network.experiment.to_json(), weights])  # tells networks apart

    def once(part: str, measure: Callable[[], dict]) -> dict:
        """What a part measures, or what was kept of it."""
        path = keep and Path(keep) / f"evaluation-{part}.json"
        kept = read_json(path, dict) if path and path.exists() else {}
        if kept.get("of") != of:
            kept = {"of": of, "part": measure()}
            if path:
                write_json(path, kept)
        return kept["part"]

    result = {}
    for part in (_test, _generalization, _alpha_covariances):
        how = (network, progress, once) if part is _alpha_covariances else (network, progress)
        result |= once(part.__name__[1:], partial(part, *how))
    return result


class GridEvaluation:
    """Evaluates one network on its experiment's grid of copying; `run` gives the result as JSON.

    Where a network cannot read a string, its copy is empty, and the distance is the length. The
    seed is that of the evaluation strings and of the random embeddings.
    """

    def __init__(self, network: Network, seed: int = TEST_SEED, progress: bool = True):
        self.network, self.seed, self.progress = network, seed, progress
        self.experiment, self.axis = network.experiment, network.experiment.grid.axis
        self.vocabulary = self.experiment.readable_vocabulary
        known = len(self.vocabulary.interchangeable[0])
        rows = {s: [u for u in self.axis if u <= min(s, known)] for s in self.axis}
        self.readable = {length: uniques for length, uniques in rows.items() if uniques}

    def matrix(self, draw: int) -> Tensor:
        """U of random draw `draw`: [V, D]."""
        return self.network.matrix(self.vocabulary, seeded(self.seed, draw))

    def batches(self, length: int, uniques: Sequence[int]) -> Iterator[Batch]:
        """The strings of one length, cell after cell, as many at a time as are copied together."""
        cells = [self.experiment.grid.strings(unique, length, self.seed) for unique in uniques]
        strings, size = np.concatenate(cells), COPIED[self.network.device.type] // (length + 1)
        for start in range(0, len(strings), max(1, size)):
            some = strings[start : start + max(1, size)]
            yield copying_batch(some, np.full(len(some), length), self.vocabulary)

    def distances(self, draw: int) -> np.ndarray:
        """Edit distances for one draw: float [G, L, samples], NaN in impossible cells."""
        U, axis, settings = self.matrix(draw), self.axis, self.experiment
        rows = [[s if u <= s else np.nan for s in axis] for u in axis]
        result = np.repeat(np.array(rows, float)[..., None], settings.grid.samples, axis=2)
        # The published search writes characters of the cell alone, where rows of U can be left out.
        alone = settings.search == "published" and settings.embedding.kind != "learned"
        words = f"evaluate {settings.name}, draw {draw}"
        for length in tqdm(self.readable, words, disable=not self.progress, leave=False):
            uniques, cells = self.readable[length], []
            for part in [[u] for u in uniques] if alone else [uniques]:
                rows = U[: self.vocabulary.learned_count + part[-1]] if alone else U
                for batch in self.batches(length, part):
                    copies = copy_strings(self.network, rows, batch)
                    cells.append(edit_distances(copies, batch.target))
            cells = np.concatenate(cells).reshape(len(uniques), -1)
            result[: len(uniques), axis.index(length)] = cells
        return result

    def cross_entropy(self, draw: int) -> float:
        """Mean cross-entropy of the unscaled logits over the grid's strings, for one draw."""
        batches = (batch for cells in self.readable.items() for batch in self.batches(*cells))
        return cross_entropy(self.network, self.matrix(draw), batches)

    def run(self) -> dict:
        """The result as JSON: the grid, the draws, and the choice by median loss.

        The grid is the mean over all draws or, where the experiment says so (`averaged` False),
        that of the draw with the median cross-entropy; the others are then not decoded.
        """
        settings = self.experiment
        losses = [self.cross_entropy(draw) for draw in _draws(settings)]
        chosen = median_draw(losses)
        drawn = _draws(settings) if settings.averaged else [chosen]
        distances = np.stack([self.distances(draw) for draw in drawn])  # [draws, G, L, samples]
        grids, grid = distances.mean(axis=3), distances.mean(axis=(0, 3))
        means = {draw: float(np.nanmean(cells)) for draw, cells in zip(drawn, grids, strict=True)}
        within = grid[[u <= settings.data.characters for u in self.axis]]
        return {
            "axis": self.axis,
            "samples_per_cell": settings.grid.samples,
            "mean_edit_distance": float(np.nanmean(grid)),
            "mean_within_training_characters": float(np.nanmean(within)) if within.size else None,
            "grid": [[None if np.isnan(x) else round(float(x), 4) for x in row] for row in grid],
            "exact": (distances == 0).sum(axis=(0, 3)).tolist(),
            "copies_per_cell": len(distances) * settings.grid.samples,
            "draws": [
                {"mean_edit_distance": means.get(draw), "cross_entropy": loss}
                for draw, loss in enumerate(losses)
            ],
            "median_draw": chosen,
            "median_draw_mean_edit_distance": means[chosen],
        }
