"""Random vectors that tell interchangeable tokens apart, unique where the sampling set is finite.

Paper, section "Random embedding generation" and Table "Comparison of random vector generation
methods". Three methods:

    normal               every component from N(0, 1)                    continuous
    neighboring_points   components in {-1, 0, 1}, not all of them 0      3**d - 1 vectors
    hypercube_vertices   components in {-1, 1}                            2**d vectors

Vectors of a finite set are numbered 0, 1, 2, ...; unique vectors are unique integers, sampled
without ever building the set, whose digits become the components, the most significant one first.
The zero vector would be integer i_z = (3**d - 1) / 2, so the integers of neighboring points run
over [0, 3**d - 1) and those >= i_z are raised by 1 before conversion. In sets of more than 2**62
vectors the components are drawn directly: any two of n coincide with probability < n**2 / 2**63.

Shapes: N vectors (or integers), d dimensions.
"""

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

METHODS = ("normal", "neighboring_points", "hypercube_vertices")
LARGEST_NUMBERED_SET = 2**62

_BASES = {"neighboring_points": 3, "hypercube_vertices": 2}
_SHUFFLE_ALL_UP_TO = 8192  # sets this small are shuffled whole: cheaper than looking for repeats


def seeded(seed: int, *stream: int, device: str | torch.device = "cpu") -> torch.Generator:
    """A generator for one purpose: `stream` tells apart the uses of one seed."""
    state = np.random.SeedSequence([seed, *stream]).generate_state(1, np.uint64)[0]
    return torch.Generator(device).manual_seed(int(state >> 1))


class SamplingSetTooSmallError(ValueError):
    """More unique vectors were asked for than the sampling set holds."""

    def __init__(self, method: str, dimensions: int, size: int, count: int):
        self.method, self.dimensions, self.size, self.count = method, dimensions, size, count
        self.smallest_dimensions = dimensions
        while sampling_set_size(method, self.smallest_dimensions) < count:
            self.smallest_dimensions += 1
        super().__init__(
            f"{method} in {dimensions} dimensions holds {size} vectors, but {count} unique ones "
            f"were asked for; at least {self.smallest_dimensions} dimensions are needed"
        )


def sampling_set_size(method: str, dimensions: int) -> int | None:
    """Number of vectors in the sampling set, or None for `normal`, which is continuous."""
    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}; expected one of {', '.join(METHODS)}")
    if dimensions < 1:
        raise ValueError(f"dimensions must be 1 or more, found {dimensions}")
    sizes = {"hypercube_vertices": 2**dimensions, "neighboring_points": 3**dimensions - 1}
    return sizes.get(method)


