"""Copying with an extendable vocabulary (paper, appendix "Copying Task Experiments").

A string is given, and the model is to produce it. Training strings hold few characters and are
short; evaluation strings hold up to 30 (or 160) characters, arranged in a grid: rows for the number
of unique characters, columns for the length, so that its lower half is impossible. Strings are
integer arrays, character 0 the first of the alphabet, until they are asked of a network.

Shape letters: N strings, S length, G rows (unique characters), L columns (lengths).
"""

from dataclasses import dataclass, field

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from itekit.tasks.streams import HELD_OUT, Arrays, Pair
from itekit.tasks.task import (
    TEST_SEED,
    VALIDATION_SEED,
    Evaluation,
    Task,
    at_least,
    one_of,
)
from itekit.vocabulary import Vocabulary, alphabet, copying_vocabulary

SEARCHES = ("greedy", "published")


def check(string, answer, label=None) -> str:
    """The verdict on a copy (see `itekit.tasks.verdicts`): it is the string, or it is wrong."""
    return "exact" if answer == string else "incorrect"


def edit_distances(strings, others) -> np.ndarray:
    """Levenshtein distance of each string, or sequence of tokens, and the other: int64 [N]."""
    return process.cpdist(strings, others, scorer=Levenshtein.distance).astype(np.int64)


def _check_lengths(settings) -> None:
    if not 1 <= settings.minimum <= settings.maximum <= 10_000:
        lengths = f"{settings.minimum} and {settings.maximum}"
        raise ValueError(f"lengths must satisfy 1 <= minimum <= maximum <= 10000, found {lengths}")


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
            numbers = f"{self.samples} and {self.stride}"
            raise ValueError(f"samples and stride must be 1 or more, found {numbers}")

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


def copying_batch(strings: np.ndarray, lengths: np.ndarray, vocabulary: Vocabulary) -> Arrays:
    """Strings of character numbers [B, L], of some lengths [B], as a batch to be copied.

    Entries beyond the length are ignored.
    """
    columns = np.arange(lengths.max() + 1)
    tokens = vocabulary.learned_count + np.pad(strings, ((0, 0), (0, 1)))[:, : len(columns)]
    tokens[columns > lengths[:, None]] = Vocabulary.pad_id
    tokens[columns == lengths[:, None]] = Vocabulary.end_id
    return tokens, tokens


@dataclass(frozen=True)
class CopyingStream:
    """An endless set of strings."""

    data: CopyingData
    vocabulary: Vocabulary
    batch_size: int
    seed: int

    def batch(self, step: int) -> Arrays:
        """Batch `step`, counted from 0."""
        return self._batch(step, self.batch_size)

    def held_out(self, batches: int, size: int) -> list[Arrays]:
        """The same batches at each call, drawn independently of those to train on."""
        return [self._batch(step, size, HELD_OUT) for step in range(batches)]

    def _batch(self, step: int, size: int, *spawn_key: int) -> Arrays:
        rng = np.random.default_rng(np.random.SeedSequence([self.seed, step], spawn_key=spawn_key))
        return copying_batch(*self.data.strings(size, rng), self.vocabulary)


