"""Every lesson in a real JupyterLab: all cells run, controls answer, exercises are checked.

    make test-browser

At smoke size, on the shipped networks where a lesson uses these. Screenshots: reports/browser.
"""

import re

import pytest
from exercises import try_exercises
from server import ROOT

LESSONS = sorted(path.stem for path in ROOT.glob("notebooks/*.ipynb"))


def tour(lesson):
    copies = lesson.panel("CopyExplorer(networks")
    shown = copies.type("klmno", "string")
    assert "no embedding for 'k'" in shown and shown.count("klmno") >= 2
    assert "'!'" in copies.type("hello!", "string")
    copies.press("First string")
    assert "→" in copies.press("Rename at random")
    copies.slide()
    renamed = lesson.panel("RenamingChooser(networks").press("rename a")
    assert re.search(r"a → [f-z]", renamed)


def alpha_equivalence(lesson):
    panel = lesson.panel("def redraw(_=None)")
    assert "a renaming: 8 of 8 verdicts kept" in panel.choose("d", "a becomes")
    merged = panel.choose("d", "b becomes")
    assert "of 8 verdicts kept" in merged and "a renaming: 8" not in merged


def random_vectors(lesson):
    panel = lesson.panel("widgets.interactive_output(answer")
    panel.slide(0)
    panel.slide(1)


def embeddings(lesson):
    panel = lesson.panel("widgets.interactive_output(answer")
    panel.choose("normal", "method")
    panel.slide(0)


def attention_and_positions(lesson):
    lesson.panel("widgets.interactive_output(explore_rope").slide()
    tree = lesson.panel("widgets.interactive_output(explore_tree")
    assert "^" in tree.type("a & (b", "formula")
    assert "token 0 has the branches" in tree.type("a & X b", "formula")
    tree.slide()
    reading = lesson.panel("widgets.interactive_output(explore_reading")
    assert "answer:" in reading.type("&aXb", "formula")


def copying(lesson):
    panel = lesson.panel("widgets.interactive_output(answer")
    assert "brown" in panel.type("brown fox", "string")
    panel.press("plain")
    panel.press("randomized-positions")
    panel.slide()


def ltl_and_spot(lesson):
    panel = lesson.panel("TraceExplorer(")
    problem = panel.type("a & (b", "formula")
    assert "This is no formula" in problem and "^" in problem
    assert "trace" in panel.type("a U b", "formula")
    panel.press("Trace by Spot")
    lesson.panel("AutomatonExplorer(").type("GFa", "formula")


def ltl_training(lesson):
    panel = lesson.panel("widgets.interactive_output(solve_and_show")
    assert "Spot:" in panel.type("a U (b & X !a)", "formula")
    assert "✗" in panel.type("a U (", "formula")


def propositional_logic(lesson):
    panel = lesson.panel("AssignmentExplorer(")
    assert "^" in panel.type("a & (b", "formula")
    panel.type("a & b", "formula")


def alpha_covariance(lesson):
    panel = lesson.panel("RenamingGroups(example)")
    assert "^" in panel.type("&a", "formula")
    panel.type("&aXb", "formula")


def language_model(lesson):
    panel = lesson.panel("AskPanel(lm)")
    assert "^" in panel.type("a & (b", "formula")
    assert "Formula: a U b" in panel.type("a U b", "formula")


def explorer(lesson):
    panel = lesson.panel("Explorer(task=task")
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


CONTROLS = {
    "00_tour": tour,
    "01_alpha_equivalence": alpha_equivalence,
    "02_random_vectors": random_vectors,
    "03_dual_part_embeddings": embeddings,
    "04_attention_and_positions": attention_and_positions,
    "05_copying": copying,
    "07_ltl_and_spot": ltl_and_spot,
    "08_ltl_training": ltl_training,
    "09_propositional_logic": propositional_logic,
    "12_alpha_covariance": alpha_covariance,
    "14_language_model": language_model,
    "explorer": explorer,
}


@pytest.mark.parametrize("name", LESSONS)
def test_lesson(open_lesson, name):
    lesson = open_lesson(name)
    if name in CONTROLS:
        CONTROLS[name](lesson)
    try_exercises(lesson)
