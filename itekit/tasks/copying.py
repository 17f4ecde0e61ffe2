"""Copying with an extendable vocabulary (paper, appendix "Copying Task Experiments").

A string is given, and the model is to produce it. Training strings hold few characters and are
short; evaluation strings hold up to 30 (or 160) characters, arranged in a grid: rows for the number
of unique characters, columns for the length, so that its lower half is impossible. Strings are
integer arrays, character 0 the first of the alphabet.

Shape letters: N strings, S length.
"""

from dataclasses import dataclass

import numpy as np
from rapidfuzz.distance import Levenshtein

from itekit.vocabulary import Vocabulary, alphabet


def check(string, answer, label=None) -> str:
    """The verdict on a copy (see `itekit.tasks.verdicts`): it is the string, or it is wrong."""
    return "exact" if answer == string else "incorrect"


def edit_distances(predictions, targets) -> np.ndarray:
    """Levenshtein distance of each row of identifiers, special ones left out: int64 [N]."""
    rows = (
        [[token for token in row if token > Vocabulary.end_id] for row in side.tolist()]
        for side in (predictions, targets)
    )
    return np.array([Levenshtein.distance(*pair) for pair in zip(*rows, strict=True)], np.int64)


def _check_lengths(made) -> None:
    if not 1 <= made.minimum <= made.maximum <= 10_000:
        found = f"{made.minimum} and {made.maximum}"
        raise ValueError(f"lengths must satisfy 1 <= minimum <= maximum <= 10000, found {found}")


@dataclass(frozen=True)
class CopyingData:
    """Random strings: uniform length, uniform characters; ValueError where there are none."""

    minimum: int = 5  # lengths, both included
    maximum: int = 10
    characters: int = 5  # of the alphabet that the strings are drawn from

    def __post_init__(self):
        _check_lengths(self)
        alphabet(self.characters)

    def strings(self, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """`count` strings: characters int64 [N, maximum] and lengths int64 [N]."""
        lengths = rng.integers(self.minimum, self.maximum + 1, count)
        characters = rng.integers(0, self.characters, (count, self.maximum))
        return characters, lengths


def strings_with_unique(count: int, length: int, unique: int, rng: np.random.Generator):
    """Strings with exactly the first `unique` characters of the alphabet: int64 [count, length].

    Each character is placed once, the rest is filled uniformly, and every string is shuffled.
    ValueError if `unique` is not in 1..length.
    """
    if not 1 <= unique <= length:
        problem = f"a string of length {length} has 1 to {length} unique characters, not {unique}"
        raise ValueError(problem)
    strings = rng.integers(0, unique, (count, length))
    strings[:, :unique] = np.arange(unique)
    return rng.permuted(strings, axis=1)


@dataclass(frozen=True)
class EvaluationGrid:
    """The evaluation set: strings for every pair of unique characters and length.

    The paper's is a 28 × 28 grid of 406 possible cells. ValueError if there are no strings.
    """

    minimum: int = 3  # the smallest length, and number of unique characters
    maximum: int = 30
    samples: int = 100  # strings in each cell (20 in the paper's scaled-up task)
    stride: int = 1  # take every stride-th row and column
    names: int = 0  # draw the characters of a string from so many; 0: they are the alphabet's first

    def __post_init__(self):
        _check_lengths(self)
        if self.samples < 1 or self.stride < 1:
            found = f"{self.samples} and {self.stride}"
            raise ValueError(f"samples and stride must be 1 or more, found {found}")

    @property
    def axis(self) -> list[int]:
        """The lengths, which are also the numbers of unique characters."""
        return list(range(self.minimum, self.maximum + 1, self.stride))

    def cells(self) -> list[tuple[int, int]]:
        """Possible pairs (unique, length), rows first."""
        return [(u, s) for u in self.axis for s in self.axis if u <= s]

    def strings(self, unique: int, length: int, seed: int) -> np.ndarray:
        """The strings of one cell, int64 [samples, length]; the seed and the cell decide them."""
        rng = np.random.default_rng([seed, unique, length])
        strings = strings_with_unique(self.samples, length, unique, rng)
        if not self.names:
            return strings
        chosen = np.array([rng.choice(self.names, unique, replace=False) for _ in strings])
        return np.take_along_axis(chosen, strings, axis=1)
