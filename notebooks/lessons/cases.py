"""Random arguments for the exercises' cases: small, and short to write out."""

import random
from collections.abc import Sequence

import torch
from torch import Tensor


def random_formula(
    rng: random.Random, size: int, unary: str = "!X", binary: str = "&U", names: str = "abc"
) -> str:
    """A formula in prefix notation with `size` tokens."""
    if size == 1:
        return rng.choice(names)
    if size == 2 or (unary and rng.random() < 0.4):
        return rng.choice(unary) + random_formula(rng, size - 1, unary, binary, names)
    left = rng.randint(1, size - 2)
    parts = (random_formula(rng, n, unary, binary, names) for n in (left, size - 1 - left))
    return rng.choice(binary) + "".join(parts)


def random_tensor(rng: random.Random, *shape: int) -> Tensor:
    """Numbers from N(0, 1) with one decimal, float [*shape]; never 0, so that no row is."""
    count = 1
    for length in shape:
        count *= length
    numbers = [round(rng.gauss(0, 1), 1) or 0.1 for _ in range(count)]
    return torch.tensor(numbers).reshape(shape)


def chance(rng: random.Random, share: float, values: Sequence) -> list:
    """Each of the values with the given probability, in order."""
    return [value for value in values if rng.random() < share]
