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
from itekit.data import (
    Batch,
    CopyingStream,
    PairStream,
    Problems,
    by_name,
    copying_batch,
    encode_texts,
    problems,
    stream,
)
from itekit.datasets.sets import read_set
from itekit.logic.truth_tables import parse_assignment
from itekit.names import LOGIC_NAMES, experiment
from itekit.tasks.copying import CopyingData
from itekit.tasks.propositional import solve
from itekit.vocabulary import (
    UnknownTokenError,
    Vocabulary,
    alphabet,
    copying_vocabulary,
    logic_vocabulary,
)

PAD, END, START = 0, 1, 2
VOCABULARY = logic_vocabulary("ltl", 3)
PAIRS = read_set("ltl35", "smoke")["train"]


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


def test_names_beyond_the_letters_are_encoded_and_what_the_vocabulary_lacks_is_named():
    """A vocabulary may hold as many one-character names as one likes."""
    vocabulary = Vocabulary(tuple("!&"), (tuple(chr(0xE000 + i) for i in range(300)),))
    text = "&!" + chr(0xE000 + 299) + chr(0xE000)
    assert encode_texts([text], vocabulary)[0].tolist() == [*vocabulary.encode(text), END]
    assert Problems.of([(text, text)], vocabulary).sources.max() == len(vocabulary) - 1
    for pairs, message in [
        ([("a", "{a}"), ("&ad", "{1}")], "text 1, '&ad': unknown token 'd' at position 2"),
        ([("a", "{a}"), ("a", "{q}")], r"text 1, '\{q}': unknown token 'q' at position 1"),
    ]:
        with pytest.raises(UnknownTokenError, match="^" + message):
            Problems.of(pairs, VOCABULARY)


def test_an_epoch_holds_every_problem_once_and_the_next_one_in_another_order():
    made = pairs_stream(size=8)
    per_epoch = len(PAIRS) // 8
    batches = [made.batch(step) for step in range(2 * per_epoch)]
    both = [row for b in batches for row in torch.cat([b.source, b.target], dim=1).tolist()]
    rows = [tuple(token for token in row if token > END) for row in both]
    every = {tuple(VOCABULARY.encode(f + label)) for f, label in PAIRS}
    for epoch in (rows[: 8 * per_epoch], rows[8 * per_epoch :]):
        assert len(set(epoch)) == len(epoch) and set(epoch) <= every
    assert rows[: 8 * per_epoch] != rows[8 * per_epoch :]


@pytest.mark.parametrize("make", [pairs_stream, strings_stream])
def test_a_batch_depends_on_its_seed_and_step_alone(make):
    forwards = [make().batch(t).source for t in range(12)]
    for t in reversed(range(12)):
        assert torch.equal(make().batch(t).source, forwards[t])
    assert not torch.equal(make(seed=1).batch(0).source, forwards[0])
    assert not torch.equal(forwards[0], forwards[1])


def test_batches_are_grouped_by_length():
    """Of sources, twice as many tokens would be padding in batches drawn at random."""
    pairs = read_set("ltl35", "lab")["validation"]
    made = PairStream(Problems.of(pairs, VOCABULARY), Problems.of(pairs[:9], VOCABULARY), 64, 0)
    grouped = [(batch.source == 0).float().mean().item() for batch in map(made.batch, range(100))]
    rng = np.random.default_rng(0)
    mixed = made.problems.batch(rng.permutation(len(pairs))[:6400]).source
    assert np.mean(grouped) < 0.5 * (mixed == 0).float().mean().item()


def tokens_of(batch: Batch) -> Counter:
    """Each sequence's source and target without padding, as often as it occurs."""
    sides = zip(batch.source, batch.target, strict=True)
    return Counter(str([side[side != 0].tolist() for side in pair]) for pair in sides)


