"""Lessons in a real JupyterLab: all cells run, and the controls answer as a reader would see it.

    make test-browser

At smoke size, on the shipped networks where a lesson uses these. Screenshots: reports/browser.
"""

import re


def test_tour(open_lesson):
    lesson = open_lesson("00_tour")
    copies = lesson.panel("CopyExplorer(networks")
    shown = copies.type("klmno", "string")
    assert "no embedding for 'k'" in shown and shown.count("klmno") >= 2
    assert "'!'" in copies.type("hello!", "string")
    copies.press("First string")
    assert "→" in copies.press("Rename at random")
    copies.slide()
    renamed = lesson.panel("RenamingChooser(networks").press("rename a")
    assert re.search(r"a → [f-z]", renamed)


def test_alpha_equivalence(open_lesson):
    lesson = open_lesson("01_alpha_equivalence")
    panel = lesson.panel("def redraw(_=None)")
    assert "a renaming: 8 of 8 verdicts kept" in panel.choose("d", "a becomes")
    merged = panel.choose("d", "b becomes")
    assert "of 8 verdicts kept" in merged and "a renaming: 8" not in merged


def test_copying(open_lesson):
    panel = open_lesson("05_copying").panel("widgets.interactive_output(answer")
    assert "brown" in panel.type("brown fox", "string")
    panel.press("plain")
    panel.slide()


def test_ltl_and_spot(open_lesson):
    lesson = open_lesson("07_ltl_and_spot")
    panel = lesson.panel("TraceExplorer(")
    problem = panel.type("a & (b", "formula")
    assert "This is no formula" in problem and "^" in problem
    assert "trace" in panel.type("a U b", "formula")
    panel.press("Trace by Spot")
    lesson.panel("AutomatonExplorer(").type("GFa", "formula")


def test_ltl_training(open_lesson):
    panel = open_lesson("08_ltl_training").panel("widgets.interactive_output(solve_and_show")
    assert "Spot:" in panel.type("a U (b & X !a)", "formula")
    assert "✗" in panel.type("a U (", "formula")


def test_explorer(open_lesson):
    panel = open_lesson("explorer").panel("Explorer(task=task")
    panel.shows("says Spot")
    panel.type("a & (b", "formula")
    panel.shows("^")  # where the text goes wrong
    panel.type("a & X b", "formula")
    panel.shows("says Spot")
    panel.press("Shuffle the names")
    panel.shows("says Spot")
    for page in ("Many renamings", "Redraw and verify", "Attention"):
        panel.turn(page)
    panel.press("propositional")
    panel.shows("says py-aiger")
