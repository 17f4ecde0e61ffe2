"""Splitting projections into heads: unpacking, rotation and the padding of keys at once.

Two ways to do the same. On a CPU one pass over memory each way, with complex numbers for the pairs
that RoPE rotates. For a GPU and for compilers (`Layout.static`) plain operations on real numbers,
which a compiler fuses, in bfloat16 too; keys are not padded then.

Shape letters: B batch, L length, N tokens that are not padding, D model, H heads, d = D / H head
width.
"""

import torch
from torch import Tensor

from itekit.layout import Layout
from itekit.positions import rotate_real


def as_complex(x: Tensor) -> Tensor:
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
                torch.mul(as_complex(part), table, out=as_complex(out[:, :, :L]))
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
                torch.mul(as_complex(part[:, :, :L]), table.conj(), out=as_complex(out))
        return layout.pack(gradient.flatten(2)), None, None, None, None


def split_heads(
    x: Tensor, layout: Layout, heads: int, tables: list, lengths: list[int]
) -> tuple[Tensor, ...]:
    """Unpack projections, split them into heads, rotate, and pad with zeros at the end.

    Args:
        x: [N, nD], n projections beside each other.
        tables: for each projection None (not rotated) or the factors of RoPE, complex [L, d / 2];
            for a static layout cosines and sines [L, d / 2, 2].
        lengths: for each projection the length of the result, at least L; L in a static layout.

    Returns:
        n tensors [B, H, length, d].
    """
    if not layout.static:
        x = x.float() if x.dtype == torch.bfloat16 else x
        return _SplitHeads.apply(x, layout, heads, tables, lengths)
    parts = layout.unpack(x).unflatten(-1, (len(tables), heads, -1)).permute(2, 0, 3, 1, 4)
    return tuple(
        part if table is None else rotate_real(part, table)
        for part, table in zip(parts, tables, strict=True)
    )
