"""The panels for LTL, and what they show: statuses, automata, typed text, tables."""

import html
import itertools

import pytest
import spot
from hypothesis import given, settings
from hypothesis import strategies as st
from logical import formulas, traces
from logical import lassos as concrete_lassos

from lessons import logic_widgets
from itekit.datasets.child import load
from itekit.logic.automata import automaton_item, formula_automaton
from itekit.logic.errors import FormulaError
from itekit.logic.formulas import MAX_DEPTH, Formula, proposition
from itekit.logic.infix import parse_infix, to_infix
from itekit.logic.infix_traces import trace_to_infix
from itekit.logic.notation import formula_from_text, trace_from_text
from itekit.logic.operators import LTL
from itekit.logic.prefix import parse_prefix
from itekit.logic.semantics import evaluate_ltl, holds, lassos, letters
from itekit.logic.spot_bridge import to_spot, trace_automaton
from itekit.logic.statuses import (
    DEPENDS,
    FAILS,
    HOLDS,
    EmptyTraceError,
    evaluate_symbolic,
    example_words,
    statuses_item,
)
from itekit.logic.traces import Trace, parse_trace
from lessons.status_tables import status_table
from itekit.tasks.ltl import satisfies
from itekit.tasks.verdicts import TIME_OUT

NAMES = ("a", "b")
FORMULAS = formulas(names=NAMES, leaves=6)
TRACES = traces(NAMES, leaves=3, longest=2).filter(
    lambda trace: all(letters(step, NAMES) for step in trace.steps)
)


def exact_step(letter: frozenset[str]) -> Formula:
    """The step that only this letter satisfies."""
    literals = [proposition(n) if n in letter else ~proposition(n) for n in NAMES]
    return literals[0] & literals[1]


# statuses


@settings(max_examples=100)
@given(FORMULAS, concrete_lassos(NAMES))
def test_on_one_word_the_statuses_are_the_values(formula, lasso):
    """Agreement with the brute-force evaluator, which needs no Spot."""
    prefix, cycle = lasso
    trace = Trace(tuple(map(exact_step, prefix)), tuple(map(exact_step, cycle)))
    found = evaluate_symbolic(formula, trace)
    values = evaluate_ltl(formula, prefix, cycle)
    assert list(found) == list(values)
    for part, statuses in found.items():
        assert statuses == [HOLDS if value else FAILS for value in values[part]], part


@settings(max_examples=100)
@given(FORMULAS, TRACES)
def test_statuses_fit_every_concrete_lasso_of_the_trace(formula, trace):
    found = evaluate_symbolic(formula, trace)
    for prefix, cycle in itertools.islice(lassos(trace, NAMES, turns=1), 40):
        for part, values in evaluate_ltl(formula, prefix, cycle).items():
            for status, value in zip(found[part], values, strict=True):
                assert status in (DEPENDS, HOLDS if value else FAILS)


@settings(max_examples=100)
@given(FORMULAS, TRACES)
def test_a_status_that_depends_has_a_word_on_either_side(formula, trace):
    """So that no status says less than is known."""
    status = evaluate_symbolic(formula, trace)[formula][0]
    satisfying, violating = example_words(formula, trace)
    sides = {HOLDS: (True, False), FAILS: (False, True), DEPENDS: (True, True)}
    assert (satisfying is not None, violating is not None) == sides[status]
    for word, side in (satisfying, formula), (violating, ~formula):
        if word is not None:
            assert satisfies(str(side), str(word), format="spaced")
            assert not (trace_automaton(trace).is_empty() or trace_automaton(word).is_empty())
            assert spot.contains(trace_automaton(trace), trace_automaton(word))


@given(FORMULAS, TRACES)
def test_the_first_status_is_the_checkers_verdict(formula, trace):
    first = evaluate_symbolic(formula, trace)[formula][0]
    assert (first == HOLDS) == satisfies(str(formula), str(trace), format="spaced")


@given(FORMULAS, TRACES)
def test_each_time_is_the_start_of_the_rest_of_the_trace(formula, trace):
    whole = evaluate_symbolic(formula, trace)[formula]
    rests = [trace.suffix(time) for time in range(len(trace.steps))]
    assert whole == [evaluate_symbolic(formula, rest)[formula][0] for rest in rests]


def test_one_turn_of_the_cycle_is_not_enough_to_prove():
    """Each lasso with the cycle once satisfies the formula, but not every word does."""
    formula, trace = parse_infix("G a | G !a"), parse_trace("{1}")
    assert all(holds(formula, *lasso) for lasso in lassos(trace, ["a"]))
    assert evaluate_symbolic(formula, trace)[formula] == [DEPENDS]


