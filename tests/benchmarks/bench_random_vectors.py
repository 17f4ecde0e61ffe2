"""Time and memory of unique random vectors: the naive method, integer sampling, the library.

    python tests/benchmarks/bench_random_vectors.py

Paper, section "Random embedding generation", and the figure on the runtime of uniqueness checking:
8-dimensional unique vectors from neighboring points. One thread. The methods take turns, each for
about 10 ms of calls in a row; the processor time of the quickest turn is printed, which other work
on the machine disturbs least. Nothing is asserted. Methods:

    naive            list the whole set by itertools.product, without the zero vector; random.sample
    naive, tensors   the same with torch.cartesian_prod and torch.randperm
    integers         random.sample of a range, digits of each integer in Python (the paper's method)
    library          itekit.random_vectors.random_vectors
"""

import random
from collections.abc import Callable
from functools import partial
from itertools import product

import torch
from _bench import peak_memory, seconds, start, take_turns

from itekit.random_vectors import random_vectors

COMMAND = "python tests/benchmarks/bench_random_vectors.py"
GENERATOR = torch.Generator().manual_seed(0)
RANDOM = random.Random(0)
BLOCK_SECONDS = 0.01  # a method's turn lasts about this long


def naive(count: int, dimensions: int) -> torch.Tensor:
    everything = [vector for vector in product((-1, 0, 1), repeat=dimensions) if any(vector)]
    return torch.tensor(RANDOM.sample(everything, count), dtype=torch.float32)


def naive_tensors(count: int, dimensions: int) -> torch.Tensor:
    everything = torch.cartesian_prod(*[torch.tensor([-1.0, 0.0, 1.0])] * dimensions)
    everything = everything[everything.any(1)]
    return everything[torch.randperm(len(everything), generator=GENERATOR)[:count]]


def integer_sampling(count: int, dimensions: int) -> torch.Tensor:
    middle = (3**dimensions - 1) // 2
    vectors = []
    for integer in RANDOM.sample(range(3**dimensions - 1), count):
        integer += integer >= middle
        vectors.append([integer // 3**place % 3 - 1 for place in range(dimensions)])
    return torch.tensor(vectors, dtype=torch.float32)


def library(count: int, dimensions: int) -> torch.Tensor:
    return random_vectors("neighboring_points", count, dimensions, GENERATOR)


METHODS: dict[str, Callable[[int, int], torch.Tensor]] = {
    "naive": naive,
    "naive, tensors": naive_tensors,
    "integers": integer_sampling,
    "library": library,
}


def quickest(count: int, dimensions: int, rounds: int) -> dict[str, float]:
    """Seconds a call of each method in its quickest turn."""
    calls = {name: partial(method, count, dimensions) for name, method in METHODS.items()}
    repeats = {name: 1 + int(BLOCK_SECONDS / seconds(call, 2)) for name, call in calls.items()}
    return {name: min(values) for name, values in take_turns(calls, rounds, repeats).items()}


def warm_up() -> None:
    """Small calls that load the methods' code, so that its memory is not counted as theirs."""
    for method in METHODS.values():
        method(300, 6)
    library(300, 12)


def print_memory() -> None:
    print("\npeak memory in a fresh process, MiB above the start (resource.getrusage, ru_maxrss)")
    calls = [(name, 1000, 12) for name in METHODS] + [("library", 100_000, 32)]
    for name, count, dimensions in calls:
        growth, _ = peak_memory(warm_up, partial(METHODS[name], count, dimensions))
        print(f"  {name:16} {growth:10.1f}   {count} vectors, {dimensions} dimensions")


def print_times(count: int, dimensions: int, rounds: int) -> None:
    print(f"\n{count} neighboring points, {dimensions} dimensions: quickest of {rounds} turns")
    times = quickest(count, dimensions, rounds)
    for name, value in times.items():
        ratio = value / times["library"]
        print(f"  {name:16} {value * 1e3:10.3f} ms   {ratio:8.1f} times the library's")


def print_library() -> None:
    print("\nlibrary alone, quickest of 11 calls")
    for method in ("normal", "neighboring_points", "hypercube_vertices"):
        for count, dimensions, label in [(10, 8, "a training step"), (100_000, 32, "large")]:
            call = partial(random_vectors, method, count, dimensions, GENERATOR)
            value = min(seconds(call) for _ in range(11))
            print(f"  {method:20} {count:6} x {dimensions:2} {value * 1e3:10.3f} ms   {label}")


def main() -> None:
    options = start(COMMAND)
    warm_up()
    print_memory()
    for count in (10, 100, 1000, 6560):
        print_times(count, 8, options.rounds or 15)
    print_times(1000, 12, options.rounds or 3)
    print_library()


if __name__ == "__main__":
    main()
