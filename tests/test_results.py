"""Results and networks by name, ours beside the paper's, and the paper's figures."""

import json
import math
import shlex

import numpy as np
import pytest
import torch
from tiny import tiny_experiment

from itekit import results
from itekit.__main__ import make_parser
from itekit.experiments import from_json
from itekit.files import DATA, MissingError, read_json
from itekit.names import experiment, result_name, run_name
from itekit.network import Network
from itekit.training import FINISHED
from lessons import paper

NAME = "copying-5-10/proposed"


@pytest.fixture
def directories(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path / "checkpoints")
    return tmp_path


def evaluated(seed: int = 0) -> dict:
    network = Network(experiment(NAME, "smoke", seed)).eval()
    return results.evaluate(network, progress=False)


def test_results_are_saved_and_loaded_and_all_seeds_are_found_in_order(directories):
    saved = evaluated(2)
    path = results.save_result(saved, results.RESULTS)
    assert path.name == "copying-5-10-proposed-smoke-s2.json"
    loaded = results.load_result(NAME, "smoke", 2)
    grid = loaded["result"].pop("grid")
    assert grid.dtype == float and np.isnan(grid[1, 0]) and np.isfinite(np.triu(grid)).all()
    assert {"command", "versions", "hardware", "date", "seconds"} <= set(loaded["evaluated"])
    del saved["result"]["grid"]
    assert loaded == json.loads(json.dumps(saved))
    with pytest.raises(ValueError, match="JSON compliant"):  # and nothing is written
        results.save_result(saved | {"result": {"mean_edit_distance": math.nan}}, directories)
    settings = saved["experiment"]
    evil = saved | {"experiment": settings | {"task": settings["task"] | {"scale": "../../evil"}}}
    with pytest.raises(ValueError, match="evil.*expected one of smoke, lab, paper"):
        results.save_result(evil, directories / "deep" / "er")
    assert not list(directories.glob("*.json"))
    results.save_result(evaluated(10), results.RESULTS)
    (results.RESULTS / "copying-5-10-proposed-smoke-s2.log.json").write_text("[]")
    (results.RESULTS / "copying-5-10-proposed-lab-s1.json").write_text("{}")
    assert [result["seed"] for result in results.results(NAME, "smoke")] == [2, 10]
    assert results.results("copying-5-10/plain", "smoke") == []
    with pytest.raises(ValueError, match="lab-s1.json: not a result of itekit: 'experiment'"):
        results.load_result(NAME, "lab", 1)


def proposed(error: MissingError):
    """What the parser makes of the command that a message proposes."""
    python, module, kit, *words = shlex.split(str(error).split("make it: ")[1])
    assert (python, module, kit) == ("python", "-m", "itekit")
    return make_parser().parse_args(words)


@pytest.mark.parametrize(
    ("changed", "end"),
    [
        ({"rope_base": 2_000}, "-model.rope_base=2000"),
        ({"search": "published"}, "-search=published"),
    ],
)
def test_other_evaluations_of_a_run_stand_beside_it(directories, changed, end):
    value = evaluated(2)
    results.save_result(value, results.RESULTS)
    usual, other = experiment(NAME, "smoke", 2), experiment(NAME, "smoke", 2, **changed)
    path = results.save_result(value | {"experiment": other.to_json()}, results.RESULTS)
    assert path.name == f"copying-5-10-proposed-smoke-s2{end}.json"
    for options, expected in (({}, usual), (changed, other)):
        (result,) = results.results(NAME, "smoke", **options)
        assert result["experiment"] == json.loads(json.dumps(expected.to_json()))
    with pytest.raises(MissingError) as caught:
        results.load_result(NAME, "smoke", 1, **changed)
    command = proposed(caught.value)
    assert (command.command, command.name, command.seed) == ("evaluate", NAME, 1)
    if "search" in changed:
        assert command.changes == [("search", "published")]
    else:  # of weights trained with the usual one: `train` must not be told of it
        assert (command.rope_base, command.changes) == (2000, [])


def test_what_is_missing_says_how_to_make_it(directories):
    name = "copying-3-30/plain"
    for load, word in (
        (results.load_result, "evaluate"),
        (results.load_network, "train"),
        (results.load_log, "train"),
    ):
        with pytest.raises(MissingError) as caught:
            load(name, "smoke", 3)
        command = proposed(caught.value)
        assert command.command == word
        assert (command.name, command.scale, command.seed) == (name, "smoke", 3)
    with pytest.raises(MissingError) as caught:
        results.load_redraw(name, "smoke", 3)
    parameters = [["name", name], ["scale", "smoke"], ["seed", "3"], ["do", '["redraw"]']]
    assert proposed(caught.value).parameter == parameters
    assert results.shipped("ltl/proposed", "lab", 7) is None
    with pytest.raises(ValueError, match="unknown experiment"):
        results.shipped("ltl/proposd")


