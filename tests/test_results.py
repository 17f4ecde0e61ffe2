"""Results and networks by name, ours beside the paper's, and the paper's figures."""

import json
import math
import shlex
from dataclasses import replace

import numpy as np
import pytest
import torch
from tiny import tiny_experiment

from itekit import results
from itekit.__main__ import make_parser
from itekit.datasets.presets import preset
from itekit.experiments import COPYING_NAMES, experiment, from_json
from itekit.plots import rate_heatmaps
from itekit.random_vectors import METHODS
from itekit.results import (
    PAPER,
    heatmap_panel,
    logic_rows,
    markdown_table,
    our_rate,
    our_value,
    paper_alpha_covariance,
    paper_rate,
    paper_search,
    paper_table,
    paper_tables,
    paper_value,
    paper_values,
    run_line,
    shipped,
    to_make,
)
from itekit.tasks.copying import EvaluationGrid
from itekit.training import Network

# Files


@pytest.fixture
def directories(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path / "checkpoints")
    return tmp_path


def evaluated(seed: int = 0) -> dict:
    made = replace(tiny_experiment(seed=seed), grid=EvaluationGrid(3, 6, samples=1, stride=3))
    return results.evaluate(Network(made).train(False), progress=False)


def test_a_result_is_saved_and_loaded(directories):
    saved = evaluated()
    path = results.save_result(saved, results.RESULTS)
    assert path.name == "copying-5-10-proposed-smoke-s0.json"
    json.loads(path.read_text(), parse_constant=pytest.fail)  # no NaN, which is not JSON
    loaded = results.load_result("copying-5-10/proposed", "smoke")
    grid = loaded["result"].pop("grid")
    assert grid.dtype == float and np.isnan(grid[1, 0]) and np.isfinite(np.triu(grid)).all()
    assert {"command", "versions", "hardware", "date", "seconds"} <= set(loaded["evaluated"])
    del saved["result"]["grid"]
    assert loaded == json.loads(json.dumps(saved))


def test_a_figure_that_is_no_number_is_never_written(directories):
    broken = evaluated() | {"result": {"mean_edit_distance": math.nan}}
    with pytest.raises(ValueError, match="JSON compliant"):
        results.save_result(broken, results.RESULTS)
    assert not list(directories.rglob("*.json"))


def test_all_seeds_are_found_in_order_beside_logs(directories):
    for seed in (10, 2):
        results.save_result(evaluated(seed), results.RESULTS)
    (results.RESULTS / "copying-5-10-proposed-smoke-s2.log.json").write_text("[]")
    (results.RESULTS / "copying-5-10-proposed-lab-s1.json").write_text("{}")
    found = results.results("copying-5-10/proposed", "smoke")
    assert [result["seed"] for result in found] == [2, 10]
    assert results.results("copying-5-10/plain", "smoke") == []


@pytest.mark.parametrize(
    ("changed", "end", "option"),
    [
        ({"rope_base": 2_000}, "-rope2000", "--rope-base 2000"),
        ({"search": "published"}, "-published", "--search published"),
    ],
)
def test_other_evaluations_of_a_run_stand_beside_it(directories, changed, end, option):
    name = "copying-5-10/proposed"
    for seed in (2, 0):
        value = evaluated(seed)
        results.save_result(value, results.RESULTS)
        made = from_json(value["experiment"])
        if "search" in changed:
            other = replace(made, **changed)
        else:
            other = made.with_rope_base(changed["rope_base"])
        path = results.save_result(value | {"experiment": other.to_json()}, results.RESULTS)
        assert path.name == f"copying-5-10-proposed-smoke-s{seed}{end}.json"
    for options, expected in (({}, made), (changed, other)):
        found = results.results(name, "smoke", **options)
        assert [result["seed"] for result in found] == [0, 2]
        assert found[0]["experiment"] == json.loads(json.dumps(expected.to_json()))
    with pytest.raises(results.MissingResultError, match=f"--seed 1 {option}$"):
        results.load_result(name, "smoke", 1, **changed)


