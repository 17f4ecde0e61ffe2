"""The paper's heatmaps: edit distances of copies, and rates of correct answers of logic models.

Paper, section "Copying with Extendable Vocabulary", appendix "Copying Task Experiments", and
section "Experiments", figure "heatmaps". Columns are lengths. Rows are the number of unique
characters of a string, or of atomic propositions (APs) of a formula. Cells that can hold nothing,
or hold no formula, are hatched; a box is around what the training data holds.

Shape letters: N rows, M columns (lengths).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from itekit.plots.show import AMOUNTS, BELOW, WIDEST, colour_bar, compact, floats, save_png, style

Span = int | tuple[int, int] | None
HATCH = {"shape": "/", "fgcolor": "#9A9A9A", "bgcolor": "#F4F4F4", "size": 8, "solidity": 0.2}
GREEN = {"color": "#2ECC40", "width": 3}
DASHED = {"color": "#222222", "width": 3, "dash": "6px,4px"}
MOST_ANNOTATED = 30  # cells a side, beyond which numbers in the cells are too small to read
PALEST = 0.85  # how white a cell with hardly any formulas is made
ROW = 24  # pixels of a row of rates


@dataclass(frozen=True)
class Panel:
    """One heatmap: its name and what is true of the whole, what its colours say, where it is."""

    heading: tuple[str, ...]
    grid: np.ndarray  # float [N, M], NaN for no value
    rows: np.ndarray  # [N]
    columns: np.ndarray  # [M]
    empty: np.ndarray  # bool [N, M], the hatched cells
    box: tuple[float, ...] | None  # the training region: left, right, top, bottom


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
    x_edges, y_edges = edges(columns), edges(rows)
    x, y = [], []
    for row, marked in enumerate(cells):
        ends = np.flatnonzero(np.diff(np.concatenate([[0], marked.astype(int), [0]])))
        for start, end in ends.reshape(-1, 2):
            (left, right), (top, bottom) = x_edges[[start, end]], y_edges[[row, row + 1]]
            x += [left, right, right, left, left, np.nan]
            y += [top, top, bottom, bottom, top, np.nan]
    return np.array(x), np.array(y)


def _grid(name: str, values: Any, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The values as an array [N, M]; axes that do not fit it or do not increase are refused."""
    array = floats(name, values, dimensions=2)
    if array.shape != (len(rows), len(columns)):
        wanted = f"{len(rows)} rows of {len(columns)} columns"
        raise ValueError(f"{name}: expected {wanted}, found shape {array.shape}")
    if not (np.diff(rows) > 0).all() or not (np.diff(columns) > 0).all():
        raise ValueError(f"{name}: expected increasing axes, found {rows} and {columns}")
    return array


def _training_box(
    length: Span, columns: np.ndarray, span: Span, rows: np.ndarray
) -> tuple[float, ...] | None:
    """The borders of the cells that both spans cover, if any; one number means "up to it"."""
    if length is None or span is None:
        return None
    box = []
    for one, centres in ((length, columns), (span, rows)):
        low, high = (centres[0], one) if np.ndim(one) == 0 else tuple(one)
        inside = np.flatnonzero((centres >= low) & (centres <= high))
        if len(inside) == 0:
            return None
        box += edges(centres)[[inside[0], inside[-1] + 1]].tolist()
    return tuple(box)


