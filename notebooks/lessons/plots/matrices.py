"""Heatmaps of the embedding matrix U and of the cosines between its rows.

Paper, section "Embedding matrix" and its figure "Visual structure of the embedding matrix".

Shape letters: V vocabulary, D model.
"""

import html
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from lessons.plots.show import PLAIN, SIGNED, colour_bar, colours, compact, style

LINE = {"color": "black", "width": 2}
VEIL = {"fillcolor": "rgba(255,255,255,0.78)", "line_width": 0}


def _heatmap(
    matrix: np.ndarray, tokens: Sequence[str], limit: float, name: str, **cells: Any
) -> tuple[go.Figure, int]:
    """The matrix with colours from -limit to limit, a token a row; and the pixels of a row."""
    row = max(5, min(30, 660 // len(tokens)))
    figure = go.Figure(go.Heatmap(z=matrix, y=list(tokens), coloraxis="coloraxis", **cells))
    ticks = {"tickvals": list(tokens)[:: -(-14 // row)], "tickmode": "array", "tickfont_size": 12}
    figure.update_yaxes(type="category", autorange="reversed", **PLAIN, **ticks)
    figure.update_xaxes(showgrid=False, showline=False)
    bar = colour_bar(name, side="top", x=1.05)
    return figure.update_layout(coloraxis=colours(SIGNED, -limit, limit, bar)), row


def embedding_matrix(
    U: Any,
    tokens: Sequence[str],
    *,
    shared_dimensions: int | None = None,
    first_interchangeable: int | None = None,
    title: str = "",
) -> go.Figure:
    """U [V, D] as a heatmap, lines after the shared part and above the interchangeable tokens."""
    matrix, shared, first = np.asarray(U, float), shared_dimensions, first_interchangeable
    rows, columns = matrix.shape
    words = "token %{y}, dimension %{x}: %{z:.3f}<extra></extra>"
    limit = max(float(np.abs(matrix).max()), 1e-6)
    figure, row = _heatmap(compact(matrix), tokens, limit, "value", hovertemplate=words)
    plain = {"showarrow": False, "font": {"size": 13}}
    if shared is not None:
        figure.add_vline(x=shared - 0.5, line=LINE)
        above = {"yref": "paper", "y": 1.0, "yanchor": "bottom", **plain}
        figure.add_annotation(text="learned", x=(shared - 1) / 2, **above)
        figure.add_annotation(text="random", x=(shared + columns - 1) / 2, **above)
    if first is not None:
        figure.add_hline(y=first - 0.5, line=LINE)
        beside = {"xref": "paper", "x": 1.005, "xanchor": "left", "textangle": 90, **plain}
        others = "not interchangeable" if first * row >= 130 else "others"
        figure.add_annotation(text=others, y=(first - 1) / 2, **beside)
        figure.add_annotation(text="interchangeable", y=(first + rows - 1) / 2, **beside)
    figure.update_xaxes(title_text="dimension")
    return style(figure, title=title, width=780, height=150 + rows * row)


def cosine_matrix(U: Any, tokens: Sequence[str]) -> go.Figure:
    """The cosine of every two rows of U [V, D], [V, V]."""
    matrix = np.asarray(U, float)
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    cosines = compact(np.clip(unit @ unit.T, -1, 1), decimals=3)
    look = {"x": list(tokens), "hovertemplate": "%{y} and %{x}: cosine %{z:.3f}<extra></extra>"}
    figure, row = _heatmap(cosines, tokens, 1.0, "cosine", **look)
    ticks = {"tickvals": figure.layout.yaxis.tickvals, "tickmode": "array", "ticks": ""}
    figure.update_xaxes(type="category", **ticks, tickangle=-90, tickfont_size=12)
    return style(figure, width=170 + len(tokens) * row, height=150 + len(tokens) * row)


def light_rows(figure: go.Figure, lit: Collection[str]) -> go.Figure:
    """Veil the rows of an `embedding_matrix` figure whose tokens are not lit; lit ones are bold."""
    tokens = list(figure.data[0].y)
    across = {"type": "rect", "xref": "x domain", "x0": 0, "x1": 1, **VEIL}
    veils = [
        go.layout.Shape(y0=number - 0.5, y1=number + 0.5, **across)
        for number, token in enumerate(tokens)
        if token not in lit
    ]
    figure.layout.shapes = [*veils, *figure.layout.shapes]  # the lines between the parts on top
    step = len(tokens) // len(figure.layout.yaxis.tickvals)
    written = [token for number, token in enumerate(tokens) if number % step == 0 or token in lit]
    # plotly reads the text of ticks as HTML: `<end>` would not be seen
    names = [html.escape(token, quote=False) for token in written]
    names = [f"<b>{n}</b>" if t in lit else n for n, t in zip(names, written, strict=True)]
    return figure.update_yaxes(tickvals=written, ticktext=names)
