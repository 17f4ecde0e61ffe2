"""The copying search: its lists are the paper's, it loses nothing, and its statistics are right."""

import json
import math
import os
import signal
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

import distributed
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betainc

from itekit.__main__ import main
from itekit.machine import command
from itekit.paper import SEARCH, paper_search, paper_table
from itekit.results import load_result
from itekit.scale import SCALES
from itekit.search import running, settings
from itekit.search.analysis import (
    best,
    correlations,
    pairs,
    pooled_std,
    proposed,
    search_table,
    sensitivity,
)
from itekit.search.cluster import ClusterRun
from itekit.search.records import (
    LOCK,
    BusyError,
    add_record,
    claimed,
    load_search,
    missing,
    result_path,
)
from itekit.search.running import run_setting, search
from itekit.search.settings import BASELINES, FEATURES, Setting, search_settings
from itekit.settings import TrainingConfig
from itekit.tasks.copying import EvaluationGrid
from itekit.training import Trainer, TrainingDivergedError

ROOT = Path(__file__).parents[1]
FAST = {
    "training": TrainingConfig(6, 8, warmup=2, log_every=2, validate_every=6, checkpoint_every=2),
    "grid": EvaluationGrid(maximum=6, samples=2, stride=3),
    "draws": 2,
}
ONE = Setting("hypercube_vertices", 8, True, True, True)


@pytest.fixture
def fast(monkeypatch):
    """Trainings of a few steps at smoke size, for what runs in this process."""
    monkeypatch.setattr(settings, "SIZES", {**settings.SIZES, "smoke": FAST})


@pytest.fixture
def places(tmp_path):
    return {"directory": tmp_path / "results", "folder": tmp_path / "runs"}


def without_times(record: dict) -> dict:
    return {key: record[key] for key in (*asdict(ONE), "edit_distance", "result", "experiment")}


# the lists


def test_paper_size_is_the_papers_table_with_three_seeds():
    made = search_settings("paper")
    cells = {(s.method, s.d_beta, s.f_bn, s.f_fn, s.adacos) for s in made if not s.is_baseline}
    keys = ("method", "d_beta", *FEATURES)
    assert cells == {tuple(record[key] for key in keys) for record in paper_search()}
    assert sum(not s.is_baseline for s in made) == 3 * len(paper_search()) == 270
    table = paper_table("copying-search-baselines")
    assert {f"{SEARCH}{s.method}" for s in made if s.is_baseline} == set(table.rows)
    assert {s.on for s in made if s.is_baseline} == set(table.columns)


def test_lab_size_is_a_part_of_it_with_every_row_and_no_choice_of_one_method():
    made = search_settings("lab")
    assert set(made) <= set(search_settings("paper"))
    assert {s.on for s in made} == {s.on for s in search_settings("paper")}
    assert len({s.method for s in made}) == 5


@pytest.mark.parametrize("scale", SCALES)
def test_every_setting_is_a_run_of_its_own(scale):
    made = search_settings(scale)
    experiments = [s.experiment(scale) for s in made]
    assert len({e.slug for e in experiments}) == len(set(made)) == len(made)
    for setting, experiment in zip(made, experiments, strict=True):
        assert experiment.scale == scale and experiment.seed == setting.seed
        assert experiment.adacos == setting.adacos
        assert experiment.embedding.f_fn == experiment.model.normalize_features == setting.f_fn
        if not setting.is_baseline:
            found = experiment.embedding
            wanted = (setting.method, setting.d_beta, setting.f_bn)
            assert (found.method, found.d_beta, found.f_bn) == wanted
            assert found.kind == "dual_part"
    kinds = {s.method: e.embedding.kind for s, e in zip(made, experiments, strict=True)}
    assert all(kinds[name] != "dual_part" for name in BASELINES if name in kinds)


def test_settings_that_make_no_sense_are_errors():
    with pytest.raises(ValueError, match="'cubes'"):
        Setting("cubes", 8, True, True, True)
    with pytest.raises(ValueError, match="alpha-renaming has no random part"):
        Setting("alpha-renaming", 8, False, True, True)
    with pytest.raises(ValueError, match="AdaCos needs f_fn"):
        Setting("normal", 8, True, False, True).experiment("smoke")


