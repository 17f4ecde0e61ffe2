"""Many jobs at once, here or on a cluster: one pool of processes, and a limit that ends an item.

A call into C++ (Spot, a SAT solver) cannot be interrupted by a Python signal handler. So items run
in the processes of a Pebble pool. The kernel counts an item's CPU seconds and ends the process that
has used them up; Pebble starts another. CPU seconds, because a busy machine must not change which
items run out of time; an item that hangs without using any is ended by Pebble's clock.

On more machines the same functions take a `distributed.Client` (https://distributed.dask.org); its
workers need this package. On SLURM, `dask_jobqueue.SLURMCluster` starts them. By hand:

    dask scheduler                                             # prints its address
    dask worker tcp://HOST:8786 --nworkers 8 --nthreads 1      # on each machine
    python -m itekit generate ltl35 --scale paper --dask tcp://HOST:8786

Functions reach a worker by their names. No worker imports the script that started it: a script of
one's own needs no `if __name__ == "__main__":`, and its functions must be in a module beside it.
"""

import multiprocessing
import os
import pkgutil
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, closing, suppress
from itertools import islice
from multiprocessing import process, spawn

from tqdm import tqdm

from itekit.tasks.verdicts import TIME_OUT

AHEAD = 4  # chunks that are handed out for each worker at a time
CHUNK = 50  # items in a chunk at most
SHARE = 0.1  # of an item's limit that a whole chunk gets; past it, each of its items runs alone
WALL = 60.0  # seconds by the clock for an item at least, where there is a limit
LIVES = 3  # times that an item is tried whose process dies, or whose pool breaks beside it
CONNECT = 10.0  # seconds for a scheduler to answer
LONELY = 60.0  # seconds that a cluster may be without workers before its items are given up
_kept = threading.local()  # the pool of each thread of a Dask worker
_about, _starting = spawn.get_preparation_data, threading.Lock()  # what a new process is told


class TaskError(RuntimeError):
    """An item that could not be worked on: the message names it and says why."""


class _Process(process.BaseProcess):
    """A process of the fork server that is not told of the script, whose top level it would run."""

    _start_method = "forkserver"

    @staticmethod
    def _Popen(started):
        from multiprocessing.popen_forkserver import Popen  # not on Windows

        def told(name: str) -> dict:
            return {k: v for k, v in _about(name).items() if not k.startswith("init_main")}

        with _starting:
            spawn.get_preparation_data = told
            try:
                return Popen(started)
            finally:
                spawn.get_preparation_data = _about


