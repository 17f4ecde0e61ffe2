"""Lists of runs: checked first, shared by processes; done runs are skipped, failures told."""

import fnmatch
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from toy_notebooks import printed, write

from itekit.__main__ import main
from itekit.names import NAMES
from itekit.notebooks import done_minutes, read_list
from itekit.results import RESULTS
from lessons.full_run import results_of
from lessons.paper import paper_figures

LISTS = Path(__file__).parents[1] / "notebooks"
PATIENCE = 120  # seconds: a kernel starts slowly on a machine that has other work
NOTEBOOK = '[[run]]\nnotebook = "n.ipynb"\n'
PROGRAM = "import sys; from itekit.__main__ import main; sys.exit(main(sys.argv[1:]))"


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.setenv("ITEKIT_SCALE", "smoke")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


def batch(*words) -> int:
    """The exit code of `itekit batch WORDS`."""
    return main(["batch", *map(str, words)])


def rows(text: str) -> dict[str, str]:
    """The table that the command printed: name -> the rest of its row."""
    lines = text.splitlines()
    return {line.split()[0]: line.split(" ", 1)[1].strip() for line in lines[: lines.index("")]}


def start(*words) -> subprocess.Popen:
    """`itekit batch WORDS` in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "batch", *map(str, words)],
        env=os.environ | {"PYTHONPATH": str(LISTS.parent)},
        stderr=subprocess.PIPE,
    )


def waited(condition) -> None:
    last = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < last, "waited too long"
        time.sleep(0.05)


# The list


def test_a_grid_gives_every_combination_and_paths_are_seen_from_the_list(tmp_path):
    write(tmp_path / "n.ipynb")
    (tmp_path / "lists").mkdir()
    path = tmp_path / "lists" / "search.toml"
    path.write_text(
        '[[run]]\nnotebook = "../n.ipynb"\nparameters = { folder = "a b/c", values = [1, 2] }\n'
        '[[run]]\nnotebook = "../n.ipynb"\nparameters = { scale = "lab" }\n'
        "grid = { seed = [0, 1], rate = [0.5, 2] }"
    )
    runs = read_list(path, tmp_path / "out")
    assert {run.notebook for run in runs} == {str(tmp_path / "n.ipynb")}
    assert {run.output for run in runs} == {f"{tmp_path}/out/{run.name}.ipynb" for run in runs}
    grid = [(seed, rate) for seed in (0, 1) for rate in (0.5, 2)]
    first = {"folder": "a b/c", "values": [1, 2], "scale": "smoke"}  # for workers elsewhere
    assert {run.name: run.parameters for run in runs} == {
        "n-folder=a_b_c-values=1+2-scale=smoke": first,
        **{
            f"n-scale=lab-seed={s}-rate={r}": {"scale": "lab", "seed": s, "rate": r}
            for s, r in grid
        },
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[run]", "not TOML: .*line 1"),
        ("run = [3]", "run 1: "),
        (NOTEBOOK + "[other]", "expected tables .* nothing else"),
        (NOTEBOOK + "[[run]]\nseed = 3", "run 2: found .*'seed'"),
        (NOTEBOOK + "grid = { seed = 3 }", "run 1: grid: seed is 3; expected a list"),
        (NOTEBOOK + 'grid = { seed = [1, "a"] }', "run 1: .*'seed' is 'a' .str.; expected int"),
        (NOTEBOOK + 'parameters = {scale = "big"}', "run 1: scale is 'big'"),
        (NOTEBOOK + NOTEBOOK, "run 2: the run n-scale=smoke is in the list twice"),
        ('[[run]]\nnotebook = "no.ipynb"', r"run 1: .*no\.ipynb"),
        (f'[[run]]\nnotebook = "{LISTS}/run.ipynb"\nparameters = {{ name = "ltl/propsed" }}',
         "run 1: unknown experiment 'ltl/propsed': try ltl/proposed"),
    ],
)  # fmt: skip
def test_the_whole_list_is_checked_before_anything_starts(tmp_path, capsys, text, message):
    write(tmp_path / "n.ipynb")
    path = tmp_path / "list.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"list\.toml: {message}"):
        read_list(path, tmp_path / "out")
    assert batch(path, "--output", tmp_path / "out") == 2
    assert "list.toml" in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_each_shipped_result_is_of_a_run_of_the_lists(tmp_path):
    runs = read_list(LISTS / "lab.toml", tmp_path)
    shipped = [path.stem for path in RESULTS.glob("*.json") if "-smoke" not in path.stem]
    shipped = {name for name in shipped if not name.endswith(".log")}
    patterns = set().union(*map(results_of, runs))
    made = {pattern: fnmatch.filter(shipped, pattern) for pattern in patterns}
    assert all(made.values()) and shipped == {name for names in made.values() for name in names}
    for run in runs:
        before = [other.experiment.name for other in runs[: runs.index(run)] if other.experiment]
        assert not run.experiment or not run.experiment.start or run.experiment.start in before


def test_the_papers_list_has_every_experiment_of_the_papers_tables(tmp_path, capsys):
    path = LISTS / "paper.toml"
    listed = [run.experiment for run in read_list(path, tmp_path) if run.experiment]
    figures = {"/".join(key.split("/")[:2]) for key in paper_figures()}
    searched = {"copying-5-10/without-f_bn", "copying-5-10/neighboring-points-16"}
    assert {one.name for one in listed} >= (figures & set(NAMES)) - searched
    assert {one.seed for one in listed} == {0, 1, 2}
    words = ["--output", tmp_path, "--scale", "paper", "--dry-run", "--only", "ltl-pl*"]
    assert batch(path, *words, "--part", "2/2") == 0
    said = capsys.readouterr().out
    assert list(rows(said)) == ["ltl-plain-paper-s1"]
    assert "missing   ltl35-paper, ltl-generalization-paper" in said


# Running

SCENARIO = """
import os
print(seed, rate, values, os.environ["OMP_NUM_THREADS"])
if seed == 1:
    {}["key"]
