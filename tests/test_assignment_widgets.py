"""What is true under a partial assignment, and the panel that says so, without a browser."""

import html
import re
import subprocess
import sys
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from logical import formulas

from lessons.assignment_widgets import AssignmentExplorer, findings_html, random_renaming
from itekit.logic import aiger_bridge
from itekit.logic.assignments import Assignment, parse_assignment
from itekit.logic.formulas import PROPOSITION
from itekit.logic.operators import PROPOSITIONAL
from itekit.logic.prefix import parse_prefix
from lessons.satisfaction import failing_completions, findings, node_values, superfluous
from itekit.tasks.propositional import check, solve

CONNECTIVES = {
    "1": lambda: True,
    "0": lambda: False,
    "!": lambda a: not a,
    "&": lambda a, b: a and b,
    "|": lambda a, b: a or b,
    "=": lambda a, b: a == b,
    "^": lambda a, b: a != b,
}


def formula_of(text: str):
    return parse_prefix(text, PROPOSITIONAL)


def value(formula, row: dict[str, bool]) -> bool:
    """The truth value of a formula under a full assignment, by recursion."""
    if formula.operator == PROPOSITION:
        return row[formula.name]
    return CONNECTIVES[formula.operator](*(value(operand, row) for operand in formula.operands))


def completions(formula, assignment: Assignment) -> list[dict[str, bool]]:
    """All full assignments that agree with the partial one."""
    names = formula.propositions
    rows = [dict(zip(names, row, strict=True)) for row in product([False, True], repeat=len(names))]
    return [row for row in rows if all(row[name] == v for name, v in assignment.values)]


@st.composite
def questions(draw):
    """A formula, and values for some of its propositions."""
    formula = draw(formulas(PROPOSITIONAL, "abcd"))
    chosen = {name: draw(st.sampled_from([None, False, True])) for name in formula.propositions}
    return formula, Assignment(tuple((n, v) for n, v in chosen.items() if v is not None))


@given(questions())
def test_a_node_is_settled_if_all_completions_agree(question):
    formula, assignment = question
    rows = completions(formula, assignment)
    for node, found in zip(formula.nodes(), node_values(formula, assignment), strict=True):
        seen = {value(node, row) for row in rows}
        assert found == ("open" if len(seen) == 2 else "true" if seen == {True} else "false")


@given(questions())
def test_failing_completions_are_those_under_which_the_formula_is_false(question):
    formula, assignment = question
    rows = completions(formula, assignment)
    expected = [row for row in rows if not value(formula, row)]
    found, failures, all_of_them = failing_completions(formula, assignment, most=100)
    assert {frozenset(row.items()) for row in expected} == {frozenset(one.values) for one in found}
    assert (failures, all_of_them) == (len(expected), len(rows)) and len(found) == failures
    few, failures, _ = failing_completions(formula, assignment, most=2)
    assert few == found[:2] and failures == len(expected)


@given(questions())
def test_findings_agree_with_py_aiger_and_with_brute_force(question):
    formula, assignment = question
    found = findings(formula, assignment)
    right = aiger_bridge.implied_by(formula, assignment)
    assert (found["verdict"].split(":")[0] in ("exact", "correct")) == right
    assert ("minimal" in found) == right
    if right:
        for literal in assignment.values:
            rest = Assignment(tuple(other for other in assignment.values if other != literal))
            spare = all(value(formula, row) for row in completions(formula, rest))
            assert (Assignment((literal,)) in superfluous(formula, assignment)) == spare


@given(formulas(PROPOSITIONAL, "abcd"))
def test_the_label_is_exact_and_minimal(formula):
    text = "".join(formula.tokens())
    label = solve(text)
    if label is None:
        assert findings(formula, Assignment())["label"].startswith("none: the formula is ")
        return
    found = findings(formula, parse_assignment(label))
    assert found["label"] == label and found["minimal"] == "yes"
    assert found["verdict"].startswith("exact: ")


def test_what_the_findings_say():
    formula = formula_of("|&a!b&bc")
    found = findings(formula, parse_assignment("b0"))
    assert found["formula"] == "a ∧ ¬b ∨ b ∧ c   (|&a!b&bc, 8 tokens)"
    assert found["verdict"] == "incorrect: false under 2 of 4 completions: b0a0c0,  b0a0c1"
    assert (found["true"], found["false"]) == ("¬b", "b,  b ∧ c")
    assert (
        findings(formula, parse_assignment("a1b0c1"))["minimal"] == "no: b0 or c1 can be left out"
    )
    assert "tautology" in findings(formula_of("|a!a"), Assignment())["label"]
    assert (
        findings(formula_of("&a!a"), Assignment())["label"] == "none: the formula is unsatisfiable"
    )
    many = findings(formula_of("&&&abcd"), Assignment())
    assert many["verdict"].count("a") >= 6 and many["verdict"].endswith("and 9 more")


def test_names_past_one_character_are_spaced():
    formula = parse_prefix("^ ab c", PROPOSITIONAL, format="spaced")
    found = findings(formula, Assignment((("ab", True), ("c", False))))
    assert found["label"] == "c 1 ab 0" and "(^ ab c, 3 tokens)" in found["formula"]
    assert found["verdict"].startswith("correct")


def test_too_many_free_propositions_are_refused():
    names = "abcdefghijklmnopq"
    formula = formula_of("&" * 16 + names)
    with pytest.raises(ValueError, match="17 propositions are left free, at most 16"):
        findings(formula, Assignment())
    assert findings(formula, Assignment((("a", True),)))["verdict"].startswith("incorrect")


