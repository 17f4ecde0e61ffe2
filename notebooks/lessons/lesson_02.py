"""Exercises of notebook 02: integers and vectors, unique draws, large enough sets."""

import math
import random
from itertools import count as count_up

import torch

from itekit.random_vectors import (
    integers_to_vectors,
    random_vectors,
    sampling_set_size,
    vectors_to_integers,
)
from lessons.exercises import Exercise, many

POINTS, CORNERS = "neighboring_points", "hypercube_vertices"


def _integer_of(vector):
    return vectors_to_integers(POINTS, torch.tensor([vector]))[0].item()


def _base_three(vector):
    return sum((component + 1) * 3**k for k, component in enumerate(reversed(vector)))


def _vector(rng):
    d = rng.randint(1, 5)
    integer = torch.tensor([rng.randrange(3**d - 1)])
    return (integers_to_vectors(POINTS, integer, d)[0].int().tolist(),)


check_integer_of = Exercise("integer_of", _integer_of, many(40, _vector))
check_integer_of.mistakes = {
    _base_three: "the digits are read right, but the integers step over the zero vector: beyond "
    "its place each vector has an integer that is one smaller.",
    lambda vector: _integer_of(vector[::-1]): "the first component is the most significant digit.",
}


class _Seeded(random.Random):
    """A random.Random that shows its seed, so that a case can be tried by hand."""

    def __init__(self, seed=0):
        super().__init__(seed)
        self.start = seed

    def __reduce__(self):
        return _Seeded, (self.start,), self.getstate()

    def __repr__(self):
        return f"random.Random({self.start})"


def _draw(count, d, rng):
    generator = torch.Generator().manual_seed(rng.randrange(2**31))
    return random_vectors(POINTS, count, d, generator).int()


def _judge_draw(answer, count, d, rng):
    if not isinstance(answer, list):
        return f"expected a list of {count} lists, found a value of type {type(answer).__name__}"
    if len(answer) != count:
        return f"expected {count} vectors, found {len(answer)}"
    for i, vector in enumerate(answer):
        if len(vector) != d or set(vector) - {-1, 0, 1}:
            return f"vector {i} should have {d} components -1, 0 or 1, and is {vector}"
        if not any(vector):
            return f"vector {i} is the zero vector, which has no direction"
        if (first := answer.index(vector)) < i:
            return f"vectors {first} and {i} are the same: two tokens look alike"
    if count > 1 and rng.getstate() == random.Random(rng.start).getstate():
        return "rng was not asked for anything: the vectors have to be drawn with it"
    return None


def _size(rng):
    d = rng.randint(1, 4)
    return rng.randint(1, min(30, 3**d - 1)), d, _Seeded(rng.randrange(1000))


def _nothing_stepped_over(count, d, rng):
    integers = rng.sample(range(3**d - 1), count)
    return [[i // 3**k % 3 - 1 for k in reversed(range(d))] for i in integers]


check_draw = Exercise("draw", _draw, many(60, _size), judge=_judge_draw)
check_draw.mistakes = {
    lambda count, d, rng: [[rng.choice((-1, 0, 1)) for _ in range(d)] for _ in range(count)]: (
        "every component is drawn by itself. Draw integers without replacement, and turn them "
        "into vectors."
    ),
    _nothing_stepped_over: "the integers are different, but nothing steps over the one whose "
    "digits are all 1.",
}


def _logarithm(count, base, rounded=math.ceil):
    return max(1, rounded(math.log(count, base) - 1e-9))


EDGES = [(POINTS, 3**d - 1 + k) for d in (1, 2, 3, 5) for k in (0, 1)]
EDGES += [(CORNERS, 2**d + k) for d in (1, 2, 5) for k in (0, 1)]

check_dimensions = Exercise(
    "dimensions",
    lambda method, count: next(d for d in count_up(1) if sampling_set_size(method, d) >= count),
    many(30, lambda rng: (rng.choice((POINTS, CORNERS)), rng.randint(2, 2000)), *EDGES),
)
check_dimensions.mistakes = {
    lambda method, count: _logarithm(count, 3 if method == POINTS else 2, math.floor): "the "
    "logarithm is rounded down, and the set is too small: round up.",
    lambda method, count: _logarithm(count, 3 if method == POINTS else 2): "neighboring points "
    "lack the zero vector: d dimensions hold 3^d - 1 of them.",
}
