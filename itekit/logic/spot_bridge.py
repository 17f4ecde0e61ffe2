"""Spot's formulas, words and automata, and ours.

Spot (the paper's tool for LTL) reads and prints prefix notation itself, in the dialect of the
program lbt: `t` and `f` for true and false, names in quotes unless they are p0, p1, ... So text
goes to Spot and back token by token, without a tree in between. What that avoids as well: Spot's
own infix text `X0` is read back as a proposition called X0. (The other way, `parse_infix` reads
what Spot prints.)

Spot orders the operands of a conjunction by the age of the formulas in the process, and an
accepting run may depend on that order. `numbered` therefore gives Spot names of its own: no part of
a formula is shared with what is alive elsewhere (a notebook's formulas), and one text always has
one answer.
"""

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import spot
from spot import buddy

from itekit.logic.formulas import LTL, Formula, is_name, join, parse_prefix
from itekit.logic.traces import Steps, Trace

# BDD variables that Spot has to add later get an order, and a trace's step perhaps another form,
# that depend on how many the formulas before it needed: have enough from the start.
buddy.bdd_extvarnum(300)

FIRST = 1000
"""The first name that `numbered` gives is p1000; a person's own would rather be p0."""

_LBT = {token: f"{token} " for token in LTL.tokens}
_LBT |= {"1": "t ", "0": "f ", ">": "i ", "=": "e ", "R": "V "}
_FROM_LBT = {spelling.strip(): token for token, spelling in _LBT.items()}
_BINARY = {
    "&": buddy.bdd_and,
    "|": buddy.bdd_or,
    ">": buddy.bdd_imp,
    "=": buddy.bdd_biimp,
    "^": buddy.bdd_xor,
}


def to_spot(formula: Formula) -> spot.formula:
    """Spot's formula; Spot simplifies trivial things such as `&aa` and `!!a` by itself."""
    return _parse_lbt(formula.tokens(), {name: name for name in formula.propositions})


def prefix_to_spot(text: str) -> spot.formula:
    """`to_spot` of `parse_prefix`."""
    return to_spot(parse_prefix(text))


def from_lbt(lbt: Iterable[str], names: Mapping[str, str]) -> list[str]:
    """Prefix tokens of lbt's; `names` are the propositions' names by what lbt calls them."""
    return [_FROM_LBT.get(token) or names[token] for token in lbt]


def _parse_lbt(tokens: Sequence[str], names: Mapping[str, str]) -> spot.formula:
    """Spot's formula of prefix tokens; `names` are the propositions' names in Spot."""
    table = _LBT | {name: f'"{new}" ' for name, new in names.items()}
    return spot.parse_prefix_ltl("".join([table[token] for token in tokens])).f


def numbered(tokens: Sequence[str]) -> tuple[spot.formula, dict[str, str]]:
    """Spot's formula with its propositions renamed p1000, p1001, ... in order; and their new names.

    Args:
        tokens: the prefix tokens of a formula (`read_tokens`).
    """
    names = sorted(set(tokens) - _LBT.keys(), key=lambda name: (len(name), name))
    new = {name: f"p{number}" for number, name in enumerate(names, FIRST)}
    return _parse_lbt(tokens, new), new


def trace_automaton(trace: Trace) -> spot.twa_graph:
    """The automaton of all words that the trace stands for: one state and one edge a step."""
    steps = [step.tokens() for step in trace.steps], len(trace.prefix)
    return steps_automaton(steps, {name: name for name in trace.propositions}, spot._bdd_dict)


def steps_automaton(
    steps: Steps, names: Mapping[str, str], bdd_dict: spot.bdd_dict
) -> spot.twa_graph:
    """`trace_automaton` of steps as tokens (`read_trace`).

    Args:
        names: the propositions' names in Spot; one that is not among them gets a name of its own.
        bdd_dict: of the automata that it is to meet.
    """
    tokens, start = steps
    automaton = spot.make_twa_graph(bdd_dict)
    leaves = {"1": buddy.bddtrue, "0": buddy.bddfalse}
    for name in sorted(set().union(*tokens) - _LBT.keys()):
        spot_name = names.get(name) or f"only in the trace: {name}"
        leaves[name] = buddy.bdd_ithvar(automaton.register_ap(spot_name))
    last = len(tokens) - 1
    automaton.new_states(last + 1)
    for state, step in enumerate(tokens):
        automaton.new_edge(state, start if state == last else state + 1, _bdd(step, leaves))
    return automaton


