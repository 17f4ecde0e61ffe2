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
vectors the digits are drawn directly: the probability that two of n vectors coincide, or that one
is zero, is below n**2 / 2**63.

Shapes: N vectors (or integers), d dimensions.
"""

import itertools

import numpy as np
import torch
from torch import Tensor

METHODS = ("normal", "neighboring_points", "hypercube_vertices")
LARGEST_NUMBERED_SET = 2**62
MOST_DIMENSIONS = 65_536  # far wider than any model; the size of a set is still quickly counted

_VALUES = {  # digit -> component
    "neighboring_points": torch.tensor([-1.0, 0.0, 1.0]),
    "hypercube_vertices": torch.tensor([-1.0, 1.0]),
}
_SHUFFLE_ALL_UP_TO = 8192  # sets this small are shuffled whole: cheaper than looking for repeats


def seeded(seed: int, *stream: int, device: str | torch.device = "cpu") -> torch.Generator:
    """A generator for one purpose; `stream` numbers the purpose, as the constants of `training`."""
    state = np.random.SeedSequence([seed, *stream]).generate_state(1, np.uint64)[0]
    return torch.Generator(device).manual_seed(int(state >> 1))  # a seed has 63 bits


class SamplingSetTooSmallError(ValueError):
    """More unique vectors were asked for than the sampling set holds."""


def sampling_set_size(method: str, dimensions: int) -> int | None:
    """Number of vectors in the sampling set, or None where it is continuous."""
    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}: expected one of {', '.join(METHODS)}")
    if not 1 <= dimensions <= MOST_DIMENSIONS:
        known = f"1 to {MOST_DIMENSIONS:,}"
        raise ValueError(f"dimensions of {method} must be {known}, found {dimensions}")
    if method == "neighboring_points":
        return 3**dimensions - 1
    return 2**dimensions if method == "hypercube_vertices" else None


def fewest_dimensions(method: str, count: int) -> int:
    """The fewest dimensions whose (finite) sampling set holds `count` vectors."""
    return next(d for d in itertools.count(1) if sampling_set_size(method, d) >= count)


def check_set_size(method: str, dimensions: int, count: int) -> None:
    """SamplingSetTooSmallError when the sampling set holds fewer than `count` vectors."""
    size = sampling_set_size(method, dimensions)
    if size is not None and count > size:
        raise SamplingSetTooSmallError(
            f"{method} in {dimensions} dimensions holds {size} vectors, but {count} unique ones "
            f"were asked for; at least {fewest_dimensions(method, count)} dimensions are needed"
        )


def random_vectors(method: str, count: int, dimensions: int, generator: torch.Generator) -> Tensor:
    """Draw `count` vectors uniformly from the method's sampling set: float32 [count, dimensions].

    Rows are unique when the set is finite and has at most 2**62 elements; they are not normalised.
    `generator` is a CPU generator. SamplingSetTooSmallError when the set holds fewer vectors.
    """
    size = sampling_set_size(method, dimensions)
    if count < 0:
        raise ValueError(f"count must be 0 or more, found {count}")
    if method == "normal":
        return torch.randn(count, dimensions, generator=generator)
    check_set_size(method, dimensions, count)
    if size <= LARGEST_NUMBERED_SET:
        return _vectors(method, sample_unique_integers(size, count, generator), dimensions)
    values = _VALUES[method]
    return values[torch.randint(len(values), (count, dimensions), generator=generator)]


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
    unique, missing = torch.empty(0, dtype=torch.int64), count
    while len(unique) < count:
        # randint takes a remainder, which favours small integers where upper is as large as this:
        # so draws at or above the last multiple of upper are drawn again.
        draws, limit = torch.randint(most, (missing,), generator=generator), most - most % upper
        while limit < most and (refused := (draws >= limit).nonzero()).numel():
            draws[refused] = torch.randint(most, refused.shape, generator=generator)
        unique = torch.cat([unique, draws % upper])
        values, order = unique.sort(stable=True)
        if (repeated := values[1:] == values[:-1]).any():
            keep = torch.ones_like(unique, dtype=torch.bool)
            keep[order[1:][repeated]] = False
            unique = unique[keep]
        missing = 2 * (count - len(unique)) + 8
    return unique[:count]


def integers_to_vectors(method: str, integers: Tensor, dimensions: int) -> Tensor:
    """The vectors that int64 [N] number: float32 [N, d].

    ValueError for other integers, and for a sampling set whose vectors have no numbers.
    """
    size = sampling_set_size(method, dimensions)
    if size is None or size > LARGEST_NUMBERED_SET:
        raise ValueError(f"the vectors of {method} in {dimensions} dimensions are not numbered")
    if len(outside := integers[(integers < 0) | (integers >= size)]):
        raise ValueError(f"integers of {method} must be in [0, {size}), found {outside[0].item()}")
    return _vectors(method, integers, dimensions)


def _vectors(method: str, integers: Tensor, dimensions: int) -> Tensor:
    """`integers_to_vectors` of integers that are known to be in range, without looking at them."""
    values = _VALUES[method]
    if len(values) == 3:
        integers = integers + (integers >= 3**dimensions // 2)  # step over the zero vector
    powers = torch.tensor([len(values) ** place for place in reversed(range(dimensions))])
    return values[integers[:, None] // powers % len(values)]
