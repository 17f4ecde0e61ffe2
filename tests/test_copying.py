"""Strings to copy, the grid of unique characters and lengths, edit distances."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from itekit.tasks.copying import CopyingData, EvaluationGrid, edit_distances, strings_with_unique


def test_every_length_and_character_comes_about_equally_often():
    strings, lengths = CopyingData(3, 6, 5).strings(8000, np.random.default_rng(0))
    assert strings.shape == (8000, 6) and set(lengths) == {3, 4, 5, 6}
    assert np.bincount(lengths)[3:] == pytest.approx(np.full(4, 2000), rel=0.1)
    assert np.bincount(strings.ravel()) == pytest.approx(np.full(5, 9600), rel=0.05)


@given(st.integers(1, 12), st.integers(0, 12), st.integers(0, 2**32))
def test_strings_have_exactly_the_unique_characters(unique, more, seed):
    strings = strings_with_unique(20, unique + more, unique, np.random.default_rng(seed))
    assert strings.shape == (20, unique + more)
    assert all(set(string) == set(range(unique)) for string in strings.tolist())


def test_the_places_of_characters_are_random():
    strings = strings_with_unique(3000, 4, 4, np.random.default_rng(0))
    counts = np.stack([np.bincount(column) for column in strings.T])
    assert counts == pytest.approx(np.full((4, 4), 750), rel=0.15)


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
    ("make", "message"),
    [
        (lambda: CopyingData(minimum=0), "found 0 and 10"),
        (lambda: CopyingData(characters=0), "0 were asked for"),
        (lambda: EvaluationGrid(maximum=2), "found 3 and 2"),
        (lambda: EvaluationGrid(samples=0), "found 0 and 1"),
        (lambda: strings_with_unique(1, 3, 4, np.random.default_rng(0)), "1 to 3 .* not 4"),
    ],
)
def test_what_is_impossible_is_an_error(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@given(st.lists(st.tuples(*[st.lists(st.integers(3, 5), max_size=6)] * 2), min_size=1, max_size=5))
def test_edit_distances_are_levenshteins(pairs):
    def distance(a, b):
        if not a or not b:
            return len(a) + len(b)
        return min(distance(a[1:], b) + 1, distance(a, b[1:]) + 1,
                   distance(a[1:], b[1:]) + (a[0] != b[0]))  # fmt: skip

    sides = list(zip(*pairs, strict=True))
    assert edit_distances(*sides).tolist() == [distance(*pair) for pair in pairs]
    names = "abc"
    texts = [["".join(names[i - 3] for i in row) for row in side] for side in sides]
    assert edit_distances(*texts).tolist() == [distance(*pair) for pair in pairs]