@pytest.mark.parametrize("text", ["{", "[]", "3", "[" * 100_000, '{"result": 1}', "{}", "\xff\xfe"])
def test_a_damaged_result_is_named(directories, text):
    path = results.save_result(evaluated(), results.RESULTS)
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match="copying-5-10-proposed-smoke-s0.json"):
        results.load_result("copying-5-10/proposed", "smoke")


def test_what_is_missing_says_how_to_make_it(directories):
    name = "copying-3-30/plain"
    for load, command in (
        (results.load_result, "evaluate"),
        (results.load_network, "train"),
        (results.load_log, "train"),
        (results.load_redraw, "redraw"),
    ):
        with pytest.raises(results.MissingResultError) as caught:
            load(name, "smoke", 3)
        python, module, kit, *words = str(caught.value).split("make it: ")[1].split()
        assert (python, module, kit, words[0]) == ("python", "-m", "itekit", command)
        parsed = make_parser().parse_args(words)
        assert (parsed.name, parsed.scale, parsed.seed) == (name, "smoke", 3)
    assert shipped("ltl/proposed", "lab", 7) is None
    for line in to_make("ltl/proposed", "lab", 7).split(" && "):
        parsed = make_parser().parse_args(shlex.split(line)[3:])
        assert (parsed.name, parsed.scale, parsed.seed) == ("ltl/proposed", "lab", 7)
    with pytest.raises(ValueError, match="unknown experiment"):
        shipped("ltl/proposd")


def test_a_network_is_loaded_where_there_is_one_and_trained_where_there_is_none(
    directories, monkeypatch
):
    monkeypatch.setattr(results, "experiment", lambda n, _, seed: tiny_experiment(n, seed))
    name, runs = "copying-5-10/plain", directories / "runs"
    trained = results.load_or_train(name, "smoke", directory=runs, progress=False)
    assert trained.trained["steps"] == 20
    before = {p: p.stat().st_mtime_ns for p in runs.rglob("*") if p.is_file()}
    again = results.load_or_train(name, "smoke", directory=runs, progress=False)
    assert before == {p: p.stat().st_mtime_ns for p in runs.rglob("*") if p.is_file()}
    network, log = results.publish(trained.experiment, runs / trained.experiment.slug)
    assert network == results.checkpoint_path(trained.experiment) and log.exists()
    assert results.load_log(name, "smoke")[-1]["step"] == 20
    loaded = results.load_network(name, "smoke")
    assert torch.equal(again.embedding.learned, trained.embedding.learned)
    assert torch.equal(loaded.embedding.learned, trained.embedding.learned.half().float())
    assert loaded.trained == again.trained == trained.trained


# Ours beside the paper's


def made_result(name: str, scale: str = "smoke", seed: int = 0, **trained) -> dict:
    """A result with 4 and 2 correct of 5 problems each in a grid of 4 rows and 2 columns."""
    grid = {
        "propositions": [1, 2, 3, 4],
        "lengths": [1, 2],
        "samples": [[5, 5]] * 4,
        "correct": [[4, 4], [4, 4], [4, 4], [2, 2]],
        "mean_correct_cells": 0.7,
    }
    copying = {"mean_edit_distance": 9.5, "mean_within_training_characters": 0.25, "axis": [30]}
    return {
        "name": name,
        "scale": scale,
        "seed": seed,
        "experiment": experiment(name, scale, seed).to_json(),
        "trained": {"steps": 20, **trained},
        "result": copying if name in COPYING_NAMES else {"generalization": grid},
    }


