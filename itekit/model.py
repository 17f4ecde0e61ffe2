"""The encoder-decoder transformer (Vaswani et al. 2017; paper, section "Experiments").

Post-layer-norm, ReLU, no final norm. Positions are RoPE (Su et al. 2021) or, for formulas, tree
positions (Shiv and Quirk 2019) in the encoder and RoPE in the decoder, there in cross-attention
too. The embedding matrix U is an argument, not a part of the model: its rows, times √D, are the
inputs of both sides, and the features are projected on U (three-way weight tying; paper, section
"Projection"). The same body serves training, with dropout and all positions at once, and decoding,
one position at a time with the keys and values of those before kept in a `Cache`.

Two layouts of a batch, one meaning. On a CPU tokens are *packed*: outside attention padding is left
out. On a GPU, and wherever `Transformer.static` is set, every shape follows from B and L alone, and
the operations are such as compilers take. Under `torch.autocast` linear layers (and, on a GPU,
attention) compute in bfloat16; residual sums, norms and the projection stay in float32.

Shape letters: B batch, S source length, T target length, L either, N tokens (the B × L places, or
those that hold a token), D model, H heads, d = D / H head width, K number of keys, V vocabulary.
"""

import copy
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout as torch_dropout
from torch.nn.functional import embedding, linear, normalize, pad, relu
from torch.nn.functional import scaled_dot_product_attention as sdpa

from itekit.vocabulary import Vocabulary

ROPE_BASE = 10_000.0  # as in the paper's models
MAX_TREE_DEPTH = 62  # branches from a token to the root, one bit each of an int64
KEY_MULTIPLE = 16  # a vector register: softmax over shorter rows falls back to scalar code
STEP_KEYS = 32  # fewest keys of a decoding step: smaller products take torch's scalar code


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
        if not 1 < self.rope_base < math.inf:
            raise ValueError(f"rope_base must be more than 1, found {self.rope_base}")


