"""The connection to a Dask cluster, which generating sets, batches and searches share.

Optional: `pip install distributed` (https://distributed.dask.org).
"""


def connect(address: str):
    """A `distributed.Client` of the scheduler at `address`, "tcp://HOST:8786", with its workers.

    Raises:
        ImportError: dask.distributed is not installed.
        OSError: no scheduler answers at this address, or the cluster has no worker.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError(
            "a cluster needs dask.distributed: python -m pip install distributed"
        ) from error
    client = Client(address, set_as_default=False)
    if not client.nthreads():
        client.close()
        raise ConnectionError(f"the Dask cluster at {address} has no worker yet")
    return client
