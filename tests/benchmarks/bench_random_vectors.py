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

import os
import platform
import random
import resource
import time
from collections.abc import Callable
from functools import partial
from itertools import product

import torch

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


def seconds(call: Callable[[], object], calls: int = 1) -> float:
    """Mean processor seconds of `calls` calls in a row."""
    start = time.process_time()
    for _ in range(calls):
        call()
    return (time.process_time() - start) / calls


def quickest(count: int, dimensions: int, rounds: int) -> dict[str, float]:
    """Seconds a call of each method in its quickest turn."""
    calls = {name: partial(method, count, dimensions) for name, method in METHODS.items()}
    repeats = {name: 1 + int(BLOCK_SECONDS / seconds(call, 2)) for name, call in calls.items()}
    times = {name: [] for name in METHODS}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(seconds(call, repeats[name]))
    return {name: min(values) for name, values in times.items()}


def warm_up() -> None:
    """Small calls that load the methods' code, so that its memory is not counted as theirs."""
    for method in METHODS.values():
        method(300, 6)
    library(300, 12)


def peak_growth(call: Callable[[], object]) -> float:
    """MiB by which one call raises ru_maxrss, measured in a forked child."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        warm_up()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        call()
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        os.write(writer, str(after - before).encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as pipe:
        return int(pipe.read()) / (2**20 if platform.system() == "Darwin" else 2**10)


def print_memory() -> None:
    print("\npeak memory, MiB above the start (resource.getrusage, ru_maxrss, in a fork)")
    calls = [(name, 1000, 12) for name in METHODS] + [("library", 100_000, 32)]
    for name, count, dimensions in calls:
        growth = peak_growth(partial(METHODS[name], count, dimensions))
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
    torch.set_num_threads(1)
    print(COMMAND)
    print(f"Python {platform.python_version()}, torch {torch.__version__}, {platform.machine()}")
    warm_up()
    print_memory()
    for count in (10, 100, 1000, 6560):
        print_times(count, 8, rounds=15)
    print_times(1000, 12, rounds=3)
    print_library()


if __name__ == "__main__":
    main()
