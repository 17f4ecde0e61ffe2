"""Lassos: a word u v^ω drawn as a handle and a loop, and tables of what holds at its times.

Paper, appendix "Temporal logic overview". A lasso is given as plain text: what is said of each time
of its prefix and of its cycle, such as `a & b` or `{a, b}`.
"""

import html
from collections.abc import Sequence
from math import cos, pi, sin

import plotly.graph_objects as go

from lessons.plots.show import COLOURS, DARK, PLAIN, WIDEST, arrow, style

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
    if len(times) > MOST_TIMES:
        raise ValueError(f"a lasso of {len(times)} times: at most {MOST_TIMES} are drawn")
    return times


def lasso_figure(prefix: Sequence[str], cycle: Sequence[str]) -> go.Figure:
    """The prefix from left to right, then the cycle as a loop; ValueError for over 60 times."""
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
    pairs = zip(places[:start], places[1:], strict=False)
    paths = [(DARK, [(x + gap, 0.0), (after - gap, 0.0)]) for (x, _), (after, _) in pairs]
    for angle in angles:
        first, last = angle - 1.15 * gap / radius, angle - turn + 1.15 * gap / radius
        arc = [on_circle(first + (last - first) * i / 40) for i in range(41)]
        paths.append((COLOURS[0], arc))
    figure = go.Figure().update_layout(showlegend=False)
    for colour, path in paths:
        x, y = zip(*path, strict=True)
        head = [0] * (len(path) - 1) + [13 * small]
        figure.add_scatter(x=x, y=y, **arrow(colour, head, simplify=False))
    rims = {"color": [DARK] * start + [COLOURS[0]] * len(cycle), "width": 2}
    marker = {"size": NODE * small, "color": ["white"] * start + [BAND] * len(cycle)}
    marker |= {"line": rims, "opacity": 1}
    times = range(len(places))
    hover = [f"time {time}{', and each turn of the cycle' * (time >= start)}" for time in times]
    x, y = zip(*places, strict=True)
    signs = {"text": [str(time) for time in times], "textfont_size": 14 * small}
    shown = {"hovertext": hover, "hoverinfo": "text", "mode": "markers+text", **signs}
    figure.add_scatter(x=x, y=y, marker=marker, **shown)
    for label, (x, y), angle in zip(labels, places, [None] * start + angles, strict=True):
        text = {"text": html.escape(label), "font_size": 14 * small, "showarrow": False}
        figure.add_annotation(x=x, y=y, **text, **_label_place(angle, small))
    high = 0.35 + max(abs(y) + 0.35 * (abs(y) > 0.1) for _, y in places)
    high = max(high, radius + 0.1)
    figure.update_xaxes(visible=False, range=[left, right])
    figure.update_yaxes(visible=False, range=[-high, high])
    size = {"width": round(UNIT * (right - left) * small) + 20}
    size["height"] = round(2 * UNIT * high * small) + 20
    return style(figure, **size, margin={"l": 10, "r": 10, "t": 10, "b": 10})


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
    prefix: Sequence[str], cycle: Sequence[str], rows: Sequence[tuple[str, Sequence]]
) -> go.Figure:
    """Formulas as rows, times as columns; ValueError for over 60 times.

    A row is a formula and its status at each time: True, False, or a key of LOOKS.
    """
    steps = _times(prefix, cycle)
    labels = [html.escape(label) for label, _ in rows]
    left = max(len(label) for label, _ in rows) * LETTER + 24
    column = max(CELL, max(map(len, steps)) * LETTER + 14)
    shown = max(len(steps), 340 / column)  # room for the legend
    column = min(column, (WIDEST - left - 20) / shown)
    size, figure = 0.72 * min(CELL, column), go.Figure()
    for status, (sign, fill, colour) in LOOKS.items():
        same = {status, {"holds": True, "fails": False}.get(status)}
        each = ((i, j, one) for j, (_, found) in enumerate(rows) for i, one in enumerate(found))
        places = [(i, j) for i, j, one in each if one in same]
        if not places:
            continue
        x, y = zip(*places, strict=True)
        marker = {"symbol": "square", "size": size, "color": fill, "line": {"width": 0}}
        signs = {"text": [sign] * len(x), "textfont": {"color": colour, "size": min(16, size)}}
        hover = [f"{labels[j]}: {status} at time {i}" for i, j in places]
        shape = {"mode": "markers+text", "marker": marker, "cliponaxis": False, **signs}
        figure.add_scatter(x=x, y=y, name=status, hovertext=hover, hoverinfo="text", **shape)
    first, end = len(prefix) - 0.5, len(steps) - 0.5
    figure.add_vrect(x0=first, x1=end, fillcolor=BAND, line_width=0, layer="below")
    note = {"text": "↻ forever", "showarrow": False, "xanchor": "left", "yanchor": "top"}
    figure.add_annotation(x=first + 0.02, y=len(rows) - 0.5, **note)
    plain = {**PLAIN, "automargin": False}
    ticks = [f"{html.escape(step)}<br><b>{time}</b>" for time, step in enumerate(steps)]
    columns = {"tickvals": [*range(len(steps))], "ticktext": ticks, "side": "top"}
    figure.update_xaxes(**columns, **plain, range=[-0.5, shown - 0.5])
    figure.update_yaxes(tickvals=[*range(len(rows))], ticktext=labels, **plain)
    figure.update_yaxes(range=[len(rows) + 0.05, -0.5])
    legend = {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"}
    figure.update_layout(showlegend=True, legend=legend | {"itemsizing": "constant"})
    size = {"width": round(left + column * shown) + 20}
    size["height"] = round(CELL * (len(rows) + 0.55)) + 96
    return style(figure, **size, margin={"l": left, "r": 20, "t": 56, "b": 40})
