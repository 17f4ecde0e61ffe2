"""The brute-force reference and the exact statuses on symbolic traces: against Spot and each other.

Truth tables are in `test_propositional`.
"""

from itertools import product

import pytest
import spot
from hypothesis import given, settings
from hypothesis import strategies as st
from logical import formulas, lassos, spot_formula, traces

from itekit.logic.formulas import LTL, STEPS, Formula, parse_prefix, proposition
from itekit.logic.spot_bridge import trace_automaton
from itekit.logic.traces import parse_trace
from itekit.tasks.ltl import satisfies
from lessons.semantics import (
    DEPENDS,
    FAILS,
    HOLDS,
    EmptyTraceError,
    evaluate_ltl,
    evaluate_symbolic,
    example_words,
    holds,
    letters,
    truth_table,
)

# LTL on one word


def spot_word(prefix, cycle, names="abc"):
    """The lasso as a Spot automaton that accepts this one word."""

    def text(letter):
        return " & ".join(name if name in letter else f"!{name}" for name in names)

    steps = [text(letter) for letter in prefix] + [f"cycle{{{'; '.join(map(text, cycle))}}}"]
    return spot.parse_word("; ".join(steps)).as_automaton()


def test_for_each_subformula_where_it_holds():
    values = evaluate_ltl(parse_prefix("UaXb"), [{"a"}, {"a"}, {"b"}], [set()])
    assert [(str(part), value) for part, value in values.items()] == [
        ("a", [True, True, False, False]),
        ("b", [False, False, True, False]),
        ("X b", [False, True, False, False]),
        ("U a X b", [True, True, False, False]),
    ]
    with pytest.raises(ValueError, match="the cycle needs at least one letter"):
        evaluate_ltl(parse_prefix("a"), [{"a"}], [])


@settings(max_examples=200)
@given(formulas(), lassos())
def test_against_spot(f, lasso):
    translated = spot_formula(f).translate("Low", "Any")
    assert holds(f, *lasso) == translated.intersects(spot_word(*lasso))


def test_every_operator_against_spot_on_all_short_lassos():
    words = [
        (prefix, cycle, spot_word(prefix, cycle, "ab"))
        for some in product(map(frozenset, ("", "a", "b", "ab")), repeat=3)
        for prefix, cycle in [(some[:1], some[1:]), (some[:2], some[2:])]
    ]
    operands = proposition("a"), proposition("b")
    for operator in LTL.operators:
        f = Formula(operator.token, operands[: operator.arity])
        translated = spot_formula(f).translate("Low", "Any")
        for prefix, cycle, word in words:
            assert holds(f, prefix, cycle) == translated.intersects(word), (f, prefix, cycle)


@given(formulas(), lassos(), st.integers(1, 3))
def test_writing_the_cycle_out_changes_nothing(f, lasso, turns):
    prefix, cycle = lasso
    value = holds(f, prefix, cycle)
    assert value == holds(f, prefix, cycle * turns) == holds(f, prefix + cycle * turns, cycle)
    assert holds(~f, prefix, cycle) == (not value) == (not holds(f.core(), prefix, cycle))


# Statuses on all words of a trace

NAMES = ("a", "b")
FORMULAS = formulas(names=NAMES, leaves=6)
TRACES = traces(NAMES, leaves=3, longest=2).filter(
    lambda trace: all(letters(step, NAMES) for step in trace.steps)
)


@settings(max_examples=60)
@given(FORMULAS, TRACES)
def test_a_status_that_depends_has_a_word_on_either_side(formula, trace):
    """So that no status says less than is known; and the first one is the checker's verdict."""
    status = evaluate_symbolic(formula, trace)[formula][0]
    assert (status == HOLDS) == satisfies(str(formula), trace.text())
    satisfying, violating = example_words(formula, trace)
    sides = {HOLDS: (True, False), FAILS: (False, True), DEPENDS: (True, True)}
    assert (satisfying is not None, violating is not None) == sides[status]
    for word, side in (satisfying, formula), (violating, ~formula):
        if word is not None:
            assert satisfies(str(side), word.text())
            assert not trace_automaton(word).is_empty()
            assert spot.contains(trace_automaton(trace), trace_automaton(word))


def test_a_trace_without_words_is_an_error_that_names_the_step():
    with pytest.raises(EmptyTraceError, match=r"step 2 \(& b ! b\) cannot be satisfied"):
        evaluate_symbolic(proposition("a"), parse_trace("a;{1;&b!b}"))


# Propositional logic


@given(formulas(STEPS))
def test_truth_tables_are_ltl_on_one_letter(f):
    table = truth_table(f, "abc")
    for number, values in enumerate(product([False, True], repeat=3)):
        letter = {name for name, value in zip("cba", values, strict=True) if value}
        assert bool(table >> number & 1) == holds(f, [], [letter])
    assert 0 <= table < 1 << 8
    assert [sum(1 << "abc".index(name) for name in letter) for letter in letters(f, "abc")] == [
        number for number in range(8) if table >> number & 1
    ]


def test_what_has_no_table():
    for text in ("Xa", "b"):
        with pytest.raises(ValueError, match=r"expected a Boolean operator or a proposition \(a\)"):
            truth_table(parse_prefix(text), "a")
