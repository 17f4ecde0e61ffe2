"""Every lesson in a real JupyterLab: all cells run, controls answer, exercises are checked.

    make test-browser

At smoke size, on the shipped networks where a lesson uses these.
"""

import json
import re

import pytest
from lab import ROOT, Panel

LESSONS = sorted(path.stem for path in ROOT.glob("notebooks/*.ipynb"))
WIDTHS = (1280, 1920)
# The first mistake that an exercise knows is a wrong answer; the solution's is right.
WRONG = """from lessons.lesson_{number} import check_{name}


def {name}(*given):
    return next(iter(check_{name}.mistakes))(*given)


check_{name}({name})"""


def tour(lesson):
    copies = Panel(lesson.cell("CopyExplorer()").locator(".copies"))
    shown = copies.type("klmno", "Type your name")
    assert "no embedding for 'k'" in shown and "klmno" in shown


def ltl_and_spot(lesson):
    panel = lesson.panel("TraceExplorer(")
    problem = panel.type("a & (b", "formula")
    assert "found the end" in problem and "^" in problem
    assert "trace" in panel.type("a U b", "formula")
    panel.press("Trace by Spot")
    lesson.panel("AutomatonExplorer(").type("GFa", "formula")


def propositional_logic(lesson):
    panel = lesson.panel("AssignmentExplorer(")
    assert "^" in panel.type("a & (b", "formula")
    panel.type("&ab", "formula")
    names = lesson.panel("names_panel(")
    assert "▲0■0●1" in names.press("c a b")  # the label by name
    assert "c0a1" in names.type("a ^ b", "formula")


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
    "07_ltl_and_spot": ltl_and_spot,
    "09_propositional_logic": propositional_logic,
    "14_language_model": language_model,
    "explorer": explorer,
}


def solutions(name: str) -> dict[str, str]:
    """Exercise -> the code that solves it, with what stands before it; none without exercises."""
    path = ROOT / "notebooks" / "solutions" / f"{name}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"] if path.exists() else []
    found, before = {}, ""
    for cell in cells:
        if cell["cell_type"] == "code":
            before += "".join(cell["source"]) + "\n\n\n"
            if exercise := re.search(r"^check_(\w+)\(", before, re.MULTILINE):
                found[exercise[1]], before = before.rstrip(), ""
    return found


@pytest.mark.parametrize("lesson", LESSONS, indirect=True)
def test_lesson(lesson):
    """Before the mouse has moved, as committed and after a run: no output is wider than its cell.

    To open and save it changes nothing. Then what a click opens, every control, and exercises.
    """
    name = lesson.name
    assert lesson.saved() == lesson.text
    wide = {f"opened, {width}": lesson.wide(width) for width in WIDTHS}
    lesson.run_all()
    assert not lesson.failures()
    wide |= {f"run, {width}": lesson.wide(width) for width in WIDTHS[::-1]}
    assert not any(wide.values()), wide
    if "fold()" in lesson.text:
        shown = (cell := lesson.cell("fold()")).locator(".jp-OutputArea-child").filter(visible=True)
        assert shown.count() == 1, "what is to be guessed is shown after a run"
        cell.locator("summary").press("Enter")
        assert shown.count() > 1
    if name in CONTROLS:
        CONTROLS[name](lesson)
    assert not lesson.move_every_control()
    for exercise, right in solutions(name).items():
        cell = lesson.cell(f"\ncheck_{exercise}(")
        said = lesson.write(cell, WRONG.format(number=name[:2], name=exercise))
        assert f"✗ {exercise}: wrong on" in said and "Hint:" in said
        assert f"✓ {exercise}: right on" in lesson.write(cell, right)
