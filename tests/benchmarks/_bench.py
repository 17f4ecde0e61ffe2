"""What the benchmarks share: heading, timing by turns, and peak memory in a process of its own."""

import argparse
import platform
import resource
import statistics
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import torch


def start(default_rounds: int) -> int:
    """Read the options, set the number of threads, say how figures come about; the rounds."""
    parser = argparse.ArgumentParser(description="Nothing is asserted about time.")
    parser.add_argument("--threads", type=int, default=1, help="torch's threads")
    parser.add_argument("--rounds", type=int, default=default_rounds, help="turns of each method")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(
        f"{parser.prog}, Python {platform.python_version()}, torch {torch.__version__}, "
        f"{platform.machine()}, threads {options.threads}; times are {clock().__name__}'s"
    )
    return options.rounds


def clock() -> Callable[[], float]:
    """Processor time, which other programs hardly change; with several threads wall time."""
    return time.process_time if torch.get_num_threads() == 1 else time.perf_counter


def take_turns(
    calls: Mapping[str, Callable[[], object]], rounds: int, repeats: Mapping[str, int] | None = None
) -> dict[str, float]:
    """Seconds a call in the median turn; the methods alternate: all see the same machine."""
    times, now = {name: [] for name in calls}, clock()
    for _ in range(rounds):
        for name, call in calls.items():
            begin, count = now(), repeats[name] if repeats else 1
            for _ in range(count):
                call()
            times[name].append((now() - begin) / count)
    return {name: statistics.median(values) for name, values in times.items()}


def peak() -> float:
    """The largest resident memory of this process so far, in MiB."""
    unit = 2**20 if platform.system() == "Darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def _measure(threads: int, warm_up: Callable[[], object], call: Callable[[], object]):
    torch.set_num_threads(threads)
    warm_up()
    before = peak()
    call()
    return peak() - before, peak()


def peak_memory(warm_up: Callable[[], object], call: Callable[[], object]) -> tuple[float, float]:
    """MiB by which `call` raises ru_maxrss, and ru_maxrss itself, in a fresh process.

    `warm_up` is a small call before, so that the memory of loaded code is not counted as growth.
    Linux hands ru_maxrss on to a new process, so this comes before anything large in the parent.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_measure, torch.get_num_threads(), warm_up, call).result()
