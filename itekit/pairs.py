"""Solved problems in memory: packed once into padded arrays, read in batches of similar length.

Nothing here runs once for each problem while training: a batch is one indexing operation. Batch t
depends on the seed and t alone: the problems of an epoch are shuffled, cut into pools of some
batches, and ordered by length within each pool, so that little of a batch is padding; the batches
then come in random order.

Shape letters: N problems, S source length, T target length (both with the end token).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from itekit.alpha import canonical_renaming
from itekit.data import Batch, with_end
from itekit.vocabulary import UnknownTokenError, Vocabulary

POOL = 20  # batches that are ordered by length together
Pair = tuple[str, str]


def encode_texts(texts: Sequence[str], vocabulary: Vocabulary) -> tuple[np.ndarray, np.ndarray]:
    """Identifiers of texts of one character a token: uint16 [N, longest] and lengths int64 [N].

    Raises:
        UnknownTokenError: names the text and the token.
        ValueError: no texts, or an empty one.
    """
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    if not len(lengths) or not lengths.all():
        found = f"text {lengths.argmin()} is empty" if len(lengths) else "there are none"
        raise ValueError(f"expected texts of one token or more: {found}")
    points = np.frombuffer("".join(texts).encode("utf-32-le"), dtype=np.uint32)
    table = np.zeros(max(points.max(), 127) + 1, dtype=np.uint16)
    for identifier, token in enumerate(vocabulary.tokens):
        if len(token) == 1 and ord(token) < len(table):
            table[ord(token)] = identifier
    flat = table[points]
    if not flat.all():
        place = np.searchsorted(lengths.cumsum(), flat.argmin(), side="right")
        try:
            vocabulary.encode(texts[place])
        except UnknownTokenError as error:
            raise UnknownTokenError(f"text {place}, {texts[place]!r}: {error}") from None
    tokens = np.zeros((len(texts), lengths.max()), dtype=np.uint16)
    tokens[np.arange(lengths.max()) < lengths[:, None]] = flat
    return tokens, lengths


def canonical_pair(pair: Pair, vocabulary: Vocabulary) -> Pair:
    """A problem renamed by first appearance in its formula, its label with it."""
    names = vocabulary.interchangeable[0]
    return canonical_renaming(pair[0] + pair[1], names, names).apply_pair(*pair)


def by_appearance(pair: Pair) -> Pair:
    """A propositional problem, its label's literals in the order of the formula (ours).

    A proposition that the formula names first comes first. So the label of a renamed problem is the
    renamed label, letter by letter, which it is not where literals are sorted by name.

    Raises:
        ValueError: the label names a proposition that the formula lacks.
    """
    formula, label = pair
    literals = [label[i : i + 2] for i in range(0, len(label), 2)]
    return formula, "".join(sorted(literals, key=lambda literal: formula.index(literal[0])))


@dataclass(frozen=True, eq=False)
class Problems:
    """Problems and their labels as arrays, each row closed with the end token.

    Attributes:
        sources, targets: uint8 or int64 [N, S] and [N, T], padded with 0.
        source_lengths, target_lengths: int64 [N], on the CPU.
    """

    sources: Tensor
    targets: Tensor
    source_lengths: np.ndarray
    target_lengths: np.ndarray

    @classmethod
    def of(cls, pairs: Sequence[Pair], vocabulary: Vocabulary):
        """Pack (formula, label) pairs.

        Raises:
            UnknownTokenError: a token, for instance an atomic proposition, that the vocabulary
                lacks; the message names the pair's formula or label.
        """
        columns = []
        for kind, texts in zip(("formulas", "labels"), zip(*pairs, strict=True), strict=True):
            try:
                tokens, lengths = encode_texts(texts, vocabulary)
            except ValueError as error:
                raise type(error)(f"{kind}: {error}") from None
            closed = with_end(tokens, lengths)
            narrow = np.uint8 if len(vocabulary) <= 256 else np.int64
            columns.append((torch.from_numpy(closed.astype(narrow)), lengths + 1))
        (sources, source_lengths), (targets, target_lengths) = columns
        return cls(sources, targets, source_lengths, target_lengths)

    def __len__(self) -> int:
        return len(self.sources)

    def batch(self, rows: np.ndarray) -> Batch:
        """The problems of some rows, cut to the longest of them."""
        index = torch.from_numpy(rows)
        if self.sources.is_cuda:  # from pinned memory, so that the copy waits for nothing
            index = index.pin_memory().to(self.sources.device, non_blocking=True)
        S, T = self.source_lengths[rows].max(), self.target_lengths[rows].max()
        return Batch(self.sources[index, :S].long(), self.targets[index, :T].long())

    def to(self, device: torch.device) -> "Problems":
        """The same problems on a device."""
        return Problems(
            self.sources.to(device),
            self.targets.to(device),
            self.source_lengths,
            self.target_lengths,
        )


@dataclass(frozen=True)
class PairStream:
    """Batches to train on, epoch after epoch; batch t depends on the seed and t alone.

    Raises:
        ValueError: fewer problems than a batch takes.
    """

    problems: Problems
    validation: Problems
    batch_size: int
    seed: int

    def __post_init__(self):
        if len(self.problems) < self.batch_size:
            raise ValueError(
                f"{len(self.problems)} problems do not fill a batch of {self.batch_size}"
            )

    def batch(self, step: int) -> Batch:
        """Batch `step`, counted from 0."""
        epoch, place = divmod(step, len(self.problems) // self.batch_size)
        return self.problems.batch(_epoch(self, epoch)[place])

    def held_out(self, batches: int, size: int) -> list[Batch]:
        """The same problems at each call, none of them ever trained on."""
        rows = np.arange(min(batches * size, len(self.validation)))
        parts = np.array_split(rows, min(batches, len(rows)))
        return [self.validation.batch(part) for part in parts]

    def to(self, device: torch.device) -> "PairStream":
        """The same stream with its problems on a device."""
        return PairStream(
            self.problems.to(device), self.validation.to(device), self.batch_size, self.seed
        )


@lru_cache(maxsize=2)
def _epoch(stream: PairStream, epoch: int) -> np.ndarray:
    """Rows of each batch of an epoch, int64 [batches, batch size]; incomplete batches left out."""
    rng = np.random.default_rng(np.random.SeedSequence([stream.seed, epoch], spawn_key=(2,)))
    problems, size = stream.problems, stream.batch_size
    order = rng.permutation(len(problems))[: len(problems) // size * size]
    lengths = problems.source_lengths[order], problems.target_lengths[order]
    pool = np.arange(len(order)) // (POOL * size)
    batches = order[np.lexsort((lengths[1], lengths[0], pool))].reshape(-1, size)
    return rng.permutation(batches)
