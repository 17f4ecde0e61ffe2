"""Results and networks by name, ours beside the paper's, and the paper's figures."""

import json
import math

import numpy as np
import pytest
import torch
from tiny import tiny_experiment

from itekit import results
from itekit.__main__ import make_parser
from itekit.datasets.presets import preset
from itekit.files import MissingError, read_json
from itekit.names import experiment, from_json
from itekit.random_vectors import METHODS
from itekit.training import FINISHED, Network
from lessons import runs as tables
from lessons.lesson_10 import heatmap_panel
from lessons.lesson_12 import paper_alpha_covariance
from lessons.search_tables import paper_search

NAME = "copying-5-10/proposed"

# Files


@pytest.fixture
def directories(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path / "checkpoints")
    return tmp_path


def evaluated(seed: int = 0) -> dict:
    made = experiment(NAME, "smoke", seed)
    return results.evaluate(Network(made).train(False), progress=False)


def test_results_are_saved_and_loaded_and_all_seeds_are_found_in_order(directories):
    saved = evaluated(2)
    path = results.save_result(saved, results.RESULTS)
    assert path.name == "copying-5-10-proposed-smoke-s2.json"
    json.loads(path.read_text(), parse_constant=pytest.fail)  # no NaN, which is not JSON
    loaded = results.load_result(NAME, "smoke", 2)
    grid = loaded["result"].pop("grid")
    assert grid.dtype == float and np.isnan(grid[1, 0]) and np.isfinite(np.triu(grid)).all()
    assert {"command", "versions", "hardware", "date", "seconds"} <= set(loaded["evaluated"])
    del saved["result"]["grid"]
    assert loaded == json.loads(json.dumps(saved))
    with pytest.raises(ValueError, match="JSON compliant"):  # and nothing is written
        broken = saved | {"seed": 3, "result": {"mean_edit_distance": math.nan}}
        results.save_result(broken, directories)
    evil = saved | {"experiment": saved["experiment"] | {"scale": "../../../evil"}}
    with pytest.raises(ValueError, match="evil.*expected one of smoke, lab, paper"):
        results.save_result(evil, directories / "deep" / "er")
    assert not list(directories.glob("*.json"))
    results.save_result(evaluated(10), results.RESULTS)
    (results.RESULTS / "copying-5-10-proposed-smoke-s2.log.json").write_text("[]")
    (results.RESULTS / "copying-5-10-proposed-lab-s1.json").write_text("{}")
    assert [result["seed"] for result in results.results(NAME, "smoke")] == [2, 10]
    assert results.results("copying-5-10/plain", "smoke") == []


@pytest.mark.parametrize(
    ("changed", "end", "option"),
    [
        ({"rope_base": 2_000}, "-model.rope_base=2000", "--rope-base 2000"),
        ({"search": "published"}, "-search=published", "search=published"),
    ],
)
def test_other_evaluations_of_a_run_stand_beside_it(directories, changed, end, option):
    value = evaluated(2)
    results.save_result(value, results.RESULTS)
    made, other = experiment(NAME, "smoke", 2), experiment(NAME, "smoke", 2, **changed)
    path = results.save_result(value | {"experiment": other.to_json()}, results.RESULTS)
    assert path.name == f"copying-5-10-proposed-smoke-s2{end}.json"
    for options, expected in (({}, made), (changed, other)):
        (found,) = results.results(NAME, "smoke", **options)
        assert found["experiment"] == json.loads(json.dumps(expected.to_json()))
    with pytest.raises(MissingError, match=f"{NAME} {option} --scale smoke --seed 1"):
        results.load_result(NAME, "smoke", 1, **changed)


def test_every_shipped_file_is_called_by_its_settings():
    """One name is one run: the settings in a file are those of its name, in today's table."""
    found = {p: read_json(p) for p in results.RESULTS.glob("*.json") if ".log" not in p.name}
    ours = {p: v["experiment"] for p, v in found.items() if "experiment" in v}
    assert len(ours) > 100
    for path, settings in ours.items():
        end = path.stem.removeprefix(from_json(settings).slug)
        assert end in ("", "-redraw", "-redraw-scale8", "-patterns"), path.name
    for path in results.CHECKPOINTS.glob("*.safetensors"):
        assert Network.load(path).experiment.slug == path.stem


