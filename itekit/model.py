"""The encoder-decoder transformer (Vaswani et al. 2017; paper, section "Experiments").

Post-layer-norm, ReLU, no final norm. Positions are RoPE or, for formulas, tree positions in the
encoder and RoPE in the decoder (there in cross-attention too). The embedding matrix U is an
argument, not a part of the model: its rows, times √D, are the inputs of both sides, and the
features are projected on U (three-way weight tying; paper, section "Projection").

Tokens are packed outside attention: N counts those that are not padding (see `layout`).

Shape letters: B batch, S source length, T target length, N tokens, D model, H heads, V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, linear, normalize, relu

from itekit.attention import CrossAttention, SelfAttention
from itekit.dropout import Dropout, add_dropped, drop
from itekit.layout import Layout, causal_bias, padding_bias
from itekit.positions import MAX_TREE_DEPTH, tree_encoding, tree_paths
from itekit.vocabulary import PAD, SPECIAL, START

ROPE_BASE = 10_000.0  # as in the paper's models
_FORBIDDEN = [SPECIAL.index(PAD), SPECIAL.index(START)]


@dataclass(frozen=True)
class ModelConfig:
    """Sizes of the transformer; the defaults are the paper's for copying (Table "Hyperparameter").

    Attributes:
        d_model: D; a multiple of 2 × heads.
        layers: encoder layers, and as many decoder layers.
        heads: attention heads.
        d_ff: width of the feed-forward layers.
        dropout: probability, after embedding, attention and feed-forward layers.
        normalize_features: f_fn on the feature vectors, so that logits are cosines.
        rope_base: the base of RoPE's frequencies.
        tree_positions: tree positions in the encoder, instead of RoPE.
    """

    d_model: int = 64
    layers: int = 2
    heads: int = 4
    d_ff: int = 64
    dropout: float = 0.1
    normalize_features: bool = True
    rope_base: float = ROPE_BASE
    tree_positions: bool = False

    def __post_init__(self):
        for name in ("d_model", "layers", "heads", "d_ff"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be 1 or more, found {getattr(self, name)}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be in [0, 1), found {self.dropout}")
        if self.rope_base <= 1:
            raise ValueError(f"rope_base must be more than 1, found {self.rope_base}")


class FeedForward(nn.Module):
    """Two linear layers with a ReLU between."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.inner = nn.Linear(config.d_model, config.d_ff)
        self.outer = nn.Linear(config.d_ff, config.d_model)

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(relu(self.inner(x), inplace=True))


def _norm(config: ModelConfig) -> nn.LayerNorm:
    return nn.LayerNorm(config.d_model, eps=1e-6)


class EncoderLayer(nn.Module):
    """Self-attention and feed-forward, each followed by residual and layer norm."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        rope_base = None if config.tree_positions else config.rope_base
        self.attention = SelfAttention(config.d_model, config.heads, rope_base)
        self.feed_forward = FeedForward(config)
        self.norm_attention, self.norm_feed_forward = _norm(config), _norm(config)

    def forward(self, x: Tensor, layout: Layout, bias: Tensor, dropout: Dropout | None) -> Tensor:
        x = self.norm_attention(add_dropped(x, self.attention(x, layout, bias), dropout))
        return self.norm_feed_forward(add_dropped(x, self.feed_forward(x), dropout))


@dataclass(frozen=True)
class Encoded:
    """The encoded source: memory [N, D], its layout, and the additive mask [B, 1, 1, K]."""

    memory: Tensor
    layout: Layout
    bias: Tensor


class DecoderLayer(nn.Module):
    """Causal self-attention, cross-attention and feed-forward, each with residual and norm."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.attention = SelfAttention(config.d_model, config.heads, config.rope_base)
        self.cross = CrossAttention(config.d_model, config.heads, config.rope_base)
        self.feed_forward = FeedForward(config)
        self.norm_attention, self.norm_cross = _norm(config), _norm(config)
        self.norm_feed_forward = _norm(config)

    def forward(
        self, x: Tensor, layout: Layout, bias: Tensor, source: Encoded, dropout: Dropout | None
    ) -> Tensor:
        x = self.norm_attention(add_dropped(x, self.attention(x, layout, bias), dropout))
        keys_values = self.cross.keys_values(source.memory, source.layout)
        crossed = self.cross(x, layout, keys_values, source.bias)
        x = self.norm_cross(add_dropped(x, crossed, dropout))
        return self.norm_feed_forward(add_dropped(x, self.feed_forward(x), dropout))

    def step(
        self, x: Tensor, projected: Tensor | None, own: tuple, source: tuple, at: int
    ) -> Tensor:
        """One decoding step for x [B, D] at position `at`; see `SelfAttention.step`.

        `projected` are the projections of x for self-attention, if known; `own` and `source` are
        pairs of keys with values, and the bias.
        """
        if projected is None:
            projected = self.attention.query_key_value(x)
        x = self.norm_attention(x + self.attention.step(projected, *own, at))
        x = self.norm_cross(x + self.cross.step(x, *source, at))
        return self.norm_feed_forward(x + self.feed_forward(x))


