"""The answers to one problem under many renamings, grouped by what they undo to.

Paper, section "Alpha-Covariance": U is the set of different answers once the renaming is undone.
Here a row is one of them, and a mark in it is a renaming that gave it, so that a single row is
alpha-covariance 1. The shape and colour of a mark say whether its answer is right.
"""

from collections.abc import Sequence

import plotly.graph_objects as go

from itekit.plots.style import COLOURS, GREY, SYMBOLS, style

MOST_ROWS = 16
LONGEST = 30  # characters of an answer that are written beside its row
_LOOKS = {
    "right": (COLOURS[0], "circle"),
    "wrong": (COLOURS[1], "x"),
    "invalid": (GREY, "square-open"),
}

Group = tuple[str, str, Sequence[str]]


def renaming_groups(groups: Sequence[Group], *, title: str = "") -> go.Figure:
    """The groups as rows of marks, in the order given.

    Args:
        groups: (answer, what it is, a text for each renaming) of each different answer; "right",
            "wrong" and "no answer" always look the same. Those after the first 15 share a row.

    Raises:
        ValueError: no groups, or one without renamings.
    """
    if not groups or not all(texts for _, _, texts in groups):
        raise ValueError("groups: expected at least one, each with at least one renaming")
    rows, names = [], []
    for number, (answer, kind, texts) in enumerate(groups):
        row = number if len(groups) <= MOST_ROWS else min(number, MOST_ROWS - 1)
        rows += [(row, kind, answer, text) for text in texts]
        names[row:] = [answer or "(empty)"]
    if len(groups) > MOST_ROWS:
        names[-1] = f"{len(groups) - MOST_ROWS + 1} other answers"
    marks = _marks(rows)
    figure = go.Figure([_trace(kind, number, marks) for number, kind in enumerate(marks)])
    widest = max(x for places in marks.values() for x, *_ in places)
    figure.update_traces(marker_size=max(4, min(13, 520 / widest)))
    figure.update_xaxes(title_text="renamings", range=[0, widest + 1], rangemode="tozero")
    if widest < 10:  # no tick between two whole numbers
        figure.update_xaxes(dtick=1)
    figure.update_yaxes(
        tickmode="array",
        tickvals=[*range(len(names))],
        ticktext=[name if len(name) <= LONGEST else name[: LONGEST - 1] + "…" for name in names],
        tickfont_family="monospace",
        range=[len(names) - 0.4, -0.6],
        showgrid=False,
        ticks="",
    )
    figure.update_layout(legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"})
    return style(figure, title=title, width=800, height=170 + 26 * len(names)).update_layout(
        margin_t=90 if title else 50
    )


def _marks(rows: Sequence[tuple[int, str, str, str]]) -> dict[str, list[tuple]]:
    """For each kind, where its marks stand and what the pointer shows: (x, row, text)."""
    filled: dict[int, int] = {}
    marks: dict[str, list[tuple]] = {}
    for row, kind, answer, text in rows:
        filled[row] = filled.get(row, 0) + 1
        marks.setdefault(kind, []).append((filled[row], row, f"{text}<br>undone: {answer}"))
    return marks


def _trace(kind: str, number: int, marks: dict[str, list[tuple]]) -> go.Scatter:
    other = COLOURS[(number + 2) % len(COLOURS)], SYMBOLS[number % len(SYMBOLS)] + "-open"
    colour, symbol = _LOOKS.get(kind, other)
    x, y, texts = zip(*marks[kind], strict=True)
    marker = {"color": colour, "symbol": symbol}
    return go.Scatter(
        x=x,
        y=y,
        mode="markers",
        name=kind,
        showlegend=True,
        marker=marker,
        hovertext=texts,
        hoverinfo="text",
    )
