"""The copying search: its lists are the paper's, it loses nothing, and its statistics are right."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from itekit.files import SCALES, locked
from itekit.names import inside, run_name
from itekit.results import load_result
from itekit.training import Trainer, TrainingDivergedError
from lessons import copying_search as module
from lessons import search_tables as tables
from lessons.copying_search import (
    Setting,
    load_search,
    missing,
    run_setting,
    search,
    search_settings,
)
from lessons.paper import paper_table
from lessons.search_tables import paper_search

ROOT = Path(__file__).parents[1]
SEARCH = "copying-5-10/search/"
FAST = inside("training", steps=6, batch_size=8, warmup=2, log_every=2, validate_every=6)
FAST |= {"training.checkpoint_every": 2, "task.draws": 2} | inside("task.grid", maximum=6)


@pytest.fixture
def fast(monkeypatch, tmp_path):
    """Trainings of a few steps at smoke size, for what runs in this process."""
    monkeypatch.setitem(module.SIZES, "smoke", FAST)
    monkeypatch.setattr(module, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(module, "FOLDER", tmp_path / "runs")


def test_paper_size_is_the_papers_table_with_three_seeds():
    settings = search_settings("paper")
    cells = {(s.method, s.d_beta, s.f_bn, s.f_fn, s.adacos) for s in settings if not s.is_baseline}
    assert cells == {tuple(record[key] for key in tables.KEYS) for record in paper_search()}
    assert sum(not s.is_baseline for s in settings) == 3 * len(paper_search()) == 270
    table = paper_table("copying-search-baselines")
    assert {f"{SEARCH}{s.method}" for s in settings if s.is_baseline} == set(table.rows)
    assert {s.on for s in settings if s.is_baseline} == set(table.columns)
    lab = search_settings("lab")
    assert set(lab) <= set(settings) and {s.on for s in lab} == {s.on for s in settings}
    assert len({s.method for s in lab}) == 5


@pytest.mark.parametrize("scale", SCALES)
def test_every_setting_is_a_run_of_its_own(scale):
    settings = search_settings(scale)
    runs = {run_name(s.experiment(scale)) for s in settings}
    assert len(runs) == len(set(settings)) == len(settings)
    for s in settings:
        experiment = s.experiment(scale)
        embedding = experiment.embedding
        assert (experiment.scale, experiment.seed) == (scale, s.seed)
        assert (experiment.loss == "adacos") == s.adacos
        assert embedding.f_fn == s.f_fn
        if not s.is_baseline:
            features = embedding.method, embedding.d_beta, embedding.f_bn
            assert features == (s.method, s.d_beta, s.f_bn)


def test_each_setting_leaves_a_record_and_no_checkpoint(fast, monkeypatch, capsys):
    some = search_settings("smoke")[-2:]
    monkeypatch.setattr(module, "search_settings", lambda scale: some)
    search("smoke")
    records = load_search("smoke")
    assert tuple(Setting.of(record) for record in records) == some
    assert not list(module.FOLDER.glob("[!.]*")) and not missing("smoke")
    for record in records:
        result = record["result"]
        assert json.loads(json.dumps(record)) == record
        assert record["edit_distance"] == result["mean_edit_distance"]
        assert record["edit_distance"] == pytest.approx(np.nanmean(np.array(result["grid"], float)))
        assert result["other_base"] >= 0
        assert {"seconds", "command", "versions", "hardware"} <= set(record["trained"])
    assert "2/2  alpha-renaming f_fn+adacos seed 0  " in capsys.readouterr().out


def test_what_fails_or_was_stopped_is_told_and_goes_on(fast, monkeypatch, capsys):
    """The others are kept; the next search goes on from the checkpoint of what was stopped."""
    first, second = search_settings("smoke")[:2]
    whole, steps, step = run_setting(second, "smoke", module.FOLDER / "whole"), [], Trainer.run
    stopped = second.experiment("smoke")
    Trainer(stopped, module.FOLDER / run_name(stopped)).run(until=4, progress=False)

    def diverging(trainer, **options):
        steps.append((trainer.experiment, trainer.step))
        if trainer.experiment == first.experiment("smoke"):
            raise TrainingDivergedError("the loss is nan in steps 1 to 2")
        return step(trainer, **options)

    monkeypatch.setattr(module.Trainer, "run", diverging)
    monkeypatch.setattr(module, "search_settings", lambda scale: (first, second))
    with pytest.raises(RuntimeError, match="1 of 2 settings failed"):
        search("smoke")
    assert "TrainingDivergedError: the loss is nan" in capsys.readouterr().out
    assert (stopped, 4) in steps
    ((record),) = load_search("smoke")
    assert record["result"] == whole["result"] and missing("smoke") == [first]
    with locked(module.FOLDER), pytest.raises(BlockingIOError, match="another process"):
        search("smoke")
    monkeypatch.setitem(module.SIZES, "smoke", FAST | {"task.draws": 3})
    with pytest.raises(ValueError, match=r"copying-search-smoke.json.*normal.*other settings"):
        load_search("smoke")


def test_the_table_is_the_papers_and_holds_the_best_seed():
    head, rows = tables.search_table(paper_search())
    table = paper_table("copying-search")
    assert head[1:] == list(table.columns)
    assert {f"{SEARCH}{row}": [float(x) for x in cells] for row, *cells in rows} == {
        row: list(cells) for row, cells in table.rows.items()
    }
    base = {"method": "normal", "d_beta": 8, "f_bn": False, "f_fn": True, "adacos": True}
    records = [base | {"seed": 0, "edit_distance": 2.0}, base | {"seed": 1, "edit_distance": 1.26}]
    records += [base | {"method": "alpha-renaming", "d_beta": 0, "edit_distance": 0.0}]
    assert tables.proposed(records) == records[:2]
    head, rows = tables.search_table(records)
    assert head == ["on", "normal-8", "alpha-renaming"] and rows == [["f_fn+adacos", "1.3", "0.0"]]


def test_correlations_are_pearsons():
    records = paper_search()
    y = np.array([record["edit_distance"] for record in records])
    for factor, (r, _) in tables.correlations(records).items():
        x = np.array([float(record.get(factor, record["method"] == factor)) for record in records])
        assert r == pytest.approx(np.corrcoef(x, y)[0, 1])
    some = [r for r in records if r["method"] == "normal" and not r["adacos"]]
    assert set(tables.correlations(some)) == {"d_beta", "f_bn", "f_fn"}, "the others do not vary"
    assert tables.correlations([r | {"edit_distance": 1.0} for r in some]) == {}


def test_pairs_differ_in_one_feature():
    records = paper_search()
    for feature, count in {"f_bn": 45, "f_fn": 30, "adacos": 30}.items():
        found = tables.pairs(records, feature)
        assert len(found) == count
        for off, on in found:
            changed = {k for k in on if k != "edit_distance" and on[k] != off[k]}
            assert changed == {feature} and on[feature]


def test_sensitivity_is_the_spread_over_draws_and_pooled_by_variance():
    result = load_result("copying-5-10/proposed", "paper")
    found, spread = tables.sensitivity(result), result["result"]["spread"]
    assert {k: getattr(found, k) for k in spread} == pytest.approx(spread)
    assert found.difference == pytest.approx(100 * (found.median_choice / found.mean - 1))
    many = [tables.Sensitivity(0, mean, 9, std, 1.0) for mean, std in ((2, 3.0), (0, 4.0))]
    assert tables.pooled_std(many) == pytest.approx(math.sqrt(12.5))