class Transformer(nn.Module):
    """Encoder-decoder transformer that is given its embedding matrix.

    Token identifiers follow `vocabulary.SPECIAL`: 0 padding, 1 end, 2 start.

    Args:
        operands: for tree positions, how many operands each non-interchangeable token takes, in
            the order of the vocabulary; interchangeable tokens take none.

    Raises:
        ValueError: tree positions without `operands`.
    """

    def __init__(self, config: ModelConfig, operands: Sequence[int] = ()):
        super().__init__()
        if config.tree_positions and not operands:
            raise ValueError("tree positions need the number of operands of each token")
        self.config = config
        self.register_buffer("operands", torch.tensor([*operands, 0]), persistent=False)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.layers))

    def embed(self, U: Tensor, tokens: Tensor) -> Tensor:
        """Rows of U [V, D] for tokens [N], times √D: [N, D]."""
        return embedding(tokens, U * self.config.d_model**0.5)

    def look_up(self, U: Tensor, tokens: Tensor, layout: Layout) -> Tensor:
        """`embed` for the tokens of [B, L] that `layout` keeps; U may be [B, V, D]."""
        packed = layout.pack(tokens)
        if U.dim() == 3:
            packed = packed + layout.sequences(packed.device) * U.shape[1]
            U = U.flatten(0, 1)
        return self.embed(U, packed)

    def encode(self, U: Tensor, source: Tensor, dropout: Dropout | None = None) -> Encoded:
        """Encode source [B, S], padded with 0.

        Raises:
            ValueError: a formula is deeper than tree positions of width D hold: D / 2 branches.
        """
        valid = source != 0
        layout, bias = Layout.of(valid), padding_bias(valid)
        x = self.look_up(U, source, layout)
        if self.config.tree_positions:
            operands = self.operands[source.clamp(max=len(self.operands) - 1)]
            paths = tree_paths(operands, min(x.shape[1] // 2, MAX_TREE_DEPTH))
            x = x + tree_encoding(torch.stack([layout.pack(p) for p in paths]), x.shape[1])
        x = drop(x, dropout)
        for layer in self.encoder:
            x = layer(x, layout, bias, dropout)
        return Encoded(x, layout, bias)

    def decode(
        self,
        U: Tensor,
        inputs: Tensor,
        layout: Layout,
        source: Encoded,
        dropout: Dropout | None = None,
    ) -> Tensor:
        """Features [N, D] for decoder inputs [B, T] (the start token, then the target)."""
        bias = causal_bias(inputs.shape[1], inputs.device)
        x = drop(self.look_up(U, inputs, layout), dropout)
        for layer in self.decoder:
            x = layer(x, layout, bias, source, dropout)
        return x

    def project(self, U: Tensor, features: Tensor) -> Tensor:
        """Logits [..., V] of features [..., D]: cosines when both are normalised.

        Padding and start have the logit minus infinity: no output holds them.
        """
        if self.config.normalize_features:
            features = normalize(features, dim=-1)
        bias = U.new_zeros(U.shape[-2])
        bias[_FORBIDDEN] = -torch.inf
        return linear(features, U, bias) if U.dim() == 2 else bias + features @ U.mT

    def forward(
        self,
        U: Tensor,
        source: Tensor,
        inputs: Tensor,
        layout: Layout,
        dropout: Dropout | None = None,
    ) -> Tensor:
        """Logits [N, V] for source [B, S] and the decoder inputs [B, T] that `layout` keeps.

        U is [V, D], or [B, V, D] with a matrix for each sequence.
        """
        encoded = self.encode(U, source, dropout)
        features = self.decode(U, inputs, layout, encoded, dropout)
        if U.dim() == 3:
            return layout.pack(self.project(U, layout.unpack(features)))
        return self.project(U, features)
