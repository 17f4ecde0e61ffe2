"""The evaluation on the grid, with predictors whose answers are known, and result files."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny import mixed_batch, tiny_experiment, tiny_logic_network, tiny_network

from itekit import copying, evaluation, results
from itekit.copying import copy_strings, edit_distances, longest_edit_distance
from itekit.decoding import beam
from itekit.evaluation import GridEvaluation, median_draw
from itekit.network import Network
from itekit.task_settings import CopyingExperiment
from itekit.tasks.copying import EvaluationGrid


def distance(a: list[int], b: list[int]) -> int:
    """Levenshtein distance by the textbook's table."""
    table = {(i, 0): i for i in range(len(a) + 1)} | {(0, j): j for j in range(len(b) + 1)}
    for i, j in itertools.product(range(1, len(a) + 1), range(1, len(b) + 1)):
        table[i, j] = min(
            table[i - 1, j] + 1,
            table[i, j - 1] + 1,
            table[i - 1, j - 1] + (a[i - 1] != b[j - 1]),
        )
    return table[len(a), len(b)]


def padded(rows: list[list[int]], width: int) -> torch.Tensor:
    return torch.tensor([row + [0] * (width - len(row)) for row in rows])


characters = st.lists(st.integers(3, 6), max_size=7)


@given(st.lists(st.tuples(characters, characters), min_size=1, max_size=5))
def test_edit_distances_leave_padding_and_the_end_out(pairs):
    predictions = padded([a for a, _ in pairs], 8)
    targets = padded([b + [1] for _, b in pairs], 9)
    assert edit_distances(predictions, targets).tolist() == [distance(a, b) for a, b in pairs]


def network(variant: str = "proposed", grid: EvaluationGrid | None = None, **changes) -> Network:
    made = replace(tiny_experiment(f"copying-5-10/{variant}"), **changes)
    return Network.build(replace(made, grid=grid or made.grid)).train(False)


def perfect(network, U, batch):
    return batch.source[:, :-1]


def empty(network, U, batch):
    return torch.zeros_like(batch.source)


GRID = EvaluationGrid(3, 8, samples=3)


def grid_of(monkeypatch, predictor, *arguments, **changes) -> np.ndarray:
    monkeypatch.setattr(evaluation, "copy_strings", predictor)
    return GridEvaluation(network(*arguments, grid=GRID, **changes), progress=False).grid(0)


IMPOSSIBLE = np.tril(np.ones((6, 6), dtype=bool), -1)
LENGTH = np.tile(np.arange(3.0, 9), (6, 1))


def test_a_perfect_copier_has_distance_zero_in_every_possible_cell(monkeypatch):
    grid = grid_of(monkeypatch, perfect)
    assert np.array_equal(np.isnan(grid), IMPOSSIBLE) and (grid[~IMPOSSIBLE] == 0).all()


def test_an_empty_answer_has_the_length_as_its_distance(monkeypatch):
    grid = grid_of(monkeypatch, empty)
    assert np.array_equal(grid, np.where(IMPOSSIBLE, np.nan, LENGTH), equal_nan=True)


@pytest.mark.parametrize(("variant", "reads"), [("plain", 5), ("full-vocabulary", 30)])
def test_characters_beyond_a_learned_vocabulary_count_the_length(monkeypatch, variant, reads):
    grid = grid_of(monkeypatch, perfect, variant)
    unique = LENGTH.T
    expected = np.where(unique > reads, LENGTH, 0.0)
    assert np.array_equal(grid, np.where(IMPOSSIBLE, np.nan, expected), equal_nan=True)


def test_each_cell_is_the_mean_over_its_own_strings(monkeypatch):
    """A predictor that knows the answer only for strings of 4 different characters."""

    def knows_four(network, U, batch):
        unique = torch.tensor([len(set(row[:-1].tolist())) for row in batch.source])
        return batch.source[:, :-1] * (unique == 4)[:, None]

    grid = grid_of(monkeypatch, knows_four)
    expected = np.where(LENGTH.T == 4, 0.0, LENGTH)
    assert np.array_equal(grid, np.where(IMPOSSIBLE, np.nan, expected), equal_nan=True)


def test_decoding_in_chunks_changes_nothing(monkeypatch):
    made = network(grid=GRID)
    whole = GridEvaluation(made, progress=False).grid(1)
    monkeypatch.setattr(evaluation, "DECODING_TOKENS", 20)
    assert np.array_equal(GridEvaluation(made, progress=False).grid(1), whole, equal_nan=True)


def test_copies_are_at_most_twice_as_long_as_the_longest_string():
    made = tiny_network()
    batch = mixed_batch(made)
    U = GridEvaluation(made, progress=False).matrix(0)
    assert copy_strings(made, U, batch).shape == (6, 2 * (batch.source.shape[1] - 1))


