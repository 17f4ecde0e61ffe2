"""Many jobs: limits that end the right item, nothing else lost; here and on a Dask cluster."""

import os
import signal
import subprocess
import sys
import time
from itertools import count, pairwise

import dask
import distributed
import pytest
import toy_tasks
from hypothesis import given, settings
from hypothesis import strategies as st

from itekit import workers as module
from itekit.tasks import ltl, propositional
from itekit.tasks.verdicts import CORRECT, EXACT, INCORRECT, INVALID, TIME_OUT
from itekit.workers import AHEAD, Pool, TaskError, check_all, cluster, run

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def pool():
    """Two processes, which are used again after every fault."""
    with Pool(2) as pool:
        yield pool


@pytest.fixture
def misbehave(pool):
    """`toy_tasks.misbehave` with little CPU time."""
    return lambda items, **options: list(pool.run(toy_tasks.misbehave, items, limit=0.1, **options))


# Answers


@settings(max_examples=50)
@given(items=st.lists(values, max_size=20))
def test_any_value_goes_there_and_back(pool, items):
    assert list(pool.run(toy_tasks.echo, items, limit=5)) == items


@pytest.mark.parametrize("options", [{"limit": 5}, {"limit": 5, "chunk": 7}, {}, {"workers": 1}])
def test_answers_are_in_order(options):
    items = range(150)
    answers = run("toy_tasks:double", items, **{"workers": 3} | options)
    assert list(answers) == [2 * item for item in items]


def test_several_processes_are_at_work_and_are_used_again(pool):
    used = [{process for _, process in pool.run(toy_tasks.slowly, range(40))} for _ in range(2)]
    assert len(used[0]) == 2 and used[0] == used[1] and os.getpid() not in used[0]


def test_one_worker_without_a_limit_is_this_process():
    assert list(run(toy_tasks.slowly, [1], workers=1)) == [[1, os.getpid()]]


def test_endless_items_are_read_a_little_ahead(pool):
    numbers = count()
    answers = pool.run(toy_tasks.echo, numbers, limit=5)
    assert [next(answers) for _ in range(50)] == list(range(50))
    answers.close()
    assert next(numbers) <= 50 + 2 * AHEAD
    assert list(pool.run(toy_tasks.echo, ["a"], limit=5)) == ["a"], "nothing is left of the others"


def test_the_bar_counts_items(capsys):
    assert list(run(toy_tasks.echo, [1] * 30, limit=5, workers=1, progress="text")) == [1] * 30
    assert "30/30" in capsys.readouterr().err


# Faults


@pytest.mark.parametrize("fault", ["spin", "C", "sleep"])
def test_a_fault_costs_only_its_own_item(misbehave, monkeypatch, fault):
    monkeypatch.setattr(module, "WALL", 2)
    assert misbehave([1, fault, "print", 3]) == [1, TIME_OUT, "print", 3]


def test_time_outs_fall_on_the_right_items(misbehave):
    items = list(range(530))
    slow = [0, 1, 17, 499, 500, 529]
    for place in slow:
        items[place] = "spin"
    answers = misbehave(items)
    assert [place for place, answer in enumerate(answers) if answer == TIME_OUT] == slow
    assert [a for a in answers if a != TIME_OUT] == [i for i in items if i != "spin"]


def test_the_limit_counts_cpu_seconds_not_waiting(misbehave):
    assert misbehave(["nap", "nap"]) == ["nap", "nap"]


def test_spent_counts_cpu_seconds():
    with Pool(1) as pool:
        assert list(pool.run(toy_tasks.misbehave, ["nap", "spin"], limit=0.2)) == ["nap", TIME_OUT]
        assert 0.2 <= pool.spent < 0.5


def test_an_error_names_the_item_and_ends_everything_soon(misbehave):
    start = time.perf_counter()
    with pytest.raises(TaskError, match="item 'raise': KeyError: 'no such thing'"):
        list(run(toy_tasks.misbehave, ["raise"] + ["spin"] * 10, limit=100, workers=2))
    assert time.perf_counter() - start < 50
    with pytest.raises(TaskError, match="item 'raise'"):
        misbehave([1, "raise", 2])
    assert misbehave([4, 5]) == [4, 5]


@pytest.mark.parametrize("workers", [1, 2])
def test_errors_can_be_kept(workers):
    items = [1, "raise", "exit", 2]
    answers = list(run(toy_tasks.misbehave, items, workers=workers, keep_errors=True))
    assert answers[::3] == [1, 2]
    assert [str(answer)[:28] for answer in answers[1:3]] == [
        "item 'raise': KeyError: 'no ",
        "item 'exit': SystemExit: 7",
    ]


def test_a_process_that_dies_costs_only_its_item(misbehave, tmp_path):
    assert misbehave([1, f"die once {tmp_path / 'a'}", 2])[::2] == [1, 2]
    assert (tmp_path / "a").exists()
    answers = misbehave([1, "die", 2], keep_errors=True)
    assert answers[::2] == [1, 2]
    assert str(answers[1]) == ("item 'die': its process was ended by SIGKILL (too little memory?)")


def test_a_process_killed_between_calls_is_replaced():
    with Pool(1) as pool:
        ((_, process),) = pool.run("toy_tasks:slowly", [1], limit=5)
        os.kill(process, signal.SIGKILL)
        time.sleep(0.3)
        assert [item for item, _ in pool.run("toy_tasks:slowly", [1, 2], limit=5)] == [1, 2]


KILLED_PARENT = """
from itekit.workers import Pool
pool = Pool(1)
((_, process),) = pool.run("toy_tasks:slowly", [1], limit=1)
print(process, flush=True)
list(pool.run("toy_tasks:misbehave", ["spin"], limit=1))
"""


