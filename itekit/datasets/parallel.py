"""One function over many items on all cores, each item within a limit of CPU seconds.

An executor takes chunks of items and yields their answers as the chunks are done.  `LocalExecutor`
(here) has a thread for each core, each with a `LimitedWorker` of its own;
`dask_executor.DaskExecutor` sends the same chunks to a cluster.  Which executor it is, and how many
workers it has, changes nothing in the answers.
"""

import os
import queue
import threading
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from tqdm import tqdm

from itekit.datasets.limited import LimitedWorker

CHUNK = 500


class Chunk(NamedTuple):
    """A finished chunk: its number, its answers in order, and the CPU seconds that it took."""

    number: int
    answers: list
    spent: float


class Executor(Protocol):
    """What runs chunks.

    Attributes:
        workers: how many chunks run at a time.
    """

    workers: int

    def run(self, task: str, chunks: Sequence[list], cpu_seconds: float) -> Iterator[Chunk]:
        """The chunks as they finish, in any order; raises TaskError as `LimitedWorker.map`."""

    def close(self) -> None:
        """End the workers that the executor started."""

    def __enter__(self):
        return self

    def __exit__(self, *_) -> None:
        self.close()


def default_workers() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class LocalExecutor(Executor):
    """Chunks on this machine: one thread and one child process for each worker.

    Args:
        workers: default: the number of cores.

    Raises:
        ValueError: less than one worker.
    """

    def __init__(self, workers: int | None = None):
        self.workers = default_workers() if workers is None else workers
        if self.workers < 1:
            raise ValueError(f"workers must be 1 or more, found {workers}")
        self._processes: dict[tuple[str, float], list[LimitedWorker]] = {}

    def run(self, task: str, chunks: Sequence[list], cpu_seconds: float) -> Iterator[Chunk]:
        """The chunks as they finish, in any order.

        Raises:
            TaskError: as `LimitedWorker.map`; the other chunks are given up.
        """
        key = task, cpu_seconds
        processes = self._processes.pop(key, [])
        while len(processes) < self.workers:
            processes.append(LimitedWorker(task, cpu_seconds))
        waiting, done = queue.SimpleQueue(), queue.SimpleQueue()
        for numbered in enumerate(chunks):
            waiting.put(numbered)
        threads = [
            threading.Thread(target=_work, args=(process, waiting, done), daemon=True)
            for process in processes[: len(chunks)]
        ]
        try:
            for thread in threads:
                thread.start()
            for _ in chunks:
                if isinstance(result := done.get(), Exception):
                    raise result
                yield result
            self._processes[key] = processes
        finally:
            if key not in self._processes:  # an error, Ctrl-C, or nobody reads on
                for process in processes:
                    process.stop()
            for thread in threads:
                thread.join()
            if key not in self._processes:
                for process in processes:
                    process.close()

    def close(self) -> None:
        """End the child processes."""
        for processes in self._processes.values():
            for process in processes:
                process.close()
        self._processes.clear()


def _work(worker: LimitedWorker, waiting: queue.SimpleQueue, done: queue.SimpleQueue) -> None:
    """A thread: take chunks until there are none, or one fails."""
    while True:
        try:
            number, items = waiting.get_nowait()
        except queue.Empty:
            return
        before = worker.spent
        try:
            answers = list(worker.map(items))
        except Exception as error:  # raised again where the results are read
            done.put(error)
            return
        done.put(Chunk(number, answers, worker.spent - before))


_here = threading.local()


def run_chunk(task: str, items: list, cpu_seconds: float) -> tuple[list, float]:
    """Answers and CPU seconds of one chunk, by a child process that this thread keeps.

    Raises:
        TaskError: as `LimitedWorker.map`.
    """
    key = task, cpu_seconds
    if getattr(_here, "key", None) != key:
        if hasattr(_here, "worker"):
            _here.worker.close()
        _here.worker, _here.key = LimitedWorker(task, cpu_seconds), key
    before = _here.worker.spent
    return list(_here.worker.map(items)), _here.worker.spent - before


def cut(items: Sequence, size: int) -> list[list]:
    """The items in chunks of `size`, the last one shorter."""
    return [list(items[start : start + size]) for start in range(0, len(items), size)]


def progress_bar(total: int, progress: str | None, description: str = "", unit: str = "") -> tqdm:
    """A bar on the error stream if `progress` is "text", none if it is None.

    Raises:
        ValueError: `progress` is something else.
    """
    if progress not in ("text", None):
        raise ValueError(f'progress must be "text" or None, found {progress!r}')
    return tqdm(total=total, desc=description, unit=unit, disable=progress is None)


def map_limited(
    task: str,
    items: Sequence,
    *,
    cpu_seconds: float,
    workers: int | None = None,
    chunk: int | None = None,
    progress: str | None = None,
    executor: Executor | None = None,
) -> list:
    """Apply a function to every item on all cores; the answers in the order of the items.

    Args:
        task: "module:function"; the function takes one JSON value and returns one.
        cpu_seconds: limit for each item; an item that uses it up gets `TIME_OUT`.
        workers: default: the number of cores.
        chunk: items handed out at a time; default: what keeps all workers busy, at most 500.
        progress: "text" for a progress bar.
        executor: what runs the chunks, instead of processes that start and end with the call.

    Raises:
        TaskError: the function raised an error, or its process died twice on an item.
        ValueError: a limit, `workers` or `chunk` that is not above 0, or an unknown `progress`.
    """
    own = LocalExecutor(workers) if executor is None else None
    executor = executor or own
    size = min(CHUNK, -(-len(items) // (8 * executor.workers)) or 1) if chunk is None else chunk
    if size < 1:
        raise ValueError(f"chunk must be 1 or more, found {chunk}")
    chunks = cut(items, size)
    answers: list[list] = [[]] * len(chunks)
    try:
        with progress_bar(len(items), progress) as bar:
            for done in executor.run(task, chunks, cpu_seconds):
                answers[done.number] = done.answers
                bar.update(len(done.answers))
    finally:
        if own:
            own.close()
    return [answer for part in answers for answer in part]
