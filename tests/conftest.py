"""For all tests: one thread, and the same hypothesis examples at every run."""

import pytest
import torch
from hypothesis import settings

# No deadline, since a shared machine may be busy.
settings.register_profile("itekit", derandomize=True, deadline=None, max_examples=25)
settings.load_profile("itekit")


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Sums are added in one order, whatever the machine, and tests run well beside each other."""
    torch.set_num_threads(1)


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Empty folders in place of the shipped and the own sets."""
    monkeypatch.setattr("itekit.datasets.sets.SHIPPED", tmp_path / "shipped")
    monkeypatch.setattr("itekit.datasets.sets.OWN", tmp_path / "own")
    return tmp_path


@pytest.fixture(scope="session")
def cluster():
    """A Dask cluster of two worker processes on this machine."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as cluster:
        yield cluster