def test_run_lines_say_how_long_on_what_and_what_came_out():
    assert run_line(made_result("ltl/plain")) == "ltl/plain, smoke size, seed 0: 20 steps"
    line = run_line(made_result("ltl/plain", seconds=120, hardware="two cores"))
    assert line.endswith("20 steps in 2 minutes on two cores")
    line = run_line(made_result("copying-5-10/plain", partial=True))
    assert "20 steps (unfinished); mean" in line
    assert "0.25 (up to 5 unique characters); paper 0.51" in line
    line = run_line(made_result("copying-3-30/proposed"))
    assert line.endswith("mean edit distance 9.50; paper 0.0 for 20 of 27 models")


def test_plain_is_compared_over_the_characters_it_was_trained_on():
    assert our_value(made_result("copying-5-10/plain")) == 0.25
    assert our_value(made_result("copying-5-10/proposed")) == 9.5


def test_tables_show_every_seed_and_the_span_of_minutes(monkeypatch):
    grid = made_result("ltl/proposed")["result"]["generalization"]
    runs = [
        made_result("ltl/proposed", "lab", seed, seconds=1800 + 60 * seed, hardware="one | CPU")
        | {"result": {"test": {"correct": 0.5}, "generalization": grid}}
        for seed in (0, 2)
    ]
    for run in runs:
        run["result"]["alpha_covariance_training"] = {"by_propositions": {}}
    there = {("ltl/proposed", "lab"): runs}
    monkeypatch.setattr(results, "results", lambda *key: there.get(key, []))
    rows = {row[0]: row[1:] for row in logic_rows()}
    means = ["50.0, 50.0", "–", "–", "70.0, 70.0 (paper 90.8)", "40.0, 40.0", "–"]
    assert rows["ltl/proposed"] == ["lab", *means, "0, 2", "30 to 32", "one | CPU"]
    assert rows["ltl/plain"][0] == "not run" and rows["ltl/plain"][1] == "– (paper 98.2)"
    assert markdown_table(("a", "b"), [["1", "|"]]) == "| a | b |\n| --- | --- |\n| 1 | \\| |"


@pytest.mark.parametrize("name", ["ltl/proposed", "ltl-perturbed/plain", "prop-limited/proposed"])
def test_panels_hold_the_counts_and_the_box_of_the_training_set(name):
    result = made_result(name)
    title, samples, correct, propositions, longest = heatmap_panel(result)
    grid = result["result"]["generalization"]
    assert (title, samples, correct) == (name.split("/")[1], grid["samples"], grid["correct"])
    source = preset({"l": "ltl35", "p": "prop35"}[name[0]], "smoke").strata[0]
    assert (propositions, longest) == (source.propositions, source.high)
    axes = {"lengths": grid["lengths"], "propositions": grid["propositions"]}
    figure = rate_heatmaps([heatmap_panel(result, "ours")], **axes)
    assert "ours: 70.0% correct" in [note.text for note in figure.layout.annotations]


def test_beyond_counts_the_rows_past_the_training_propositions_only():
    assert our_rate(made_result("ltl/proposed"), "beyond") == 0.4  # 3 of training, 1 beyond
    assert our_rate(made_result("ltl/full-vocabulary"), "beyond") is None
    assert our_rate(made_result("ltl/proposed"), "heatmap-mean-correct") == 0.7


# The paper's figures


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("copying-5-10/proposed", 0.38),
        ("copying-5-10/plain", 0.51),
        ("copying-3-30/models-without-error", 20),
        ("copying-5-10/search/correlation/adacos", -0.41),
        ("ltl/plain/correct", 98.23),
        ("ltl-perturbed/plain/exact", 12.12),
        ("ltl/proposed/alpha-covariance-10-of-10", 28.34),
        ("ltl/proposed/heatmap-mean-correct", 90.76),
        ("prop/llama/correct", 29.03),
        ("ltl/proposed/training-minutes", 2 * 60 + 29),
    ],
)
def test_figures_are_those_of_the_paper(key, value):
    assert paper_value(key) == value == paper_values()[key]["value"]


