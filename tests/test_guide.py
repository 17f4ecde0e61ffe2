"""The lecturer's guide: what it names exists, minutes add up, its code runs, figures are ours."""

import importlib
import re
import shlex
from math import hypot
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from scipy.stats import binomtest

from itekit.__main__ import make_parser
from itekit.experiments import experiment
from itekit.results import load_result, results
from lessons.exercises import Exercise

FOLDER = Path(__file__).parents[1] / "notebooks"
TEXT = (FOLDER / "README.md").read_text(encoding="utf-8")
FLAT = " ".join(TEXT.split())
NOTEBOOKS = {path.name[:2]: path for path in sorted(FOLDER.glob("[0-9][0-9]_*.ipynb"))}
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.M | re.S)
PYTHON = [code for language, code in BLOCKS if language == "python"]
COMMANDS = re.findall(r"`((?:python -m itekit|make) [^`]+)`", TEXT)
COMMANDS += "".join(lines for language, lines in BLOCKS if not language).splitlines()


def markdown(number: str) -> list[str]:
    cells = nbformat.read(NOTEBOOKS[number], 4).cells
    return [cell.source for cell in cells if cell.cell_type == "markdown"]


def exercises() -> dict[tuple[str, str], tuple[str, int]]:
    """(lesson, name) -> difficulty and minutes, as the notebooks say."""
    found = {}
    for number, path in NOTEBOOKS.items():
        said = ""
        for cell in nbformat.read(path, 4).cells:
            said = cell.source if cell.cell_type == "markdown" else said
            if "exercise" in cell.metadata.get("tags", []):
                rank, minutes = re.search(r"([●○]{3}) · (\d+) minutes", said).groups()
                (name,) = re.findall(r"^check_(\w+)\(", cell.source, re.M)
                found[number, name] = rank, int(minutes)
    return found


EXERCISES = exercises()

# what is named


def test_every_notebook_is_linked():
    links = re.findall(r"\]\(([^)#]+)", TEXT)
    assert {path.name for path in FOLDER.glob("*.ipynb")} <= set(links)


def test_parts_of_notebooks_exist():
    named = re.findall(r"\b(\d\d) parts? (\d+)(?: (?:to|and) ([1-9]\d?))?\b", FLAT)
    assert len(named) > 30
    for number, *parts in named:
        headings = re.findall(r"^## (\d+)\. ", "\n\n".join(markdown(number)), re.M)
        assert {part for part in parts if part} <= set(headings), (number, parts)


def test_the_table_of_exercises_is_complete_and_as_the_notebooks_say():
    rows = re.findall(r"^\| (\d\d) `(\w+)` \| ([●○]{3}) (\d+) \| .+ \|$", TEXT, re.M)
    assert {(n, name): (rank, int(minutes)) for n, name, rank, minutes in rows} == EXERCISES
    assert [row[:2] for row in rows] == list(EXERCISES)  # each once, in the notebooks' order
    for number, name in EXERCISES:
        lesson = importlib.import_module(f"lessons.lesson_{number}")
        assert isinstance(getattr(lesson, f"check_{name}"), Exercise)


# minutes


def plans() -> list:
    """Minutes and slots (from, to, text) of each class and of the shorter forms."""
    heads = list(re.finditer(r"^(?:## |\*\*)(.*) \((\d+) minutes\)", TEXT, re.M))
    ends = [head.start() for head in heads[1:]] + [len(TEXT)]
    found = []
    for head, end in zip(heads, ends, strict=True):
        body = TEXT[head.end() : end].partition("\n## ")[0]
        slots = re.findall(r"^- \*\*(\d+)–(\d+) · (.*?)(?=^- \*\*\d|\n\n|\Z)", body, re.M | re.S)
        found.append(pytest.param(int(head[2]), slots, id=head[1]))
    return found


PLANS = plans()


def test_three_classes_half_a_day_and_a_lecture():
    assert [plan.values[0] for plan in PLANS] == [90, 90, 90, 240, 45]


@pytest.mark.parametrize(("minutes", "slots"), PLANS)
def test_minutes_follow_each_other_and_add_up(minutes, slots):
    ends = [(int(start), int(end)) for start, end, _ in slots]
    assert [0, *(end for _, end in ends)] == [*(start for start, _ in ends), minutes]
    assert all(start < end for start, end in ends)


@pytest.mark.parametrize(("minutes", "slots"), PLANS)
def test_exercises_of_a_slot_fit_into_it(minutes, slots):
    for start, end, text in slots:
        called = re.findall(r"`(\w+)` \((\d\d)\)", text)
        assert bool(called) or "Students:" not in text
        needed = sum(EXERCISES[number, name][1] for name, number in called)
        assert needed <= int(end) - int(start), text