def test_a_whole_can_be_certain_where_its_parts_are_not():
    found = evaluate_symbolic(parse_infix("G(a | !a)"), parse_trace("{1}"))
    assert [row[0] for row in found.values()] == [DEPENDS, DEPENDS, HOLDS, HOLDS]


def test_a_trace_without_words_is_an_error_that_names_the_step():
    trace = parse_trace("a;{1;&b!b}")
    with pytest.raises(EmptyTraceError, match=r"step 2 \(& b ! b\) cannot be satisfied"):
        evaluate_symbolic(proposition("a"), trace)
    assert "step 2" in statuses_item(["a", str(trace)])["problem"]


# automata


@settings(max_examples=100)
@given(FORMULAS)
def test_the_run_is_a_trace_of_the_formula_and_walks_along_the_edges(formula):
    automaton = formula_automaton(formula)
    run = [edge for edge in automaton.edges if edge.on_run]
    assert (automaton.trace is None) == to_spot(formula).translate().is_empty()
    if automaton.trace is None:
        assert not run and automaton.acceptance == "none"
        return
    assert satisfies(str(formula), automaton.trace, format="spaced")
    assert 0 in {edge.source for edge in run}
    assert {edge.target for edge in run} <= {edge.source for edge in run}, "it never ends"
    assert set().union(*(edge.marks for edge in run)) >= set(range(automaton.marks))


@given(FORMULAS)
def test_text_and_drawing_have_every_edge(formula):
    automaton = formula_automaton(formula)
    first, *lines = automaton.text().splitlines()
    assert first.startswith(f"{automaton.states} state")
    assert len(lines) == len(automaton.edges)
    for edge, line in zip(automaton.edges, lines, strict=True):
        assert line.startswith(f"{edge.source} -> {edge.target} ") and edge.condition in line
        assert f"{edge.source} -> {edge.target} [label=<" in automaton.dot()
        assert html.escape(edge.condition) in automaton.dot()
    assert {edge.target for edge in automaton.edges} | {0} == set(range(automaton.states))


def test_an_automaton_of_another_kind_is_refused():
    with pytest.raises(ValueError, match="expected generalized Büchi"):
        formula_automaton(parse_infix("F G a"), ("coBuchi",))


def test_a_large_automaton_is_only_counted():
    found = automaton_item(["X " * 30 + "a"])
    assert found["states"] == 32 and "dot" not in found and found["trace"]


# typed text


@given(FORMULAS)
def test_whatever_notation_is_read_the_same(formula):
    for text in ("".join(formula.tokens()), str(formula), to_infix(formula)):
        assert formula_from_text(text) == formula
    assert formula_from_text(to_infix(formula, unicode=True)) == formula


@pytest.mark.parametrize("operator", LTL.operators, ids=lambda operator: operator.name)
def test_every_operator_is_read_in_both_notations(operator):
    formula = Formula(operator.token, tuple(map(proposition, "ab"[: operator.arity])))
    inside = ~formula
    for one in (formula, inside):
        assert formula_from_text("".join(one.tokens())) == formula_from_text(to_infix(one)) == one


@given(TRACES)
def test_whatever_notation_of_a_trace_is_read_the_same(trace):
    for text in (trace.text(), trace.text(format="spaced"), trace_to_infix(trace)):
        assert trace_from_text(text) == trace


@given(st.text("abX!&|U()<->=^ ", max_size=12))
def test_no_text_is_a_formula_in_both_notations_with_two_meanings(text):
    readings = []
    for read in (parse_prefix, parse_infix):
        try:
            readings.append(read(text))
        except FormulaError:
            continue
    assert len(set(readings)) <= 1
    if readings and " " not in text:
        assert formula_from_text(text) == readings[0]


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [("a U", 3, "a formula after 'U'"), ("Ua", 2, "the second operand"), ("& a", 3, "second")],
)
def test_errors_are_those_of_the_notation_that_the_text_looks_like(text, position, expected):
    with pytest.raises(FormulaError, match=expected) as caught:
        formula_from_text(text)
    assert caught.value.position == position


@pytest.mark.parametrize(("text", "position"), [("a;&a;{b}", 4), ("a; a & ; cycle{b}", 7)])
def test_trace_errors_are_those_of_the_reading_that_got_further(text, position):
    with pytest.raises(FormulaError) as caught:
        trace_from_text(text)
    assert caught.value.position == position


# tables


