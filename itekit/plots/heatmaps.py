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

from itekit.plots.show import (
    AMOUNTS,
    BELOW,
    DARK,
    WIDEST,
    colour_bar,
    compact,
    floats,
    save_png,
    style,
)

Span = int | tuple[int, int] | None
BOX_COLOUR = "#2ECC40"
HATCH = {"shape": "/", "fgcolor": "#9A9A9A", "bgcolor": "#F4F4F4", "size": 8, "solidity": 0.2}
MOST_ANNOTATED = 30  # cells a side, beyond which numbers in the cells are too small to read
PALEST = 0.85  # how white a cell with hardly any formulas is made
ROW = 24  # pixels of a row of rates


@dataclass(frozen=True)
class Panel:
    """One checked heatmap; `box` is the training region as (left, right, top, bottom) or None."""

    title: str
    grid: np.ndarray  # what the colours say [N, M], NaN for no value
    rows: np.ndarray  # [N]
    columns: np.ndarray  # [M]
    empty: np.ndarray  # bool [N, M], the hatched cells
    box: tuple[float, float, float, float] | None
    correct: np.ndarray | None = None  # counts [N, M], of rates
    samples: np.ndarray | None = None

    def heading(self, between: str) -> str:
        if self.samples is None:
            mean = f"mean {np.nanmean(self.grid):.2f}"
        else:
            mean = f"{self.correct.sum() / self.samples.sum():.1%} correct"
        return f"{self.title}{between}{mean}" if self.title else mean


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


def _axis(name: str, values: Any, count: int, minimum: int) -> np.ndarray:
    """The increasing centres of the `count` cells of an axis; from `minimum` on if None."""
    if values is None:
        return np.arange(minimum, minimum + count, dtype=np.float64)
    array = floats(name, values, dimensions=1)
    if len(array) != count:
        raise ValueError(f"{name}: expected a value for each of {count} cells, found {len(array)}")
    if not np.all(np.diff(array) > 0):
        raise ValueError(f"{name}: expected increasing values, found {values!r}")
    return array


def _training_box(
    name: str, what: str, span: Span, rows: np.ndarray, length: Span, columns: np.ndarray
) -> tuple[float, float, float, float] | None:
    """The borders of the cells that both spans cover; a single number means "up to it"."""
    if (span is None) != (length is None):
        raise ValueError(f"{name}: give both {what} and training_length, or neither")
    if span is None:
        return None
    box = []
    for said, one, centres in (("training_length", length, columns), (what, span, rows)):
        low, high = (centres[0], one) if np.ndim(one) == 0 else tuple(one)
        inside = np.flatnonzero((centres >= low) & (centres <= high))
        if len(inside) == 0:
            axis = f"from {centres[0]:g} to {centres[-1]:g}"
            raise ValueError(f"{said}: {one!r} covers no cell; the axis runs {axis}")
        box += edges(centres)[[inside[0], inside[-1] + 1]].tolist()
    return tuple(box)


def _draw_panel(figure: go.Figure, panel: Panel, place: dict, hatched: str, box: dict) -> None:
    """Hatched cells, the box on a white line that stands out from every colour, and the axes."""
    x, y = outlines(panel.empty, panel.rows, panel.columns)
    if len(x):
        shape = {"mode": "lines", "line": {"width": 0}, "fill": "toself", "fillpattern": HATCH}
        hatch = go.Scatter(x=x, y=y, name=hatched, legendgroup=hatched, hoverinfo="skip", **shape)
        figure.add_trace(hatch.update(showlegend=False), **place)
    if panel.box is not None:
        left, right, top, bottom = panel.box
        path = {"x": [left, right, right, left, left], "y": [top, top, bottom, bottom, top]}
        path |= {"mode": "lines", "hoverinfo": "skip", "cliponaxis": False, "showlegend": False}
        figure.add_trace(go.Scatter(**path, line={"color": "white", "width": 5}), **place)
        figure.add_trace(go.Scatter(**path, line=box, name="training data"), **place)
    axis = {"showgrid": False, "constrain": "domain"}
    figure.update_xaxes(range=edges(panel.columns)[[0, -1]], **axis, **place)
    figure.update_yaxes(range=edges(panel.rows)[[-1, 0]], **axis, **place)