class Dropout:
    """Draws the dropout masks (Srivastava et al. 2014) of one forward pass.

    A decision takes 16 random bits, four decisions a 64-bit draw; p is therefore met to within
    1/65536. On a CPU that is several times faster than torch's own dropout.

    Args:
        p: probability of dropping an element; the others are scaled by 1 / (1 - p).
        generator: on the device of the tensors that masks are for; None: torch's own dropout,
            which compilers fuse with what is around it and which the caller seeds.

    Raises:
        ValueError: p is not in [0, 1).
    """

    def __init__(self, p: float, generator: torch.Generator | None):
        if not 0 <= p < 1:
            raise ValueError(f"the dropout probability must be in [0, 1), found {p}")
        self.p, self.generator = p, generator

    def keep(self, like: Tensor) -> Tensor:
        """A factor for each element of `like`: 0 or 1 / (1 - p), same shape and type."""
        if self.generator is None:
            return torch_dropout(torch.ones_like(like), self.p)
        words = torch.empty(-(-like.numel() // 4), dtype=torch.int64, device=like.device)
        words.random_(-(2**63), None, generator=self.generator)
        bits = words.view(torch.int16)[: like.numel()].view(like.shape)
        threshold = min(round(self.p * 2**16), 2**16 - 1) - 2**15
        return (bits >= threshold).to(like.dtype).mul_(1 / (1 - self.p))


def drop(x: Tensor, dropout: Dropout | None) -> Tensor:
    """Dropout of x; x itself where there is none (evaluation, p = 0)."""
    return x * dropout.keep(x) if dropout and dropout.p else x


def add_dropped(x: Tensor, y: Tensor, dropout: Dropout | None) -> Tensor:
    """The residual connection: x plus dropout of y, in one pass over memory; of x's type."""
    y = y.to(x.dtype)
    return torch.addcmul(x, y, dropout.keep(y)) if dropout and dropout.p else x + y


def padded(length: int, device: torch.device) -> int:
    """Number of keys that attention over `length` tokens works on: on a CPU a multiple of 16."""
    return -(-length // KEY_MULTIPLE) * KEY_MULTIPLE if device.type == "cpu" else length


@dataclass(frozen=True, eq=False)
class Layout:
    """Where tokens [N, ...] stand in a batch [B, L, ...], and for RoPE.

    Attributes:
        batch, length: B and L.
        index: int64 [N], the place b × L + l of each token; None: all B × L places.
        static: every shape follows from B and L, and operations are such as compilers take.
        positions: int64 [L], where the columns stand for RoPE; None: start, start + 1, ...
        start: the columns follow on so many others, whose keys and values are in a `Cache`.
    """

    batch: int
    length: int
    index: Tensor | None = None
    static: bool = False
    positions: Tensor | None = None
    start: int = 0
    _tables: dict = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, valid: Tensor, static: bool = False, positions: Tensor | None = None) -> "Layout":
        """The layout of the tokens where `valid` [B, L]; a static one keeps padding in.

        Off the CPU it is always static: packing would cost a wait for the number of tokens.
        Columns beyond `positions` hold nothing but padding.
        """
        if positions is not None:
            positions = pad(positions, (0, valid.shape[1] - len(positions)))
        if static or valid.device.type != "cpu":
            return cls(*valid.shape, static=True, positions=positions)
        index = None if valid.all() else valid.flatten().nonzero()[:, 0]
        return cls(*valid.shape, index, positions=positions)

    def keys(self, device: torch.device) -> int:
        """K, the number of keys that attention on these tokens has."""
        return self.length if self.static else padded(self.length, device)

    def sequences(self, device: torch.device) -> Tensor:
        """The number of the sequence that each token belongs to: int64 [N]."""
        places = self.index
        if places is None:
            places = torch.arange(self.batch * self.length, device=device)
        return places // self.length

    def pack(self, x: Tensor) -> Tensor:
        """[B, L, ...] -> [N, ...]."""
        flat = x.flatten(0, 1)
        return flat if self.index is None else flat.index_select(0, self.index)

    def unpack(self, x: Tensor) -> Tensor:
        """[N, ...] -> [B, L, ...], zero where nothing stands."""
        if self.index is not None:
            flat = x.new_zeros(self.batch * self.length, *x.shape[1:])
            x = flat.index_copy_(0, self.index, x)
        return x.unflatten(0, (self.batch, self.length))

    def rope(self, d_head: int, base: float, device: torch.device) -> Tensor:
        """RoPE's factors: complex [L, d / 2], or in a static layout their parts [L, d / 2, 2].

        All layers of a pass share them. A static layout makes them from the positions, without a
        wait; a compiler puts that into the operation that uses them.
        """
        if (d_head, base) not in self._tables:
            end = self.start + self.length
            columns = torch.arange(self.start, end, device=device)
            columns = columns if self.positions is None else self.positions
            if self.static:
                frequencies = base ** (-torch.arange(0, d_head, 2, device=device) / d_head)
                angles = columns[:, None] * frequencies
                table = torch.stack([angles.cos(), angles.sin()], dim=-1)
            else:
                end = end if self.positions is None else int(columns.max()) + 1
                table = rope_table(_power_of_two(end), d_head, device, base)[columns]
            self._tables[d_head, base] = table
        return self._tables[d_head, base]


def padding_bias(valid: Tensor, keys: int | None = None) -> Tensor:
    """Additive mask for keys: 0 where `valid` [B, S], minus infinity elsewhere; [B, 1, 1, K]."""
    B, S = valid.shape
    K = padded(S, valid.device) if keys is None else keys
    bias = torch.full((B, 1, 1, K), -torch.inf, device=valid.device)
    bias[:, 0, 0, :S].masked_fill_(valid, 0.0)
    return bias


def causal_bias(
    length: int, device: torch.device, keys: int | None = None, start: int = 0
) -> Tensor:
    """Additive mask [T, K] that lets row t, at position start + t, see the keys 0 to start + t."""
    K = padded(start + length, device) if keys is None else keys
    return torch.full((length, K), -torch.inf, device=device).triu(start + 1)


def _power_of_two(length: int) -> int:
    """Rounded up, so that few tables of RoPE are made."""
    return 1 << (length - 1).bit_length()


@functools.lru_cache(maxsize=64)
@torch.inference_mode(False)  # what is kept must serve training too
def rope_table(length: int, d_head: int, device: torch.device, base: float = ROPE_BASE) -> Tensor:
    """The factors exp(i × position × base^(-2j / d_head)), complex64 [length, d_head / 2].

    RoPE turns the pair (x_2j, x_2j+1) of a query or key by multiplying it, as a complex number, by
    its factor; the dot product of a query and a key then depends on their distance alone. (Some
    implementations pair x_j with x_j+d/2: the same but for the order of the projections' columns.)

    Raises:
        ValueError: `d_head` is odd.
    """
    if d_head % 2:
        raise ValueError(f"RoPE rotates pairs: the head width must be even, found {d_head}")
    frequencies = base ** (-torch.arange(0, d_head, 2, dtype=torch.float64) / d_head)
    angles = torch.arange(length, dtype=torch.float64)[:, None] * frequencies
    return torch.polar(torch.ones_like(angles), angles).to(torch.complex64).to(device)


def _as_complex(x: Tensor) -> Tensor:
    """The pairs of the last dimension as complex numbers: a view where the strides allow it."""
    x = x if x.stride(-1) == 1 else x.contiguous()
    return torch.view_as_complex(x.unflatten(-1, (-1, 2)))


def rotate(x: Tensor, table: Tensor) -> Tensor:
    """Rotate the pairs of the last dimension of x, [..., L, d], by factors [L, d / 2].

    Complex factors, or their real and imaginary parts [L, d / 2, 2].
    """
    if table.is_complex():
        return torch.view_as_real(_as_complex(x) * table).flatten(-2)
    (even, odd), (cosines, sines) = x.unflatten(-1, (-1, 2)).unbind(-1), table.unbind(-1)
    pairs = [even * cosines - odd * sines, even * sines + odd * cosines]
    return torch.stack(pairs, dim=-1).flatten(-2).to(x.dtype)


def tree_paths(operands: Tensor, deepest: int = MAX_TREE_DEPTH) -> Tensor:
    """The way from every token up to its root, as bits.

    A formula in prefix notation is read as a walk that rises by (operands - 1) at each token; the
    operands of a token are where the walk stays at its height or above.

    Args:
        operands: int64 [B, S], how many operands each token of a formula in prefix notation takes;
            0 for what stands after the formula.
        deepest: the most branches that a token may have above it, at most MAX_TREE_DEPTH.

    Returns:
        int64 [2, B, S]: bit k of the first is 1 if the k-th branch from the token upwards is a
        left or only child, of the second if it is a right one.

    Raises:
        ValueError: a token has more than `deepest` branches above it.
    """
    S = operands.shape[1]
    walk = operands.cumsum(1) - operands - torch.arange(S, device=operands.device)
    upper = torch.ones(S, S, dtype=torch.bool, device=operands.device).triu(1)
    far = torch.iinfo(torch.int64).max
    lowest = walk[:, None].masked_fill(~upper, far).cummin(2).values  # [B, token, later token]
    below = (lowest >= walk[:, :, None]) & upper
    right = below & (lowest == walk[:, :, None]) & (operands == 2)[:, :, None]
    depth = below.sum(1)
    if deepest < S and (found := int(depth.max())) > deepest:  # no wait for short sources
        raise ValueError(f"a formula is {found} branches deep: tree positions hold {deepest}")
    branch = (depth[:, None] - depth[:, :, None] - 1).clamp(0, MAX_TREE_DEPTH)
    return (torch.stack([below & ~right, right]).long() << branch).sum(2)


def tree_encoding(paths: Tensor, d_model: int) -> Tensor:
    """Tree positions [..., D] of paths [2, ...] (see `tree_paths`).

    Two numbers for each branch, [1, 0] for a left or only child and [0, 1] for a right one, the
    deepest branch first. They hold D / 2 branches; those beyond, nearest the root, are left out.

    Raises:
        ValueError: `d_model` is odd.
    """
    if d_model % 2:
        raise ValueError(f"a branch takes two numbers: d_model must be even, found {d_model}")
    branches = min(d_model // 2, MAX_TREE_DEPTH)
    bits = (paths[..., None] >> torch.arange(branches, device=paths.device)) & 1
    pairs = bits.movedim(0, -1).flatten(-2).to(torch.get_default_dtype())
    return pad(pairs, (0, d_model - 2 * branches))


class _SplitHeads(torch.autograd.Function):
    """`split_heads` of a packed layout: one pass over memory each way."""

    @staticmethod
    def forward(ctx, x, layout, heads, factors, lengths):
        ctx.layout, ctx.heads, ctx.factors = layout, heads, factors
        L, outputs = layout.length, []
        parts = layout.unpack(x).unflatten(-1, (len(factors), heads, -1)).permute(2, 0, 3, 1, 4)
        for part, factor, length in zip(parts, factors, lengths, strict=True):
            out = x.new_empty(layout.batch, heads, length, part.shape[-1])
            out[:, :, L:] = 0
            _multiply(part, factor, out[:, :, :L])
            outputs.append(out)
        return tuple(outputs)

    @staticmethod
    def backward(ctx, *gradients):
        layout, n, d = ctx.layout, len(gradients), gradients[0].shape[-1]
        gradient = gradients[0].new_empty(layout.batch, layout.length, n, ctx.heads, d)
        parts = gradient.permute(2, 0, 3, 1, 4)
        for out, factor, given in zip(parts, ctx.factors, gradients, strict=True):
            factor = factor.conj() if isinstance(factor, Tensor) else factor
            _multiply(given[:, :, : layout.length], factor, out)
        return layout.pack(gradient.flatten(2)), None, None, None, None


def _multiply(x: Tensor, factor: Tensor | float, out: Tensor) -> None:
    if isinstance(factor, Tensor):
        torch.mul(_as_complex(x), factor, out=_as_complex(out))
    else:
        torch.mul(x, factor, out=out)


def split_heads(
    x: Tensor, layout: Layout, heads: int, factors: list[Tensor | float], lengths: list[int]
) -> tuple[Tensor, ...]:
    """Unpack projections, split them into heads, rotate or scale, and pad with zeros at the end.

    Args:
        x: [N, nD], n projections beside each other.
        factors: for each projection RoPE's factors (see `Layout.rope`) or a number.
        lengths: for each projection the length of the result, at least L; L in a static layout.

    Returns:
        n tensors [B, H, length, d].
    """
    if x.device.type == "cpu" and x.dtype == torch.bfloat16:
        x = x.float()  # attention in bfloat16 costs more on a CPU than it gains
    if not layout.static:
        return _SplitHeads.apply(x, layout, heads, factors, lengths)
    parts = layout.unpack(x).unflatten(-1, (len(factors), heads, -1)).permute(2, 0, 3, 1, 4)
    return tuple(
        rotate(part, factor) if isinstance(factor, Tensor) else part * factor
        for part, factor in zip(parts, factors, strict=True)
    )


def attend(query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:
    """softmax(query keyᵀ + bias) value, heads merged; queries come scaled by 1/√d.

    Args:
        query: [B, H, T, d], or several rows (beams) for each of key and value, T then 1.
        key, value: [B, H, K, d]; bias: broadcasts to [B, H, T, K].

    Returns:
        [B, T, D]; for several rows [B, rows, D].
    """
    if len(query) > len(key):
        query = query[:, :, 0].unflatten(0, (len(key), -1)).transpose(1, 2)
    if query.device.type == "cpu":
        with torch.autocast("cpu", enabled=False):
            scores = torch.matmul(query, key.transpose(-1, -2)).add_(bias)
            mixed = torch.matmul(torch.softmax(scores, dim=-1), value)
    else:
        mixed = sdpa(query, key, value, attn_mask=bias.to(query.dtype), scale=1.0)
    return mixed.transpose(1, 2).flatten(2)


class Attention(nn.Module):
    """What self-attention and cross-attention share (Vaswani et al. 2017, section 3.2).

    Queries and keys are rotated by their own positions, in cross-attention too; values never.

    Raises:
        ValueError: D is not a multiple of 2 × heads (RoPE rotates pairs within a head).
    """

    def __init__(self, d_model: int, heads: int, rope_base: float | None):
        super().__init__()
        if d_model % (2 * heads):
            raise ValueError(
                f"d_model must be a multiple of 2 × heads = {2 * heads}, found {d_model}"
            )
        self.heads, self.d_head, self.rope_base = heads, d_model // heads, rope_base
        self.output = nn.Linear(d_model, d_model)

    def factors(self, layout: Layout, device: torch.device) -> tuple:
        """What queries (1/√d included) and keys are multiplied by."""
        scale = self.d_head**-0.5
        if self.rope_base is None:
            return scale, 1.0
        table = layout.rope(self.d_head, self.rope_base, device)
        return table * scale, table


class SelfAttention(Attention):
    """Attention of a sequence on itself."""

    def __init__(self, d_model: int, heads: int, rope_base: float | None):
        super().__init__(d_model, heads, rope_base)
        self.query_key_value = nn.Linear(d_model, 3 * d_model)

    def forward(
        self, x: Tensor, layout: Layout, bias: Tensor, kept: Tensor | None = None
    ) -> Tensor:
        """x: [N, D]; bias: broadcasts to [B, H, L, K]; returns [N, D].

        kept: [2, B, H, K or more, d], keys and values of the columns before; those of x are put
        beside them.
        """
        L, (turn_query, turn_key) = layout.length, self.factors(layout, x.device)
        K = layout.keys(x.device) if kept is None else L
        query, key, value = split_heads(
            self.query_key_value(x), layout, self.heads, [turn_query, turn_key, 1.0], [L, K, K]
        )
        if kept is not None:
            kept[0, :, :, layout.start : layout.start + L] = key
            kept[1, :, :, layout.start : layout.start + L] = value
            key, value = kept[:, :, :, : bias.shape[-1]]
        return self.output(layout.pack(attend(query, key, value, bias)))


class CrossAttention(Attention):
    """Attention of the target on the encoded source."""

    def __init__(self, d_model: int, heads: int, rope_base: float | None):
        super().__init__(d_model, heads, rope_base)
        self.query = nn.Linear(d_model, d_model)
        self.key_value = nn.Linear(d_model, 2 * d_model)

    def keys_values(self, memory: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
        """Keys and values, [B, H, K, d] each, of the encoded source [N, D]."""
        K, factors = layout.keys(memory.device), [self.factors(layout, memory.device)[1], 1.0]
        return split_heads(self.key_value(memory), layout, self.heads, factors, [K, K])

    def split_query(self, projected: Tensor, layout: Layout) -> Tensor:
        """Scaled, rotated queries [B, H, T, d] of projections [N, D]."""
        factors = [self.factors(layout, projected.device)[0]]
        return split_heads(projected, layout, self.heads, factors, [layout.length])[0]

    def forward(self, x: Tensor, layout: Layout, keys_values: tuple, bias: Tensor) -> Tensor:
        """x: [N, D]; bias: [B, 1, 1, K]; returns [N, D]."""
        query = self.split_query(self.query(x), layout)
        return self.output(layout.pack(attend(query, *keys_values, bias)))


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

    def forward(
        self, x: Tensor, layout: Layout, bias: Tensor, dropout: Dropout | None = None
    ) -> Tensor:
        x = self.norm_attention(add_dropped(x, self.attention(x, layout, bias), dropout))
        return self.norm_feed_forward(add_dropped(x, self.feed_forward(x), dropout))


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
        self,
        x: Tensor,
        layout: Layout,
        bias: Tensor,
        keys_values: tuple[Tensor, Tensor],
        source_bias: Tensor,
        dropout: Dropout | None = None,
        kept: Tensor | None = None,
    ) -> Tensor:
        x = self.norm_attention(add_dropped(x, self.attention(x, layout, bias, kept), dropout))
        crossed = self.cross(x, layout, keys_values, source_bias)
        x = self.norm_cross(add_dropped(x, crossed, dropout))
        return self.norm_feed_forward(add_dropped(x, self.feed_forward(x), dropout))


@dataclass(frozen=True)
class Encoded:
    """The encoded source: memory [N, D], its layout, and the additive mask [B, 1, 1, K]."""

    memory: Tensor
    layout: Layout
    bias: Tensor


@dataclass
class Cache:
    """What decoding keeps of a batch between its steps, for each layer of the decoder.

    Attributes:
        source: keys and values of cross-attention, [B, H, K, d] each.
        bias: the source's additive mask [B, 1, 1, K].
        own: keys and values of self-attention, [2, rows, H, positions there is room for, d].
    """

    source: list[tuple[Tensor, Tensor]]
    bias: Tensor
    own: list[Tensor]


class Transformer(nn.Module):
    """Encoder-decoder transformer that is given its embedding matrix.

    Token identifiers follow `vocabulary.SPECIAL`: 0 padding, 1 end, 2 start.

    Args:
        operands: for tree positions, how many operands each non-interchangeable token takes, in
            the order of the vocabulary; interchangeable tokens take none.

    Attributes:
        static: train with static layouts on a CPU too, as compilers want them.

    Raises:
        ValueError: tree positions without `operands`.
    """

    def __init__(self, config: ModelConfig, operands: Sequence[int] = ()):
        super().__init__()
        if config.tree_positions and not operands:
            raise ValueError("tree positions need the number of operands of each token")
        self.config, self.static = config, False
        self.register_buffer("operands", torch.tensor([*operands, 0]), persistent=False)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.layers))

    def with_rope_base(self, base: float) -> "Transformer":
        """A copy with another base of RoPE, on the same device.

        Raises:
            ValueError: a base that is not a number above 1.
        """
        other = copy.deepcopy(self)
        other.config = replace(self.config, rope_base=base)
        for module in other.modules():
            if isinstance(module, Attention) and module.rope_base is not None:
                module.rope_base = base
        return other

    def layout(self, valid: Tensor, positions: Tensor | None = None) -> Layout:
        """The layout of the tokens where `valid` [B, L]; see `Batch.positions`."""
        return Layout.of(valid, self.static and self.training, positions)

    def embed(self, U: Tensor, tokens: Tensor) -> Tensor:
        """Rows of U [V, D] for tokens [N], times √D: [N, D]."""
        return embedding(tokens, U * self.config.d_model**0.5)

    def look_up(self, U: Tensor, tokens: Tensor, layout: Layout) -> Tensor:
        """`embed` for the tokens of [B, L] that `layout` keeps; U may be [B, V, D]."""
        found = layout.pack(tokens)
        if U.dim() == 3:
            found = found + layout.sequences(found.device) * U.shape[1]
            U = U.flatten(0, 1)
        return self.embed(U, found)

    def operands_of(self, tokens: Tensor) -> Tensor:
        """How many operands each token takes: int64, of the shape of `tokens`."""
        return self.operands[tokens.clamp(max=len(self.operands) - 1)]

    @property
    def deepest(self) -> int:
        """The most branches that tree positions hold."""
        return min(self.config.d_model // 2, MAX_TREE_DEPTH)

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
        valid = source != Vocabulary.pad_id
        layout = self.layout(valid, positions)
        bias = padding_bias(valid, layout.keys(valid.device))
        x = self.look_up(U, source, layout)
        if self.config.tree_positions:
            paths = tree_paths(self.operands_of(source), self.deepest)
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
        source: Encoded | Cache,
        dropout: Dropout | None = None,
    ) -> Tensor:
        """Features [N, D] for decoder inputs [B, T] (the start token, then the target).

        With a `Cache` the inputs are those from column `layout.start` on, for one row or several
        (beams) of each source, and the cache keeps them for the next ones.
        """
        L, device, cached = layout.length, inputs.device, isinstance(source, Cache)
        keys = padded(max(layout.start + L, STEP_KEYS), device) if cached else layout.keys(device)
        bias = causal_bias(L, device, keys, layout.start)
        x = drop(self.look_up(U, inputs, layout), dropout)
        for number, layer in enumerate(self.decoder):
            if cached:
                keys_values, kept = source.source[number], source.own[number]
            else:
                keys_values, kept = layer.cross.keys_values(source.memory, source.layout), None
            x = layer(x, layout, bias, keys_values, source.bias, dropout, kept)
        return x

    def project(self, U: Tensor, features: Tensor) -> Tensor:
        """Logits [..., V] of features [..., D]: cosines when both are normalised.

        Padding and start have the logit minus infinity: no output holds them.
        """
        if self.config.normalize_features:
            features = normalize(features, dim=-1)
        bias = U.new_zeros(U.shape[-2])
        bias[Vocabulary.pad_id] = bias[Vocabulary.start_id] = -torch.inf
        with torch.autocast(U.device.type, enabled=False):
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
