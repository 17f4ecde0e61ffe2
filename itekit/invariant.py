"""The symbol-invariant transformer: renaming the problem renames the answer, exactly.

Işık and Li 2026, "Names Don't Matter: Symbol-Invariant Transformer for Open-Vocabulary Learning"
(arXiv 2601.23169); a symbol there is an interchangeable token here. A problem is read once for each
of its symbols, in parallel *streams* that share all weights. In the stream of a symbol that symbol
has the embedding *actual*, and every other symbol has the embedding *placeholder*: no stream knows
a name. A layer is that of `itekit.model`, and after self-attention within the stream it has
*aggregated attention*: every stream looks at the mean of all streams, in which a symbol's own
stream stands at the places of that symbol. The mean of the streams scores the fixed tokens, the
stream of a symbol scores that symbol; a symbol that the problem does not hold gets minus infinity.
Two choices are ours: aggregated attention has a residual connection and a norm of its own, and the
mean that scores is one of features, before they are normalised.

U is [V + 1, D]: the row *actual* stands for every symbol, the last row is *placeholder*. So the
vocabulary has no limit, and a problem with m symbols costs what m problems cost the other model.

Shape letters as in `itekit.model`; M streams of all problems of a batch, [B, ...] of the problems
(in decoding, of their beams), n fixed tokens, special ones included.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from itekit.fast import Dropout, add_dropped, drop
from itekit.model import (
    Cache,
    CrossAttention,
    Encoded,
    Layer,
    ModelConfig,
    Norm,
    Transformer,
    padding_bias,
    tree_encoding,
)
from itekit.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class Streams:
    """The streams of a batch, those of a problem in the order in which it names its symbols.

    A problem without symbols has one stream, in which nothing is actual.

    Attributes:
        owner, symbol: int64 [M], the problem and the symbol of each stream.
        problems, fixed: B and n.
    """

    owner: Tensor
    symbol: Tensor
    problems: int
    fixed: int

    @classmethod
    def of(cls, source: Tensor, fixed: int) -> "Streams":
        """The streams of source [B, S]; waits for the number of symbols."""
        before = (source[:, :, None] == source[:, None]).tril(-1).any(2)
        first = (source >= fixed) & ~before
        first[:, 0] |= ~first.any(1)
        owner, place = first.nonzero().unbind(1)
        return cls(owner, source[owner, place], len(source), fixed)

    def read(self, tokens: Tensor, placeholder: int) -> Tensor:
        """Tokens [B, L] as each stream reads them: [M, L]."""
        rows = tokens[self.owner]
        other = (rows >= self.fixed) & (rows != self.symbol[:, None])
        return rows.masked_fill(other, placeholder)

    def shares(self, tokens: Tensor) -> Tensor:
        """The weights [M, L] of the streams in their mean, with symbols' own streams put back."""
        rows = tokens[self.owner]
        own = (rows == self.symbol[:, None]).float()
        return torch.where(rows < self.fixed, self.equal_shares, own)

    @property
    def equal_shares(self) -> Tensor:
        """One over the number of streams of the problem: [M, 1]."""
        counts = torch.zeros(self.problems, device=self.owner.device)
        counts.index_add_(0, self.owner, torch.ones_like(self.owner, dtype=counts.dtype))
        return (1 / counts)[self.owner, None]

    def mean(self, x: Tensor, shares: Tensor) -> Tensor:
        """The weighted mean of each problem's streams: x [M, L, D] -> [B, L, D]."""
        total = x.new_zeros(self.problems, *x.shape[1:])
        return total.index_add(0, self.owner, x * shares[..., None].to(x.dtype))

    def beams(self, count: int) -> "Streams":
        """The same with `count` beams for each problem, those of a stream one after another."""
        if count == 1:
            return self
        owner = self.owner[:, None] * count + torch.arange(count, device=self.owner.device)
        symbol = self.symbol.repeat_interleave(count)
        return Streams(owner.flatten(), symbol, self.problems * count, self.fixed)

    def select(self, rows: Tensor, problems: Tensor | None) -> tuple["Streams", Tensor, Tensor]:
        """Go on with some problems, or with all, and in beam i with what was kept of rows[i].

        Returns:
            the streams that stay; the row of each of their beams among the beams of all streams
            before; the streams' numbers before.
        """
        device = self.owner.device
        kept = torch.arange(self.problems, device=device) if problems is None else problems
        place = torch.full((self.problems,), -1, device=device)
        place[kept] = torch.arange(len(kept), device=device)
        numbers = (place[self.owner] >= 0).nonzero()[:, 0]
        owner = place[self.owner[numbers]]
        beams = len(rows) // len(kept)
        beam = rows.unflatten(0, (-1, beams)) - kept[:, None] * beams
        chosen = numbers[:, None] * beams + beam[owner]
        some = Streams(owner, self.symbol[numbers], len(kept), self.fixed)
        return some, chosen.flatten(), numbers


