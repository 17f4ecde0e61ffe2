"""Lassos: a word u v^ω drawn as what it is, a handle and a loop.

Paper, appendix "Temporal logic overview". A lasso is given as plain text: what is said of each time
of its prefix and of its cycle, such as `a & b` or `{a, b}`.
"""

import html
from collections.abc import Sequence
from math import cos, pi, sin

import plotly.graph_objects as go

from itekit.plots.style import COLOURS, style

MOST_TIMES = 60
UNIT = 84  # pixels between two times of the picture
NODE = 34  # pixels across a node
DARK = "#222222"
BAND = "#EAF2F8"
LABEL = NODE / 2 + 12  # pixels from the middle of a node to that of a label above it
LETTER = 7.4  # pixels across a letter, about

Point = tuple[float, float]


def lasso_figure(prefix: Sequence[str], cycle: Sequence[str], *, title: str = "") -> go.Figure:
    """The lasso: the prefix from left to right, then the cycle as a loop, run clockwise.

    Args:
        prefix, cycle: what is written beside each time.

    Raises:
        ValueError: an empty cycle, or more than 60 times.
    """
    check_times(prefix, cycle)
    labels, start = [*prefix, *cycle], len(prefix)
    radius = max(0.5, len(cycle) / 5.5)
    apart = max(1.0, (max(map(len, labels)) * LETTER + 12) / UNIT)
    centre = start * apart + radius
    angles = [pi - 2 * pi * turn / len(cycle) for turn in range(len(cycle))]
    places = [(time * apart, 0.0) for time in range(start)]
    places += [_on_circle(centre, radius, angle) for angle in angles]
    figure = go.Figure()
    gap = NODE / 2 / UNIT
    for left, right in zip(places[:start], places[1:], strict=False):
        _arrow(figure, [(left[0] + gap, 0.0), (right[0] - gap, 0.0)], DARK)
    for angle in angles:
        turn, trim = 2 * pi / len(cycle), 1.15 * gap / radius
        ends = angle - trim, angle - turn + trim
        arc = [ends[0] + (ends[1] - ends[0]) * i / 40 for i in range(41)]
        _arrow(figure, [_on_circle(centre, radius, a) for a in arc], COLOURS[0])
    _nodes(figure, places, start)
    for time, (x, y) in enumerate(places):
        where = _label_place(angles[time - start]) if time >= start else {"yshift": LABEL}
        figure.add_annotation(x=x, y=y, text=html.escape(labels[time]), showarrow=False, **where)
    high = 0.35 + max(abs(y) + 0.35 * (abs(y) > 0.1) for _, y in places)
    return _finish_lasso(figure, labels, centre + radius, max(high, radius + 0.1), title)


def check_times(prefix: Sequence[str], cycle: Sequence[str]) -> None:
    """Raise a ValueError for an empty cycle, or more than 60 times."""
    if not cycle:
        raise ValueError("cycle: expected at least one time, found none")
    if len(prefix) + len(cycle) > MOST_TIMES:
        found = len(prefix) + len(cycle)
        raise ValueError(f"a lasso of {found} times: at most {MOST_TIMES} are drawn")


def _on_circle(centre: float, radius: float, angle: float) -> Point:
    return centre + radius * cos(angle), radius * sin(angle)


def _arrow(figure: go.Figure, points: Sequence[Point], colour: str) -> None:
    x, y = zip(*points, strict=True)
    sizes = [0] * (len(points) - 1) + [13]
    marker = {"symbol": "arrow", "angleref": "previous", "size": sizes, "color": colour}
    marker |= {"opacity": 1, "line": {"width": 0}}
    line = {"color": colour, "width": 2, "simplify": False}
    figure.add_scatter(
        x=x, y=y, mode="lines+markers", line=line, marker=marker, hoverinfo="skip", showlegend=False
    )


def _nodes(figure: go.Figure, places: Sequence[Point], start: int) -> None:
    """A circle for each time, its number inside."""
    x, y = zip(*places, strict=True)
    times = range(len(places))
    figure.add_scatter(
        x=x,
        y=y,
        text=[str(time) for time in times],
        mode="markers+text",
        hovertext=[f"time {t}{', and each turn of the cycle' * (t >= start)}" for t in times],
        hoverinfo="text",
        showlegend=False,
        marker={
            "size": NODE,
            "opacity": 1,
            "color": ["white" if time < start else BAND for time in times],
            "line": {"color": [DARK if t < start else COLOURS[0] for t in times], "width": 2},
        },
    )


def _label_place(angle: float) -> dict:
    """Where a label is in the cycle: outside of the loop, the first one's clear of both arrows."""
    if angle == pi:
        return {"yshift": LABEL, "xshift": -2, "xanchor": "right"}
    across, up = cos(angle), sin(angle)
    return {
        "xshift": (NODE / 2 + 6) * across,
        "yshift": (NODE / 2 + 8) * up,
        "xanchor": "left" if across > 0.2 else "right" if across < -0.2 else "center",
        "yanchor": "bottom" if up > 0.6 else "top" if up < -0.6 else "middle",
    }


def _finish_lasso(
    figure: go.Figure, labels: Sequence[str], end: float, high: float, title: str
) -> go.Figure:
    longest = max(map(len, labels)) * LETTER / UNIT
    left, right = -0.3 - longest, end + 0.4 + longest
    figure.update_xaxes(visible=False, range=[left, right])
    figure.update_yaxes(visible=False, range=[-high, high])
    top = 40 if title else 10
    width, height = round(UNIT * (right - left)) + 20, round(2 * UNIT * high) + top + 10
    style(figure, title=title, width=width, height=height)
    return figure.update_layout(margin={"l": 10, "r": 10, "t": top, "b": 10})
