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
    for row, column in np.argwhere(~np.isfinite(matrix)):
        found = f"column {column} holds {matrix[row, column]}"
        raise ValueError(f"U: row {row} ({tokens[row]!r}), {found}")
    return matrix, tokens


def _row_height(rows: int) -> int:
    return max(5, min(30, 660 // rows))


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
        U: float [V, D], finite.
        tokens: V distinct names.
        shared_dimensions: columns of the shared, learned part; a vertical line is drawn after them.
        first_interchangeable: row of the first interchangeable token; a line is drawn above it.

    Raises:
        ValueError: a wrong shape or count, a repeated token, a value that is not finite, a line
            outside the matrix.
    """
    matrix, tokens = _checked(U, tokens)
    (rows, columns), shared, first = matrix.shape, shared_dimensions, first_interchangeable
    for name, value, most, what in (
        ("shared_dimensions", shared, columns, "columns"),
        ("first_interchangeable", first, rows, "rows"),
    ):
        if value is not None and not 0 < value < most:
            wanted = f"expected a number from 1 to {most - 1} (U has {most} {what})"
            raise ValueError(f"{name}: {wanted}, found {value}")
    words = "token %{y}, dimension %{x}: %{z:.3f}<extra></extra>"
    cells = go.Heatmap(z=compact(matrix), y=tokens, coloraxis="coloraxis", hovertemplate=words)
    figure, plain = go.Figure(cells), {"showarrow": False, "font": {"size": 13}}
    if shared is not None:
        figure.add_vline(x=shared - 0.5, line=LINE)
        above = {"yref": "paper", "y": 1.0, "yanchor": "bottom", **plain}
        figure.add_annotation(text="shared (learned)", x=(shared - 1) / 2, **above)
        figure.add_annotation(text="random", x=(shared + columns - 1) / 2, **above)
    if first is not None:
        figure.add_hline(y=first - 0.5, line=LINE)
        beside = {"xref": "paper", "x": 1.005, "xanchor": "left", "textangle": 90, **plain}
        others = "not interchangeable" if first * _row_height(rows) >= 130 else "others"
        figure.add_annotation(text=others, y=(first - 1) / 2, **beside)
        figure.add_annotation(text="interchangeable", y=(first + rows - 1) / 2, **beside)
    limit = max(float(np.abs(matrix).max()), 1e-6)
    return _finish(figure, tokens, limit, "value", "dimension", title, width=780)


def _finish(
    figure: go.Figure,
    tokens: list[str],
    limit: float,
    name: str,
    x_title: str,
    title: str,
    *,
    width: int,
) -> go.Figure:
    """The colour scale from -limit to limit, the tokens at the rows, and the sizes."""
    rows = len(tokens)
    bar = colour_bar(name, side="top", x=1.05)
    scale = {"colorscale": SIGNED, "cmin": -limit, "cmax": limit, "colorbar": bar}
    step = -(-rows * 14 // (rows * _row_height(rows)))  # rows per label, at 14 pixels a label
    figure.update_yaxes(
        type="category",
        autorange="reversed",
        showgrid=False,
        ticks="",
        showline=False,
        tickmode="array",
        tickvals=tokens[::step],
        tickfont_size=12,
    )
    figure.update_xaxes(showgrid=False, showline=False, title_text=x_title or None)
    figure.update_layout(coloraxis=scale)
    return style(figure, title=title, width=width, height=150 + rows * _row_height(rows))


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
    width = 170 + len(tokens) * _row_height(len(tokens))
    figure = _finish(go.Figure(cells), tokens, 1.0, "cosine", "", title, width=width)
    ticks = {"tickmode": "array", "tickvals": figure.layout.yaxis.tickvals, "ticks": ""}
    return figure.update_xaxes(type="category", **ticks, tickangle=-90, tickfont_size=12)


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
