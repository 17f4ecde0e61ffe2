"""Random vectors: the mapping against brute force, unique and uniform sampling, the limits."""

from collections import Counter
from itertools import permutations, product

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from tiny import seeded

from itekit.random_vectors import (
    METHODS,
    SamplingSetTooSmallError,
    integers_to_vectors,
    random_vectors,
    sample_unique_integers,
    sampling_set_size,
)
from itekit.random_vectors import seeded as seeded_for

FINITE = METHODS[1:]
CHECKED = {"neighboring_points": 39, "hypercube_vertices": 62}  # most dimensions with unique rows


def sampling_set(method: str, dimensions: int) -> list[tuple[int, ...]]:
    """The whole set by brute force, in lexicographic order."""
    components = (-1, 1) if method == "hypercube_vertices" else (-1, 0, 1)
    return [vector for vector in product(components, repeat=dimensions) if any(vector)]


def rows(vectors: torch.Tensor) -> list[tuple[int, ...]]:
    return [tuple(row) for row in vectors.to(torch.int64).tolist()]


def chi_square(observed: list[int], expected: float) -> float:
    return sum((count - expected) ** 2 / expected for count in observed)


# The mapping between integers and vectors


@pytest.mark.parametrize("method", FINITE)
def test_mapping_lists_the_whole_set_in_lexicographic_order(method):
    for dimensions in range(1, 7):
        expected = sampling_set(method, dimensions)
        assert sampling_set_size(method, dimensions) == len(expected)
        vectors = integers_to_vectors(method, torch.arange(len(expected)), dimensions)
        assert vectors.dtype == torch.float32 and rows(vectors) == expected
        drawn = rows(random_vectors(method, len(expected), dimensions, seeded()))
        assert sorted(drawn) == expected and (dimensions < 5 or drawn != expected)


@pytest.mark.parametrize("method", FINITE)
def test_digits_are_exact_up_to_62_bits(method):
    base = 3 if method == "neighboring_points" else 2
    for dimensions in range(1, CHECKED[method] + 1):
        size = sampling_set_size(method, dimensions)
        edges = {k * base**p + e for p in range(dimensions) for k in (1, 2) for e in (-1, 0, 1)}
        integers = sorted(i for i in edges | {size - 1 - i for i in edges} if 0 <= i < size)
        raised = [i + (base == 3 and i >= size // 2) for i in integers]
        digits = [[i // base**p % base for p in reversed(range(dimensions))] for i in raised]
        expected = torch.tensor(digits) - 1 if base == 3 else 2 * torch.tensor(digits) - 1
        vectors = integers_to_vectors(method, torch.tensor(integers), dimensions)
        assert torch.equal(vectors, expected.float())


def test_what_is_outside_the_set_is_refused():
    for integer in (-1, 8):
        with pytest.raises(ValueError, match=rf"\[0, 8\), found {integer}"):
            integers_to_vectors("neighboring_points", torch.tensor([0, integer]), 2)
    for method, dimensions in [*((m, CHECKED[m] + 1) for m in FINITE), ("normal", 2)]:
        with pytest.raises(ValueError, match=f"{method} in {dimensions} dimensions are not numb"):
            integers_to_vectors(method, torch.tensor([0]), dimensions)


# Sampling


@given(st.integers(1, 2**62), st.integers(0, 300), st.integers(0, 2**32))
@example(80_008, 10_000, 0)  # so many repeats that a second round is needed
def test_unique_integers_are_unique_and_in_range(upper, count, seed):
    count = min(upper, count)
    integers = sample_unique_integers(upper, count, seeded(seed))
    assert integers.shape == (count,) and integers.dtype == torch.int64
    assert len(set(integers.tolist())) == count
    assert all(0 <= integer < upper for integer in integers.tolist())


@pytest.mark.parametrize("method", METHODS)
def test_the_generator_decides_everything(method):
    first = random_vectors(method, 20, 9, seeded(7))
    torch.manual_seed(1)
    generator = seeded(7)
    draws = [random_vectors(method, 20, 9, generator) for _ in range(2)]
    assert torch.equal(draws[0], first) and not torch.equal(draws[1], first)
    assert random_vectors(method, 0, 5, generator).shape == (0, 5)
    one, *others = (seeded_for(0, *key).initial_seed() for key in [(1, 5), (1, 6), (2, 5), ()])
    assert one == seeded_for(0, 1, 5).initial_seed() and one not in others


@pytest.mark.parametrize("shuffled", [8192, 0])
def test_ordered_samples_are_equally_likely(shuffled, monkeypatch):
    monkeypatch.setattr("itekit.random_vectors._SHUFFLE_ALL_UP_TO", shuffled)
    generator, upper = seeded(), 5 if shuffled else 17  # 8 · 2 < 17: not shuffled
    samples = Counter(
        tuple(sample_unique_integers(upper, 2, generator).tolist()) for _ in range(6_000)
    )
    orders = list(permutations(range(upper), 2))
    assert set(samples) <= set(orders)
    freedom = len(orders) - 1  # the mean, and half the variance: 6 deviations above
    limit = freedom + 6 * (2 * freedom) ** 0.5
    assert chi_square([samples[order] for order in orders], 6_000 / len(orders)) < limit


def test_large_sets_are_uniform_too():
    # A remainder of 64 random bits by 3**39 would make the lowest fifth a quarter more likely.
    upper = 3**39 - 1
    integers = sample_unique_integers(upper, 50_000, seeded())
    tenths = torch.bincount((integers.double() / upper * 10).long(), minlength=10)
    assert chi_square(tenths.tolist(), 5_000) < 50  # 9 degrees of freedom


@pytest.mark.parametrize("method", FINITE)
@pytest.mark.parametrize("beyond", [0, 1])
def test_every_value_appears_in_every_component_at_the_62_bit_boundary(method, beyond):
    dimensions = CHECKED[method] + beyond
    assert (sampling_set_size(method, dimensions) <= 2**62) == (beyond == 0)
    vectors = random_vectors(method, 3_000, dimensions, seeded())
    assert vectors.any(1).all() and vectors.unique(dim=0).shape == (3_000, dimensions)
    values = [-1, 0, 1] if method == "neighboring_points" else [-1, 1]
    shares = torch.stack([(vectors == value).double().mean(0) for value in values])
    assert torch.allclose(shares, torch.full_like(shares, 1 / len(values)), atol=0.06)


def test_normal_vectors_have_mean_0_and_variance_1():
    vectors = random_vectors("normal", 20_000, 4, seeded())
    assert vectors.mean(0).abs().max() < 0.05 and (vectors.var(0) - 1).abs().max() < 0.05


def test_errors_name_the_method_the_sizes_and_the_remedy():
    message = "neighboring_points in 2 dimensions holds 8 vectors, but 27 unique .* at least 4"
    with pytest.raises(SamplingSetTooSmallError, match=message):  # 3**3 - 1 = 26 is one too few
        random_vectors("neighboring_points", 27, 2, seeded())
    for method, count, dimensions, message in [
        ("cube", 1, 2, "unknown method 'cube': expected one of normal"),
        ("normal", 1, 0, "dimensions of normal must be 1 to 65,536, found 0"),
        ("neighboring_points", 1, 30_000_000, "must be 1 to 65,536, found 30000000"),  # no 3**d
        ("normal", -1, 2, "count must be 0 or more, found -1"),
    ]:
        with pytest.raises(ValueError, match=message):
            random_vectors(method, count, dimensions, seeded())
    for upper, count in [(3, 4), (3, -1), (2**62 + 1, 1)]:
        with pytest.raises(ValueError, match="must be in"):
            sample_unique_integers(upper, count, seeded())
