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
How many streams there are decides the shapes. So they are told apart where the batch is made, on
the CPU, and a GPU does not wait for their number (`Network.logits`).

Shape letters as in `itekit.model`; M streams of all problems of a batch, [B, ...] of the problems
(in decoding, of their beams), n fixed tokens, special ones included.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.functional import normalize

from itekit.embeddings import EMBEDDINGS, LearnedEmbedding, check_vocabulary, send
from itekit.model import (
    PAD,
    CrossAttention,
    Encoded,
    Layer,
    ModelConfig,
    Norm,
    Transformer,
    causal_bias,
    padding_bias,
)
from itekit.vocabulary import Vocabulary


class InvariantEmbedding(LearnedEmbedding):
    """A learned row for each non-interchangeable token, and two more for all others.

    Row *actual* stands for every interchangeable token, row *placeholder* for those that a stream
    is not about. ValueError for a vocabulary with several interchangeable classes.
    """

    extends = True

    def __init__(self, vocabulary: Vocabulary, d_model: int, f_fn: bool = True):
        if len(vocabulary.class_sizes) != 1:
            number = len(vocabulary.class_sizes)
            raise ValueError(f"streams are for one class of interchangeable tokens, found {number}")
        super().__init__(Vocabulary(vocabulary.fixed, (("actual", "placeholder"),)), d_model, f_fn)

    def matrix(self, vocabulary: Vocabulary, generator: torch.Generator | None = None) -> Tensor:
        """U, [V + 1, D], the last row for placeholders; any number of interchangeable tokens."""
        check_vocabulary(vocabulary, self.vocabulary)
        fixed, actual, placeholder = self.learned.split([len(self.learned) - 2, 1, 1])
        U = torch.cat([fixed, actual.expand(sum(vocabulary.class_sizes), -1), placeholder])
        return normalize(U, dim=-1) if self.f_fn else U


