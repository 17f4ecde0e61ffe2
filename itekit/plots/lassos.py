"""Lassos: a word u v^ω drawn as a handle and a loop, and tables of what holds at its times.

Paper, appendix "Temporal logic overview". A lasso is given as plain text: what is said of each time
of its prefix and of its cycle, such as `a & b` or `{a, b}`.
"""

import html
from collections.abc import Sequence
from math import cos, pi, sin

import plotly.graph_objects as go

from itekit.plots.show import COLOURS, DARK, WIDEST, style

MOST_TIMES = 60
UNIT = 84  # pixels between two times of the picture, at most
NODE = 34  # pixels across a node
LETTER = 7.4  # pixels across a letter, about
BAND = "#EAF2F8"
CELL = 46  # pixels from one row of a table to the next

# Sign, fill, colour of the sign. Signs differ, not colours alone.
LOOKS = {
    "holds": ("✓", COLOURS[0], "white"),
    "fails": ("✗", COLOURS[1], "white"),
    "depends on the word": ("?", "#D9D9D9", DARK),
}


def _times(prefix: Sequence[str], cycle: Sequence[str]) -> list[str]:
    times = [*prefix, *cycle]
    if not cycle:
        raise ValueError("cycle: expected at least one time, found none")
    if len(times) > MOST_TIMES:
        raise ValueError(f"a lasso of {len(times)} times: at most {MOST_TIMES} are drawn")
    return times


def lasso_figure(prefix: Sequence[str], cycle: Sequence[str], *, title: str = "") -> go.Figure:
    """The lasso: the prefix from left to right, then the cycle as a loop, run clockwise.

    Args:
        prefix, cycle: what is written beside each time.

    Raises:
        ValueError: an empty cycle, or more than 60 times.
    """
    labels, start = _times(prefix, cycle), len(prefix)
    longest = max(map(len, labels)) * LETTER
    radius, apart = max(0.5, len(cycle) / 5.5), max(1.0, (longest + 12) / UNIT)
    centre, gap, turn = start * apart + radius, NODE / 2 / UNIT, 2 * pi / len(cycle)
    angles = [pi - turn * time for time in range(len(cycle))]

    def on_circle(angle: float) -> tuple[float, float]:
        return centre + radius * cos(angle), radius * sin(angle)

    places = [(time * apart, 0.0) for time in range(start)] + [on_circle(a) for a in angles]
    left, right = -0.3 - longest / UNIT, centre + radius + 0.4 + longest / UNIT
    small = min(1.0, (WIDEST - 20) / (UNIT * (right - left)))  # a long lasso is drawn smaller
    figure = go.Figure()
    for (before, _), (after, _) in zip(places[:start], places[1:], strict=False):
        _arrow(figure, [(before + gap, 0.0), (after - gap, 0.0)], DARK, small)
    for angle in angles:
        first, last = angle - 1.15 * gap / radius, angle - turn + 1.15 * gap / radius
        arc = [on_circle(first + (last - first) * i / 40) for i in range(41)]
        _arrow(figure, arc, COLOURS[0], small)
    times = range(len(places))
    rims = [DARK if time < start else COLOURS[0] for time in times]
    fills = ["white" if time < start else BAND for time in times]
    hover = [f"time {time}{', and each turn of the cycle' * (time >= start)}" for time in times]
    x, y = zip(*places, strict=True)
    figure.add_scatter(
        x=x,
        y=y,
        text=[str(time) for time in times],
        mode="markers+text",
        textfont_size=14 * small,
        hovertext=hover,
        hoverinfo="text",
        showlegend=False,
        marker={"size": NODE * small, "color": fills, "line": {"color": rims, "width": 2}},
        marker_opacity=1,
    )
    for time, (x, y) in enumerate(places):
        where = _label_place(angles[time - start] if time >= start else None, small)
        text = {"text": html.escape(labels[time]), "font_size": 14 * small, "showarrow": False}
        figure.add_annotation(x=x, y=y, **text, **where)
    high = 0.35 + max(abs(y) + 0.35 * (abs(y) > 0.1) for _, y in places)
    high, top = max(high, radius + 0.1), 40 if title else 10
    figure.update_xaxes(visible=False, range=[left, right])
    figure.update_yaxes(visible=False, range=[-high, high])
    width, height = round(UNIT * (right - left) * small), round(2 * UNIT * high * small)
    style(figure, title=title, width=width + 20, height=height + top + 10)
    return figure.update_layout(margin={"l": 10, "r": 10, "t": top, "b": 10})


