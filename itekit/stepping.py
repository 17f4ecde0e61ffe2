"""One decoding step at a time, with a key/value cache or (the reference) without.

Both classes answer the same two calls, so that the searches in `decoding` run on either.

Shape letters: B rows decoded in parallel, S source length, T length limit, D model, H heads,
V vocabulary.
"""

import torch
from torch import Tensor

from itekit.layout import STEP_KEYS, Layout, causal_bias, padded
from itekit.model import Encoded, Transformer


class Cached:
    """Keys and values of self-attention are kept in preallocated tensors [B, H, T, d] a layer;
    those of cross-attention are computed once.

    Args:
        model: in evaluation mode.
        U: [V, D]; source: int64 [B, S], padded with 0.
        limit: T, the largest number of steps.
    """

    def __init__(self, model: Transformer, U: Tensor, source: Tensor, limit: int, beams: int = 1):
        self.model, self.U, self.beams = model, U, beams
        parts = [encode_source(model, U, part) for part in source.split(_rows_at_once(source))]
        self.bias = torch.cat([bias for bias, _ in parts])
        self.source = [
            tuple(map(torch.cat, zip(*layer, strict=True)))
            for layer in zip(*(layers for _, layers in parts), strict=True)
        ]
        heads = model.config.heads
        length = padded(max(limit, STEP_KEYS), U.device)
        self.own_bias = causal_bias(length, U.device)
        shape = (beams * len(source), heads, length, U.shape[1] // heads)
        self.own = [(U.new_zeros(shape), U.new_zeros(shape)) for _ in model.decoder]

    def step(self, tokens: Tensor, position: int) -> Tensor:
        """Logits [B, V] after `tokens` [B] at `position`."""
        x = self.model.embed(self.U, tokens)
        K = padded(max(position + 1, STEP_KEYS), x.device)
        bias = self.own_bias[position, :K]
        for layer, own, source in zip(self.model.decoder, self.own, self.source, strict=True):
            x = layer.step(x, own, bias, source, self.bias, position)
        return self.model.project(self.U, x)

    def select(self, rows: Tensor) -> None:
        """Keep, repeat or reorder rows of the batch: int64 [any number]."""
        self.select_prefix(rows)
        sources = rows[:: self.beams] // self.beams
        self.source = [(k[sources], v[sources]) for k, v in self.source]
        self.bias = self.bias[sources]

    def select_prefix(self, rows: Tensor) -> None:
        """Reorder among rows of the same source: only what depends on the prefix moves."""
        self.own = [(k.index_select(0, rows), v.index_select(0, rows)) for k, v in self.own]


def encode_source(model: Transformer, U: Tensor, source: Tensor) -> tuple[Tensor, list]:
    """The mask [B, 1, 1, K] of source [B, S], and each layer's cross-attention keys and values."""
    encoded = model.encode(U, source)
    cross = [layer.cross.keys_values(encoded.memory, encoded.layout) for layer in model.decoder]
    return encoded.bias, cross


def _rows_at_once(source: Tensor) -> int:
    """Sources to encode together: on a CPU so few that their activations stay in its cache."""
    return max(1, 2048 // source.shape[1]) if source.device.type == "cpu" else len(source)


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
