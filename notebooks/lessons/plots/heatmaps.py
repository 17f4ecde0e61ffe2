"""The paper's heatmaps: edit distances of copies, and rates of correct answers of logic models.

Paper, appendix "Copying Task Experiments", and section "Experiments", figure "heatmaps". Columns
are lengths, rows the number of unique characters of a string or of atomic propositions (APs) of a
formula. Cells that can hold nothing are hatched; a box is around what the training data holds.

Shape letters: N rows, M columns (lengths), P panels.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from lessons.plots.show import (
    AMOUNTS,
    BELOW,
    WIDEST,
    colour_bar,
    colours,
    compact,
    in_legend,
    style,
    subplots,
)

Axes = tuple[np.ndarray, np.ndarray]  # rows [N], columns [M]
Span = int | tuple[int, int]  # (lowest, highest), or one number for "up to it"
HATCH = {"shape": "/", "fgcolor": "#9A9A9A", "bgcolor": "#F4F4F4", "size": 8, "solidity": 0.2}
# what empty cells are called, and the line around what the training data holds
COPYING = "impossible: more unique characters than length", {"color": "#2ECC40", "width": 3}
LOGIC = "no formulas", {"color": "#222222", "width": 3, "dash": "6px,4px"}
ROW, BETWEEN = 24, 80  # pixels of a row of rates, and between panels


def edges(centres: np.ndarray) -> np.ndarray:
    """The borders of the cells around `centres` [N]: midpoints, and the ends mirrored; [N + 1]."""
    if len(centres) == 1:
        return np.array([centres[0] - 0.5, centres[0] + 0.5])
    middle = (centres[1:] + centres[:-1]) / 2
    return np.concatenate([[2 * centres[0] - middle[0]], middle, [2 * centres[-1] - middle[-1]]])


def outlines(
    cells: np.ndarray, rows: np.ndarray, columns: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Outlines (x, y) of the runs of `cells` [N, M] in each row: rectangles with NaN between."""
    row, place = np.nonzero(np.diff(np.pad(cells.astype(int), ((0, 0), (1, 1)))))
    left, right = edges(columns)[place.reshape(-1, 2).T]
    top, bottom = edges(rows)[[row[::2], row[::2] + 1]]
    gap = np.full_like(left, np.nan)
    x = np.stack([left, right, right, left, left, gap], axis=1).ravel()
    return x, np.stack([top, top, bottom, bottom, top, gap], axis=1).ravel()


def _borders(span: Span, centres: np.ndarray) -> np.ndarray:
    """The first and the last border of the cells [N] that `span` covers; empty if there is none."""
    low, high = (centres[0], span) if np.ndim(span) == 0 else span
    inside = np.flatnonzero((centres >= low) & (centres <= high))
    return edges(centres)[np.concatenate([inside[:1], inside[-1:] + 1])]


def _cells(grid: np.ndarray, axes: Axes, words: str, **more: Any) -> go.Heatmap:
    more |= {"x": axes[1], "y": axes[0], "coloraxis": "coloraxis", "hoverongaps": False}
    return go.Heatmap(z=compact(grid), hovertemplate=words + "<extra></extra>", **more)


def _frame(
    figure: go.Figure, place: dict, axes: Axes, empty: np.ndarray, spans: Any, look: tuple
) -> None:
    """The axes, the empty cells hatched, and the box around `spans` of rows and of columns."""
    (rows, columns), (name, line) = axes, look
    plain = {"showgrid": False, "constrain": "domain", **place}
    figure.update_xaxes(range=edges(columns)[[0, -1]], **plain)
    figure.update_yaxes(range=edges(rows)[[-1, 0]], **plain)
    quiet = {"mode": "lines", "hoverinfo": "skip", "showlegend": False, **place}
    x, y = outlines(empty, rows, columns)
    if len(x):
        fill = {"line": {"width": 0}, "fill": "toself", "fillpattern": HATCH}
        figure.add_scatter(x=x, y=y, name=name, legendgroup=name, **fill, **quiet)
    y, x = map(_borders, spans, axes)
    if len(x) and len(y):
        path = {"x": x[[0, 1, 1, 0, 0]], "y": y[[0, 0, 1, 1, 0]], "cliponaxis": False, **quiet}
        figure.add_scatter(**path, line={"color": "white", "width": 5})
        figure.add_scatter(**path, line=line, name="training data")


def _finish(figure: go.Figure, look: tuple, scale: str, maximum: float, bar: dict) -> None:
    """The legend below, and the colours: bright is good."""
    in_legend(trace for trace in figure.data if trace.name in (look[0], "training data"))
    figure.update_layout(legend=BELOW, coloraxis=colours(scale, 0, maximum, bar))


