"""Problems in memory: packed as the vocabulary says, every one once an epoch, little padding."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from itekit.alpha import Renaming, alpha_equivalent_pairs
from itekit.datasets.sets import read_set
from itekit.logic.assignments import parse_assignment
from itekit.pairs import PairStream, Problems, by_appearance, canonical_pair, encode_texts
from itekit.tasks.vocabularies import ltl_vocabulary, propositional_vocabulary
from itekit.vocabulary import UnknownTokenError

VOCABULARY = ltl_vocabulary(3)
PAIRS = read_set("ltl35", "smoke")["train"]


def stream(size: int = 16, seed: int = 0) -> PairStream:
    problems = Problems.of(PAIRS, VOCABULARY)
    return PairStream(problems, problems, size, seed)


@given(st.lists(st.text(VOCABULARY.tokens[3:], min_size=1, max_size=9), min_size=1, max_size=6))
def test_texts_are_encoded_as_the_vocabulary_does(texts):
    tokens, lengths = encode_texts(texts, VOCABULARY)
    for text, row, length in zip(texts, tokens.tolist(), lengths, strict=True):
        assert row[:length] == VOCABULARY.encode(text) and not any(row[length:])


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (
            [("a", "{a}"), ("&ad", "{1}")],
            "formulas: text 1, '&ad': unknown token 'd' at position 2",
        ),
        ([("a", "{a}"), ("a", "{q}")], "labels: text 1, '{q}': unknown token 'q' at position 1"),
        ([("a", "")], "labels: expected texts of one token or more: text 0 is empty"),
        ([("ä", "{1}")], "formulas: text 0, 'ä': unknown token 'ä'"),
    ],
)
def test_what_the_vocabulary_lacks_is_named(pairs, message):
    with pytest.raises(ValueError, match="^" + message.replace("{", r"\{")):
        Problems.of(pairs, VOCABULARY)


def test_unknown_tokens_have_their_own_error():
    with pytest.raises(UnknownTokenError):
        Problems.of([("d", "{d}")], VOCABULARY)


def test_an_epoch_holds_every_problem_once_and_the_next_one_in_another_order():
    made = stream(size=8)
    per_epoch = len(PAIRS) // 8
    epochs = [
        [tuple(row) for step in range(per_epoch) for row in rows(made.batch(e * per_epoch + step))]
        for e in range(2)
    ]
    every = {tuple(VOCABULARY.encode(f + label)) for f, label in PAIRS}
    for epoch in epochs:
        assert len(epoch) == per_epoch * 8 and len(set(epoch)) == len(epoch)
        assert set(epoch) <= every
    assert epochs[0] != epochs[1]


def rows(batch) -> list[list[int]]:
    """Formula and label of each row, without end and padding."""
    both = torch.cat([batch.source, batch.target], dim=1).tolist()
    return [[token for token in row if token > 1] for row in both]


def test_a_batch_depends_on_its_seed_and_step_alone():
    forwards = [stream().batch(t).source for t in range(12)]
    for t in reversed(range(12)):
        assert torch.equal(stream().batch(t).source, forwards[t])
    assert any(not torch.equal(stream(seed=1).batch(t).source, forwards[t]) for t in range(12))


def test_batches_are_grouped_by_length():
    """Twice as many tokens would be padding in batches drawn at random."""
    pairs = read_set("ltl35", "lab")["validation"]
    made = PairStream(Problems.of(pairs, VOCABULARY), Problems.of(pairs[:9], VOCABULARY), 64, 0)
    grouped = [(batch.source == 0).float().mean().item() for batch in map(made.batch, range(100))]
    rng = np.random.default_rng(0)
    mixed = made.problems.batch(rng.permutation(len(pairs))[:6400]).source
    assert np.mean(grouped) < 0.5 * (mixed == 0).float().mean().item()


def test_validation_batches_are_the_same_at_each_call_and_may_be_few():
    made = PairStream(stream().problems, Problems.of(PAIRS[:3], VOCABULARY), 16, 0)
    batches = made.held_out(4, 256)
    assert [len(batch.source) for batch in batches] == [1, 1, 1]
    assert all(
        torch.equal(a.source, b.source) for a, b in zip(batches, made.held_out(4, 256), strict=True)
    )


def test_fewer_problems_than_a_batch():
    with pytest.raises(ValueError, match="160 problems do not fill a batch of 161"):
        stream(size=161)


@pytest.mark.parametrize("name", ["ltl35", "prop35"])
def test_canonical_problems_are_the_same_problems_renamed(name):
    make = ltl_vocabulary if name == "ltl35" else propositional_vocabulary
    vocabulary = make(3)
    for pair in read_set(name, "smoke")["train"]:
        renamed = canonical_pair(pair, vocabulary)
        assert alpha_equivalent_pairs(pair, renamed, "abc")
        first = [t for t in dict.fromkeys(renamed[0] + renamed[1]) if t in "abc"]
        assert first == list("abc")[: len(first)]


@given(st.permutations("abc"))
def test_labels_by_appearance_commute_with_renaming(names):
    r = Renaming(dict(zip("abc", names, strict=True)))
    for pair in read_set("prop35", "smoke")["train"][:20]:
        ordered = by_appearance(pair)
        assert parse_assignment(ordered[1]) == parse_assignment(pair[1])
        assert by_appearance(r.apply_pair(*pair)) == r.apply_pair(*ordered)
