"""Batches of notebooks: the list is checked first, what is done is skipped, failures stay apart."""

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
from itekit.files import locked
from itekit.notebooks import done_minutes, read_list, run_all

PATIENCE = 120  # seconds: a kernel starts slowly on a machine that has other work
NOTEBOOK = '[[run]]\nnotebook = "n.ipynb"\n'


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
    return {line.split()[0]: line.split(" ", 1)[1].strip() for line in lines[1 : lines.index("")]}


# The list


def test_a_grid_gives_every_combination_and_paths_are_seen_from_the_list(tmp_path):
    write(tmp_path / "n.ipynb")
    (tmp_path / "lists").mkdir()
    path = tmp_path / "lists" / "search.toml"
    path.write_text(
        '[[run]]\nnotebook = "../n.ipynb"\n'
        '[[run]]\nnotebook = "../n.ipynb"\nname = "search"\nparameters = { scale = "lab" }\n'
        'grid = { seed = [0, 1], rate = [0.5, 2] }\n[[run]]\nnotebook = "../n.ipynb"\n'
        'parameters = { folder = "a b/c", values = [1, 2] }'
    )
    runs = read_list(path, tmp_path / "out")
    assert {run.notebook for run in runs} == {str(tmp_path / "n.ipynb")}
    assert {run.output for run in runs} == {f"{tmp_path}/out/{run.name}.ipynb" for run in runs}
    grid = [(seed, rate) for seed in (0, 1) for rate in (0.5, 2)]
    assert {run.name: run.parameters for run in runs} == {
        "n-scale=smoke": {"scale": "smoke"},  # written out, for workers elsewhere
        **{f"search-seed={s}-rate={r}": {"scale": "lab", "seed": s, "rate": r} for s, r in grid},
        "n-folder=a_b_c-values=_1_2_-scale=smoke": {
            "folder": "a b/c",
            "values": [1, 2],
            "scale": "smoke",
        },
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[run]", "not TOML: .*line 1"),
        ("run = [3]", "run 1: "),
        ('run = [[["notebook", "n.ipynb"]]]', r"run 1: found .*'notebook'"),
        (NOTEBOOK + "[other]", "expected tables .* nothing else"),
        (NOTEBOOK + "[[run]]\nseed = 3", "run 2: found .*'seed'"),
        (NOTEBOOK + "grid = { seed = 3 }", "run 1: grid: seed is 3; expected a list"),
        (NOTEBOOK + 'grid = { seed = [1, "a"] }', "run 1: .*'seed' is 'a' .str.; expected int"),
        (NOTEBOOK + 'parameters = {scale = "big"}', "run 1: scale is 'big'"),
        (NOTEBOOK + "parameters = {rate = inf}", "run 1: .*JSON"),
        (NOTEBOOK + 'name = "../x"', "run 1: '.*x' cannot be the name of a file"),
        (NOTEBOOK + 'name = "N"\n' + NOTEBOOK + 'name = "n"', "run 2: the name n is taken"),
        ('[[run]]\nnotebook = "no.ipynb"', r"run 1: .*no\.ipynb"),
    ],
)
def test_the_whole_list_is_checked_before_anything_starts(tmp_path, capsys, text, message):
    write(tmp_path / "n.ipynb")
    path = tmp_path / "list.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"list\.toml: {message}"):
        read_list(path, tmp_path / "out")
    assert batch(path, "--output", tmp_path / "out") == 2
    assert "list.toml" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


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
    text = NOTEBOOK + 'name = "r"\nparameters = { values = [1, "a b"] }\n'
    path.write_text(text + "grid = { seed = [1, 2, 3] }")
    assert batch(*words, "--dry-run") == 0
    assert "3 runs: 3 to run" in capsys.readouterr().out and not out.exists()

    assert batch(*words) == 1
    said = capsys.readouterr()
    failed, dead, good = rows(said.out).values()
    assert failed.startswith("failed") and "n.ipynb: code cell [3] failed with KeyErr" in failed
    assert "its process ended with exit code -9 (too little memory?)" in dead
    assert good.startswith("ran")
    assert "3 runs: 2 failed, 1 ran" in said.out and said.err.count(" failed ") >= 2
    assert printed(out / "r-seed=3.ipynb") == "3 0.5 [1, 'a b'] 3\n"
    assert {"r-seed=1.failed.ipynb", "r-seed=3.ipynb"} <= {p.name for p in out.iterdir()}

    # what is done is skipped; not with other parameters, a damaged output, or other cells
    assert batch(*words, "--dry-run") == 0
    states = [row.split("  ")[0] for row in rows(capsys.readouterr().out).values()]
    assert states == ["to run", "to run", "skipped"]
    run = read_list(path, out)[2]
    path.write_text(text + "grid = { seed = [3] }")
    assert batch(*words) == 0 and "1 runs: 1 skipped" in capsys.readouterr().out
    assert done_minutes(run) and not done_minutes(run._replace(parameters={"seed": 3}))
    output = Path(run.output)
    content = output.read_text()
    for damaged in ("", "[]", content[:-20], content.replace('"duration"', '"x"')):
        output.write_text(damaged)
        assert done_minutes(run) is None
    output.write_text(content)
    assert done_minutes(run)
    write(tmp_path / "n.ipynb", SCENARIO + "1 + 1")
    assert done_minutes(run) is None