def edit_distance_heatmaps(
    panels: Sequence[tuple[str, Any, Span, Span]], *, lengths: Any, uniques: Any
) -> go.Figure:
    """Edit-distance heatmaps on one colour scale, two side by side.

    Args:
        panels: (title, grid, training_unique, training_length) of each: mean edit distances
            [N, M], NaN where there is no value, and what the training data holds, for the green
            box: a pair (lowest, highest) each, or one number for "up to it".
        lengths, uniques: increasing, of the columns [M] and the rows [N].
    """
    axes = rows, across = np.asarray(uniques), np.asarray(lengths)
    grids = np.array([grid for _, grid, *_ in panels], float)
    columns, down = min(2, len(panels)), -(-len(panels) // 2)
    room = min((WIDEST - 160) / columns - 25, 480 / down - 30, 340)  # pixels across a panel
    cell = max(1, min(30, room / max(len(rows), len(across))))
    headings = [f"{title}: mean {np.nanmean(grid):.2f}" for title, grid, *_ in panels]
    layout = {"shared_xaxes": "all", "shared_yaxes": "all", "horizontal_spacing": 0.04}
    figure, places = subplots(headings, columns, vertical_spacing=0.16 / down, **layout)
    impossible = rows[:, None] > across
    words = "%{y} unique characters, length %{x}<br>mean edit distance %{z:.3f}"
    for place, grid, (*_, unique, length) in zip(places, grids, panels, strict=True):
        figure.add_trace(_cells(grid, axes, words), **place)
        _frame(figure, place, axes, impossible, (unique, length), COPYING)
    for place in places[-columns:]:  # the lowest one of each column
        figure.update_xaxes(title_text="string length", showticklabels=True, **place)
    figure.update_yaxes(title_text="unique characters", col=1)
    bar = colour_bar("mean edit distance")
    _finish(figure, COPYING, f"{AMOUNTS}_r", max(1.0, np.nanmax(grids)), bar)
    size = {"width": max(480, 160 + columns * (cell * len(across) + 25))}
    size["height"] = 180 + down * (cell * len(rows) + 30)
    if len(panels) == 1:  # its heading is the figure's title
        figure.layout.annotations = ()
        return style(figure, title=headings[0], **size)
    return style(figure, **size, margin_t=45)


def _shares(correct: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """Shares of correct answers, NaN where there is no formula."""
    return np.where(samples > 0, correct / np.maximum(samples, 1), np.nan)


def rate_heatmaps(
    panels: Sequence[tuple[str, Any, Any, Span, Span]],
    *,
    lengths: Sequence[int],
    propositions: Sequence[int],
    title: str,
) -> go.Figure:
    """Heatmaps of correct answers, two side by side; the fewer formulas, the paler a cell.

    The share of correct answers of a whole row stands at its right. A panel is (title, samples,
    correct, training_propositions, training_length), with counts [N, M] of formulas and of correct
    answers (`itekit.results.heatmap_panel`).
    """
    axes = rows, across = np.asarray(propositions, float), np.asarray(lengths, float)
    samples, correct = (np.array([panel[i] for panel in panels], float) for i in (1, 2))  # [P,N,M]
    rates, largest, fewest = _shares(correct, samples), samples.max(), samples[samples > 0].min()
    columns, down = min(2, len(panels)), -(-len(panels) // 2)
    parts = zip(panels, correct, samples, strict=True)
    headings = [f"{panel[0]}: {c.sum() / s.sum():.1%} correct" for panel, c, s in parts]
    height = ROW * len(rows) + BETWEEN
    spacing = {"vertical_spacing": BETWEEN / (down * height)}
    figure, places = subplots(headings, columns, horizontal_spacing=0.15 / columns, **spacing)
    figure.update_annotations(font_size=15)
    words = "%{y} APs, length %{x}<br>%{customdata[0]} of %{customdata[1]} correct (%{z:.0%})"
    white = [[0, "rgba(255,255,255,0)"], [1, "rgba(255,255,255,0.85)"]]
    veil = {"name": "paleness", "zmin": 0, "zmax": 1, "colorscale": white, "showscale": False}
    veil |= {"x": across, "y": rows, "hoverinfo": "skip"}
    each = zip(places, rates, correct, samples, panels, strict=True)
    for place, rate, right, count, panel in each:
        both = np.stack([right, count], axis=2).astype(int)
        cells = _cells(rate, axes, words, name="correct", customdata=both)
        figure.add_trace(cells, **place)
        pale = np.where(count > 0, 1 - count / largest, np.nan)
        figure.add_heatmap(z=compact(pale), **veil, **place)
        _frame(figure, place, axes, count == 0, panel[3:], LOGIC)
        beside = {"x": 1.01, "xanchor": "left", "showarrow": False, "font_size": 12}
        beside |= {"xref": "x domain", **place}
        top = {"y": 1.0, "yanchor": "bottom", "yref": "y domain"}
        figure.add_annotation(text="row", **top, **beside)
        shares = _shares(right.sum(axis=1), count.sum(axis=1))
        for row, share in zip(rows, shares, strict=True):
            text = "–" if np.isnan(share) else f"{share:.0%}"
            figure.add_annotation(text=text, y=row, **beside)
    for place in places[-columns:]:
        figure.update_xaxes(title_text="formula length (tokens)", **place)
    figure.update_yaxes(tickvals=rows, showticklabels=False)
    figure.update_yaxes(title_text="atomic propositions", showticklabels=True, col=1)
    if fewest < largest:
        pale = {"symbol": "square", "size": 14, "color": "#B5D5D8", "line": {"width": 0}}
        name = f"paler: fewer formulas, {fewest:g} to {largest:g} a cell"
        legend = {"mode": "markers", "marker": pale, "showlegend": True, "name": name}
        figure.add_scatter(x=[None], y=[None], **legend)
    bar = colour_bar("correct answers", tickformat=".0%", x=1.06 if columns > 1 else 1.1, xpad=0)
    _finish(figure, LOGIC, AMOUNTS, 1, bar)
    size = {"width": WIDEST if columns > 1 else 620, "height": 165 + down * height}
    return style(figure, title=title, **size, margin={"t": BETWEEN + 5, "b": 100})
