"""What is true where: statuses on a trace, automata, partial assignments, copies; as tables."""

import html
import itertools
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from logical import formulas, traces
from logical import lassos as concrete_lassos
from tiny import tiny_network

from itekit.decoding import Solver
from itekit.logic import aiger_bridge
from itekit.logic.formulas import PROPOSITIONAL, Formula, parse_prefix, proposition
from itekit.logic.spot_bridge import to_spot
from itekit.logic.traces import Trace, parse_trace
from itekit.logic.truth_tables import Assignment, parse_assignment
from itekit.tasks.ltl import satisfies
from lessons.automata import automaton_figure, formula_automaton
from lessons.copies import GAP, Copy, CopyTable, copies
from lessons.infix import parse_infix
from lessons.panels import rows_figure
from lessons.semantics import (
    DEPENDS,
    FAILS,
    HOLDS,
    evaluate_ltl,
    evaluate_symbolic,
    lassos,
    letters,
)
from lessons.tables import (
    failing_completions,
    findings,
    node_values,
    status_item,
    status_table,
    superfluous,
)

# statuses

NAMES = ("a", "b")
FORMULAS = formulas(names=NAMES, leaves=6)
TRACES = traces(NAMES, leaves=3, longest=2).filter(
    lambda trace: all(letters(step, NAMES) for step in trace.steps)
)


def exact_step(letter: frozenset[str]) -> Formula:
    """The step that only this letter satisfies."""
    literals = [proposition(n) if n in letter else ~proposition(n) for n in NAMES]
    return literals[0] & literals[1]


@given(FORMULAS, concrete_lassos(NAMES))
def test_on_one_word_the_statuses_are_the_values(formula, lasso):
    """Agreement with the brute-force evaluator, which needs no Spot."""
    prefix, cycle = lasso
    trace = Trace(tuple(map(exact_step, prefix)), tuple(map(exact_step, cycle)))
    found, values = evaluate_symbolic(formula, trace), evaluate_ltl(formula, prefix, cycle)
    assert list(found) == list(values)
    for part, statuses in found.items():
        assert statuses == [HOLDS if value else FAILS for value in values[part]], part


@given(FORMULAS, TRACES)
def test_statuses_fit_every_lasso_of_the_trace(formula, trace):
    found = evaluate_symbolic(formula, trace)
    for prefix, cycle in itertools.islice(lassos(trace, NAMES, turns=1), 40):
        for part, values in evaluate_ltl(formula, prefix, cycle).items():
            for status, value in zip(found[part], values, strict=True):
                assert status in (DEPENDS, HOLDS if value else FAILS)


def test_a_table_says_the_same_as_text_and_as_html():
    table = status_item("&=acXb", "a;|ab;{b}")
    assert table == status_table(parse_infix("(a <-> c) & X b"), parse_trace("a;|ab;{b}"))
    text, page = repr(table), html.unescape(table._repr_html_())
    rows = text.splitlines()
    assert rows[0].split() == ["time", "0", "1", "↻", "2"]
    assert rows[1].split("  ")[-1].strip() == "b"
    assert rows[2].split() == ["a", "✓", "?", "│", "?"]
    assert all(part in text and part in page for part in ("? some words", "violated by", "a <-> c"))
    assert page.count('title="depends on the word"') == text.count("?") - 1  # one is the verdict
    assert "<->" not in table._repr_html_(), "what was typed is escaped"
    assert "only in the trace: b, c" in repr(status_table(parse_infix("a"), parse_trace("{&a&bc}")))
    assert "step 2" in status_item("a", "a;{1;&b!b}")


@given(FORMULAS)
def test_an_accepting_run_is_a_trace_and_the_drawing_has_every_edge(formula):
    automaton = formula_automaton(formula)
    figure = automaton_figure(automaton)
    told = "".join(html.unescape(note.text) + "|" for note in figure.layout.annotations)
    assert len(figure.data[-1].x) == automaton.states
    assert all(condition in told for _, condition, *_ in automaton.edges)
    run = [edge for edge in automaton.edges if edge[-1]]
    assert (automaton.trace is None) == to_spot(formula).translate().is_empty()
    if automaton.trace is None:
        assert not run
        return
    assert satisfies(formula.tokens(), automaton.trace) and "<b" in told
    sources, targets = ({edge[end] for edge in run} for end in (0, 2))
    assert 0 in sources and targets <= sources, "it never ends"
    assert all(any(mark in edge[3] for edge in run) for mark in automaton.marks)


# partial assignments


def formula_of(text: str):
    return parse_prefix(text, PROPOSITIONAL)


def completions(formula, assignment: Assignment) -> list[dict[str, bool]]:
    """All full assignments that agree with the partial one."""
    given, names = assignment.as_dict(), formula.propositions
    rows = product(*([given[n]] if n in given else [False, True] for n in names))
    return [dict(zip(names, row, strict=True)) for row in rows]


def value(formula, row: dict[str, bool]) -> bool:
    """The truth value under a full assignment, by py-aiger."""
    known = tuple((name, row[name]) for name in formula.propositions)
    return aiger_bridge.implied_by(formula, Assignment(known))


