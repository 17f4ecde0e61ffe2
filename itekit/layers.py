"""The layers of the encoder-decoder transformer, and the sizes that they share.

Vaswani et al. 2017: post-layer-norm, ReLU. Tokens are packed outside attention (see `layout`).

Shape letters: B batch, S source length, T target length, N tokens, D model, H heads.
"""

from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn.functional import relu

from itekit.attention import CrossAttention, SelfAttention
from itekit.dropout import Dropout, add_dropped
from itekit.layout import Layout
from itekit.linear import Linear

ROPE_BASE = 10_000.0  # as in the paper's models


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
        self.inner = Linear(config.d_model, config.d_ff)
        self.outer = Linear(config.d_ff, config.d_model)

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