def test_no_process_outlives_a_killed_parent():
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


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        ("toy_tasks:missing", "no attribute 'missing'"),
        ("toy_tasks:NOT_A_FUNCTION", "not callable"),
        ("no_such_module:f", "No module named 'no_such_module'"),
        (lambda item: item, "pickle"),
    ],
)
def test_a_function_that_cannot_be_used_is_named(pool, function, problem):
    with pytest.raises(TaskError, match=problem):
        list(pool.run(function, [1], limit=1))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"workers": 0}, "workers must be 1 or more, found 0"),
        ({"chunk": 0}, "limit and chunk must be above 0, found 5 and 0"),
        ({"progress": "loud"}, 'progress must be "text" or None'),
        ({"limit": 0}, "limit and chunk must be above 0, found 0"),
        ({"limit": float("nan")}, "must be above 0, found nan"),
    ],
)
def test_wrong_options_are_named(options, problem):
    with pytest.raises(ValueError, match=problem):
        list(run(toy_tasks.echo, [1, 2], **{"limit": 5} | options))


# Verdicts

LTL_CASES = [
    ("&aXb", "a;b;{1}", "a;b;{1}", EXACT),
    ("U1&ab", "&ba;{1}", "&ab;{1}", EXACT),
    ("&aXb", "{&ab}", "a;b;{1}", CORRECT),
    ("&aXb", "a;{1}", "a;b;{1}", INCORRECT),
    ("&aXb", "a;b;{1", "a;b;{1}", INVALID),
    ("&aXb", "", None, INVALID),
    ("&aXb", "a;b;{1}", None, CORRECT),
]
PROPOSITIONAL_CASES = [
    ("&ab", "b1a1", "a1b1", EXACT),
    ("|ab", "b1", "a1", CORRECT),
    ("|ab", "b0", "a1", INCORRECT),
    ("|ab", "b", "a1", INVALID),
    ("|ab", "c1", "a1", INVALID),
    ("|ab", "a1", None, CORRECT),
]


@pytest.mark.parametrize(
    ("task", "check", "cases"),
    [("ltl", ltl.check, LTL_CASES), ("propositional", propositional.check, PROPOSITIONAL_CASES)],
)
@pytest.mark.parametrize("workers", [1, 2])
def test_verdicts_are_those_of_the_single_checks_in_order(task, check, cases, workers):
    items = [case[:3] for case in cases] * 5
    verdicts = check_all(task, items, workers=workers)
    assert verdicts == [case[3] for case in cases] * 5
    assert verdicts == [check(*item) for item in items]


def test_a_hung_check_costs_only_itself():
    parts = [f"U1&{a}XXXXXXX{b}" for a, b in pairwise("abcdefghijklm")]
    hard = "!" + "&" * (len(parts) - 1) + "".join(parts)  # its negation is what is translated
    items = [("a", "{a}"), (hard, "{1}", None), ("a", "{!a}", None)]
    assert check_all("ltl", items, cpu_seconds=0.5) == [CORRECT, TIME_OUT, INCORRECT]


def test_what_cannot_be_checked_is_named():
    with pytest.raises(TaskError, match="item .*'&a', '{a}'.*position 2: found the end"):
        check_all("ltl", [("a", "{a}"), ("&a", "{a}")], workers=1)
    for item in (("a",), ("a", "{a}", "{a}", "{a}"), "ab"):
        with pytest.raises(
            ValueError, match="item 1 is .*expected formula, answer and maybe label"
        ):
            check_all("ltl", [("a", "{a}"), item])
    with pytest.raises(ValueError, match="unknown task 'LTL': expected one of ltl, propositional"):
        check_all("LTL", [])


def test_reading_sets_and_checking_assignments_need_no_spot():
    code = (
        "import sys; sys.modules['spot'] = None\n"
        "import itekit.datasets.sets; from itekit.workers import call\n"
        "print(call(['itekit.tasks.propositional:check', '&ab', 'b1a1', 'a1b1']))"
    )
    environment = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment)
    assert done.stdout.decode().strip() == EXACT, done.stderr.decode()


# A cluster: the fixture's name hides the function


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2)  # one may still be starting after the test before
        yield client


def test_a_cluster_answers_as_this_machine_does(client):
    items = [*range(30), "spin", "C", "print"]
    answers = list(run("toy_tasks:misbehave", items, client=client, limit=0.2, chunk=4))
    assert answers == [*range(30), TIME_OUT, TIME_OUT, "print"]
    assert list(run("toy_tasks:double", [1, 2], client=client)) == [2, 4]
    with pytest.raises(TaskError, match="item 'raise': KeyError: 'no such thing'"):
        list(run("toy_tasks:misbehave", [1, "raise", 2], limit=1, client=client))
    assert client.status == "running"


def test_a_killed_worker_of_a_cluster_costs_no_answer(client):
    victim = min(client.run(os.getpid).values())
    answers = []
    for answer in run("toy_tasks:slowly", range(150), client=client, limit=5.0, chunk=5):
        answers.append(answer)
        if len(answers) == 15:
            os.kill(victim, signal.SIGKILL)
    assert [item for item, _ in answers] == list(range(150))
    assert victim not in client.run(os.getpid).values()
    assert len({process for _, process in answers}) >= 2, "both workers were at work"


def test_without_dask_or_a_cluster_there_is_a_message(monkeypatch):
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "500ms"}),
        pytest.raises(OSError, match=r"127\.0\.0\.1:1"),
    ):
        cluster("tcp://127.0.0.1:1")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match="python -m pip install distributed"):
        cluster("tcp://127.0.0.1:1")