class Pool(AbstractContextManager):
    """Processes that apply functions to items; used again by the next `run`. Use it in `with`.

    Args:
        workers: processes on this machine; default: the number of cores.
        client: a `distributed.Client`, whose workers take their place; it stays open.
    """

    def __init__(self, workers: int | None = None, client=None):
        self.workers = sum(client.nthreads().values()) if client else workers or cores()
        self.client, self._processes = client, None

    def __exit__(self, *_) -> None:
        self.close()

    def close(self, futures: Sequence = ()) -> None:
        """End the processes; a cluster goes on running, and only forgets `futures`."""
        if self.client:
            self.client.cancel(list(futures))
        elif self._processes:
            pool, self._processes = self._processes, None
            pool.stop()
            if loop := pool._pool_manager_loop:  # None: its first process could not start
                loop.join()
            for worker in tuple(pool._pool_manager.worker_manager.workers.values()):
                worker.kill()  # Pebble takes its locks away first: one that starts would miss them
                worker.join()
            pool.join()

    def run(
        self, function: Callable | str, items: Iterable, *, limit=None, keep_errors=False, count=0
    ) -> Iterator:
        """The function's answer to each item, in the order of the items; few are read ahead.

        Without a limit, and with one worker, nothing leaves this process.

        Args:
            function: of a module, or its name "module:function", which only workers import.
            limit: CPU seconds for an item; one that uses them up is ended and gets `TIME_OUT`.
            keep_errors: yield the TaskError of an item in place of its answer, and go on.
            count: about how many items there are, where `items` has no length.

        Raises:
            TaskError: the function raised an error, or its process died again and again.
            ValueError: a script's own function, which workers cannot import.
        """
        answers = (_answer(function, item) for item in items)
        if limit or self.client or self.workers > 1:
            if getattr(function, "__module__", "") == "__main__":
                raise ValueError(f"workers do not know {function} of a script: put it in a module")
            if limit and hasattr(items, "__len__"):  # else jobs are long
                count = len(items)
            chunk = max(1, min(CHUNK, count // (8 * self.workers)))  # all workers are to be busy
            answers = self._elsewhere(function, iter(items), limit, chunk)
        with closing(answers):
            for answer in answers:
                if isinstance(answer, TaskError) and not keep_errors:
                    raise answer
                yield answer

    def _elsewhere(self, function, items: Iterator, limit: float | None, chunk: int) -> Iterator:
        """The answers of other processes, TIME_OUT and TaskErrors among them."""
        waiting = deque()
        try:
            while True:
                while len(waiting) < AHEAD * self.workers and (part := list(islice(items, chunk))):
                    waiting.append((part, self._submit(function, part, limit)))
                if not waiting:
                    return
                yield from self._finished(function, *waiting[0], limit)
                waiting.popleft()
        finally:
            if waiting:  # an error, Ctrl-C, or nobody reads on
                self.close([future for _, future in waiting])

    def _submit(self, function, part: list, limit: float | None):
        if self.client:
            return self.client.submit(_there, function, part, limit, pure=False)
        if self._processes is None or not self._processes.active:  # such as one whose worker died
            from pebble import CONSTS, ProcessPool

            CONSTS.sleep_unit = 0.01  # seconds between looks at what is done; 0.1 is a pause
            self.close()
            context = type(multiprocessing.get_context("forkserver"))()  # safe beside threads, and
            context.Process = _Process  # quick, since it has these modules:
            context.set_forkserver_preload(["itekit.tasks.ltl", "itekit.tasks.propositional"])
            self._processes = ProcessPool(self.workers, context=context, initializer=_prepare)
        wall = limit and max(WALL, 30 * limit)
        future = self._processes.schedule(_work, args=(function, part, limit), timeout=wall)
        future.pool = self._processes
        return future

    def _finished(self, function, part: list, future, limit, lives: int = LIVES) -> Iterator:
        """The answers of a chunk; if it did not come to an end, each of its items alone."""
        try:
            answers = (self._wait_there if self.client else self._wait_here)(future)
        except Exception as error:
            code = getattr(error, "exitcode", None)
            late = isinstance(error, TimeoutError) or code == -signal.SIGPROF
            lives -= not late
            if len(part) > 1 or (lives and not late):
                for item, one in [([i], self._submit(function, [i], limit)) for i in part]:
                    yield from self._finished(function, item, one, limit, lives)
                return
            answers = [TIME_OUT if late else _failure(part[0], error)]
        yield from answers

    def _wait_here(self, future) -> list:
        while not wait([future], 1.0).done:
            if not future.pool.active and not future.done():  # Pebble may forget such a task
                raise BrokenProcessPool("no process is left")
        return future.result()

    def _wait_there(self, future) -> list:
        last = time.monotonic()
        while time.monotonic() - last < LONELY:
            with suppress(TimeoutError):
                return future.result(timeout=1.0)
            if self.client.nthreads():
                last = time.monotonic()
        raise BrokenProcessPool(f"the cluster has had no worker for {LONELY:.0f} s")


def run(
    function: Callable | str, items: Iterable, *, workers: int | None = None, client=None, **options
) -> Iterator:
    """`Pool.run` with processes that start and end with the call."""
    with Pool(workers, client) as pool:
        yield from pool.run(function, items, **options)


def check_all(
    check: Callable, items: Iterable[Sequence], *, cpu_seconds=10.0, workers=None, progress=None
) -> list[str]:
    """The verdict on each answer, in order (see `itekit.tasks.verdicts`).

    Args:
        check: a function of what an item holds, such as `itekit.tasks.ltl.check`. One that no
            module has, since a script or a notebook defines it, is called in this process, without
            a time limit.
        items: (problem, answer), or (problem, answer, label).
        cpu_seconds: limit for one check; an answer that takes longer gets "time-out".
        workers, progress: as for `Pool`; "text" for a progress bar.

    Raises:
        TaskError: what cannot be checked; the message shows the item.
    """
    items, name = list(items), f"{check.__module__}:{check.__qualname__}"
    bar = {"total": len(items), "disable": not progress}
    if not _is_found(check, name):
        return [check(*item) for item in tqdm(items, **bar)]
    verdicts = run(call, [(name, *item) for item in items], workers=workers, limit=cpu_seconds)
    return list(tqdm(verdicts, **bar))


def _is_found(function: Callable, name: str) -> bool:
    """Whether a worker finds the function by its name."""
    with suppress(ImportError, AttributeError, ValueError):
        return function.__module__ != "__main__" and pkgutil.resolve_name(name) is function
    return False


def call(item: Sequence):
    """What the function "module:function" that stands first makes of the other values."""
    return pkgutil.resolve_name(item[0])(*item[1:])


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def cluster(address: str):
    """A `distributed.Client` of the scheduler at `address`, "tcp://HOST:8786"; use it in `with`.

    Raises ConnectionError: no scheduler answers there, or the cluster has no worker.
    """
    from distributed import Client

    try:
        client = Client(address, timeout=CONNECT, set_as_default=False)
    except OSError as error:
        raise ConnectionError(f"no Dask scheduler answers at {address} ({error})") from error
    if not client.nthreads():
        client.close()
        raise ConnectionError(f"the Dask cluster at {address} has no worker yet")
    return client


def _prepare() -> None:
    """In a new process: both signals end it wherever it is, in C++ too."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)


def _work(function: Callable | str, part: list, limit: float | None) -> list:
    """In a process of the pool: the answers to a chunk."""
    if limit:
        signal.setitimer(signal.ITIMER_PROF, limit if len(part) == 1 else SHARE * limit)
    answers = [_answer(function, item) for item in part]
    signal.setitimer(signal.ITIMER_PROF, 0)
    return answers


def _there(function: Callable | str, part: list, limit: float | None) -> list:
    """On a Dask worker: as `_work`, where there is a limit in a process of its own."""
    multiprocessing.current_process().daemon = False  # Dask's workers may have no processes else
    pool = _kept.pool = getattr(_kept, "pool", None) or Pool(1)
    return list(pool.run(function, part, limit=limit, keep_errors=True))


def _answer(function: Callable | str, item):
    """The answer to one item, or the TaskError that says why there is none."""
    try:
        return (pkgutil.resolve_name(function) if isinstance(function, str) else function)(item)
    except (Exception, SystemExit) as error:
        return _failure(item, error)


def _failure(item, error: BaseException) -> TaskError:
    why = f"{type(error).__name__}: {error}"
    if code := getattr(error, "exitcode", None):
        memory = " (too little memory?)" if code == -signal.SIGKILL else ""
        why = f"its process ended with exit code {code}{memory}"
    failure = TaskError(f"item {repr(item)[:200]}: {why}")
    failure.__cause__ = error
    return failure
