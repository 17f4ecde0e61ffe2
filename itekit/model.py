"""The encoder-decoder transformer (Vaswani et al. 2017; paper, section "Experiments").

Post-layer-norm, ReLU, no final norm. Positions are RoPE (Su et al. 2021) in all attention, in
cross-attention too; for formulas the encoder has tree positions (Shiv and Quirk 2019) instead. The
embedding matrix U is an argument, not a part of the model: its rows, times √D, are the inputs of
both sides, and the features are projected on U (three-way weight tying; paper, section
"Projection"). One body serves training, all positions at once, and decoding, one position at a
time, where a `Cache` keeps the keys and values of those before.

Outside attention tokens are [N, D], and `layout.unpack` gives them their places [B, L, D]. On a CPU
N counts the tokens without padding; on a GPU padding stays in, so that N = B × L (see `fast`).
Under `torch.autocast` linear layers, and on a GPU attention, compute in bfloat16; sums of residual
connections, norms and the projection stay in float32.

Shape letters: B batch, S source length, T target length, L either, N tokens, D model, H heads,
d = D / H head width, K keys (at least L, see `fast.padded`), V vocabulary.
"""

import math
import typing
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from itekit.fast import STEP_KEYS, Dropout, Layout, add_dropped, drop, padded
from itekit.vocabulary import Vocabulary

ROPE_BASE = 10_000.0  # as in the paper's models
MAX_TREE_DEPTH = 62  # branches from a token to the root, one bit each of an int64