if seed == 2:
    os.kill(os.getppid(), 9)
"""


def test_failures_are_told_and_the_rest_is_skipped_when_done(tmp_path, capsys):
    write(tmp_path / "n.ipynb", SCENARIO)
    path, out = tmp_path / "list.toml", tmp_path / "out"
    words = [path, "--output", out, "--workers", 2, "--threads", 3, "--cell-timeout", 500]
    path.write_text(NOTEBOOK + "grid = { seed = [1, 2, 3] }")
    assert batch(*words, "--dry-run") == 0
    assert "3 runs: 3 missing" in capsys.readouterr().out and not out.exists()

    assert batch(*words) == 1
    said = capsys.readouterr()
    good, failed, dead = rows(said.out).values()  # failures are the last
    assert failed.startswith("failed") and "n.ipynb: code cell [3] failed with KeyErr" in failed
    assert "its process ended with exit code -9 (too little memory?)" in dead
    assert good.startswith("ran")
    assert "3 runs: 2 failed, 1 ran" in said.out and said.err.count(" failed ") >= 2
    assert (out / "n-seed=3-scale=smoke.log").read_text() == "3 0.5 [1] 3\n"
    assert (out / "n-seed=1-scale=smoke.failed.ipynb").exists()

    # what is done is skipped; not with other parameters, a damaged output, or other cells
    assert batch(*words, "--dry-run") == 0
    states = [row.split("  ")[0] for row in rows(capsys.readouterr().out).values()]
    assert states == ["goes on", "goes on", "done"]
    assert batch(*words, "--only", "*=3-*") == 0 and "1 runs: 1 done" in capsys.readouterr().out
    run = read_list(path, out)[2]
    assert done_minutes(run) and not done_minutes(run._replace(parameters={"seed": 3}))
    content = Path(run.output).read_text()
    Path(run.output).write_text(content[:-20])
    assert not done_minutes(run)
    Path(run.output).write_text(content)
    write(tmp_path / "n.ipynb", SCENARIO + "1 + 1")
    assert not done_minutes(run)


SLEEPS = """
import os, pathlib, time
place = pathlib.Path(folder)
(place / f"{seed}.pids").write_text(f"{os.getpid()} {os.getppid()}")
while not (place / f"go{seed}").exists():
    time.sleep(0.05)
"""


@pytest.mark.parametrize(
    ("workers", "end"), [(1, signal.SIGTERM), (2, signal.SIGTERM), (1, signal.SIGKILL)]
)
def test_a_batch_that_is_stopped_leaves_nothing_running_and_goes_on(tmp_path, capsys, workers, end):
    write(tmp_path / "n.ipynb", SLEEPS)
    path, out, pids = tmp_path / "list.toml", tmp_path / "out", tmp_path / "7.pids"
    path.write_text(f'{NOTEBOOK}parameters = {{ folder = "{tmp_path}", seed = 7 }}')
    words = [path, f"--output={out}", f"--workers={workers}"]
    process = start(*words)
    waited(lambda: pids.exists() and pids.read_text())
    running = [psutil.Process(int(pid)) for pid in pids.read_text().split()]
    process.send_signal(end)
    _, errors = process.communicate(timeout=PATIENCE)
    assert end == signal.SIGKILL or b"the same command goes on" in errors
    assert not psutil.wait_procs(running, timeout=PATIENCE)[1]
    (tmp_path / "go7").touch()
    assert batch(*words) == 0
    assert "1 runs: 1 ran" in capsys.readouterr().out


def test_two_processes_share_a_list(tmp_path, capsys):
    write(tmp_path / "n.ipynb", SLEEPS)
    path, pids = tmp_path / "list.toml", tmp_path / "7.pids"
    path.write_text(
        f'{NOTEBOOK}parameters = {{ folder = "{tmp_path}" }}\ngrid = {{ seed = [7, 8] }}'
    )
    words = [path, f"--output={tmp_path / 'out'}"]
    process = start(*words)
    waited(pids.exists)
    (tmp_path / "go8").touch()
    assert batch(*words) == 0
    assert "2 runs: 1 elsewhere, 1 ran" in capsys.readouterr().out
    (tmp_path / "go7").touch()
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert batch(*words) == 0 and "2 runs: 2 done" in capsys.readouterr().out


def test_a_cluster_gives_the_same_table(tmp_path, capsys, cluster):
    write(tmp_path / "n.ipynb", "print(seed)")
    path, out = tmp_path / "list.toml", tmp_path / "out"
    path.write_text(f"{NOTEBOOK}parameters = {{ seed = 4 }}")
    assert batch(path, "--output", out, "--dask", cluster.scheduler_address) == 0
    assert "1 runs: 1 ran" in capsys.readouterr().out
    assert printed(out / "n-seed=4-scale=smoke.ipynb") == "4\n"
