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
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from tqdm.auto import tqdm

from itekit.alpha import (
    Renaming,
    all_renamings,
    alpha_covariance,
    renamed_among,
    sample_renamings,
    used_tokens,
)
from itekit.data import Batch, Pair, copying_batch
from itekit.datasets.sets import read_set
from itekit.decoding import TEST_SEED, Solver, copy_strings
from itekit.files import read_json, write_json
from itekit.network import Network
from itekit.random_vectors import seeded
from itekit.tasks.copying import edit_distances
from itekit.tasks.verdicts import EXACT, GOOD, INVALID, SOLVED, VERDICTS
from itekit.vocabulary import Vocabulary, logic_vocabulary
from itekit.workers import check_all

COPIED = {"cpu": 2**14, "cuda": 2**20}  # strings × length copied at once: what fits a cache
LOSS_PROBLEMS = 512  # problems on which a draw's loss is measured
MISTAKES = 30  # kept in a result


def propositions(pairs: Sequence[Pair], names: Sequence[str]) -> np.ndarray:
    """How many of the names each problem holds: int64 [N]."""
    return np.array([len(used_tokens(problem, names)) for problem, _ in pairs])


@dataclass(frozen=True, eq=False)
class Judged:
    """Answers to problems, each with what the checker says about it (`itekit.tasks.verdicts`)."""

    pairs: Sequence[Pair]
    answers: Sequence
    verdicts: Sequence[str]
    good: np.ndarray  # bool [N]: whether each answer is correct by the paper's definition
    solved: np.ndarray  # correct, and not vacuous
    exact: np.ndarray  # the label itself

    @property
    def marks(self) -> dict[str, np.ndarray]:
        return {"correct": self.good, "solved": self.solved, "exact": self.exact}

    def rates(self, rows: np.ndarray | slice = slice(None)) -> dict[str, float]:
        """The shares of correct answers, of those that are not vacuous, and of exact ones."""
        return {name: float(marks[rows].mean()) for name, marks in self.marks.items()}

    def table(self, names: Sequence[str], **others) -> dict:
        """Verdicts, rates, `others`, and the rate of correct answers by number of names."""
        counts, rows = propositions(self.pairs, names), {}
        for k in np.unique(counts):
            good = self.good[counts == k]
            rows[str(k)] = {"samples": len(good), "correct": float(good.mean())}
        verdicts = {verdict: list(self.verdicts).count(verdict) for verdict in VERDICTS}
        table = {"samples": len(self.pairs), "verdicts": verdicts} | self.rates() | others
        return table | {"by_propositions": rows}

    def grid(self, names: Sequence[str], **others: np.ndarray) -> dict:
        """Counts over names × length, [G][L] each, and the mean rates of correct answers.

        Of correct, solved and exact answers, and of what is true in `others`, bool [N].
        """
        aps, lengths = propositions(self.pairs, names), np.array([len(f) for f, _ in self.pairs])
        tables = {"samples": np.ones_like(self.good), **self.marks, **others}
        for key, values in tables.items():
            tables[key] = np.zeros((aps.max(), lengths.max()), dtype=int)
            np.add.at(tables[key], (aps - 1, lengths - 1), values)
        samples, correct = tables["samples"], tables["correct"]
        filled, totals = samples > 0, samples.sum(axis=1)
        rates = correct.sum(axis=1) / np.maximum(totals, 1)
        return {
            "propositions": list(range(1, aps.max() + 1)),
            "lengths": list(range(1, lengths.max() + 1)),
            **{key: table.tolist() for key, table in tables.items()},
            "mean_correct_cells": float((correct[filled] / samples[filled]).mean()),
            "mean_correct_samples": float(correct.sum() / samples.sum()),
            "by_propositions": {str(row + 1): float(rates[row]) for row in np.flatnonzero(totals)},
        }


def judge(check: Callable, pairs: Sequence[Pair], answers: Sequence, progress=False) -> Judged:
    """Check each answer, on all cores and with a time limit (`workers.check_all`).

    An answer may be None, which is invalid; where a label is None, no answer is exact.
    """
    asked = zip(pairs, answers, strict=True)
    items = [(problem, answer, label) for (problem, label), answer in asked if answer is not None]
    checked = iter(check_all(check, items, progress="text" if progress else None))
    verdicts = [INVALID if answer is None else next(checked) for answer in answers]
    return Judged(pairs, answers, verdicts, *(np.isin(verdicts, v) for v in (GOOD, SOLVED, EXACT)))


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
            asked.append((problem, list(all_renamings(used, names))))
        else:
            asked.append((problem, sample_renamings(used, names, variants, rng)))
    answers = iter(solver.answers([r(problem) for problem, many in asked for r in many]))
    rows, texts = [], []
    for problem, many in asked:
        undone = [undo(r.inverse(), next(answers)) for r in many]
        value = alpha_covariance([form(answer) for answer in undone])
        rows.append({"formula": problem, "value": value, "undone": undone})
        texts.append(alpha_covariance(undone))
    mean, text = float(np.mean([row["value"] for row in rows])), float(np.mean(texts))
    return {"mean": mean, "mean_text": text, "samples": len(pairs), "formulas": rows}