SLEEPS = """
import os, pathlib, time
place = pathlib.Path(folder)
(place / f"{seed}.pids").write_text(f"{os.getpid()} {os.getppid()}")
while not (place / "go").exists():
    time.sleep(0.05)
"""
PROGRAM = "import sys; from itekit.__main__ import main; sys.exit(main(sys.argv[1:]))"


@pytest.mark.parametrize(
    ("workers", "end"), [(1, signal.SIGINT), (2, signal.SIGINT), (1, signal.SIGKILL)]
)
def test_a_batch_that_is_stopped_leaves_nothing_running_and_goes_on(tmp_path, capsys, workers, end):
    write(tmp_path / "n.ipynb", SLEEPS)
    path, out = tmp_path / "list.toml", tmp_path / "out"
    path.write_text(f'{NOTEBOOK}name = "r"\nparameters = {{ folder = "{tmp_path}", seed = 7 }}')
    words = ["batch", str(path), f"--output={out}", f"--workers={workers}"]
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
        stderr=subprocess.PIPE,
        # the tests themselves may be a background job, which ignores SIGINT
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    pids, last = tmp_path / "7.pids", time.monotonic() + PATIENCE
    while not (pids.exists() and pids.read_text()):
        assert time.monotonic() < last, "waited too long"
        time.sleep(0.05)
    running = [psutil.Process(int(pid)) for pid in pids.read_text().split()]
    with pytest.raises(BlockingIOError, match="another process"), locked(out):
        pass
    process.send_signal(end)
    _, errors = process.communicate(timeout=PATIENCE)
    assert end == signal.SIGKILL or b"the same command goes on" in errors
    assert not psutil.wait_procs(running, timeout=PATIENCE)[1]
    (tmp_path / "go").touch()
    assert main(words) == 0
    assert "1 runs: 1 ran" in capsys.readouterr().out


def test_a_cluster_gives_the_same_table(tmp_path, capsys, cluster):
    write(tmp_path / "n.ipynb", "print(seed)")
    path, out = tmp_path / "list.toml", tmp_path / "out"
    path.write_text(f'{NOTEBOOK}name = "r"\nparameters = {{ seed = 4 }}')
    assert batch(path, "--output", out, "--dask", cluster.scheduler_address) == 0
    assert "1 runs: 1 ran" in capsys.readouterr().out and printed(out / "r.ipynb") == "4\n"


def test_an_output_that_is_not_here_is_told(tmp_path, monkeypatch):
    """A cluster's worker may have another folder under the same path."""
    write(tmp_path / "n.ipynb")
    (tmp_path / "list.toml").write_text(NOTEBOOK)
    monkeypatch.setattr("itekit.notebooks.execute", lambda run: None)
    ((status, _, message),) = run_all(read_list(tmp_path / "list.toml", tmp_path / "out")).values()
    assert status == "failed" and "workers must share its folder" in message