def test_parts_hold_the_same_sequences_with_less_padding():
    pairs = read_set("ltl35", "lab")["validation"][:100]
    whole = Problems.of(pairs, VOCABULARY).batch(np.arange(100))
    parts = whole.parts(whole.tokens // 4)
    assert tokens_of(whole) == sum(map(tokens_of, parts), Counter())
    assert [len(part.source) for part in parts] == [25] * 4
    assert sum(part.tokens for part in parts) < 0.8 * whole.tokens
    assert whole.parts(whole.tokens)[0] is whole


def test_validation_batches_are_the_same_at_each_call_and_may_be_few():
    made = PairStream(pairs_stream().problems, Problems.of(PAIRS[:3], VOCABULARY), 16, 0)
    batches, again = ([batch.source for batch in made.held_out(4, 256)] for _ in range(2))
    assert [len(rows) for rows in batches] == [1, 1, 1] and all(map(torch.equal, batches, again))
    with pytest.raises(ValueError, match="160 problems do not fill a batch of 161"):
        pairs_stream(size=161)


def test_canonical_problems_are_the_same_problems_renamed():
    packed = problems(experiment("ltl/canonical-proposed", "smoke"), PAIRS, VOCABULARY)
    for i, pair in enumerate(PAIRS):
        renamed = ["".join(VOCABULARY.tokens[t] for t in side[i] if t > END)
                   for side in (packed.sources, packed.targets)]  # fmt: skip
        assert alpha_equivalent_pairs(pair, renamed, "abc")
        first = used_tokens("".join(renamed), "abc")
        assert first == list("abc")[: len(first)]


@given(st.permutations("abc"))
def test_labels_by_name_are_the_same_assignments_and_do_not_follow_a_renaming(names):
    r = Renaming(dict(zip("abc", names, strict=True)))
    for formula, label in read_set("prop35", "smoke")["train"][:20]:
        assert solve(r(formula)) == r(label)
        _, by_names = by_name((r(formula), r(label)))
        assert parse_assignment(by_names) == parse_assignment(r(label))
        assert list(by_names[::2]) == sorted(r(label)[::2])
    assert by_name(("^b^ac", solve("^b^ac"))) == ("^b^ac", "a0b0c1")


def test_a_network_by_name_trains_on_the_sorted_labels():
    pairs = read_set("prop35", "smoke")["train"]
    made, sorted_ = (experiment(f"prop/{name}", "smoke") for name in ("proposed", "by-name"))
    as_they_are, by_names = (problems(e, pairs, e.vocabulary) for e in (made, sorted_))
    expected = Problems.of([by_name(pair) for pair in pairs], made.vocabulary)
    assert torch.equal(by_names.targets, expected.targets)
    assert torch.equal(as_they_are.targets, Problems.of(pairs, made.vocabulary).targets)
    assert not torch.equal(as_they_are.targets, by_names.targets)


@given(st.integers(0, 2**32))
def test_a_batch_is_its_strings(seed):
    vocabulary = copying_vocabulary(5)
    strings, lengths = CopyingData(2, 6, 5).strings(9, np.random.default_rng(seed))
    batch = copying_batch(strings, lengths, vocabulary)
    for row, string, length in zip(batch.source.tolist(), strings, lengths, strict=True):
        assert row[:length] == vocabulary.encode(alphabet(5)[c] for c in string[:length])
        assert row[length] == END and set(row[length + 1 :]) <= {PAD}
    assert torch.equal(batch.target, batch.source)
    assert batch.inputs[:, 0].tolist() == [START] * 9
    assert torch.equal(batch.inputs[:, 1:], batch.target[:, :-1])


def test_held_out_batches_are_no_training_batches():
    """A held-out batch that equals a training batch would make validation meaningless."""
    seeds = [0, 1, 2**32, 2**32 + 1]
    training = [strings_stream(seed=s).batch(t).source for s in seeds for t in range(20)]
    for batch in (b for s in seeds for b in strings_stream(seed=s).held_out(4, 256)):
        assert not any(torch.equal(batch.source, other) for other in training)


def batch_of(S: int, T: int) -> Batch:
    """Random tokens of the smallest vocabulary, without padding."""
    return Batch(*(torch.randint(3, 8, (2, n), generator=seeded()) for n in (S, T)))


def logits(network, batch: Batch) -> torch.Tensor:
    U = network.matrix(network.experiment.task.vocabulary, seeded(1))
    return network.logits(U, batch)


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 20), st.integers(0, 99))
def test_positions_are_an_ordered_choice_for_both_sides(S, T, more, seed):
    among = max(S, T) + more
    placed = batch_of(S, T).at_random_positions(among, seeded(seed))
    chosen = placed.positions.tolist()
    assert len(chosen) == max(S, T) and chosen == sorted(set(chosen))
    assert set(chosen) <= set(range(among))
    assert placed.source.shape == (2, S) and placed.target.shape == (2, T)
    with pytest.raises(ValueError, match=f"a batch of length {max(S, T)} does not fit"):
        batch_of(S, T).at_random_positions(max(S, T) - 1, seeded())


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


def test_padding_has_no_say():
    network = tiny_network()
    batch = mixed_batch(network).at_random_positions(20, seeded())
    found, expected = logits(network, batch.padded(16)), logits(network, batch)
    real = batch.target != 0
    found = found[:, : real.shape[1]]
    torch.testing.assert_close(found[real], expected[real], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", [name for name in LOGIC_NAMES if name.startswith("ltl")])
def test_a_preset_trains_on_the_set_it_names(name):
    made = experiment(name, "smoke")
    read = stream(made)
    names = set(read.problems.sources.unique().tolist()) & set(made.vocabulary.class_ids(0))
    assert len(names) == 3 if made.propositions == 3 else len(names) > 3
