"""The measurements of efficiency: what is counted, compared and kept; nothing about how fast."""

import pytest
import torch

from itekit.data import Batch
from itekit.files import MissingError, read_json
from itekit.names import experiment
from lessons import measured
from lessons.efficiency import (
    EFFORTS,
    KINDS,
    METHODS,
    QUANTITIES,
    Subject,
    load_efficiency,
    measure,
    step_parts,
    summary,
    take_turns,
    vocabulary_costs,
)


@pytest.fixture
def batch():
    """Two formulas, one of them shorter."""
    return Batch(torch.tensor([[5, 8, 1], [8, 1, 0]]), torch.tensor([[8, 1], [8, 1]]))


def test_a_result_says_what_was_measured_and_where(tmp_path, monkeypatch):
    monkeypatch.setattr(measured, "RESULTS", tmp_path)
    measured.save_measured("efficiency", measure("smoke"))
    found = load_efficiency("smoke")
    assert found == read_json(tmp_path / "efficiency-smoke.json")
    assert found["result"]["methods"] == list(METHODS)
    for quantity in QUANTITIES:
        one = found["result"][quantity]
        assert list(one) == list(METHODS)
        assert all(method["seconds"] > 0 for method in one.values())
        assert one["plain"]["ratio_quartiles"] == [1.0, 1.0, 1.0]
    facts = {"command", "versions", "hardware", "date", "threads", "clock"}
    assert facts <= set(found["measured"]) and found["measured"]["threads"] == 1
    assert found["experiments"]["proposed"] == experiment("ltl/proposed", "smoke").to_json()
    assert found["result"]["formulas"]["steps"] == EFFORTS["smoke"]["length"]
    with pytest.raises(MissingError, match="13_efficiency.ipynb -p scale paper -p measure True"):
        load_efficiency("paper")


def test_only_the_learned_embeddings_grow_with_the_vocabulary():
    proposed = experiment("ltl/proposed", "smoke")
    D, others = proposed.model.d_model, proposed.task.vocabulary.learned_count
    costs = vocabulary_costs(proposed, 1, (5, 32, 100))
    for method in ("plain", "alpha-renaming"):
        assert costs["parameters"][method] == [(others + m) * D for m in (5, 32, 100)]
    assert costs["d_beta"] == [5, 5, 7]
    assert costs["parameters"]["proposed"] == [(others + 1) * (D - d) for d in costs["d_beta"]]
    U = Subject("proposed", "smoke").prepare()  # 5 propositions in the test vocabulary
    assert costs["bytes"][0] == U.nbytes


@pytest.mark.parametrize("method", METHODS)
def test_a_training_step_learns_and_the_other_calls_do_not(method, batch):
    subject = Subject(method, "smoke")
    before = [p.clone() for p in subject.network.parameters()]
    subject.forward(batch), subject.prepare(), subject.generate(batch.source, 3)
    assert all(map(torch.equal, before, subject.network.parameters()))
    subject.train_step(batch)
    assert not all(map(torch.equal, before, subject.network.parameters()))


def test_methods_take_turns_and_ratios_compare_times_of_the_same_turn():
    ticks = iter(range(100))
    calls, mine = [], {n: lambda turn, name=n: calls.append((name, turn)) for n in "ab"}
    times = take_turns(mine, 2, lambda: next(ticks))
    assert calls == [("a", 0), ("b", 0), ("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    assert times == {"a": [1, 1], "b": [1, 1]}
    found = summary({"plain": [1.0, 10.0, 2.0], "own": [2.0, 20.0, 4.0]}, "plain")
    assert found["own"] == {"seconds": 4.0, "ratio_quartiles": [2.0, 2.0, 2.0]}


def test_the_parts_of_a_step_are_those_that_ran(batch):
    whole = step_parts(lambda: Subject("proposed", "smoke").train_step(batch))
    assert set(whole) == {*KINDS, "the rest"}
