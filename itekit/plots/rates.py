"""The paper's heatmaps of correct answers: for each number of atomic propositions and each length.

Paper, section "Experiments", figure "heatmaps". Rows are the number of atomic propositions (APs) in
a formula, columns its length; the colour is the share of correct answers. The fewer formulas a cell
holds, the paler it is; a hatched one holds none. The dashed box is what the training data holds;
the share of correct answers of a whole row stands at its right.

Shape letters: N rows (numbers of APs), M columns (lengths).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from itekit.plots.grids import Span, axis_values, edges
from itekit.plots.heatmaps import HATCH
from itekit.plots.rate_grids import RatePanel, empty_outlines, rate_panel
from itekit.plots.style import AMOUNTS, colour_bar, compact, style

PALEST = 0.85  # how white a cell with hardly any formulas is made
ROW = 24  # pixels
DARK, PALE = "#222222", "#B5D5D8"


def rate_heatmaps(
    panels: Sequence[tuple[str, Any, Any, Span, Span]],
    *,
    lengths: Sequence[int],
    propositions: Sequence[int],
    columns: int = 2,
    title: str = "",
) -> go.Figure:
    """Heatmaps of correct answers with one colour scale, and one scale of paleness.

    Args:
        panels: (title, samples, correct, training_propositions, training_length) of each: counts
            [N, M] of formulas and of correct answers, and the training region: each a pair (lowest,
            highest) or one number for "up to it", or both None.
        lengths, propositions: increasing, of the columns [M] and the rows [N].
        columns: heatmaps side by side.

    Raises:
        ValueError: no panels, or counts that do not fit, see `rate_panel`.
    """
    panels = list(panels)
    if not panels or columns < 1 or any(len(panel) != 5 for panel in panels):
        raise ValueError(
            "panels: expected at least one (title, samples, correct, training_propositions, "
            "training_length), in at least one column"
        )
    rows = axis_values("propositions", propositions, len(propositions), 1)
    across = axis_values("lengths", lengths, len(lengths), 1)
    made = [rate_panel(*panel, across, rows) for panel in panels]
    columns = min(columns, len(made))
    narrow = columns > 2  # then the name and the rate above a panel take two lines
    room = 100 if narrow else 80  # between the rows of panels
    figure = _arrange(made, columns, room, "<br>" if narrow else ": ")
    height = 125 + 40 * bool(title) + -(-len(made) // columns) * (ROW * len(rows) + room)
    style(figure, title=title, width=860 if columns > 1 else 620, height=height)
    return figure.update_layout(margin={"t": room - 35 + 40 * bool(title), "b": 100})


def _arrange(panels: list[RatePanel], columns: int, room: int, breaks: str) -> go.Figure:
    """The panels in rows of `columns`, each axis labelled once, `room` pixels between the rows."""
    largest = max(panel.samples.max() for panel in panels)
    down = -(-len(panels) // columns)
    figure = make_subplots(
        down,
        columns,
        subplot_titles=[panel.heading.replace(": ", breaks) for panel in panels],
        horizontal_spacing=0.15 / columns,
        vertical_spacing=room / (down * (ROW * len(panels[0].propositions) + room)),
    )
    for i, panel in enumerate(panels):
        place = {"row": i // columns + 1, "col": i % columns + 1}
        _add(figure, panel, largest, place)
        if i + columns >= len(panels):
            figure.update_xaxes(title_text="formula length (tokens)", **place)
    figure.update_yaxes(showticklabels=False)
    figure.update_yaxes(title_text="atomic propositions", showticklabels=True, col=1)
    figure.update_annotations(font_size=15)
    for i, panel in enumerate(panels):
        _row_rates(figure, panel, "" if i == 0 else str(i + 1))
    _legend(figure, panels, largest, 1.06 if columns > 1 else 1.1)
    return figure


def _add(figure: go.Figure, panel: RatePanel, largest: float, place: dict) -> None:
    axes = {"x": panel.lengths, "y": panel.propositions}
    words = "%{y} APs, length %{x}<br>%{customdata[0]} of %{customdata[1]} correct (%{z:.0%})"
    cells = go.Heatmap(
        z=compact(panel.rates),
        customdata=np.stack([panel.correct, panel.samples], axis=2).astype(int),
        coloraxis="coloraxis",
        hoverongaps=False,
        hovertemplate=words + "<extra></extra>",
        name="correct",
        **axes,
    )
    white = [[0, "rgba(255,255,255,0)"], [1, f"rgba(255,255,255,{PALEST})"]]
    paleness = go.Heatmap(
        z=compact(np.where(panel.samples > 0, 1 - panel.samples / largest, np.nan)),
        zmin=0,
        zmax=1,
        colorscale=white,
        showscale=False,
        hoverinfo="skip",
        name="paleness",
        **axes,
    )
    figure.add_trace(cells, **place)
    figure.add_trace(paleness, **place)
    for trace in _empty(panel) + _box(panel):
        figure.add_trace(trace, **place)
    axis = {"showgrid": False, "constrain": "domain"}
    figure.update_xaxes(range=edges(panel.lengths)[[0, -1]], **axis, **place)
    ticks = {"tickvals": panel.propositions, "range": edges(panel.propositions)[[-1, 0]]}
    figure.update_yaxes(**ticks, **axis, **place)


def _empty(panel: RatePanel) -> list[go.Scatter]:
    x, y = empty_outlines(panel)
    shape = {"mode": "lines", "line": {"width": 0}, "fill": "toself", "fillpattern": HATCH}
    name = {"name": "no formulas", "legendgroup": "no formulas", "showlegend": False}
    return [go.Scatter(x=x, y=y, hoverinfo="skip", **name, **shape)] if len(x) else []


def _box(panel: RatePanel) -> list[go.Scatter]:
    """Dark dashes on a white line, so that they stand out from every colour of the scale."""
    if panel.box is None:
        return []
    left, right, top, bottom = panel.box
    path = {"x": [left, right, right, left, left], "y": [top, top, bottom, bottom, top]}
    path |= {"mode": "lines", "hoverinfo": "skip", "cliponaxis": False, "showlegend": False}
    dashes = {"color": DARK, "width": 3, "dash": "6px,4px"}
    halo = go.Scatter(**path, line={"color": "white", "width": 5})
    return [halo, go.Scatter(**path, line=dashes, name="training data")]


def _legend(figure: go.Figure, panels: Sequence[RatePanel], largest: float, bar_at: float) -> None:
    """What dashes, hatching, paleness and the numbers at the right say; only what is there."""
    shown = {trace.name for trace in figure.data}
    for name in ("training data", "no formulas"):
        if name in shown:
            next(trace for trace in figure.data if trace.name == name).showlegend = True
    fewest = min(panel.samples[panel.samples > 0].min() for panel in panels)
    if fewest < largest:
        pale = {"symbol": "square", "size": 14, "color": PALE, "line": {"width": 0}}
        name = f"paler: fewer formulas, {fewest:g} to {largest:g} a cell"
        figure.add_scatter(
            x=[None], y=[None], mode="markers", marker=pale, name=name, showlegend=True
        )
    place = {"orientation": "h", "x": 0.5, "xanchor": "center", "yref": "container", "y": 0.01}
    bar = colour_bar("correct answers", tickformat=".0%", x=bar_at, xpad=0)
    scale = {"colorscale": AMOUNTS, "cmin": 0, "cmax": 1, "colorbar": bar}
    figure.update_layout(legend=place, coloraxis=scale)


def _row_rates(figure: go.Figure, panel: RatePanel, axis: str) -> None:
    """The share of correct answers of each row, to the right of the heatmap."""
    beside = {"xref": f"x{axis} domain", "x": 1.01, "xanchor": "left", "showarrow": False}
    top = {"yref": f"y{axis} domain", "y": 1.0, "yanchor": "bottom"}
    figure.add_annotation(text="row", font_size=12, **beside, **top)
    for count, rate in zip(panel.propositions, panel.row_rates, strict=True):
        text = "–" if np.isnan(rate) else f"{rate:.0%}"
        figure.add_annotation(text=text, y=count, yref=f"y{axis}", font_size=12, **beside)
