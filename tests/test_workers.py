"""Worker processes: limits that end the right item, nothing else lost; here and on a cluster."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from itertools import count, pairwise

import distributed
import pytest
from toy_tasks import misbehave, slowly

from itekit import workers as module
from itekit.tasks import ltl, propositional
from itekit.tasks.verdicts import CORRECT, EXACT, INCORRECT, INVALID, TIME_OUT
from itekit.workers import AHEAD, Pool, TaskError, check_all, run
from itekit.workers import cluster as connect


@pytest.fixture(scope="module")
def pool():
    """Two processes, which are used again after every fault."""
    with Pool(2) as pool:
        yield pool


def results(pool, items, **options) -> list:
    """Of `misbehave`, with little CPU time."""
    return list(pool.run(misbehave, items, limit=0.1, **options))


@pytest.mark.parametrize("options", [{"limit": 5}, {}, {"workers": 1}])
def test_results_are_in_order_and_any_value_goes_there_and_back(options):
    items = [*range(150), None, "é\n", [1.5, {"a": []}]]
    assert list(run(misbehave, items, **{"workers": 2} | options)) == items
    assert list(run(divmod, [(7, 2), (9, 4)], unpack=True, **options)) == [(3, 1), (2, 1)]


def test_processes_are_used_again_or_are_this_one(pool):
    used = [{process for _, process in pool.run(slowly, range(20))} for _ in range(2)]
    assert len(used[0]) == 2 and used[0] == used[1] and os.getpid() not in used[0]
    assert list(run(slowly, [1], workers=1)) == [[1, os.getpid()]]


def test_endless_items_are_read_a_little_ahead(pool):
    numbers = count()
    numbered = pool.run(misbehave, numbers, limit=5)
    assert [next(numbered) for _ in range(50)] == list(range(50))
    numbered.close()
    assert next(numbers) <= 50 + 2 * AHEAD
    assert results(pool, ["a"]) == ["a"], "nothing is left of the others"


# Faults


@pytest.mark.parametrize("fault", ["C", "sleep"])
def test_a_fault_costs_only_its_own_item(pool, monkeypatch, fault):
    monkeypatch.setattr(module, "MIN_WALL_SECONDS", 2)
    assert results(pool, [1, fault, "print", 3]) == [1, TIME_OUT, "print", 3]


def test_time_outs_fall_on_the_right_items(pool):
    items = list(range(530))
    slow = [0, 1, 17, 499, 500, 529]
    for place in slow:
        items[place] = "spin"
    got = results(pool, items)
    assert [place for place, result in enumerate(got) if result == TIME_OUT] == slow
    assert [r for r in got if r != TIME_OUT] == [i for i in items if i != "spin"]
    assert results(pool, ["nap"]) == ["nap"], "CPU seconds count, not waiting"


def test_an_error_names_the_item_and_ends_everything_soon(pool):
    start = time.perf_counter()
    with pytest.raises(TaskError, match="item 'raise': KeyError: 'no such thing'"):
        list(run(misbehave, ["raise"] + ["spin"] * 10, limit=100, workers=2))
    assert time.perf_counter() - start < 50
    with pytest.raises(TaskError, match="item 'raise'"):
        results(pool, [1, "raise", 2])
    assert results(pool, [4, 5]) == [4, 5]


def test_errors_and_deaths_cost_only_their_item(pool, tmp_path):
    items = [1, "raise", "exit", "die", tmp_path / "dies once", 2]
    got = results(pool, items, keep_errors=True)
    assert got[:1] + got[4:] == items[:1] + items[4:]
    assert [str(error) for error in got[1:4]] == [
        "item 'raise': KeyError: 'no such thing'",
        "item 'exit': SystemExit: 7",
        "item 'die': its process ended with exit code -9 (too little memory?)",
    ]
    here = list(run(misbehave, [1, "exit", 2], workers=1, keep_errors=True))
    assert here[::2] == [1, 2] and "SystemExit: 7" in str(here[1])


@pytest.mark.parametrize("pause", [0, 0.3])
def test_a_process_killed_between_calls_is_replaced(pause):
    with Pool(1) as pool:
        ((_, process),) = pool.run(slowly, [1], limit=5)
        os.kill(process, signal.SIGKILL)
        time.sleep(pause)
        assert [item for item, _ in pool.run(slowly, [1, 2], limit=5)] == [1, 2]


KILLED_PARENT = """
from itekit.workers import Pool
from toy_tasks import misbehave, slowly
pool = Pool(1)
((_, process),) = pool.run(slowly, [1], limit=1)
print(process, flush=True)
list(pool.run(misbehave, ["spin"], limit=1))
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


SCRIPT = """
import sys
from itekit.tasks.ltl import check
from itekit.workers import Pool, check_all
print("top level", file=sys.stderr)
def own(problem, answer):
    return "mine"
def main():
    for _ in range(8):
        with Pool(2) as pool:
            assert list(pool.run(abs, [-1], limit=5)) == [1]
    print(check_all(check, [("a", "{a}"), ("a", "{!a}")]), check_all(own, ["ab"]))
"""


