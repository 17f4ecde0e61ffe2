"""Training at randomized positions (Ruoss et al. 2023): which are drawn, and what they change."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny import mixed_batch, seeded, tiny_experiment, tiny_logic_network, tiny_network

from itekit.data import Batch
from itekit.runlog import read_log
from itekit.training import Trainer

NAME = "copying-5-10/randomized-positions"
SMALL = {"steps": 10, "batch_size": 4, "checkpoint_every": 5, "validate_every": 5}


def batch_of(S: int, T: int) -> Batch:
    """Random tokens of the smallest vocabulary, without padding."""
    return Batch(*(torch.randint(3, 8, (2, n), generator=seeded()) for n in (S, T)))


def logits(network, batch: Batch) -> torch.Tensor:
    U = network.matrix(network.experiment.vocabulary, seeded(1))
    return network.logits(U, batch)[0]


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 20), st.integers(0, 99))
def test_positions_are_an_ordered_choice_for_both_sides(S, T, more, seed):
    among = max(S, T) + more
    placed = batch_of(S, T).at_random_positions(among, seeded(seed))
    chosen = placed.positions.tolist()
    assert len(chosen) == max(S, T) and chosen == sorted(set(chosen))
    assert set(chosen) <= set(range(among))
    assert placed.source.shape == (2, S) and placed.target.shape == (2, T)
    again = batch_of(S, T).at_random_positions(among, seeded(seed))
    assert again.positions.tolist() == chosen


def test_every_position_is_chosen_about_as_often():
    generator, count = seeded(), torch.zeros(10)
    for _ in range(2000):
        count[batch_of(3, 5).at_random_positions(10, generator).positions] += 1
    deviation = 5 * (2000 * 0.5 * 0.5) ** 0.5
    assert (count - 1000).abs().max() < deviation


def test_too_few_positions_are_an_error():
    with pytest.raises(ValueError, match="a batch of length 9 does not fit 8 positions"):
        batch_of(3, 9).at_random_positions(8, seeded())


@pytest.mark.parametrize("make", [tiny_network, tiny_logic_network])
def test_positions_in_a_row_change_nothing_wherever_they_begin(make):
    network, batch, columns = make(), batch_of(6, 8), 8
    expected = logits(network, batch)
    exact = replace(batch, positions=torch.arange(columns))
    assert logits(network, exact).equal(expected)
    later = replace(batch, positions=torch.arange(columns) + 17)
    torch.testing.assert_close(logits(network, later), expected, atol=1e-5, rtol=1e-5)
    apart = replace(batch, positions=torch.arange(columns) * 3)
    assert not torch.allclose(logits(network, apart), expected, atol=1e-3)


def test_a_column_is_rotated_as_its_position_is():
    """In the packed layout and in the static one, which has other arithmetic."""
    network, chosen = tiny_network().train(), torch.tensor([0, 2, 5])
    for static in (False, True):
        network.model.static = static
        attention, valid = network.model.encoder[0].attention, torch.ones(1, 6, dtype=torch.bool)
        whole = attention.table(network.model.layout(valid), valid.device)
        found = attention.table(network.model.layout(valid[:, :3], chosen), valid.device)
        assert found.equal(whole[chosen])


@pytest.mark.parametrize("static", [False, True])
def test_padding_has_no_say(static):
    network = tiny_network()
    network.model.static = static
    network.train()
    batch = mixed_batch(network).at_random_positions(20, seeded())
    U = network.matrix(network.experiment.vocabulary, seeded(1))
    (found, targets), (expected, same) = (network.logits(U, b) for b in (batch.padded(16), batch))
    torch.testing.assert_close(found[targets != 0], expected[same != 0], atol=1e-5, rtol=1e-5)


def test_a_run_goes_on_with_the_same_positions(tmp_path):
    made = tiny_experiment(NAME, **SMALL)
    Trainer(made, tmp_path / "whole").run(progress=False)
    Trainer(made, tmp_path / "parts").run(until=5, progress=False)
    Trainer(made, tmp_path / "parts").run(progress=False)
    whole, parts = ([r["loss"] for r in read_log(tmp_path / d)] for d in ("whole", "parts"))
    assert whole == parts
    plain = tiny_experiment(NAME, **SMALL | {"positions": 0})
    Trainer(plain, tmp_path / "plain").run(progress=False)
    assert read_log(tmp_path / "plain")[0]["loss"] != whole[0]
