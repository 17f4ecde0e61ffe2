"""Batches: strings and problems, packed as the vocabulary says, every one once an epoch."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny import mixed_batch, seeded, tiny_logic_network, tiny_network

from itekit.alpha import Renaming, alpha_equivalent_pairs, used_tokens
from itekit.data import Batch
from itekit.logic.truth_tables import parse_assignment
from itekit.names import NAMES, experiment
from itekit.tasks.copying import CopyingData, CopyingStream, copying_batch
from itekit.tasks.ltl import Ltl
from itekit.tasks.propositional import by_name, solve
from itekit.tasks.streams import PairStream, Problems, encode_texts
from itekit.vocabulary import UnknownTokenError, Vocabulary, alphabet, copying_vocabulary

PAD, END, START = 0, 1, 2
SMOKE = Ltl("smoke", propositions=3)
VOCABULARY = SMOKE.vocabulary
PAIRS = SMOKE.sides(0)[0]


def pairs_stream(size: int = 16, seed: int = 0) -> PairStream:
    packed = Problems.of(PAIRS, VOCABULARY)
    return PairStream(packed, packed, size, seed)


def strings_stream(seed: int = 0) -> CopyingStream:
    return CopyingStream(CopyingData(), copying_vocabulary(5), 256, seed)


@given(st.lists(st.text(VOCABULARY.tokens[3:], min_size=1, max_size=9), min_size=1, max_size=6))
def test_texts_are_encoded_as_the_vocabulary_does(texts):
    for text, row in zip(texts, encode_texts(texts, VOCABULARY).tolist(), strict=True):
        closed = [*VOCABULARY.encode(text), END]
        assert row[: len(closed)] == closed and not any(row[len(closed) :])


def test_forty_thousand_names_are_packed_and_what_the_vocabulary_lacks_is_named():
    """Identifiers above 32,767 do not fit 16 bits."""
    vocabulary = Vocabulary(tuple("!&"), (tuple(map(chr, range(0x20000, 0x20000 + 40_000))),))
    last = vocabulary.tokens[-1]
    packed = Problems.of([(f"&!{last}", last)], vocabulary)
    assert packed.sources.tolist() == [[*vocabulary.encode("&!"), 40_004, END]]
    assert packed.batch(np.array([0]))[1].tolist() == [[40_004, END]]
    for pairs, message in [
        ([("a", "{a}"), ("&ad", "{1}")], "text 1, '&ad': unknown token 'd' at position 2"),
        ([("a", "{a}"), ("a", "{q}")], r"text 1, '\{q}': unknown token 'q' at position 1"),
    ]:
        with pytest.raises(UnknownTokenError, match="^" + message):
            Problems.of(pairs, VOCABULARY)


def test_an_epoch_holds_every_problem_once_and_the_next_one_in_another_order():
    stream = pairs_stream(size=8)
    per_epoch = len(PAIRS) // 8
    batches = [stream.batch(step) for step in range(2 * per_epoch)]
    both = [row for sides in batches for row in np.concatenate(sides, axis=1).tolist()]
    rows = [tuple(token for token in row if token > END) for row in both]
    every = {tuple(VOCABULARY.encode(f + label)) for f, label in PAIRS}
    for epoch in (rows[: 8 * per_epoch], rows[8 * per_epoch :]):
        assert len(set(epoch)) == len(epoch) and set(epoch) <= every
    assert rows[: 8 * per_epoch] != rows[8 * per_epoch :]


@pytest.mark.parametrize("stream", [pairs_stream, strings_stream])
def test_a_batch_depends_on_its_seed_and_step_alone(stream):
    forwards = [stream().batch(t)[0] for t in range(12)]
    for t in reversed(range(12)):
        assert np.array_equal(stream().batch(t)[0], forwards[t])
    assert not np.array_equal(stream(seed=1).batch(0)[0], forwards[0])
    assert not np.array_equal(forwards[0], forwards[1])


def test_batches_are_grouped_by_length():
    """Of sources, twice as many tokens would be padding in batches drawn at random."""
    pairs = Ltl("lab").sides(0)[1]
    stream = PairStream(Problems.of(pairs, VOCABULARY), Problems.of(pairs[:9], VOCABULARY), 64, 0)
    grouped = [(stream.batch(step)[0] == PAD).mean() for step in range(100)]
    rng = np.random.default_rng(0)
    mixed, _ = stream.problems.batch(rng.permutation(len(pairs))[:6400])
    assert np.mean(grouped) < 0.5 * (mixed == PAD).mean()


def tokens_of(batch: Batch) -> Counter:
    """Each sequence's source and target without padding, as often as it occurs."""
    sides = zip(batch.source, batch.target, strict=True)
    return Counter(str([side[side != 0].tolist() for side in pair]) for pair in sides)


