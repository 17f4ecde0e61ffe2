"""Worker processes with a limit: time-outs fall on the right item, and nothing else is lost."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from itekit.datasets.limited import BATCH, LimitedWorker, TaskError
from itekit.datasets.parallel import LocalExecutor, cut, map_limited
from itekit.tasks.verdicts import TIME_OUT

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def worker():
    """A worker for toy_tasks.misbehave with little CPU time; it is used again after every fault."""
    with LimitedWorker("toy_tasks:misbehave", 0.1, wall_seconds=2) as worker:
        yield worker


@pytest.fixture(scope="module")
def echo():
    with LimitedWorker("toy_tasks:echo", 5) as worker:
        yield worker


# One worker


@settings(max_examples=50)
@given(items=st.lists(values, max_size=20))
def test_any_json_value_goes_there_and_back(echo, items):
    assert list(echo.map(items)) == items


def test_more_items_than_a_message_holds(echo):
    items = list(range(3 * BATCH + 1))
    assert list(echo.map(iter(items))) == items


@pytest.mark.parametrize("fault", ["spin", "C", "sleep"])
def test_a_fault_costs_only_its_own_item(worker, fault):
    assert list(worker.map([1, fault, "print", 3])) == [1, TIME_OUT, "print", 3]


def test_time_outs_fall_on_the_right_items_across_messages(worker):
    items = list(range(BATCH + 30))
    slow = [0, 1, 17, BATCH - 1, BATCH, len(items) - 1]
    for place in slow:
        items[place] = "spin"
    answers = list(worker.map(items))
    assert [place for place, answer in enumerate(answers) if answer == TIME_OUT] == slow
    assert [a for a in answers if a != TIME_OUT] == [i for i in items if i != "spin"]


def test_the_limit_counts_cpu_seconds_not_waiting(worker):
    assert list(worker.map(["nap", "nap"])) == ["nap", "nap"]


def test_spent_counts_cpu_seconds():
    with LimitedWorker("toy_tasks:misbehave", 0.2) as worker:
        list(worker.map(["nap", "spin"]))
        assert 0.2 <= worker.spent < 0.5


def test_an_error_names_the_item_and_the_worker_goes_on(worker):
    with pytest.raises(TaskError, match="item \"raise\": KeyError: 'no such thing'"):
        list(worker.map([1, "raise", 2]))
    assert list(worker.map([4, 5])) == [4, 5]


@pytest.mark.parametrize(
    ("fault", "how"),
    [("die", r"ended by SIGKILL \(too little memory\?\)"), ("exit", "ended with exit code 7")],
)
def test_a_child_that_dies_twice_on_an_item_is_an_error(worker, fault, how):
    with pytest.raises(TaskError, match=f'item "{fault}": the process {how}'):
        list(worker.map([1, fault, 2]))
    assert list(worker.map([4, 5])) == [4, 5]


def test_a_child_that_dies_once_is_replaced(worker, tmp_path):
    items = [1, f"die once {tmp_path / 'a'}", 2, f"die once {tmp_path / 'b'}", 3]
    assert list(worker.map(items)) == items
    assert (tmp_path / "a").exists() and (tmp_path / "b").exists()


def test_a_child_killed_between_batches_is_replaced(echo):
    list(echo.map([1]))
    os.kill(echo._child.pid, signal.SIGKILL)
    assert list(echo.map([1, 2])) == [1, 2]


def test_answers_nobody_reads_do_not_meet_the_next_batch(echo):
    answers = echo.map(range(100))
    assert next(answers) == 0
    answers.close()
    assert list(echo.map(["a", "b"])) == ["a", "b"]


@pytest.mark.parametrize(
    ("task", "problem"),
    [
        ("toy_tasks:missing", "toy_tasks has no function 'missing'"),
        ("toy_tasks:NOT_A_FUNCTION", "has no function"),
        ("no_such_module:f", "No module named 'no_such_module'"),
        ("toy_tasks", "expected a task module:function, found 'toy_tasks'"),
    ],
)
def test_a_function_that_is_not_there_is_named(task, problem):
    with LimitedWorker(task, 1) as worker, pytest.raises(TaskError, match=problem):
        list(worker.map([1]))


@pytest.mark.parametrize("limits", [(0,), (-1,), (float("nan"),), (1, 0)])
def test_limits_must_be_above_zero(limits):
    with pytest.raises(ValueError, match="must be above 0"):
        LimitedWorker("toy_tasks:echo", *limits)


def test_stop_ends_a_map_in_another_thread():
    worker = LimitedWorker("toy_tasks:misbehave", 60)
    threading.Timer(0.5, worker.stop).start()
    with worker, pytest.raises(TaskError, match="stopped"):
        list(worker.map(["spin"]))


KILLED_PARENT = """
from itekit.datasets.limited import LimitedWorker
worker = LimitedWorker("toy_tasks:misbehave", 1)
list(worker.map([1]))
print(worker._child.pid, flush=True)
list(worker.map(["spin"]))
"""


def test_the_child_does_not_outlive_a_killed_parent():
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", KILLED_PARENT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as parent:
        child = int(parent.stdout.readline())
        parent.kill()
    for _ in range(100):
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("the child is still there ten seconds after its parent was killed")


# All cores


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("chunk", [1, 7, None])
def test_answers_are_in_order_whatever_the_workers_and_chunks(workers, chunk):
    items = list(range(50))
    answers = map_limited("toy_tasks:double", items, cpu_seconds=5, workers=workers, chunk=chunk)
    assert answers == [2 * item for item in items]


def test_several_processes_are_at_work_and_are_used_again():
    with LocalExecutor(2) as executor:
        options = {"cpu_seconds": 5, "executor": executor, "chunk": 5}
        first = map_limited("toy_tasks:slowly", range(40), **options)
        again = map_limited("toy_tasks:slowly", range(40), **options)
    assert [item for item, _ in first] == list(range(40))
    processes = {process for _, process in first}
    assert len(processes) == 2 and {process for _, process in again} == processes


def test_an_error_ends_everything_soon():
    items = ["spin"] + [0] * 10 + ["raise"]
    start = time.perf_counter()
    with pytest.raises(TaskError, match='item "raise"'):
        map_limited("toy_tasks:misbehave", items, cpu_seconds=100, workers=2, chunk=1)
    assert time.perf_counter() - start < 50


def test_nothing_to_do():
    assert map_limited("toy_tasks:echo", [], cpu_seconds=5) == []


def test_the_bar_counts_items(capsys):
    map_limited("toy_tasks:echo", [1] * 30, cpu_seconds=5, workers=1, progress="text")
    assert "30/30" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"workers": 0}, "workers must be 1 or more, found 0"),
        ({"chunk": 0}, "chunk must be 1 or more, found 0"),
        ({"progress": "loud"}, 'progress must be "text" or None'),
        ({"cpu_seconds": 0}, "cpu_seconds must be above 0"),
    ],
)
def test_wrong_options_are_named(options, problem):
    with pytest.raises(ValueError, match=problem):
        map_limited("toy_tasks:echo", [1, 2], **{"cpu_seconds": 5} | options)


@given(st.lists(st.integers()), st.integers(1, 10))
def test_cut_loses_nothing(items, size):
    chunks = cut(items, size)
    assert [item for chunk in chunks for item in chunk] == items
    assert all(len(chunk) == size for chunk in chunks[:-1])
    assert all(chunks)
