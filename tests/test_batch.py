"""Batches of notebooks: the list is checked first, what is done is skipped, failures stay apart."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import distributed
import nbformat
import psutil
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from itekit.__main__ import main
from itekit.batch import Run, done_seconds, execute, read_list, run_all
from itekit.files import locked

PATIENCE = 120  # seconds: a kernel starts slowly on a machine that has other work
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
PARAMETERS = "scale = None\nseed = 0\nrate = 0.5\nfolder = ''\nvalues = [1]"
NOTEBOOK = '[[run]]\nnotebook = "n.ipynb"\n'


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.setenv("ITEKIT_SCALE", "smoke")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


def write(path: Path, *cells: str) -> Path:
    """A notebook: a heading, the parameters cell, then code cells."""
    first = new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]})
    code = [new_code_cell(source) for source in cells]
    notebook = new_notebook(cells=[new_markdown_cell("# A test"), first, *code], metadata=KERNEL)
    nbformat.write(notebook, path)
    return path


def batch(*words) -> int:
    """The exit code of `itekit batch WORDS`."""
    return main(["batch", *map(str, words)])


def rows(text: str) -> dict[str, list[str]]:
    """The table that the command printed: name -> the other words of its row."""
    lines = text.splitlines()
    return {line.split()[0]: line.split()[1:] for line in lines[1 : lines.index("")]}


def printed(path: Path) -> str:
    cells = nbformat.read(path, 4).cells
    return "".join(output.get("text", "") for c in cells for output in c.get("outputs", []))


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
    runs = read_list(path, tmp_path / "out", 9.0)
    assert {run[1:3] for run in runs} == {(str(tmp_path / "n.ipynb"), str(tmp_path / "out"))}
    assert {run.cell_timeout for run in runs} == {9.0}
    assert {run.name: run.parameters for run in runs} == {
        "n-scale=smoke": {"scale": "smoke"},  # written out, for workers elsewhere
        **{
            f"search-seed={seed}-rate={rate}": {"scale": "lab", "seed": seed, "rate": rate}
            for seed in (0, 1)
            for rate in (0.5, 2)
        },
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
        ("a = " + "[" * 10_000, "not TOML: "),
        ("", "expected tables"),
        ("run = 3", "expected tables"),
        ("run = [3]", "expected tables"),
        ("run = [{}, 3]", "expected tables"),
        (NOTEBOOK + "[other]", "expected tables .*found 'other'"),
        (NOTEBOOK + "[[run]]\nseed = 3", "run 2: no such key: 'seed'"),
        (NOTEBOOK + '[[run]]\nname = "x"', "run 2: no notebook"),
        (NOTEBOOK + "parameters = 3", "run 1: parameters is 3; expected a table"),
        (NOTEBOOK + "grid = { seed = 3 }", "run 1: grid: seed is 3; expected a list"),
        (NOTEBOOK + "grid = { seed = [] }", r"run 1: grid: seed is \[\]"),
        (NOTEBOOK + "grid = {seed = [1]}\nparameters = {seed = 1}", "run 1: .*for what is no"),
        (NOTEBOOK + "grid = { sede = [1] }", "run 1: .*no parameter 'sede'"),
        (NOTEBOOK + 'grid = { seed = [1, "a"] }', "run 1: .*'seed' is 'a' .str.; expected int"),
        (NOTEBOOK + 'parameters = {scale = "big"}', "run 1: scale is 'big'"),
        (NOTEBOOK + "parameters = {rate = inf}", "run 1: a value that no notebook can be given"),
        (NOTEBOOK + "parameters = {scale = 2026-01-01}", "run 1: a value that no notebook"),
        (NOTEBOOK + 'name = "../x"', "run 1: the name is '../x'; expected"),
        (NOTEBOOK + 'name = "x.failed"', "run 1: the name is 'x.failed'; expected"),
        (NOTEBOOK + NOTEBOOK, "run 2: the name n-scale=smoke is taken by run 1"),
        (NOTEBOOK + 'name = "N"\n' + NOTEBOOK + 'name = "n"', "run 2: the name n is taken"),
        (NOTEBOOK + "grid = { seed = [3, 3] }", "run 1: the name n-seed=3.* is taken by run 1"),
        ('[[run]]\nnotebook = "no.ipynb"', r"run 1: .*no\.ipynb"),
        ('[[run]]\nnotebook = "list.toml"', r"run 1: .*list\.toml: "),
        ('[[run]]\nnotebook = "bad.ipynb"', r"run 1: .*bad\.ipynb: "),
    ],
)
def test_the_whole_list_is_checked_before_anything_starts(tmp_path, capsys, text, message):
    write(tmp_path / "n.ipynb")
    (tmp_path / "bad.ipynb").write_text("{")
    path = tmp_path / "list.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"list\.toml: {message}"):
        read_list(path, tmp_path / "out")
    assert batch(path, "--output", tmp_path / "out") == 2
    assert "list.toml" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_other_bad_input_starts_nothing(tmp_path, capsys):
    write(tmp_path / "n.ipynb")
    (tmp_path / "list.toml").write_text(NOTEBOOK + 'name = "n"')
    assert batch(tmp_path / "no.toml") == 2
    assert "no.toml" in capsys.readouterr().err
    with pytest.raises(ValueError, match="run 1: the output would overwrite the notebook"):
        read_list(tmp_path / "list.toml", tmp_path)
    with pytest.raises(ValueError, match="workers must be 1 or more, found 0"):
        run_all(read_list(tmp_path / "list.toml", tmp_path / "out"), workers=0)
    assert not list(tmp_path.rglob("*.log"))


# Running


SCENARIO = """
import os
print(seed, rate, os.environ["OMP_NUM_THREADS"])
if seed == 1:
    {}["key"]