def _arrow(figure: go.Figure, points: list[tuple[float, float]], colour: str, small: float) -> None:
    x, y = zip(*points, strict=True)
    sizes = [0] * (len(points) - 1) + [13 * small]
    marker = {"symbol": "arrow", "angleref": "previous", "size": sizes, "color": colour}
    line = {"color": colour, "width": 2, "simplify": False}
    marker |= {"opacity": 1, "line": {"width": 0}}
    arrow = {"mode": "lines+markers", "line": line, "marker": marker}
    figure.add_scatter(x=x, y=y, hoverinfo="skip", showlegend=False, **arrow)


def _label_place(angle: float | None, small: float) -> dict:
    """Where a label is: above in the prefix, outside of the loop, the first's clear of arrows."""
    if angle is None or angle == pi:
        above = {"yshift": (NODE / 2 + 12) * small}
        return above if angle is None else above | {"xshift": -2, "xanchor": "right"}
    across, up = cos(angle), sin(angle)
    return {
        "xshift": (NODE / 2 + 6) * across * small,
        "yshift": (NODE / 2 + 8) * up * small,
        "xanchor": "left" if across > 0.2 else "right" if across < -0.2 else "center",
        "yanchor": "bottom" if up > 0.6 else "top" if up < -0.6 else "middle",
    }


def lasso_table(
    prefix: Sequence[str],
    cycle: Sequence[str],
    rows: Sequence[tuple[str, Sequence[str | bool]]],
    *,
    title: str = "",
) -> go.Figure:
    """Formulas as rows, times as columns; each cell says whether the formula holds at that time.

    Args:
        prefix, cycle: what is written above each time.
        rows: each formula and its status at each time: "holds" or True, "fails" or False, or
            "depends on the word". The first row is on top.

    Raises:
        ValueError: an empty cycle, more than 60 times, a row of another length, or an unknown
            status.
    """
    steps, cells = _times(prefix, cycle), {}  # (time, row) -> status
    for j, (label, found) in enumerate(rows):
        if len(found) != len(steps):
            raise ValueError(f"row {label!r}: expected {len(steps)} statuses, found {len(found)}")
        for i, status in enumerate(found):
            cells[i, j] = status if isinstance(status, str) else "holds" if status else "fails"
            if cells[i, j] not in LOOKS:
                known = ", ".join(map(repr, LOOKS))
                raise ValueError(f"row {label!r}, time {i}: {status!r} is none of {known}")
    labels = [html.escape(label) for label, _ in rows]
    left = max(len(label) for label, _ in rows) * LETTER + 24
    column = max(CELL, max(map(len, steps)) * LETTER + 14)
    shown = max(len(steps), 340 / column)  # room for the legend
    column = min(column, (WIDEST - left - 20) / shown)
    figure = go.Figure()
    for status, (sign, fill, colour) in LOOKS.items():
        places = [place for place, found in cells.items() if found == status]
        if not places:
            continue
        (x, y), size = zip(*places, strict=True), 0.72 * min(CELL, column)
        figure.add_scatter(
            x=x,
            y=y,
            name=status,
            text=[sign] * len(places),
            mode="markers+text",
            textfont={"color": colour, "size": min(16, size)},
            marker={"symbol": "square", "size": size, "color": fill, "line": {"width": 0}},
            hovertext=[f"{labels[j]}: {status} at time {i}" for i, j in places],
            hoverinfo="text",
            cliponaxis=False,
        )
    first, end = len(prefix) - 0.5, len(steps) - 0.5
    figure.add_vrect(x0=first, x1=end, fillcolor=BAND, line_width=0, layer="below")
    note = {"text": "↻ for ever", "showarrow": False, "xanchor": "left", "yanchor": "top"}
    figure.add_annotation(x=first + 0.02, y=len(rows) - 0.5, **note)
    plain = {"showgrid": False, "showline": False, "ticks": "", "automargin": False}
    ticks = [f"{html.escape(step)}<br><b>{time}</b>" for time, step in enumerate(steps)]
    columns = {"tickvals": list(range(len(steps))), "ticktext": ticks, "side": "top"}
    figure.update_xaxes(**columns, **plain, range=[-0.5, shown - 0.5])
    at = {"tickvals": list(range(len(rows))), "ticktext": labels}
    figure.update_yaxes(**at, **plain, range=[len(rows) + 0.05, -0.5])
    top = 100 if title else 56
    height = round(CELL * (len(rows) + 0.55)) + top + 40
    style(figure, title=title, width=round(left + column * shown) + 20, height=height)
    legend = {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"}
    figure.update_layout(showlegend=True, legend=legend | {"itemsizing": "constant"})
    return figure.update_layout(margin={"l": left, "r": 20, "t": top, "b": 40})
