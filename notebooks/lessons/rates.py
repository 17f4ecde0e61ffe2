"""Rates and their differences as points with 95 % intervals, for lessons that compare runs."""

import math
from collections.abc import Mapping
from statistics import NormalDist

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from lessons.plots import show, style
from lessons.plots.lines import METHODS
from lessons.plots.show import BELOW, DARK, GREY, look

Counts = tuple[int, int]  # right answers, of so many
Difference = tuple[float, float, float]  # of two rates, and the ends of its 95 % interval
MARKS = ("circle", "circle-open", "diamond", "square-open")
LANE = 0.22  # of a row: our mark is so much above its middle, and the paper's below
PAPER = {"symbol": "diamond-open", "size": 11, "color": "#CC79A7", "line": {"width": 2}}


def wilson(k: float, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a rate, k of n.

    Of a mean of n values from 0 to 1, whose sum is k, it is at most too wide.
    """
    rate, z = k / n, NormalDist().inv_cdf(0.975)
    half = z * math.sqrt(rate * (1 - rate) / n + (z / (2 * n)) ** 2)
    middle, whole = rate + z * z / (2 * n), 1 + z * z / n
    return max(0.0, (middle - half) / whole), min(1.0, (middle + half) / whole)


def rate_text(k: float, n: int) -> str:
    """A rate and its interval, in per cent."""
    low, high = wilson(k, n)
    return f"{k / n:.1%} ({100 * low:.0f} to {100 * high:.0f})"


def newcombe(k1: int, n1: int, k2: int, n2: int) -> Difference:
    """The difference of two rates from different problems, and its 95 % interval."""
    (low1, high1), (low2, high2) = wilson(round(k1), n1), wilson(round(k2), n2)
    p1, p2 = k1 / n1, k2 / n2
    d = p1 - p2
    return d, d - math.hypot(p1 - low1, high2 - p2), d + math.hypot(high1 - p1, p2 - low2)


def points(difference: float, low: float, high: float) -> str:
    """A difference of two rates and its interval, in words."""
    return f"{100 * difference:+.1f} points ({100 * low:+.1f} to {100 * high:+.1f})"


def show_rates(panels: Mapping[str, Mapping[str, Mapping[str, Counts]]], title: str) -> None:
    """Show rates with Wilson's intervals, {panel: {row: {mark: (right, of so many)}}}.

    A row or a mark that is a method of the kit has its colour.
    """
    rows = list(dict.fromkeys(row for panel in panels.values() for row in panel))
    marks = list(dict.fromkeys(key for panel in panels.values() for r in panel for key in panel[r]))
    figure, told = make_subplots(1, len(panels), subplot_titles=list(panels)), []
    for column, (heading, panel) in enumerate(panels.items(), 1):
        place = {"row": 1, "col": column}
        for j, mark in enumerate(marks):
            some = {row: panel[row][mark] for row in panel if panel[row].get(mark, (0, 0))[1]}
            ends = [(k / n, *wilson(k, n)) for k, n in some.values()]
            apart = min(0.3, 0.78 / len(marks)) * (j - (len(marks) - 1) / 2)
            heights = [rows.index(row) + apart for row in some]
            shape = {"symbol": MARKS[j], "size": 11, "line": {"width": 2}}
            colours = [_colour(row, _colour(mark, DARK)) for row in some]
            figure.add_trace(_points(ends, heights, colours, "{:.0f}", shape), **place)
            words = [f"{row}, {mark}: {k} of {n}, {k / n:.1%}" for row, (k, n) in some.items()]
            side = "bottom center" if j == len(marks) - 1 > 0 else "top center"
            figure.data[-1].update(hovertext=words, textposition=side, hoverinfo="text")
            told += [f"{heading} {text}" for text in words]
            if column == 1:  # its line in the legend
                legend = {"mode": "markers", "marker": {"color": _colour(mark, DARK)} | shape}
                figure.add_scatter(x=[None], y=[None], name=mark, **legend, **place)
    figure.update_xaxes(range=[-4, 106], dtick=20, ticksuffix=" %")
    each = 22 if len(marks) < 3 else 30  # room for a number above a mark
    _rows(figure, rows, title, 150 + len(rows) * (26 + each * len(marks)), told)


def show_differences(
    rows: Mapping[str, Difference | None], title: str, paper: Mapping[str, float] | None = None
) -> None:
    """Show differences of two rates with their intervals, grey where an interval holds 0.

    A row without a difference is a heading; `paper`: the paper's difference for some of the rows,
    drawn below ours.
    """
    figure, paper = make_subplots(), paper or {}
    some = {i: found for i, found in enumerate(rows.values()) if found}
    colours = [GREY if low <= 0 <= high else DARK for _, low, high in some.values()]
    heights = [i - LANE * (name in paper) for i, name in enumerate(rows) if i in some]
    figure.add_trace(_points(list(some.values()), heights, colours, "{:+.1f}", {"size": 10}))
    for i, (value, *_) in some.items():  # the numbers have a column of their own
        beside = {"xref": "paper", "x": 1.005, "xanchor": "left", "showarrow": False}
        text = f"{100 * value:+.1f}".replace("-", "−")
        figure.add_annotation(text=text, y=i, font_size=12, **beside)
    figure.data[0].mode = "markers"
    name = "ours, with its 95 % interval; grey: it holds 0"
    figure.data[0].update(name=name, showlegend=True)
    where = [list(rows).index(name) + LANE for name in paper]
    theirs = [100 * value for value in paper.values()]
    figure.add_scatter(x=theirs, y=where, mode="markers", marker=PAPER, name="the paper's")
    figure.data[-1].showlegend = bool(paper)
    figure.add_vline(x=0, line={"color": "#444444", "width": 1.5}, layer="below")
    figure.update_xaxes(title_text="difference, points").update_yaxes(showgrid=False)
    figure.update_layout(margin_r=50)
    told = [f"{name} {points(*found)}" for name, found in rows.items() if found]
    told += [f"the paper: {name} {100 * value:+.1f}" for name, value in paper.items()]
    names = [name if found else f"<b>{name}</b>" for name, found in rows.items()]
    _rows(figure, names, title, 150 + 32 * len(names), told)


def _colour(name: str, other: str) -> str:
    method = name.rpartition("/")[2]
    return look(METHODS.index(method))[0] if method in METHODS else other


def _points(ends, heights, colours, form: str, shape: Mapping) -> go.Scatter:
    """Points with horizontal intervals from (value, low, high), 0 to 1, and what they say."""
    x, low, high = ([100 * end[i] for end in ends] for i in range(3))
    bars = {"array": [b - a for a, b in zip(x, high, strict=True)], "color": "#555555"}
    bars |= {"arrayminus": [a - b for a, b in zip(x, low, strict=True)], "thickness": 1.5}
    text = [form.format(value).replace("-", "−") for value in x]
    said = {"text": text, "textposition": "top center", "textfont": {"size": 11}}
    return go.Scatter(x=x, y=heights, error_x=bars, mode="markers+text", **said,
                      marker={"color": colours} | shape, showlegend=False)  # fmt: skip


def _rows(figure: go.Figure, names: list[str], title: str, height: int, told: list[str]) -> None:
    """Show the figure with a name for each of its rows, the first on top."""
    figure.update_yaxes(tickvals=list(range(len(names))), range=[len(names) - 0.4, -0.7])
    figure.update_yaxes(ticktext=[""] * len(names), ticks="")
    figure.update_yaxes(ticktext=names, col=1)
    style(figure, title=title, width=840, height=height, showlegend=True, legend=BELOW)
    show(figure.update_layout(margin_b=90), alt=f"{title}. {'; '.join(told)}.")
