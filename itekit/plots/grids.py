"""Edit-distance grids, checked and measured out: axes, cell borders, the impossible half.

Rows are the number of unique characters in a string, columns its length (paper, section "Copying
with Extendable Vocabulary"). A string cannot have more unique characters than its length.

Shape letters: N rows (unique-character counts), M columns (lengths).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from itekit.plots.style import floats

Span = int | tuple[int, int] | None


@dataclass(frozen=True)
class Panel:
    """One checked heatmap; `box` is the training region as (left, right, top, bottom) or None."""

    title: str
    grid: np.ndarray  # float [N, M]
    uniques: np.ndarray  # [N]
    lengths: np.ndarray  # [M]
    box: tuple[float, float, float, float] | None

    @property
    def heading(self) -> str:
        mean = f"mean {np.nanmean(self.grid):.2f}"
        return f"{self.title}: {mean}" if self.title else mean


def edges(centres: np.ndarray) -> np.ndarray:
    """The borders of the cells around `centres` [N]: midpoints, and the ends mirrored; [N + 1]."""
    if len(centres) == 1:
        return np.array([centres[0] - 0.5, centres[0] + 0.5])
    middle = (centres[1:] + centres[:-1]) / 2
    return np.concatenate([[2 * centres[0] - middle[0]], middle, [2 * centres[-1] - middle[-1]]])


def impossible_outline(uniques: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The stepped outline (x, y) around exactly the cells with more unique characters than length.

    Both arrays are increasing, so such cells are the first ones of their row, and a row has at
    least as many as the row before. Empty arrays when there is no such cell.
    """
    counts = np.searchsorted(lengths, uniques, side="left")  # how many lengths are too short
    rows = np.flatnonzero(counts)
    if len(rows) == 0:
        return np.empty(0), np.empty(0)
    x_edges, y_edges = edges(lengths), edges(uniques)
    right = np.repeat(x_edges[counts[rows]], 2)
    down = np.stack([y_edges[rows], y_edges[rows + 1]], axis=1).ravel()
    x = np.concatenate([[x_edges[0]], right, [x_edges[0], x_edges[0]]])
    return x, np.concatenate([[down[0]], down, [down[-1], down[0]]])


def make_panel(
    title: str,
    grid: Any,
    training_unique: Span,
    training_length: Span,
    *,
    minimum: int = 3,
    lengths: Any = None,
    uniques: Any = None,
) -> Panel:
    """Check a grid and its axes. See `heatmaps.edit_distance_heatmap` for the arguments.

    Raises:
        ValueError: a wrong shape, a value that is no edit distance, a value in an impossible cell,
            a training region that is half given or covers no cell.
    """
    name = f"grid {title!r}" if title else "grid"
    values = floats(name, grid, dimensions=2)
    uniques = axis_values("uniques", uniques, values.shape[0], minimum)
    lengths = axis_values("lengths", lengths, values.shape[1], minimum)
    _check_values(name, values, uniques, lengths)
    if (training_unique is None) != (training_length is None):
        raise ValueError(f"{name}: give both training_unique and training_length, or neither")
    box = None
    if training_length is not None:
        x = span_edges("training_length", training_length, lengths)
        box = (*x, *span_edges("training_unique", training_unique, uniques))
    return Panel(title, values, uniques, lengths, box)


def axis_values(name: str, values: Any, count: int, minimum: int) -> np.ndarray:
    """The `count` increasing centres of the cells of an axis; from `minimum` on if None.

    Raises:
        ValueError: another number of them, or not increasing.
    """
    if values is None:
        return np.arange(minimum, minimum + count, dtype=np.float64)
    array = floats(name, values, dimensions=1)
    if len(array) != count:
        raise ValueError(f"{name}: expected a value for each of {count} cells, found {len(array)}")
    if not np.all(np.diff(array) > 0):
        raise ValueError(f"{name}: expected increasing values, found {values!r}")
    return array


def _check_values(name: str, values: np.ndarray, uniques: np.ndarray, lengths: np.ndarray) -> None:
    given = ~np.isnan(values)
    if not given.any():
        raise ValueError(f"{name}: every cell is NaN")
    for row, column in np.argwhere(given & ~((values >= 0) & (values < np.inf))):
        found = values[row, column]
        raise ValueError(f"{name}: cell ({row}, {column}) holds {found:g}, not an edit distance")
    for row, column in np.argwhere(given & (uniques[:, None] > lengths[None, :])):
        raise ValueError(
            f"{name}: cell ({row}, {column}) holds {values[row, column]:g}, but a string of length "
            f"{lengths[column]:g} cannot have {uniques[row]:g} unique characters: expected NaN"
        )


def span_edges(name: str, span: Span, centres: np.ndarray) -> tuple[float, float]:
    """The borders of the cells that `span` covers; a single number means "up to it".

    Raises:
        ValueError: it covers no cell.
    """
    low, high = (centres[0], span) if np.ndim(span) == 0 else tuple(span)
    inside = np.flatnonzero((centres >= low) & (centres <= high))
    if len(inside) == 0:
        axis = f"from {centres[0]:g} to {centres[-1]:g}"
        raise ValueError(f"{name}: {span!r} covers no cell; the axis runs {axis}")
    borders = edges(centres)
    return float(borders[inside[0]]), float(borders[inside[-1] + 1])