def test_the_result_averages_draws_and_chooses_the_median_one():
    made = network(grid=GRID)
    result = GridEvaluation(made, progress=False).run()
    evaluator = GridEvaluation(made, progress=False)
    grids = [evaluator.grid(draw) for draw in range(3)]
    assert np.array(result["grid"], dtype=float) == pytest.approx(
        np.mean(grids, axis=0), abs=1e-4, nan_ok=True
    )
    means = [np.nanmean(grid) for grid in grids]
    assert [d["mean_edit_distance"] for d in result["draws"]] == pytest.approx(means)
    assert result["mean_edit_distance"] == pytest.approx(np.mean(means))
    assert result["spread"]["min"] == min(means) and result["spread"]["max"] == max(means)
    losses = [d["cross_entropy"] for d in result["draws"]]
    assert losses == [evaluator.cross_entropy(draw) for draw in range(3)]
    assert losses[result["median_draw"]] == sorted(losses)[1]
    within = np.mean(grids, axis=0)[: 5 - 3 + 1]
    assert result["mean_within_training_characters"] == pytest.approx(np.nanmean(within))
    assert result["axis"] == [3, 4, 5, 6, 7, 8] and result["samples_per_cell"] == 3


def test_draws_differ_and_repeat():
    evaluator = GridEvaluation(network(grid=GRID), progress=False)
    first, again, other = (evaluator.matrix(draw) for draw in (0, 0, 1))
    assert torch.equal(first, again) and not torch.equal(first, other)


@pytest.mark.parametrize("variant", ["plain", "full-vocabulary", "alpha-renaming"])
def test_embeddings_that_are_not_random_are_drawn_once(variant):
    result = GridEvaluation(network(variant, EvaluationGrid(3, 4, 1)), progress=False).run()
    assert len(result["draws"]) == 1 and result["median_draw"] == 0 and "spread" not in result


def test_the_median_draw_is_the_upper_median():
    assert median_draw([3.0, 1.0, 2.0]) == 2
    assert median_draw([4.0, 1.0, 3.0, 2.0]) == 2
    assert median_draw([0.5]) == 0


@pytest.fixture
def directories(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path / "checkpoints")
    return tmp_path


def evaluated(seed: int = 0) -> dict:
    made = replace(tiny_experiment(seed=seed), grid=EvaluationGrid(3, 6, samples=1, stride=3))
    return results.evaluate(Network.build(made).train(False), progress=False)


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


def test_all_seeds_are_found_in_order_beside_logs(directories):
    for seed in (10, 2):
        results.save_result(evaluated(seed), results.RESULTS)
    (results.RESULTS / "copying-5-10-proposed-smoke-s2.log.json").write_text("[]")
    (results.RESULTS / "copying-5-10-proposed-lab-s1.json").write_text("{}")
    found = results.results("copying-5-10/proposed", "smoke")
    assert [result["seed"] for result in found] == [2, 10]
    assert results.results("copying-5-10/plain", "smoke") == []


def test_results_at_another_rope_base_stand_beside_those_of_the_paper_s(directories):
    for seed in (2, 0):
        value = evaluated(seed)
        results.save_result(value, results.RESULTS)
        made = CopyingExperiment.from_json(value["experiment"]).with_rope_base(2_000)
        path = results.save_result(value | {"experiment": made.to_json()}, results.RESULTS)
        assert path.name == f"copying-5-10-proposed-smoke-s{seed}-rope2000.json"
    name = "copying-5-10/proposed"
    for base in (10_000, 2_000):
        found = results.results(name, "smoke", rope_base=base)
        assert [result["seed"] for result in found] == [0, 2]
        assert {result["experiment"]["model"]["rope_base"] for result in found} == {base}
    with pytest.raises(results.MissingResultError, match="--seed 2 --rope-base 1000000$"):
        results.load_result(name, "smoke", 2, rope_base=1_000_000)


def test_results_of_another_search_stand_beside_those_of_greedy_decoding(directories):
    value = evaluated()
    made = replace(CopyingExperiment.from_json(value["experiment"]), search="published")
    for experiment, end in ((value["experiment"], ""), (made.to_json(), "-published")):
        path = results.save_result(value | {"experiment": experiment}, results.RESULTS)
        assert path.name == f"copying-5-10-proposed-smoke-s0{end}.json"
    name = "copying-5-10/proposed"
    for search in ("greedy", "published"):
        (found,) = results.results(name, "smoke", search=search)
        assert found["experiment"]["search"] == search
    with pytest.raises(results.MissingResultError, match="--seed 1 --search published$"):
        results.load_result(name, "smoke", 1, search="published")


