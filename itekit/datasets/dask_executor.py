"""The chunks of `parallel` on more than one machine, through dask.distributed.

Optional: `pip install distributed`.  Every worker of the cluster needs this package and its
requirements; each of its threads starts a limited child process of its own, so that time-outs work
there as they do here.  A worker that is lost costs only the chunks it was working on, which
another worker takes over.

On one machine, or by hand on several:

    dask scheduler                                       # prints its address
    dask worker tcp://HOST:8786 --nworkers 8 --nthreads 1      # on each machine
    python -m itekit generate ltl35 --scale paper --dask tcp://HOST:8786

On a SLURM cluster, with dask-jobqueue (`pip install dask-jobqueue`):

    from dask_jobqueue import SLURMCluster

    cluster = SLURMCluster(
        queue="PARTITION", account="PROJECT", walltime="04:00:00",
        cores=16, processes=16, memory="32GB",       # of one job: 16 workers of one thread
    )
    cluster.scale(jobs=10)
    print(cluster.scheduler_address)                 # for --dask, while this program runs
"""

from collections.abc import Iterator, Sequence

from itekit.cluster import connect
from itekit.datasets.parallel import Chunk, Executor, run_chunk

AHEAD = 4  # chunks that are sent for each worker at a time


class DaskExecutor(Executor):
    """Chunks on a Dask cluster.

    Args:
        address: of the scheduler, "tcp://HOST:8786"; or a `distributed.Client`, which stays open
            when the executor is closed.

    Raises:
        ImportError: dask.distributed is not installed.
        OSError: no scheduler answers at this address, or the cluster has no worker.
    """

    def __init__(self, address):
        self._owned = isinstance(address, str)
        self._client = connect(address) if self._owned else address
        self.workers = sum(self._client.nthreads().values())

    def run(self, task: str, chunks: Sequence[list], cpu_seconds: float) -> Iterator[Chunk]:
        """The chunks as they finish, in any order.

        Raises:
            TaskError: as `LimitedWorker.map`; the other chunks are given up.
        """
        from distributed import as_completed

        waiting = enumerate(chunks)
        numbers = {}

        def send() -> list:
            """The next chunk, as a list of its one future; empty if there is none."""
            for number, items in waiting:
                future = self._client.submit(run_chunk, task, items, cpu_seconds, pure=False)
                numbers[future] = number
                return [future]
            return []

        sent = [future for _ in range(AHEAD * self.workers) for future in send()]
        completed = as_completed(sent, loop=self._client.loop)
        try:
            for future in completed:
                answers, spent = future.result()
                number = numbers.pop(future)
                completed.update(send())
                yield Chunk(number, answers, spent)
        finally:
            self._client.cancel(list(numbers))

    def close(self) -> None:
        """Leave the cluster, which goes on running."""
        if self._owned:
            self._client.close()
