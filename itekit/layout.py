"""Where the tokens of a padded batch stand, and the additive masks of attention.

Outside attention, tokens are packed: padding is left out. Keys are padded to a multiple of 16, the
width of a vector register, because softmax over shorter rows falls back to scalar code (measured:
6 times slower for rows of 11 than for rows of 16).

Shape letters: B batch, L length (S of the source, T of the target), N tokens that are not padding,
K number of keys after padding.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

KEY_MULTIPLE = 16
STEP_KEYS = 32  # fewest keys of a decoding step: smaller products take torch's scalar code


def padded(length: int, device: torch.device) -> int:
    """Number of keys that attention over `length` tokens works on: on a CPU a multiple of 16."""
    if device.type != "cpu":
        return length
    return -(-length // KEY_MULTIPLE) * KEY_MULTIPLE


@dataclass(frozen=True)
class Layout:
    """Where packed tokens [N, ...] stand in a padded batch [B, L, ...].

    Attributes:
        batch, length: B and L.
        index: int64 [N], the place b × L + l of each token; None: all B × L places.
        static: every shape follows from B and L, and operations are such as compilers take.
        positions: int64 [L], where the columns stand for RoPE; None: 0, 1, 2, ...
    """

    batch: int
    length: int
    index: Tensor | None = None
    static: bool = False
    positions: Tensor | None = None

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
        if self.index is None:
            return torch.arange(self.batch * self.length, device=device) // self.length
        return self.index // self.length

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


def padding_bias(valid: Tensor, keys: int | None = None) -> Tensor:
    """Additive mask for keys: 0 where `valid` [B, S], minus infinity elsewhere; [B, 1, 1, K]."""
    B, S = valid.shape
    K = padded(S, valid.device) if keys is None else keys
    bias = torch.full((B, 1, 1, K), -torch.inf, device=valid.device)
    bias[:, 0, 0, :S].masked_fill_(valid, 0.0)
    return bias


def causal_bias(length: int, device: torch.device, keys: int | None = None) -> Tensor:
    """Additive mask [T, K] that lets position t see the keys 0 to t."""
    K = padded(length, device) if keys is None else keys
    return torch.full((length, K), -torch.inf, device=device).triu(1)