@pytest.mark.parametrize(
    ("variant", "shrinks"), [("proposed", True), ("alpha-renaming", True), ("plain", False)]
)
def test_the_published_search_sees_the_characters_of_a_row_alone(monkeypatch, variant, shrinks):
    seen = {}

    def counting(network, U, batch):
        known = network.experiment.vocabulary.learned_count
        for row in batch.source:
            unique = len(set(row[:-1].tolist()))
            seen.setdefault(unique, set()).add(len(U) - known)
        return batch.source[:, :-1]

    grid = grid_of(monkeypatch, counting, variant, search="published")
    assert np.array_equal(grid, grid_of(monkeypatch, perfect, variant), equal_nan=True)
    whole = {u: {5} for u in (3, 4, 5)}
    assert seen == ({u: {u} for u in range(3, 9)} if shrinks else whole)


def test_an_experiment_decodes_by_the_search_it_names():
    made = network(grid=GRID)
    batch, U = mixed_batch(made), GridEvaluation(made, progress=False).matrix(0)
    found = copy_strings(made.with_search("published"), U, batch)
    limit = 2 * GRID.maximum + 1
    assert found.equal(beam(made.model, U, batch.source, limit, 1, published=True)[0][:, 0])
    assert copy_strings(made, U, batch).shape[1] < found.shape[1] == limit


def test_an_unknown_search_is_an_error():
    with pytest.raises(
        ValueError, match="unknown search 'best': expected one of greedy, published"
    ):
        network().with_search("best")
    with pytest.raises(ValueError, match="ltl/proposed is not about copying"):
        tiny_logic_network("ltl/proposed").with_search("published")


def test_a_missing_result_or_checkpoint_says_how_to_make_it(directories):
    name = "copying-3-30/plain"
    with pytest.raises(results.MissingResultError, match=f"itekit evaluate {name} --scale smoke"):
        results.load_result(name, "smoke")
    with pytest.raises(results.MissingResultError, match=f"itekit train {name} --scale smoke"):
        results.load_network(name, "smoke", 3)


def test_a_damaged_result_is_named(directories):
    path = results.save_result(evaluated(), results.RESULTS)
    path.write_text(path.read_text()[:100])
    with pytest.raises(ValueError, match="copying-5-10-proposed-smoke-s0.json: damaged"):
        results.load_result("copying-5-10/proposed", "smoke")


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
    trained.save(results.checkpoint_path(trained.experiment))
    shipped = results.load_network(name, "smoke")
    for other in (again, shipped):
        assert torch.equal(other.embedding.learned, trained.embedding.learned)
        assert other.trained == trained.trained


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_greedy_copies_on_cuda_agree_with_the_cpu():
    made = tiny_network()
    batch = mixed_batch(made, 30)
    U = made.matrix(made.experiment.vocabulary, torch.Generator().manual_seed(0))
    on_cpu = copy_strings(made, U, batch)
    on_cuda = copy_strings(made.to("cuda"), U.to("cuda"), batch.to("cuda")).cpu()
    assert (on_cpu == on_cuda).all(dim=1).float().mean() > 0.9


def test_only_the_draw_of_median_loss_is_decoded_when_draws_are_not_averaged():
    network = tiny_network()
    everything = GridEvaluation(network, progress=False).run()
    network.experiment = replace(network.experiment, averaged=False)
    result = GridEvaluation(network, progress=False).run()
    chosen = result["median_draw"]
    assert [d["cross_entropy"] for d in result["draws"]] == [
        d["cross_entropy"] for d in everything["draws"]
    ]
    decoded = [i for i, d in enumerate(result["draws"]) if d["mean_edit_distance"] is not None]
    assert decoded == [chosen] and "spread" not in result
    expected = everything["draws"][chosen]["mean_edit_distance"]
    assert result["mean_edit_distance"] == pytest.approx(expected)


@pytest.mark.parametrize("variant", ["proposed", "plain"])
@pytest.mark.parametrize("copier", [perfect, empty])
def test_the_glance_while_training_is_at_the_greatest_length(monkeypatch, variant, copier):
    lengths = []

    def copied(network, U, batch):
        lengths.extend((batch.source > 1).sum(1).tolist())
        return copier(network, U, batch)

    monkeypatch.setattr(copying, "copy_strings", copied)
    made = network(variant)
    longest = made.experiment.grid.axis[-1]
    assert longest_edit_distance(made) == (0 if copier is perfect else longest)
    assert set(lengths) == {longest}


def test_the_glance_while_training_repeats_and_takes_some_strings_of_each_row(monkeypatch):
    made = network(grid=EvaluationGrid(3, 8, samples=20))
    assert longest_edit_distance(made) == longest_edit_distance(made)
    rows = []
    monkeypatch.setattr(copying, "copy_strings", lambda n, U, b: rows.append(b) or empty(n, U, b))
    longest_edit_distance(made, strings=5)
    unique = [len(set(row[row > 2].tolist())) for row in rows[0].source]
    assert unique == [u for u in range(3, 9) for _ in range(5)]


def test_the_glance_while_training_without_a_readable_string_is_the_length():
    assert longest_edit_distance(network("plain", EvaluationGrid(6, 8, samples=2))) == 8
