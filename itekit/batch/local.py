"""Runs on this machine, several at a time, and the lock that keeps two batches apart."""

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from itekit.batch.jobs import Job
from itekit.batch.process import FAILED, Outcome, RunProcess

WAIT = 20.0  # seconds for the processes of a batch that was killed to end


class LocalRunner:
    """Runs jobs in processes on this machine.

    Args:
        workers: how many at a time.
        threads: OMP_NUM_THREADS of each; None leaves it as it is here.
        held: open files that the processes keep open.

    Raises:
        ValueError: less than one worker or thread.
    """

    def __init__(self, workers: int = 1, threads: int | None = None, held: tuple[int, ...] = ()):
        for name, value in (("workers", workers), ("threads", threads)):
            if value is not None and value < 1:
                raise ValueError(f"{name} must be 1 or more, found {value}")
        self._workers, self._threads, self._held = workers, threads, held

    def run(self, jobs: Sequence[Job], started: Callable[[Job], None]) -> Iterator[Outcome]:
        """How the jobs ended, as they end; closing the iterator ends the processes.

        Args:
            started: called with each job that starts, from another thread.
        """
        waiting, ended = queue.SimpleQueue(), queue.SimpleQueue()
        for job in jobs:
            waiting.put(job)
        running = _Running()
        threads = [
            threading.Thread(target=self._work, args=(waiting, ended, running, started))
            for _ in range(min(self._workers, len(jobs)))
        ]
        try:
            for thread in threads:
                thread.start()
            for _ in jobs:
                yield ended.get()
        finally:  # after the last job, an error, or Ctrl-C
            running.stop()
            for thread in threads:
                if thread.ident is not None:
                    thread.join()

    def _work(self, waiting, ended, running: "_Running", started) -> None:
        """A thread: run jobs until there are none, or the batch stops."""
        while True:
            try:
                job = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                process = running.start(job, self._threads, self._held)
                if process is None:
                    return
                started(job)
                ended.put(process.wait())
                running.forget(process)
            except Exception as error:  # the other runs go on
                ended.put(Outcome(job.name, FAILED, 0.0, f"{type(error).__name__}: {error}"))


class _Running:
    """The processes that run now."""

    def __init__(self):
        self._lock, self._stopped, self._processes = threading.Lock(), False, set()

    def start(self, job: Job, threads: int | None, held: tuple[int, ...]) -> RunProcess | None:
        """A new process; None after `stop`."""
        with self._lock:
            if self._stopped:
                return None
            process = RunProcess(job, threads, held)
            self._processes.add(process)
            return process

    def forget(self, process: RunProcess) -> None:
        with self._lock:
            self._processes.discard(process)

    def stop(self) -> None:
        """End all of them, and start no more."""
        with self._lock:
            self._stopped = True
            for process in self._processes:
                process.stop()


@contextlib.contextmanager
def locked(folder: Path, seconds: float = WAIT) -> Iterator[int]:
    """The folder for this batch alone, through an open file for the processes to hold as well.

    A batch that was killed leaves processes that end within seconds: they are waited for.  On a
    file system without locks nothing is locked.

    Raises:
        BlockingIOError: another batch is at work in the folder.
    """
    import fcntl

    folder.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + seconds
    with open(folder / ".lock", "w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise BlockingIOError(f"another batch is at work in {folder}") from None
                time.sleep(0.2)
            except OSError:  # no locks here
                break
        yield file.fileno()
