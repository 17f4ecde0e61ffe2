"""Spot's formulas, words and automata, and ours.

Spot reads and prints prefix notation itself, in the dialect of the program lbt: `t` and `f` for
true and false, names in quotes unless they are p0, p1, ...

Spot orders the operands of a conjunction by the age of the formulas in the process, and an
accepting run may depend on that order. `numbered` therefore gives Spot names of its own: nothing is
shared with a notebook's formulas, say, and one text always has one answer.
"""

from collections.abc import Iterable, Mapping, Sequence

import spot
from spot import buddy

from itekit.logic.formulas import ARITY, Formula, join, parse_prefix
from itekit.logic.traces import Steps, Trace, trace_tokens

# BDD variables that Spot has to add later get an order, and a trace's step perhaps another form,
# that depend on how many the formulas before it needed: have enough from the start.
buddy.bdd_extvarnum(300)

FIRST = 1000  # the first name that `numbered` gives is p1000; a person's own would rather be p0
_LBT = {token: f"{token} " for token in ARITY}
_LBT |= {"1": "t ", "0": "f ", ">": "i ", "=": "e ", "R": "V "}
_FROM_LBT = {spelling.strip(): token for token, spelling in _LBT.items()}


def to_spot(formula: Formula) -> spot.formula:
    """Spot's formula; Spot simplifies trivial things such as `&aa` and `!!a` by itself."""
    return _parse_lbt(formula.tokens(), {name: name for name in formula.propositions})


def prefix_to_spot(text: str) -> spot.formula:
    """Spot's formula of prefix text."""
    return to_spot(parse_prefix(text))


def from_lbt(lbt: Iterable[str], names: Mapping[str, str]) -> list[str]:
    """Prefix tokens of lbt's; `names` are the propositions' names by what lbt calls them."""
    return [_FROM_LBT.get(token) or names[token] for token in lbt]


def sides(formula: Formula) -> list[spot.twa_graph]:
    """Automata of the words that satisfy the formula, and of those that violate it."""
    yes = to_spot(formula)
    return [f.translate("Low", "Any") for f in (yes, spot.formula.Not(yes))]


def _parse_lbt(tokens: Sequence[str], names: Mapping[str, str]) -> spot.formula:
    """Spot's formula of prefix tokens; `names` are the propositions' names in Spot."""
    table = _LBT | {name: f'"{new}" ' for name, new in names.items()}
    return spot.parse_prefix_ltl("".join([table[token] for token in tokens])).f


def numbered(tokens: Sequence[str]) -> tuple[spot.formula, dict[str, str]]:
    """Spot's formula of prefix tokens, with names p1000, p1001, ...; and these by the old names."""
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
    """`trace_automaton` of steps as tokens (`read_trace`), for automata that share `bdd_dict`.

    `names` are the propositions' in Spot; one that is not among them gets a name of its own.
    """
    tokens, start = steps
    automaton = spot.make_twa_graph(bdd_dict)
    occurring = sorted(set().union(*tokens) - _LBT.keys())
    spot_names = {name: names.get(name) or f"only in the trace: {name}" for name in occurring}
    for name in spot_names.values():
        automaton.register_ap(name)
    last = len(tokens) - 1
    automaton.new_states(last + 1)
    for state, step in enumerate(tokens):
        condition = spot.formula_to_bdd(_parse_lbt(step, spot_names), bdd_dict, automaton)
        automaton.new_edge(state, start if state == last else state + 1, condition)
    return automaton


def word_to_trace(word: spot.twa_word, names: Mapping[str, str] | None = None) -> str:
    """The prefix text of a Spot word; `names` are the propositions' by what Spot calls them."""
    before, _, cycle = str(word)[:-1].rpartition("cycle{")
    prefix = before.split("; ")[:-1]
    steps = [_step_tokens(step, names or {}) for step in prefix + cycle.split("; ")]
    return join(trace_tokens(steps, len(prefix)))


def _step_tokens(step: str, names: Mapping[str, str]) -> list[str]:
    """Prefix tokens of a step as Spot prints it: a disjunction of conjunctions of literals."""
    terms = [term.strip("()").split(" & ") for term in step.split(" | ")]
    tokens = ["|"] * (len(terms) - 1)
    for literals in terms:
        tokens += ["&"] * (len(literals) - 1)
        for literal in literals:
            name = literal.removeprefix("!")
            if name != literal:
                tokens.append("!")
            tokens.append(names.get(name, name))
    return tokens