def test_what_is_missing_says_how_to_make_it(directories):
    name = "copying-3-30/plain"
    for load, command in (
        (results.load_result, "evaluate"),
        (results.load_network, "train"),
        (results.load_log, "train"),
        (results.load_redraw, "redraw"),
    ):
        with pytest.raises(MissingError) as caught:
            load(name, "smoke", 3)
        python, module, kit, *words = str(caught.value).split("make it: ")[1].split()
        assert (python, module, kit, words[0]) == ("python", "-m", "itekit", command)
        parsed = make_parser().parse_args(words)
        assert (parsed.name, parsed.scale, parsed.seed) == (name, "smoke", 3)
    assert results.shipped("ltl/proposed", "lab", 7) is None
    with pytest.raises(ValueError, match="unknown experiment"):
        results.shipped("ltl/proposd")


def test_a_network_is_loaded_where_there_is_one_and_trained_where_there_is_none(
    directories, monkeypatch
):
    monkeypatch.setattr(results, "experiment", lambda n, _, seed=0: tiny_experiment(n, seed))
    name, runs = "copying-5-10/plain", directories / "runs"
    trained = results.load_or_train(name, "smoke", directory=runs, progress=False)
    assert trained.trained["steps"] == 20
    before = {p: p.stat().st_mtime_ns for p in runs.rglob("*") if p.is_file()}
    again = results.load_or_train(name, "smoke", directory=runs, progress=False)
    assert before == {p: p.stat().st_mtime_ns for p in runs.rglob("*") if p.is_file()}
    network, log = results.publish(trained.experiment, runs / trained.experiment.run)
    assert network == results.checkpoint_path(trained.experiment) and log.exists()
    assert results.load_log(name, "smoke")[-1]["step"] == 20
    loaded = results.load_network(name, "smoke")
    assert torch.equal(again.embedding.learned, trained.embedding.learned)
    assert torch.equal(loaded.embedding.learned, trained.embedding.learned.half().float())
    assert loaded.trained == again.trained == trained.trained


# Ours beside the paper's


def made_result(name: str, scale: str = "smoke", seed: int = 0, **trained) -> dict:
    """A result with 4 and 2 correct of 5 problems each in a grid of 4 rows and 2 columns."""
    grid = {"propositions": [1, 2, 3, 4], "lengths": [1, 2], "samples": [[5, 5]] * 4}
    grid |= {"correct": [[4, 4], [4, 4], [4, 4], [2, 2]], "mean_correct_cells": 0.7}
    copying = {"mean_edit_distance": 9.5, "mean_within_training_characters": 0.25, "axis": [30]}
    result = copying if name.startswith("copying-") else {"generalization": grid}
    made = experiment(name, scale, seed)
    about = {"name": name, "scale": scale, "seed": seed, "experiment": made.to_json()}
    return about | {"trained": {"steps": 20, **trained}, "result": result}


def test_a_run_begins_with_the_weights_of_its_start(directories):
    """There is none of this size, so it is trained beside."""
    made = experiment("ltl/converted", "smoke")
    found = results.trainer(made, directories / "own").network.embedding.learned
    start = Network.load(directories / "ltl-plain-smoke-s0" / FINISHED)
    assert torch.equal(found, start.embedding.learned[:-1])


def test_a_run_is_said_in_a_line_beside_the_paper():
    line = results.run_line(made_result("ltl/plain", seconds=120, hardware="two cores"))
    assert line == "ltl/plain, smoke size, seed 0: 20 steps in 2 minutes on two cores"
    # Plain is compared over the characters that it was trained on.
    line = results.run_line(made_result("copying-5-10/plain", partial=True))
    assert "steps (unfinished); mean" in line and "unique characters); paper 0.51" in line
    assert results.our_value(made_result("copying-5-10/plain")) == 0.25
    assert results.our_value(made_result(NAME)) == 9.5