# running


def test_each_setting_leaves_a_record_and_no_checkpoint(fast, places):
    found = list(search("smoke", 2, **places))
    assert [setting for setting, _ in found] == list(search_settings("smoke")[:2])
    assert load_search("smoke", places["directory"]) == [record for _, record in found]
    assert not any(places["folder"].iterdir())
    for setting, record in found:
        assert Setting.of(record) == setting
        result = record["result"]
        assert record["edit_distance"] == result["mean_edit_distance"] == result["spread"]["mean"]
        assert record["edit_distance"] == pytest.approx(np.nanmean(np.array(result["grid"], float)))
        assert result["other_base"] >= 0
        assert {"seconds", "command", "versions", "hardware"} <= set(record["trained"])
    rest = [setting for setting, _ in search("smoke", **places)]
    assert rest == list(search_settings("smoke")[2:])
    assert list(search("smoke", **places)) == []


def test_a_baseline_has_one_draw(fast, tmp_path):
    record = run_setting(Setting("alpha-renaming", 0, False, False, False), "smoke", tmp_path)
    assert len(record["result"]["draws"]) == 1
    with pytest.raises(ValueError, match="two random draws or more, found 1"):
        sensitivity(record)


def test_a_training_that_was_stopped_goes_on_from_its_checkpoint(fast, tmp_path):
    whole = run_setting(ONE, "smoke", tmp_path / "whole")
    experiment = ONE.experiment("smoke")
    place = tmp_path / "stopped" / experiment.slug
    Trainer(experiment, place).run(until=4, progress=False)
    steps = []
    plain = Trainer._train_step

    def counted(trainer):
        steps.append(trainer.step)
        return plain(trainer)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "_train_step", counted)
        resumed = run_setting(ONE, "smoke", tmp_path / "stopped")
    assert steps == [4, 5]
    assert without_times(resumed) == without_times(whole)


def test_a_record_that_nobody_took_is_not_made_again(fast, places, monkeypatch):
    record = run_setting(ONE, "smoke", places["folder"])
    (place,) = places["folder"].iterdir()
    assert {path.name for path in place.iterdir()} == {running.RECORD, LOCK}
    monkeypatch.setattr(running, "Trainer", None)
    monkeypatch.setattr("itekit.search.records.search_settings", lambda scale: (ONE,))
    assert list(search("smoke", **places)) == [(ONE, record)]
    assert load_search("smoke", places["directory"]) == [record]


def test_a_killed_search_goes_on(places):
    """SIGKILL while the second setting or a later one is being made."""
    options = [f"--{name}={path}" for name, path in places.items()]
    words = [sys.executable, "-m", "itekit", "search", "--scale", "smoke", "--threads=1", *options]
    process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL)
    path = result_path("smoke", places["directory"])
    end = time.monotonic() + 240
    while not path.exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    kept = load_search("smoke", places["directory"])
    assert 1 <= len(kept) < len(search_settings("smoke"))
    (done,) = search("smoke", 1, **places)
    assert Setting.of(done[1]) not in map(Setting.of, kept)
    assert load_search("smoke", places["directory"])[: len(kept)] == kept


def test_a_setting_that_fails_or_is_taken_does_not_stop_the_others(fast, places, monkeypatch):
    first, second, third = search_settings("smoke")[:3]

    class Diverging(Trainer):
        def run(self, **options):
            if self.experiment == first.experiment("smoke"):
                raise TrainingDivergedError("the loss is nan in steps 1 to 2")
            return super().run(**options)

    monkeypatch.setattr(running, "Trainer", Diverging)
    with claimed(places["folder"] / second.experiment("smoke").slug / LOCK):
        found = dict(search("smoke", 3, **places))
    assert isinstance(found[first], TrainingDivergedError)
    assert isinstance(found[second], BusyError)
    assert load_search("smoke", places["directory"]) == [found[third]]
    assert (
        main(
            ["search", "--scale=smoke", "--only=1", *map("--{0[0]}={0[1]}".format, places.items())]
        )
        == 1
    )