# commands and code


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_understood(command):
    words = shlex.split(command)
    if words[:3] == ["python", "-m", "itekit"]:
        arguments = make_parser().parse_args(words[3:])
        assert arguments.command in ("generate", "sets")
    elif words[0] == "make":
        makefile = (FOLDER.parent / "Makefile").read_text()
        assert re.search(rf"^{words[1]}:", makefile, re.M)
        assert all(re.search(rf"^{word.split('=')[0]} \?=", makefile, re.M) for word in words[2:])
    else:
        assert words[:3] == ["ITEKIT_SCALE=smoke", "jupyter", "nbconvert"]


def test_verdicts_are_given_as_shown(capsys):
    first = PYTHON[0]
    right = importlib.import_module("lessons.lesson_01").check_complete.reference
    exec(first, {"complete": right})
    assert "solved True" in capsys.readouterr().out
    with pytest.raises(AssertionError, match="two names merge"):
        exec(first, {"complete": lambda mapping, alphabet: dict.fromkeys(alphabet, "a") | mapping})


def test_verdicts_are_read_from_a_notebook(tmp_path, monkeypatch, capsys):
    tag = {"metadata": {"tags": ["exercise"]}}
    outputs = [
        [new_output("stream", text="✓ complete: right on all 42 cases.\nmore")],
        [new_output("error", ename="SyntaxError", evalue="invalid syntax")],
        [],
    ]
    cells = [new_code_cell("", outputs=one, **tag) for one in outputs] + [new_code_cell("other")]
    (tmp_path / "graded").mkdir()
    nbformat.write(new_notebook(cells=cells), tmp_path / "graded" / "anna.ipynb")
    monkeypatch.chdir(tmp_path)
    exec(PYTHON[1], {})
    said = ["✓ complete: right on all 42 cases.", "SyntaxError: invalid syntax", "no output"]
    assert capsys.readouterr().out.splitlines() == said


def test_ones_own_problems_are_labelled_checked_and_trained_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert PYTHON[3].count(".run()") == 1
    space = {"__name__": "guide"}
    exec(PYTHON[2], space)
    assert len(space["pairs"]) == len(space["formulas"])
    exec(PYTHON[3].replace(".run()", ".run(until=5, progress=False)"), space)
    assert (tmp_path / "runs" / "mine" / "checkpoint.safetensors").exists()
    trained = space["made"].training
    lab = experiment("ltl/proposed", "lab").training
    assert trained.batch_size <= len(space["pairs"]) - 6
    assert f"{lab.steps:,} steps with batches of {lab.batch_size}" in PYTHON[3]


# figures

MODELS = ("proposed", "alpha-renaming", "plain")
ABLATIONS = ("without-f_bn", "without-adacos", "without-adacos-f_fn")
SETTINGS = ("longer", "longer-alpha-renaming", "many-names", "many-names-alpha-renaming")
BY_APPEARANCE = ("by-appearance", "by-appearance-alpha-renaming", "by-appearance-plain")
RUNS = {
    "ltl": MODELS + ABLATIONS + SETTINGS,
    "ltl-perturbed": MODELS,
    "ltl-limited": MODELS,
    "prop": MODELS + ABLATIONS + BY_APPEARANCE,
}
NAMES = [f"{family}/{variant}" for family, variants in RUNS.items() for variant in variants]


def counts(name: str) -> dict[str, tuple[int, int]]:
    """Column -> right answers and problems; (0, 0) where the network was not asked."""
    run = load_result(name, "lab", 0)
    test, grid = run["result"]["test"], run["result"]["generalization"]
    new = slice(run["experiment"]["propositions"], None)
    asked = int(np.sum(grid["samples"][new]))
    found = {}
    for column, key in (("correct", "correct"), ("word", "solved")):
        found[column] = round(test.get(key, test["correct"]) * test["samples"]), test["samples"]
        cells = grid.get(key) or grid["correct"]
        found[f"new: {column}"] = int(np.sum(cells[new])), asked
    return found