@dataclass(frozen=True)
class Copying(Task):
    """Copying; the fields are its settings.

    Attributes:
        data: the training strings.
        test_characters: size of the alphabet at evaluation.
        grid: the evaluation set: unique characters × length, both along `axis`, to `maximum`.
        averaged: evaluate all draws and take their mean; False: only the draw whose cross-entropy
            is the median.
        search: "greedy", as the paper says, or "published", as its published code does (see
            `decoding.published_search`), over the characters of the grid's row alone.
    """

    data: CopyingData = field(default_factory=CopyingData)
    test_characters: int = 30
    grid: EvaluationGrid = field(default_factory=EvaluationGrid)
    averaged: bool = True
    search: str = SEARCHES[0]

    EVALUATION = (*Task.EVALUATION, "grid", "averaged", "search")
    kind = "copying"
    parts = ("grid",)  # also "validation": other strings, for choices that the test must not see
    check = staticmethod(check)

    def __post_init__(self):
        super().__post_init__()
        one_of(self, "search", SEARCHES)
        at_least(self, max(self.data.characters, self.grid.axis[-1]), "test_characters")

    @property
    def vocabulary(self) -> Vocabulary:
        return copying_vocabulary(self.data.characters)

    @property
    def test_vocabulary(self) -> Vocabulary:
        return copying_vocabulary(self.test_characters)

    @property
    def published(self) -> bool:
        return self.search == "published"

    def check_training(self, training) -> None:
        if 0 < (positions := training.positions) <= (longest := self.data.maximum):
            need = f"strings of {longest} and their end take {longest + 1} positions"
            raise ValueError(f"{need}: training.positions must be as many, found {positions}")

    def stream(self, batch_size: int, seed: int) -> CopyingStream:
        return CopyingStream(self.data, self.vocabulary, batch_size, seed)

    def longest(self, length: int) -> int:
        """Twice the longest string; in the published search that of the grid, and its end."""
        return 2 * self.grid.maximum + 1 if self.published else 2 * length

    def names_of(self, problem: str) -> int | None:
        """The published search writes characters of the grid's row alone."""
        return len(set(problem)) if self.published else None

    def solve(self, problem: str) -> str:
        return problem

    def texts(self, strings: np.ndarray) -> list[str]:
        """Strings of character numbers [N, S] as texts."""
        names = self.test_vocabulary.interchangeable[0]
        return ["".join(names[i] for i in row) for row in strings]

    def pairs(self, part: str = "grid") -> list[Pair]:
        """The strings of all cells of the grid, in the order of `EvaluationGrid.cells`."""
        seed = VALIDATION_SEED if part == "validation" else TEST_SEED
        cells = (self.grid.strings(*cell, seed) for cell in self.grid.cells())
        return [(text, text) for cell in cells for text in self.texts(cell)]

    def validate(self, solver) -> dict:
        """Mean edit distance of copies of the grid's longest strings.

        A few validation strings for each number of characters that the network can read; the
        length itself if it can read none of them.
        """
        length = self.grid.axis[-1]
        known = sum(solver.vocabulary.class_sizes)
        uniques = [u for u in self.grid.axis if u <= known]
        if not uniques:
            return {"validation_edit_distance": float(length)}
        rows = [self.grid.strings(u, length, VALIDATION_SEED) for u in uniques]
        texts = self.texts(np.concatenate(rows)[:: max(1, self.grid.samples // 4)])
        mean = float(edit_distances(solver.answers(texts), texts).mean())
        return {"validation_edit_distance": mean}

    def distances(self, solver, part: str = "grid") -> np.ndarray:
        """Edit distances of a solver's copies: float [G, L, samples], NaN in impossible cells."""
        axis = self.grid.axis
        texts = [text for text, _ in self.pairs(part)]
        distances = edit_distances(solver.answers(texts, skip=True), texts)
        table = np.full((len(axis), len(axis), self.grid.samples), np.nan)
        cells = self.grid.cells()
        for (unique, length), cell in zip(cells, distances.reshape(len(cells), -1), strict=True):
            table[axis.index(unique), axis.index(length)] = cell
        return table

    def evaluate(self, evaluation: Evaluation, part: str = "grid") -> dict:
        """Edit distances over the grid: the mean over all draws, or those of the median draw."""
        solvers = evaluation.solvers()
        median, losses = evaluation.median(solvers, self.pairs(part))
        chosen = range(len(solvers)) if self.averaged else [median]
        distances = {draw: self.distances(solvers[draw], part) for draw in chosen}
        means = {draw: float(np.nanmean(table)) for draw, table in distances.items()}
        tables = np.stack(list(distances.values()))  # [draws, G, L, samples]
        grid = tables.mean(axis=(0, 3))
        within = grid[[u <= self.data.characters for u in self.grid.axis]]
        return {
            "axis": self.grid.axis,
            "samples_per_cell": self.grid.samples,
            "mean_edit_distance": float(np.nanmean(grid)),
            "mean_within_training_characters": float(np.nanmean(within)) if within.size else None,
            "grid": [[None if np.isnan(x) else round(float(x), 4) for x in row] for row in grid],
            "exact": (tables == 0).sum(axis=(0, 3)).tolist(),
            "copies_per_cell": len(tables) * self.grid.samples,
            "draws": [
                {"mean_edit_distance": means.get(draw), "cross_entropy": loss}
                for draw, loss in enumerate(losses)
            ],
            "median_draw": median,
            "median_draw_mean_edit_distance": means[median],
        }
