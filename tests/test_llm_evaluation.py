"""Evaluation of language models: known ones get known marks; shipped verdicts are right."""

import json
import re

import pytest
from llm_server import FakeServer, completion, model_on

from itekit.__main__ import main
from itekit.datasets.sets import read_set
from itekit.files import RESULTS, MissingError, read_json
from itekit.llm import judge, load_result, measure
from itekit.logic.formulas import LANGUAGES, to_prefix
from itekit.logic.infix import parse_infix, trace_to_infix
from itekit.logic.traces import parse_trace
from itekit.tasks import ltl, propositional


@pytest.fixture(autouse=True)
def replies(tmp_path, monkeypatch):
    monkeypatch.setattr("itekit.llm.KEEP", tmp_path)
    return tmp_path


def formula_of(request):
    text = request["messages"][0]["content"]
    return "ltl" if "LTL" in text else "propositional", text.splitlines()[-2][len("Formula: ") :]


def solver(request):
    """A language model that is our own solver: always right."""
    task, infix = formula_of(request)
    formula = to_prefix(parse_infix(infix, LANGUAGES[task]))
    if task == "ltl":
        return completion(trace_to_infix(parse_trace(ltl.solve(formula))))
    label = propositional.solve(formula)
    values = zip(label[::2], label[1::2], strict=True)
    return completion(json.dumps({name: value == "1" for name, value in values}))


def marks(behaviour, task, samples, grid=False):
    with FakeServer(behaviour) as server:
        effort = {"samples": samples, "grid": grid}
        made = measure(model_on(server), task, "smoke", effort=effort)
    assert json.loads(json.dumps(made)) == made
    return made["result"], made["result"]["alpha_covariance_training"]["by_propositions"]


def full_marks(found, samples):
    assert found["test"]["correct"] == 1 and found["test"]["verdicts"]["invalid"] == 0
    assert found["test"]["samples"] == samples == len(found["replies"])
    grid = found["generalization"]
    assert grid["samples"] == grid["correct"] and grid["mean_correct_cells"] == 1


def test_a_model_that_is_always_right_gets_full_marks():
    full_marks(marks(solver, "ltl", 6, grid=True)[0], 6)


def test_a_model_that_refuses_is_invalid_and_perfectly_covariant():
    found, cells = marks(completion("I cannot help with that."), "ltl", 3)
    assert found["test"]["verdicts"]["invalid"] == 3
    assert {cell["mean"] for cell in cells.values()} == {1.0}
    assert "generalization" not in found


def test_a_model_that_hangs_on_names_has_no_alpha_covariance():
    """It answers with the first letter of the alphabet that the formula has, whatever it means."""

    def first(request):
        names = sorted(set(re.findall("[a-z]", formula_of(request)[1].replace("xor", ""))))
        return completion(f'{{"{names[0]}": true}}')

    _, cells = marks(first, "propositional", 1)
    assert cells["2"]["mean"] < 1 and cells["3"]["mean"] < 1


@pytest.mark.parametrize("path", sorted(RESULTS.glob("llm-*.json")), ids=lambda path: path.stem)
def test_shipped_verdicts_are_what_the_checkers_say_of_the_shipped_replies(path):
    shipped = read_json(path)
    model, task, held = shipped["model"]["name"], shipped["task"], shipped["held_to_form"]
    assert load_result(model, task, shipped["scale"], held) == shipped
    said, test = shipped["result"]["replies"], shipped["result"]["test"]
    problems = read_set(test["set"], shipped["scale"])["test"][: test["samples"]]
    assert [(one["formula"], one["label"]) for one in said] == problems
    formulas, labels = zip(*problems, strict=True)
    verdicts = judge(task, formulas, [one["reply"] for one in said], labels)
    assert verdicts == [one["verdict"] for one in said]
    assert test["verdicts"] == {v: verdicts.count(v) for v in test["verdicts"]}


def test_models_without_latin_letters_have_results_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr("itekit.llm.RESULTS", tmp_path)
    files = set()
    for model in ("模型", "型模", "模型-7", "model-7"):
        with pytest.raises(MissingError) as missing:
            load_result(model, "ltl", "lab")
        files.add(re.search(r"llm-\S+\.json", str(missing.value))[0])
    assert len(files) == 4


def test_the_command_writes_a_result(replies, capsys):
    with FakeServer(solver) as server:
        options = ["--base-url", server.base_url, "--model", "Fake 1.0", "--samples=3", "--grid"]
        place = ["--scale", "smoke", "--directory", str(replies)]
        assert main(["llm", "prop", *options, *place]) == 0
    written = read_json(replies / "llm-fake-1-0-prop-smoke.json")
    full_marks(written["result"], 3)
    covariance = written["result"]["alpha_covariance_training"]["by_propositions"]
    assert {cell["mean"] for cell in covariance.values()} == {1.0}, "labels are fixed by formulas"
    assert (replies / "llm-fake-1-0-prop").is_dir() and "100.0%" in capsys.readouterr().out
    assert written["sampling"]["seed"] == 42 and "openai" in written["evaluated"]["versions"]
    assert written["model"] == {"name": "Fake 1.0", "server": server.base_url}
    for alone in (["--base-url", "http://localhost:1/v1"], ["--model", "Fake 1.0"]):
        assert main(["llm", "ltl", *alone]) == 2
        assert "--base-url and --model" in capsys.readouterr().err
    with pytest.raises(MissingError, match="python -m itekit llm prop --scale lab"):
        load_result("no such model", "propositional", "lab")
