"""Lesson 07: the automaton that Spot translates a formula into, and its drawing.

A word is accepted if there is a run on it, along edges that allow its letters, that passes every
mark again and again; read off edge by edge, such a run is a symbolic trace of the formula.
"""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, dist, radians, sin

import plotly.graph_objects as go
import spot

from itekit.logic.formulas import Formula
from itekit.logic.spot_bridge import to_spot, word_to_trace
from lessons.plots.lassos import LETTER, NODE
from lessons.plots.show import COLOURS, DARK, WIDEST, arrow, style

LOOP, DOWN = 15, 125  # pixels: the radius of a loop, and from one state to the one below


@dataclass(frozen=True)
class Automaton:
    """States 0 (the start) to `states` - 1, the marks, the edges, and an accepting run as a trace.

    An edge is its source, condition, target, marks, and whether the accepting run takes it.
    """

    states: int
    marks: tuple[str, ...]
    edges: tuple[tuple[int, str, int, str, bool], ...]
    trace: str | None  # None if nothing is accepted


def formula_automaton(formula: Formula) -> Automaton:
    """Spot's small generalized Büchi automaton of a formula, with an accepting run."""

    def shapes(marks) -> list[str]:
        return ["●■▲◆★"[mark] if mark < 5 else f"({mark})" for mark in marks]

    graph = to_spot(formula).translate()
    graph.merge_edges()
    run, taken = graph.accepting_run(), set()
    steps = [*run.prefix, *run.cycle] if run else []
    afterwards = [*steps[1:], run.cycle[0]] if run else []
    for step, after in zip(steps, afterwards, strict=True):
        ends = graph.state_number(step.s), graph.state_number(after.s)
        taken.add((*ends, step.label.id(), tuple(step.acc.sets())))
    numbers = {graph.get_init_state_number(): 0}  # new ones, breadth first from the start
    for state in (order := list(numbers)):
        for edge in graph.out(state):
            if edge.dst not in numbers:
                numbers[edge.dst] = len(numbers)
                order.append(edge.dst)
    edges = []
    for edge in graph.edges():
        sets, ends = tuple(edge.acc.sets()), (edge.src, edge.dst)
        condition = spot.bdd_format_formula(graph.get_dict(), edge.cond)
        on_run = (*ends, edge.cond.id(), sets) in taken
        source, target = (numbers[state] for state in ends)
        edges.append((source, condition, target, "".join(shapes(sets)), on_run))
    trace = word_to_trace(spot.twa_word(run)) if run else None
    marks = tuple(shapes(range(graph.num_sets())))
    return Automaton(len(numbers), marks, tuple(sorted(edges)), trace)


def layers(arrows: Sequence[tuple[int, int]]) -> dict[int, int]:
    """State -> its column: the longest way from state 0 that goes round no cycle twice."""
    ahead, found, way = [], [], []

    def visit(state: int) -> None:
        way.append(state)
        for target in sorted({t for source, t in arrows if source == state} - {*way}):
            ahead.append((state, target))
            if target not in found:
                visit(target)
        found.append(way.pop())

    visit(0)
    columns = dict.fromkeys(found, 0)
    for state in reversed(found):
        for target in (t for source, t in ahead if source == state):
            columns[target] = max(columns[target], columns[state] + 1)
    return columns


def automaton_figure(automaton: Automaton) -> go.Figure:
    """States from left to right, edges as arrows; the accepting run is orange and bold."""
    arrows: dict[tuple[int, int], list[str]] = {}  # edges side by side are one arrow
    for source, condition, target, marks, on_run in automaton.edges:
        label = f"{html.escape(condition)} {marks}".strip()
        label = f'<b style="color:#A34700">{label}</b>' if on_run else label
        arrows.setdefault((source, target), []).append(label)
    columns = layers([*arrows])
    longest = max((len(condition) for _, condition, *_ in automaton.edges), default=1)
    apart, places = max(95, NODE + 60 + LETTER * longest), {}
    for column in range(max(columns.values()) + 1):
        here = sorted(state for state in columns if columns[state] == column)
        for row, state in enumerate(here):
            places[state] = column * apart, DOWN * ((len(here) - 1) / 2 - row)
    figure, gap = go.Figure().update_layout(showlegend=False), NODE / 2
    drawn = [(DARK, 2, [(-gap - 30, places[0][1]), (-gap, places[0][1])])]
    for (source, target), labels in arrows.items():
        ends = (x, y), end = places[source], places[target]
        on_run = "<b" in "".join(labels)
        if source == target:
            turn = (radians(angle) for angle in range(-50, 232, 6))
            path = [(x + LOOP * cos(a), y + gap + 11 + LOOP * sin(a)) for a in turn]
            label_at = x, y + gap + 11 + LOOP
        else:
            far = abs(columns[target] - columns[source]) != 1 or (target, source) in arrows
            across, up, path = end[0] - x, end[1] - y, []
            for t in (i / 40 for i in range(41)):  # a parabola, from rim to rim
                aside = 0.5 * t * (1 - t) * far
                p = x + t * across - aside * up, y + t * up + aside * across
                if all(dist(p, node) > NODE / 2 for node in ends):
                    path.append(p)
            label_at = path[2 * len(path) // 5]
        drawn.append((COLOURS[1] if on_run else DARK, 3 if on_run else 1.5, path))
        below = columns[target] < columns[source]
        text = {"text": "<br>".join(labels), "yanchor": "top" if below else "bottom"}
        text |= {"showarrow": False, "bgcolor": "rgba(255,255,255,0.7)", "borderpad": 0}
        figure.add_annotation(x=label_at[0], y=label_at[1], font_size=13, **text)
    for colour, width, path in drawn:
        x, y = zip(*path, strict=True)
        head = [0] * (len(path) - 1) + [12]
        figure.add_scatter(x=x, y=y, **arrow(colour, head, width=width, simplify=False))
    x, y = zip(*(places[state] for state in sorted(places)), strict=True)
    marker = {"size": NODE, "color": "white", "line": {"color": DARK, "width": 2}, "opacity": 1}
    names = {"text": [str(state) for state in sorted(places)], "hoverinfo": "skip"}
    figure.add_scatter(x=x, y=y, mode="markers+text", marker=marker, **names)
    high = [p[1] for *_, path in drawn for p in path] + list(y)
    most = max(len(labels) for labels in arrows.values()) if arrows else 1
    left, right, low, top = -gap - 40, max(x) + 70, min(high) - 30, max(high) + 10 + 20 * most
    figure.update_xaxes(visible=False, range=[left, right])
    figure.update_yaxes(visible=False, range=[low, top])
    size = {"width": min(WIDEST, right - left), "height": top - low}
    return style(figure, **size, margin={"l": 0, "r": 0, "t": 0, "b": 0})
