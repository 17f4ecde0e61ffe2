"""Heatmaps of the embedding matrix U and of the cosines between its rows.

Paper, section "Embedding matrix" and its figure "Visual structure of the embedding matrix": all
rows have a learned part in the first columns, and the interchangeable tokens share one; they have
random vectors in the last columns, where the other tokens have zeros.

Shape letters: V vocabulary, D model.
"""

import html
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from itekit.plots.show import SIGNED, colour_bar, compact, floats, style

LINE = {"color": "black", "width": 2}
VEIL = {"fillcolor": "rgba(255,255,255,0.78)", "line_width": 0}


def _checked(U: Any, tokens: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    matrix, tokens = floats("U", U, dimensions=2), [str(token) for token in tokens]
    if len(tokens) != len(matrix):
        found = f"one for each of {len(matrix)} rows of U, found {len(tokens)}"
        raise ValueError(f"tokens: expected {found}")
    for token in tokens:
        if tokens.count(token) > 1:
            raise ValueError(f"tokens: {token!r} is there more than once")
    return matrix, tokens


def embedding_matrix(
    U: Any,
    tokens: Sequence[str],
    *,
    shared_dimensions: int | None = None,
    first_interchangeable: int | None = None,
    title: str = "",
) -> go.Figure:
    """The embedding matrix as a heatmap, a row a token, with the paper's parts marked.

    Args:
        U: float [V, D].
        tokens: V distinct names.
        shared_dimensions: columns of the shared, learned part; a vertical line is drawn after them.
        first_interchangeable: row of the first interchangeable token; a line is drawn above it.

    Raises:
        ValueError: a wrong shape or count, or a repeated token.
    """
    matrix, tokens = _checked(U, tokens)
    (rows, columns), shared, first = matrix.shape, shared_dimensions, first_interchangeable
    words = "token %{y}, dimension %{x}: %{z:.3f}<extra></extra>"
    cells = go.Heatmap(z=compact(matrix), y=tokens, coloraxis="coloraxis", hovertemplate=words)
    figure, plain = go.Figure(cells), {"showarrow": False, "font": {"size": 13}}
    row = _finish(figure, tokens, max(float(np.abs(matrix).max()), 1e-6), "value")
    if shared is not None:
        figure.add_vline(x=shared - 0.5, line=LINE)
        above = {"yref": "paper", "y": 1.0, "yanchor": "bottom", **plain}
        figure.add_annotation(text="shared (learned)", x=(shared - 1) / 2, **above)
        figure.add_annotation(text="random", x=(shared + columns - 1) / 2, **above)
    if first is not None:
        figure.add_hline(y=first - 0.5, line=LINE)
        beside = {"xref": "paper", "x": 1.005, "xanchor": "left", "textangle": 90, **plain}
        others = "not interchangeable" if first * row >= 130 else "others"
        figure.add_annotation(text=others, y=(first - 1) / 2, **beside)
        figure.add_annotation(text="interchangeable", y=(first + rows - 1) / 2, **beside)
    figure.update_xaxes(title_text="dimension")
    return style(figure, title=title, width=780, height=150 + rows * row)


def _finish(figure: go.Figure, tokens: list[str], limit: float, name: str) -> int:
    """The colours from -limit to limit and the tokens at the rows; returns the pixels of a row."""
    row = max(5, min(30, 660 // len(tokens)))
    bar = colour_bar(name, side="top", x=1.05)
    scale = {"colorscale": SIGNED, "cmin": -limit, "cmax": limit, "colorbar": bar}
    plain = {"showgrid": False, "showline": False}
    ticks = {"tickmode": "array", "tickvals": tokens[:: -(-14 // row)], "tickfont_size": 12}
    figure.update_yaxes(type="category", autorange="reversed", ticks="", **ticks, **plain)
    figure.update_xaxes(**plain)
    figure.update_layout(coloraxis=scale)
    return row


def cosine_matrix(U: Any, tokens: Sequence[str], *, title: str = "") -> go.Figure:
    """The cosine of every two rows of U [V, D], as a V x V heatmap.

    Raises:
        ValueError: as `embedding_matrix`; also a row of zeros, which has no direction.
    """
    matrix, tokens = _checked(U, tokens)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    for row in np.flatnonzero(lengths[:, 0] == 0):
        raise ValueError(f"U: row {row} ({tokens[row]!r}) is all zeros, so it has no direction")
    unit = matrix / lengths
    cells = go.Heatmap(
        z=compact(np.clip(unit @ unit.T, -1, 1), decimals=3),
        x=tokens,
        y=tokens,
        coloraxis="coloraxis",
        hovertemplate="%{y} and %{x}: cosine %{z:.3f}<extra></extra>",
    )
    figure = go.Figure(cells)
    side = len(tokens) * _finish(figure, tokens, 1.0, "cosine")
    ticks = {"tickmode": "array", "tickvals": figure.layout.yaxis.tickvals, "ticks": ""}
    figure.update_xaxes(type="category", **ticks, tickangle=-90, tickfont_size=12)
    return style(figure, title=title, width=170 + side, height=150 + side)


def light_rows(figure: go.Figure, lit: Collection[str]) -> go.Figure:
    """Veil the rows of an `embedding_matrix` figure whose tokens are not lit; return it.

    Only the rows of tokens that occur are ever looked up (paper, section "Embedding matrix"). The
    tokens of lit rows are written bold, so that nothing depends on brightness alone.

    Raises:
        ValueError: a lit token has no row.
    """
    tokens = list(figure.data[0].y)
    if unknown := [token for token in lit if token not in tokens]:
        raise ValueError(f"lit: no row for {unknown[0]!r}")
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