def covariances(
    solver, pairs: Sequence[Pair], names: Sequence[str], most: int, *how, once=None, **more
):
    """Number of names, from 2 -> `covariance` of the first problems that hold so many.

    At most `most` of each number; `how`, `more`: as for `covariance`; `once`: see `evaluate_logic`.
    """
    counts = propositions(pairs, solver.experiment.test_vocabulary.interchangeable[0])
    groups = {k: np.flatnonzero(counts == k)[:most] for k in range(2, len(names) + 1)}
    once = once or (lambda _, measure: measure())
    return {
        str(k): once(k, partial(covariance, solver, [pairs[i] for i in rows], names, *how, **more))
        for k, rows in groups.items()
        if len(rows)
    }


def paired_interval(first: np.ndarray, second: np.ndarray) -> tuple[float, float, float]:
    """How much more of the same problems is right in the first marks, and its 95 % interval.

    bool [N] each. The interval is the mean's, plus and minus 1.96 standard errors, after one more
    problem for each side (Bonett and Price 2012), so that it has a width where all marks agree.
    """
    gains = np.asarray(first, float) - np.asarray(second, float)
    more = np.append(gains, (1, -1))
    half = 1.959964 * more.std() / math.sqrt(len(more))
    return float(gains.mean()), float(more.mean() - half), float(more.mean() + half)


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
    answers = [one.answers([problem for problem, _ in pairs]) for one in (solver, greedy)]
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
        new = ~np.array(renamed_among([p for p, _ in pairs], known, names))
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
    made = network.experiment
    name, training = made.set_name("35"), read_set(made.set, made.scale)["train"]
    pairs, known = read_set(name, made.scale)["test"][: made.samples], [f for f, _ in training]
    result = evaluate_pairs(network, pairs, made.vocabulary, known, progress)
    return result | {"test": {"set": name} | result["test"]}


def _generalization(network: Network, progress: bool) -> dict:
    made, name = network.experiment, network.experiment.set_name("-generalization")
    pairs = read_set(name, made.scale)["test"]
    judged, greedy = _judged(choose_solver(network, pairs, None, progress)[0], pairs)
    every = logic_vocabulary(made.task, max(26, len(made.names)))  # what it cannot read too
    tables = judged.grid(every.interchangeable[0], correct_greedy=greedy.good)
    return {"generalization": {"set": name} | tables}


def _alpha_covariances(network: Network, progress: bool, once: Callable) -> dict:
    made, result = network.experiment, {"alpha_covariance": None}

    def mean(part: str, count: int, measure: Callable[[], dict]) -> dict:
        """A row without its formulas."""
        kept = once(f"{part}-{count}", lambda: measure() | {"formulas": None})
        return {key: one for key, one in kept.items() if key != "formulas"}

    parts = {"alpha_covariance_training": ("35", made.vocabulary)}
    if len(made.readable_vocabulary) > len(made.vocabulary):
        parts["alpha_covariance"] = "-alpha-covariance", made.readable_vocabulary
    for part, (kind, vocabulary) in parts.items():
        name, names = made.set_name(kind), vocabulary.interchangeable[0]
        pairs = read_set(name, made.scale)["test"]
        solver, _ = choose_solver(network, pairs, vocabulary, progress)
        how = pairs, names, made.renamed, made.variants
        rows = covariances(solver, *how, once=partial(mean, part))
        about = {"set": name, "vocabulary": len(names), "variants": made.variants}
        result[part] = about | {"by_propositions": rows}
    return result