def test_a_table_says_the_same_as_text_and_as_html():
    table = status_table(parse_infix("(a <-> c) & X b"), parse_trace("a;|ab;{b}"))
    text, page = repr(table), html.unescape(table._repr_html_())
    rows = text.splitlines()
    assert rows[0].split() == ["time", "0", "1", "↻", "2"]
    assert rows[1].split("  ")[-1].strip() == "b"
    assert rows[2].split() == ["a", "✓", "?", "│", "?"]
    for part in ("? some words", "violated by", "a <-> c"):
        assert part in text and part in page
    assert page.count('title="depends on the word"') == text.count("?") - 1  # one is the verdict
    assert "<->" not in table._repr_html_(), "what was typed is escaped"


def test_a_table_names_what_only_the_trace_has():
    table = status_table(parse_infix("a"), parse_trace("{&a&bc}"))
    assert "only in the trace: b, c" in repr(table)
    assert "only" not in repr(status_table(parse_infix("a"), parse_trace("{a}")))


# panels


@pytest.fixture
def here(monkeypatch):
    """Questions are answered in this process, without a time limit."""

    def ask(self, task, item):
        return load(task)(item)

    monkeypatch.setattr(logic_widgets._LogicPanel, "ask", ask)


def test_explorer_answers_every_control(here):
    panel = logic_widgets.TraceExplorer("a U b", "a;{b}")
    assert "✓ every word" in panel.answer.value and panel.picture.outputs
    panel.trace.value = "a; a & !b; cycle{a}"
    assert "some words" in panel.answer.value or "no word" in panel.answer.value
    panel.formula.value = "UaXb"
    assert "a U Xb ·" in panel.answer.value and "prefix UaXb" in panel.answer.value
    for number, (name, formula, trace) in enumerate(logic_widgets.EXAMPLES, 1):
        assert formula in panel.examples.options[number][0]
        panel.examples.value = number
        assert (panel.formula.value, panel.trace.value) == (formula, trace), name
        assert 'role="alert"' not in panel.answer.value
    panel.formula.value = "X(a & b)"
    assert panel.examples.value == 0, "the same example can be chosen again"
    panel.solve.click()
    assert panel.trace.value == "1;&ab;{1}" and "✓ every word" in panel.answer.value
    panel.formula.value = "a & !a"
    panel.solve.click()
    assert "Nothing satisfies" in panel.answer.value and panel.picture.outputs == ()


@pytest.mark.parametrize(
    ("formula", "trace", "message"),
    [
        ("", "{1}", "no formula"),
        ("a U", "{1}", "no formula"),
        ("<b>", "{1}", "no formula"),
        ("X" * (MAX_DEPTH + 1) + "a", "{1}", "inside each other"),
        ("X" * 100 + "a", "{1}", "at most 80"),
        ("a", "", "no trace"),
        ("a", "a;{b", "no trace"),
        ("a", "1;" * 40 + "{1}", "at most 30"),
        ("a", "{0}", "stands for no word"),
    ],
)
def test_explorer_shows_errors_inside_and_goes_on(here, formula, trace, message):
    panel = logic_widgets.TraceExplorer()
    panel.formula.value, panel.trace.value = formula, trace
    page = panel.answer.value
    assert 'role="alert"' in page and message in page and "<b>\n" not in page
    assert panel.picture.outputs == (), "no picture of another trace stays"
    panel.solve.click()
    panel.formula.value, panel.trace.value = "a", "{a}"
    assert 'role="alert"' not in panel.answer.value and panel.picture.outputs


def test_both_texts_can_be_wrong_at_once(here):
    panel = logic_widgets.TraceExplorer("a U", "{")
    assert panel.answer.value.count('role="alert"') == 2


def test_automaton_explorer_draws_or_counts(here):
    panel = logic_widgets.AutomatonExplorer("a U b")
    assert "b;{1}" in panel.answer.value and "0 -&gt; 1" in panel.answer.value
    panel.formula.value = "0"
    assert "nothing satisfies it" in panel.answer.value
    panel.formula.value = "X" * 30 + "a"
    assert "Too large to be drawn" in panel.answer.value
    panel.formula.value = "a &"
    assert 'role="alert"' in panel.answer.value


def test_a_question_that_takes_too_long_is_said_in_the_panel(monkeypatch):
    """With a real worker process, which the kernel ends."""
    monkeypatch.setattr(logic_widgets, "CPU_SECONDS", 0.3)
    hard = " & ".join(f"(G F a{i} | F G b{i} | (c{i} U d{i}))" for i in range(5))
    panel = logic_widgets.AutomatonExplorer("a")
    try:
        assert "1 -&gt; 1" in panel.answer.value
        panel.formula.value = hard
        assert "not done after 0.3 CPU seconds" in panel.answer.value
        panel.formula.value = "b"
        assert "accepting run" in panel.answer.value
    finally:
        panel.stop()
    assert TIME_OUT not in panel.answer.value
