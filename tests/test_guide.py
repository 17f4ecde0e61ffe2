"""The lecturer's guide: what it names exists, minutes add up, its code runs, figures are ours."""

import importlib
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from itekit.results import load_result
from lessons.exercises import Exercise

FOLDER = Path(__file__).parents[1] / "notebooks"
TEXT = (FOLDER / "README.md").read_text(encoding="utf-8")
CELLS = {
    path.name[:2]: nbformat.read(path, 4).cells for path in sorted(FOLDER.glob("[0-9]*.ipynb"))
}
PYTHON = re.findall(r"^```python\n(.*?)^```$", TEXT, re.M | re.S)


def exercises() -> dict[tuple[str, str], tuple[str, str]]:
    """(lesson, name) -> difficulty and minutes, as the notebooks say."""
    found, said = {}, ""
    for number, cells in CELLS.items():
        for cell in cells:
            said = cell.source if cell.cell_type == "markdown" else said
            if "exercise" in cell.metadata.get("tags", []):
                (name,) = re.findall(r"^check_(\w+)\(", cell.source, re.M)
                found[number, name] = re.search(r"([●○]{3}) · (\d+) minutes", said).groups()
    return found


EXERCISES = exercises()


def test_parts_of_notebooks_exist():
    pattern = r"\b(\d\d) parts? (\d+)(?: (?:to|and) ([1-9]\d?))?\b"
    for number, *parts in re.findall(pattern, " ".join(TEXT.split())):
        text = "\n\n".join(cell.source for cell in CELLS[number])
        assert {*parts} - {""} <= set(re.findall(r"^## (\d+)\. ", text, re.M)), (number, parts)


def test_the_table_of_exercises_is_complete_and_as_the_notebooks_say():
    rows = re.findall(r"^\| (\d\d) `(\w+)` \| ([●○]{3}) (\d+) \| .+ \|$", TEXT, re.M)
    assert [((n, name), said) for n, name, *said in rows] == [
        (key, list(said)) for key, said in EXERCISES.items()
    ]
    for number, name in EXERCISES:
        lesson = importlib.import_module(f"lessons.lesson_{number}")
        assert isinstance(getattr(lesson, f"check_{name}"), Exercise)


def test_minutes_add_up_and_exercises_fit_into_their_slots():
    plans = re.split(r"^(?:## |\*\*).* \((\d+) minutes\)", TEXT, flags=re.M)[1:]
    assert plans[::2] == ["90", "90", "90", "240", "45"]
    for minutes, body in zip(plans[::2], plans[1::2], strict=True):
        now, body = 0, body.partition("\n## ")[0]
        slots = r"^- \*\*(\d+)–(\d+) · (.*?)(?=^- \*\*\d|\n\n|\Z)"
        for start, end, text in re.findall(slots, body, re.M | re.S):
            called = re.findall(r"`(\w+)` \((\d\d)\)", text)
            needed = sum(int(EXERCISES[number, name][1]) for name, number in called)
            assert int(start) == now and needed <= int(end) - now, text
            now = int(end)
        assert now == int(minutes)


def test_verdicts_are_given_as_shown(capsys):
    right = importlib.import_module("lessons.lesson_01").check_complete.reference
    exec(PYTHON[0], {"complete": right})
    assert "solved True" in capsys.readouterr().out
    wrong = lambda mapping, alphabet: dict.fromkeys(alphabet, "a") | mapping  # noqa: E731
    with pytest.raises(AssertionError, match="merge"):
        exec(PYTHON[0], {"complete": wrong})


def test_verdicts_are_read_from_a_notebook(tmp_path, monkeypatch, capsys):
    outputs = [
        [new_output("stream", text="✓ complete: right on all 42 cases.\nmore")],
        [new_output("error", ename="SyntaxError", evalue="invalid syntax")],
        [],
    ]
    cells = [new_code_cell(outputs=one, metadata={"tags": ["exercise"]}) for one in outputs]
    (tmp_path / "graded").mkdir()
    nbformat.write(new_notebook(cells=[*cells, new_code_cell()]), tmp_path / "graded/anna.ipynb")
    monkeypatch.chdir(tmp_path)
    exec(PYTHON[1], {})
    said = ["✓ complete: right on all 42 cases.", "SyntaxError: invalid syntax", "no output"]
    assert capsys.readouterr().out.splitlines() == said


def test_ones_own_problems_are_labelled_checked_and_trained_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space = {"__name__": "guide"}
    exec(PYTHON[2], space)
    assert len(space["pairs"]) == len(space["formulas"])
    exec(PYTHON[3].replace(".run()", ".run(until=5, progress=False)"), space)
    assert (tmp_path / "runs" / "mine" / "checkpoint.safetensors").exists()
    assert space["made"].training.batch_size <= len(space["pairs"]) - 6


def test_the_table_of_results_is_that_of_the_data_folder():
    table = TEXT.split("<!-- table -->\n")[1].split("\n<!-- /table -->")[0].splitlines()[2:]
    assert len(table) > 20
    for line in table:
        name, *shown = line.strip("| ").split(" | ")
        run = load_result(name, "lab", 0)
        test, grid = run["result"]["test"], run["result"]["generalization"]
        new = slice(run["experiment"]["propositions"], None)
        found, asked = [], int(np.sum(grid["samples"][new])) or np.nan
        for key in ("correct", "solved"):
            right = grid.get(key) or grid["correct"]
            found.append((test.get(key, test["correct"]), np.sum(right[new]) / asked))
        covariance = run["result"]["alpha_covariance_training"]["by_propositions"]["3"]["mean"]
        rates = [*np.transpose(found).flatten(), covariance]
        assert shown == [f"{100 * rate:.1f}".replace("nan", "–") for rate in rates], name
