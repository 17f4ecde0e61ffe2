"""Batches of padded integer tensors; the streams of a task make their arrays (`tasks.streams`).

Shape letters: B batch, S source length, T target length (both with the end token).
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.functional import pad

from itekit.embeddings import send
from itekit.tasks.streams import Arrays
from itekit.vocabulary import Vocabulary


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

    @classmethod
    def of(cls, arrays: Arrays) -> "Batch":
        """The batch of a stream."""
        return cls(*map(torch.from_numpy, arrays))

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
