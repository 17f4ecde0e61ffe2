"""The settings of the copying search on a Dask cluster, one a task.

Optional: `pip install distributed`.  The workers need this package and its requirements; for a
SLURM cluster see `itekit.datasets.dask_executor`.  By hand, on one machine or several:

    dask scheduler                                              # prints its address
    dask worker tcp://HOST:8786 --nworkers 8 --nthreads 1       # on each machine
    python -m itekit search --scale paper --dask tcp://HOST:8786

The setting of a worker that dies is given to another, which goes on from the checkpoint if the
folder runs/ is on a file system that they share, and starts again if it is not.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from itekit.cluster import connect
from itekit.machine import command
from itekit.search.running import Outcome, run_setting
from itekit.search.settings import Setting


class ClusterRun:
    """Runs settings on a Dask cluster; for `search(run=...)`.

    Args:
        address: of the scheduler, "tcp://HOST:8786".

    Raises:
        ImportError: dask.distributed is not installed.
        OSError: no scheduler answers at this address, or the cluster has no worker.
        ValueError: a worker has more than one thread: two networks that are built at a time in one
            process would share torch's random numbers.
    """

    def __init__(self, address: str):
        self._client = connect(address)
        if max(self._client.nthreads().values()) > 1:
            self.close()
            raise ValueError("workers need one thread each: dask worker ... --nthreads 1")

    def __call__(
        self, settings: Iterable[Setting], scale: str, folder: Path, **options
    ) -> Iterator[Outcome]:
        """How the settings ended, as they end; what is left is given up when this is closed."""
        from distributed import as_completed

        folder = Path(folder).absolute()
        futures = {
            self._client.submit(run_setting, setting, scale, folder, pure=False, **options): setting
            for setting in settings
        }
        try:
            for future in as_completed(list(futures), loop=self._client.loop):
                error = future.exception()
                yield futures[future], error or self._result(future)
        finally:
            self._client.cancel(list(futures))

    @staticmethod
    def _result(future) -> dict:
        record = future.result()
        for part in ("trained", "evaluated"):  # a worker knows only its own command
            record[part] = record[part] | {"command": command()}
        return record

    def __enter__(self) -> "ClusterRun":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        """Leave the cluster, which goes on running."""
        self._client.close()
