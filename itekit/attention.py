"""Multi-head attention with RoPE, for training and for decoding with a key/value cache.

Vaswani et al. 2017, section 3.2; RoPE as in `positions`. In cross-attention queries and keys are
both rotated, each by its own positions; values never are.

Shape letters: B batch, L length (S of the source, T of the target), N tokens that are not padding,
D model, H heads, d = D / H head width, K number of keys after padding.

Tokens come packed (see `layout`). `split_heads` does the split into heads, the rotation, the
scaling of queries and the padding of keys in one pass over memory.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from itekit.layout import Layout, padded
from itekit.positions import rope_table, step_table


def _as_complex(x: Tensor) -> Tensor:
    """The pairs of the last dimension as complex numbers: a view where the strides allow it."""
    if x.stride(-1) != 1:
        x = x.contiguous()
    return torch.view_as_complex(x.unflatten(-1, (-1, 2)))


class _SplitHeads(torch.autograd.Function):
    """[N, nD] -> n tensors [B, H, L or more, d], some of them rotated; one pass each way."""

    @staticmethod
    def forward(ctx, x, layout, heads, tables, lengths):
        ctx.layout, ctx.heads, ctx.tables = layout, heads, tables
        L, d = layout.length, x.shape[1] // len(tables) // heads
        parts = layout.unpack(x).unflatten(-1, (len(tables), heads, d)).permute(2, 0, 3, 1, 4)
        outputs = []
        for part, table, length in zip(parts, tables, lengths, strict=True):
            out = x.new_empty(layout.batch, heads, length, d)
            out[:, :, L:] = 0
            if table is None:
                out[:, :, :L].copy_(part)
            else:
                torch.mul(_as_complex(part), table, out=_as_complex(out[:, :, :L]))
            outputs.append(out)
        return tuple(outputs)

    @staticmethod
    def backward(ctx, *gradients):
        layout, n, d = ctx.layout, len(gradients), gradients[0].shape[-1]
        L = layout.length
        gradient = gradients[0].new_empty(layout.batch, L, n, ctx.heads, d)
        for out, table, part in zip(
            gradient.permute(2, 0, 3, 1, 4), ctx.tables, gradients, strict=True
        ):
            if table is None:
                out.copy_(part[:, :, :L])
            else:
                torch.mul(_as_complex(part[:, :, :L]), table.conj(), out=_as_complex(out))
        return layout.pack(gradient.flatten(2)), None, None, None, None


def split_heads(
    x: Tensor, layout: Layout, heads: int, tables: list, lengths: list[int]
) -> tuple[Tensor, ...]:
    """Unpack projections, split them into heads, rotate, and pad with zeros at the end.

    Args:
        x: [N, nD], n projections beside each other.
        tables: for each projection complex factors [L, d / 2], or None: not rotated.
        lengths: for each projection the length of the result, at least L.

    Returns:
        n tensors [B, H, length, d].
    """
    return _SplitHeads.apply(x, layout, heads, tables, lengths)


def attend(query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:
    """softmax(query keyᵀ + bias) value, heads merged; queries come scaled by 1/√d.

    Args:
        query: [B, H, T, d]; key, value: [B, H, K, d]; bias: broadcasts to [B, H, T, K].

    Returns:
        [B, T, D].
    """
    if query.device.type == "cpu":
        scores = torch.matmul(query, key.transpose(-1, -2)).add_(bias)
        mixed = torch.matmul(torch.softmax(scores, dim=-1), value)
    else:
        mixed = scaled_dot_product_attention(
            query, key, value, attn_mask=bias.to(query.dtype), scale=1.0
        )
    return mixed.transpose(1, 2).flatten(2)


class Attention(nn.Module):
    """What self-attention and cross-attention share: sizes, tables and the output projection.

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

    def table(self, start: int, stop: int, device: torch.device, scale: float = 1.0):
        """RoPE factors for positions start to stop - 1, times `scale`; None without RoPE."""
        if self.rope_base is None:
            return None
        table = rope_table(_round_up(stop), self.d_head, device, self.rope_base)
        return table[start:stop] if scale == 1.0 else table[start:stop] * scale

    def rotate_step(self, x: Tensor, position: int, *scales: float) -> Tensor:
        """x [R, nD], n projections at `position`: each rotated and scaled, in place."""
        length, rope = _round_up(position + 1), (self.d_head, x.device, self.rope_base)
        _as_complex(x).mul_(step_table(length, self.heads, scales, *rope)[position])
        return x

    def split_query(self, projected: Tensor, layout: Layout) -> Tensor:
        """Scaled, rotated queries [B, H, T, d] of projections [N, D]."""
        T, scale = layout.length, self.d_head**-0.5
        table = self.table(0, T, projected.device, scale)
        (query,) = split_heads(projected, layout, self.heads, [table], [T])
        return query * scale if self.rope_base is None else query


