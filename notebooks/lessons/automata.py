"""Lesson 07: the automaton that Spot translates a formula into, in words and as a drawing.

A word is accepted if there is a run on it, along edges that allow its letters, that passes every
mark again and again; read off edge by edge, such a run is a symbolic trace of the formula.
"""

import html
from dataclasses import dataclass

import spot

from itekit.logic.formulas import Formula
from itekit.logic.spot_bridge import to_spot, word_to_trace


@dataclass(frozen=True)
class Automaton:
    """States 0 (the start) to `states` - 1, the marks, the edges, and an accepting run as a trace.

    An edge is its source, condition, target, marks, and whether the accepting run takes it.
    """

    states: int
    marks: tuple[str, ...]
    edges: tuple[tuple[int, str, int, str, bool], ...]
    trace: str | None  # None if nothing is accepted

    def text(self) -> str:
        """The automaton in words and lines, for where it cannot be drawn."""
        again = f"the runs that pass {' and '.join(self.marks)} again and again"
        accepted = "none" if self.trace is None else again if self.marks else "every endless run"
        lines = [f"{self.states} state{'s' * (self.states > 1)}, starts at 0; accepted: {accepted}"]
        wide, many = (max((len(e[i]) for e in self.edges), default=0) for i in (1, 3))
        for source, condition, target, marks, on_run in self.edges:
            line = f"{source} -> {target}   {condition:<{wide}}   {marks:<{many}}"
            lines.append((line + "   <- on the run" * on_run).rstrip())
        return "\n".join(lines)

    def dot(self) -> str:
        """The automaton in the language of Graphviz; the accepting run is orange and bold."""
        arrows: dict[str, list[str]] = {}
        for source, condition, target, marks, on_run in self.edges:  # side by side: one arrow
            label = f" {html.escape(condition)} {marks} "
            label = f'<font color="#A34700">{label}</font>' if on_run else label
            arrows.setdefault(f"{source} -> {target}", []).append(label)
        lines = [
            "digraph automaton {",
            'rankdir=LR; node [shape=circle, width=0.5, fontname="Helvetica"];',
            'edge [fontname="Helvetica", fontsize=12]; bgcolor="white";',
            'start [shape=none, width=0, height=0, label=""]; start -> 0;',
            "".join(f"{state}; " for state in range(self.states)),
        ]
        for arrow, labels in arrows.items():
            look = ', color="#D55E00", penwidth=2.4' if "<font" in "".join(labels) else ""
            lines.append(f"{arrow} [label=<{'<br/>'.join(labels)}>{look}];")
        return "\n".join([*lines, "}"])


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
