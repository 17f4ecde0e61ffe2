"""The panels of controls: what a reader sees, tested without a browser."""

import html
import re
from unittest.mock import Mock

import pytest

from itekit.logic.formulas import MAX_DEPTH
from itekit.results import load_network
from itekit.tasks.propositional import check, solve
from lessons import panels
from lessons.lesson_03 import middle_panel
from lessons.lesson_10 import change_panel
from lessons.lesson_17 import choice_panel
from lessons.panels import (
    EXAMPLES,
    GREYED,
    AskPanel,
    AssignmentExplorer,
    AutomatonExplorer,
    TraceExplorer,
)


@pytest.fixture
def here(monkeypatch):
    """Questions to Spot are answered in this process, without a time limit."""
    monkeypatch.setattr(panels._SpotPanel, "ask", lambda self, f, *values: f(*values))


def text_of(panel) -> str:
    return html.unescape(re.sub(r"<[^>]*>", " ", panel.answer.value))


def figure_of(panel) -> dict:
    (output,) = panel.picture.outputs
    return output["data"]["application/vnd.plotly.v1+json"]


def wrong(panel) -> str:
    """What is said to be wrong, as text, beside an answer that is greyed; empty if nothing is."""
    message = panel.message.value.replace(GREYED, "")
    greyed = "itekit-greyed" in panel.answer._dom_classes + panel.picture._dom_classes
    assert bool(message) == greyed == ('role="alert"' in message)
    assert "<b>bold" not in message and "<i>" not in message
    return html.unescape(message)


def goes_on(panel, box, bad, good, message="✗"):
    """Said inside, beside the last answer and picture; then all is well again."""
    before = panel.answer.value, panel.picture.outputs
    box.value = bad
    assert message in wrong(panel) and (panel.answer.value, panel.picture.outputs) == before
    box.value = good
    assert not wrong(panel) and panel.picture.outputs


# linear temporal logic


def test_trace_explorer_answers_every_control(here):
    panel = TraceExplorer("a U b", "a;{b}")
    assert "✓ every word" in panel.answer.value and panel.picture.outputs
    panel.formula.value = "UaXb"
    assert "a U Xb ·" in panel.answer.value and "prefix UaXb" in panel.answer.value
    for pair in EXAMPLES.values():
        panel.examples.value = pair
        assert (panel.formula.value, panel.trace.value) == pair == panel.examples.value
        assert not wrong(panel)
    panel.formula.value = "X(a & b)"
    assert panel.examples.value is None, "the same example can be chosen again"
    panel.solve.click()
    assert panel.trace.value == "1;&ab;{1}" and "✓ every word" in panel.answer.value
    panel.formula.value = "a & !a"
    panel.solve.click()
    assert "nothing satisfies" in wrong(panel)


def test_trace_explorer_shows_errors_inside_and_goes_on(here):
    panel = TraceExplorer("a", "{a}")
    formulas = {"a U": "found the end", "<b>bold": "^", "X" * 100 + "a": "at most 80"}
    for bad, message in {**formulas, "X" * (MAX_DEPTH + 1) + "a": "inside each other"}.items():
        goes_on(panel, panel.formula, bad, "a", message)
    traces = {"a;{b": "^", "1;" * 40 + "{1}": "at most 30", "{0}": "stands for no word"}
    for bad, message in traces.items():
        goes_on(panel, panel.trace, bad, "{a}", message)


def test_automaton_explorer_draws_or_counts(here):
    panel = AutomatonExplorer("a U b")
    assert "b;{1}" in panel.answer.value
    assert [note["text"] for note in figure_of(panel)["layout"]["annotations"]]
    panel.formula.value = "0"
    assert "nothing satisfies it" in panel.answer.value
    panel.formula.value = "X" * 30 + "a"
    assert "32 states: too large to be drawn" in panel.answer.value and not panel.picture.outputs
    panel.formula.value = "a &"
    assert wrong(panel)


def test_a_question_that_takes_too_long_is_said_in_the_panel(monkeypatch):
    """With a real worker process, which the kernel ends."""
    monkeypatch.setattr(panels, "CPU_SECONDS", 0.5)
    hard = " & ".join(f"(G F a{i} | F G b{i} | (c{i} U d{i}))" for i in range(5))
    panel, other = AutomatonExplorer("a"), TraceExplorer("a U b", "a;{b}")
    try:
        assert "trace: a;{1}" in panel.answer.value and "✓ every word" in other.answer.value
        panel.formula.value = hard
        assert "not done after 0.5 CPU seconds" in wrong(panel)
        panel.formula.value = "b"
        assert "trace: b;{1}" in panel.answer.value and not wrong(panel)
    finally:
        panel.pool.close()
        other.pool.close()


# propositional logic


def values_drawn(panel: AssignmentExplorer) -> dict[str, list[str]]:
    """The labels of the nodes of each value in the picture."""
    nodes = [trace for trace in figure_of(panel)["data"] if trace["mode"] == "markers+text"]
    return {trace.get("name", ""): trace["text"] for trace in nodes}