def _round_up(length: int) -> int:
    """Round up to a power of two, so that the cache of RoPE tables stays small."""
    return 1 << (length - 1).bit_length()


class SelfAttention(Attention):
    """Attention of a sequence on itself."""

    def __init__(self, d_model: int, heads: int, rope_base: float | None):
        super().__init__(d_model, heads, rope_base)
        self.query_key_value = nn.Linear(d_model, 3 * d_model)

    def forward(self, x: Tensor, layout: Layout, bias: Tensor) -> Tensor:
        """x: [N, D]; bias: broadcasts to [B, H, L, K]; returns [N, D]."""
        L, K, scale = layout.length, padded(layout.length, x.device), self.d_head**-0.5
        tables = [self.table(0, L, x.device, scale), self.table(0, L, x.device), None]
        query, key, value = split_heads(
            self.query_key_value(x), layout, self.heads, tables, [L, K, K]
        )
        if self.rope_base is None:
            query = query * scale
        return self.output(layout.pack(attend(query, key, value, bias)))

    def step(self, projected: Tensor, cache: Tensor, bias: Tensor, position: int) -> Tensor:
        """One decoding step at `position`; bias [K] decides how many keys are read.

        Args:
            projected: [B, 3D], the input's queries, keys and values; overwritten.
            cache: [2, B, H, K or more, d], keys and values; written to at `position`.
        """
        rotated = projected[:, : 2 * self.heads * self.d_head]
        self.rotate_step(rotated, position, self.d_head**-0.5, 1.0)
        query, key, value = projected.view(-1, 3, self.heads, 1, self.d_head).unbind(1)
        keys, values = cache[:, :, :, : len(bias)]
        keys[:, :, position], values[:, :, position] = key[:, :, 0], value[:, :, 0]
        mixed = attend(query, keys, values, bias)
        return self.output(mixed.flatten(0, 1))


class CrossAttention(Attention):
    """Attention of the target on the encoded source."""

    def __init__(self, d_model: int, heads: int, rope_base: float | None):
        super().__init__(d_model, heads, rope_base)
        self.query = nn.Linear(d_model, d_model)
        self.key_value = nn.Linear(d_model, 2 * d_model)

    def keys_values(self, memory: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
        """Keys and values, [B, H, K, d] each, of the encoded source [N, D]."""
        S = layout.length
        K = padded(S, memory.device)
        tables = [self.table(0, S, memory.device), None]
        return split_heads(self.key_value(memory), layout, self.heads, tables, [K, K])

    def forward(self, x: Tensor, layout: Layout, keys_values: tuple, bias: Tensor) -> Tensor:
        """x: [N, D]; bias: [B, 1, 1, K]; returns [N, D]."""
        query = self.split_query(self.query(x), layout)
        return self.output(layout.pack(attend(query, *keys_values, bias)))

    def step(self, x: Tensor, keys_values: tuple, bias: Tensor, position: int) -> Tensor:
        """One decoding step: x [R, D] at `position`, R / B rows (beams) for each of B sources."""
        query = self.rotate_step(self.query(x), position, self.d_head**-0.5)
        query = query.view(len(bias), -1, self.heads, self.d_head).transpose(1, 2)
        return self.output(attend(query, *keys_values, bias).flatten(0, 1))