def test_the_command_says_what_is_done(fast, places, capsys):
    options = ["--scale=smoke", *map("--{0[0]}={0[1]}".format, places.items())]
    assert main(["search", "--only=1", *options]) == 0
    printed = capsys.readouterr().out
    assert "7 settings at smoke size, 0 done before" in printed
    assert "1/7  normal-8" in printed
    assert main(["search", "--only=0", *options]) == 0
    assert "7 settings at smoke size, 1 done before" in capsys.readouterr().out
    assert main(["search", "--only=-1", *options]) == 2


# the file


def test_a_record_is_added_once(fast, places):
    record = run_setting(ONE, "smoke", places["folder"])
    add_record(record, "smoke", places["directory"])
    add_record(record | {"edit_distance": 99.0}, "smoke", places["directory"])
    assert load_search("smoke", places["directory"]) == [record]


def test_records_of_other_settings_and_damaged_files_are_named(fast, places, monkeypatch):
    list(search("smoke", 1, **places))
    directory = places["directory"]
    other = FAST | {"training": replace(FAST["training"], learning_rate=0.5)}
    monkeypatch.setattr(settings, "SIZES", {**settings.SIZES, "smoke": other})
    with pytest.raises(ValueError, match=r"copying-search-smoke.json.*normal.*other settings"):
        load_search("smoke", directory)
    path = result_path("smoke", directory)
    for text in (path.read_text()[:-9], "{}", '[{"method": "normal"}]'):
        path.write_text(text if text != "{}" else '{"method": 1}')
        with pytest.raises(ValueError, match=r"copying-search-smoke.json: damaged"):
            missing("smoke", directory)


# on Dask


def test_a_cluster_finds_what_this_machine_finds(places, tmp_path, cluster):
    with ClusterRun(cluster.scheduler_address) as run:
        found = dict(search("smoke", 3, run=run, threads=1, **places))
    chosen = search_settings("smoke")[:3]
    assert set(found) == set(chosen)
    assert load_search("smoke", places["directory"]) == [found[setting] for setting in chosen]
    assert not any(places["folder"].iterdir())
    own = run_setting(chosen[0], "smoke", tmp_path / "own")
    assert without_times(own) == without_times(found[chosen[0]])
    assert all(found[s]["trained"]["command"] == command() for s in chosen), "not a worker's"


def test_workers_with_several_threads_are_refused():
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"
        ) as cluster,
        pytest.raises(ValueError, match="--nthreads 1"),
    ):
        ClusterRun(cluster.scheduler_address)


# analysis


def test_the_table_is_the_papers():
    head, rows = search_table(paper_search())
    table = paper_table("copying-search")
    assert head[1:] == list(table.columns)
    assert {f"{SEARCH}{row}": [float(x) for x in cells] for row, *cells in rows} == {
        row: list(cells) for row, cells in table.rows.items()
    }


def test_the_table_holds_the_best_seed_and_leaves_holes():
    base = {"d_beta": 8, "f_bn": False, "f_fn": True, "adacos": True}
    records = [
        {"method": "normal", **base, "seed": 0, "edit_distance": 2.0},
        {"method": "normal", **base, "seed": 1, "edit_distance": 1.26},
        {"method": "hypercube_vertices", **base, "f_bn": True, "seed": 0, "edit_distance": 3.0},
        {"method": "alpha-renaming", **base, "d_beta": 0, "seed": 0, "edit_distance": 0.0},
    ]
    assert [r["edit_distance"] for r in best(records)] == [1.26, 3.0, 0.0]
    assert len(proposed(records)) == 3
    head, rows = search_table(records)
    assert head == ["on", "normal-8", "hypercube_vertices-8", "alpha-renaming"]
    assert rows == [["f_bn+f_fn+adacos", "", "3.0", ""], ["f_fn+adacos", "1.3", "", "0.0"]]


