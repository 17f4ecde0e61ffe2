"""Time and memory of unique random vectors: the naive method, integer sampling, the library.

    python tests/benchmarks/bench_random_vectors.py

Paper, section "Random embedding generation", and the figure on the runtime of uniqueness checking:
8-dimensional unique vectors from neighboring points. The methods take turns:

    naive            list the whole set by itertools.product, without the zero vector; random.sample
    integers         random.sample of a range, digits of each integer in Python (the paper's method)
    library          itekit.random_vectors.random_vectors
"""

import random
from functools import partial
from itertools import product

import torch
from _bench import peak_memory, start, take_turns

from itekit.random_vectors import random_vectors

GENERATOR, RANDOM = torch.Generator().manual_seed(0), random.Random(0)


def naive(count: int, dimensions: int) -> torch.Tensor:
    everything = [vector for vector in product((-1, 0, 1), repeat=dimensions) if any(vector)]
    return torch.tensor(RANDOM.sample(everything, count), dtype=torch.float32)


def integer_sampling(count: int, dimensions: int) -> torch.Tensor:
    middle = (3**dimensions - 1) // 2
    vectors = []
    for integer in RANDOM.sample(range(3**dimensions - 1), count):
        integer += integer >= middle
        vectors.append([integer // 3**place % 3 - 1 for place in range(dimensions)])
    return torch.tensor(vectors, dtype=torch.float32)


def library(count: int, dimensions: int) -> torch.Tensor:
    return random_vectors("neighboring_points", count, dimensions, GENERATOR)


METHODS = {"naive": naive, "integers": integer_sampling, "library": library}
REPEATS = {"naive": 5, "integers": 5, "library": 50}  # calls in a turn


def warm_up() -> None:
    """Small calls that load the methods' code, so that its memory is not counted as theirs."""
    for method in METHODS.values():
        method(300, 6)
    library(300, 12)


def main() -> None:
    rounds = start(15)
    warm_up()
    print("\npeak memory in a fresh process, MiB above the start (resource.getrusage, ru_maxrss)")
    for name, count, dimensions in [(m, 1000, 12) for m in METHODS] + [("library", 100_000, 32)]:
        growth, _ = peak_memory(warm_up, partial(METHODS[name], count, dimensions))
        print(f"  {name:16} {growth:10.1f}   {count} vectors, {dimensions} dimensions")
    for count in (10, 100, 1000, 6560):
        print(f"\n{count} neighboring points, 8 dimensions: median of {rounds} turns")
        calls = {name: partial(method, count, 8) for name, method in METHODS.items()}
        times = take_turns(calls, rounds, REPEATS)
        for name, value in times.items():
            ratio = value / times["library"]
            print(f"  {name:16} {value * 1e3:10.3f} ms   {ratio:8.1f} times the library's")


if __name__ == "__main__":
    main()
