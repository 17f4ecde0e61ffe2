"""Run a function on many items in a pool of processes, with a CPU-time limit for each item.

A call into C++ (Spot, a SAT solver) cannot be interrupted by a Python signal handler. So items run
in the processes of a Pebble pool, and the kernel ends a process whose item has used up its CPU
seconds; Pebble starts another. CPU seconds, because a busy machine must not change which items time
out. An item that hangs without using any is ended by Pebble's clock.

A script that uses a pool needs `if __name__ == "__main__":`, as always with Python's processes.

On more machines, a chunk of items is a Dask task (https://distributed.dask.org) that runs in a
Pebble pool there; Dask's workers need this package. On SLURM, `dask_jobqueue.SLURMCluster` starts
them. By hand:

    dask scheduler                                             # prints its address
    dask worker tcp://HOST:8786 --nworkers 8 --nthreads 1      # on each machine
    python -m itekit generate ltl35 --scale paper --dask tcp://HOST:8786
"""

import atexit
import multiprocessing
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, closing, suppress
from functools import cache
from itertools import islice
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

from tqdm import tqdm

from itekit.tasks.verdicts import TIME_OUT

AHEAD = 4  # chunks that are submitted for each worker
CHUNK = 50  # items in a chunk at most
SHARE = 0.1  # of an item's limit for a whole chunk; if it takes longer, its items run one by one
MIN_WALL_SECONDS = 60.0  # by the clock, for an item that has a limit
RETRIES = 3  # attempts for an item whose worker dies
CONNECT_TIMEOUT = 10.0  # seconds for a Dask scheduler to answer
NO_WORKER_TIMEOUT = 60.0  # seconds that a Dask cluster may be without workers


class TaskError(RuntimeError):
    """The function failed for an item: the message names the item and the reason."""


