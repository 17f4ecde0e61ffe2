"""Random vectors that tell interchangeable tokens apart, unique where the sampling set is finite.

Paper, section "Random embedding generation" and Table "Comparison of random vector generation
methods". Three methods:

    normal               every component from N(0, 1)                    continuous
    neighboring_points   components in {-1, 0, 1}, not all of them 0      3**d - 1 vectors
    hypercube_vertices   components in {-1, 1}                            2**d vectors

Vectors of a finite set are numbered 0, 1, 2, ...; unique vectors are unique integers, sampled
without ever building the set, whose digits become the components. The zero vector would be integer
i_z = (3**d - 1) / 2, so the integers of neighboring points run over [0, 3**d - 1) and those >= i_z
are raised by 1 before conversion. The most significant digit is component 0, so that integers in
increasing order give vectors in lexicographic order, the order of `itertools.product`.

For sets of more than 2**62 elements the components are drawn directly and uniqueness is not checked
(nor needed: n vectors collide with probability below n**2 / 2**63).

Shapes: N vectors (or integers), d dimensions.
"""

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

METHODS = ("normal", "neighboring_points", "hypercube_vertices")
LARGEST_CHECKED_SET = 2**62

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
    """Number of vectors in the sampling set, or None for `normal`, which is continuous.

    Raises ValueError for an unknown method or dimensions < 1.
    """
    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}; expected one of {', '.join(METHODS)}")
    if dimensions < 1:
        raise ValueError(f"dimensions must be 1 or more, found {dimensions}")
    if method == "normal":
        return None
    return 2**dimensions if method == "hypercube_vertices" else 3**dimensions - 1


