"""Multi-head attention with RoPE, for training and for decoding with a key/value cache.

Vaswani et al. 2017, section 3.2; RoPE as in `positions`. In cross-attention queries and keys are
both rotated, each by its own positions; values never are.

Shape letters: B batch, L length (S of the source, T of the target), N tokens that are not padding,
D model, H heads, d = D / H head width, K number of keys after padding.

Tokens come packed (see `layout`); `heads.split_heads` unpacks them.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from itekit.heads import as_complex, split_heads
from itekit.layout import Layout
from itekit.linear import Linear
from itekit.positions import rope_cosines_sines, rope_table, step_table


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
        self.output = Linear(d_model, d_model)

    def table(self, layout: Layout, device: torch.device, scale: float = 1.0) -> Tensor | None:
        """RoPE factors for `split_heads`, times `scale`; None without RoPE."""
        if self.rope_base is None:
            return None
        L, positions = layout.length, layout.positions
        if layout.static:
            positions = torch.arange(L, device=device) if positions is None else positions
            table = rope_cosines_sines(positions, self.d_head, self.rope_base)
        elif positions is None:
            table = rope_table(_round_up(L), self.d_head, device, self.rope_base)[:L]
        else:
            length = _round_up(int(positions.max()) + 1)
            table = rope_table(length, self.d_head, device, self.rope_base)[positions]
        return table if scale == 1.0 else table * scale

    def rotate_step(self, x: Tensor, position: int, *scales: float) -> Tensor:
        """x [R, nD], n projections at `position`: each rotated and scaled, in place."""
        length, rope = _round_up(position + 1), (self.d_head, x.device, self.rope_base)
        as_complex(x).mul_(step_table(length, self.heads, scales, *rope)[position])
        return x

    def split_query(self, projected: Tensor, layout: Layout) -> Tensor:
        """Scaled, rotated queries [B, H, T, d] of projections [N, D]."""
        T, scale = layout.length, self.d_head**-0.5
        table = self.table(layout, projected.device, scale)
        (query,) = split_heads(projected, layout, self.heads, [table], [T])
        return query * scale if self.rope_base is None else query


def _round_up(length: int) -> int:
    """Round up to a power of two, so that the cache of RoPE tables stays small."""
    return 1 << (length - 1).bit_length()


class SelfAttention(Attention):
    """Attention of a sequence on itself."""

    def __init__(self, d_model: int, heads: int, rope_base: float | None):
        super().__init__(d_model, heads, rope_base)
        self.query_key_value = Linear(d_model, 3 * d_model)

    def forward(self, x: Tensor, layout: Layout, bias: Tensor) -> Tensor:
        """x: [N, D]; bias: broadcasts to [B, H, L, K]; returns [N, D]."""
        L, K, scale = layout.length, layout.keys(x.device), self.d_head**-0.5
        tables = [self.table(layout, x.device, scale), self.table(layout, x.device), None]
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
        split = projected.view(-1, 3, self.heads, self.d_head)
        cache[:, :, :, position] = split[:, 1:].transpose(0, 1)
        keys, values = cache[:, :, :, : len(bias)]
        mixed = attend(split[:, 0, :, None], keys, values, bias)
        return self.output(mixed.flatten(0, 1))


class CrossAttention(Attention):
    """Attention of the target on the encoded source."""

    def __init__(self, d_model: int, heads: int, rope_base: float | None):
        super().__init__(d_model, heads, rope_base)
        self.query = Linear(d_model, d_model)
        self.key_value = Linear(d_model, 2 * d_model)

    def keys_values(self, memory: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
        """Keys and values, [B, H, K, d] each, of the encoded source [N, D]."""
        K = layout.keys(memory.device)
        tables = [self.table(layout, memory.device), None]
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