def random_vectors(
    method: str,
    count: int,
    dimensions: int,
    generator: torch.Generator,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Draw `count` vectors uniformly from the method's sampling set: float [count, dimensions].

    Rows are unique when the set is finite and has at most 2**62 elements; they are not normalised.
    `generator` is a CPU generator. SamplingSetTooSmallError when the set holds fewer vectors.
    """
    size = sampling_set_size(method, dimensions)
    if count < 0:
        raise ValueError(f"count must be 0 or more, found {count}")
    if size is None:
        return torch.randn(count, dimensions, generator=generator, dtype=dtype)
    if count > size:
        raise SamplingSetTooSmallError(method, dimensions, size, count)
    if size <= LARGEST_NUMBERED_SET:
        integers = sample_unique_integers(size, count, generator)
        return _components(method, integers, dimensions).to(dtype)
    if method == "hypercube_vertices":
        return (2 * torch.randint(2, (count, dimensions), generator=generator) - 1).to(dtype)
    vectors = torch.randint(-1, 2, (count, dimensions), generator=generator)
    while len(zero := (vectors == 0).all(1).nonzero()[:, 0]):
        vectors[zero] = torch.randint(-1, 2, (len(zero), dimensions), generator=generator)
    return vectors.to(dtype)


def sample_unique_integers(upper: int, count: int, generator: torch.Generator) -> Tensor:
    """Uniform ordered sample without replacement from [0, upper), upper <= 2**62: int64 [count].

    Small sets are shuffled. Otherwise integers are drawn independently and the first occurrence of
    each is kept, in the order of drawing, until there are `count`: every ordered sample is equally
    likely, and time and memory depend on `count` alone.
    """
    most = LARGEST_NUMBERED_SET
    if not 0 <= count <= upper <= most:
        raise ValueError(f"count must be in [0, upper <= 2**62], found {count} of {upper}")
    if upper <= max(8 * count, _SHUFFLE_ALL_UP_TO):
        return torch.randperm(upper, generator=generator)[:count]
    unique, wanted = torch.empty(0, dtype=torch.int64), count
    while len(unique) < count:
        # A remainder favours small integers, but for draws below the last multiple of upper.
        draws, limit = torch.randint(most, (wanted,), generator=generator), most - most % upper
        while limit < most and (refused := (draws >= limit).nonzero()).numel():
            draws[refused] = torch.randint(most, refused.shape, generator=generator)
        unique = torch.cat([unique, draws % upper])
        values, order = unique.sort(stable=True)
        if (repeated := values[1:] == values[:-1]).any():
            keep = torch.ones_like(unique, dtype=torch.bool)
            keep[order[1:][repeated]] = False
            unique = unique[keep]
        wanted = 2 * (count - len(unique)) + 8
    return unique[:count]


def integers_to_vectors(
    method: str, integers: Tensor, dimensions: int, dtype: torch.dtype = torch.float32
) -> Tensor:
    """The vectors that int64 [N] number: float [N, dimensions]; ValueError for other integers."""
    size = _numbered(method, dimensions)
    outside = integers[(integers < 0) | (integers >= size)]
    if len(outside):
        found = outside[0].item()
        raise ValueError(f"integers of {method} must be in [0, {size}), found {found}")
    return _components(method, integers, dimensions).to(dtype)


def vectors_to_integers(method: str, vectors: Tensor) -> Tensor:
    """Inverse of `integers_to_vectors`, [N, d] -> int64 [N]; ValueError for a row of no integer."""
    base, size = _BASES.get(method), _numbered(method, vectors.shape[-1])
    is_one, is_zero = vectors.abs() == 1, vectors == 0
    member = is_one.all(1) if base == 2 else (is_one | is_zero).all(1) & is_one.any(1)
    if not member.all():
        row = int((~member).nonzero()[0])
        raise ValueError(f"row {row} is not in {method}: found {vectors[row].tolist()}")
    digits = (vectors > 0).long() if base == 2 else vectors.long() + 1
    integers = (digits * _powers(base, vectors.shape[1], torch.int64)[1:]).sum(1)
    return integers if base == 2 else integers - (integers > size // 2).long()


def _numbered(method: str, dimensions: int) -> int:
    """Size of a sampling set whose vectors can be numbered; ValueError for any other."""
    size = sampling_set_size(method, dimensions)
    if size is None:
        raise ValueError("the normal method is continuous: its vectors have no integers")
    if size > LARGEST_NUMBERED_SET:
        raise ValueError(f"{method} in {dimensions} dimensions has {size} vectors, above 2**62")
    return size


@lru_cache(maxsize=256)
def _powers(base: int, dimensions: int, dtype: torch.dtype) -> Tensor:
    """base**d, ..., base, 1: [d + 1]."""
    return torch.tensor([base**place for place in range(dimensions, -1, -1)], dtype=dtype)


def _components(method: str, integers: Tensor, dimensions: int) -> Tensor:
    """Digits of the integers, most significant first, as components: [N, d].

    Digit k is floor(i / base**k) - base * floor(i / base**(k + 1)). Up to 2**24 this is exact in
    float32, up to 2**53 in float64, and both divide much faster than int64.
    """
    base, most = _BASES[method], _BASES[method] ** dimensions
    if base == 3:
        integers = integers + (integers >= most // 2)  # step over the zero vector
    if most <= 2**53:
        exact = torch.float32 if most <= 2**24 else torch.float64
        quotients = (integers.to(exact)[:, None] / _powers(base, dimensions, exact)).floor_()
    else:
        quotients = integers[:, None] // _powers(base, dimensions, torch.int64)
    digits = torch.sub(quotients[:, 1:], quotients[:, :-1], alpha=base)
    return digits.sub_(1) if base == 3 else digits.mul_(2).sub_(1)