def random_vectors(
    method: str,
    count: int,
    dimensions: int,
    generator: torch.Generator,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Draw `count` vectors uniformly from the method's sampling set: float [count, dimensions].

    Rows are unique when the set is finite and has at most 2**62 elements; they are not normalised.
    `generator` is a CPU generator and the only source of randomness.
    Raises ValueError for an unknown method, dimensions < 1 or count < 0, and
    SamplingSetTooSmallError when count exceeds the size of the set.
    Paper, section "Random embedding generation".
    """
    size = sampling_set_size(method, dimensions)
    if count < 0:
        raise ValueError(f"count must be 0 or more, found {count}")
    if size is None:
        return torch.randn(count, dimensions, generator=generator, dtype=dtype)
    if count > size:
        raise SamplingSetTooSmallError(method, dimensions, size, count)
    if size <= LARGEST_CHECKED_SET:
        integers = sample_unique_integers(size, count, generator)
        return _components(method, integers, dimensions).to(dtype)
    if method == "hypercube_vertices":
        return (2 * torch.randint(2, (count, dimensions), generator=generator) - 1).to(dtype)
    vectors = torch.randint(-1, 2, (count, dimensions), generator=generator)
    while len(zero := (vectors == 0).all(1).nonzero()[:, 0]):
        vectors[zero] = torch.randint(-1, 2, (len(zero), dimensions), generator=generator)
    return vectors.to(dtype)


def integers_to_vectors(
    method: str, integers: Tensor, dimensions: int, dtype: torch.dtype = torch.float32
) -> Tensor:
    """Map int64 [N] in [0, sampling_set_size) to the vectors they number: float [N, dimensions].

    Raises ValueError for `normal`, a set of more than 2**62 elements, or integers out of range.
    """
    size = _checked_size(method, dimensions)
    outside = integers[(integers < 0) | (integers >= size)]
    if len(outside):
        found = outside[0].item()
        raise ValueError(f"integers of {method} must be in [0, {size}), found {found}")
    return _components(method, integers, dimensions).to(dtype)


def vectors_to_integers(method: str, vectors: Tensor) -> Tensor:
    """Inverse of `integers_to_vectors`: [N, d] to int64 [N].

    Raises ValueError for `normal`, a set of more than 2**62 elements, or a row outside the set.
    """
    dimensions = vectors.shape[-1]
    size = _checked_size(method, dimensions)
    base = _BASES[method]
    is_one, is_zero = vectors.abs() == 1, vectors == 0
    member = is_one.all(1) if base == 2 else (is_one | is_zero).all(1) & is_one.any(1)
    if not member.all():
        row = int((~member).nonzero()[0])
        raise ValueError(f"row {row} is not in {method}: found {vectors[row].tolist()}")
    components = vectors.to(torch.int64)
    digits = (components > 0).to(torch.int64) if base == 2 else components + 1
    integers = (digits * _powers(base, dimensions, torch.int64)[1:]).sum(1)
    return integers if base == 2 else integers - (integers > size // 2).to(torch.int64)


def sample_unique_integers(upper: int, count: int, generator: torch.Generator) -> Tensor:
    """Uniform ordered sample without replacement from [0, upper): int64 [count].

    Small sets are shuffled. Otherwise integers are drawn independently and the first occurrence of
    each is kept, in the order of drawing, until there are `count`: every ordered sample is equally
    likely, and time and memory depend on `count` alone.
    Raises ValueError when upper > 2**62 or count is not in [0, upper].
    """
    if not 0 <= upper <= LARGEST_CHECKED_SET:
        raise ValueError(f"upper must be in [0, 2**62], found {upper}")
    if not 0 <= count <= upper:
        raise ValueError(f"count must be in [0, {upper}], the number of integers; found {count}")
    if upper <= max(8 * count, _SHUFFLE_ALL_UP_TO):
        return torch.randperm(upper, generator=generator)[:count]
    unique = _first_occurrences(_draw_integers(upper, count, generator))
    while (missing := count - len(unique)) > 0:
        more = _draw_integers(upper, 2 * missing + 8, generator)
        unique = _first_occurrences(torch.cat([unique, more]))
    return unique[:count]


def _draw_integers(upper: int, count: int, generator: torch.Generator) -> Tensor:
    """Independent uniform integers in [0, upper), int64 [count].

    `torch.randint` takes a remainder, which favours small integers when `upper` is large. Draws
    past the last multiple of `upper` in [0, 2**62) are therefore repeated.
    """
    limit = LARGEST_CHECKED_SET - LARGEST_CHECKED_SET % upper
    draws = torch.randint(LARGEST_CHECKED_SET, (count,), generator=generator)
    while limit < LARGEST_CHECKED_SET and (refused := (draws >= limit).nonzero()).numel():
        draws[refused] = torch.randint(LARGEST_CHECKED_SET, refused.shape, generator=generator)
    return draws % upper


def _first_occurrences(integers: Tensor) -> Tensor:
    """Drop repeats, keeping the order of first appearance."""
    values, order = integers.sort(stable=True)
    repeated = values[1:] == values[:-1]
    if not repeated.any():
        return integers
    keep = torch.ones_like(integers, dtype=torch.bool)
    keep[order[1:][repeated]] = False
    return integers[keep]


@lru_cache(maxsize=256)
def _powers(base: int, dimensions: int, dtype: torch.dtype) -> Tensor:
    """base**d, ..., base, 1: [d + 1]. All but the first are the place values of the digits."""
    return torch.tensor([base**place for place in range(dimensions, -1, -1)], dtype=dtype)


def _components(method: str, integers: Tensor, dimensions: int) -> Tensor:
    """Digits of the integers, most significant first, as components: [N, d].

    Digit k is floor(i / base**k) - base * floor(i / base**(k + 1)). Up to 2**24 this is exact in
    float32, up to 2**53 in float64, and both divide much faster than int64.
    """
    base = _BASES[method]
    if base == 3:
        integers = integers + (integers >= (3**dimensions - 1) // 2)  # step over the zero vector
    if base**dimensions <= 2**53:
        exact = torch.float32 if base**dimensions <= 2**24 else torch.float64
        powers = _powers(base, dimensions, exact)
        quotients = (integers.to(exact)[:, None] / powers).floor_()
    else:
        quotients = integers[:, None] // _powers(base, dimensions, torch.int64)
    digits = torch.sub(quotients[:, 1:], quotients[:, :-1], alpha=base)
    return digits.sub_(1) if base == 3 else digits.mul_(2).sub_(1)


def _checked_size(method: str, dimensions: int) -> int:
    """Size of a sampling set whose vectors can be numbered; ValueError for any other."""
    size = sampling_set_size(method, dimensions)
    if size is None:
        raise ValueError("the normal method is continuous: its vectors have no integers")
    if size > LARGEST_CHECKED_SET:
        raise ValueError(f"{method} in {dimensions} dimensions has {size} vectors, above 2**62")
    return size