class StreamLayer(Layer):
    """A layer of every stream, with aggregated attention after self-attention where asked for."""

    def __init__(self, config: ModelConfig, decoder: bool):
        super().__init__(config, decoder)
        self.aggregated = self.norm_aggregated = None
        if config.aggregation == "both" or not decoder:
            rope_base = self.attention.rope_base
            self.aggregated = CrossAttention(config.d_model, config.heads, rope_base)
            self.norm_aggregated = Norm(config.d_model)

    def forward(self, x, layout, bias, dropout=None, source=(), kept=None, mixed=None) -> Tensor:
        """As `Layer`; mixed: the streams, their shares [M, L], and the problems' layout.

        kept: of self-attention, then of aggregated attention, [4, rows, H, room, d].
        """
        own, shared = (None, None) if kept is None else (kept[:2], kept[2:])
        own = self.attention(x, layout, bias, own)
        x = self.norm_attention(add_dropped(x, own, dropout))
        if self.aggregated:
            streams, shares, outer = mixed
            mean = outer.pack(streams.mean(layout.unpack(x), shares))
            pair = self.aggregated.split(self.aggregated.key_value(mean), outer, "kv")
            key, value = (part.index_select(0, streams.owner) for part in pair)
            pair = layout.remember(key, value, shared, bias.shape[-1])
            seen = self.aggregated(x, layout, pair, bias)
            x = self.norm_aggregated(add_dropped(x, seen, dropout))
        if self.cross:
            x = self.norm_cross(add_dropped(x, self.cross(x, layout, *source), dropout))
        return self.norm_feed_forward(add_dropped(x, self.feed_forward(x), dropout))


class SymbolInvariantTransformer(Transformer):
    """A `Transformer` of streams: the same calls, with U [V + 1, D] of `InvariantEmbedding`.

    Args:
        fixed: n; tokens from n on are symbols.
    """

    Layer = StreamLayer

    def __init__(self, config: ModelConfig, operands=(), fixed: int = 3):
        super().__init__(config, operands)
        self.fixed, self.cached = fixed, 4 if config.aggregation == "both" else 2

    def keep_apart(self) -> None:
        """Let aggregated attention change nothing, or nearly, until training has taught it."""
        for layer in (*self.encoder, *self.decoder):
            if layer.aggregated:
                torch.nn.init.zeros_(layer.aggregated.output.weight)
                torch.nn.init.zeros_(layer.aggregated.output.bias)
                layer.norm_aggregated.load_state_dict(layer.norm_attention.state_dict())

    def encode(self, U: Tensor, source: Tensor, dropout: Dropout | None = None, positions=None):
        valid = source != Vocabulary.pad_id
        streams, outer = Streams.of(source, self.fixed), self.layout(valid, positions)
        layout = outer.rows(streams.owner)
        bias = padding_bias(valid, layout.keys)[streams.owner]
        x = self.look_up(U, streams.read(source, len(U) - 1), layout)
        if self.config.tree_positions:
            paths = [layout.pack(path[streams.owner]) for path in self.tree_paths(source)]
            x = x + tree_encoding(torch.stack(paths), self.config.d_model)
        x, mixed = drop(x, dropout), (streams, streams.shares(source), outer)
        for layer in self.encoder:
            x = layer(x, layout, bias, dropout, mixed=mixed)
        return Encoded(x, layout, bias, streams)

    def decode(self, U, inputs, layout, source, dropout=None) -> Tensor:
        """Features of all streams (of their beams), [tokens, D]."""
        streams = _beams(source, inputs)
        mixed, rows = (streams, streams.shares(inputs), layout), layout.rows(streams.owner)
        tokens = streams.read(inputs, len(U) - 1)
        return super().decode(U, tokens, rows, source, dropout, mixed=mixed)

    def predict(self, U, inputs, layout, source, dropout=None) -> Tensor:
        streams, features = _beams(source, inputs), self.decode(U, inputs, layout, source, dropout)
        x, n = layout.rows(streams.owner).unpack(features), self.fixed
        logits = x.new_full((*inputs.shape, len(U) - 1), -torch.inf)
        logits[streams.owner, :, streams.symbol] = super().project(U[: n + 1], x)[..., n]
        mean = streams.mean(x, streams.equal_shares.expand(-1, x.shape[1]))
        logits[..., :n] = super().project(U[:n], mean)
        return layout.pack(logits)


def _beams(source: Encoded | Cache, inputs: Tensor) -> Streams:
    return source.streams.beams(len(inputs) // source.streams.problems)
