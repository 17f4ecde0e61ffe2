"""Strings to copy, their batches, and the grid of unique characters and lengths."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from itekit.data import CopyingStream, copying_batch, with_end
from itekit.tasks.copying import (
    CopyingData,
    EvaluationGrid,
    alphabet,
    copying_vocabulary,
    strings_with_unique,
)

PAD, END, START, FIRST = 0, 1, 2, 3


@pytest.mark.parametrize("size", [1, 5, 62, 63, 160])
def test_an_alphabet_has_different_characters_and_begins_like_a_smaller_one(size):
    assert len(set(alphabet(size))) == size == len(copying_vocabulary(size)) - FIRST
    assert all(len(character) == 1 for character in alphabet(size))
    assert alphabet(size) == alphabet(size + 1)[:size]


@pytest.mark.parametrize("size", [0, 10_001])
def test_an_alphabet_out_of_range_is_an_error(size):
    with pytest.raises(ValueError, match=f"1 to 10000 characters, {size} were asked"):
        alphabet(size)


@given(st.integers(1, 6), st.integers(0, 5), st.integers(1, 8), st.integers(0, 2**32))
def test_strings_are_in_range(minimum, more, characters, seed):
    data = CopyingData(minimum, minimum + more, characters)
    strings, lengths = data.strings(200, np.random.default_rng(seed))
    assert strings.shape == (200, data.maximum)
    assert set(lengths) <= set(range(data.minimum, data.maximum + 1))
    assert strings.min() >= 0 and strings.max() < characters


def test_every_length_and_character_comes_about_equally_often():
    data = CopyingData(3, 6, 5)
    strings, lengths = data.strings(8000, np.random.default_rng(0))
    assert np.bincount(lengths)[3:] == pytest.approx(np.full(4, 2000), rel=0.1)
    assert np.bincount(strings.ravel()) == pytest.approx(np.full(5, 9600), rel=0.05)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"minimum": 0}, "found 0 and 10"),
        ({"minimum": 7, "maximum": 6}, "found 7 and 6"),
        ({"characters": 0}, "0 were asked for"),
    ],
)
def test_impossible_strings_are_an_error(settings, message):
    with pytest.raises(ValueError, match=message):
        CopyingData(**settings)


def test_rows_are_closed_with_the_end_token_and_padded():
    tokens = np.array([[3, 4, 5, 9], [6, 9, 9, 9], [7, 8, 9, 9]])
    assert with_end(tokens, np.array([3, 1, 2])).tolist() == [
        [3, 4, 5, END], [6, END, PAD, PAD], [7, 8, END, PAD],
    ]  # fmt: skip
    assert with_end(tokens, np.array([4, 1, 2]))[0].tolist() == [3, 4, 5, 9, END]


@pytest.mark.parametrize(
    ("lengths", "found"),
    [([1, 0], "row 1 of length 0"), ([4, 1], "row 0 of length 4"), ([], "no rows")],
)
def test_an_empty_or_a_longer_row_is_an_error(lengths, found):
    with pytest.raises(ValueError, match=f"length 1 to 3, found {found}"):
        with_end(np.full((len(lengths), 3), 5), np.array(lengths, dtype=np.int64))


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


def stream(seed: int = 0, **changes) -> CopyingStream:
    return replace(CopyingStream(CopyingData(), copying_vocabulary(5), 256, seed), **changes)


def test_a_batch_depends_on_its_seed_and_step_alone():
    forwards = [stream().batch(t).source for t in range(4)]
    for t in reversed(range(4)):
        assert torch.equal(stream().batch(t).source, forwards[t])
    assert not torch.equal(forwards[0], forwards[1])
    assert not torch.equal(stream(seed=1).batch(0).source, forwards[0])


@pytest.mark.parametrize("seed", [0, 1, 2**32, 2**32 + 1])
def test_held_out_batches_are_no_training_batches(seed):
    """A held-out batch that equals a training batch would make validation meaningless."""
    training = [stream(s).batch(t).source for s in (seed, 0) for t in range(30)]
    for batch in stream(seed).held_out(4, 256):
        assert not any(torch.equal(batch.source, other) for other in training)


@given(st.integers(1, 12), st.integers(0, 12), st.integers(0, 2**32))
def test_strings_have_exactly_the_unique_characters(unique, more, seed):
    strings = strings_with_unique(20, unique + more, unique, np.random.default_rng(seed))
    assert strings.shape == (20, unique + more)
    assert all(set(string) == set(range(unique)) for string in strings.tolist())


def test_the_places_of_characters_are_random():
    strings = strings_with_unique(3000, 4, 4, np.random.default_rng(0))
    counts = np.stack([np.bincount(column) for column in strings.T])
    assert counts == pytest.approx(np.full((4, 4), 750), rel=0.15)


@pytest.mark.parametrize(("length", "unique"), [(3, 4), (3, 0)])
def test_impossible_cells_are_an_error(length, unique):
    with pytest.raises(ValueError, match=f"length {length} has 1 to {length} .* not {unique}"):
        strings_with_unique(1, length, unique, np.random.default_rng(0))


def test_the_grid_of_the_paper_has_28_rows_and_406_cells():
    grid = EvaluationGrid()
    assert len(grid.axis) == 28 and len(grid.cells()) == len(set(grid.cells())) == 406
    assert all(3 <= unique <= length <= 30 for unique, length in grid.cells())
    assert grid.strings(5, 9, 0).shape == (100, 9)


def test_strings_of_a_cell_depend_on_the_seed_and_the_cell_alone():
    grid = EvaluationGrid(samples=5)
    assert np.array_equal(grid.strings(4, 9, 1), grid.strings(4, 9, 1))
    assert not np.array_equal(grid.strings(4, 9, 1), grid.strings(4, 9, 2))
    assert EvaluationGrid(4, 20, stride=4).axis == [4, 8, 12, 16, 20]


@pytest.mark.parametrize(
    "settings", [{"minimum": 0}, {"maximum": 2}, {"samples": 0}, {"stride": 0}]
)
def test_an_impossible_grid_is_an_error(settings):
    with pytest.raises(ValueError, match=f"found .*{next(iter(settings.values()))}"):
        EvaluationGrid(**settings)
