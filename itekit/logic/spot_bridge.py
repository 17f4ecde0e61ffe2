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


def accepting_trace(tokens: Sequence[str], translation: str, simplify: bool) -> str | None:
    """The trace of an accepting run of a formula's automaton; None if it has none.

    The same tokens always give the same trace, whatever the process did before.
    """
    formula, names = numbered(tokens)
    automaton = _translate(formula, translation, spot.make_bdd_dict())
    automaton.merge_edges()  # as DeepLTL does: of two steps that lead to one place, either will do
    if translation == "default":
        automaton = _in_fixed_order(automaton)
    run = automaton.accepting_run()
    if run is None:
        return None
    word = spot.twa_word(run)
    if simplify:
        word.simplify()
    return word_to_trace(word, {new: name for name, new in names.items()})


def satisfies(tokens: Sequence[str], steps: Steps) -> bool:
    """Whether all words of a trace's steps satisfy the formula; true if there are no words.

    The steps' automaton then has no word in common with that of the negated formula.
    """
    formula, names = numbered(tokens)
    bdd_dict = spot.make_bdd_dict()  # its own, so that nothing piles up
    negation = _translate(spot.formula.Not(formula), "fast", bdd_dict)
    return not negation.intersects(steps_automaton(steps, names, bdd_dict))


def _translate(formula: spot.formula, translation: str, bdd_dict: spot.bdd_dict) -> spot.twa_graph:
    translator = spot.translator(bdd_dict)
    if translation == "fast":
        translator.set_level(spot.postprocessor.Low)
        translator.set_pref(spot.postprocessor.Any)
    return translator.run(formula)


def _in_fixed_order(automaton: spot.twa_graph) -> spot.twa_graph:
    """The automaton with its states in an order that it alone decides.

    Spot numbers the states of a minimised automaton (a deterministic weak one) by where its BDDs
    happen to lie in memory. Here they are numbered breadth first, edges by their text, positive
    literals first.
    """
    if not (automaton.prop_weak().is_true() and automaton.prop_universal().is_true()):
        return automaton
    bdd_dict = automaton.get_dict()
    start = automaton.get_init_state_number()
    ordered = spot.make_twa_graph(bdd_dict)
    ordered.copy_ap_of(automaton)
    ordered.copy_acceptance_of(automaton)
    numbers, queue, edges = {start: 0}, [start], []
    for state in queue:
        texts = {spot.bdd_format_formula(bdd_dict, e.cond): e for e in automaton.out(state)}
        for text in sorted(texts, key=lambda text: text.replace("!", "~")):
            edge = texts[text]
            if edge.dst not in numbers:
                numbers[edge.dst] = len(numbers)
                queue.append(edge.dst)
            edges.append((numbers[state], numbers[edge.dst], edge.cond, edge.acc))
    ordered.new_states(len(numbers))
    for edge in edges:
        ordered.new_edge(*edge)
    ordered.merge_edges()
    return ordered


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
