"""The encoder-decoder transformer (Vaswani et al. 2017; paper, section "Experiments").

Post-layer-norm, ReLU, no final norm. Positions are RoPE (Su et al. 2021) in all attention, in
cross-attention too; for formulas the encoder has tree positions (Shiv and Quirk 2019) instead. The
embedding matrix U is an argument, not a part of the model: its rows, times √D, are the inputs of
both sides, and the features are projected on U (three-way weight tying; paper, section
"Projection"). One body serves training, all positions at once, and decoding, one position at a
time, where a `Past` keeps the keys and values of the positions before.

Under `torch.autocast` linear layers compute in bfloat16; attention on a CPU, the sums of residual
connections, norms and the projection stay in float32.

Shape letters: B batch, S source length, T target length, L either, D model, H heads, d = D / H
head width, V vocabulary, R rows of decoding (B, or B × beams). Masks are added to the scores of
attention: 0 for a key that may be seen, minus infinity for one that may not.
"""

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from itekit.vocabulary import Vocabulary

PAD, START = Vocabulary.pad_id, Vocabulary.start_id
ROPE_BASE = 10_000.0  # as in the paper's models
MAX_TREE_DEPTH = 62  # branches from a token to the root, one bit each of an int64


@dataclass(frozen=True)
class ModelConfig:
    """Sizes of the transformer, by default the paper's for copying (Table "Hyperparameter")."""

    d_model: int = 64  # D; a multiple of 2 × heads
    layers: int = 2  # encoder layers, and decoder layers
    heads: int = 4
    d_ff: int = 64  # width of the feed-forward layers
    dropout: float = 0.1  # probability, after embedding, attention and feed-forward layers
    rope_base: float = ROPE_BASE  # of the frequencies
    tree_positions: bool = False  # in the encoder, instead of RoPE
    aggregation: str = "encoder"  # of `itekit.invariant` alone: in the "encoder" or "both"

    def __post_init__(self):
        for name in ("d_model", "layers", "heads", "d_ff"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be 1 or more, found {getattr(self, name)}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be in [0, 1), found {self.dropout}")
        if self.aggregation not in ("encoder", "both"):
            raise ValueError(f"aggregation must be encoder or both, found {self.aggregation!r}")
        if not 1 < self.rope_base < math.inf:
            raise ValueError(f"rope_base must be more than 1, found {self.rope_base}")


# Positions


def rope_factors(positions: Tensor, d_head: int, base: float = ROPE_BASE) -> Tensor:
    """Cosine and sine of position × base^(-2j / d), d even, at positions [L]: [L, d / 2, 2]."""
    if d_head % 2:
        raise ValueError(f"RoPE rotates pairs: the head width must be even, found {d_head}")
    places = torch.arange(0, d_head, 2, dtype=torch.float64, device=positions.device)
    angles = positions[:, None] * base ** (-places / d_head)
    return torch.stack([angles.cos(), angles.sin()], dim=-1).float()


def rotate(x: Tensor, factors: Tensor) -> Tensor:
    """Turn each pair (x_2j, x_2j+1) of the last dimension of x, [..., L, d], by its angle.

    The dot product of a query and a key that are turned so depends on their distance alone. (Some
    implementations pair x_j with x_j+d/2: the same but for the order of the projections' columns.)
    """
    pairs = x.unflatten(-1, (-1, 2))
    if x.device.type == "cpu":  # a product of complex numbers: the same, and faster there
        turned = torch.view_as_complex(pairs) * torch.view_as_complex(factors)
        return torch.view_as_real(turned).flatten(-2)
    (first, second), (cosine, sine) = pairs.unbind(-1), factors.unbind(-1)
    turned = first * cosine - second * sine, first * sine + second * cosine
    return torch.stack(turned, dim=-1).flatten(-2)


def tree_paths(operands: Tensor, deepest: int = MAX_TREE_DEPTH) -> Tensor:
    """The way from every token up to its root, as bits.

    A formula in prefix notation is read as a walk: the height before a token is the sum of
    (operands - 1) over the tokens before it. A token's subtree is the run of tokens after it, until
    the height drops below its own.

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
    if deepest < S and (depth_found := int(depth.max())) > deepest:  # looking waits for a GPU
        raise ValueError(f"a formula is {depth_found} branches deep: tree positions hold {deepest}")
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


# Attention


def padding_bias(valid: Tensor) -> Tensor:
    """The mask of keys, [B, 1, 1, S], that hides those not `valid`, bool [B, S]."""
    return torch.zeros_like(valid, dtype=torch.float).masked_fill(~valid, -torch.inf)[:, None, None]


def causal_bias(length: int, device: torch.device, before: int = 0) -> Tensor:
    """The mask [T, before + T] whose row t shows the keys 0 to before + t."""
    return torch.full((length, before + length), -torch.inf, device=device).triu(before + 1)


def attend(query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:
    """softmax(query keyᵀ / √d + bias) value, the heads side by side: [B, T, D].

    query: [B, H, T, d]; key, value: [B, H, L, d]; bias: broadcasts to [B, H, T, L]. Rows of
    decoding may share keys and values: [R, H, T, d] -> [B, R / B × T, D].
    """
    if len(query) > len(key):  # [R, H, T, d] -> [B, H, R / B × T, d]
        query = query.unflatten(0, (len(key), -1)).transpose(1, 2).flatten(2, 3)
    # What F.scaled_dot_product_attention computes. Products as small are slower in bfloat16.
    with torch.autocast("cpu", enabled=False):
        scores = (query * query.shape[-1] ** -0.5) @ key.mT + bias  # [B, H, T, L]
        return (scores.softmax(dim=-1) @ value).transpose(1, 2).flatten(2)


class Past:
    """What decoding keeps: for each attention on the target, the keys and values so far."""

    def __init__(self):
        # Attention -> keys and values, [R, H, t, d] each, of the t columns decoded.
        self.kept: dict[nn.Module, tuple[Tensor, Tensor]] = {}

    @property
    def length(self) -> int:
        """t, the number of columns decoded."""
        return next(iter(self.kept.values()))[0].shape[2] if self.kept else 0

    def join(self, module: nn.Module, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Keep these columns too; returns the keys and values of all columns so far."""
        if module in self.kept:
            before, values_before = self.kept[module]
            key, value = torch.cat([before, key], dim=2), torch.cat([values_before, value], dim=2)
        self.kept[module] = key, value
        return key, value

    def select(self, rows: Tensor) -> None:
        """Go on in row i with what was kept of row rows[i]."""
        self.kept = {m: (key[rows], value[rows]) for m, (key, value) in self.kept.items()}


class Attention(nn.Module):
    """What self-attention and cross-attention share (Vaswani et al. 2017, section 3.2)."""

    def __init__(self, d_model: int, heads: int):
        super().__init__()
        if d_model % (unit := 2 * heads):
            raise ValueError(f"d_model must be a multiple of 2 × heads = {unit}, found {d_model}")
        self.heads = heads
        self.output = nn.Linear(d_model, d_model)

    def split(self, projected: Tensor, parts: int) -> tuple[Tensor, ...]:
        """Projections [B, L, parts × D] -> [B, H, L, d] each, in the type of the weights."""
        projected = projected.to(self.output.weight.dtype).unflatten(-1, (parts, self.heads, -1))
        return projected.permute(2, 0, 3, 1, 4).unbind(0)


class SelfAttention(Attention):
    """Attention of a sequence on itself."""

    def __init__(self, d_model: int, heads: int):
        super().__init__(d_model, heads)
        self.query_key_value = nn.Linear(d_model, 3 * d_model)

    def forward(self, x: Tensor, rotation: Tensor | None, bias: Tensor, past=None) -> Tensor:
        """x: [B, L, D] -> [B, L, D], beside the columns in `past`; rotation: `rope_factors`."""
        query, key, value = self.split(self.query_key_value(x), 3)  # [B, H, L, d] each
        if rotation is not None:
            query, key = rotate(query, rotation), rotate(key, rotation)
        if past is not None:
            key, value = past.join(self, key, value)
        return self.output(attend(query, key, value, bias))


class CrossAttention(Attention):
    """Attention of one sequence, such as the target, on another, such as the encoded source."""

    def __init__(self, d_model: int, heads: int):
        super().__init__(d_model, heads)
        self.query = nn.Linear(d_model, d_model)
        self.key_value = nn.Linear(d_model, 2 * d_model)

    def keys_values(self, other: Tensor, rotation: Tensor | None) -> tuple[Tensor, Tensor]:
        """Keys and values, [B, H, S, d] each, of the other sequence [B, S, D]."""
        key, value = self.split(self.key_value(other), 2)
        return key if rotation is None else rotate(key, rotation), value

    def forward(self, x: Tensor, rotation: Tensor | None, keys_values, bias: Tensor) -> Tensor:
        """x: [R, T, D] -> [R, T, D]; rotation: of its columns; keys_values: of the other."""
        (query,) = self.split(self.query(x), 1)  # [R, H, T, d]
        query = query if rotation is None else rotate(query, rotation)
        return self.output(attend(query, *keys_values, bias).view_as(x))


Norm = partial(nn.LayerNorm, eps=1e-6)


class Layer(nn.Module):
    """Self-attention, in a decoder cross-attention, feed-forward; dropout, sum, norm after each."""

    def __init__(self, config: ModelConfig, decoder: bool):
        super().__init__()
        D, heads = config.d_model, config.heads
        self.attention = SelfAttention(D, heads)
        self.cross = CrossAttention(D, heads) if decoder else None
        inner, outer = nn.Linear(D, config.d_ff), nn.Linear(config.d_ff, D)
        parts = OrderedDict(inner=inner, relu=nn.ReLU(inplace=True), outer=outer)
        self.feed_forward = nn.Sequential(parts)
        self.norm_attention = Norm(D)
        self.norm_cross = Norm(D) if decoder else None
        self.norm_feed_forward = Norm(D)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, rotation: Tensor | None, bias: Tensor, source=(), past=None):
        """x: [B, L, D] -> [B, L, D]; source: keys with values, and the mask, of cross-attention."""
        x = self.norm_attention(x + self.dropout(self.attention(x, rotation, bias, past)))
        if self.cross:
            x = self.norm_cross(x + self.dropout(self.cross(x, rotation, *source)))
        return self.norm_feed_forward(x + self.dropout(self.feed_forward(x)))


