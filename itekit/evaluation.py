"""Evaluation: what the answers of a network, a language model or a rule are worth.

Paper, sections "LTL Solving" (correct and exact answers), "Generalization" (the grid of atomic
propositions × length), "Alpha-Covariance"; appendices "Copying Task Experiments" (edit distance
over the grid of unique characters × length, the mean over 10 random embeddings) and "Sensitivity to
randomness in embeddings" (of some draws, the one of median loss).

Answers to formulas are judged in the same way, whoever gave them: `judge` gives verdicts (`Judged`,
with `rates`, the `table` of a test split and the `grid`), `covariance` asks anything that has
``answers(formulas)``. `LogicEvaluation` and `GridEvaluation` do all of it for a network.

Shape letters: G rows (unique characters or propositions), L columns (lengths), N answers.
"""

import hashlib
import json
import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from tqdm.auto import tqdm

from itekit.alpha import Renaming, all_renamings, alpha_covariance, sample_renamings, used_tokens
from itekit.data import Batch, Pair, copying_batch
from itekit.datasets.sets import read_set
from itekit.decoding import TEST_SEED, Solver, copy_strings
from itekit.files import read_json, write_json
from itekit.logic.formulas import FormulaError
from itekit.logic.truth_tables import parse_assignment
from itekit.random_vectors import seeded
from itekit.tasks.copying import edit_distances
from itekit.tasks.verdicts import EXACT, GOOD, INVALID, VERDICTS
from itekit.training import VALIDATION_SEED, Network  # noqa: F401 (the seed is for choices)
from itekit.vocabulary import Vocabulary
from itekit.workers import check_all

COPIED = {"cpu": 2**14, "cuda": 2**20}  # strings × length copied at once: what fits a cache
LOSS_PROBLEMS = 512  # problems on which a draw's loss is measured
MISTAKES = 30  # kept in a result


@dataclass(frozen=True, eq=False)
class Judged:
    """Answers to problems, each with what the checker says about it (`itekit.tasks.verdicts`).

    Attributes:
        good, exact: whether each answer is correct, and whether it is the label: bool [N].
    """

    task: str
    pairs: Sequence[Pair]
    answers: Sequence[str | None]
    verdicts: Sequence[str]

    def __post_init__(self):
        object.__setattr__(self, "good", np.isin(self.verdicts, GOOD))
        object.__setattr__(self, "exact", np.isin(self.verdicts, EXACT))

    @cached_property
    def solved(self) -> np.ndarray:
        """Whether each answer is correct, and for LTL about some word: bool [N].

        A trace that stands for no word at all (`&a!a;{1}`) satisfies every formula by the paper's
        definition of correct, but solves nothing.
        """
        if self.task != "ltl":
            return self.good
        from itekit.tasks.ltl import is_empty  # needs Spot, which the other task does not

        judged = zip(self.good, self.answers, strict=True)
        return np.array([right and not is_empty(answer) for right, answer in judged], dtype=bool)

    def propositions(self, names: Sequence[str]) -> np.ndarray:
        """How many of the names each formula holds: int64 [N]."""
        return np.array([len(used_tokens(formula, names)) for formula, _ in self.pairs])

    def rates(self) -> dict[str, float]:
        """The shares of correct answers, of those about some word, and of exact ones."""
        shares = {"correct": self.good, "solved": self.solved, "exact": self.exact}
        return {name: float(rows.mean()) for name, rows in shares.items()}

    def table(self, names: Sequence[str]) -> dict:
        """Verdicts and rates, and the rate by number of propositions (those of `names`).

        An exact answer is also correct, but counted only as exact.
        """
        counts, rows = self.propositions(names), {}
        for k in np.unique(counts):
            good = self.good[counts == k]
            rows[str(k)] = {"samples": len(good), "correct": float(good.mean())}
        verdicts = {verdict: list(self.verdicts).count(verdict) for verdict in VERDICTS}
        shares = {"samples": len(self.pairs), "verdicts": verdicts} | self.rates()
        return shares | {"by_propositions": rows}

    def grid(self, names: Sequence[str], **others: np.ndarray) -> dict:
        """Counts over propositions × length: [G][L] each, and the mean rates.

        Args:
            others: bool [N], to be counted under their names beside correct, solved and exact.
        """
        aps, lengths = self.propositions(names), np.array([len(f) for f, _ in self.pairs])
        flags = {"samples": np.ones_like(self.good), "correct": self.good, "solved": self.solved}
        tables = {}
        for key, values in (flags | {"exact": self.exact} | others).items():
            tables[key] = np.zeros((aps.max(), lengths.max()), dtype=int)
            np.add.at(tables[key], (aps - 1, lengths - 1), values)
        samples, correct = tables["samples"], tables["correct"]
        filled, rows = samples > 0, np.flatnonzero(samples.any(axis=1))
        return {
            "propositions": list(range(1, aps.max() + 1)),
            "lengths": list(range(1, lengths.max() + 1)),
            **{key: table.tolist() for key, table in tables.items()},
            "mean_correct_cells": float((correct[filled] / samples[filled]).mean()),
            "mean_correct_samples": float(correct.sum() / samples.sum()),
            "by_propositions": {
                str(row + 1): float(correct[row].sum() / samples[row].sum()) for row in rows
            },
        }