@pytest.mark.parametrize("guard", ['if __name__ == "__main__":\n    main()', "main()"])
def test_a_script_needs_a_main_guard(tmp_path, guard):
    """With it, pools close without a word; without it, one line says so, and no worker starts."""
    (tmp_path / "script.py").write_text(SCRIPT + guard)
    done = subprocess.run([sys.executable, tmp_path / "script.py"], capture_output=True, text=True)
    lines = done.stderr.splitlines()
    if "if" in guard:
        assert done.stdout == "['correct', 'incorrect'] ['mine']\n"
        assert done.stderr.replace("top level", "").strip() == ""  # of each worker
    else:
        assert "script.py: call what uses workers below `if __name__" in lines[-1]
        assert lines.count("top level") == 1


# Verdicts

LTL_CASES = [
    ("U1&ab", "&ba;{1}", "&ab;{1}", EXACT),
    ("&aXb", "{&ab}", "a;b;{1}", CORRECT),
    ("&aXb", "a;b;{1", "a;b;{1}", INVALID),
]
PROPOSITIONAL_CASES = [("&ab", "b1a1", "a1b1", EXACT), ("|ab", "b0", None, INCORRECT)]


@pytest.mark.parametrize(
    ("check", "cases"), [(ltl.check, LTL_CASES), (propositional.check, PROPOSITIONAL_CASES)]
)
def test_verdicts_are_those_of_the_single_checks_in_order(check, cases):
    items = [case[:3] for case in cases] * 5
    verdicts = check_all(check, items, progress=True)
    assert verdicts == [case[3] for case in cases] * 5 == [check(*item) for item in items]


def where(problem, answer) -> int:
    return os.getpid()


class Notebook:
    """A class of a module; as if of a notebook below."""

    where = staticmethod(where)

    def own(self, problem, answer) -> int:
        return os.getpid()


def test_what_workers_cannot_import_is_called_here_or_refused(pool, monkeypatch):
    pair, this = [("a", "b")], os.getpid()
    for check in (where, Notebook.where, Notebook().own, partial(where, "a")):
        items = [("b",)] if isinstance(check, partial) else pair
        assert check_all(check, items) != [this]
    monkeypatch.setattr(Notebook, "__module__", "__main__")
    for check in (lambda problem, answer: os.getpid(), Notebook().own):
        assert check_all(check, pair) == [this]
        with pytest.raises(ValueError, match="workers cannot import .* put it in a module"):
            list(pool.run(check, pair, unpack=True))


def test_a_hung_check_costs_only_itself():
    parts = [f"U1&{a}XXXXXXX{b}" for a, b in pairwise("abcdefghijklm")]
    hard = "!" + "&" * (len(parts) - 1) + "".join(parts)  # its negation is what is translated
    items = [("a", "{a}"), (hard, "{1}", None), ("a", "{!a}", None)]
    assert check_all(ltl.check, items, cpu_seconds=0.5) == [CORRECT, TIME_OUT, INCORRECT]


def test_what_cannot_be_checked_is_named():
    with pytest.raises(TaskError, match="item .*'&a', '{a}'.*position 2: found the end"):
        check_all(ltl.check, [("a", "{a}"), ("&a", "{a}")])


def test_copying_and_assignments_need_neither_spot_nor_unix():
    code = (
        "import sys; sys.modules['spot'] = sys.modules['fcntl'] = None\n"
        "import itekit.results, itekit.redraw, itekit.workers\n"
        "from itekit.tasks.propositional import check; print(check('&ab', 'b1a1', 'a1b1'))"
    )
    environment = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment)
    assert done.stdout.decode().strip() == EXACT, done.stderr.decode()


# A cluster


def test_a_cluster_answers_as_this_machine_does_and_may_lose_a_worker(cluster):
    with distributed.Client(cluster, set_as_default=False) as client:
        items = [*range(30), "spin", "C", "print"]
        got = list(run(misbehave, items, client=client, limit=0.2))
        assert got == [*range(30), TIME_OUT, TIME_OUT, "print"]
        assert list(run(misbehave, [1, 2], client=client)) == [1, 2]
        with pytest.raises(TaskError, match="item 'raise': KeyError: 'no such thing'"):
            list(run(misbehave, [1, "raise", 2], limit=1, client=client))
        client.wait_for_workers(2)  # one may still be starting after the test before
        victim, got = min(client.run(os.getpid).values()), []
        for result in run(slowly, range(150), client=client, limit=5.0):
            got.append(result)
            if len(got) == 15:
                os.kill(victim, signal.SIGKILL)
        assert [item for item, _ in got] == list(range(150))
        assert victim not in client.run(os.getpid).values()
        assert len({process for _, process in got}) >= 2, "both workers were at work"


def test_no_cluster_and_a_cluster_without_workers_are_errors(monkeypatch):
    monkeypatch.setattr(module, "CONNECT_TIMEOUT", 0.5)
    monkeypatch.setattr(module, "NO_WORKER_TIMEOUT", 0.5)
    with pytest.raises(OSError, match=r"127\.0\.0\.1:1"):
        connect("tcp://127.0.0.1:1")
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as gone, connect(gone.scheduler_address) as client:
        numbered = run(misbehave, count(), client=client)
        assert next(numbered) == 0
        gone.scale(0)
        with pytest.raises(TimeoutError, match="0/1 workers"):
            list(numbered)
