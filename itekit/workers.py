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

As for any process pool, a script of one's own needs `if __name__ == "__main__":`.
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
from itertools import islice

from tqdm import tqdm

from itekit.tasks.verdicts import TIME_OUT

AHEAD = 4  # chunks that are handed out for each worker at a time
CHUNK = 50  # items in a chunk at most
SHARE = 0.1  # of an item's limit that a whole chunk gets; past it, each of its items runs alone
WALL = 60.0  # seconds by the clock for an item at least, where there is a limit
TASKS = ("ltl", "propositional")
_kept = threading.local()  # the pool of each thread of a Dask worker


class TaskError(RuntimeError):
    """An item that could not be worked on: the message names it and says why."""


def run(
    function: Callable | str, items: Iterable, *, workers: int | None = None, client=None, **options
) -> Iterator:
    """`Pool.run` with processes that start and end with the call."""
    with Pool(workers, client) as pool:
        yield from pool.run(function, items, **options)


class Pool:
    """Processes that apply functions to items; used again by the next `run`. Use it in `with`.

    Args:
        workers: processes on this machine; default: the number of cores.
        client: a `distributed.Client`, whose workers take their place; it stays open.

    Attributes:
        workers: how many items are worked on at a time.
        spent: CPU seconds that items have taken.

    Raises:
        ValueError: less than one worker.
    """

    def __init__(self, workers: int | None = None, client=None):
        if workers is not None and workers < 1:
            raise ValueError(f"workers must be 1 or more, found {workers}")
        self.workers = sum(client.nthreads().values()) if client else workers or cores()
        self.spent = 0.0
        self._client, self._processes = client, None

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self, futures: Sequence = ()) -> None:
        """End the processes; a cluster goes on running, and only forgets `futures`."""
        if self._client:
            self._client.cancel(list(futures))
        elif self._processes:
            self._processes.stop()
            self._processes.join()
            self._processes = None

    def run(
        self,
        function: Callable | str,
        items: Iterable,
        *,
        limit: float | None = None,
        chunk: int | None = None,
        progress: str | None = None,
        keep_errors: bool = False,
    ) -> Iterator:
        """The function's answer to each item, in the order of the items; few are read ahead.

        Without a limit, and with one worker, nothing leaves this process.

        Args:
            function: of a module, or its name "module:function", which only workers import.
            limit: CPU seconds for an item; one that uses them up is ended and gets `TIME_OUT`.
            chunk: items handed out at a time; default: what keeps all workers busy, at most 50.
            progress: "text" for a progress bar.
            keep_errors: yield the TaskError of an item in place of its answer, and go on.

        Raises:
            TaskError: the function raised an error, or its process died twice on the item.
            ValueError: a limit or chunk that is not above 0, or an unknown `progress`.
        """
        if not (limit is None or 0 < limit < 1e9) or not (chunk is None or chunk >= 1):
            raise ValueError(f"limit and chunk must be above 0, found {limit} and {chunk}")
        if progress not in ("text", None):
            raise ValueError(f'progress must be "text" or None, found {progress!r}')
        total = len(items) if hasattr(items, "__len__") else None
        if chunk is None:  # jobs without a limit are long
            chunk = max(1, min(CHUNK, (total or 0) // (8 * self.workers))) if limit else 1
        with tqdm(total=total, disable=progress is None) as bar:
            for answer in self._answers(function, iter(items), limit, chunk):
                if isinstance(answer, TaskError) and not keep_errors:
                    raise answer
                bar.update()
                yield answer

    def _answers(self, function, items: Iterator, limit: float | None, chunk: int) -> Iterator:
        """The answers, TIME_OUT and TaskErrors among them."""
        if limit is None and self.workers == 1 and self._client is None:
            yield from (_answer(function, item) for item in items)
            return
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

    def _finished(self, function, part: list, future, limit, lives: int = 4) -> Iterator:
        """The answers of a chunk; if it did not come to an end, each of its items alone.

        Two deaths are too many for an item. A pool that broke is counted as half a death, since
        another item may have been the cause.
        """
        try:
            pool = getattr(future, "pool", None)
            while pool and not wait([future], 1.0).done:
                if not pool.active and not future.done():
                    raise BrokenProcessPool("no process is left")
            answers, spent = future.result()
        except Exception as error:
            code = getattr(error, "exitcode", None)
            late = isinstance(error, TimeoutError) or code == -signal.SIGPROF
            lives -= 0 if late else 1 if isinstance(error, BrokenProcessPool) else 2
            if len(part) > 1 or (lives > 0 and not late):
                alone = [([item], self._submit(function, [item], limit)) for item in part]
                for single, one in alone:
                    yield from self._finished(function, single, one, limit, lives)
                return
            answers, spent = [TIME_OUT if late else _failure(part[0], error)], limit or 0.0
        self.spent += spent
        yield from answers

    def _submit(self, function, part: list, limit: float | None):
        if self._client:
            return self._client.submit(_there, function, part, limit, pure=False)
        if self._processes is None or not self._processes.active:  # such as one whose worker died
            from pebble import ProcessPool

            self.close()
            context = multiprocessing.get_context("forkserver")  # safe beside threads, and quick:
            context.set_forkserver_preload([f"itekit.tasks.{task}" for task in TASKS])
            self._processes = ProcessPool(self.workers, context=context, initializer=_prepare)
        wall = limit and max(WALL, 30 * limit)
        future = self._processes.schedule(_work, args=(function, part, limit), timeout=wall)
        future.pool = self._processes
        return future


def check_all(
    task: str,
    items: Iterable[Sequence],
    *,
    cpu_seconds: float = 10.0,
    workers: int | None = None,
    progress: str | None = None,
    client=None,
) -> list[str]:
    """The verdict on each answer, in order (see `itekit.tasks.verdicts`).

    Args:
        task: "ltl" or "propositional".
        items: (formula, answer), or (formula, answer, label); a label may be None. All are text.
        cpu_seconds: limit for one check; an answer that takes longer gets "time-out".
        workers, progress, client: as for `Pool`.

    Raises:
        TaskError: a formula or a label that cannot be read; the message shows the item.
        ValueError: an unknown task, or an item of another length.
    """
    if task not in TASKS:
        raise ValueError(f"unknown task {task!r}: expected one of {', '.join(TASKS)}")
    full = []
    for number, item in enumerate(items):
        if not 2 <= len(item) <= 3 or isinstance(item, str):
            raise ValueError(f"item {number} is {item!r}: expected formula, answer and maybe label")
        full.append((f"itekit.tasks.{task}:check", *item))
    options = {"limit": cpu_seconds, "workers": workers, "progress": progress, "client": client}
    return list(run(call, full, **options)) if full else []


def call(item: Sequence):
    """What the function "module:function" that stands first makes of the other values."""
    name, *values = item
    return pkgutil.resolve_name(name)(*values)


def cores() -> int:
    """The number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def cluster(address: str):
    """A `distributed.Client` of the scheduler at `address`, "tcp://HOST:8786"; use it in `with`.

    Raises:
        ImportError: dask.distributed is not installed.
        OSError: no scheduler answers at this address, or the cluster has no worker.
    """
    try:
        from distributed import Client
    except ImportError as error:
        message = "a cluster needs dask.distributed: python -m pip install distributed"
        raise ImportError(message) from error
    client = Client(address, set_as_default=False)
    if not client.nthreads():
        client.close()
        raise ConnectionError(f"the Dask cluster at {address} has no worker yet")
    return client


def _prepare() -> None:
    """In a new process: both signals end it wherever it is, in C++ too."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)


def _work(function: Callable | str, part: list, limit: float | None) -> tuple[list, float]:
    """In a process of the pool: the answers to a chunk, and its CPU seconds."""
    start = time.process_time()
    if limit:
        signal.setitimer(signal.ITIMER_PROF, limit if len(part) == 1 else SHARE * limit)
    answers = [_answer(function, item) for item in part]
    signal.setitimer(signal.ITIMER_PROF, 0)
    return answers, time.process_time() - start


def _answer(function: Callable | str, item):
    """The answer to one item, or the TaskError that says why there is none."""
    try:
        function = pkgutil.resolve_name(function) if isinstance(function, str) else function
        return function(item)
    except (Exception, SystemExit) as error:
        return _failure(item, error)


def _failure(item, error: BaseException) -> TaskError:
    code, text = getattr(error, "exitcode", None), repr(item)
    why = f"{type(error).__name__}: {error}"
    if isinstance(error, BrokenProcessPool):
        why = 'no process lived; does the script lack `if __name__ == "__main__":`?'
    if code is not None:
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
        why = f"its process {how}{' (too little memory?)' if code == -signal.SIGKILL else ''}"
    failure = TaskError(f"item {text if len(text) <= 200 else text[:197] + '...'}: {why}")
    failure.__cause__ = error
    return failure


def _there(function: Callable | str, part: list, limit: float | None) -> tuple[list, float]:
    """On a Dask worker: as `_work`, where there is a limit in a process of its own."""
    if limit is None:
        start = time.thread_time()
        return [_answer(function, item) for item in part], time.thread_time() - start
    multiprocessing.current_process().daemon = False  # Dask's workers may have no processes else
    if not hasattr(_kept, "pool"):
        _kept.pool = Pool(1)
    before = _kept.pool.spent
    answers = list(_kept.pool.run(function, part, limit=limit, chunk=CHUNK, keep_errors=True))
    return answers, _kept.pool.spent - before