def test_correlations_are_pearsons_with_the_p_value_of_the_t_distribution():
    records = paper_search()
    y = np.array([record["edit_distance"] for record in records])
    for factor, (r, p) in correlations(records).items():
        x = np.array([float(record.get(factor, record["method"] == factor)) for record in records])
        assert r == pytest.approx(np.corrcoef(x, y)[0, 1])
        freedom = len(x) - 2
        t = r * math.sqrt(freedom / (1 - r * r))
        assert p == pytest.approx(betainc(freedom / 2, 0.5, freedom / (freedom + t * t)))
        if x.max() == 1 and x.min() == 0:  # point-biserial
            apart, share = y[x == 1].mean() - y[x == 0].mean(), x.mean()
            assert r == pytest.approx(apart / y.std() * math.sqrt(share * (1 - share)))


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 100), st.floats(-50, 50))
def test_a_shuffle_has_a_uniform_p_value_and_units_do_not_matter(seed, scale, shift):
    records, rng = paper_search(), np.random.default_rng(seed)
    y = rng.permutation([record["edit_distance"] for record in records])
    shuffled = [r | {"edit_distance": v} for r, v in zip(records, y, strict=True)]
    other = [r | {"edit_distance": scale * v + shift} for r, v in zip(records, y, strict=True)]
    found = correlations(shuffled)
    for factor, (r, p) in correlations(other).items():
        assert found[factor] == pytest.approx((r, p), abs=1e-9)
        assert abs(r) < 0.5 and 0 <= p <= 1


def test_factors_without_variation_have_no_correlation():
    some = [r for r in paper_search() if r["method"] == "normal" and not r["adacos"]]
    assert set(correlations(some)) == {"d_beta", "f_bn", "f_fn"}
    assert correlations([r | {"edit_distance": 1.0} for r in some]) == {}
    baselines = [r | {"method": "alpha-renaming"} for r in some]
    with pytest.raises(ValueError, match="3 records or more, found 2"):
        correlations([*some[:2], *baselines])


def test_pairs_differ_in_one_feature():
    records = paper_search()
    for feature, count in {"f_bn": 45, "f_fn": 30, "adacos": 30}.items():
        found = pairs(records, feature)
        assert len(found) == count
        for off, on in found:
            changed = {k for k in on if k != "edit_distance" and on[k] != off[k]}
            assert changed == {feature} and on[feature]
    seeds = [r | {"seed": seed} for seed in (0, 1) for r in records]
    assert len(pairs(seeds, "f_bn")) == 90
    with pytest.raises(ValueError, match="'d_beta'"):
        pairs(records, "d_beta")


def test_sensitivity_of_a_shipped_result_is_the_spread_it_says():
    result = load_result("copying-5-10/proposed", "paper")
    found = sensitivity(result)
    spread = result["result"]["spread"]
    assert {k: getattr(found, k) for k in spread} == pytest.approx(spread)
    assert found.difference == pytest.approx(100 * (found.median_choice / found.mean - 1))


def test_pooled_deviation_is_the_root_of_the_mean_variance():
    rows = [[1.0, 2.0, 4.0], [0.0, 0.0, 0.0], [3.0, 3.0, 9.0]]
    found = [
        sensitivity(
            {
                "result": {
                    "draws": [{"mean_edit_distance": x} for x in row],
                    "median_draw_mean_edit_distance": row[0],
                }
            }
        )
        for row in rows
    ]
    wanted = math.sqrt(statistics.mean(statistics.variance(row) for row in rows))
    assert pooled_std(found) == pytest.approx(wanted)
    assert math.isnan(found[1].difference)
    with pytest.raises(ValueError, match="found none"):
        pooled_std([])


def test_records_can_be_read_by_anyone(fast, tmp_path):
    record = run_setting(ONE, "smoke", tmp_path)
    assert json.loads(json.dumps(record)) == record
    assert os.listdir(tmp_path) == [ONE.experiment("smoke").slug]