def test_parts_hold_the_same_sequences_with_less_padding():
    pairs = Ltl("lab").sides(0)[1][:100]
    whole = Batch.of(Problems.of(pairs, VOCABULARY).batch(np.arange(100)))
    parts = whole.parts(whole.tokens // 4)
    assert tokens_of(whole) == sum(map(tokens_of, parts), Counter())
    assert [len(part.source) for part in parts] == [25] * 4
    assert sum(part.tokens for part in parts) < 0.8 * whole.tokens
    assert whole.parts(whole.tokens)[0] is whole


def test_validation_batches_are_the_same_at_each_call_and_may_be_few():
    stream = PairStream(pairs_stream().problems, Problems.of(PAIRS[:3], VOCABULARY), 16, 0)
    batches, again = ([source for source, _ in stream.held_out(4, 256)] for _ in range(2))
    assert [len(rows) for rows in batches] == [1, 1, 1]
    assert all(map(np.array_equal, batches, again))
    with pytest.raises(ValueError, match="160 problems do not fill a batch of 161"):
        pairs_stream(size=161)


def test_canonical_problems_are_the_same_problems_renamed():
    packed = replace(SMOKE, canonical=True).pack(PAIRS, VOCABULARY)
    for i, pair in enumerate(PAIRS):
        renamed = ["".join(VOCABULARY.tokens[t] for t in side[i] if t > END)
                   for side in (packed.sources, packed.targets)]  # fmt: skip
        assert alpha_equivalent_pairs(pair, renamed, "abc")
        first = used_tokens("".join(renamed), "abc")
        assert first == list("abc")[: len(first)]


@given(st.permutations("abc"))
def test_labels_by_name_are_the_same_assignments_and_do_not_follow_a_renaming(names):
    r = Renaming(dict(zip("abc", names, strict=True)))
    for formula, label in experiment("prop/proposed", "smoke").task.sides(0)[0][:20]:
        assert solve(r(formula)) == r(label)
        _, by_names = by_name((r(formula), r(label)))
        assert parse_assignment(by_names) == parse_assignment(r(label))
        assert list(by_names[::2]) == sorted(r(label)[::2])
    assert by_name(("^b^ac", solve("^b^ac"))) == ("^b^ac", "a0b0c1")


def test_a_network_by_name_trains_on_the_sorted_labels():
    usual, sorted_ = (experiment(f"prop/{name}", "smoke").task for name in ("proposed", "by-name"))
    pairs, vocabulary = usual.sides(0)[0], usual.vocabulary
    assert np.array_equal(
        sorted_.pack(pairs, vocabulary).targets,
        Problems.of([by_name(pair) for pair in pairs], vocabulary).targets,
    )
    as_they_are = usual.pack(pairs, vocabulary).targets
    assert np.array_equal(as_they_are, Problems.of(pairs, vocabulary).targets)
    assert not np.array_equal(as_they_are, sorted_.pack(pairs, vocabulary).targets)


@given(st.integers(0, 2**32))
def test_a_batch_is_its_strings(seed):
    vocabulary = copying_vocabulary(5)
    strings, lengths = CopyingData(2, 6, 5).strings(9, np.random.default_rng(seed))
    batch = Batch.of(copying_batch(strings, lengths, vocabulary))
    for row, string, length in zip(batch.source.tolist(), strings, lengths, strict=True):
        assert row[:length] == vocabulary.encode(alphabet(5)[c] for c in string[:length])
        assert row[length] == END and set(row[length + 1 :]) <= {PAD}
    assert torch.equal(batch.target, batch.source)
    assert batch.inputs[:, 0].tolist() == [START] * 9
    assert torch.equal(batch.inputs[:, 1:], batch.target[:, :-1])


def test_held_out_batches_are_no_training_batches():
    """A held-out batch that equals a training batch would make validation meaningless."""
    seeds = [0, 1, 2**32, 2**32 + 1]
    training = [strings_stream(seed=s).batch(t)[0] for s in seeds for t in range(20)]
    for source, _ in (b for s in seeds for b in strings_stream(seed=s).held_out(4, 256)):
        assert not any(np.array_equal(source, other) for other in training)


def batch_of(S: int, T: int) -> Batch:
    """Random tokens of the smallest vocabulary, without padding."""
    return Batch(*(torch.randint(3, 8, (2, n), generator=seeded()) for n in (S, T)))


def logits(network, batch: Batch) -> torch.Tensor:
    U = network.matrix(network.experiment.task.vocabulary, seeded(1))
    return network.logits(U, batch)


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 20), st.integers(0, 99))
def test_positions_are_an_ordered_choice_for_both_sides(S, T, more, seed):
    among = max(S, T) + more
    moved = batch_of(S, T).at_random_positions(among, seeded(seed))
    chosen = moved.positions.tolist()
    assert len(chosen) == max(S, T) and chosen == sorted(set(chosen))
    assert set(chosen) <= set(range(among))
    assert moved.source.shape == (2, S) and moved.target.shape == (2, T)
    with pytest.raises(ValueError, match=f"a batch of length {max(S, T)} does not fit"):
        batch_of(S, T).at_random_positions(max(S, T) - 1, seeded())


@pytest.mark.parametrize("network_of", [tiny_network, tiny_logic_network])
def test_positions_in_a_row_change_nothing_wherever_they_begin(network_of):
    network, batch, columns = network_of(), batch_of(6, 8), 8
    expected = logits(network, batch)
    exact = replace(batch, positions=torch.arange(columns))
    assert logits(network, exact).equal(expected)
    later = replace(batch, positions=torch.arange(columns) + 17)
    torch.testing.assert_close(logits(network, later), expected, atol=1e-5, rtol=1e-5)
    apart = replace(batch, positions=torch.arange(columns) * 3)
    assert not torch.allclose(logits(network, apart), expected, atol=1e-3)


def test_padding_has_no_say():
    network = tiny_network()
    batch = mixed_batch(network).at_random_positions(20, seeded())
    padded, expected = logits(network, batch.padded(16)), logits(network, batch)
    real = batch.target != 0
    padded = padded[:, : real.shape[1]]
    torch.testing.assert_close(padded[real], expected[real], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("ltl")])
def test_an_experiment_trains_on_the_set_it_names(name):
    task = experiment(name, "smoke").task
    problems = task.stream(2, 0).problems
    names = set(np.unique(problems.sources)) & set(task.vocabulary.class_ids(0))
    assert len(names) == 3 if task.propositions == 3 else len(names) > 3
