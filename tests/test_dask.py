"""The same work on a Dask cluster of real processes, one of which is killed on the way."""

import os
import signal
import sys

import dask
import distributed
import pytest

from itekit.datasets.dask_executor import DaskExecutor
from itekit.datasets.generate import generate
from itekit.datasets.limited import TaskError
from itekit.datasets.parallel import map_limited
from itekit.datasets.recipes import Recipe, Stratum
from itekit.tasks.verdicts import TIME_OUT


@pytest.fixture
def executor(cluster):
    with DaskExecutor(cluster.scheduler_address) as executor:
        yield executor


def test_a_cluster_answers_as_this_machine_does(executor):
    items = [*range(30), "spin", "C", "print"]
    options = {"cpu_seconds": 0.2, "chunk": 4}
    answers = map_limited("toy_tasks:misbehave", items, executor=executor, **options)
    assert answers == [*range(30), TIME_OUT, TIME_OUT, "print"]
    assert executor.workers == 2


def test_errors_name_the_item(executor):
    with pytest.raises(TaskError, match="item \"raise\": KeyError: 'no such thing'"):
        map_limited("toy_tasks:misbehave", [1, "raise", 2], cpu_seconds=1, executor=executor)


class Killing(DaskExecutor):
    """Kills one worker process of the cluster when the third chunk is done."""

    def run(self, task, chunks, cpu_seconds):
        self._client.wait_for_workers(2)  # one may still be starting after the test before
        before = set(self._client.run(os.getpid).values())
        for count, done in enumerate(super().run(task, chunks, cpu_seconds)):
            if count == 2:
                self.victim = min(before)
                os.kill(self.victim, signal.SIGKILL)
            yield done


def test_a_killed_worker_costs_no_answer(cluster):
    chunks = [list(range(start, start + 5)) for start in range(0, 150, 5)]
    answers, processes = {}, set()
    with Killing(cluster.scheduler_address) as executor:
        for done in executor.run("toy_tasks:slowly", chunks, 5.0):
            answers[done.number] = [item for item, _ in done.answers]
            processes |= {process for _, process in done.answers}
        assert executor.victim not in executor._client.run(os.getpid).values()
    assert [answers[number] for number in range(len(chunks))] == chunks
    assert len(processes) >= 2, "both workers were at work"


def test_a_set_has_the_same_bytes_when_a_worker_is_killed(cluster, tmp_path):
    strata = (Stratum(5, 20, 28, 150, 15_000),)
    recipe = Recipe("tiny", "smoke", "ltl", "default", strata)
    with Killing(cluster.scheduler_address) as executor:
        made = generate(recipe, tmp_path / "cluster", executor=executor)
    expected = generate(recipe, tmp_path / "here", workers=1)
    names = ["test.txt", "train.txt", "validation.txt"]
    assert sorted(path.name for path in made.glob("*.txt")) == names
    for name in names:
        assert (made / name).read_bytes() == (expected / name).read_bytes()


def test_a_client_of_ones_own_stays_open(cluster):
    with distributed.Client(cluster, set_as_default=False) as client:
        with DaskExecutor(client) as executor:
            answers = map_limited("toy_tasks:double", [1, 2], cpu_seconds=5, executor=executor)
        assert answers == [2, 4]
        assert client.status == "running"


def test_without_dask_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match="python -m pip install distributed"):
        DaskExecutor("tcp://127.0.0.1:1")


def test_a_cluster_that_is_not_there_is_an_error():
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "500ms"}),
        pytest.raises(OSError, match=r"127\.0\.0\.1:1"),
    ):
        DaskExecutor("tcp://127.0.0.1:1")
