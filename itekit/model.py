"""The encoder-decoder transformer (Vaswani et al. 2017; paper, section "Experiments").

Post-layer-norm, ReLU, no final norm. Positions are RoPE or, for formulas, tree positions in the
encoder and RoPE in the decoder (there in cross-attention too). The embedding matrix U is an
argument, not a part of the model: its rows, times √D, are the inputs of both sides, and the
features are projected on U (three-way weight tying; paper, section "Projection").

Tokens are packed outside attention: N counts those that are not padding (see `layout`).

Shape letters: B batch, S source length, T target length, N tokens, D model, H heads, V vocabulary.
"""

import functools
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, linear, normalize

from itekit.dropout import Dropout, drop
from itekit.layers import DecoderLayer, Encoded, EncoderLayer, ModelConfig
from itekit.layout import Layout, causal_bias, padding_bias
from itekit.positions import MAX_TREE_DEPTH, tree_encoding, tree_paths
from itekit.vocabulary import PAD, SPECIAL, START

_FORBIDDEN = [SPECIAL.index(PAD), SPECIAL.index(START)]


@functools.lru_cache(maxsize=64)
@torch.inference_mode(False)  # what is kept must serve training too
def _forbidden(count: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """What is added to the logits of `count` tokens: [V]."""
    bias = torch.zeros(count, dtype=dtype)
    bias[_FORBIDDEN] = -torch.inf
    return bias.to(device)


def call(layer: nn.Module, *inputs) -> Tensor:
    """The output of a layer; what `execution` compiles."""
    return layer(*inputs)


class Transformer(nn.Module):
    """Encoder-decoder transformer that is given its embedding matrix.

    Token identifiers follow `vocabulary.SPECIAL`: 0 padding, 1 end, 2 start.

    Args:
        operands: for tree positions, how many operands each non-interchangeable token takes, in
            the order of the vocabulary; interchangeable tokens take none.

    Attributes:
        static, call: how training works, set by `execution`: with static layouts, and what calls
            the layers.

    Raises:
        ValueError: tree positions without `operands`.
    """

    def __init__(self, config: ModelConfig, operands: Sequence[int] = ()):
        super().__init__()
        if config.tree_positions and not operands:
            raise ValueError("tree positions need the number of operands of each token")
        self.config, self.static, self.call = config, False, call
        self.register_buffer("operands", torch.tensor([*operands, 0]), persistent=False)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.layers))

    def layout(self, valid: Tensor, positions: Tensor | None = None) -> Layout:
        """The layout of the tokens where `valid` [B, L]; see `Batch.positions`."""
        return Layout.of(valid, self.static and self.training, positions)

    def _run(self, layer: nn.Module, *inputs) -> Tensor:
        return (self.call if self.training else call)(layer, *inputs)

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

    def encode(
        self,
        U: Tensor,
        source: Tensor,
        dropout: Dropout | None = None,
        positions: Tensor | None = None,
    ) -> Encoded:
        """Encode source [B, S], padded with 0; see `Batch.positions`.

        Raises:
            ValueError: a formula is deeper than tree positions of width D hold: D / 2 branches.
        """
        valid = source != 0
        layout = self.layout(valid, positions)
        bias = padding_bias(valid, layout.keys(valid.device))
        x = self.look_up(U, source, layout)
        if self.config.tree_positions:
            operands = self.operands[source.clamp(max=len(self.operands) - 1)]
            paths = tree_paths(operands, min(x.shape[1] // 2, MAX_TREE_DEPTH))
            x = x + tree_encoding(torch.stack([layout.pack(p) for p in paths]), x.shape[1])
        x = drop(x, dropout)
        for layer in self.encoder:
            x = self._run(layer, x, layout, bias, dropout)
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
        bias = causal_bias(layout.length, inputs.device, layout.keys(inputs.device))
        x = drop(self.look_up(U, inputs, layout), dropout)
        for layer in self.decoder:
            x = self._run(layer, x, layout, bias, source, dropout)
        return x

    def project(self, U: Tensor, features: Tensor) -> Tensor:
        """Logits [..., V] of features [..., D]: cosines when both are normalised.

        Padding and start have the logit minus infinity: no output holds them.
        """
        if self.config.normalize_features:
            features = normalize(features, dim=-1)
        bias = _forbidden(U.shape[-2], U.dtype, U.device)
        return linear(features, U, bias) if U.dim() == 2 else bias + features @ U.mT

    def forward(
        self,
        U: Tensor,
        source: Tensor,
        inputs: Tensor,
        layout: Layout,
        dropout: Dropout | None = None,
        positions: Tensor | None = None,
    ) -> Tensor:
        """Logits [N, V] for source [B, S] and the decoder inputs [B, T] that `layout` keeps.

        U is [V, D], or [B, V, D] with a matrix for each sequence. `positions`: of the source; the
        layout has the target's.
        """
        encoded = self.encode(U, source, dropout, positions)
        features = self.decode(U, inputs, layout, encoded, dropout)
        if U.dim() == 3:
            return layout.pack(self.project(U, layout.unpack(features)))
        return self.project(U, features)
