"""The paper's edit-distance heatmaps of the copying task.

Paper, section "Copying with Extendable Vocabulary" and appendix "Copying Task Experiments". Rows
are the number of unique characters in a string, columns its length; a cell holds the mean edit
distance. The impossible half, more unique characters than length, is hatched in grey. The green box
is what the training data holds.

Shape letters: N rows (unique-character counts), M columns (lengths).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from itekit.plots.grids import Panel, Span, edges, impossible_outline, make_panel
from itekit.plots.style import AMOUNTS, colour_bar, compact, style

BOX_COLOUR = "#2ECC40"
HATCH = {"shape": "/", "fgcolor": "#9A9A9A", "bgcolor": "#F4F4F4", "size": 8, "solidity": 0.2}
MOST_ANNOTATED = 30  # cells a side, beyond which numbers in the cells are too small to read


def cell_text(values: np.ndarray) -> np.ndarray:
    """What a cell says: at most three characters, "0" for exactly zero, nothing for NaN."""

    def one(value: float) -> str:
        if np.isnan(value):
            return ""
        return "0" if value == 0 else f"{value:.1f}" if value < 9.95 else f"{value:.0f}"

    return np.vectorize(one, otypes=[object])(values)


def _cells(panel: Panel, text_size: int | None) -> go.Heatmap:
    heatmap = go.Heatmap(
        z=compact(panel.grid),
        x=panel.lengths,
        y=panel.uniques,
        coloraxis="coloraxis",
        hovertemplate="%{y} unique characters, length %{x}<br>"
        "mean edit distance %{z:.3f}<extra></extra>",
        hoverongaps=False,
    )
    if text_size:
        heatmap.update(text=cell_text(panel.grid), texttemplate="%{text}", textfont_size=text_size)
    return heatmap


def _hatch(panel: Panel) -> list[go.Scatter]:
    x, y = impossible_outline(panel.uniques, panel.lengths)
    name = "impossible: more unique characters than length"
    shape = {"mode": "lines", "line": {"width": 0}, "fill": "toself", "fillpattern": HATCH}
    return [go.Scatter(x=x, y=y, name=name, hoverinfo="skip", **shape)] if len(x) else []


def _box(panel: Panel) -> list[go.Scatter]:
    """The green outline on a white one, so that it stands out from every colour of the scale."""
    if panel.box is None:
        return []
    left, right, top, bottom = panel.box
    path = {"x": [left, right, right, left, left], "y": [top, top, bottom, bottom, top]}
    path |= {"mode": "lines", "hoverinfo": "skip", "cliponaxis": False}
    halo = go.Scatter(**path, line={"color": "white", "width": 5})
    return [halo, go.Scatter(**path, line={"color": BOX_COLOUR, "width": 3}, name="training data")]


def _add(figure: go.Figure, panel: Panel, row: int, column: int, text_size: int | None) -> None:
    """Draw a panel into its subplot; names already in the legend are not repeated there."""
    place = {"row": row, "col": column}
    legend = {trace.name for trace in figure.data}
    figure.add_trace(_cells(panel, text_size), **place)
    for trace in _hatch(panel) + _box(panel):
        trace.showlegend = trace.name is not None and trace.name not in legend
        figure.add_trace(trace, **place)
    axis = {"showgrid": False, "constrain": "domain"}
    figure.update_xaxes(range=edges(panel.lengths)[[0, -1]], **axis, **place)
    figure.update_yaxes(range=edges(panel.uniques)[[-1, 0]], **axis, **place)


def _arrange(panels: list[Panel], columns: int, text_size: int | None) -> go.Figure:
    """The panels in rows of `columns`, each axis labelled once."""
    rows = -(-len(panels) // columns)
    figure = make_subplots(
        rows,
        columns,
        subplot_titles=[panel.heading for panel in panels] if len(panels) > 1 else None,
        shared_xaxes="all",
        shared_yaxes="all",
        horizontal_spacing=0.04,
        vertical_spacing=0.16 / rows,
    )
    for i in range(rows * columns):
        place = {"row": i // columns + 1, "col": i % columns + 1}
        if i >= len(panels):
            figure.update_xaxes(visible=False, **place)
            figure.update_yaxes(visible=False, **place)
            continue
        _add(figure, panels[i], place["row"], place["col"], text_size)
        if i + columns >= len(panels):  # the lowest one of its column
            figure.update_xaxes(title_text="string length", showticklabels=True, **place)
    figure.update_yaxes(title_text="unique characters", col=1)
    return figure


def _figure(
    panels: list[Panel], columns: int, maximum: float | None, annotate: bool, cell: float
) -> go.Figure:
    """The finished figure; `cell` is the side of a cell in pixels."""
    if maximum is None:
        maximum = max([1.0, *(float(np.nanmax(panel.grid)) for panel in panels)])
    elif not maximum > 0:
        raise ValueError(f"maximum: expected a positive edit distance, found {maximum!r}")
    figure = _arrange(panels, columns, max(6, min(14, round(0.4 * cell))) if annotate else None)
    bar = colour_bar("mean edit distance")
    figure.update_layout(
        coloraxis={"colorscale": AMOUNTS, "cmin": 0, "cmax": maximum, "colorbar": bar},
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "yref": "container", "y": 0.01},
    )
    many = len(panels) > 1
    height, width = panels[0].grid.shape
    style(
        figure,
        title="" if many else panels[0].heading,
        width=max(480, round(160 + columns * (cell * width + 25))),
        height=round(180 + -(-len(panels) // columns) * (cell * height + 30)),
    )
    return figure.update_layout(margin_t=45) if many else figure


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
    axes = {"minimum": minimum, "lengths": lengths, "uniques": uniques}
    panel = make_panel(title, grid, training_unique, training_length, **axes)
    cells = max(panel.grid.shape)
    annotate = cells <= MOST_ANNOTATED if annotate is None else annotate
    return _figure([panel], 1, maximum, annotate, cell=max(1, min(40, 620 / cells)))


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
        raise ValueError(
            f"expected at least one panel and one column, found {len(panels)} and {columns}"
        )
    if any(len(panel) != 4 for panel in panels):
        raise ValueError("panels: expected tuples (title, grid, training_unique, training_length)")
    axes = {"minimum": minimum, "lengths": lengths, "uniques": uniques}
    made = [make_panel(*panel, **axes) for panel in panels]
    if len({panel.grid.shape for panel in made}) > 1:
        raise ValueError(
            f"panels: expected grids of one shape, found {[p.grid.shape for p in made]}"
        )
    columns = min(columns, len(made))
    cells = max(made[0].grid.shape)
    return _figure(made, columns, maximum, bool(annotate), cell=max(1, min(30, 340 / cells)))
