"""Batches of padded integer tensors, and the streams of them that a training reads.

Batch t of a stream depends on the seed and t alone. Strings to copy are drawn when they are asked
for. Problems are packed once into padded arrays. In each epoch they are shuffled, cut into pools of
some batches, and ordered within each pool by the length of the source, then of the target, so that
little of a batch is padding; the batches then come in random order. (Batches of one target length
each have less padding, but LTL learns more slowly from them.)

Shape letters: B batch, N problems, S source length, T target length (both with the end token).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from itekit.alpha import canonical_renaming
from itekit.datasets.sets import read_set
from itekit.embeddings import send
from itekit.experiments import CopyingExperiment, Experiment
from itekit.tasks.copying import CopyingData
from itekit.vocabulary import UnknownTokenError, Vocabulary

POOL = 20  # batches that are ordered by length together
HELD_OUT, EPOCH = 1, 2  # purposes of random numbers
Pair = tuple[str, str]


@dataclass(frozen=True)
class Batch:
    """Token identifiers, padded with 0; each source and each target closes with the end token.

    Attributes:
        source, target: int64 [B, S] and [B, T].
        positions: int64 [max(S, T)], where the columns of both stand for RoPE; None: 0, 1, 2, ...
    """

    source: Tensor
    target: Tensor
    positions: Tensor | None = None

    @property
    def inputs(self) -> Tensor:
        """Decoder inputs [B, T]: the start token, then the target without its last position."""
        start = torch.full_like(self.target[:, :1], Vocabulary.start_id)
        return torch.cat([start, self.target[:, :-1]], dim=1)

    @property
    def tokens(self) -> int:
        """Positions of source and target, padding included: what a step works on."""
        return self.source.numel() + self.target.numel()

    def padded(self, multiple: int) -> "Batch":
        """Both lengths rounded up to a multiple: a compiler compiles once for each shape."""
        sides = self.source, self.target, self.positions
        return Batch(*(x if x is None else pad(x, (0, -x.shape[-1] % multiple)) for x in sides))

    def parts(self, positions: int) -> "list[Batch]":
        """The same sequences in parts of equal size, those of like lengths together.

        A part has about so many positions at most, so that what is computed of it fits a cache, and
        is cut to its longest source and target.
        """
        count = -(-self.tokens // positions)
        if count == 1:
            return [self]
        S, T = ((side != Vocabulary.pad_id).sum(1) for side in (self.source, self.target))
        parts = []
        for rows in (T * (S.max() + 1) + S).argsort().tensor_split(min(count, len(S))):
            s, t = int(S[rows].max()), int(T[rows].max())
            where = None if self.positions is None else self.positions[: max(s, t)]
            parts.append(Batch(self.source[rows, :s], self.target[rows, :t], where))
        return parts

    def to(self, device: torch.device | str) -> "Batch":
        """The same batch on a device; to a GPU without waiting for what it still has to do."""
        sides = send(self.source, device), send(self.target, device)
        return Batch(*sides, None if self.positions is None else send(self.positions, device))

    def at_random_positions(self, among: int, generator: torch.Generator) -> "Batch":
        """The same batch at randomized positions (Ruoss et al. 2023).

        The columns of source and target stand, in order, at a random choice of the positions 0 to
        `among` - 1: offsets occur that are longer than any of its sequences. ValueError: there are
        fewer positions than columns.
        """
        columns = max(self.source.shape[1], self.target.shape[1])
        if columns > among:
            raise ValueError(f"a batch of length {columns} does not fit {among} positions")
        chosen = torch.randperm(among, generator=generator)[:columns]
        return replace(self, positions=chosen.sort().values)


def copying_batch(strings: np.ndarray, lengths: np.ndarray, vocabulary: Vocabulary) -> Batch:
    """Strings of character numbers [B, L], of some lengths [B], as a batch to be copied.

    What stands in a string beyond its length does not matter.
    """
    columns = np.arange(lengths.max() + 1)
    tokens = vocabulary.learned_count + np.pad(strings, ((0, 0), (0, 1)))[:, : len(columns)]
    tokens[columns > lengths[:, None]] = Vocabulary.pad_id
    tokens[columns == lengths[:, None]] = Vocabulary.end_id
    tokens = torch.from_numpy(tokens)
    return Batch(tokens, tokens)


@dataclass(frozen=True)
class CopyingStream:
    """An endless set of strings."""

    data: CopyingData
    vocabulary: Vocabulary
    batch_size: int
    seed: int

    def batch(self, step: int) -> Batch:
        """Batch `step`, counted from 0."""
        return self._batch(step, self.batch_size)

    def held_out(self, batches: int, size: int) -> list[Batch]:
        """The same batches at each call, drawn independently of those to train on."""
        return [self._batch(step, size, HELD_OUT) for step in range(batches)]

    def _batch(self, step: int, size: int, *spawn_key: int) -> Batch:
        rng = np.random.default_rng(np.random.SeedSequence([self.seed, step], spawn_key=spawn_key))
        return copying_batch(*self.data.strings(size, rng), self.vocabulary)


def encode_texts(texts: Sequence[str], vocabulary: Vocabulary) -> Tensor:
    """Identifiers of texts, a character a token, each with the end token: int64 [N, longest + 1].

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
    return torch.from_numpy(tokens)


