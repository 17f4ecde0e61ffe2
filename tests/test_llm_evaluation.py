"""Evaluation of language models: known ones get known marks; shipped verdicts are right."""

import argparse
import json
import re

import pytest
from llm_server import FakeServer, completion, model_on

from itekit.commands import llm as llm_command
from itekit.datasets.sets import read_set
from itekit.llm.evaluation import Effort, LanguageModelEvaluation
from itekit.llm.judging import count_empty, judge
from itekit.llm.results import load_result, measure
from itekit.llm_widgets import AskPanel
from itekit.logic.operators import PROPOSITIONAL
from itekit.results import RESULTS, MissingResultError
from itekit.tasks import ltl, propositional


def solver(request):
    """A language model that is our own solver: always right."""
    text = request["messages"][0]["content"]
    infix = re.search(r"Your Turn\nFormula: (.+)", text)[1]
    from itekit.logic.infix import parse_infix
    from itekit.logic.infix_traces import trace_to_infix
    from itekit.logic.traces import parse_trace

    if "LTL" in text:
        label = ltl.solve("".join(parse_infix(infix).tokens()))
        return completion(trace_to_infix(parse_trace(label)))
    label = propositional.solve("".join(parse_infix(infix, PROPOSITIONAL).tokens()))
    values = zip(label[::2], label[1::2], strict=True)
    return completion(json.dumps({name: value == "1" for name, value in values}))


@pytest.mark.parametrize("task", ["ltl", "propositional"])
def test_a_model_that_is_always_right_gets_full_marks(task, tmp_path):
    with FakeServer(solver) as server:
        evaluation = LanguageModelEvaluation(
            model_on(server), task, "smoke", Effort(6, 1, 1), keep=tmp_path, progress=False
        )
        made = measure(evaluation, "a test")
    found = made["result"]
    assert found["test"]["correct"] == 1 and found["test"]["verdicts"]["invalid"] == 0
    assert found["test"]["samples"] == 6 == len(found["replies"])
    grid = found["generalization"]
    assert grid["samples"] == grid["correct"] and grid["mean_correct_cells"] == 1
    cells = found["alpha_covariance_training"]["by_propositions"]
    if task == "propositional":  # its labels are fixed by the formula up to renaming
        assert {cell["mean"] for cell in cells.values()} == {1.0}
    json.dumps(made)
    assert made["sampling"]["seed"] == 42 and "openai" in made["evaluated"]["versions"]


def test_a_model_that_refuses_is_invalid_and_perfectly_covariant(tmp_path):
    with FakeServer(completion("I cannot help with that.")) as server:
        found = LanguageModelEvaluation(
            model_on(server), "ltl", "smoke", Effort(3, 0, 1), keep=tmp_path, progress=False
        ).run()
    assert found["test"]["verdicts"]["invalid"] == 3 and found["test"]["empty"] == 0
    cells = found["alpha_covariance_training"]["by_propositions"].values()
    assert {cell["mean"] for cell in cells} == {1.0}
    assert "generalization" not in found


def test_a_model_that_hangs_on_names_has_no_alpha_covariance(tmp_path):
    """It answers with the first letter of the alphabet that the formula has, whatever it means."""

    def first(request):
        infix = re.search(r"Your Turn\nFormula: (.+)", request["messages"][0]["content"])[1]
        names = sorted(set(re.findall("[a-z]", infix.replace("xor", ""))))
        return completion(f'{{"{names[0]}": true}}')

    with FakeServer(first) as server:
        found = LanguageModelEvaluation(
            model_on(server), "propositional", "smoke", Effort(1, 0, 1), keep=tmp_path
        ).alpha_covariance()
    cells = found["alpha_covariance_training"]["by_propositions"]
    assert cells["2"]["mean"] < 1 and cells["3"]["mean"] < 1


def test_a_result_that_is_not_there_says_the_command():
    with pytest.raises(MissingResultError, match="python -m itekit llm prop --scale lab"):
        load_result("no such model", "propositional", "lab")


@pytest.mark.parametrize("path", sorted(RESULTS.glob("llm-*.json")), ids=lambda path: path.stem)
def test_shipped_verdicts_are_what_the_checkers_say_of_the_shipped_replies(path):
    shipped = json.loads(path.read_text(encoding="utf-8"))
    said = shipped["result"]["replies"]
    columns = [[one[key] for one in said] for key in ("formula", "reply", "label", "verdict")]
    formulas, replies, labels, verdicts = columns
    assert judge(shipped["task"], formulas, replies, labels) == verdicts
    test = shipped["result"]["test"]
    assert [test["verdicts"][v] for v in test["verdicts"]] == [
        verdicts.count(v) for v in test["verdicts"]
    ]
    if shipped["task"] == "ltl":
        assert count_empty(replies, verdicts) == test["empty"]
    problems = read_set(test["set"], shipped["scale"])["test"][: test["samples"]]
    assert list(zip(formulas, labels, strict=True)) == problems
    assert shipped["model"]["n_params"] > 1e6 and shipped["evaluated"]["hardware"]


def run_command(*arguments):
    parser = argparse.ArgumentParser()
    llm_command.add(parser.add_subparsers())
    chosen = parser.parse_args(["llm", *arguments])
    return chosen.function(chosen)


def test_the_command_writes_a_result(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("itekit.llm.evaluation.KEEP", tmp_path)
    with FakeServer(solver) as server:
        options = ["--base-url", server.base_url, "--model", "Fake 1.0", "--samples", "2"]
        place = ["--directory", str(tmp_path)]
        assert run_command("prop", "--scale", "smoke", *options, *place) == 0
    written = json.loads((tmp_path / "llm-fake-1-0-prop-smoke.json").read_text())
    assert (tmp_path / "llm-fake-1-0-prop").is_dir()  # the replies
    assert written["result"]["test"]["samples"] == 2 and "100.0%" in capsys.readouterr().out
    with pytest.raises(ValueError, match="--model"):
        run_command("ltl", "--base-url", "http://localhost:1/v1")


# the panel


def test_the_panel_shows_what_is_sent_the_reply_and_the_verdict():
    with FakeServer(completion("b; <c>; cycle{1}"), completion("b; c; cycle{1}")) as server:
        panel = AskPanel(model_on(server))
        assert "Formula: a U (b &amp; Xc)" in panel.answer.value and not server.requests
        panel.button.click()
        panel.asking.join()
        assert "&lt;c&gt;" in panel.answer.value and "<b>invalid</b>" in panel.answer.value
        panel.button.click()
        panel.asking.join()
        assert "<b>correct</b>" in panel.answer.value
        panel.text.value = "a U"
        assert 'role="alert"' in panel.answer.value
        panel.text.value = "hello U b"
        assert "single letters, found &#x27;hello&#x27;" in panel.answer.value
        panel.task.value, panel.text.value = "propositional", "a ^ b | c"
        assert "(a xor b) | c" in panel.answer.value
    panel.model = None
    panel.button.click()
    panel.asking.join()
    assert "make llm" in panel.answer.value
