"""Linear temporal logic solving (paper, appendix "Temporal logic overview").

A formula is given, and the model is to produce a symbolic trace, such as `a;&ab;{b}`, all of whose
words satisfy it. Labels come from Spot: an accepting run of the formula's automaton, as in
LTLRandom35 (DeepLTL). Formulas that nothing satisfies get no label. Two translations:

    default     the small automaton that Spot makes an effort for; the paper's data
    fast        Spot's options Low and Any; much less time for large formulas, other runs

A trace is checked by Spot: its automaton has no word in common with the automaton of the *negated*
formula, translated fast. That is exact, and a step may be any Boolean formula. A step that nothing
satisfies (`0`, `&a!a`) leaves no word at all, and such a trace satisfies every formula: by the
definition, for DeepLTL's checker, whose data label unsatisfiable formulas `{0}`, and the authors'.
Here it has a verdict of its own, VACUOUS.

Formulas and traces are prefix text (`itekit.logic.formulas`), or sequences of tokens.
"""

import spot

from itekit.logic.formulas import LTL, FormulaError, Text, read_tokens, split
from itekit.logic.spot_bridge import numbered, steps_automaton, word_to_trace
from itekit.logic.traces import Steps, parse_trace, read_trace, trace_equal
from itekit.tasks.verdicts import CORRECT, EXACT, INCORRECT, INVALID, VACUOUS

TRANSLATIONS = ("default", "fast")


def solve(formula: Text, translation: str = "default", *, simplify: bool = False) -> str | None:
    """The label of a formula: the trace of an accepting run; None if nothing satisfies it.

    The same text always gives the same trace, whatever the process did before. With `simplify`,
    Spot shortens the trace; the paper's data are not simplified. FormulaError if `formula` is not
    one LTL formula; ValueError for an unknown translation.
    """
    if translation not in TRANSLATIONS:
        known = ", ".join(TRANSLATIONS)
        raise ValueError(f"unknown translation {translation!r}: expected one of {known}")
    spot_formula, names = numbered(read_tokens(formula, LTL))
    automaton = _translate(spot_formula, translation, spot.make_bdd_dict())
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


def satisfies(formula: Text, trace: Text) -> bool:
    """Whether all words of the trace satisfy the formula; true if the trace has no words."""
    return _satisfies(formula, read_trace(trace))


def check(formula: Text, answer: Text, label: Text | None = None) -> str:
    """The verdict on an answer (`itekit.tasks.verdicts`).

    EXACT if its steps are the label's up to the order of commutative operands; INVALID if it is no
    trace; CORRECT if it satisfies the formula, VACUOUS if it does so by no word; else INCORRECT.
    FormulaError if `formula` or `label` is none, where they are read.
    """
    try:
        steps = read_trace(answer)
    except FormulaError:
        return INVALID
    if answer == label:
        return EXACT
    same_tokens = label is not None and sorted(split(answer)) == sorted(split(label))
    if same_tokens and trace_equal(parse_trace(answer), parse_trace(label)):
        return EXACT
    if not _satisfies(formula, steps):
        return INCORRECT
    return VACUOUS if _satisfies("0", steps) else CORRECT


def is_empty(trace: Text) -> bool:
    """Whether the trace stands for no word at all, since nothing satisfies one of its steps."""
    return satisfies("0", trace)


def _translate(formula: spot.formula, translation: str, bdd_dict: spot.bdd_dict) -> spot.twa_graph:
    translator = spot.translator(bdd_dict)
    if translation == "fast":
        translator.set_level(spot.postprocessor.Low)
        translator.set_pref(spot.postprocessor.Any)
    return translator.run(formula)


def _satisfies(formula: Text, steps: Steps) -> bool:
    spot_formula, names = numbered(read_tokens(formula, LTL))
    bdd_dict = spot.make_bdd_dict()  # its own, so that nothing piles up
    negation = _translate(spot.formula.Not(spot_formula), "fast", bdd_dict)
    return not negation.intersects(steps_automaton(steps, names, bdd_dict))


def _in_fixed_order(automaton: spot.twa_graph) -> spot.twa_graph:
    """The automaton with its states in an order that it alone decides.

    Spot numbers the states of a minimised automaton (a deterministic weak one) by where its BDDs
    happen to lie in memory. Here they are numbered breadth first, edges by their text, positive
    literals first.
    """
    if not (automaton.prop_weak().is_true() and automaton.prop_universal().is_true()):
        return automaton
    bdd_dict, start = automaton.get_dict(), automaton.get_init_state_number()
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