def _subplots(panels: list[Panel], columns: int, **layout: Any) -> tuple[go.Figure, list[dict]]:
    """A figure for the panels in rows of `columns`, and their places in it; others are hidden.

    The titles stand in two lines where panels are narrow.
    """
    names = [("<br>" if columns > 2 else ": ").join(panel.heading) for panel in panels]
    down = -(-len(panels) // columns)
    figure = make_subplots(down, columns, subplot_titles=names, **layout)
    places = [{"row": i // columns + 1, "col": i % columns + 1} for i in range(down * columns)]
    for place in places[len(panels) :]:
        figure.update_xaxes(visible=False, **place)
        figure.update_yaxes(visible=False, **place)
    return figure, places[: len(panels)]


def _cells(panel: Panel, words: str, **more: Any) -> go.Heatmap:
    axes = {"x": panel.columns, "y": panel.rows, "coloraxis": "coloraxis", "hoverongaps": False}
    words += "<extra></extra>"
    return go.Heatmap(z=compact(panel.grid), hovertemplate=words, **axes, **more)


def _frame(figure: go.Figure, panel: Panel, place: dict, hatched: str, line: dict) -> None:
    """Hatched cells, the box on a white line that stands out from every colour, and the axes."""
    x, y = outlines(panel.empty, panel.rows, panel.columns)
    if len(x):
        shape = {"mode": "lines", "line": {"width": 0}, "fill": "toself", "fillpattern": HATCH}
        shape |= {"hoverinfo": "skip", "showlegend": False, "legendgroup": hatched}
        figure.add_trace(go.Scatter(x=x, y=y, name=hatched, **shape), **place)
    if panel.box is not None:
        left, right, top, bottom = panel.box
        path = {"x": [left, right, right, left, left], "y": [top, top, bottom, bottom, top]}
        path |= {"mode": "lines", "hoverinfo": "skip", "cliponaxis": False, "showlegend": False}
        figure.add_trace(go.Scatter(**path, line={"color": "white", "width": 5}), **place)
        figure.add_trace(go.Scatter(**path, line=line, name="training data"), **place)
    axis = {"showgrid": False, "constrain": "domain"}
    figure.update_xaxes(range=edges(panel.columns)[[0, -1]], **axis, **place)
    figure.update_yaxes(range=edges(panel.rows)[[-1, 0]], **axis, **place)


def _finish(figure: go.Figure, maximum: float, bar: dict, *names: str) -> None:
    """The colours, and the first trace of each name in the legend, which stands below."""
    for name in names:
        for trace in [trace for trace in figure.data if trace.name == name][:1]:
            trace.showlegend = True
    scale = {"colorscale": AMOUNTS, "cmin": 0, "cmax": maximum, "colorbar": bar}
    figure.update_layout(legend=BELOW, coloraxis=scale)


def _distance_panel(
    title: str, grid: Any, unique: Span, length: Span, minimum: int, lengths: Any, uniques: Any
) -> Panel:
    name = f"grid {title!r}" if title else "grid"
    shape = floats(name, grid, dimensions=2).shape
    rows, columns = (
        np.arange(minimum, minimum + count) if axis is None else np.asarray(axis)
        for axis, count in zip((uniques, lengths), shape, strict=True)
    )
    values = _grid(name, grid, rows, columns)
    impossible = rows[:, None] > columns[None, :]
    for row, column in np.argwhere(impossible & ~np.isnan(values)):
        raise ValueError(
            f"{name}: cell ({row}, {column}) holds {values[row, column]:g}, but a string of length "
            f"{columns[column]:g} cannot have {rows[row]:g} unique characters: expected NaN"
        )
    heading = (*filter(None, [title]), f"mean {np.nanmean(values):.2f}")
    box = _training_box(length, columns, unique, rows)
    return Panel(heading, values, rows, columns, impossible, box)


def cell_text(value: float) -> str:
    """What a cell says: at most three characters, "0" for exactly zero, nothing for NaN."""
    if np.isnan(value):
        return ""
    return "0" if value == 0 else f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


def _distance_figure(
    panels: list[Panel], columns: int, maximum: float | None, annotate: bool, cell: float
) -> go.Figure:
    """The finished figure; `cell` is the side of a cell in pixels."""
    (height, width), down = panels[0].grid.shape, -(-len(panels) // columns)
    layout = {"shared_xaxes": "all", "shared_yaxes": "all", "horizontal_spacing": 0.04}
    figure, places = _subplots(panels, columns, vertical_spacing=0.16 / down, **layout)
    hatched = "impossible: more unique characters than length"
    for i, (panel, place) in enumerate(zip(panels, places, strict=True)):
        words = "%{y} unique characters, length %{x}<br>mean edit distance %{z:.3f}"
        cells = _cells(panel, words)
        if annotate:
            texts = np.vectorize(cell_text, otypes=[object])(panel.grid)
            size = max(6, min(14, round(0.4 * cell)))
            cells.update(text=texts, texttemplate="%{text}", textfont_size=size)
        figure.add_trace(cells, **place)
        _frame(figure, panel, place, hatched, GREEN)
        if i + columns >= len(panels):  # the lowest one of its column
            figure.update_xaxes(title_text="string length", showticklabels=True, **place)
    figure.update_yaxes(title_text="unique characters", col=1)
    if maximum is None:
        maximum = max([1.0, *(float(np.nanmax(panel.grid)) for panel in panels)])
    _finish(figure, maximum, colour_bar("mean edit distance"), hatched, "training data")
    size = {"width": max(480, 160 + columns * (cell * width + 25))}
    size["height"] = 180 + down * (cell * height + 30)
    if len(panels) == 1:  # its heading is the figure's title
        figure.layout.annotations = ()
        return style(figure, title=": ".join(panels[0].heading), **size)
    return style(figure, **size).update_layout(margin_t=65 if columns > 2 else 45)


def edit_distance_heatmap(
    grid: Any,
    *,
    minimum: int = 3,
    training_length: Span = None,
    training_unique: Span = None,
    title: str = "",
    maximum: float | None = None,
    lengths: Any = None,
    uniques: Any = None,
    annotate: bool | None = None,
) -> go.Figure:
    """One edit-distance heatmap. Paper, appendix "Copying Task Experiments".

    Args:
        grid: float [N, M], NaN where there is no value, as in every impossible cell.
        minimum: the unique-character count of the first row and the length of the first column.
        training_length, training_unique: what the training data holds, for the green box: a pair
            (lowest, highest), or one number for "up to it". Both or neither.
        title: put before the mean over the cells that have a value.
        maximum: top of the colour scale; None: the largest value, at least 1.
        lengths, uniques: increasing [M] and [N], for grids with a stride; they replace `minimum`.
        annotate: numbers in the cells; None: up to 30 cells a side.

    Raises:
        ValueError: axes that do not fit the grid, or a value in an impossible cell.
    """
    spans = training_unique, training_length
    panel = _distance_panel(title, grid, *spans, minimum, lengths, uniques)
    cells = max(panel.grid.shape)
    annotate = cells <= MOST_ANNOTATED if annotate is None else annotate
    return _distance_figure([panel], 1, maximum, annotate, cell=max(1, min(40, 620 / cells)))


def edit_distance_heatmaps(
    panels: Sequence[tuple[str, Any, Span, Span]],
    *,
    minimum: int = 3,
    columns: int = 2,
    maximum: float | None = None,
    lengths: Any = None,
    uniques: Any = None,
    annotate: bool | None = None,
) -> go.Figure:
    """Several heatmaps on one colour scale: [(title, grid, training_unique, training_length), ...].

    Each is as in `edit_distance_heatmap`; `minimum`, `lengths` and `uniques` hold for all of them.
    """
    made = [_distance_panel(*panel, minimum, lengths, uniques) for panel in panels]
    columns = min(columns, len(made))
    room = min(340, (WIDEST - 160) / columns - 25)  # pixels across a panel
    cell = max(1, min(30, room / max(made[0].grid.shape)))
    return _distance_figure(made, columns, maximum, bool(annotate), cell)


def copying_picture(path: str | Path) -> Path:
    """Write README.md's picture, the shipped heatmaps at paper size, to `path`; return it.

    Raises:
        itekit.results.MissingResultError: one of the results is not shipped.
        RuntimeError: no Chrome or Chromium was found, or it does not work.
    """
    from itekit.results import load_result

    panels = []
    for variant in ("plain", "proposed", "randomized-positions"):
        result = load_result(f"copying-5-10/{variant}", "paper")
        data, axis = result["experiment"]["data"], result["result"]["axis"]
        length = (data["minimum"], data["maximum"])
        panels.append((variant, result["result"]["grid"], data["characters"], length))
    figure = edit_distance_heatmaps(panels, columns=len(panels), lengths=axis, uniques=axis)
    return save_png(figure, path)


def rate_heatmaps(
    panels: Sequence[tuple[str, Any, Any, Span, Span]],
    *,
    lengths: Sequence[int],
    propositions: Sequence[int],
    columns: int = 2,
    title: str = "",
) -> go.Figure:
    """Heatmaps of correct answers with one colour scale; the fewer formulas, the paler a cell.

    The share of correct answers of a whole row stands at its right.

    Args:
        panels: (title, samples, correct, training_propositions, training_length) of each: counts
            [N, M] of formulas and of correct answers, and the training region: each a pair (lowest,
            highest) or one number for "up to it", or both None.
        lengths, propositions: increasing, of the columns [M] and the rows [N].
        columns: heatmaps side by side.

    Raises:
        ValueError: counts that do not fit the axes, or more correct answers than formulas.
    """
    across, rows = np.asarray(lengths, float), np.asarray(propositions, float)
    made, counts = [], []
    for name, *both, proposition_span, length_span in panels:
        samples, correct = (_grid(f"{name!r}", given, rows, across) for given in both)
        for row, column in np.argwhere(correct > samples):
            found = f"{correct[row, column]:g} correct of {samples[row, column]:g}"
            raise ValueError(f"{name!r}: cell ({row}, {column}) has {found}")
        heading = (*filter(None, [name]), f"{correct.sum() / samples.sum():.1%} correct")
        box = _training_box(length_span, across, proposition_span, rows)
        grid, empty = _shares(correct, samples), samples == 0
        made.append(Panel(heading, grid, rows, across, empty, box))
        counts.append((samples, correct))
    columns = min(columns, len(made))
    down, room = -(-len(made) // columns), 100 if columns > 2 else 80  # pixels between rows
    spacing = {"vertical_spacing": room / (down * (ROW * len(rows) + room))}
    figure, places = _subplots(made, columns, horizontal_spacing=0.15 / columns, **spacing)
    figure.update_annotations(font_size=15)
    every = np.array([samples for samples, _ in counts])
    for i, (panel, place) in enumerate(zip(made, places, strict=True)):
        _draw_rates(figure, panel, *counts[i], every.max(), place)
        if i + columns >= len(made):
            figure.update_xaxes(title_text="formula length (tokens)", **place)
    figure.update_yaxes(showticklabels=False)
    figure.update_yaxes(title_text="atomic propositions", showticklabels=True, col=1)
    fewest = every[every > 0].min()
    if fewest < every.max():
        pale = {"symbol": "square", "size": 14, "color": "#B5D5D8", "line": {"width": 0}}
        legend = {"x": [None], "y": [None], "mode": "markers", "marker": pale, "showlegend": True}
        name = f"paler: fewer formulas, {fewest:g} to {every.max():g} a cell"
        figure.add_scatter(**legend, name=name)
    bar = colour_bar("correct answers", tickformat=".0%", x=1.06 if columns > 1 else 1.1, xpad=0)
    _finish(figure, 1, bar, "training data", "no formulas")
    height = 125 + 40 * bool(title) + down * (ROW * len(rows) + room)
    style(figure, title=title, width=WIDEST if columns > 1 else 620, height=height)
    return figure.update_layout(margin={"t": room - 35 + 40 * bool(title), "b": 100})


def _shares(correct: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """Shares of correct answers, NaN where there is no formula."""
    return np.where(samples > 0, correct / np.maximum(samples, 1), np.nan)


def _draw_rates(
    figure: go.Figure,
    panel: Panel,
    samples: np.ndarray,
    correct: np.ndarray,
    largest: float,
    place: dict,
) -> None:
    """A panel's colours, their paleness, and the share of correct answers of each row."""
    words = "%{y} APs, length %{x}<br>%{customdata[0]} of %{customdata[1]} correct (%{z:.0%})"
    counts = np.stack([correct, samples], axis=2).astype(int)
    figure.add_trace(_cells(panel, words, name="correct", customdata=counts), **place)
    white = [[0, "rgba(255,255,255,0)"], [1, f"rgba(255,255,255,{PALEST})"]]
    scale = {"zmin": 0, "zmax": 1, "colorscale": white, "showscale": False, "hoverinfo": "skip"}
    pale = compact(np.where(panel.empty, np.nan, 1 - samples / largest))
    axes = {"x": panel.columns, "y": panel.rows}
    figure.add_trace(go.Heatmap(z=pale, name="paleness", **axes, **scale), **place)
    _frame(figure, panel, place, "no formulas", DASHED)
    figure.update_yaxes(tickvals=panel.rows, **place)
    beside = {"x": 1.01, "xanchor": "left", "showarrow": False, "font_size": 12, **place}
    top = {"y": 1.0, "yanchor": "bottom"}
    figure.add_annotation(text="row", **top, xref="x domain", yref="y domain", **beside)
    rates = _shares(correct.sum(axis=1), samples.sum(axis=1))
    for count, rate in zip(panel.rows, rates, strict=True):
        text = "–" if np.isnan(rate) else f"{rate:.0%}"
        figure.add_annotation(text=text, y=count, xref="x domain", **beside)
