"""The paper's figure "Scaling behavior of the trace generation using spot", for several methods.

Rows are the number of atomic propositions, columns the length of a formula; a cell holds the median
time of its formulas relative to the fastest cell, on a logarithmic colour scale.

Shape letters: N rows (proposition counts), M columns (lengths).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from itekit.plots.style import AMOUNTS, colour_bar, compact, floats, style

CELL = 33  # pixels across


def solving_time_heatmaps(
    panels: Mapping[str, tuple[Any, Any]],
    lengths: Sequence[int],
    counts: Sequence[int],
    *,
    limit: float,
    title: str = "",
) -> go.Figure:
    """One heatmap for each method, side by side, all relative to the fastest cell of any.

    Args:
        panels: by name, the median seconds [N, M] and the shares of time-outs [N, M]. None or NaN:
            no share where a cell is empty, no median either where it is past the limit.
        lengths, counts: of the columns and the rows.
        limit: seconds after which a formula was given up.

    Raises:
        ValueError: a wrong shape, a time that is not above 0, or no time at all.
    """
    shape = (len(counts), len(lengths))
    grids = {name: _checked(name, *both, shape) for name, both in panels.items()}
    times = np.array([t for seconds, _ in grids.values() for t in seconds.flat if not np.isnan(t)])
    if not len(times) or times.min() <= 0:
        raise ValueError("panels: expected times above 0, found none or others")
    fastest, places = times.min(), {"horizontal_spacing": 0.05, "shared_yaxes": True}
    figure = make_subplots(1, len(grids), subplot_titles=list(grids), **places)
    for column, (seconds, shares) in enumerate(grids.values(), 1):
        cells = _cells(seconds, shares, fastest, limit)
        cells.update(x=[str(n) for n in lengths], y=[str(n) for n in counts])
        figure.add_trace(cells, 1, column)
    top = max(1.0, float(np.log10(limit / fastest)))
    ticks = list(range(int(top) + 1))
    bar = colour_bar("times the fastest", tickvals=ticks, ticktext=[f"{10**t:,}" for t in ticks])
    scale = {"colorscale": AMOUNTS, "cmin": 0, "cmax": top, "colorbar": bar}
    figure.update_layout(coloraxis=scale)
    axis = {"type": "category", "showgrid": False, "showline": False, "ticks": ""}
    figure.update_xaxes(title_text="formula length (tokens)", **axis)
    figure.update_yaxes(**axis)
    figure.update_yaxes(title_text="atomic propositions", col=1)
    width = 190 + len(grids) * (CELL * len(lengths) + 30)
    height = 130 + max(4, len(counts)) * CELL + 35 * bool(title)
    style(figure, title=title, width=max(600, width), height=height)
    return figure.update_layout(margin_t=80 if title else 45)


def relative_text(value: float) -> str:
    """A relative time in at most four characters; nothing for NaN."""
    if np.isnan(value):
        return ""
    if value >= 9950:
        return f"{value / 1000:.0f}k"
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


def _checked(
    name: str, median: Any, time_outs: Any, shape: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    seconds = floats(f"{name}, medians", median, dimensions=2)
    shares = floats(f"{name}, time-outs", time_outs, dimensions=2)
    for array in (seconds, shares):
        if array.shape != shape:
            raise ValueError(f"{name}: expected shape {shape}, found {array.shape}")
    return seconds, shares


def _cells(seconds: np.ndarray, shares: np.ndarray, fastest: float, limit: float) -> go.Heatmap:
    late = np.isnan(seconds) & ~np.isnan(shares)
    relative = np.where(late, limit, seconds) / fastest
    text = np.vectorize(relative_text, otypes=[object])(relative)
    words = [
        f"median {'above ' if past else ''}{1000 * time:.3g} ms, {share:.0%} time-outs"
        for time, share, past in zip((relative * fastest).flat, shares.flat, late.flat, strict=True)
    ]
    return go.Heatmap(
        z=compact(np.log10(relative)),
        text=np.where(late, ">" + text, text),
        texttemplate="%{text}",
        textfont_size=11,
        customdata=np.reshape(words, seconds.shape),
        coloraxis="coloraxis",
        xgap=1,
        ygap=1,
        hoverongaps=False,
        hovertemplate="length %{x}, %{y} APs<br>%{customdata}<extra></extra>",
    )