def test_every_shipped_file_is_called_by_its_settings():
    """One name is one run: the settings in a file are those of its name, in today's table."""
    files = {p: read_json(p) for p in results.RESULTS.glob("*.json") if ".log" not in p.name}
    settings = {p: v["experiment"] for p, v in files.items() if "experiment" in v}
    assert len(settings) > 100
    for path, value in settings.items():
        if path.name.startswith("arena-"):
            continue  # tasks that are not the kit's: test_own_task.py
        end = path.stem.removeprefix(result_name(from_json(value)))
        assert end in ("", "-redraw", "-redraw-scale8", "-patterns"), path.name
    checkpoints = list(results.CHECKPOINTS.glob("*.safetensors"))
    assert len(checkpoints) > 20
    for path in checkpoints:
        assert run_name(Network.load(path).experiment) == path.stem


def test_a_network_is_loaded_where_there_is_one_and_trained_where_there_is_none(directories):
    settings, runs = tiny_experiment("copying-5-10/plain"), directories / "runs"
    trained = results.load_or_train(settings, runs, progress=False)
    assert trained.trained["steps"] == 20
    before = {p: p.stat().st_mtime_ns for p in runs.rglob("*") if p.is_file()}
    again = results.load_or_train(settings, runs, progress=False)
    assert before == {p: p.stat().st_mtime_ns for p in runs.rglob("*") if p.is_file()}
    network, log = results.publish(settings, runs / run_name(settings))
    assert network == results.checkpoint_path(settings)
    assert read_json(log)[-1]["step"] == 20
    changed = {"d_model": 24, "heads": 2, "model.d_ff": 32}
    loaded = results.load_network("copying-5-10/plain", "smoke", **changed)
    assert torch.equal(again.embedding.learned, trained.embedding.learned)
    assert torch.equal(loaded.embedding.learned, trained.embedding.learned.half().float())
    assert loaded.trained == again.trained == trained.trained


def test_a_run_begins_with_the_weights_of_its_start_and_the_same_changes(directories):
    """There is none of this size, so it is trained beside."""
    settings = experiment("ltl/converted", "smoke", **{"model.d_ff": 32})
    learned = results.trainer(settings, directories / "own").network.embedding.learned
    start = Network.load(directories / "ltl-plain-smoke-s0-model.d_ff=32" / FINISHED)
    assert start.experiment == experiment("ltl/plain", "smoke", **{"model.d_ff": 32})
    assert torch.equal(learned, start.embedding.learned[:-1])


# Ours beside the paper's


def toy_result(name: str) -> dict:
    """A result with 4 and 2 correct of 5 problems each in a grid of 4 rows and 2 columns."""
    grid = {"propositions": [1, 2, 3, 4], "lengths": [1, 2], "samples": [[5, 5]] * 4}
    grid |= {"correct": [[4, 4], [4, 4], [4, 4], [2, 2]], "mean_correct_cells": 0.7}
    copying = {"mean_edit_distance": 9.5, "mean_within_training_characters": 0.25, "axis": [30]}
    result = copying if name.startswith("copying-") else {"generalization": grid}
    about = {"name": name, "scale": "smoke", "seed": 0, "trained": {"steps": 20}}
    return about | {"experiment": experiment(name, "smoke").to_json(), "result": result}


def test_ours_beside_the_paper_s():
    """Plain is compared over the characters that it was trained on."""
    assert paper.our_value(toy_result("copying-5-10/plain")) == 0.25
    assert paper.our_value(toy_result(NAME)) == 9.5
    # 3 names of training, 1 beyond
    assert paper.our_rate(toy_result("ltl/proposed"), "beyond") == 0.4
    assert paper.our_rate(toy_result("ltl/full-vocabulary"), "beyond") is None
    line = paper.run_line(toy_result("copying-5-10/plain"))
    assert "20 steps; mean" in line and "unique characters); paper 0.51" in line


def test_figures_are_those_of_the_paper():
    for key, value in {
        "copying-5-10/proposed": 0.38,
        "copying-3-30/models-without-error": 20,
        "copying-5-10/search/correlation/adacos": -0.41,
        "ltl-perturbed/plain/exact": 12.12,
        "ltl/proposed/alpha-covariance-10-of-10": 28.34,
        "prop/llama/correct": 29.03,
        "ltl/proposed/training-minutes": 2 * 60 + 29,
    }.items():
        assert paper.paper_value(key) == value
    assert paper.paper_cell("ltl/plain", "correct") == pytest.approx(0.9823)
    assert paper.paper_cell("ltl/plain", "solved") is None
    for question, message in (
        (lambda: paper.paper_cell("ltl/plain", "training-minutes"), "is in minutes"),
        (lambda: paper.paper_value("copying-5-10/propsed"), "propsed' .*paper.json.*copying-"),
        (lambda: paper.paper_table("ltl-perturbation").row("ltl/plane"), "'ltl/plane' .*: try ltl"),
    ):
        with pytest.raises(ValueError, match=message):
            question()


def test_every_figure_of_the_paper_says_what_it_is():
    for key, entry in paper.paper_figures().items():
        signed = key.startswith("copying-5-10/search/correlation/")
        assert math.isfinite(entry["value"]) and (entry["value"] >= 0 or signed), key
        assert entry["unit"] != "per cent" or 0 <= entry["value"] <= 100, key
        assert entry["section"] and entry["note"], key


def test_the_data_card_speaks_of_everything_in_data():
    card = (DATA / "README.md").read_text(encoding="utf-8")
    entries = {path.name for path in DATA.glob("[!.]*")} - {"README.md"}
    assert [name for name in entries if name not in card] == []