def table() -> str:
    columns = ("correct", "word", "new: correct", "new: word")
    lines = ["| run | " + " | ".join([*columns, "names"]) + " |", "| --- " * 6 + "|"]
    for name in NAMES:
        found = counts(name)
        cells = [f"{100 * (k / n):.1f}" if n else "–" for k, n in map(found.get, columns)]
        covariance = load_result(name, "lab", 0)["result"]["alpha_covariance_training"]
        cells.append(f"{100 * covariance['by_propositions']['3']['mean']:.1f}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def difference(first: str, second: str, column: str) -> list[str]:
    """The difference in points and Newcombe's interval, as text with a sign."""
    (a, n), (b, m) = counts(first)[column], counts(second)[column]
    (l1, u1), (l2, u2) = (
        binomtest(k, t).proportion_ci(method="wilson") for k, t in ((a, n), (b, m))
    )
    p, q = a / n, b / m
    values = p - q, p - q - hypot(p - l1, u2 - q), p - q + hypot(u1 - p, q - l2)
    return [f"{100 * value:+.1f}".replace("-", "−") for value in values]


def test_the_table_of_results_is_that_of_the_data_folder():
    written = TEXT.split("<!-- table -->\n")[1].split("\n<!-- /table -->")[0]
    assert written == table(), f"in notebooks/README.md the table has to be:\n{table()}"


def test_problems_are_counted_as_the_text_says():
    assert counts("ltl/proposed")["correct"][1] == 2000
    (_, ltl), (_, prop) = (counts(f"{task}/proposed")["new: correct"] for task in ("ltl", "prop"))
    assert f"({ltl:,} for LTL, {prop:,} propositional" in FLAT


def test_differences_are_those_of_the_results():
    value, low, high = difference("ltl/proposed", "ltl/alpha-renaming", "new: correct")
    assert f"(new: {value} points, {low} to {high};" in FLAT
    assert low.startswith("−") and high.startswith("+")  # a tie
    assert f"{low} to {high} points, with one training each" in FLAT
    rates = [counts(f"ltl/{name}")["new: correct"][0] for name in ("proposed", "alpha-renaming")]
    problems = counts("ltl/proposed")["new: correct"][1]
    said = [f"{100 * rate / problems:.1f} %" for rate in rates]
    assert f"proposed has {said[0]}, alpha-renaming {said[1]}" in FLAT


CLAIMS = [  # s: with its sign, u: without a plus, w: without either
    ("ltl/proposed", "ltl/alpha-renaming", "new: word", "*word*: {s[0]}, {s[1]} to {s[2]})"),
    ("ltl/plain", "ltl/proposed", "correct", "({s[0]} points, {u[1]} to {u[2]};"),
    ("prop/plain", "prop/proposed", "correct", "propositional {s[0]}, {u[1]} to {u[2]})"),
    (
        "ltl-perturbed/proposed",
        "ltl-perturbed/plain",
        "correct",
        "proposed is {u[0]} points ahead of it ({u[1]} to {u[2]})",
    ),
    (
        "prop/by-appearance",
        "prop/proposed",
        "correct",
        "first appearance: {s[0]} points, {u[1]} to {u[2]}",
    ),
    ("prop/by-appearance", "prop/proposed", "new: correct", "new: {s[0]}, {u[1]} to {u[2]})"),
    (
        "ltl/longer",
        "ltl/longer-alpha-renaming",
        "new: correct",
        "three times the steps alpha-renaming is ahead ({s[0]}, {s[1]} to {s[2]})",
    ),
    (
        "ltl/many-names",
        "ltl/many-names-alpha-renaming",
        "correct",
        "proposed is ahead by {u[0]} points ({u[1]} to {u[2]})",
    ),
    ("ltl/without-f_bn", "ltl/proposed", "new: correct", "a tie with proposed ({s[0]} points)"),
    ("ltl/proposed", "ltl/without-f_bn", "new: word", "is {u[0]} points behind ({u[1]} to {u[2]})"),
    ("prop/without-f_bn", "prop/proposed", "correct", "propositional logic it loses {w[0]} points"),
]


@pytest.mark.parametrize(("first", "second", "column", "said"), CLAIMS)
def test_claims_are_those_of_the_results(first, second, column, said):
    signed = difference(first, second, column)
    without = [value.lstrip("+−") for value in signed]
    assert said.format(s=signed, u=[value.lstrip("+") for value in signed], w=without) in FLAT


def test_copying_figures_are_those_of_the_results():
    def means(name, **evaluated):
        runs = results(f"copying-5-10/{name}", "paper", **evaluated)
        return {run["seed"]: f"{run['result']['mean_edit_distance']:.2f}" for run in runs}

    ours, probes = means("proposed"), means("proposed", rope_base=1_000_000)
    first, second = ours[0], ours[1]
    assert f"takes {first} to {probes[0]} (seed 0) and {second} to {probes[1]} (seed 1)" in FLAT
    assert f"comes down to {means('without-f_bn', rope_base=1_000_000)[0]}" in FLAT
    low, high = min(ours.values(), key=float), max(ours.values(), key=float)
    assert f"({low} to {high} in {len(ours)} trainings, the paper's best 0.38)" in FLAT
    remedied = means("randomized-positions")
    assert set(remedied.values()) == {"0.00"} and f"(0.00 in {len(remedied)} trainings)" in FLAT
    for baseline in ("full-vocabulary", "alpha-renaming"):
        assert means(f"randomized-positions-{baseline}") == {0: "0.00"}
    plain = load_result("copying-5-10/plain", "paper", 0)["result"]
    within = plain["mean_within_training_characters"]
    assert f"{within:.2f} for plain and {first} for proposed" in FLAT
    axis, grid = np.array(plain["axis"]), np.array(plain["grid"], dtype=float)
    more = np.nanmean(grid[axis > 5][:, axis <= 10])
    mean = plain["mean_edit_distance"]
    assert f"plain has {mean:.2f}; at trained lengths and more characters {more:.2f}" in FLAT