if seed == 2:
    os.kill(os.getppid(), 9)
"""


def test_failures_are_told_and_the_rest_is_skipped_when_done(tmp_path, capsys):
    write(tmp_path / "n.ipynb", SCENARIO)
    path, out = tmp_path / "list.toml", tmp_path / "out"
    words = [path, "--output", out, "--workers", 2, "--threads", 3, "--cell-timeout", 500]
    path.write_text(NOTEBOOK + 'name = "r"\ngrid = { seed = [1, 2, 3] }')
    assert batch(*words, "--dry-run") == 0
    assert "3 runs: 3 to run" in capsys.readouterr().out
    assert not out.exists()

    assert batch(*words) == 1
    said = capsys.readouterr()
    table = rows(said.out)
    assert [row[0] for row in table.values()] == ["failed", "failed", "ran"]
    assert "n.ipynb: code cell [3] failed with KeyError: 'key'" in " ".join(table["r-seed=1"])
    dead = " ".join(table["r-seed=2"])
    assert "n.ipynb: code cell [3]: its process was ended by SIGKILL" in dead
    assert dead.endswith(f"log: {out / 'r-seed=2.log'}")
    assert "3 runs: 1 ran, 2 failed" in said.out
    assert [line.split()[0] for line in said.err.splitlines()].count("failed") == 2
    assert printed(out / "r-seed=3.ipynb") == "3 0.5 3\n"
    assert "KeyError" in (out / "r-seed=1.log").read_text()
    made = {f"r-seed={seed}.failed.ipynb" for seed in (1, 2)} | {"r-seed=3.ipynb"}
    assert {p.name for p in out.iterdir() if p.suffix == ".ipynb"} == made

    # what is done is skipped; another parameter is run; so is all of another notebook
    assert batch(*words, "--dry-run") == 0
    table = rows(capsys.readouterr().out)
    assert [row[0] for row in table.values()] == ["to", "to", "skipped"]
    path.write_text(NOTEBOOK + 'name = "r-seed=3"\nparameters = { seed = 4, folder = "1" }')
    assert batch(*words) == 0
    assert "1 runs: 1 ran" in capsys.readouterr().out
    assert printed(out / "r-seed=3.ipynb") == "4 0.5 3\n"
    assert batch(*words) == 0
    assert "1 runs: 1 skipped" in capsys.readouterr().out
    write(tmp_path / "n.ipynb", SCENARIO, "1 + 1")
    assert batch(*words, "--dry-run") == 0
    assert "1 runs: 1 to run" in capsys.readouterr().out


def test_what_is_done_and_what_is_not(tmp_path):
    notebook = write(tmp_path / "n.ipynb", "print(values)")
    run = Run("r", str(notebook), str(tmp_path / "out"), {"values": [1, "a b"], "scale": "lab"})
    (tmp_path / "out").mkdir()
    left = tmp_path / "out" / ".r.7.partial.ipynb"
    left.write_text("of a run that was killed")
    assert run_all([run])[0][:2] == ("r", "ran")
    assert printed(run.path(".ipynb")) == "[1, 'a b']\n" and not left.exists()
    assert done_seconds(run) > 0 and run_all([run])[0].status == "skipped"
    assert done_seconds(run._replace(parameters={"scale": "lab"})) is None
    content = run.path(".ipynb").read_text()
    for damaged in ("", "{", "[]", content[:-20], content.replace('"duration"', '"x"')):
        run.path(".ipynb").write_text(damaged)
        assert done_seconds(run) is None
    run.path(".log").unlink()
    run.path(".log").mkdir()  # a fault of the disk: the log cannot be written
    (outcome,) = run_all([run])
    assert outcome.status == "failed" and "r.log" in outcome.message


SLEEPS = """
import os, pathlib, time
place = pathlib.Path(folder)
(place / f"{seed}.pids").write_text(f"{os.getpid()} {os.getppid()}")
while not (place / "go").exists():
    time.sleep(0.05)