def by_name(pair: Pair) -> Pair:
    """A propositional problem, its label's literals sorted by name.

    A literal is a name and 0 or 1, as in "a1b0". The label of a renamed problem need then not be
    the renamed label, letter by letter.
    """
    formula, label = pair
    return formula, "".join(sorted(label[i : i + 2] for i in range(0, len(label), 2)))


@dataclass(frozen=True, eq=False)
class Problems:
    """Problems and their labels as arrays, each row closed with the end token.

    Attributes:
        sources, targets: int16 [N, S] and [N, T], padded with 0.
        source_lengths, target_lengths: int64 [N].
    """

    sources: Tensor
    targets: Tensor
    source_lengths: np.ndarray
    target_lengths: np.ndarray

    @classmethod
    def of(cls, pairs: Sequence[Pair], vocabulary: Vocabulary):
        """Pack (formula, label) pairs; UnknownTokenError names the text and the token."""
        sides = [encode_texts(side, vocabulary).short() for side in zip(*pairs, strict=True)]
        return cls(*sides, *((side != Vocabulary.pad_id).sum(1).numpy() for side in sides))

    def __len__(self) -> int:
        return len(self.sources)

    def batch(self, rows: np.ndarray) -> Batch:
        """The problems of some rows, cut to the longest of them."""
        S, T = self.source_lengths[rows].max(), self.target_lengths[rows].max()
        index = torch.from_numpy(rows)
        return Batch(self.sources[index, :S].long(), self.targets[index, :T].long())


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

    def batch(self, step: int) -> Batch:
        """Batch `step`, counted from 0."""
        epoch, place = divmod(step, len(self.problems) // self.batch_size)
        return self.problems.batch(_epoch(self, epoch)[place])

    def held_out(self, batches: int, size: int) -> list[Batch]:
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


def problems(experiment: Experiment, pairs: Sequence[Pair], vocabulary: Vocabulary) -> Problems:
    """Problems as the experiment has them: renamed or reordered where it says so, and packed."""
    if experiment.task == "propositional" and experiment.label_order == "name":
        pairs = [by_name(pair) for pair in pairs]
    if experiment.canonical:
        names = vocabulary.interchangeable[0]
        pairs = [canonical_renaming([*p, *y], names, names).apply_pair(p, y) for p, y in pairs]
    return Problems.of(pairs, vocabulary)


def stream(experiment: Experiment):
    """The batches of an experiment: `batch(step)`, and `held_out`, the ones to validate with.

    An experiment of a task of your own has a method `sides`: pairs to train on, and to validate
    with; or one called `stream`, which gives the batches. files.MissingError: the set of a
    logic experiment is not there.
    """
    if hasattr(experiment, "stream"):
        return experiment.stream()
    size, seed, vocabulary = experiment.training.batch_size, experiment.seed, experiment.vocabulary
    if isinstance(experiment, CopyingExperiment):
        return CopyingStream(experiment.data, vocabulary, size, seed)
    if hasattr(experiment, "sides"):
        sides = experiment.sides()
    else:
        pairs = read_set(experiment.set, experiment.scale)
        sides = pairs["train"], pairs["validation"]
    packed = (problems(experiment, side, vocabulary) for side in sides)
    return PairStream(*packed, size, seed)