def judge(
    task: str,
    pairs: Sequence[tuple[str, str | None]],
    answers: Sequence[str | None],
    progress: bool = False,
) -> Judged:
    """Check each answer, on all cores; without a label (None) no answer is exact.

    Args:
        task: "ltl" or "propositional"; answers: None where there is none, which is invalid.
    """
    asked = zip(pairs, answers, strict=True)
    items = [(formula, answer, label) for (formula, label), answer in asked if answer is not None]
    found = iter(check_all(task, items, progress="text" if progress else None) if items else ())
    verdicts = [INVALID if answer is None else next(found) for answer in answers]
    return Judged(task, pairs, answers, verdicts)


def wilson(successes: int, n: int) -> tuple[float, float]:
    """The 95 % interval of a rate, by Wilson's score: (low, high)."""
    if n == 0:
        return 0.0, 1.0
    z, rate = 1.959964, successes / n
    middle, width = rate + z * z / (2 * n), math.sqrt(rate * (1 - rate) / n + (z / (2 * n)) ** 2)
    low, high = ((middle + side * z * width) / (1 + z * z / n) for side in (-1, 1))
    return max(0.0, low), min(1.0, high)


def renamings_of(
    formula: str, names: Sequence[str], variants: float, rng: np.random.Generator
) -> list[Renaming]:
    """All renamings of a formula to `names`, or `variants` random ones where there are more."""
    used = used_tokens(formula, names)
    if math.perm(len(names), len(used)) <= variants:
        return list(all_renamings(used, names))
    return sample_renamings(used, names, variants, rng)


def compared(task: str, answer: str):
    """What an answer is compared as: an assignment in any order, all others as they stand."""
    if task == "propositional":
        with suppress(FormulaError):
            return parse_assignment(answer)
    return answer


def covariance(
    solver,
    pairs: Sequence[Pair],
    names: Sequence[str],
    variants: float,
    undo: Callable[[Renaming, str], str] = Renaming.__call__,
    compared: Callable = compared,
) -> dict:
    """Mean alpha-covariance over problems: each renamed in all ways, or in `variants` random ones.

    Args:
        solver: anything that has `answers(formulas)` and an `experiment` with a task; it is asked
            once, about all renamed formulas.
        names: the atomic propositions of the vocabulary.
        undo: (inverse renaming, answer) -> the answer with its renaming undone.
        compared: (task, answer) -> what an answer is compared as, tokens or an assignment.

    Returns:
        "mean"; "mean_text", of the answers compared as they stand; "samples"; and "formulas", for
        each its "value" and the answers "undone".
    """
    task, rng = solver.experiment.task, np.random.default_rng(TEST_SEED)
    asked = [(formula, renamings_of(formula, names, variants, rng)) for formula, _ in pairs]
    answers = iter(solver.answers([r(formula) for formula, many in asked for r in many]))
    found, texts = [], []
    for formula, many in asked:
        undone = [undo(r.inverse(), next(answers)) for r in many]
        value = alpha_covariance([compared(task, answer) for answer in undone])
        found.append({"formula": formula, "value": value, "undone": undone})
        texts.append(alpha_covariance(undone))
    mean, text = float(np.mean([one["value"] for one in found])), float(np.mean(texts))
    return {"mean": mean, "mean_text": text, "samples": len(pairs), "formulas": found}