def evaluate_logic(network: Network, keep: Path | None = None, progress: bool = True) -> dict:
    """Evaluate a network on LTL or propositional problems; the result as JSON.

    "test", verdicts on the test split of the set without perturbation or limit; "generalization",
    counts over the grid, of problems of the larger vocabulary; "alpha_covariance_training" and
    "alpha_covariance", by number of propositions, in the vocabulary of training and in the larger
    one (None for ordinary embeddings, which have the one of training alone). In the folder `keep`
    finished parts are kept, also each number of propositions, so that an interrupted evaluation
    goes on from there.
    """
    weights = sum(tensor.double().sum().item() for tensor in network.state_dict().values())
    of = json.dumps([network.experiment.to_json(), weights])  # what a finished part is of

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
        self.experiment = made = network.experiment
        self.vocabulary, self.axis = made.readable_vocabulary, made.grid.axis
        self.draws, known = len(_draws(made)), len(self.vocabulary.interchangeable[0])
        rows = {s: [u for u in self.axis if u <= min(s, known)] for s in self.axis}
        self.readable = {length: uniques for length, uniques in rows.items() if uniques}

    def matrix(self, draw: int) -> Tensor:
        """U of random draw `draw`: [V, D]."""
        return self.network.matrix(self.vocabulary, seeded(self.seed, draw))

    def batches(self, length: int, uniques: Sequence[int]) -> Iterator[Batch]:
        """The strings of one length, cell after cell, as many at a time as are copied together."""
        cells = [self.experiment.grid.strings(unique, length, self.seed) for unique in uniques]
        strings, device = np.concatenate(cells), self.network.device
        size = max(1, COPIED[device.type] // (length + 1))
        for start in range(0, len(strings), size):
            some = strings[start : start + size]
            yield copying_batch(some, np.full(len(some), length), self.vocabulary).to(device)

    @torch.no_grad()
    def distances(self, draw: int) -> np.ndarray:
        """Edit distances for one draw: float [G, L, samples], NaN in impossible cells."""
        U, axis, made = self.matrix(draw), self.axis, self.experiment
        rows = [[s if u <= s else np.nan for s in axis] for u in axis]
        result = np.repeat(np.array(rows, float)[..., None], made.grid.samples, axis=2)
        # The published search writes characters of the cell alone, where rows of U can be left out.
        alone = made.search == "published" and made.embedding.kind != "learned"
        words = f"evaluate {made.name}, draw {draw}"
        for length in tqdm(self.readable, words, disable=not self.progress, leave=False):
            uniques, found = self.readable[length], []
            for part in [[u] for u in uniques] if alone else [uniques]:
                rows = U[: self.vocabulary.learned_count + part[-1]] if alone else U
                for batch in self.batches(length, part):
                    copies = copy_strings(self.network, rows, batch)
                    found.append(edit_distances(copies, batch.target))
            cells = np.concatenate(found).reshape(len(uniques), -1)
            result[: len(uniques), axis.index(length)] = cells
        return result

    def grid(self, draw: int) -> np.ndarray:
        """Mean edit distance of each cell for one draw: float [G, L], NaN where impossible."""
        return self.distances(draw).mean(axis=2)

    @torch.no_grad()
    def cross_entropy(self, draw: int) -> float:
        """Mean cross-entropy of the unscaled logits over the grid's strings, for one draw."""
        U, total, count = self.matrix(draw), 0.0, 0
        for length, uniques in self.readable.items():
            for batch in self.batches(length, uniques):
                logits = self.network.logits(U, batch).flatten(0, 1)
                total += cross_entropy(logits, batch.target.flatten(), reduction="sum").item()
                count += len(logits)
        return total / max(1, count)

    def run(self) -> dict:
        """The result as JSON: the grid, the draws, and the choice by median loss.

        The grid is the mean over all draws or, where the experiment says so (`averaged` False),
        that of the draw with the median cross-entropy; the others are then not decoded.
        """
        losses, made = [self.cross_entropy(draw) for draw in range(self.draws)], self.experiment
        chosen = median_draw(losses)
        drawn = range(self.draws) if made.averaged else [chosen]
        distances = np.stack([self.distances(draw) for draw in drawn])  # [draws, G, L, samples]
        grids, grid = distances.mean(axis=3), distances.mean(axis=(0, 3))
        means = {draw: float(np.nanmean(one)) for draw, one in zip(drawn, grids, strict=True)}
        within = grid[[u <= made.data.characters for u in self.axis]]
        draws = zip(map(means.get, range(self.draws)), losses, strict=True)
        result = {
            "axis": self.axis,
            "samples_per_cell": made.grid.samples,
            "mean_edit_distance": float(np.nanmean(grid)),
            "mean_within_training_characters": float(np.nanmean(within)) if within.size else None,
            "grid": [[None if np.isnan(x) else round(float(x), 4) for x in row] for row in grid],
            "exact": (distances == 0).sum(axis=(0, 3)).tolist(),
            "copies_per_cell": len(distances) * made.grid.samples,
            "draws": [{"mean_edit_distance": mean, "cross_entropy": loss} for mean, loss in draws],
            "median_draw": chosen,
            "median_draw_mean_edit_distance": means[chosen],
        }
        if len(means) > 1:
            spread = {"min": min, "mean": statistics.mean, "max": max, "std": statistics.stdev}
            result["spread"] = {name: of(list(means.values())) for name, of in spread.items()}
        return result