class Pool(AbstractContextManager):
    """Worker processes, which stay for the next `run`. Use it in `with`.

    Args:
        workers: processes on this machine; default: the number of cores.
        client: a `distributed.Client`, whose workers take their place; it stays open.
    """

    def __init__(self, workers: int | None = None, client=None):
        if client:
            client.wait_for_workers(1, NO_WORKER_TIMEOUT)
        self.workers = sum(client.nthreads().values()) if client else workers or cores()
        self.client, self._pool = client, None

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        """End the processes; a cluster stays."""
        if self._pool:
            self._pool.stop()
            self._pool.join()
            self._pool = None

    def run(
        self,
        function: Callable,
        items: Iterable,
        *,
        unpack: bool = False,
        limit: float | None = None,
        keep_errors: bool = False,
        count: int = 0,
    ) -> Iterator:
        """Yield the function's result for each item, in order; only a few items are read ahead.

        Without a limit and with one worker, everything runs in this process.

        Args:
            unpack: call `function(*item)` instead of `function(item)`.
            limit: CPU seconds for an item; one that takes longer yields `TIME_OUT`.
            keep_errors: yield the TaskError of an item in place of its result, and go on.
            count: about how many items there are, if `items` has no length.

        Raises:
            TaskError: the function raised an error, or its process died again and again.
            ValueError: workers cannot import the function (see `importable`).
            RuntimeError: a script without `if __name__ == "__main__":`.
            TimeoutError: a cluster without workers.
        """
        job = function, unpack, limit
        if self.client or limit or self.workers > 1:
            if not importable(function):
                raise ValueError(f"workers cannot import {function}: put it in a module")
            if limit and hasattr(items, "__len__"):  # else items are long jobs
                count = len(items)
            size = max(1, min(CHUNK, count // (8 * self.workers)))  # all workers should be busy
            results = self._elsewhere(job, iter(items), size)
        else:
            results = (_result(*job, item) for item in items)
        with closing(results):
            for result in results:
                if isinstance(result, TaskError) and not keep_errors:
                    raise result
                yield result

    def _elsewhere(self, job: tuple, items: Iterator, size: int) -> Iterator:
        """The results of other processes, TIME_OUT and TaskErrors among them."""
        waiting = deque()
        try:
            while True:
                while len(waiting) < AHEAD * self.workers and (chunk := list(islice(items, size))):
                    waiting.append((chunk, self._submit(job, chunk)))
                if not waiting:
                    return
                yield from self._results(job, *waiting[0])
                waiting.popleft()
        finally:  # after an error, Ctrl-C, or when the reader stops early, some are left
            if waiting and self.client:
                self.client.cancel([future for _, future in waiting])
            elif waiting:
                self.close()

    def _submit(self, job: tuple, chunk: list):
        if self.client:
            return self.client.submit(_in_dask_worker, job, chunk, pure=False)
        if self._pool is None or not self._pool.active:  # not active: its workers were killed
            self.close()
            self._pool = _start(self.workers)
        wall = job[-1] and max(MIN_WALL_SECONDS, 30 * job[-1])
        return self._pool.schedule(_work, args=(job, chunk), timeout=wall)

    def _results(self, job: tuple, chunk: list, future, attempt: int = 1) -> Iterator:
        """The results of a chunk; if its process ended, of each of its items by itself."""
        while self.client and not _has_ended(future):
            self.client.wait_for_workers(1, NO_WORKER_TIMEOUT)
        try:
            results = future.result(1 if self.client else None)
        except (Exception, CancelledError) as error:
            cpu = getattr(error, "exitcode", None) == -signal.SIGPROF
            late = cpu or isinstance(error, TimeoutError)
            if len(chunk) > 1 or (attempt < RETRIES and not late):
                for single, again in [([item], self._submit(job, [item])) for item in chunk]:
                    yield from self._results(job, single, again, attempt + (not late))
                return
            results = [TIME_OUT if late else _task_error(chunk[0], error)]
        yield from results


def run(
    function: Callable, items: Iterable, *, workers: int | None = None, client=None, **options
) -> Iterator:
    """`Pool.run` with a pool that lasts for this call."""
    with Pool(workers, client) as pool:
        yield from pool.run(function, items, **options)


def check_all(
    check: Callable, items: Iterable[Sequence], *, cpu_seconds=10.0, progress=False
) -> list[str]:
    """The verdict on each (problem, answer[, label]), in order (see `itekit.tasks.verdicts`).

    A check that workers can import (see `importable`) runs there, with a limit of CPU seconds: an
    answer that takes longer gets "time-out". Any other is called in this process, without a limit.
    The workers stay for the next call: to start one may mean to import torch.
    `progress` shows a bar in a terminal. TaskError names an item that workers cannot check.
    """
    items = list(items)
    if importable(check):
        verdicts = _checkers().run(check, items, unpack=True, limit=cpu_seconds)
    else:
        verdicts = (check(*item) for item in items)
    return list(tqdm(verdicts, total=len(items), disable=None if progress else True))


@cache
def _checkers() -> Pool:
    pool = Pool()
    atexit.register(pool.close)
    return pool


def importable(function: Callable) -> bool:
    """Whether workers can import the function: a module's, a method, or a partial of these.

    Not so a lambda, a function inside another one, and what a script or a notebook defines.
    """
    with suppress(Exception):
        return b"__main__" not in bytes(ForkingPickler.dumps(function))
    return False


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def cluster(address: str):
    """A `distributed.Client` of the scheduler at `address`, or OSError; use it in `with`."""
    from distributed import Client

    return Client(address, timeout=CONNECT_TIMEOUT, set_as_default=False)


def _start(workers: int):
    """A Pebble pool; RuntimeError where its workers would run the top level of a script."""
    from pebble import ProcessPool

    path = Path(getattr(sys.modules["__main__"], "__file__", None) or "")
    if path.suffix == ".py" and "__name__" not in path.read_text("utf-8", errors="replace"):
        raise RuntimeError(f'{path}: call what uses workers below `if __name__ == "__main__":`')

    class Context(type(multiprocessing.get_context("forkserver"))):  # safe beside torch's threads
        locks = []

        def RLock(self):  # kept: a worker that is still starting when Pebble drops them would crash
            self.locks = [*self.locks, super().RLock()]
            return self.locks[-1]

    context = Context()
    context.set_forkserver_preload(["itekit.tasks.ltl", "itekit.logic.spot_bridge"])
    end_at_once = signal.SIGTERM, signal.SIG_DFL  # in C++ too
    return ProcessPool(workers, initializer=signal.signal, initargs=end_at_once, context=context)


def _work(job: tuple, chunk: list) -> list:
    """In a process of the pool: the results of a chunk."""
    if limit := job[-1]:
        signal.setitimer(signal.ITIMER_PROF, limit if len(chunk) == 1 else SHARE * limit)
    results = [_result(*job, item) for item in chunk]
    signal.setitimer(signal.ITIMER_PROF, 0)
    return results


def _has_ended(future) -> bool:
    """Whether a Dask task gave a result or an error; it may look done while its worker is lost."""
    try:
        future.result(1)
    except TimeoutError:
        return False
    except (Exception, CancelledError):
        return True
    return True


def _in_dask_worker(job: tuple, chunk: list) -> list:
    """In a worker of Dask: the results of a chunk, from a pool of its own if there is a limit."""
    multiprocessing.current_process().daemon = False  # else it may not start child processes
    function, unpack, limit = job
    return list(run(function, chunk, workers=1, unpack=unpack, limit=limit, keep_errors=True))


def _result(function: Callable, unpack: bool, limit: float | None, item):
    """The function's result for an item, or a TaskError."""
    try:
        return function(*item) if unpack else function(item)
    except (Exception, SystemExit) as error:
        return _task_error(item, error)


def _task_error(item, error: BaseException) -> TaskError:
    reason = f"{type(error).__name__}: {error}"
    if code := getattr(error, "exitcode", None):
        memory = " (too little memory?)" if code == -signal.SIGKILL else ""
        reason = f"its process ended with exit code {code}{memory}"
    failure = TaskError(f"item {repr(item)[:200]}: {reason}")
    failure.__cause__ = error
    return failure
