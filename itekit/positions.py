"""Positions: rotary position embedding, RoPE (Su et al. 2021; paper, section "Experiments").

RoPE turns the pair (x_2i, x_2i+1) of a query or key at position p by the angle
p × base^(-2i / d), which is a multiplication by a complex number of modulus 1. The dot product of
a query and a key then depends on their distance alone. (Some implementations pair x_i with
x_i+d/2. The two differ by a fixed order of the learned projections' columns, nothing else.)

Shape letters: L length, d head width.
"""

import functools

import torch
from torch import Tensor


@functools.lru_cache(maxsize=64)
def rope_table(length: int, d_head: int, device: torch.device, base: float = 10000.0) -> Tensor:
    """The factors exp(i × position × base^(-2j / d_head)), complex64 [length, d_head / 2].

    Raises:
        ValueError: `d_head` is odd.
    """
    if d_head % 2:
        raise ValueError(f"RoPE rotates pairs: the head width must be even, found {d_head}")
    frequencies = base ** (-torch.arange(0, d_head, 2, dtype=torch.float64) / d_head)
    angles = torch.arange(length, dtype=torch.float64)[:, None] * frequencies
    return torch.polar(torch.ones_like(angles), angles).to(torch.complex64).to(device)


def rotate(x: Tensor, table: Tensor) -> Tensor:
    """Rotate the pairs of the last dimension of x, [..., L, d], by a table [L, d / 2]."""
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * table).flatten(-2)