# The model


@dataclass(frozen=True)
class Encoded:
    """The encoded source, as the decoder looks at it.

    Attributes:
        memory: what the encoder says, [B, S, D].
        cross: for each decoder layer the keys and values of cross-attention, [B, H, S, d] each.
        bias: the mask of the source, [B, 1, 1, S].
        positions: [L], of the columns of source and target, where a training draws them at random
            (`data.Batch`); None: 0, 1, 2, ...
    """

    memory: Tensor
    cross: list[tuple[Tensor, Tensor]]
    bias: Tensor
    positions: Tensor | None = None

    def select(self, rows: Tensor, sources: Tensor | None) -> tuple["Encoded", Tensor]:
        """Keep only `sources` (None: all).

        Returns them, and the rows of a `Past` to keep: `rows`, in subclasses others.
        """
        if sources is None:
            return self, rows
        cross = [(key[sources], value[sources]) for key, value in self.cross]
        return Encoded(self.memory[sources], cross, self.bias[sources]), rows


class Transformer(nn.Module):
    """Encoder-decoder transformer that is given its embedding matrix.

    Args:
        operands: for tree positions, how many operands each non-interchangeable token takes, in
            the order of the vocabulary; interchangeable tokens take none.
        f_fn: normalise the features that meet U: logits are cosines, and a loss scales them.

    Attributes:
        deepest: the most branches that tree positions hold.
    """

    Layer = Layer  # what both sides are made of; a subclass may have another

    def __init__(self, config: ModelConfig, operands: Sequence[int] = (), f_fn: bool = True):
        super().__init__()
        if config.tree_positions and not any(operands):
            raise ValueError("tree positions need the number of operands of each token")
        self.config, self.f_fn = config, f_fn
        self.deepest = min(config.d_model // 2, MAX_TREE_DEPTH)
        self.register_buffer("operands", torch.tensor([*operands, 0]), persistent=False)
        self.encoder = nn.ModuleList(self.Layer(config, False) for _ in range(config.layers))
        self.decoder = nn.ModuleList(self.Layer(config, True) for _ in range(config.layers))
        self.dropout = nn.Dropout(config.dropout)

    def embed(self, U: Tensor, tokens: Tensor) -> Tensor:
        """Rows of U [V, D], or of each sequence's own [B, V, D], for tokens [B, L], times √D."""
        if U.dim() == 3:
            first = torch.arange(len(U), device=U.device) * U.shape[1]
            U, tokens = U.flatten(0, 1), tokens + first[:, None]
        return F.embedding(tokens, U * self.config.d_model**0.5)

    def shapes(self, source: Tensor) -> tuple:
        """What `forward` takes beside a batch because its size decides shapes: nothing here.

        It is computed where the batch is made, on the CPU, so that a GPU does not wait for it.
        """
        return ()

    def rotation(self, tokens: Tensor, positions: Tensor | None, before: int = 0) -> Tensor:
        """`rope_factors` of the columns of tokens, at `positions` or at before, before + 1, ..."""
        columns = tokens.shape[1]
        if positions is None:
            positions = torch.arange(before, before + columns, device=tokens.device)
        d_head = self.config.d_model // self.config.heads
        return rope_factors(positions[:columns], d_head, self.config.rope_base)

    def tree_paths(self, tokens: Tensor) -> Tensor:
        """`tree_paths` of tokens [B, S]; ValueError: more branches than `deepest`."""
        return tree_paths(self.operands[tokens.clamp(max=len(self.operands) - 1)], self.deepest)

    def add_positions(
        self, x: Tensor, source: Tensor, rotation: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """The encoder's input with its positions: tree positions added to x, or a rotation."""
        if not self.config.tree_positions:
            return x, rotation
        return x + tree_encoding(self.tree_paths(source), self.config.d_model), None

    def encode(self, U: Tensor, source: Tensor, positions: Tensor | None = None) -> Encoded:
        """Encode source [B, S], padded with 0; `positions`: see `Encoded`.

        ValueError for a formula deeper than tree positions hold: `deepest` branches.
        """
        bias, rotation = padding_bias(source != PAD), self.rotation(source, positions)
        x, own = self.add_positions(self.embed(U, source), source, rotation)
        x = self.dropout(x)  # [B, S, D]
        for layer in self.encoder:
            x = layer(x, own, bias)
        cross = [layer.cross.keys_values(x, rotation) for layer in self.decoder]
        return Encoded(x, cross, bias, positions)

    def decode(self, U: Tensor, inputs: Tensor, encoded: Encoded, past=None) -> Tensor:
        """Features [R, T, D] for decoder inputs [R, T] (the start token, then the target).

        With a `Past`: for the columns after those that it keeps, and it keeps these too; one row or
        several (beams) for each source.
        """
        before = past.length if past else 0
        bias = causal_bias(inputs.shape[1], U.device, before)
        rotation = self.rotation(inputs, encoded.positions, before)
        x = self.dropout(self.embed(U, inputs))  # [R, T, D]
        for layer, keys_values in zip(self.decoder, encoded.cross, strict=True):
            x = layer(x, rotation, bias, (keys_values, encoded.bias), past)
        return x

    def project(self, U: Tensor, features: Tensor) -> Tensor:
        """Logits [..., V] of features [..., D]: cosines when both are normalised.

        Padding and start have the logit minus infinity: no output holds them.
        """
        if self.f_fn:
            features = F.normalize(features, dim=-1)
        with torch.autocast(U.device.type, enabled=False):
            logits = features @ U.mT
        tokens = torch.arange(U.shape[-2], device=U.device)
        return logits.masked_fill((tokens == PAD) | (tokens == START), -torch.inf)

    def predict(self, U: Tensor, inputs: Tensor, encoded: Encoded, past=None) -> Tensor:
        """Logits [R, T, V] of the token after each decoder input; see `decode`."""
        return self.project(U, self.decode(U, inputs, encoded, past))

    def forward(self, U: Tensor, source: Tensor, inputs: Tensor, positions=None) -> Tensor:
        """Logits [B, T, V] for source [B, S] and decoder inputs [B, T]; `positions`: see `Encoded`.

        U is [V, D], or [B, V, D] with a matrix for each sequence.
        """
        return self.predict(U, inputs, self.encode(U, source, positions))