"""
PROGRAM = "import sys; from itekit.__main__ import main; sys.exit(main(sys.argv[1:]))"


def sleeping(tmp_path: Path, seeds: list[int]):
    """A batch in a process of its own, whose runs wait for a file; and the words to repeat it."""
    write(tmp_path / "n.ipynb", SLEEPS)
    path, out = tmp_path / "list.toml", tmp_path / "out"
    path.write_text(
        f'{NOTEBOOK}name = "r"\nparameters = {{ folder = "{tmp_path}" }}\n'
        f"grid = {{ seed = {seeds} }}"
    )
    words = ["batch", str(path), "--output", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
        stderr=subprocess.PIPE,
        start_new_session=True,
        # the tests themselves may be a background job, which ignores SIGINT
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    end = time.monotonic() + PATIENCE
    pids = tmp_path / f"{seeds[0]}.pids"
    while not (pids.exists() and pids.read_text()):
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)
    return process, words, [psutil.Process(int(pid)) for pid in pids.read_text().split()]


def test_ctrl_c_ends_the_runs_and_the_same_command_goes_on(tmp_path, capsys):
    process, words, both = sleeping(tmp_path, [7, 8])
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode != 0 and b"the same command goes on" in errors
    assert not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in both)
    assert not (tmp_path / "8.pids").exists()
    (tmp_path / "go").touch()
    assert main([*words, "--workers", "2"]) == 0
    assert {row[0] for row in rows(capsys.readouterr().out).values()} == {"ran"}
    names = {f"r-seed={seed}.{end}" for seed in (7, 8) for end in ("ipynb", "log")}
    assert {p.name for p in (tmp_path / "out").iterdir()} == names


def test_what_a_killed_batch_was_running_is_finished_and_counts(tmp_path, capsys):
    process, words, both = sleeping(tmp_path, [7])
    process.kill()
    process.communicate()
    with pytest.raises(BlockingIOError, match="another process"), locked(tmp_path / "out"):
        pass
    assert main(words) == 2
    (tmp_path / "go").touch()
    psutil.wait_procs(both, timeout=PATIENCE)
    assert main(words) == 0
    assert "1 runs: 1 skipped" in capsys.readouterr().out


# On a cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2)
        yield client


KILLS = """
import os, pathlib, psutil
worker = psutil.Process(os.getppid()).parent()
place = pathlib.Path(folder, "killed")
if seed == 1 and not place.exists():
    place.write_text("x")
    worker.kill()
if seed == 2:
    {}["key"]
print(seed)
"""


def test_a_cluster_gives_the_same_table_and_does_a_killed_workers_run_again(
    tmp_path, capsys, cluster
):
    write(tmp_path / "n.ipynb", KILLS)
    path, out = tmp_path / "list.toml", tmp_path / "out"
    path.write_text(
        f'{NOTEBOOK}name = "r"\nparameters = {{ folder = "{tmp_path}" }}\n'
        "grid = { seed = [1, 2] }"
    )
    assert batch(path, "--output", out, "--dask", cluster.scheduler_address) == 1
    table = rows(capsys.readouterr().out)
    assert (tmp_path / "killed").exists()
    assert [row[0] for row in table.values()] == ["ran", "failed"]
    assert "code cell [3] failed with KeyError" in " ".join(table["r-seed=2"])
    assert printed(out / "r-seed=1.ipynb") == "1\n"


def test_a_worker_that_does_not_see_the_folder_says_so(tmp_path, client):
    run = Run("r", str(write(tmp_path / "n.ipynb")), str(tmp_path / "nowhere"), {})
    outcome = client.submit(execute, run).result()
    assert outcome.status == "failed" and f"{tmp_path / 'nowhere'} on " in outcome.message
