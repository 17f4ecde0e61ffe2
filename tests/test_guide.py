"""The lecturer's guide: what it names exists, minutes add up, its code runs, figures are ours."""

import importlib
import re
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from itekit.results import load_result
from itekit.tasks.ltl import check
from itekit.workers import check_all
from lessons.exercises import Exercise
from lessons.paper import our_value
from lessons.runs import ahead, counts

FOLDER = Path(__file__).parents[1] / "notebooks"
TEXT = (FOLDER / "README.md").read_text(encoding="utf-8")
CELLS = {
    path.name[:2]: nbformat.read(path, 4).cells for path in sorted(FOLDER.glob("[0-9]*.ipynb"))
}
RUNNING = (FOLDER / "running.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"^```python\n(.*?)^```$", TEXT + RUNNING, re.M | re.S)


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


def test_it_is_short_and_names_every_notebook_and_only_parts_that_exist():
    assert len(TEXT.splitlines()) <= 220
    linked = set(re.findall(r"\]\((\w+\.ipynb)\)", TEXT))
    assert linked == {path.name for path in FOLDER.glob("*.ipynb")}
    pattern = r"\b(\d\d) parts? (\d+)(?: (?:to|and) ([1-9]\d?))?\b"
    named = re.findall(pattern, " ".join(TEXT.split()))
    assert len(named) > 30
    for number, *parts in named:
        text = "\n\n".join(cell.source for cell in CELLS[number])
        assert {*parts} - {""} <= set(re.findall(r"^## (\d+)\. ", text, re.M)), (number, parts)
    for number, heading in re.findall(r"\b(\d\d) \"([^\"]+)\"", TEXT):
        assert any(f"# {heading}" in cell.source for cell in CELLS[number]), heading


def test_the_table_of_exercises_is_complete_and_as_the_notebooks_say():
    rows = re.findall(r"^\| (\d\d) \| (`.+) \|$", TEXT, re.M)
    pattern = r"`(\w+)` ([●○]{3}) (\d+): \S"
    said = {(n, name): tuple(rest) for n, row in rows for name, *rest in re.findall(pattern, row)}
    assert list(said.items()) == list(EXERCISES.items())
    for number, name in EXERCISES:
        lesson = importlib.import_module(f"lessons.lesson_{number}")
        assert isinstance(getattr(lesson, f"check_{name}"), Exercise)


def test_minutes_add_up_and_exercises_fit_into_their_slots():
    plans = re.split(r"^## Class \d: .* \(90 minutes\)$", TEXT, flags=re.M)[1:]
    assert len(plans) == 5
    names = {name for _, name in EXERCISES}
    for body in plans:
        now, body, starts = 0, body.partition("\n## ")[0], set()
        for start, end, text in re.findall(r"^\| (\d+)–(\d+) \| (.+) \|$", body, re.M):
            called = re.findall(r"`(\w+)` \((\d\d)\)", text)
            needed = sum(int(EXERCISES[number, name][1]) for name, number in called)
            starts.add(now)
            assert int(start) == now and needed <= int(end) - now, text
            assert bool(called) == ("**Students:**" in text), text
            now = int(end)
        assert now == 90
        assert {int(at) for at in re.findall(r"^\| (\d+) \| ", body, re.M)} <= starts
        asked = re.search(r"\*\*Test:\*\* questions ([\d, and]+)\.", body)[1]
        numbers = [int(number) for number in re.findall(r"\d+", asked)]
        assert len(numbers) == 6 and set(numbers) <= set(range(1, 41))
        assert "**Goals.**" in body and "**Read before:**" in body
        home = re.search(r"Home: (.+?) \|$", body, re.M)
        assert home is None or {*re.findall(r"`(\w+)`", home[1])} <= names


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
    assert ".run()" in PYTHON[-1]
    exec(PYTHON[-1].replace(".run()", ".run(until=5, progress=False)"), space)
    assert len(space["pairs"]) == len(space["formulas"])
    assert set(check_all(check, space["pairs"])) == {"correct"}
    assert (tmp_path / "runs" / "mine" / "checkpoint.safetensors").exists()
    assert space["mine"].training.batch_size <= len(space["pairs"]) - 6


def test_the_figures_on_new_propositions_are_those_of_the_data_folder():
    names = "proposed", "alpha-renaming", "converted", "symbol-invariant"
    runs = [load_result(f"ltl/{name}", "lab", 0) for name in names]
    ours, theirs, *others = (counts(run)["more"] for run in runs)
    rates = "proposed has {:.1f} %, alpha-renaming {:.1f} %"
    assert rates.format(*(100 * k / n for k, n in (ours, theirs))) in TEXT
    _, low, high = ahead(runs[1], runs[0], "more")
    assert f"ahead by {100 * low:.1f} to {100 * high:.1f} points" in TEXT
    rates = "*converted* has {:.1f} %, *symbol-invariant* {:.1f} %"
    assert rates.format(*(100 * k / n for k, n in others)) in TEXT


def test_the_figures_on_copying_are_those_of_the_data_folder():
    for seed in (0, 1):
        runs = [
            load_result("copying-5-10/proposed", "paper", seed, **other)
            for other in ({}, {"rope_base": 1_000_000})
        ]
        before, after = (f"{our_value(run):.2f}" for run in runs)
        assert f"{before} to {after} (seed {seed})" in TEXT
