"""The same runs on a Dask cluster, each a process of its own on the worker that it is sent to.

Optional: `pip install distributed`.  Workers need this package, its requirements, and the folders
of the notebooks and of the output under the same paths: a shared file system, as clusters have.
A worker does as many runs at a time as it has threads.  By hand, on one machine or several:

    dask scheduler                                              # prints its address
    dask worker tcp://HOST:8786 --nworkers 4 --nthreads 1       # on each machine
    python -m itekit batch search.toml --dask tcp://HOST:8786

Dask gives its workers OMP_NUM_THREADS=1; `--threads` gives the runs another number.  For a SLURM
cluster see `itekit.datasets.dask_executor`.  The runs of a worker that dies are done again
elsewhere; runs that nobody waits for any longer, since the batch ended or was killed, are ended.
"""

import os
from collections.abc import Callable, Iterator, Sequence

from itekit.batch.jobs import Job, cells_digest, done_seconds
from itekit.batch.process import FAILED, RAN, Outcome, RunProcess
from itekit.cluster import connect

LOOK = 1.0  # seconds between looks at whether a run is still wanted


class ClusterRunner:
    """Runs jobs on a Dask cluster.

    Args:
        address: of the scheduler, "tcp://HOST:8786".
        threads: OMP_NUM_THREADS of each run; None leaves it as the workers have it.

    Raises:
        ImportError: dask.distributed is not installed.
        OSError: no scheduler answers at this address, or the cluster has no worker.
    """

    def __init__(self, address: str, threads: int | None = None):
        self._threads, self._client = threads, connect(address)

    def __enter__(self) -> "ClusterRunner":
        return self

    def __exit__(self, *_) -> None:
        self._client.close()

    def run(self, jobs: Sequence[Job], started: Callable[[Job], None]) -> Iterator[Outcome]:
        """How the jobs ended, as they end; closing the iterator ends the processes.

        Args:
            started: never called: workers start the runs.
        """
        from distributed import as_completed

        futures = {
            self._client.submit(run_here, tuple(job), self._threads, pure=False): job
            for job in jobs
        }
        try:
            for future in as_completed(list(futures), loop=self._client.loop):
                if (error := future.exception()) is None:
                    yield Outcome(*future.result())
                else:  # such as KilledWorker: one worker after another died with it
                    message = f"{type(error).__name__}: {error}"
                    yield Outcome(futures[future].name, FAILED, 0.0, " ".join(message.split()))
        finally:
            self._client.cancel(list(futures))


def run_here(job: tuple, threads: int | None) -> tuple:
    """On a worker: the fields of an `Outcome` of the job with these fields."""
    from distributed import get_worker

    job, worker = Job(*job), get_worker()
    key = worker.get_current_task()
    for path in (job.notebook, job.folder):
        if not os.path.exists(path):
            message = f"no {path} on {worker.address}: workers need the same folders"
            return tuple(Outcome(job.name, FAILED, 0.0, message))
    if (seconds := done_seconds(job, cells_digest(job.notebook))) is not None:
        return tuple(Outcome(job.name, RAN, seconds))  # by a worker that died before it could say
    process = RunProcess(job, threads)
    while (outcome := process.wait(LOOK)) is None:
        task = worker.state.tasks.get(key)
        if task is None or task.state == "cancelled":
            process.stop()
    return tuple(outcome)