def median_draw(losses: Sequence[float]) -> int:
    """Index of the draw with the (upper) median loss: the paper's choice of an embedding."""
    return sorted(range(len(losses)), key=losses.__getitem__)[len(losses) // 2]


def _draws(experiment) -> range:
    """The numbers of the random embeddings to draw: only one where nothing is random."""
    return range(experiment.draws if experiment.embedding.kind == "dual_part" else 1)


def choose_solver(
    network: Network,
    pairs: Sequence[Pair],
    vocabulary: Vocabulary | None = None,
    progress: bool = False,
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


class LogicEvaluation:
    """Evaluates one network on LTL or propositional problems; `run` gives the result as JSON.

    Args:
        network: of a logic experiment, in evaluation mode.
        keep: a folder for finished parts, so that an interrupted evaluation goes on from there.
        progress: show bars.
    """

    def __init__(self, network: Network, keep: Path | None = None, progress: bool = True):
        self.network, self.experiment = network, network.experiment
        self.keep, self.progress = keep, progress

    def run(self) -> dict:
        """All parts; "alpha_covariance" is None for a network that cannot read more tokens."""
        parts = self.test, self.generalization, self.alpha_covariance
        if not self.keep:
            return {key: value for make in parts for key, value in make().items()}
        result, fingerprint = {}, self._fingerprint()
        for make in parts:
            path = Path(self.keep) / f"evaluation-{make.__name__.replace('_', '-')}.json"
            kept = read_json(path, dict) if path.exists() else {}
            if kept.get("fingerprint") != fingerprint:
                kept = {"fingerprint": fingerprint, "part": make()}
                write_json(path, kept)
            result |= kept["part"]
        return result

    def _fingerprint(self) -> str:
        """Tells apart networks and their settings."""
        digest = hashlib.sha256(json.dumps(self.experiment.to_json(), sort_keys=True).encode())
        for value in self.network.state_dict().values():
            digest.update(value.cpu().numpy().tobytes())
        return digest.hexdigest()

    def _pairs(self, kind: str) -> tuple[str, list[Pair]]:
        """The name of a set of the experiment's task, and its test split."""
        name = self.experiment.set_name(kind)
        return name, read_set(name, self.experiment.scale)["test"]

    def _judged(self, solver: Solver, pairs: Sequence[Pair]) -> tuple[Judged, Judged]:
        """The solver's answers, and those of greedy decoding with the same embeddings."""
        greedy = Solver(self.network, solver.draw, solver.vocabulary, 1, self.progress)
        answers = [one.answers([formula for formula, _ in pairs]) for one in (solver, greedy)]
        return tuple(judge(self.experiment.task, pairs, some, self.progress) for some in answers)

    def test(self) -> dict:
        """Verdicts on the test split of the set without perturbation or limit."""
        name, pairs = self._pairs("35")
        pairs, vocabulary = pairs[: self.experiment.samples], self.experiment.vocabulary
        solver, losses = choose_solver(self.network, pairs, vocabulary, self.progress)
        judged, greedy = self._judged(solver, pairs)
        table = judged.table(self.experiment.names)
        rows = zip(pairs, judged.answers, judged.verdicts, judged.good, strict=True)
        return {
            "draws": [{"cross_entropy": loss} for loss in losses],
            "median_draw": solver.draw,
            "test": {"set": name} | table | {"greedy": greedy.rates()},
            "mistakes": [
                {"formula": formula, "label": label, "answer": answer, "verdict": verdict}
                for (formula, label), answer, verdict, good in rows
                if not good
            ][:MISTAKES],
        }

    def generalization(self) -> dict:
        """Counts over the grid, of the problems of the larger vocabulary."""
        name, pairs = self._pairs("-generalization")
        solver, _ = choose_solver(self.network, pairs, None, self.progress)
        judged, greedy = self._judged(solver, pairs)
        tables = judged.grid(self.experiment.names, correct_greedy=greedy.good)
        return {"generalization": {"set": name} | tables}

    def alpha_covariance(self) -> dict:
        """Mean alpha-covariance by number of propositions, in both vocabularies."""
        inside, larger = self.experiment.vocabulary, self.experiment.readable_vocabulary
        beyond = len(larger) > len(inside)
        return {
            "alpha_covariance_training": self._covariances("35", inside),
            "alpha_covariance": self._covariances("-alpha-covariance", larger) if beyond else None,
        }

    def _covariances(self, kind: str, vocabulary: Vocabulary) -> dict:
        (name, pairs), made = self._pairs(kind), self.experiment
        names, groups = vocabulary.interchangeable[0], {}
        for pair in pairs:
            groups.setdefault(len(used_tokens(pair[0], made.names)), []).append(pair)
        solver, _ = choose_solver(self.network, pairs, vocabulary, self.progress)
        rows = {}
        for k, group in sorted(groups.items()):
            if 2 <= k <= len(names):
                row = covariance(solver, group[: made.renamed], names, made.variants)
                rows[str(k)] = {key: row[key] for key in ("mean", "mean_text", "samples")}
        found = {"set": name, "vocabulary": len(names), "variants": made.variants}
        return found | {"by_propositions": rows}


class GridEvaluation:
    """Evaluates one network on its experiment's grid of copying; `run` gives the result as JSON.

    A network with ordinary embeddings cannot read characters beyond its vocabulary; there the
    prediction is taken to be empty, as in the paper, so that the distance is the length.

    Args:
        network: in evaluation mode.
        seed: of the evaluation strings and of the random embeddings.
        progress: show a bar.
    """

    def __init__(self, network: Network, seed: int = TEST_SEED, progress: bool = True):
        self.network, self.experiment = network, network.experiment
        self.seed, self.progress = seed, progress
        self.vocabulary, self.axis = self.experiment.readable_vocabulary, self.experiment.grid.axis
        self.draws, known = len(_draws(self.experiment)), len(self.vocabulary.interchangeable[0])
        self.readable = {s: [u for u in self.axis if u <= min(s, known)] for s in self.axis}

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
            batch = copying_batch(some, np.full(len(some), length), self.vocabulary)
            yield batch.to(device)

    @torch.no_grad()
    def grid(self, draw: int, bar: tqdm | None = None) -> np.ndarray:
        """Mean edit distance of each cell for one draw: float [G, L], NaN where impossible."""
        U, axis, made = self.matrix(draw), self.axis, self.experiment
        result = np.array([[float(s) if u <= s else np.nan for s in axis] for u in axis])
        # The published search knows no characters beyond the cell's, where rows can be left out.
        alone = made.search == "published" and made.embedding.kind != "learned"
        for column, length in enumerate(axis):
            uniques, distances = self.readable[length], []
            for part in ([u] for u in uniques) if alone else [uniques] * bool(uniques):
                rows = U[: self.vocabulary.learned_count + part[-1]] if alone else U
                for batch in self.batches(length, part):
                    copies = copy_strings(self.network, rows, batch)
                    distances.append(edit_distances(copies, batch.target))
            if uniques:
                cells = np.concatenate(distances).reshape(len(uniques), -1)
                result[: len(uniques), column] = cells.mean(axis=1)
            if bar is not None:
                bar.update()
        return result

    @torch.no_grad()
    def cross_entropy(self, draw: int) -> float:
        """Mean cross-entropy of the unscaled logits over the grid's strings, for one draw."""
        U, total, count = self.matrix(draw), 0.0, 0
        for length in filter(self.readable.get, self.axis):
            for batch in self.batches(length, self.readable[length]):
                logits, targets = self.network.logits(U, batch)
                total += cross_entropy(logits, targets, reduction="sum").item()
                count += len(targets)
        return total / max(1, count)

    def run(self) -> dict:
        """The result as JSON: the grid, the draws, and the choice by median loss.

        The grid is the mean over all draws or, where the experiment says so (`averaged` False),
        that of the draw with the median cross-entropy; the others are then not decoded.
        """
        losses = [self.cross_entropy(draw) for draw in range(self.draws)]
        chosen, words = median_draw(losses), f"evaluate {self.experiment.name}"
        decoded = range(self.draws) if self.experiment.averaged else [chosen]
        total = len(decoded) * len(self.axis)
        with tqdm(total=total, disable=not self.progress, desc=words) as bar:
            grids = {draw: self.grid(draw, bar) for draw in decoded}
        means = {draw: float(np.nanmean(grid)) for draw, grid in grids.items()}
        grid = np.mean(list(grids.values()), axis=0)
        within = grid[[u <= self.experiment.data.characters for u in self.axis]]
        result = {
            "axis": self.axis,
            "samples_per_cell": self.experiment.grid.samples,
            "mean_edit_distance": float(np.nanmean(grid)),
            "mean_within_training_characters": float(np.nanmean(within)) if within.size else None,
            "grid": [[None if np.isnan(x) else round(float(x), 4) for x in row] for row in grid],
            "draws": [
                {"mean_edit_distance": means.get(draw), "cross_entropy": loss}
                for draw, loss in enumerate(losses)
            ],
            "median_draw": chosen,
            "median_draw_mean_edit_distance": means[chosen],
        }
        if len(means) > 1:
            spread = {"min": min, "mean": statistics.mean, "max": max, "std": statistics.stdev}
            result["spread"] = {name: of(list(means.values())) for name, of in spread.items()}
        return result
