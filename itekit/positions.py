"""Positions: RoPE (Su et al. 2021) and tree positions (paper, section "Experiments").

RoPE turns the pair (x_2i, x_2i+1) of a query or key at position p by the angle
p × base^(-2i / d), which is a multiplication by a complex number of modulus 1. The dot product of
a query and a key then depends on their distance alone. (Some implementations pair x_i with
x_i+d/2. The two differ by a fixed order of the learned projections' columns, nothing else.)

Tree positions (Shiv and Quirk 2019) say where a token of a formula stands in its syntax tree: for
each branch on the way from the token up to the root two numbers, [1, 0] for a left or only child
and [0, 1] for a right one, the deepest branch first, zeros after the last. They are found for a
whole batch at once, from the tokens alone: a formula in prefix notation is read as a walk that
rises by (operands - 1) at each token, and the operands of a token are where the walk stays at
its height or above.

Shape letters: B batch, S source length, L length, d head width, D model.
"""

import functools

import torch
from torch import Tensor


@functools.lru_cache(maxsize=64)
@torch.inference_mode(False)  # what is kept must serve training too
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


@functools.lru_cache(maxsize=64)
@torch.inference_mode(False)
def step_table(
    length: int,
    heads: int,
    scales: tuple[float, ...],
    d_head: int,
    device: torch.device,
    base: float,
) -> Tensor:
    """Factors for n projections beside each other, each with its scale: a row for each position.

    Returns:
        complex64 [length, n × heads × d_head / 2]: `rope_table` for every head of each projection.
    """
    table = rope_table(length, d_head, device, base).repeat(1, heads)
    return torch.cat([table * scale for scale in scales], dim=1)


def rotate(x: Tensor, table: Tensor) -> Tensor:
    """Rotate the pairs of the last dimension of x, [..., L, d], by a table [L, d / 2]."""
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * table).flatten(-2)


def rope_cosines_sines(positions: Tensor, d_head: int, base: float) -> Tensor:
    """The real and imaginary parts of `rope_table` at positions [L]: float [L, d_head / 2, 2].

    Made anew at each call: a compiler puts it into the operation that uses it.
    """
    frequencies = base ** (-torch.arange(0, d_head, 2, device=positions.device) / d_head)
    angles = positions[:, None] * frequencies
    return torch.stack([angles.cos(), angles.sin()], dim=-1)


def rotate_real(x: Tensor, table: Tensor) -> Tensor:
    """`rotate` in real arithmetic, by a table [L, d / 2, 2]; float32 within, x's type outside."""
    even, odd = x.unflatten(-1, (-1, 2)).unbind(-1)
    cosines, sines = table.unbind(-1)
    pairs = [even * cosines - odd * sines, even * sines + odd * cosines]
    return torch.stack(pairs, dim=-1).flatten(-2).to(x.dtype)


MAX_TREE_DEPTH = 62  # branches from a token to the root, one bit each of an int64


def tree_paths(operands: Tensor, deepest: int = MAX_TREE_DEPTH) -> Tensor:
    """The way from every token up to its root, as bits.

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
    bits = torch.stack([below & ~right, right]).long() << branch
    return bits.sum(2)


def tree_encoding(paths: Tensor, d_model: int) -> Tensor:
    """Tree positions [..., D] of paths [2, ...] (see `tree_paths`).

    They hold D / 2 branches; those beyond, nearest the root, are left out.

    Raises:
        ValueError: `d_model` is odd.
    """
    if d_model % 2:
        raise ValueError(f"a branch takes two numbers: d_model must be even, found {d_model}")
    branches = min(d_model // 2, MAX_TREE_DEPTH)
    bits = (paths[..., None] >> torch.arange(branches, device=paths.device)) & 1
    pairs = bits.movedim(0, -1).flatten(-2).to(torch.get_default_dtype())
    return torch.nn.functional.pad(pairs, (0, d_model - 2 * branches))