def _name_once(figure: go.Figure, *names: str) -> None:
    """Put the first trace of each name into the legend, which stands below."""
    for name in names:
        for trace in [trace for trace in figure.data if trace.name == name][:1]:
            trace.showlegend = True
    figure.update_layout(legend=BELOW)


def _distance_panel(
    title: str, grid: Any, unique: Span, length: Span, minimum: int, lengths: Any, uniques: Any
) -> Panel:
    name = f"grid {title!r}" if title else "grid"
    values = floats(name, grid, dimensions=2)
    rows = _axis("uniques", uniques, values.shape[0], minimum)
    columns = _axis("lengths", lengths, values.shape[1], minimum)
    given, impossible = ~np.isnan(values), rows[:, None] > columns[None, :]
    if not given.any():
        raise ValueError(f"{name}: every cell is NaN")
    for row, column in np.argwhere(given & ~((values >= 0) & (values < np.inf))):
        found = values[row, column]
        raise ValueError(f"{name}: cell ({row}, {column}) holds {found:g}, not an edit distance")
    for row, column in np.argwhere(given & impossible):
        raise ValueError(
            f"{name}: cell ({row}, {column}) holds {values[row, column]:g}, but a string of length "
            f"{columns[column]:g} cannot have {rows[row]:g} unique characters: expected NaN"
        )
    box = _training_box(name, "training_unique", unique, rows, length, columns)
    return Panel(title, values, rows, columns, impossible, box)


def cell_text(value: float) -> str:
    """What a cell says: at most three characters, "0" for exactly zero, nothing for NaN."""
    if np.isnan(value):
        return ""
    return "0" if value == 0 else f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


