"""Random vectors: the mapping against brute force, unique and uniform sampling, the limits."""

from collections import Counter
from itertools import permutations, product

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from itekit.random_vectors import (
    METHODS,
    SamplingSetTooSmallError,
    integers_to_vectors,
    random_vectors,
    sample_unique_integers,
    sampling_set_size,
    vectors_to_integers,
)
from itekit.random_vectors import seeded as seeded_for

FINITE = METHODS[1:]
CHECKED = {"neighboring_points": 39, "hypercube_vertices": 62}  # most dimensions with unique rows


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


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
@pytest.mark.parametrize("dimensions", range(1, 7))
def test_mapping_lists_the_whole_set_in_lexicographic_order(method, dimensions):
    expected = sampling_set(method, dimensions)
    assert sampling_set_size(method, dimensions) == len(expected)
    integers = torch.arange(len(expected))
    vectors = integers_to_vectors(method, integers, dimensions)
    assert vectors.dtype == torch.float32
    assert rows(vectors) == expected
    assert torch.equal(vectors_to_integers(method, vectors), integers)


def test_mapping_follows_the_papers_digits():
    # 5 = 101 in base 2; 3 stays 3 = 10 in base 3; 4 = i_z for two dimensions, so it becomes 5 = 12.
    assert rows(integers_to_vectors("hypercube_vertices", torch.tensor([5]), 3)) == [(1, -1, 1)]
    vectors = integers_to_vectors("neighboring_points", torch.tensor([3, 4]), 2)
    assert rows(vectors) == [(0, -1), (0, 1)]


