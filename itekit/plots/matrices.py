"""Heatmaps of the embedding matrix U and of the cosines between its rows.

Paper, section "Embedding matrix" and its figure "Visual structure of the embedding matrix": all
rows have a learned part in the first columns, and the interchangeable tokens share one; they have
random vectors in the last columns, where the other tokens have zeros.

Shape letters: V vocabulary, D model.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from itekit.plots.style import SIGNED, colour_bar, compact, floats, style

LINE = {"color": "black", "width": 2}


def _checked(U: Any, tokens: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    matrix = floats("U", U, dimensions=2)
    tokens = [str(token) for token in tokens]
    if len(tokens) != len(matrix):
        raise ValueError(
            f"tokens: expected one for each of {len(matrix)} rows of U, found {len(tokens)}"
        )
    if len(set(tokens)) != len(tokens):
        twice = next(token for token in tokens if tokens.count(token) > 1)
        raise ValueError(f"tokens: {twice!r} is there more than once")
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0]
        raise ValueError(
            f"U: row {row} ({tokens[row]!r}), column {column} holds {matrix[row, column]}"
        )
    return matrix, tokens


def _within(name: str, value: int | None, most: int, what: str) -> int | None:
    if value is not None and not 0 < value < most:
        raise ValueError(f"{name}: expected a number from 1 to {most - 1} ({what}), found {value}")
    return value


def _row_height(rows: int) -> int:
    return max(5, min(30, 660 // rows))


def _label(figure: go.Figure, text: str, **place: Any) -> None:
    figure.add_annotation(text=text, showarrow=False, font={"size": 13}, **place)


def _mark_columns(figure: go.Figure, shared: int, columns: int) -> None:
    figure.add_vline(x=shared - 0.5, line=LINE)
    above = {"yref": "paper", "y": 1.0, "yanchor": "bottom"}
    _label(figure, "shared (learned)", x=(shared - 1) / 2, **above)
    _label(figure, "random", x=(shared + columns - 1) / 2, **above)


def _mark_rows(figure: go.Figure, first: int, rows: int) -> None:
    figure.add_hline(y=first - 0.5, line=LINE)
    beside = {"xref": "paper", "x": 1.005, "xanchor": "left", "textangle": 90}
    others = "not interchangeable" if first * _row_height(rows) >= 130 else "others"
    _label(figure, others, y=(first - 1) / 2, **beside)
    _label(figure, "interchangeable", y=(first + rows - 1) / 2, **beside)


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
    rows, columns = matrix.shape
    shared = _within("shared_dimensions", shared_dimensions, columns, f"U has {columns} columns")
    first = _within("first_interchangeable", first_interchangeable, rows, f"U has {rows} rows")
    figure = go.Figure(
        go.Heatmap(
            z=compact(matrix),
            y=tokens,
            coloraxis="coloraxis",
            hovertemplate="token %{y}, dimension %{x}: %{z:.3f}<extra></extra>",
        )
    )
    if shared is not None:
        _mark_columns(figure, shared, columns)
    if first is not None:
        _mark_rows(figure, first, rows)
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
    rows = len(tokens)
    bar = colour_bar(name, side="top", x=1.05)
    figure.update_layout(
        coloraxis={"colorscale": SIGNED, "cmin": -limit, "cmax": limit, "colorbar": bar}
    )
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
    return style(figure, title=title, width=width, height=150 + rows * _row_height(rows))


def cosine_matrix(U: Any, tokens: Sequence[str], *, title: str = "") -> go.Figure:
    """The cosine of every two rows of U [V, D], as a V x V heatmap.

    Raises:
        ValueError: as `embedding_matrix`; also a row of zeros, which has no direction.
    """
    matrix, tokens = _checked(U, tokens)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    if not lengths.all():
        row = int(np.flatnonzero(lengths[:, 0] == 0)[0])
        raise ValueError(f"U: row {row} ({tokens[row]!r}) is all zeros, so it has no direction")
    unit = matrix / lengths
    figure = go.Figure(
        go.Heatmap(
            z=compact(np.clip(unit @ unit.T, -1, 1), decimals=3),
            x=tokens,
            y=tokens,
            coloraxis="coloraxis",
            hovertemplate="%{y} and %{x}: cosine %{z:.3f}<extra></extra>",
        )
    )
    size = 170 + len(tokens) * _row_height(len(tokens))
    _finish(figure, tokens, 1.0, "cosine", "", title, width=size)
    step = figure.layout.yaxis.tickvals
    figure.update_xaxes(
        type="category", tickmode="array", tickvals=step, ticks="", tickangle=-90, tickfont_size=12
    )
    return figure
