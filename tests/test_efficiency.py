"""The measurements of efficiency: what is counted, compared and kept; nothing about how fast."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from itekit.__main__ import main
from itekit.data import Batch
from itekit.datasets.presets import preset
from itekit.datasets.sample import sample, sample_recipe
from itekit.efficiency import EFFORTS, METHODS, QUANTITIES, load_efficiency
from itekit.embedding_costs import draw_seconds, smallest_dimension, vocabulary_costs, with_tokens
from itekit.experiments import experiment
from itekit.random_vectors import SamplingSetTooSmallError, random_vectors, sampling_set_size
from itekit.results import MissingResultError
from itekit.step_parts import REST, step_parts
from itekit.timing import Subject, padding, summary, take_turns


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """The folder that the command wrote its result to, at smoke size."""
    folder = tmp_path_factory.mktemp("efficiency")
    assert main(["efficiency", "--scale", "smoke", "--directory", str(folder)]) == 0
    return folder


@pytest.fixture
def batch():
    """Two formulas, one of them shorter."""
    return Batch(torch.tensor([[5, 8, 1], [8, 1, 0]]), torch.tensor([[8, 1], [8, 1]]))


def test_the_command_writes_what_it_measured_and_where(kept):
    found = load_efficiency("smoke", kept)
    assert found == json.loads((kept / "efficiency-smoke.json").read_text())
    assert found["result"]["methods"] == list(METHODS)
    for quantity in QUANTITIES:
        one = found["result"][quantity]
        assert list(one) == list(METHODS)
        assert all(method["seconds"] > 0 for method in one.values())
        assert one["plain"]["ratio_quartiles"] == [1.0, 1.0, 1.0]
    assert {"command", "versions", "hardware", "date", "threads", "clock"} <= set(found["measured"])
    assert found["experiments"]["proposed"] == experiment("ltl/proposed", "smoke").to_json()
    facts = found["result"]["formulas"]
    assert 0 <= facts["padding_grouped"] < 1 and facts["steps"] == EFFORTS["smoke"].length


def test_a_result_that_is_missing_or_damaged_is_named(tmp_path):
    with pytest.raises(MissingResultError, match="python -m itekit efficiency --scale lab"):
        load_efficiency("lab", tmp_path)
    (tmp_path / "efficiency-lab.json").write_text("{")
    with pytest.raises(ValueError, match="efficiency-lab.json: damaged JSON"):
        load_efficiency("lab", tmp_path)


@pytest.mark.parametrize("arguments", [["--scale", "huge"], ["--threads", "0"]])
def test_bad_input_to_the_command(arguments, capsys):
    assert main(["efficiency", *arguments]) == 2
    assert arguments[1] in capsys.readouterr().err


def test_only_the_learned_embeddings_grow_with_the_vocabulary():
    made = experiment("ltl/proposed", "smoke")
    D, others = made.model.d_model, made.vocabulary.learned_count
    costs = vocabulary_costs(made, 1, (5, 32, 100))
    for method in ("plain", "alpha-renaming"):
        assert costs["parameters"][method] == [(others + m) * D for m in (5, 32, 100)]
    assert costs["d_beta"] == [5, 5, 7]
    assert costs["parameters"]["proposed"] == [(others + 1) * (D - d) for d in costs["d_beta"]]
    assert (
        costs["bytes"][0]
        == Subject("proposed", "smoke")
        .network.matrix(with_tokens(made.vocabulary, 5), torch.Generator())
        .nbytes
    )


@pytest.mark.parametrize("method", ["hypercube_vertices", "neighboring_points"])
@pytest.mark.parametrize("count", [1, 2, 8, 9, 26, 27, 1000])
def test_the_smallest_dimension_holds_the_vectors_and_one_less_does_not(method, count):
    dimensions = smallest_dimension(method, count)
    assert len(random_vectors(method, count, dimensions, torch.Generator())) == count
    if dimensions > 1:
        assert sampling_set_size(method, dimensions - 1) < count
        with pytest.raises(SamplingSetTooSmallError, match=f"{dimensions}"):
            random_vectors(method, count, dimensions - 1, torch.Generator())
    assert smallest_dimension("normal", count) == 1


def test_times_of_random_vectors_are_by_method_and_count():
    found = draw_seconds((3, 4), 1)
    assert found["counts"] == [3, 4] and len(found["seconds"]) == 3
    assert all(len(times) == 2 and min(times) > 0 for times in found["seconds"].values())


@pytest.mark.parametrize("method", METHODS)
def test_a_training_step_learns_and_the_other_calls_do_not(method, batch):
    subject = Subject(method, "smoke")
    before = [p.clone() for module in subject.modules for p in module.parameters()]

    def changed():
        now = [p for module in subject.modules for p in module.parameters()]
        return any(not torch.equal(a, b) for a, b in zip(before, now, strict=True))

    subject.forward(batch), subject.prepare(), subject.generate(batch.source, 3)
    assert not changed()
    subject.train_step(batch)
    assert changed()


def test_no_answer_ends_while_generation_is_timed_and_they_may_end_again_later(batch):
    subject = Subject("proposed", "smoke")
    model = subject.network.model
    features, U = torch.randn(4, model.config.d_model), subject.prepare()
    before = model.project(U, features)
    assert (subject.generate(batch.source, 7) > 0).all()
    torch.testing.assert_close(model.project(U, features), before)
    assert before[:, 1].isfinite().all()


def test_methods_take_turns_after_a_turn_to_warm_up():
    calls, ticks = [], iter(range(100))
    times = take_turns(
        {name: lambda turn, name=name: calls.append((name, turn)) for name in "ab"},
        2,
        lambda: next(ticks),
    )
    assert calls == [("a", 0), ("b", 0), ("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    assert times == {"a": [1, 1], "b": [1, 1]}


def test_ratios_compare_times_of_the_same_turn():
    found = summary({"plain": [1.0, 10.0, 2.0], "own": [2.0, 20.0, 4.0]}, "plain")
    assert found["own"] == {"seconds": 4.0, "ratio_quartiles": [2.0, 2.0, 2.0]}


def test_padding_is_the_share_of_places_without_a_token(batch):
    assert padding(batch) == pytest.approx(1 / 10)


def test_the_parts_of_a_step_are_those_that_ran():
    x = torch.randn(64, 64, requires_grad=True)
    parts = step_parts(lambda: torch.nn.functional.linear(x, x).sum().backward())
    assert parts["linear layers and projection"] > 0 and set(parts) > {REST}
    assert "layer norm" not in parts and list(parts.values()) == sorted(parts.values())[::-1]
    step = step_parts(lambda: Subject("proposed", "smoke").prepare())
    assert set(step) == {REST}


def test_a_sample_has_the_same_number_of_each_size(tmp_path):
    pairs = sample("ltl35", "smoke", 70, folder=tmp_path, workers=1)
    sizes = [len(formula) for split in pairs.values() for formula, _ in split]
    counts = np.bincount(sizes)[min(sizes) :]
    recipe = sample_recipe("ltl35", "smoke", 70)
    assert (counts == recipe.strata[0].cap).all() and max(sizes) == recipe.strata[0].high
    written = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.txt")}
    assert sample("ltl35", "smoke", 70, folder=tmp_path) == pairs
    assert written == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.txt")}


def test_a_sample_of_the_papers_set_leaves_out_only_the_few_smallest_sizes():
    stratum = preset("ltl35", "paper").strata[0]
    drawn = sample_recipe("ltl35", "paper", 12_500).strata[0]
    assert (drawn.low, drawn.high) == (7, 35)
    assert replace(drawn, low=1, full_from=10, cap=1, count=1, tries=1) == replace(
        stratum, cap=1, count=1, tries=1
    )


@pytest.mark.parametrize(
    ("name", "count", "message"),
    [
        ("ltl-perturbed", 100, "only ltl35 and prop35 can be sampled, found ltl-perturbed"),
        ("ltl-generalization", 100, "found ltl-generalization"),
        ("ltl35", 3, "needs .* formulas or more, found 3"),
    ],
)
def test_what_cannot_be_sampled(name, count, message):
    with pytest.raises(ValueError, match=message):
        sample_recipe(name, "smoke", count)
