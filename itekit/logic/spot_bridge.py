"""Spot's formulas, words and automata, and ours.

Spot (the paper's tool for LTL) reads and prints prefix notation itself, in the dialect of the
program lbt: `t` and `f` for true and false, names in quotes unless they are p0, p1, ... So text
goes to Spot and back token by token, without a tree in between. What that avoids as well: Spot's
own infix text `X0` is read back as a proposition called X0.

Spot orders the operands of a conjunction by the age of the formulas in the process, and an
accepting run may depend on that order. `numbered` therefore gives Spot names of its own: no part of
a formula is shared with what is alive elsewhere (a notebook's formulas), and one text always has
one answer.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

import spot
from spot import buddy

from itekit.logic.formulas import Formula, from_tokens
from itekit.logic.operators import LTL, is_name
from itekit.logic.prefix import join
from itekit.logic.reading import Steps, read_formula
from itekit.logic.traces import Trace

# BDD variables that Spot has to add later get an order, and a trace's step perhaps another form,
# that depend on how many the formulas before it needed: have enough from the start.
buddy.bdd_extvarnum(300)

FIRST = 1000
"""The first name that `numbered` gives is p1000; a person's own would rather be p0."""

FOREIGN = "only in the trace: "
"""How Spot's names start for propositions that a trace has and the formula does not."""

_LBT = {token: f"{token} " for token in LTL.tokens}
_LBT |= {"1": "t ", "0": "f ", ">": "i ", "=": "e ", "R": "V "}
_FROM_LBT = {spelling.strip(): token for token, spelling in _LBT.items()}
_LBT_TOKEN = re.compile(r'"[^"]*"|\S+')
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


def from_spot(formula: spot.formula) -> Formula:
    """The tree of a Spot formula; a conjunction of several is nested to the left.

    Raises:
        ValueError: an operator that LTL lacks, or a name that is none here.
    """
    return from_tokens(_spot_tokens(formula))


def prefix_to_spot(text: str, *, format: str = "characters") -> spot.formula:
    """`to_spot` of `parse_prefix`, without the tree.

    Raises:
        FormulaError: the text is not one LTL formula.
        ValueError: an unknown format.
    """
    tokens = read_formula(text, format)
    return _parse_lbt(tokens, {name: name for name in tokens if name not in _LBT})


def spot_to_prefix(formula: spot.formula, *, format: str = "characters") -> str:
    """The prefix text of `from_spot`.

    Raises:
        ValueError: an operator that LTL lacks, a name that is none here or does not fit the
            format, or an unknown format.
    """
    return join(_spot_tokens(formula), format)


def numbered(tokens: Sequence[str]) -> tuple[spot.formula, dict[str, str]]:
    """Spot's formula with its propositions renamed p1000, p1001, ... in order; and their new names.

    Args:
        tokens: the prefix tokens of a formula (`read_formula`).
    """
    names = sorted(set(tokens) - _LBT.keys(), key=lambda name: (len(name), name))
    new = {name: f"p{number}" for number, name in enumerate(names, FIRST)}
    return _parse_lbt(tokens, new), new


def trace_automaton(trace: Trace, bdd_dict: spot.bdd_dict | None = None) -> spot.twa_graph:
    """The automaton of all words that the trace stands for: one state and one edge a step.

    Args:
        bdd_dict: of the automata that it is to meet; by default the one Spot uses by default.
    """
    steps = [step.tokens() for step in trace.steps], len(trace.prefix)
    names = {name: name for name in trace.propositions}
    return steps_automaton(steps, names, bdd_dict or spot._bdd_dict)


def steps_automaton(
    steps: Steps, names: Mapping[str, str], bdd_dict: spot.bdd_dict
) -> spot.twa_graph:
    """`trace_automaton` of steps as tokens.

    Args:
        names: the propositions' names in Spot; one that is not among them gets a name of its own.
    """
    tokens, start = steps
    automaton = spot.make_twa_graph(bdd_dict)
    leaves = {"1": buddy.bddtrue, "0": buddy.bddfalse}
    for name in sorted(set().union(*tokens) - _LBT.keys()):
        spot_name = names.get(name) or f"{FOREIGN}{name}"
        leaves[name] = buddy.bdd_ithvar(automaton.register_ap(spot_name))
    last = len(tokens) - 1
    automaton.new_states(last + 1)
    for state, step in enumerate(tokens):
        automaton.new_edge(state, start if state == last else state + 1, _bdd(step, leaves))
    return automaton


def word_to_trace(
    word: spot.twa_word, names: Mapping[str, str] | None = None, *, format: str = "characters"
) -> str:
    """The text of the trace that a Spot word is.

    Args:
        names: the propositions' names in the text by their names in Spot; default the same.

    Raises:
        ValueError: a name that is none here or does not fit the format, or an unknown format.
    """
    before, _, cycle = str(word)[:-1].rpartition("cycle{")
    tokens: list[str] = []
    for step in before.split("; ")[:-1]:
        tokens += (*_step_tokens(step, names), ";")
    for number, step in enumerate(cycle.split("; ")):
        tokens += (";" if number else "{", *_step_tokens(step, names))
    return join([*tokens, "}"], format)


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
            tokens.append(name if name in ("1", "0") else names[name] if names else _own_name(name))
    return tokens


def _own_name(name: str) -> str:
    if not is_name(name):
        raise ValueError(f"{name!r} is no name of an atomic proposition")
    return name


def from_lbt(lbt: Iterable[str], names: Mapping[str, str]) -> list[str]:
    """Prefix tokens of lbt's; `names` are the propositions' names by what lbt calls them."""
    return [_FROM_LBT.get(token) or names[token] for token in lbt]


def _parse_lbt(tokens: Sequence[str], names: Mapping[str, str]) -> spot.formula:
    """Spot's formula of prefix tokens; `names` are the propositions' names in Spot."""
    table = _LBT | {name: f'"{new}" ' for name, new in names.items()}
    return spot.parse_prefix_ltl("".join([table[token] for token in tokens])).f


def _spot_tokens(formula: spot.formula) -> list[str]:
    if not formula.is_ltl_formula():
        raise ValueError(f"expected a formula of linear temporal logic, found {formula}")
    lbt = _LBT_TOKEN.findall(spot.str_lbt_ltl(formula))
    names = {token: _own_name(token.strip('"')) for token in lbt if token not in _FROM_LBT}
    return from_lbt(lbt, names)


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