@dataclass(frozen=True, eq=False)
class Streams:
    """The streams of a batch, those of a problem in the order in which it names its symbols.

    A problem without symbols has one stream of placeholders.

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
        """The streams of source [B, S], on its device; on a GPU this waits for their number."""
        before = (source[:, :, None] == source[:, None]).tril(-1).any(2)
        first = (source >= fixed) & ~before
        first[:, 0] |= ~first.any(1)
        owner, place = first.nonzero().unbind(1)
        return cls(owner, source[owner, place], len(source), fixed)

    def to(self, device: torch.device) -> "Streams":
        """The same streams on a device, without waiting."""
        return replace(self, owner=send(self.owner, device), symbol=send(self.symbol, device))

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


@dataclass(frozen=True)
class EncodedStreams(Encoded):
    """As `Encoded`, of all streams instead of all problems: [M, ...]."""

    streams: Streams | None = None

    def select(self, rows: Tensor, sources: Tensor | None) -> tuple["EncodedStreams", Tensor]:
        """As `Encoded.select`; `rows` are beams of problems, those to keep are beams of streams.

        Waits for nothing where all problems go on.
        """
        streams = self.streams
        if sources is None:
            encoded = self
            numbers = torch.arange(len(streams.owner), device=rows.device)
        else:  # problems stay in their order, and so do streams
            numbers = torch.isin(streams.owner, sources).nonzero()[:, 0]
            owner = torch.searchsorted(sources, streams.owner[numbers])
            streams = Streams(owner, streams.symbol[numbers], len(sources), streams.fixed)
            rest, _ = super().select(rows, numbers)
            encoded = EncodedStreams(rest.memory, rest.cross, rest.bias, streams=streams)
        beams = rows.unflatten(0, (streams.problems, -1))  # [problems that stay, beams]
        beams = (beams % beams.shape[1])[streams.owner]
        return encoded, (numbers[:, None] * beams.shape[1] + beams).flatten()


class StreamLayer(Layer):
    """A layer of every stream, with aggregated attention after self-attention where asked for."""

    def __init__(self, config: ModelConfig, decoder: bool):
        super().__init__(config, decoder)
        self.aggregated = self.norm_aggregated = None
        if config.aggregation == "both" or not decoder:
            self.aggregated = CrossAttention(config.d_model, config.heads)
            self.norm_aggregated = Norm(config.d_model)

    def forward(self, x, rotation, bias, mixed, source=(), past=None) -> Tensor:
        """As `Layer`, x [M, L, D]; mixed: the streams, and their shares [M, L]."""
        x = self.norm_attention(x + self.dropout(self.attention(x, rotation, bias, past)))
        if self.aggregated:
            streams, shares = mixed
            pair = self.aggregated.keys_values(streams.mean(x, shares), rotation)
            key, value = (part[streams.owner] for part in pair)
            if past is not None:
                key, value = past.join(self.aggregated, key, value)
            seen = self.aggregated(x, rotation, (key, value), bias)
            x = self.norm_aggregated(x + self.dropout(seen))
        if self.cross:
            x = self.norm_cross(x + self.dropout(self.cross(x, rotation, *source)))
        return self.norm_feed_forward(x + self.dropout(self.feed_forward(x)))


class SymbolInvariantTransformer(Transformer):
    """A `Transformer` of streams: the same calls, with U [V + 1, D] of `InvariantEmbedding`.

    Args:
        operands: one for each token that is not interchangeable, so that their number is n.
    """

    Layer = StreamLayer

    def __init__(self, config: ModelConfig, operands, f_fn: bool = True):
        super().__init__(config, operands, f_fn)
        self.fixed = len(operands)

    def shapes(self, source: Tensor) -> tuple[Streams]:
        """The streams, whose number decides the shapes."""
        return (self.streams(source),)

    def init_as_identity(self) -> None:
        """Aggregated attention starts as nearly the identity."""
        for layer in (*self.encoder, *self.decoder):
            if layer.aggregated:
                torch.nn.init.zeros_(layer.aggregated.output.weight)
                torch.nn.init.zeros_(layer.aggregated.output.bias)
                layer.norm_aggregated.load_state_dict(layer.norm_attention.state_dict())

    def streams(self, source: Tensor) -> Streams:
        """The streams of source [B, S]; see `Streams.of`."""
        return Streams.of(source, self.fixed)

    def encode(self, U: Tensor, source: Tensor, positions=None, streams=None) -> EncodedStreams:
        """As `Transformer.encode`; without the `Streams` of the source, it waits for them."""
        streams = streams or self.streams(source)
        bias = padding_bias(source != PAD)[streams.owner]
        rotation = self.rotation(source, positions)
        x = self.embed(U, streams.read(source, len(U) - 1))
        x, own = self.add_positions(x, source[streams.owner], rotation)
        x, mixed = self.dropout(x), (streams, streams.shares(source))  # x: [M, S, D]
        for layer in self.encoder:
            x = layer(x, own, bias, mixed)
        cross = [layer.cross.keys_values(x, rotation) for layer in self.decoder]
        return EncodedStreams(x, cross, bias, positions, streams)

    def decode(self, U: Tensor, inputs: Tensor, encoded: EncodedStreams, past=None) -> Tensor:
        """Features of all streams (of their beams): [M × beams, T, D]."""
        streams = _beams(encoded, inputs)
        before = past.length if past else 0
        bias = causal_bias(inputs.shape[1], U.device, before)
        rotation = self.rotation(inputs, encoded.positions, before)
        x = streams.read(inputs, len(U) - 1)
        mixed = (streams, streams.shares(inputs))
        x = self.dropout(self.embed(U, x))
        for layer, keys_values in zip(self.decoder, encoded.cross, strict=True):
            x = layer(x, rotation, bias, mixed, (keys_values, encoded.bias), past)
        return x

    def predict(self, U: Tensor, inputs: Tensor, encoded: EncodedStreams, past=None) -> Tensor:
        """As `Transformer.predict`: the mean of the streams scores the fixed tokens."""
        streams = _beams(encoded, inputs)
        n = self.fixed
        x = self.decode(U, inputs, encoded, past)
        logits = x.new_full((*inputs.shape, len(U) - 1), -torch.inf)
        logits[streams.owner, :, streams.symbol] = self.project(U[: n + 1], x)[..., n]
        mean = streams.mean(x, streams.equal_shares.expand(-1, x.shape[1]))
        logits[..., :n] = self.project(U[:n], mean)
        return logits

    def forward(self, U: Tensor, source: Tensor, inputs: Tensor, positions=None, streams=None):
        """As `Transformer.forward`; `streams` as for `encode`."""
        return self.predict(U, inputs, self.encode(U, source, positions, streams))


def _beams(encoded: EncodedStreams, inputs: Tensor) -> Streams:
    return encoded.streams.beams(len(inputs) // encoded.streams.problems)


InvariantEmbedding.transformer = SymbolInvariantTransformer
EMBEDDINGS["invariant"] = InvariantEmbedding
