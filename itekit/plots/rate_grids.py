"""Counts of correct answers, checked and measured out: rates, row means, cells without a formula.

Rows are the number of atomic propositions in a formula, columns its length (paper, section
"Experiments", figure "heatmaps").

Shape letters: N rows (numbers of propositions), M columns (lengths).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from itekit.plots.grids import Span, edges, span_edges
from itekit.plots.style import floats


@dataclass(frozen=True)
class RatePanel:
    """One checked heatmap; `box` is the training region as (left, right, top, bottom) or None."""

    title: str
    samples: np.ndarray  # [N, M]
    correct: np.ndarray  # [N, M]
    propositions: np.ndarray  # [N]
    lengths: np.ndarray  # [M]
    box: tuple[float, float, float, float] | None

    @property
    def rates(self) -> np.ndarray:
        """Shares of correct answers [N, M], NaN where there is no formula."""
        return _shares(self.correct, self.samples)

    @property
    def row_rates(self) -> np.ndarray:
        """Share of correct answers of each row [N]: every formula counts the same."""
        return _shares(self.correct.sum(axis=1), self.samples.sum(axis=1))

    @property
    def heading(self) -> str:
        mean = f"{self.correct.sum() / self.samples.sum():.1%} correct"
        return f"{self.title}: {mean}" if self.title else mean


def _shares(correct: np.ndarray, samples: np.ndarray) -> np.ndarray:
    return np.where(samples > 0, correct / np.maximum(samples, 1), np.nan)


def rate_panel(
    title: str,
    samples: Any,
    correct: Any,
    training_propositions: Span,
    training_length: Span,
    lengths: np.ndarray,
    propositions: np.ndarray,
) -> RatePanel:
    """Check one heatmap's counts. See `rates.rate_heatmaps` for the arguments.

    Raises:
        ValueError: a wrong shape, counts that are not whole numbers of 0 or more, more correct
            answers than formulas, no formula at all, or half a training region.
    """
    shape, grids = (len(propositions), len(lengths)), []
    for name, given in (f"{title!r}, samples", samples), (f"{title!r}, correct", correct):
        grid = floats(name, given, dimensions=2)
        if grid.shape != shape:
            wanted = f"{shape[0]} rows (propositions) of {shape[1]} columns (lengths)"
            raise ValueError(f"{name}: expected {wanted}, found shape {grid.shape}")
        if not (np.isfinite(grid) & (grid >= 0) & (grid == np.floor(grid))).all():
            raise ValueError(f"{name}: expected counts, whole numbers of 0 or more")
        grids.append(grid)
    for row, column in np.argwhere(grids[1] > grids[0]):
        found = f"{grids[1][row, column]:g} correct of {grids[0][row, column]:g}"
        raise ValueError(f"{title!r}: cell ({row}, {column}) has {found}")
    if not grids[0].any():
        raise ValueError(f"{title!r}: samples are all 0")
    if (training_propositions is None) != (training_length is None):
        raise ValueError(f"{title!r}: give both training_propositions and training_length, or none")
    box = None
    if training_length is not None:
        x = span_edges("training_length", training_length, lengths)
        box = (*x, *span_edges("training_propositions", training_propositions, propositions))
    return RatePanel(title, *grids, propositions, lengths, box)


def empty_outlines(panel: RatePanel) -> tuple[np.ndarray, np.ndarray]:
    """Outlines (x, y) of the runs of cells without a formula: rectangles with NaN between them."""
    x_edges, y_edges = edges(panel.lengths), edges(panel.propositions)
    x, y = [], []
    for row, empty in enumerate(panel.samples == 0):
        ends = np.flatnonzero(np.diff(np.concatenate([[0], empty.astype(int), [0]])))
        for start, end in ends.reshape(-1, 2):
            left, right = x_edges[start], x_edges[end]
            x += [left, right, right, left, left, np.nan]
            y += [y_edges[row], y_edges[row], y_edges[row + 1], y_edges[row + 1], y_edges[row]]
            y += [np.nan]
    return np.array(x), np.array(y)