def _bdd(tokens: Sequence[str], leaves: Mapping[str, buddy.bdd]) -> buddy.bdd:
    """The BDD of a step's prefix tokens."""
    stack: list[buddy.bdd] = []
    for token in reversed(tokens):
        if token in leaves:
            stack.append(leaves[token])
        elif token == "!":
            stack.append(buddy.bdd_not(stack.pop()))
        else:
            stack.append(_BINARY[token](stack.pop(), stack.pop()))
    return stack[0]


def word_to_trace(word: spot.twa_word, names: Mapping[str, str] | None = None) -> str:
    """The prefix text of the trace that a Spot word is; ValueError for a name that is none here.

    `names` are the propositions' names in the text by their names in Spot; default the same.
    """
    before, _, cycle = str(word)[:-1].rpartition("cycle{")
    tokens: list[str] = []
    for step in before.split("; ")[:-1]:
        tokens += (*_step_tokens(step, names), ";")
    for number, step in enumerate(cycle.split("; ")):
        tokens += (";" if number else "{", *_step_tokens(step, names))
    return join([*tokens, "}"])


def _step_tokens(step: str, names: Mapping[str, str] | None) -> list[str]:
    """Prefix tokens of a step as Spot prints it: a disjunction of conjunctions of literals."""
    terms = step.split(" | ")
    tokens = ["|"] * (len(terms) - 1)
    for term in terms:
        literals = term.strip("()").split(" & ")
        tokens += ["&"] * (len(literals) - 1)
        for literal in literals:
            name = literal.removeprefix("!")
            if len(name) < len(literal):
                tokens.append("!")
            if not names and name not in ("1", "0") and not is_name(name):
                raise ValueError(f"{name!r} is no name of an atomic proposition")
            tokens.append(names.get(name, name) if names else name)
    return tokens


class Edge(NamedTuple):
    """From a state to a state, under a condition on the letter (Spot's infix text)."""

    source: int
    condition: str
    target: int
    marks: tuple[int, ...]  # the numbers of the acceptance marks on the edge
    on_run: bool  # whether the accepting run takes the edge


@dataclass(frozen=True)
class Automaton:
    """An automaton of infinite words with transition-based acceptance, as a plain value.

    Each edge allows the letters that satisfy its condition. A word is accepted if there is a run on
    it that passes every mark again and again, for ever; read off edge by edge, such a run is a
    symbolic trace of the formula.

    Attributes:
        states: how many there are, numbered from 0; runs start at 0.
        marks: how many different marks there are.
        trace: an accepting run as a trace, in prefix text; None if there is none.
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
        marks = max((len(edge.marks) for edge in self.edges), default=0)
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
            labels = [f" {html.escape(e.condition)} {_marks(e.marks)} " for e in edges]
            for place, edge in enumerate(edges):
                if edge.on_run:
                    labels[place] = f'<font color="#A34700">{labels[place]}</font>'
            look = ', color="#D55E00", penwidth=2.4' if any(e.on_run for e in edges) else ""
            lines.append(f"{source} -> {target} [label=<{'<br/>'.join(labels)}>{look}];")
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
    trace = None if run is None else word_to_trace(spot.twa_word(run))
    steps = [] if run is None else [*run.prefix, *run.cycle]
    states = [graph.state_number(step.s) for step in steps]
    after = [*states[1:], *states[len(run.prefix) :][:1]] if steps else []
    taken = {
        (source, step.label.id(), tuple(step.acc.sets()), target)
        for source, step, target in zip(states, steps, after, strict=True)
    }
    numbers = {graph.get_init_state_number(): 0}  # new ones, breadth first from the start
    for state in (order := list(numbers)):
        for edge in graph.out(state):
            if edge.dst not in numbers:
                numbers[edge.dst] = len(numbers)
                order.append(edge.dst)
    edges = []
    for edge in graph.edges():
        marks = tuple(edge.acc.sets())
        condition = spot.bdd_format_formula(graph.get_dict(), edge.cond)
        on_run = (edge.src, edge.cond.id(), marks, edge.dst) in taken
        edges.append(Edge(numbers[edge.src], condition, numbers[edge.dst], marks, on_run))
    return Automaton(len(numbers), graph.num_sets(), tuple(sorted(edges)), trace)


def _marks(marks: Sequence[int]) -> str:
    """One shape for each of the first marks, numbers for later ones."""
    return "".join("●■▲◆★"[mark] if mark < 5 else f"({mark})" for mark in marks)
