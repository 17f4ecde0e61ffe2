"""What makes the model fast and leaves its answers as they are: the layout of a batch, and dropout.

Two layouts. On a CPU tokens are *packed*: outside attention padding is left out, and keys are
padded to a multiple of 16. On a GPU, and where a compiler is to take the model, a layout is
*static*: padding stays in, so that every shape follows from B and L and nothing waits for a number
of tokens. Both give the same logits and gradients (tests/test_model.py).

Shape letters: B batch, L length, N tokens (all B × L places, or those that hold a token), K keys.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional as F

CPU = torch.device("cpu")
KEY_MULTIPLE = 16  # a vector register: softmax over shorter rows takes scalar code, 6 times slower
STEP_KEYS = 32  # fewest keys of a decoding step: smaller products take torch's scalar code


def padded(length: int, device: torch.device = CPU) -> int:
    """Number of keys that attention over `length` tokens works on: on a CPU a multiple of 16."""
    return -(-length // KEY_MULTIPLE) * KEY_MULTIPLE if device.type == "cpu" else length


@dataclass(frozen=True, eq=False)
class Layout:
    """Where tokens [N, ...] stand in a batch [B, L, ...], and for RoPE.

    Attributes:
        batch, length: B and L.
        index: int64 [N], the place b × L + l of each token; None: all B × L places.
        static: every shape follows from B and L; operations are such as compilers take.
        positions: int64 [L], where the columns stand for RoPE; None: start, start + 1, ...
        start: in decoding, the number of columns before these.
    """

    batch: int
    length: int
    index: Tensor | None = None
    static: bool = False
    positions: Tensor | None = None
    start: int = 0

    @classmethod
    def of(cls, valid: Tensor, static: bool = False, positions: Tensor | None = None) -> "Layout":
        """The layout of the tokens where `valid` [B, L]; off the CPU always a static one.

        Columns beyond `positions` hold nothing but padding.
        """
        if positions is not None:
            positions = F.pad(positions, (0, valid.shape[1] - len(positions)))
        if static or valid.device.type != "cpu":
            return cls(*valid.shape, static=True, positions=positions)
        index = None if valid.all() else valid.flatten().nonzero()[:, 0]
        return cls(*valid.shape, index, positions=positions)

    @property
    def keys(self) -> int:
        """K, the number of keys that attention on these tokens has."""
        return self.length if self.static else padded(self.length)

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

    def rows(self, chosen: Tensor) -> "Layout":
        """The layout of a batch whose row r is row chosen[r] of this one."""
        if self.index is None:
            return replace(self, batch=len(chosen))
        valid = torch.zeros(self.batch * self.length, dtype=torch.bool, device=chosen.device)
        valid[self.index] = True
        index = valid.unflatten(0, (self.batch, -1))[chosen].flatten().nonzero()[:, 0]
        return replace(self, batch=len(chosen), index=index)

    def pad_keys(self, x: Tensor) -> Tensor:
        """Keys or values [B, H, L, d] -> [B, H, K, d]."""
        return x if self.keys == self.length else F.pad(x, (0, 0, 0, self.keys - self.length))

    def remember(self, key: Tensor, value: Tensor, kept: Tensor | None, keys: int) -> tuple:
        """Keys and values of these columns, [B, H, L, d] each -> of all so far, [B, H, K, d] each.

        kept: [2, B, H, room, d], those of the columns before, to which these are added; None:
        there are none before.
        """
        if kept is None:
            return self.pad_keys(key), self.pad_keys(value)
        columns = slice(self.start, self.start + self.length)
        kept[0, :, :, columns], kept[1, :, :, columns] = key, value
        return kept[0, :, :, :keys], kept[1, :, :, :keys]


class Dropout:
    """Draws the dropout masks (Srivastava et al. 2014) of one forward pass.

    A decision takes 16 random bits, four decisions a 64-bit draw: p is met to within 1/65536, in a
    fraction of the time of torch's own dropout, which would be a quarter of a training step.

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
            return F.dropout(torch.ones_like(like), self.p)
        words = torch.empty(-(-like.numel() // 4), dtype=torch.int64, device=like.device)
        words.random_(-(2**63), None, generator=self.generator)
        bits = words.view(torch.int16)[: like.numel()].view(like.shape)
        threshold = min(round(self.p * 2**16), 2**16 - 1) - 2**15
        return (bits >= threshold).to(like.dtype).mul_(1 / (1 - self.p))


def drop(x: Tensor, dropout: Dropout | None) -> Tensor:
    """Dropout of x; x itself without dropout, as in evaluation."""
    return x * dropout.keep(x) if dropout and dropout.p else x


def add_dropped(x: Tensor, y: Tensor, dropout: Dropout | None) -> Tensor:
    """The residual connection, x plus dropout of y, in one pass over memory; of x's type."""
    y = y.to(x.dtype)
    return torch.addcmul(x, y, dropout.keep(y)) if dropout and dropout.p else x + y