@pytest.mark.parametrize("method", FINITE)
def test_every_integer_type_on_the_way_is_exact(method):
    """Digits by Python integers, at and around the sizes where the arithmetic changes its type."""
    base = 3 if method == "neighboring_points" else 2
    for dimensions in range(1, CHECKED[method] + 1):
        size = sampling_set_size(method, dimensions)
        edges = {k * base**p + e for p in range(dimensions) for k in (1, 2) for e in (-1, 0, 1)}
        integers = sorted(i for i in edges | {size - 1 - i for i in edges} if 0 <= i < size)
        raised = [i + (base == 3 and i >= size // 2) for i in integers]
        digits = [[i // base**p % base for p in reversed(range(dimensions))] for i in raised]
        expected = torch.tensor(digits) - 1 if base == 3 else 2 * torch.tensor(digits) - 1
        found = integers_to_vectors(method, torch.tensor(integers), dimensions)
        assert torch.equal(found, expected.float())
        assert torch.equal(vectors_to_integers(method, found), torch.tensor(integers))


def test_what_is_outside_the_set_is_refused():
    for integer in (-1, 8):
        with pytest.raises(ValueError, match=rf"\[0, 8\), found {integer}"):
            integers_to_vectors("neighboring_points", torch.tensor([0, integer]), 2)
    for method, row in [
        ("neighboring_points", [0.0, 0.0]),
        ("neighboring_points", [float("nan"), 1.0]),
        ("hypercube_vertices", [0.0, 1.0]),
    ]:
        with pytest.raises(ValueError, match="row 1 is not in"):
            vectors_to_integers(method, torch.tensor([[1.0, -1.0], row]))
    for method in FINITE:
        with pytest.raises(ValueError, match=r"above 2\*\*62"):
            integers_to_vectors(method, torch.tensor([0]), CHECKED[method] + 1)
    with pytest.raises(ValueError, match="continuous"):
        integers_to_vectors("normal", torch.tensor([0]), 2)


# Sampling


@pytest.mark.parametrize("method", FINITE)
@pytest.mark.parametrize("dimensions", [1, 2, 5, 7, 8])
def test_asking_for_the_whole_set_gives_the_whole_set(method, dimensions):
    expected = sampling_set(method, dimensions)
    drawn = rows(random_vectors(method, len(expected), dimensions, seeded()))
    assert sorted(drawn) == expected
    assert dimensions < 5 or drawn != expected  # in random order


@given(st.integers(1, 2**62), st.integers(0, 300), st.integers(0, 2**32))
@example(80_008, 10_000, 0)  # so many repeats that a second round is needed
def test_unique_integers_are_unique_and_in_range(upper, count, seed):
    count = min(upper, count)
    integers = sample_unique_integers(upper, count, seeded(seed))
    assert integers.shape == (count,) and integers.dtype == torch.int64
    assert len(set(integers.tolist())) == count
    assert all(0 <= integer < upper for integer in integers.tolist())


def test_a_seed_has_different_generators_for_different_purposes():
    first, *others = (seeded_for(0, *key).initial_seed() for key in [(1, 5), (1, 6), (2, 5), ()])
    assert first == seeded_for(0, 1, 5).initial_seed() and first not in others


@pytest.mark.parametrize("method", METHODS)
def test_the_generator_decides_everything(method):
    first = random_vectors(method, 20, 9, seeded(7))
    torch.manual_seed(1)
    assert torch.equal(first, random_vectors(method, 20, 9, seeded(7)))
    assert not torch.equal(first, random_vectors(method, 20, 9, seeded(8)))
    generator = seeded(7)
    draws = [random_vectors(method, 20, 9, generator) for _ in range(2)]
    assert torch.equal(draws[0], first) and not torch.equal(draws[1], first)
    assert random_vectors(method, 0, 5, generator).shape == (0, 5)


def test_ordered_samples_are_equally_likely():
    samples = Counter()
    generator = seeded()
    for _ in range(6_000):
        samples[tuple(sample_unique_integers(5, 3, generator).tolist())] += 1
    orders = list(permutations(range(5), 3))
    assert set(samples) <= set(orders)
    # 59 degrees of freedom: mean 59, standard deviation 11; the limit is 7 deviations above.
    assert chi_square([samples[order] for order in orders], 100) < 135


def test_rejection_is_uniform_at_every_place_in_the_order(monkeypatch):
    monkeypatch.setattr("itekit.random_vectors._SHUFFLE_ALL_UP_TO", 0)
    generator = seeded()
    draws = torch.stack([sample_unique_integers(25, 3, generator) for _ in range(5_000)])
    for place in range(3):
        # 24 degrees of freedom: mean 24, standard deviation 7.
        assert chi_square(torch.bincount(draws[:, place], minlength=25).tolist(), 200) < 70
    first_is_smaller = (draws[:, 0] < draws[:, 1]).double().mean().item()
    assert first_is_smaller == pytest.approx(0.5, abs=0.05)


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
    base = 3 if method == "neighboring_points" else 2
    assert (sampling_set_size(method, dimensions) <= 2**62) == (beyond == 0)
    vectors = random_vectors(method, 3_000, dimensions, seeded())
    if not beyond:  # still by integers, so still checked
        integers = sample_unique_integers(sampling_set_size(method, dimensions), 3_000, seeded())
        assert torch.equal(vectors, integers_to_vectors(method, integers, dimensions))
    assert vectors.any(1).all()
    assert vectors.unique(dim=0).shape == (3_000, dimensions)
    values = [-1, 0, 1] if base == 3 else [-1, 1]
    shares = torch.stack([(vectors == value).double().mean(0) for value in values])
    assert torch.allclose(shares, torch.full_like(shares, 1 / base), atol=0.06)
    assert torch.allclose(shares.sum(0), torch.ones(dimensions, dtype=torch.float64))


def test_beyond_62_bits_a_zero_vector_is_redrawn(monkeypatch):
    ones = torch.ones(1, 40, dtype=torch.int64)
    draws = iter([torch.cat([ones, 0 * ones, -ones]), 0 * ones, ones])
    monkeypatch.setattr(torch, "randint", lambda *_, **__: next(draws))
    vectors = random_vectors("neighboring_points", 3, 40, seeded())
    assert torch.equal(vectors, torch.cat([ones, ones, -ones]).float())


def test_normal_vectors_have_mean_0_and_variance_1():
    vectors = random_vectors("normal", 20_000, 4, seeded(), dtype=torch.float64)
    assert vectors.dtype == torch.float64
    assert vectors.mean(0).abs().max() < 0.05
    assert (vectors.var(0) - 1).abs().max() < 0.05


# Errors


def test_too_many_vectors_name_the_method_the_sizes_and_the_remedy():
    message = "neighboring_points in 2 dimensions holds 8 vectors, but 27 unique .* at least 4"
    with pytest.raises(SamplingSetTooSmallError, match=message) as caught:
        random_vectors("neighboring_points", 27, 2, seeded())
    assert caught.value.smallest_dimensions == 4  # 3**3 - 1 = 26 is one too few
    with pytest.raises(SamplingSetTooSmallError, match="at least 3"):
        random_vectors("hypercube_vertices", 5, 2, seeded())
    for method, count, dimensions, message in [
        ("cube", 1, 2, "unknown method 'cube'; expected one of normal"),
        ("normal", 1, 0, "dimensions must be 1 or more, found 0"),
        ("normal", -1, 2, "count must be 0 or more, found -1"),
    ]:
        with pytest.raises(ValueError, match=message):
            random_vectors(method, count, dimensions, seeded())
    for upper, count in [(3, 4), (3, -1), (2**62 + 1, 1)]:
        with pytest.raises(ValueError, match="must be in"):
            sample_unique_integers(upper, count, seeded())
