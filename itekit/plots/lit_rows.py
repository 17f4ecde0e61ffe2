"""The embedding matrix with the rows in use lit: a veil lies over all others.

Paper, section "Embedding matrix": only the rows of tokens that occur are ever looked up.
"""

from collections.abc import Collection

import plotly.graph_objects as go

VEIL = "rgba(255,255,255,0.78)"


def light_rows(figure: go.Figure, lit: Collection[str]) -> go.Figure:
    """Veil the rows of an `embedding_matrix` figure whose tokens are not lit; return it.

    The tokens of lit rows are written bold, so that nothing depends on brightness alone.

    Raises:
        ValueError: a lit token has no row.
    """
    tokens = list(figure.data[0].y)
    if unknown := [token for token in lit if token not in tokens]:
        raise ValueError(f"lit: no row for {unknown[0]!r}")
    dark = [number for number, token in enumerate(tokens) if token not in lit]
    veil = {
        "type": "rect",
        "xref": "x domain",
        "x0": 0,
        "x1": 1,
        "fillcolor": VEIL,
        "line_width": 0,
    }
    veils = [go.layout.Shape(y0=number - 0.5, y1=number + 0.5, **veil) for number in dark]
    figure.layout.shapes = [*veils, *figure.layout.shapes]  # the lines between the parts on top
    step = len(tokens) // len(figure.layout.yaxis.tickvals)
    written = [token for number, token in enumerate(tokens) if number % step == 0 or token in lit]
    names = [f"<b>{_escaped(token)}</b>" if token in lit else _escaped(token) for token in written]
    figure.update_yaxes(tickvals=written, ticktext=names)
    return figure


def _escaped(token: str) -> str:
    """Plotly reads the text of ticks as HTML: `<end>` would not be seen."""
    return token.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
