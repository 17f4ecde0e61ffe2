"""The automaton of a formula as a plain value: states, edges, an accepting run, as text or drawing.

Paper, appendix "Temporal logic overview"; LTLRandom35 (DeepLTL). Spot translates a formula into an
automaton that reads infinite words: each edge allows the letters that satisfy its condition, and
some edges carry marks. A word is accepted if there is a run on it that passes every mark again and
again, for ever. An accepting run, read off edge by edge, is a symbolic trace of the formula.
"""

import html
from collections.abc import Sequence
from dataclasses import dataclass

import spot

from itekit.logic.formulas import Formula
from itekit.logic.prefix import parse_prefix
from itekit.logic.spot_bridge import to_spot, word_to_trace

MARKS = "●■▲◆★"  # one shape for each mark; later ones are numbers


RUN_ARROW, RUN_TEXT = ', color="#D55E00", penwidth=2.4', "#A34700"

MOST_STATES = 25
"""The most states of an automaton that a worker process describes."""


@dataclass(frozen=True, order=True)
class Edge:
    """From a state to a state, under a condition on the letter (Spot's infix text).

    Attributes:
        marks: the numbers of the acceptance marks on the edge.
        on_run: whether the accepting run takes the edge.
    """

    source: int
    condition: str
    target: int
    marks: tuple[int, ...]
    on_run: bool


@dataclass(frozen=True)
class Automaton:
    """An automaton of infinite words with transition-based acceptance.

    Attributes:
        states: how many there are, numbered from 0; runs start at 0.
        marks: how many different marks there are; a run is accepted if it passes each of them
            infinitely often.
        trace: an accepting run as a trace, in spaced text; None if there is none.
    """

    states: int
    marks: int
    edges: tuple[Edge, ...]
    trace: str | None

    @property
    def acceptance(self) -> str:
        """Which runs are accepted, in words."""
        if self.trace is None:
            return "none"
        names = " and ".join(_marks((mark,)) for mark in range(self.marks))
        return f"the runs that pass {names} again and again" if names else "every endless run"

    def text(self) -> str:
        """The automaton in words and lines, for where it cannot be drawn."""
        count = "1 state" if self.states == 1 else f"{self.states} states"
        lines = [f"{count}, starts at 0; accepted: {self.acceptance}"]
        width = max((len(edge.condition) for edge in self.edges), default=0)
        marks = max((len(_marks(edge.marks)) for edge in self.edges), default=0)
        for edge in self.edges:
            run = "<- on the run" if edge.on_run else ""
            line = f"{edge.source} -> {edge.target}   {edge.condition:<{width}}   "
            lines.append(f"{line}{_marks(edge.marks):<{marks}}   {run}".rstrip())
        return "\n".join(lines)

    def dot(self) -> str:
        """The automaton in the language of Graphviz; the accepting run is bold."""
        lines = [
            "digraph automaton {",
            'rankdir=LR; node [shape=circle, width=0.5, fontname="Helvetica"];',
            'edge [fontname="Helvetica", fontsize=12]; bgcolor="white";',
            'start [shape=none, width=0, height=0, label=""]; start -> 0;',
        ]
        lines += [f"{state};" for state in range(self.states)]
        arrows: dict[tuple[int, int], list[Edge]] = {}
        for edge in self.edges:  # edges side by side are one arrow, or their labels would overlap
            arrows.setdefault((edge.source, edge.target), []).append(edge)
        for (source, target), edges in arrows.items():
            label = "<br/>".join(map(_dot_label, edges))
            look = RUN_ARROW if any(edge.on_run for edge in edges) else ""
            lines.append(f"{source} -> {target} [label=<{label}>{look}];")
        return "\n".join([*lines, "}"])


def formula_automaton(formula: Formula, options: Sequence[str] = ()) -> Automaton:
    """The automaton that Spot translates a formula into, with an accepting run.

    Args:
        options: of Spot's translation; the default one makes a small generalized Büchi automaton.

    Raises:
        ValueError: the options ask for another kind of automaton.
    """
    graph = to_spot(formula).translate(*options)
    graph.merge_edges()
    if not graph.acc().is_generalized_buchi():
        raise ValueError(f"expected generalized Büchi acceptance, found {graph.get_acceptance()}")
    run = graph.accepting_run()
    trace = None if run is None else word_to_trace(spot.twa_word(run), format="spaced")
    taken, numbers = _taken(graph, run), _numbers(graph)
    edges = sorted(
        Edge(
            numbers[edge.src],
            spot.bdd_format_formula(graph.get_dict(), edge.cond),
            numbers[edge.dst],
            _sets(edge.acc),
            (edge.src, edge.cond.id(), _sets(edge.acc), edge.dst) in taken,
        )
        for edge in graph.edges()
    )
    return Automaton(len(numbers), graph.num_sets(), tuple(edges), trace)


def automaton_item(item: Sequence[str]) -> dict:
    """`formula_automaton` of spaced prefix text as JSON, for a worker process.

    Returns:
        "states", "edges": how many; "trace"; and "text" and "dot" if there are at most
        MOST_STATES.
    """
    automaton = formula_automaton(parse_prefix(item[0], format="spaced"))
    found = {"states": automaton.states, "edges": len(automaton.edges), "trace": automaton.trace}
    if automaton.states <= MOST_STATES:
        found |= {"text": automaton.text(), "dot": automaton.dot()}
    return found


def _taken(graph: spot.twa_graph, run: spot.twa_run | None) -> set[tuple]:
    """The edges of an accepting run: source, condition, marks, target."""
    steps = [] if run is None else [*run.prefix, *run.cycle]
    states = [graph.state_number(step.s) for step in steps]
    after = [*states[1:], *states[len(run.prefix) :][:1]] if steps else []
    return {
        (source, step.label.id(), _sets(step.acc), target)
        for source, step, target in zip(states, steps, after, strict=True)
    }


def _numbers(graph: spot.twa_graph) -> dict[int, int]:
    """New numbers for the states, breadth first from the start, which is 0."""
    numbers = {graph.get_init_state_number(): 0}
    for state in (order := list(numbers)):
        for edge in graph.out(state):
            if edge.dst not in numbers:
                numbers[edge.dst] = len(numbers)
                order.append(edge.dst)
    return numbers


def _sets(marks: spot.mark_t) -> tuple[int, ...]:
    return tuple(marks.sets())


def _dot_label(edge: Edge) -> str:
    """A line of an arrow's label; in colour if it is on the run."""
    line = f" {html.escape(edge.condition)} {_marks(edge.marks)} "
    return f'<font color="{RUN_TEXT}">{line}</font>' if edge.on_run else line


def _marks(marks: Sequence[int]) -> str:
    return "".join(MARKS[mark] if mark < len(MARKS) else f"({mark})" for mark in marks)