def test_assignment_explorer_answers_every_control():
    panel = AssignmentExplorer("|&a!b&bc", "b0")
    assert "incorrect: false under 2 of 4" in text_of(panel) and "(|&a!b&bc" in text_of(panel)
    assert values_drawn(panel)["true"] == ["¬"]
    panel.assignment.value = "a1b0"
    assert "correct: true under all 2" in text_of(panel)
    assert values_drawn(panel)["open"] == ["c"]
    panel.label.click()
    assert panel.assignment.value == solve("|&a!b&bc") and "exact:" in text_of(panel)
    panel.rename.click()
    formula, label = panel.formula.value, panel.assignment.value
    assert formula != "|&a!b&bc" and check(formula, label) == "correct"
    assert "Renamed: a → " in panel.answer.value
    panel.formula.value, panel.assignment.value = "p1 <-> !q", "p1 1 q 0"
    assert "nothing is left free" in text_of(panel) and "Renamed" not in text_of(panel)
    panel.rename.click()
    assert " <-> !" in panel.formula.value, "in the notation that was typed"
    panel.formula.value = "|a!a"
    panel.label.click()
    assert panel.assignment.value == "" and "no label" in text_of(panel)
    assert "correct: true under all 2" in text_of(panel)


def test_assignment_explorer_shows_errors_inside_and_goes_on():
    panel = AssignmentExplorer("&ab", "a1")
    for bad in ("<b>bold</b>", "a & (b", "X a", ""):
        goes_on(panel, panel.formula, bad, "a & b", "^")
    goes_on(panel, panel.formula, "&" * 100 + "a" * 101, "&ab", "201 tokens: at most 200")
    for bad in ("a", "a2", "c1", "a1a0", "<b>bold"):
        goes_on(panel, panel.assignment, bad, "a1", "^")
    panel.formula.value, panel.assignment.value = "&ab", "a2"
    panel.rename.click()
    assert panel.formula.value == "&ab", "nothing is renamed where one half is wrong"
    panel.label.click()
    assert "exact:" in text_of(panel)
    panel.formula.value, panel.assignment.value = "!1", ""
    panel.rename.click()
    assert wrong(panel), "nothing to rename"


# language models


def test_ask_panel_sends_the_core_formula_and_says_what_is_wrong():
    panel = AskPanel(None)
    assert "Formula: a U (b &amp; Xc)" in panel.answer.value
    panel.task.value = "propositional"  # which knows no U: the example changes with it
    assert "Formula: a & (b | !c)" in text_of(panel)
    panel.task.value = "ltl"
    panel.text.value = "a U (b"
    assert "^" in wrong(panel)
    panel.text.value = "F aa"
    assert "single letters, found 'aa'" in wrong(panel)
    panel.text.value = "F a"
    assert "Formula: 1 U a" in text_of(panel)
    panel.button.click()
    panel.asking.join(10)
    assert "no model here" in wrong(panel) and not panel.button.disabled


def test_ask_panel_shows_the_reply_and_its_verdict():
    model = Mock()
    model.ask.return_value.text = '{"trace": "cycle{a}"}'
    panel = AskPanel(model, "a")
    panel.button.click()
    panel.asking.join(60)
    assert "cycle{a}" in text_of(panel) and "verdict:  " in text_of(panel)


def test_the_scale_follows_the_median_or_the_mean_and_counts_45_degrees_at_most():
    panel = middle_panel(55)
    lost, middle, least, *_ = panel.children
    assert "median 92°, counted as 45°: scale 4.9" in panel.answer.value and panel.picture.outputs
    least.value = False
    assert "counted as 92°: scale -" in panel.answer.value
    middle.value = "mean"
    assert "mean 64°, counted as 64°: scale 8.0" in panel.answer.value
    lost.value = 88  # the mean stands near 90°
    assert "scale" in panel.answer.value and not wrong(panel)


def test_each_setting_of_the_lesson_chooses_a_way_whose_runs_fit():
    panel = choice_panel()
    controls = panel.children[:4]
    for values, first in {
        (3, False, False, False): "learned rows",
        (6, False, False, False): "a stream for each symbol",
        (6, True, True, False): "a stream for each symbol",
        (200, False, False, True): "a random part",
        (float("inf"), False, False, False): "a stream for each symbol",
        (float("inf"), False, False, True): "nothing fits",
        (6, True, False, True): "nothing fits",
    }.items():
        for control, value in zip(controls, values, strict=True):
            control.value = value
        assert re.search("<b>(.+?)</b>", panel.answer.value)[1] == first
    told = text_of(panel)
    assert "once for each symbol" in told and "answers can depend on names" in told
    assert "ready for 3 names" in told
    controls[0].value = float("inf")  # of each way the run that comes nearest is told
    assert "a random part ready for 200 names" in " ".join(text_of(panel).split())


def test_the_panel_of_harmless_changes_asks_every_network_about_every_one():
    network = load_network("ltl/proposed", "lab", 0)
    changes = {"renamed": lambda text: text.translate(str.maketrans("ab", "ba"))}
    changes["!!"] = lambda text, place: text[:place] + "!!" + text[place:]
    panel = change_panel({"ltl/proposed": network}, changes)
    text, place, *_ = panel.children
    text.value, place.value = "a & b", 30
    for part in ("a &amp; b", "b &amp; a", "a &amp; !!b", "<b>proposed</b>", "✓ <code>&amp;"):
        assert part in panel.answer.value
    text.value = "a &"
    assert "expected" in wrong(panel)