@dataclass(frozen=True)
class ModelConfig:
    """Sizes of the transformer, by default the paper's for copying (Table "Hyperparameter")."""

    d_model: int = 64  # D; a multiple of 2 × heads
    layers: int = 2  # of the encoder, and as many of the decoder
    heads: int = 4
    d_ff: int = 64  # width of the feed-forward layers
    dropout: float = 0.1  # probability, after embedding, attention and feed-forward layers
    normalize_features: bool = True  # f_fn on the feature vectors, so that logits are cosines
    rope_base: float = ROPE_BASE  # of the frequencies
    tree_positions: bool = False  # in the encoder, instead of RoPE
    aggregation: str = ""  # symbol-invariant: where streams meet, "encoder" or "both" sides

    def __post_init__(self):
        for name in ("d_model", "layers", "heads", "d_ff"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be 1 or more, found {getattr(self, name)}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be in [0, 1), found {self.dropout}")
        if self.aggregation not in ("", "encoder", "both"):
            raise ValueError(f"aggregation must be encoder or both, found {self.aggregation!r}")
        if not 1 < self.rope_base < math.inf:
            raise ValueError(f"rope_base must be more than 1, found {self.rope_base}")


def rope_factors(positions: Tensor, d_head: int, base: float, real: bool = False) -> Tensor:
    """The factors exp(i × position × base^(-2j / d)) for positions [L].

    RoPE turns the pair (x_2j, x_2j+1) of a query or key by multiplying it, as a complex number, by
    its factor; the dot product of a query and a key then depends on their distance alone. (Some
    implementations pair x_j with x_j+d/2: the same but for the order of the projections' columns.)
    Returns complex64 [L, d / 2]; real: their real and imaginary parts, float [L, d / 2, 2].
    """
    places = torch.arange(0, d_head, 2, dtype=torch.float64, device=positions.device)
    angles = positions[:, None] * base ** (-places / d_head)
    if real:
        return torch.stack([angles.cos(), angles.sin()], dim=-1).float()
    return torch.polar(torch.ones_like(angles), angles).to(torch.complex64)


def rope_table(length: int, d_head: int, device: torch.device, base: float = ROPE_BASE) -> Tensor:
    """`rope_factors` for the positions 0 to length - 1: complex64 [length, d / 2]."""
    if d_head % 2:
        raise ValueError(f"RoPE rotates pairs: the head width must be even, found {d_head}")
    return rope_factors(torch.arange(length, device=device), d_head, base)


def rotate(x: Tensor, factors: Tensor) -> Tensor:
    """Rotate the pairs of the last dimension of x, [..., L, d], by `rope_factors`."""
    pairs = x.unflatten(-1, (-1, 2))
    if factors.is_complex():
        return torch.view_as_real(torch.view_as_complex(pairs) * factors).flatten(-2)
    (even, odd), (cosines, sines) = pairs.unbind(-1), factors.unbind(-1)
    turned = [even * cosines - odd * sines, even * sines + odd * cosines]
    return torch.stack(turned, dim=-1).flatten(-2).to(x.dtype)


def tree_paths(operands: Tensor, deepest: int = MAX_TREE_DEPTH) -> Tensor:
    """The way from every token up to its root, as bits.

    A formula in prefix notation is read as a walk: the height before a token is the sum of
    (operands - 1) over the tokens before it. What stands below a token in the tree are the tokens
    after it, up to the first height below its own.

    Args:
        operands: int64 [B, S], how many each token takes; 0 for what stands after the formula.
        deepest: the most branches that a token may have above it; ValueError for more.

    Returns:
        int64 [2, B, S]: bit k of the first is 1 if the k-th branch from the token upwards is a
        left or only child, of the second if it is a right one.
    """
    S = operands.shape[1]
    walk = operands.cumsum(1) - operands - torch.arange(S, device=operands.device)
    later = torch.ones(S, S, dtype=torch.bool, device=operands.device).triu(1)
    far = torch.iinfo(torch.int64).max
    lowest = walk[:, None].masked_fill(~later, far).cummin(2).values  # [B, token, later token]
    below = (lowest >= walk[:, :, None]) & later
    right = below & (lowest == walk[:, :, None]) & (operands == 2)[:, :, None]
    depth = below.sum(1)
    if deepest < S and (found := int(depth.max())) > deepest:  # a short source cannot be: no wait
        raise ValueError(f"a formula is {found} branches deep: tree positions hold {deepest}")
    branch = (depth[:, None] - depth[:, :, None] - 1).clamp(0, MAX_TREE_DEPTH)
    return (torch.stack([below & ~right, right]).long() << branch).sum(2)


def tree_encoding(paths: Tensor, d_model: int) -> Tensor:
    """Tree positions [..., D] of paths [2, ...] (see `tree_paths`).

    Two numbers for each branch, [1, 0] for a left or only child and [0, 1] for a right one, the
    deepest branch first. There is room for min(D / 2, 62) branches.
    """
    if d_model % 2:
        raise ValueError(f"a branch takes two numbers: d_model must be even, found {d_model}")
    branches = min(d_model // 2, MAX_TREE_DEPTH)
    bits = (paths[..., None] >> torch.arange(branches, device=paths.device)) & 1
    pairs = bits.movedim(0, -1).flatten(-2).to(torch.get_default_dtype())
    return F.pad(pairs, (0, d_model - 2 * branches))


def padding_bias(valid: Tensor, keys: int | None = None) -> Tensor:
    """Additive mask for keys: 0 where `valid` [B, S], minus infinity elsewhere; [B, 1, 1, K]."""
    S, device = valid.shape[1], valid.device
    keys = padded(S, device) if keys is None else keys
    bias = torch.zeros(valid.shape, device=device).masked_fill_(~valid, -torch.inf)
    return F.pad(bias, (0, keys - S), value=-torch.inf)[:, None, None]


def causal_bias(
    length: int, device: torch.device, keys: int | None = None, start: int = 0
) -> Tensor:
    """Additive mask [T, K] that lets row t, at position start + t, see the keys 0 to start + t."""
    keys = padded(start + length, device) if keys is None else keys
    return torch.full((length, keys), -torch.inf, device=device).triu(start + 1)


def attend(query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:
    """softmax(query keyᵀ + bias) value, heads merged: [B, T, D]; queries come scaled by 1/√d.

    query: [B, H, T, d]; key, value: [B, H, K, d]; bias: broadcasts to [B, H, T, K]. With several
    beams, which share keys and values, [B × beams, H, T, d] -> [B, beams × T, D].
    """
    if len(query) > len(key):
        query = query.unflatten(0, (len(key), -1)).transpose(1, 2).flatten(2, 3)
    if query.device.type == "cpu":
        with torch.autocast("cpu", enabled=False):  # slower in bfloat16
            scores = torch.matmul(query, key.mT).add_(bias)
            mixed = torch.matmul(torch.softmax(scores, dim=-1), value)
    else:
        bias = bias.to(query.dtype)
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=bias, scale=1.0)
    return mixed.transpose(1, 2).flatten(2)


class Attention(nn.Module):
    """What self-attention and cross-attention share (Vaswani et al. 2017, section 3.2)."""

    def __init__(self, d_model: int, heads: int, rope_base: float | None):
        super().__init__()
        if d_model % (2 * heads):
            raise ValueError(
                f"d_model must be a multiple of 2 × heads = {2 * heads}, found {d_model}"
            )
        self.heads, self.d_head, self.rope_base = heads, d_model // heads, rope_base
        self.output = nn.Linear(d_model, d_model)

    def split(self, projected: Tensor, layout: Layout, kinds: str) -> list[Tensor]:
        """Projections [N, nD], one for each of `kinds` -> [B, H, L, d] each.

        A "q"uery is scaled by 1/√d; it and a "k"ey are rotated by their own positions, a "v"alue
        never is.
        """
        if projected.device.type == "cpu":
            projected = projected.to(self.output.weight.dtype)  # attention in full precision
        parts = layout.unpack(projected).unflatten(-1, (len(kinds), self.heads, self.d_head))
        if self.rope_base is not None:
            positions = layout.positions
            if positions is None:
                end = layout.start + layout.length
                positions = torch.arange(layout.start, end, device=projected.device)
            factors = rope_factors(positions, self.d_head, self.rope_base, layout.static)
        found = []
        for kind, part in zip(kinds, parts.permute(2, 0, 3, 1, 4), strict=True):
            scale = self.d_head**-0.5 if kind == "q" else 1.0
            if kind != "v" and self.rope_base is not None:
                part = rotate(part, factors * scale)
            elif kind == "q":
                part = part * scale
            found.append(part)
        return found


class SelfAttention(Attention):
    """Attention of a sequence on itself."""

    def __init__(self, d_model: int, heads: int, rope_base: float | None):
        super().__init__(d_model, heads, rope_base)
        self.query_key_value = nn.Linear(d_model, 3 * d_model)

    def forward(
        self, x: Tensor, layout: Layout, bias: Tensor, kept: Tensor | None = None
    ) -> Tensor:
        """x: [N, D]; bias: broadcasts to [B, H, L, K]; returns [N, D].

        kept: see `Cache.own`, of the columns before; those of x are put beside them.
        """
        query, key, value = self.split(self.query_key_value(x), layout, "qkv")
        key, value = layout.remember(key, value, kept, bias.shape[-1])
        return self.output(layout.pack(attend(query, key, value, bias)))


class CrossAttention(Attention):
    """Attention of the target on the encoded source."""

    def __init__(self, d_model: int, heads: int, rope_base: float | None):
        super().__init__(d_model, heads, rope_base)
        self.query = nn.Linear(d_model, d_model)
        self.key_value = nn.Linear(d_model, 2 * d_model)

    def keys_values(self, memory: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
        """Keys and values, [B, H, K, d] each, of the encoded source [N, D]."""
        key, value = self.split(self.key_value(memory), layout, "kv")
        return layout.pad_keys(key), layout.pad_keys(value)

    def forward(self, x: Tensor, layout: Layout, keys_values: tuple, bias: Tensor) -> Tensor:
        """x: [N, D]; bias: [B, 1, 1, K]; returns [N, D]."""
        (query,) = self.split(self.query(x), layout, "q")
        return self.output(layout.pack(attend(query, *keys_values, bias)))


Norm = partial(nn.LayerNorm, eps=1e-6)


class Layer(nn.Module):
    """Self-attention, in a decoder cross-attention, feed-forward; a residual and a norm after each.

    With tree positions, which the encoder adds to its input, its attention does not rotate.
    """

    def __init__(self, config: ModelConfig, decoder: bool):
        super().__init__()
        D, rotates = config.d_model, decoder or not config.tree_positions
        sizes = D, config.heads, config.rope_base if rotates else None
        self.attention = SelfAttention(*sizes)
        self.cross = CrossAttention(*sizes) if decoder else None
        inner, outer = nn.Linear(D, config.d_ff), nn.Linear(config.d_ff, D)
        parts = {"inner": inner, "relu": nn.ReLU(inplace=True), "outer": outer}
        self.feed_forward = nn.Sequential(OrderedDict(parts))
        self.norm_attention = Norm(D)
        self.norm_cross = Norm(D) if decoder else None
        self.norm_feed_forward = Norm(D)

    def forward(
        self, x: Tensor, layout: Layout, bias: Tensor, dropout=None, source=(), kept=None
    ) -> Tensor:
        """source: keys with values, and the mask, of cross-attention; kept: see `SelfAttention`."""
        x = self.norm_attention(add_dropped(x, self.attention(x, layout, bias, kept), dropout))
        if self.cross:
            x = self.norm_cross(add_dropped(x, self.cross(x, layout, *source), dropout))
        return self.norm_feed_forward(add_dropped(x, self.feed_forward(x), dropout))


@dataclass(frozen=True)
class Encoded:
    """The encoded source: memory [N, D], its layout, and the additive mask [B, 1, 1, K]."""

    memory: Tensor
    layout: Layout
    bias: Tensor
    streams: typing.Any = None  # of the symbol-invariant transformer


@dataclass
class Cache:
    """What is kept between the steps of decoding; one item of a list for each decoder layer."""

    source: list[tuple[Tensor, Tensor]]  # keys and values of cross-attention, [B, H, K, d] each
    bias: Tensor  # the source's additive mask [B, 1, 1, K]
    own: list[Tensor]  # keys and values of self-attention, [2, rows, H, room, d]
    streams: typing.Any = None


class Transformer(nn.Module):
    """Encoder-decoder transformer that is given its embedding matrix.

    Token identifiers follow `vocabulary.SPECIAL`: 0 padding, 1 end, 2 start.

    Args:
        operands: for tree positions, how many operands each non-interchangeable token takes, in
            the order of the vocabulary; interchangeable tokens take none.

    Attributes:
        static: train with static layouts on a CPU too.
        deepest: the most branches that tree positions hold.
    """

    Layer = Layer  # what both sides are made of
    cached = 2  # tensors that a decoder layer keeps while decoding: keys and values

    def __init__(self, config: ModelConfig, operands: Sequence[int] = ()):
        super().__init__()
        if config.tree_positions and not operands:
            raise ValueError("tree positions need the number of operands of each token")
        self.config, self.static = config, False
        self.deepest = min(config.d_model // 2, MAX_TREE_DEPTH)
        self.register_buffer("operands", torch.tensor([*operands, 0]), persistent=False)
        self.encoder = nn.ModuleList(self.Layer(config, False) for _ in range(config.layers))
        self.decoder = nn.ModuleList(self.Layer(config, True) for _ in range(config.layers))

    def layout(self, valid: Tensor, positions: Tensor | None = None) -> Layout:
        """The layout of the tokens where `valid` [B, L]; see `Batch.positions`."""
        return Layout.of(valid, self.static and self.training, positions)

    def embed(self, U: Tensor, tokens: Tensor) -> Tensor:
        """Rows of U [V, D] for tokens [N], times √D: [N, D]."""
        return F.embedding(tokens, U * self.config.d_model**0.5)

    def look_up(self, U: Tensor, tokens: Tensor, layout: Layout) -> Tensor:
        """`embed` for the tokens of [B, L] that `layout` keeps; U may be [B, V, D]."""
        if U.dim() == 3:
            first = torch.arange(len(U), device=U.device) * U.shape[1]
            U, tokens = U.flatten(0, 1), tokens + first[:, None]
        return self.embed(U, layout.pack(tokens))

    def tree_paths(self, tokens: Tensor) -> Tensor:
        """`tree_paths` of tokens [B, S]; ValueError: more branches than `deepest`."""
        return tree_paths(self.operands[tokens.clamp(max=len(self.operands) - 1)], self.deepest)

    def encode(
        self, U: Tensor, source: Tensor, dropout: Dropout | None = None, positions=None
    ) -> Encoded:
        """Encode source [B, S], padded with 0; `positions`: see `Batch.positions`.

        ValueError for a formula deeper than tree positions hold: `deepest` branches.
        """
        valid = source != Vocabulary.pad_id
        layout = self.layout(valid, positions)
        bias = padding_bias(valid, layout.keys)
        x = self.look_up(U, source, layout)
        if self.config.tree_positions:
            paths = [layout.pack(path) for path in self.tree_paths(source)]
            x = x + tree_encoding(torch.stack(paths), self.config.d_model)
        x = drop(x, dropout)
        for layer in self.encoder:
            x = layer(x, layout, bias, dropout)
        return Encoded(x, layout, bias)

    def cache(self, encoded: Encoded, beams: int = 1) -> Cache:
        """What decoding starts from, with so many rows for each source."""
        pairs = [layer.cross.keys_values(encoded.memory, encoded.layout) for layer in self.decoder]
        heads, rows = self.config.heads, beams * encoded.layout.batch
        room = self.cached, rows, heads, STEP_KEYS, self.config.d_model // heads
        own = [encoded.memory.new_zeros(room) for _ in pairs]
        return Cache(pairs, encoded.bias, own, encoded.streams)

    def decode(
        self,
        U: Tensor,
        inputs: Tensor,
        layout: Layout,
        source: Encoded | Cache,
        dropout: Dropout | None = None,
        **more,
    ) -> Tensor:
        """Features [N, D] for decoder inputs [B, T] (the start token, then the target).

        With a `Cache`: for the inputs from column `layout.start` on, which it then keeps too; one
        row or several (beams) for each source.
        """
        cached, end = isinstance(source, Cache), layout.start + layout.length
        keys = padded(max(end, STEP_KEYS), inputs.device) if cached else layout.keys
        bias = causal_bias(layout.length, inputs.device, keys, layout.start)
        x = drop(self.look_up(U, inputs, layout), dropout)
        for number, layer in enumerate(self.decoder):
            if cached:
                keys_values, kept = source.source[number], source.own[number]
            else:
                keys_values, kept = layer.cross.keys_values(source.memory, source.layout), None
            x = layer(x, layout, bias, dropout, (keys_values, source.bias), kept, **more)
        return x

    def project(self, U: Tensor, features: Tensor) -> Tensor:
        """Logits [..., V] of features [..., D]: cosines when both are normalised.

        Padding and start have the logit minus infinity: no output holds them.
        """
        if self.config.normalize_features:
            features = F.normalize(features, dim=-1)
        never = U.new_zeros(U.shape[-2])
        never[Vocabulary.pad_id] = never[Vocabulary.start_id] = -torch.inf
        with torch.autocast(U.device.type, enabled=False):
            return F.linear(features, U, never) if U.dim() == 2 else features @ U.mT + never

    def predict(
        self, U: Tensor, inputs: Tensor, layout: Layout, source: Encoded | Cache, dropout=None
    ) -> Tensor:
        """Logits [N, V] of the token after each decoder input; see `decode`."""
        features = self.decode(U, inputs, layout, source, dropout)
        if U.dim() == 3:
            return layout.pack(self.project(U, layout.unpack(features)))
        return self.project(U, features)

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
        return self.predict(U, inputs, layout, encoded, dropout)
