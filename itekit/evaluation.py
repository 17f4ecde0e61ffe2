"""Evaluation of copying: edit distance over the grid of unique characters × length.

Paper, appendix "Copying Task Experiments": greedy decoding, 100 strings a cell, the mean over 10
random embeddings; and "Sensitivity to randomness in embeddings": the draw with the median
cross-entropy as a proxy for the mean.

Shape letters: G rows and columns of the grid, N strings, S length, V vocabulary.
"""

import statistics
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from tqdm.auto import tqdm

from itekit.copying import copy_strings, edit_distances, length_batch, readable
from itekit.data import Batch
from itekit.network import Network, seeded

TEST_SEED = 1_000_003
DECODING_TOKENS = 16_384  # strings × length decoded at once: more would not stay in cache


def _chunks(batch: Batch) -> list[Batch]:
    size = max(1, DECODING_TOKENS // batch.source.shape[1])
    pairs = zip(batch.source.split(size), batch.target.split(size), strict=True)
    return [Batch(source, target) for source, target in pairs]


class GridEvaluation:
    """Evaluates one network on its experiment's grid.

    A network with ordinary embeddings cannot read characters beyond its vocabulary; there the
    prediction is taken to be empty, as in the paper, so that the distance is the length.

    Args:
        network: in evaluation mode.
        seed: of the evaluation strings and of the random embeddings.
        progress: show a bar.
    """

    def __init__(self, network: Network, seed: int = TEST_SEED, progress: bool = True):
        self.network, self.seed, self.progress = network, seed, progress
        experiment = network.experiment
        self.vocabulary, known = readable(network)
        self.draws = experiment.draws if experiment.embedding.kind == "dual_part" else 1
        self.axis = experiment.grid.axis
        self.readable = {s: [u for u in self.axis if u <= min(s, known)] for s in self.axis}

    def matrix(self, draw: int) -> Tensor:
        """U of random draw `draw`."""
        return self.network.matrix(self.vocabulary, seeded(self.seed, draw))

    @torch.no_grad()
    def grid(self, draw: int, bar: tqdm | None = None) -> np.ndarray:
        """Mean edit distance of each cell for one draw: float [G, G], NaN where impossible."""
        U, axis = self.matrix(draw), self.axis
        result = np.array([[float(s) if u <= s else np.nan for s in axis] for u in axis])
        for column, length in enumerate(axis):
            uniques = self.readable[length]
            if uniques:
                distances = np.concatenate(
                    [
                        edit_distances(copy_strings(self.network, rows, chunk), chunk.target)
                        for rows, batch in self._decoded_together(U, length)
                        for chunk in _chunks(batch)
                    ]
                )
                result[: len(uniques), column] = distances.reshape(len(uniques), -1).mean(axis=1)
            if bar is not None:
                bar.update()
        return result

    def _decoded_together(self, U: Tensor, length: int) -> Iterator[tuple[Tensor, Batch]]:
        """Strings of one length with the rows of U to decode them with.

        Those of the published search have no rows for characters beyond their cell's, where the
        embedding can do without.
        """
        uniques, experiment = self.readable[length], self.network.experiment
        if experiment.search != "published" or experiment.embedding.kind == "learned":
            yield U, length_batch(self.network, length, uniques, self.seed)
            return
        for unique in uniques:
            rows = U[: self.vocabulary.learned_count + unique]
            yield rows, length_batch(self.network, length, [unique], self.seed)

    @torch.no_grad()
    def cross_entropy(self, draw: int) -> float:
        """Mean cross-entropy of the unscaled logits over the grid's strings, for one draw."""
        U, total, count = self.matrix(draw), 0.0, 0
        for length in self.axis:
            if not self.readable[length]:
                continue
            batch = length_batch(self.network, length, self.readable[length], self.seed)
            for chunk in _chunks(batch):
                logits, targets = self.network.logits(U, chunk)
                total += cross_entropy(logits, targets, reduction="sum").item()
                count += len(targets)
        return total / count

    def run(self) -> dict:
        """The result as JSON: the grid, the draws, and the choice by median loss.

        The grid is the mean over all draws or, where the experiment says so (`averaged` False),
        that of the draw with the median cross-entropy; the others are then not decoded.
        """
        losses = [self.cross_entropy(draw) for draw in range(self.draws)]
        chosen = median_draw(losses)
        decoded = range(self.draws) if self.network.experiment.averaged else [chosen]
        with tqdm(
            total=len(decoded) * len(self.axis),
            disable=not self.progress,
            desc=f"evaluate {self.network.experiment.name}",
        ) as bar:
            grids = {draw: self.grid(draw, bar) for draw in decoded}
        means = {draw: float(np.nanmean(grid)) for draw, grid in grids.items()}
        grid = np.mean(list(grids.values()), axis=0)
        result = {
            "axis": self.axis,
            "samples_per_cell": self.network.experiment.grid.samples,
            "mean_edit_distance": float(np.nanmean(grid)),
            "mean_within_training_characters": self._mean_within(grid),
            "grid": [[None if np.isnan(x) else round(float(x), 4) for x in row] for row in grid],
            "draws": [
                {"mean_edit_distance": means.get(draw), "cross_entropy": loss}
                for draw, loss in enumerate(losses)
            ],
            "median_draw": chosen,
            "median_draw_mean_edit_distance": means[chosen],
        }
        if len(means) > 1:
            values = list(means.values())
            result["spread"] = {
                "min": min(values),
                "mean": statistics.mean(values),
                "max": max(values),
                "std": statistics.stdev(values),
            }
        return result

    def _mean_within(self, grid: np.ndarray) -> float:
        rows = [u <= self.network.experiment.data.characters for u in self.axis]
        return float(np.nanmean(grid[rows]))


def median_draw(losses: list[float]) -> int:
    """Index of the draw with the (upper) median loss: the paper's choice of an embedding."""
    return sorted(range(len(losses)), key=losses.__getitem__)[len(losses) // 2]
