"""Problems as padded arrays, and the endless streams of them that a training reads; no torch.

Batch t of a stream depends on the seed and t alone. In each epoch problems are shuffled, cut into
pools of some batches, and ordered within each pool by the length of the source, then of the target,
so that little of a batch is padding; the batches then come in random order. (Batches of one target
length each have less padding, but LTL learns more slowly from them.)

Shape letters: B batch, N problems, S source length, T target length (both with the end token).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Protocol

import numpy as np

from itekit.vocabulary import UnknownTokenError, Vocabulary

POOL = 20  # batches that are ordered by length together
HELD_OUT, EPOCH = 1, 2  # purposes of random numbers
Pair = tuple[Sequence[str], Sequence[str]]  # a problem and its label: texts, or tuples of tokens
Arrays = tuple[np.ndarray, np.ndarray]  # sources int64 [B, S] and targets [B, T], padded with 0


class Stream(Protocol):
    """The batches of a training."""

    def batch(self, step: int) -> Arrays:
        """Batch `step`, counted from 0."""

    def held_out(self, batches: int, size: int) -> list[Arrays]:
        """The same batches at each call, none of which is ever trained on."""


def encode_texts(texts: Sequence[Sequence[str]], vocabulary: Vocabulary) -> np.ndarray:
    """Identifiers of texts, each closed with the end token: int64 [N, longest + 1].

    UnknownTokenError names the text and the token.
    """
    rows = []
    for text in texts:
        try:
            rows.append([*vocabulary.encode(text), Vocabulary.end_id])
        except UnknownTokenError as error:
            raise UnknownTokenError(f"text {len(rows)}, {text!r}: {error}") from None
    lengths = np.array([len(row) for row in rows])
    tokens = np.full((len(rows), lengths.max()), Vocabulary.pad_id)
    tokens[np.arange(lengths.max()) < lengths[:, None]] = list(chain.from_iterable(rows))
    return tokens


@dataclass(frozen=True, eq=False)
class Problems:
    """Problems and labels packed: int32 [N, S] and [N, T], and the lengths of each, int64 [N]."""

    sources: np.ndarray
    targets: np.ndarray
    source_lengths: np.ndarray
    target_lengths: np.ndarray

    @classmethod
    def of(cls, pairs: Sequence[Pair], vocabulary: Vocabulary) -> "Problems":
        """Pack pairs; UnknownTokenError names the text and the token."""
        sides = zip(*pairs, strict=True)
        sides = [encode_texts(side, vocabulary).astype(np.int32) for side in sides]
        return cls(*sides, *((side != Vocabulary.pad_id).sum(1) for side in sides))

    def __len__(self) -> int:
        return len(self.sources)

    def batch(self, rows: np.ndarray) -> Arrays:
        """The problems of some rows, cut to the longest of them."""
        S = self.source_lengths[rows].max()
        T = self.target_lengths[rows].max()
        return self.sources[rows, :S].astype(np.int64), self.targets[rows, :T].astype(np.int64)

    def by_length(self, size: int) -> list[Arrays]:
        """All problems in batches of a size, those of like lengths together."""
        order = self.source_lengths.argsort(kind="stable")
        return [self.batch(rows) for rows in np.array_split(order, range(size, len(order), size))]


@dataclass(frozen=True, eq=False)
class PairStream:
    """Batches to train on, epoch after epoch; ValueError: fewer problems than a batch takes."""

    problems: Problems
    validation: Problems
    batch_size: int
    seed: int

    def __post_init__(self):
        if (count := len(self.problems)) < self.batch_size:
            raise ValueError(f"{count} problems do not fill a batch of {self.batch_size}")

    def batch(self, step: int) -> Arrays:
        """Batch `step`, counted from 0."""
        epoch, place = divmod(step, len(self.problems) // self.batch_size)
        return self.problems.batch(_epoch(self, epoch)[place])

    def held_out(self, batches: int, size: int) -> list[Arrays]:
        """The same problems at each call, none of them ever trained on."""
        rows = np.arange(min(batches * size, len(self.validation)))
        parts = np.array_split(rows, min(batches, len(rows)))
        return [self.validation.batch(part) for part in parts]


@lru_cache(maxsize=2)
def _epoch(stream: PairStream, epoch: int) -> np.ndarray:
    """Rows of each batch of an epoch, int64 [batches, batch size]; incomplete batches left out."""
    rng = np.random.default_rng(np.random.SeedSequence([stream.seed, epoch], spawn_key=(EPOCH,)))
    problems, size = stream.problems, stream.batch_size
    order = rng.permutation(len(problems))[: len(problems) // size * size]
    lengths = problems.target_lengths[order], problems.source_lengths[order]
    pool = np.arange(len(order)) // (POOL * size)
    batches = order[np.lexsort((*lengths, pool))].reshape(-1, size)
    return rng.permutation(batches)
