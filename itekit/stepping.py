"""One decoding step at a time, with a key/value cache or (the reference) without.

All classes answer the same calls, so that the searches in `decoding` run on either.

Shape letters: B rows decoded in parallel, S source length, T length limit, D model, H heads,
V vocabulary.
"""

import torch
from torch import Tensor
from torch.nn.functional import pad

from itekit.layers import Encoded
from itekit.layout import STEP_KEYS, Layout, causal_bias, padded
from itekit.model import Transformer

ROOM = 64  # positions that a cache has room for at first


class Cached:
    """Keys and values of self-attention are kept in a tensor [2, B, H, K, d] a layer, with room for
    `ROOM` positions at first and twice as many whenever it is full; those of cross-attention are
    computed once. What the first layer makes of a token before it attends does not depend on the
    position: it is computed once for the whole vocabulary.

    Args:
        model: in evaluation mode.
        U: [V, D]; source: int64 [B, S], padded with 0.
        limit: T, the largest number of steps.
    """

    def __init__(self, model: Transformer, U: Tensor, source: Tensor, limit: int, beams: int = 1):
        self.model, self.U, self.beams = model, U, beams
        self.embedded = model.embed(U, torch.arange(len(U), device=U.device))
        self.projected = model.decoder[0].attention.query_key_value(self.embedded)
        rows, heads = len(source), model.config.heads
        d_head = model.config.d_model // heads
        keys = padded(source.shape[1], U.device)
        self.bias = U.new_empty(rows, heads, 1, keys)
        self.source = [U.new_empty(2, rows, heads, keys, d_head) for _ in model.decoder]
        at_once = _rows_at_once(source)
        for part in (slice(start, start + at_once) for start in range(0, rows, at_once)):
            self._encode(part, source)
        length = padded(max(limit, STEP_KEYS), U.device)
        self.own_bias = causal_bias(length, U.device)
        room = min(length, ROOM)
        self.own = [U.new_zeros(2, beams * rows, heads, room, d_head) for _ in model.decoder]

    def _encode(self, part: slice, source: Tensor) -> None:
        """Fill in the mask, and each layer's cross-attention keys and values, of some rows."""
        encoded = self.model.encode(self.U, source[part])
        self.bias[part] = encoded.bias
        for layer, kept in zip(self.model.decoder, self.source, strict=True):
            keys, values = _keys_values(kept[:, part])
            keys[:], values[:] = layer.cross.keys_values(encoded.memory, encoded.layout)

    def step(self, tokens: Tensor, position: int) -> Tensor:
        """Logits [B, V] after `tokens` [B] at `position`."""
        x, projected = (table.index_select(0, tokens) for table in (self.embedded, self.projected))
        K = padded(max(position + 1, STEP_KEYS), x.device)
        if self.own[0].shape[3] < K:
            self.own = [pad(kept, (0, 0, 0, kept.shape[3])) for kept in self.own]
        bias = self.own_bias[position, :K]
        for layer, own, source in zip(self.model.decoder, self.own, self.source, strict=True):
            source = _keys_values(source), self.bias
            x = layer.step(x, projected, (own, bias), source, position)
            projected = None  # of later layers not known before
        return self.model.project(self.U, x)

    def select(self, rows: Tensor) -> None:
        """Keep, repeat or reorder rows of the batch: int64 [any number]."""
        sources = rows[:: self.beams] // self.beams
        self.own = [kept.index_select(1, rows) for kept in self.own]
        self.source = [kept.index_select(1, sources) for kept in self.source]
        self.bias = self.bias[sources]

    def select_prefix(self, rows: Tensor) -> None:
        """Reorder among rows of the same source: only what depends on the prefix moves.

        Most rows mostly stay where they are, so only the others are copied.
        """
        moved = (rows != torch.arange(len(rows), device=rows.device)).nonzero()[:, 0]
        for kept in self.own:
            kept.index_copy_(1, moved, kept.index_select(1, rows[moved]))


def _keys_values(kept: Tensor) -> tuple[Tensor, Tensor]:
    """Keys and values [B, H, K, d] of the source in memory [2, B, H, K, d].

    On a CPU keys lie transposed in memory: read a fifth faster.
    """
    keys, values = kept
    if keys.device.type == "cpu":
        keys = keys.view(*keys.shape[:2], keys.shape[3], keys.shape[2]).mT
    return keys, values


def _rows_at_once(source: Tensor) -> int:
    """Sources to encode together: on a CPU so few that their activations stay in its cache."""
    return max(1, 4096 // source.shape[1]) if source.device.type == "cpu" else len(source)


class Averaged:
    """The mean of the logits under several embedding matrices U, [any number, V, D]."""

    def __init__(self, model: Transformer, U: Tensor, source: Tensor, limit: int, beams: int = 1):
        self.members = [Cached(model, matrix, source, limit, beams) for matrix in U]

    def step(self, tokens: Tensor, position: int) -> Tensor:
        """Logits [B, V] after `tokens` [B] at `position`."""
        return torch.stack([member.step(tokens, position) for member in self.members]).mean(0)

    def select(self, rows: Tensor) -> None:
        """Keep, repeat or reorder rows of the batch: int64 [any number]."""
        for member in self.members:
            member.select(rows)

    def select_prefix(self, rows: Tensor) -> None:
        """Reorder among rows of the same source."""
        for member in self.members:
            member.select_prefix(rows)


class Uncached:
    """Recomputes the whole prefix at each step: the reference for tests and benchmarks."""

    def __init__(self, model: Transformer, U: Tensor, source: Tensor, limit: int, beams: int = 1):
        self.model, self.U = model, U
        encoded = model.encode(U, source)
        self.memory = encoded.layout.unpack(encoded.memory).repeat_interleave(beams, dim=0)
        self.bias = encoded.bias.repeat_interleave(beams, dim=0)
        self.prefix = source.new_zeros(beams * len(source), 0)

    def step(self, tokens: Tensor, position: int) -> Tensor:
        """Logits [B, V] after `tokens` [B] at `position`."""
        self.prefix = torch.cat([self.prefix, tokens[:, None]], dim=1)
        layout = Layout(*self.prefix.shape)
        encoded = Encoded(self.memory.flatten(0, 1), Layout(*self.memory.shape[:2]), self.bias)
        features = self.model.decode(self.U, self.prefix, layout, encoded)
        return self.model.project(self.U, layout.unpack(features)[:, -1])

    def select(self, rows: Tensor) -> None:
        """Keep, repeat or reorder rows of the batch: int64 [any number]."""
        self.select_prefix(rows)
        self.memory, self.bias = self.memory[rows], self.bias[rows]

    def select_prefix(self, rows: Tensor) -> None:
        """Reorder among rows of the same source."""
        self.prefix = self.prefix[rows]