def test_the_table_escapes_what_it_shows():
    page = findings_html(formula_of("&ab"), parse_assignment("a1"))
    assert "&amp;ab" in page and "(&ab" not in page


@given(formulas(PROPOSITIONAL, "abxyz").filter(lambda f: f.propositions), st.integers(0, 50))
def test_random_renaming_changes_the_formula_and_keeps_the_verdict(formula, seed):
    renaming = random_renaming(formula, seed)
    assert formula.rename(renaming) != formula
    assert renaming.inverse()(formula.rename(renaming)) == formula
    answer = Assignment(((formula.propositions[0], True),))
    pair, renamed = (formula, answer), renaming.apply_pair(formula, answer)
    verdicts = {check("".join(f.tokens()), a.text()) for f, a in (pair, renamed)}
    assert len(verdicts) == 1


def test_a_formula_without_propositions_cannot_be_renamed():
    with pytest.raises(ValueError, match="no proposition"):
        random_renaming(formula_of("!1"), 0)


# the panel


def text_of(panel: AssignmentExplorer) -> str:
    return html.unescape(re.sub(r"<[^>]*>", " ", panel.answer.value))


def values_drawn(panel: AssignmentExplorer) -> dict[str, list[str]]:
    """The labels of the nodes of each value in the picture; one unnamed group without values."""
    (output,) = panel.picture.outputs
    spec = output["data"]["application/vnd.plotly.v1+json"]
    nodes = [trace for trace in spec["data"] if trace["mode"] == "markers+text"]
    return {trace.get("name", ""): trace["text"] for trace in nodes}


def test_panel_answers_every_control():
    panel = AssignmentExplorer("|&a!b&bc", "b0")
    assert "incorrect: false under 2 of 4" in text_of(panel)
    assert values_drawn(panel)["true"] == ["¬"]
    panel.assignment.value = "a1b0"
    assert "correct: true under all 2" in text_of(panel)
    assert values_drawn(panel)["open"] == ["c"]
    panel.label.click()
    assert panel.assignment.value == solve("|&a!b&bc") and "exact:" in text_of(panel)
    panel.rename.click()
    formula, label = panel.formula.value, panel.assignment.value
    assert formula != "|&a!b&bc" and check(formula, label) == "correct"
    assert "Renamed: a → " in panel.note.value
    panel.notation.value = "infix"
    assert "&" in panel.formula.value and "!" in panel.formula.value
    assert f"({formula}, 8 tokens)" in text_of(panel), "the same formula in the other notation"
    panel.formula.value = "p1 or q"
    assert "position 3" in text_of(panel) and panel.note.value == ""
    panel.formula.value, panel.assignment.value = "p1 <-> !q", "p1 1 q 0"
    assert "true" in text_of(panel) and "nothing is left free" in text_of(panel)


@pytest.mark.parametrize("wrong", ["", "a!b", "&a", "<b>bold</b>", "X a", "é", "a" * 300])
def test_wrong_formulas_are_said_inside_and_the_panel_goes_on(wrong):
    panel = AssignmentExplorer("&ab", "a1")
    panel.formula.value = wrong
    assert 'role="alert"' in panel.answer.value and "<b>bold" not in panel.answer.value
    assert panel.picture.outputs == (), "no picture of another formula stays"
    for button in (panel.label, panel.rename):
        button.click()
        assert 'role="alert"' in panel.answer.value
    panel.formula.value = "&ab"
    assert 'role="alert"' not in panel.answer.value and panel.picture.outputs


@pytest.mark.parametrize("wrong", ["a", "a2", "c1", "a1a0", "a1 b0", "<i>1"])
def test_wrong_assignments_are_invalid_and_the_tree_stays(wrong):
    panel = AssignmentExplorer("&ab", "a1")
    panel.assignment.value = wrong
    assert "invalid assignment" in text_of(panel) and "<i>" not in panel.answer.value
    assert set(values_drawn(panel)) == {""}, "the tree without values"
    panel.rename.click()
    assert panel.formula.value == "&ab", "nothing is renamed where one half is wrong"
    panel.label.click()
    assert "exact:" in text_of(panel)


def test_both_texts_can_be_wrong_at_once():
    panel = AssignmentExplorer("&a", "b")
    assert panel.answer.value.count('role="alert"') == 2


def test_a_formula_in_the_other_notation_is_said_to_be_one():
    panel = AssignmentExplorer("&ab", "a1b1")
    panel.formula.value = "a & b"
    assert "in prefix notation, but it is one in infix notation" in text_of(panel)
    panel.formula.value = "a & (b"
    assert "This is no formula:" in text_of(panel)


def test_a_formula_too_large_for_the_panel_is_said():
    panel = AssignmentExplorer("!" * 150 + "a", "a1")
    assert panel.picture.outputs
    panel.formula.value = "&" * 100 + "a" * 101
    assert "201 tokens: at most 200" in text_of(panel) and panel.picture.outputs == ()


def test_a_formula_without_a_label_empties_the_assignment():
    panel = AssignmentExplorer("|a!a", "a1")
    panel.label.click()
    assert panel.assignment.value == "" and "no label" in panel.note.value
    assert "correct: true under all 2" in text_of(panel)


def test_the_panel_needs_no_torch_and_makes_no_widget_at_import():
    code = (
        "import ipywidgets.widgets.widget as w, lessons.assignment_widgets, sys; "
        "sys.exit(len(w._instances) + ('torch' in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", code]).returncode == 0