def _distance_figure(
    panels: list[Panel], columns: int, maximum: float | None, annotate: bool, cell: float
) -> go.Figure:
    """The panels in rows of `columns`, each axis labelled once; `cell` is a cell's side, pixels."""
    if maximum is None:
        maximum = max([1.0, *(float(np.nanmax(panel.grid)) for panel in panels)])
    elif not maximum > 0:
        raise ValueError(f"maximum: expected a positive edit distance, found {maximum!r}")
    down, many = -(-len(panels) // columns), len(panels) > 1
    between = "<br>" if columns > 2 else ": "  # narrow panels: the mean stands below the name
    figure = make_subplots(
        down,
        columns,
        subplot_titles=[panel.heading(between) for panel in panels] if many else None,
        shared_xaxes="all",
        shared_yaxes="all",
        horizontal_spacing=0.04,
        vertical_spacing=0.16 / down,
    )
    hatched = "impossible: more unique characters than length"
    for i in range(down * columns):
        place = {"row": i // columns + 1, "col": i % columns + 1}
        if i >= len(panels):
            figure.update_xaxes(visible=False, **place)
            figure.update_yaxes(visible=False, **place)
            continue
        panel = panels[i]
        heatmap = go.Heatmap(
            z=compact(panel.grid),
            x=panel.columns,
            y=panel.rows,
            coloraxis="coloraxis",
            hovertemplate="%{y} unique characters, length %{x}<br>"
            "mean edit distance %{z:.3f}<extra></extra>",
            hoverongaps=False,
        )
        if annotate:
            size = max(6, min(14, round(0.4 * cell)))
            texts = np.vectorize(cell_text, otypes=[object])(panel.grid)
            heatmap.update(text=texts, texttemplate="%{text}", textfont_size=size)
        figure.add_trace(heatmap, **place)
        _draw_panel(figure, panel, place, hatched, {"color": BOX_COLOUR, "width": 3})
        if i + columns >= len(panels):  # the lowest one of its column
            figure.update_xaxes(title_text="string length", showticklabels=True, **place)
    figure.update_yaxes(title_text="unique characters", col=1)
    scale = {"colorscale": AMOUNTS, "cmin": 0, "cmax": maximum}
    figure.update_layout(coloraxis=scale | {"colorbar": colour_bar("mean edit distance")})
    _name_once(figure, hatched, "training data")
    height, width = panels[0].grid.shape
    style(
        figure,
        title="" if many else panels[0].heading(between),
        width=max(480, 160 + columns * (cell * width + 25)),
        height=180 + down * (cell * height + 30),
    )
    return figure.update_layout(margin_t=65 if columns > 2 else 45) if many else figure


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
        ValueError: a wrong shape, a value that is no edit distance, a value in an impossible
            cell, a training region outside the axes.
    """
    panel = _distance_panel(
        title, grid, training_unique, training_length, minimum, lengths, uniques
    )
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

    Raises:
        ValueError: as `edit_distance_heatmap`; also no panels, or grids of different shapes.
    """
    panels = list(panels)
    if not panels or columns < 1:
        found = f"found {len(panels)} and {columns}"
        raise ValueError(f"expected at least one panel and one column, {found}")
    if any(len(panel) != 4 for panel in panels):
        raise ValueError("panels: expected tuples (title, grid, training_unique, training_length)")
    made = [_distance_panel(*panel, minimum, lengths, uniques) for panel in panels]
    if len({panel.grid.shape for panel in made}) > 1:
        shapes = [panel.grid.shape for panel in made]
        raise ValueError(f"panels: expected grids of one shape, found {shapes}")
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


def _shares(correct: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """Shares of correct answers, NaN where there is no formula."""
    return np.where(samples > 0, correct / np.maximum(samples, 1), np.nan)


def _rate_panel(
    title: str,
    samples: Any,
    correct: Any,
    propositions: Span,
    length: Span,
    rows: np.ndarray,
    columns: np.ndarray,
) -> Panel:
    counts = []
    for name, given in (f"{title!r}, samples", samples), (f"{title!r}, correct", correct):
        grid = floats(name, given, dimensions=2)
        if grid.shape != (len(rows), len(columns)):
            wanted = f"{len(rows)} rows (propositions) of {len(columns)} columns (lengths)"
            raise ValueError(f"{name}: expected {wanted}, found shape {grid.shape}")
        if not (np.isfinite(grid) & (grid >= 0) & (grid == np.floor(grid))).all():
            raise ValueError(f"{name}: expected counts, whole numbers of 0 or more")
        counts.append(grid)
    all_of_them, right = counts
    for row, column in np.argwhere(right > all_of_them):
        found = f"{right[row, column]:g} correct of {all_of_them[row, column]:g}"
        raise ValueError(f"{title!r}: cell ({row}, {column}) has {found}")
    if not all_of_them.any():
        raise ValueError(f"{title!r}: samples are all 0")
    box = _training_box(f"{title!r}", "training_propositions", propositions, rows, length, columns)
    grid, empty = _shares(right, all_of_them), all_of_them == 0
    return Panel(title, grid, rows, columns, empty, box, right, all_of_them)


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
        ValueError: no panels, a wrong shape, counts that are not whole numbers of 0 or more, more
            correct answers than formulas, no formula at all, or half a training region.
    """
    panels = list(panels)
    if not panels or columns < 1 or any(len(panel) != 5 for panel in panels):
        raise ValueError(
            "panels: expected at least one (title, samples, correct, training_propositions, "
            "training_length), in at least one column"
        )
    rows = _axis("propositions", propositions, len(propositions), 1)
    across = _axis("lengths", lengths, len(lengths), 1)
    made = [_rate_panel(*panel, rows, across) for panel in panels]
    columns = min(columns, len(made))
    narrow, down = columns > 2, -(-len(made) // columns)
    room = 100 if narrow else 80  # pixels between the rows of panels
    figure = make_subplots(
        down,
        columns,
        subplot_titles=[panel.heading("<br>" if narrow else ": ") for panel in made],
        horizontal_spacing=0.15 / columns,
        vertical_spacing=room / (down * (ROW * len(rows) + room)),
    )
    figure.update_annotations(font_size=15)
    largest = max(panel.samples.max() for panel in made)
    for i, panel in enumerate(made):
        place = {"row": i // columns + 1, "col": i % columns + 1}
        _draw_rates(figure, panel, largest, place, "" if i == 0 else str(i + 1))
        if i + columns >= len(made):
            figure.update_xaxes(title_text="formula length (tokens)", **place)
    figure.update_yaxes(showticklabels=False)
    figure.update_yaxes(title_text="atomic propositions", showticklabels=True, col=1)
    fewest = min(panel.samples[panel.samples > 0].min() for panel in made)
    if fewest < largest:
        pale = {"symbol": "square", "size": 14, "color": "#B5D5D8", "line": {"width": 0}}
        name = f"paler: fewer formulas, {fewest:g} to {largest:g} a cell"
        figure.add_scatter(
            x=[None], y=[None], mode="markers", marker=pale, name=name, showlegend=True
        )
    _name_once(figure, "training data", "no formulas")
    bar = colour_bar("correct answers", tickformat=".0%", x=1.06 if columns > 1 else 1.1, xpad=0)
    scale = {"colorscale": AMOUNTS, "cmin": 0, "cmax": 1, "colorbar": bar}
    height = 125 + 40 * bool(title) + down * (ROW * len(rows) + room)
    style(figure, title=title, width=WIDEST if columns > 1 else 620, height=height)
    margin = {"t": room - 35 + 40 * bool(title), "b": 100}
    return figure.update_layout(coloraxis=scale, margin=margin)


def _draw_rates(figure: go.Figure, panel: Panel, largest: float, place: dict, axis: str) -> None:
    """A panel's colours, their paleness, and the share of correct answers of each row."""
    axes = {"x": panel.columns, "y": panel.rows}
    words = "%{y} APs, length %{x}<br>%{customdata[0]} of %{customdata[1]} correct (%{z:.0%})"
    cells = go.Heatmap(
        z=compact(panel.grid),
        customdata=np.stack([panel.correct, panel.samples], axis=2).astype(int),
        coloraxis="coloraxis",
        hoverongaps=False,
        hovertemplate=words + "<extra></extra>",
        name="correct",
        **axes,
    )
    paleness = go.Heatmap(
        z=compact(np.where(panel.empty, np.nan, 1 - panel.samples / largest)),
        zmin=0,
        zmax=1,
        colorscale=[[0, "rgba(255,255,255,0)"], [1, f"rgba(255,255,255,{PALEST})"]],
        showscale=False,
        hoverinfo="skip",
        name="paleness",
        **axes,
    )
    figure.add_traces([cells, paleness], [place["row"]] * 2, [place["col"]] * 2)
    dashes = {"color": DARK, "width": 3, "dash": "6px,4px"}
    _draw_panel(figure, panel, place, "no formulas", dashes)
    figure.update_yaxes(tickvals=panel.rows, **place)
    beside = {"xref": f"x{axis} domain", "x": 1.01, "xanchor": "left", "showarrow": False}
    top = {"yref": f"y{axis} domain", "y": 1.0, "yanchor": "bottom"}
    figure.add_annotation(text="row", font_size=12, **beside, **top)
    rates = _shares(panel.correct.sum(axis=1), panel.samples.sum(axis=1))
    for count, rate in zip(panel.rows, rates, strict=True):
        text = "–" if np.isnan(rate) else f"{rate:.0%}"
        figure.add_annotation(text=text, y=count, yref=f"y{axis}", font_size=12, **beside)