def test_tables_show_every_seed_and_the_span_of_minutes(monkeypatch):
    runs = []
    for seed in (0, 2):
        more = {"seconds": 1800 + 60 * seed, "hardware": "one | CPU"}
        runs.append(made_result("ltl/proposed", "lab", seed, **more))
        runs[-1]["result"]["test"] = {"correct": 0.5}
        runs[-1]["result"]["alpha_covariance_training"] = {"by_propositions": {}}
    there = {("ltl/proposed", "lab"): runs}
    monkeypatch.setattr(tables, "results", lambda *key: there.get(key, []))
    rows = {row[0]: row[1:] for row in tables.logic_rows()}
    means = ["50.0, 50.0", "–", "–", "70.0, 70.0 (paper 90.8)", "40.0, 40.0", "–"]
    assert rows["ltl/proposed"] == ["lab", *means, "0, 2", "30 to 32", "one | CPU"]
    assert rows["ltl/plain"][0] == "not run" and rows["ltl/plain"][1] == "– (paper 98.2)"
    table = results.markdown_table(("a", "b"), [["1", "|"]])
    assert table == "| a | b |\n| --- | --- |\n| 1 | \\| |"


def test_panels_and_rates_beyond_know_the_box_of_the_training_set():
    for name, trained_on in (("ltl/proposed", "ltl35"), ("prop-limited/proposed", "prop35")):
        result, source = made_result(name), preset(trained_on, "smoke").strata[0]
        grid = result["result"]["generalization"]
        counts = (name.split("/")[1], grid["samples"], grid["correct"])
        assert heatmap_panel(result) == (*counts, source.propositions, source.high)
    # 3 of training, 1 beyond
    assert results.our_rate(made_result("ltl/proposed"), "beyond") == 0.4
    assert results.our_rate(made_result("ltl/full-vocabulary"), "beyond") is None
    assert results.our_rate(made_result("ltl/proposed"), "heatmap-mean-correct") == 0.7


# The paper's figures


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
        assert results.paper_value(key) == value
    assert results.paper_cell("ltl/plain", "correct") == pytest.approx(0.9823)
    assert results.paper_cell("ltl/plain", "solved") is None
    ltl, prop = paper_alpha_covariance("ltl"), paper_alpha_covariance("prop")
    assert ltl["proposed"][3] == pytest.approx(0.5430) and prop["proposed"][10] == 0.2075
    with pytest.raises(ValueError, match="is in minutes"):
        results.paper_cell("ltl/plain", "training-minutes")


def test_tables_are_whole_and_every_figure_says_what_it_is():
    in_tables = []
    paper = json.loads(results.PAPER.read_text(encoding="utf-8"))
    for table in map(results.paper_table, paper["tables"]):
        assert len(set(table.columns)) == len(table.columns)
        for row, figures in table.rows.items():
            assert list(table.row(row).values()) == figures and len(figures) == len(table.columns)
            for column, figure in table.row(row).items():
                in_tables.append(f"{row}/{column}")
                assert results.paper_value(in_tables[-1]) == figure
    alone = paper["values"]
    assert len({*in_tables, *alone}) == len(in_tables) + len(alone)
    for key, entry in alone.items():
        signed = key.startswith("copying-5-10/search/correlation/")
        assert math.isfinite(entry["value"]) and (entry["value"] >= 0 or signed), key
        assert entry["unit"] != "per cent" or 0 <= entry["value"] <= 100, key
        assert entry["section"] and entry["note"], key


def test_the_best_of_the_paper_s_search_is_what_is_said_of_it():
    records = paper_search()
    assert {one["method"] for one in records} == set(METHODS)
    best = min(records, key=lambda one: one["edit_distance"])
    assert best["edit_distance"] == results.paper_value("copying-5-10/proposed-table")
    assert best["edit_distance"] == round(results.paper_value("copying-5-10/proposed"), 1)
    assert (best["method"], best["d_beta"], best["f_bn"]) == ("hypercube_vertices", 6, True)


def test_an_unknown_figure_table_or_row_is_an_error_that_helps():
    with pytest.raises(ValueError, match="'copying-5-10/propsed' .*paper.json.*copying-"):
        results.paper_value("copying-5-10/propsed")
    with pytest.raises(ValueError, match="table 'ltl-perturbed' is not in paper.json: .*ltl-pert"):
        results.paper_table("ltl-perturbed")
    with pytest.raises(ValueError, match="row 'ltl/plane' .*: try ltl/plain"):
        results.paper_table("ltl-perturbation").row("ltl/plane")


def test_the_data_card_speaks_of_everything_in_data():
    data = results.PAPER.parent
    card = (data / "README.md").read_text(encoding="utf-8")
    entries = {path.name for path in data.glob("[!.]*")} - {"README.md"}
    assert [name for name in entries if name not in card] == []
