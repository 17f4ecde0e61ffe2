"""Batches of padded integer tensors (design: no per-sample Python at training time).

Shape letters: B batch, S source length, T target length (both with the end token).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from itekit.tasks.copying import CopyingData
from itekit.vocabulary import Vocabulary


@dataclass(frozen=True)
class Batch:
    """Token identifiers, padded with 0; each source and each target closes with the end token.

    Attributes:
        source: int64 [B, S].
        target: int64 [B, T].
        positions: int64 [max(S, T)], where the columns of both stand for RoPE; None: 0, 1, 2, ...
    """

    source: Tensor
    target: Tensor
    positions: Tensor | None = None

    def each(self, change: Callable[[Tensor], Tensor]) -> "Batch":
        """The same batch with both sides changed alike."""
        return replace(self, source=change(self.source), target=change(self.target))

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
        """The same batch with both lengths rounded up to a multiple: few shapes occur."""
        return self.each(lambda side: pad(side, (0, -side.shape[1] % multiple)))

    def to(self, device: torch.device, send: Callable = Tensor.to) -> "Batch":
        """The same batch on a device; `send` moves a tensor there."""
        moved = self.each(lambda side: send(side, device))
        if self.positions is None:
            return moved
        return replace(moved, positions=send(self.positions, device))

    def at_random_positions(self, among: int, generator: torch.Generator) -> "Batch":
        """The same batch at randomized positions (Ruoss et al. 2023).

        The columns of source and target stand, in order, at a random choice of the positions 0 to
        `among` - 1: offsets occur that are longer than any of its sequences.

        Raises:
            ValueError: there are fewer positions than columns.
        """
        columns = max(self.source.shape[1], self.target.shape[1])
        if columns > among:
            raise ValueError(f"a batch of length {columns} does not fit {among} positions")
        chosen = torch.randperm(among, generator=generator)[:columns]
        return replace(self, positions=chosen.sort().values)


def with_end(tokens: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Close each row with the end token and pad: int64 [N, L] -> [N, L + 1], or less if all short.

    Args:
        tokens: identifiers; what stands beyond a row's length does not matter.
        lengths: int64 [N], each 1 to L.

    Raises:
        ValueError: no rows, an empty one, or a length past L.
    """
    wrong = np.flatnonzero((lengths < 1) | (lengths > tokens.shape[1]))
    if not len(lengths) or len(wrong):
        found = f"row {wrong[0]} of length {lengths[wrong[0]]}" if len(wrong) else "no rows"
        raise ValueError(f"expected rows of length 1 to {tokens.shape[1]}, found {found}")
    closed = np.zeros((len(tokens), int(lengths.max()) + 1), dtype=np.int64)
    closed[:, :-1] = tokens[:, : closed.shape[1] - 1]
    positions = np.arange(closed.shape[1])
    closed[positions >= lengths[:, None]] = Vocabulary.pad_id
    closed[np.arange(len(tokens)), lengths] = Vocabulary.end_id
    return closed


def copying_batch(strings: np.ndarray, lengths: np.ndarray, vocabulary: Vocabulary) -> Batch:
    """Strings of character numbers [B, L] as a batch whose target is its source."""
    tokens = torch.from_numpy(with_end(strings + vocabulary.learned_count, lengths))
    return Batch(tokens, tokens)


@dataclass(frozen=True)
class CopyingStream:
    """An endless set of strings; batch t depends on the seed and t alone."""

    data: CopyingData
    vocabulary: Vocabulary
    batch_size: int
    seed: int

    def batch(self, step: int) -> Batch:
        """Batch `step`, counted from 0."""
        return self._batch(step, self.batch_size)

    def held_out(self, batches: int, size: int) -> list[Batch]:
        """The same batches at each call, drawn independently of those to train on."""
        return [self._batch(step, size, 1) for step in range(batches)]

    def _batch(self, step: int, size: int, *spawn_key: int) -> Batch:
        rng = np.random.default_rng(np.random.SeedSequence([self.seed, step], spawn_key=spawn_key))
        return copying_batch(*self.data.strings(size, rng), self.vocabulary)

    def to(self, device: torch.device) -> "CopyingStream":
        """Strings are drawn on the CPU: the stream itself."""
        return self