@pytest.mark.parametrize("name", paper_tables())
def test_tables_are_whole_and_their_figures_have_keys(name):
    table = paper_table(name)
    assert len(set(table.columns)) == len(table.columns)
    for row, figures in table.rows.items():
        assert list(table.row(row).values()) == figures and len(figures) == len(table.columns)
        for column, figure in table.row(row).items():
            assert paper_value(f"{row}/{column}") == figure


def test_alpha_covariance_is_a_rate_by_number_of_propositions():
    ltl, prop = paper_alpha_covariance("ltl"), paper_alpha_covariance("prop")
    assert list(ltl) == list(prop) == ["full-vocabulary", "alpha-renaming", "proposed"]
    assert all(list(rates) == list(range(3, 11)) for rates in (*ltl.values(), *prop.values()))
    assert ltl["proposed"][3] == pytest.approx(0.5430) and prop["proposed"][10] == 0.2075
    with pytest.raises(ValueError, match="'copying/full-vocabulary/.*' is not in paper.json"):
        paper_alpha_covariance("copying")


def test_search_has_every_setting_once_and_agrees_with_what_is_said_of_it():
    records = paper_search()
    settings = [tuple(v for k, v in one.items() if k != "edit_distance") for one in records]
    assert len(records) == 90 == len(set(settings))
    assert {one["method"] for one in records} == set(METHODS)
    assert all(one["f_fn"] for one in records if one["adacos"])
    best = min(records, key=lambda one: one["edit_distance"])
    assert best["edit_distance"] == paper_value("copying-5-10/proposed-table")
    assert best["edit_distance"] == round(paper_value("copying-5-10/proposed"), 1)
    assert (best["method"], best["d_beta"], best["f_bn"]) == ("hypercube_vertices", 6, True)
    for one in records:
        on = [feature for feature in ("f_bn", "f_fn", "adacos") if one[feature]]
        place = f"{'+'.join(on) or 'none'}/{one['method']}-{one['d_beta']}"
        assert one["edit_distance"] == paper_value(f"copying-5-10/search/{place}")


def test_a_rate_is_a_hundredth_of_a_figure_in_per_cent():
    assert paper_rate("ltl/plain/correct") == pytest.approx(0.9823)
    with pytest.raises(ValueError, match="is in minutes, not in per cent"):
        paper_rate("ltl/plain/training-minutes")


def test_every_figure_says_what_it_is_and_no_key_stands_for_two():
    for key, entry in paper_values().items():
        signed = key.startswith("copying-5-10/search/correlation/")
        assert math.isfinite(entry["value"]) and (entry["value"] >= 0 or signed), key
        assert entry["unit"] != "per cent" or 0 <= entry["value"] <= 100, key
        assert entry["section"] and entry["note"], key
    tables = paper_tables().values()
    in_tables = [f"{row}/{column}" for t in tables for row in t.rows for column in t.columns]
    alone = json.loads(PAPER.read_text(encoding="utf-8"))["values"]
    assert len({*in_tables, *alone}) == len(in_tables) + len(alone) == len(paper_values())


def test_an_unknown_figure_table_or_row_is_an_error_that_helps():
    for key in ("copying-5-10/propsed", "", "ltl/proposed-on-the-moon"):
        with pytest.raises(ValueError, match="paper.json") as caught:
            paper_value(key)
        assert repr(key) in str(caught.value)
        assert any(known in str(caught.value) for known in paper_values())
    with pytest.raises(ValueError, match="table 'ltl-perturbed' is not in paper.json: .*ltl-pert"):
        paper_table("ltl-perturbed")
    with pytest.raises(ValueError, match="row 'ltl/plane' .*: try ltl/plain"):
        paper_table("ltl-perturbation").row("ltl/plane")


def test_the_data_card_speaks_of_everything_in_data():
    card = (PAPER.parent / "README.md").read_text(encoding="utf-8")
    entries = [path.name for path in PAPER.parent.iterdir() if not path.name.startswith(".")]
    assert [name for name in entries if name not in card and name != "README.md"] == []