@st.composite
def questions(draw):
    """A formula, and values for some of its propositions."""
    formula = draw(formulas(PROPOSITIONAL, "abc", leaves=6))
    chosen = {name: draw(st.sampled_from([None, False, True])) for name in formula.propositions}
    return formula, Assignment(tuple((n, v) for n, v in chosen.items() if v is not None))


@given(questions())
def test_values_and_findings_agree_with_py_aiger(question):
    formula, assignment = question
    rows = completions(formula, assignment)
    for node, found in zip(formula.nodes(), node_values(formula, assignment), strict=True):
        seen = {value(node, row) for row in rows}
        assert found == ("open" if len(seen) == 2 else "true" if seen == {True} else "false")
    expected = [row for row in rows if not value(formula, row)]
    failing, failures, all_of_them = failing_completions(formula, assignment, most=100)
    assert {frozenset(row.items()) for row in expected} == {frozenset(f.values) for f in failing}
    assert (failures, all_of_them) == (len(expected), len(rows)) and len(failing) == failures
    found = findings(formula, assignment)
    right = aiger_bridge.implied_by(formula, assignment)
    assert (found["verdict"].split(":")[0] in ("exact", "correct")) == right == ("minimal" in found)
    for literal in assignment.values if right else ():
        rest = Assignment(tuple(other for other in assignment.values if other != literal))
        spare = aiger_bridge.implied_by(formula, rest)
        assert (Assignment((literal,)) in superfluous(formula, assignment)) == spare


def test_what_the_findings_say():
    formula = formula_of("|&a!b&bc")
    found = findings(formula, parse_assignment("b0"))
    assert found["formula"] == "a ∧ ¬b ∨ b ∧ c   (|&a!b&bc, 8 tokens)"
    assert found["verdict"] == "incorrect: false under 2 of 4 completions: b0a0c0,  b0a0c1"
    assert (found["true"], found["false"]) == ("¬b", "b,  b ∧ c")
    spare = findings(formula, parse_assignment("a1b0c1"))["minimal"]
    assert spare == "no: b0 or c1 can be left out"
    assert "tautology" in findings(formula_of("|a!a"), Assignment())["label"]
    assert findings(formula_of("&a!a"), Assignment())["label"].endswith("unsatisfiable")
    assert findings(formula_of("&&&abcd"), Assignment())["verdict"].endswith("and 9 more")
    with pytest.raises(ValueError, match="21 propositions are left free, at most 20"):
        findings(formula_of("&" * 20 + "abcdefghijklmnopqrstu"), Assignment())


# copies

STRINGS = st.text("abcdef", max_size=12)


@given(STRINGS, STRINGS)
def test_edits_rebuild_both_strings_and_count_the_distance(source, answer):
    copy = Copy(source, answer)
    assert "".join(c for _, c, _ in copy.edits if c != GAP) == source
    assert "".join(c for _, _, c in copy.edits if c != GAP) == answer
    assert sum(sign != " " for sign, _, _ in copy.edits) == copy.distance
    assert all((sign == " ") == (a == b) for sign, a, b in copy.edits)


def test_a_table_of_copies_escapes_what_was_typed():
    page = CopyTable({"<q>": [Copy("<i>", "&")], "x": [Copy("<i>", "", "no <row>")]})._repr_html_()
    assert "<i>" not in page and "<row>" not in page and "<q>" not in page


def test_copies_agree_with_the_evaluation_for_every_draw():
    network = tiny_network()
    task = network.experiment.task
    texts = [text for text, _ in task.pairs()]
    for draw in range(2):
        distances = task.distances(Solver(network, draw))
        expected = distances[~np.isnan(distances)].tolist()
        assert [copy.distance for copy in copies(network, texts, draw)] == expected


def test_copies_keep_order_when_some_strings_cannot_be_read(monkeypatch):
    monkeypatch.setattr(Solver, "_decode", lambda solver, texts: {text: [text] for text in texts})
    plain, proposed = tiny_network("copying-5-10/plain"), tiny_network()
    texts = ["abc", "xyz", "e", "abcdef"]
    found = copies(plain, texts)
    assert [copy.source for copy in found] == texts
    assert [copy.answer for copy in found] == ["abc", "", "e", ""]
    assert [copy.distance for copy in found] == [0, 3, 0, 6]
    assert "'x'" in found[1].problem and "'f'" in found[3].problem
    assert [copy.answer for copy in copies(proposed, texts)] == texts
    with pytest.raises(ValueError, match="'!' at position 2"):
        copies(plain, ["abc", "ab!"])


def test_rows_in_use_share_their_first_part_and_differ_in_the_second():
    network = tiny_network()
    ((heatmap,), (redrawn,)) = (rows_figure(network, "zaz", draw).data for draw in (0, 1))
    rows, other = (np.array(one.z) for one in (heatmap, redrawn))
    assert list(heatmap.y) == ["<end>", "<start>", "a", "z"]
    shared = rows.shape[1] - network.embedding.d_beta
    assert (rows[2, :shared] == rows[3, :shared]).all() and (rows[:2, shared:] == 0).all()
    assert (rows[2, shared:] != rows[3, shared:]).any()
    assert (other[:, :shared] == rows[:, :shared]).all() and (other != rows).any()
