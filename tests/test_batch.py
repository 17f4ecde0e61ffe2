"""Batches of notebooks: the list is checked first, what is done is skipped, failures stay apart."""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import psutil
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from itekit.batch import child
from itekit.batch.cluster import ClusterRunner
from itekit.batch.command import add_parser, run_jobs
from itekit.batch.jobs import cells_digest, done_seconds, make_jobs, write_record
from itekit.batch.lists import ListError, Run, check_runs, read_list
from itekit.batch.local import locked
from itekit.batch.process import RunProcess

PATIENCE = 120  # seconds: a kernel starts slowly on a machine that has other work
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
PARAMETERS = "scale = None\nseed = 0\nrate = 0.5\nfolder = ''\nvalues = [1]"
PROGRAM = """
import argparse, sys
from itekit.batch.command import add_parser
parser = argparse.ArgumentParser()
add_parser(parser.add_subparsers())
arguments = parser.parse_args(["batch", *sys.argv[1:]])
sys.exit(arguments.function(arguments))
"""
SLEEPS = """
import os, pathlib, time
place = pathlib.Path(folder)
go = (place / "go").exists()
(place / f"{seed}.pids").write_text(f"{os.getpid()} {os.getppid()}")
while not go:
    time.sleep(0.05)
"""


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
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    arguments = parser.parse_args(["batch", *map(str, words)])
    return arguments.function(arguments)


def rows(text: str) -> dict[str, list[str]]:
    """The table that the command printed: name -> the other words of its row."""
    lines = text.splitlines()
    return {line.split()[0]: line.split()[1:] for line in lines[1 : lines.index("")]}


def printed(path: Path) -> str:
    cells = nbformat.read(path, 4).cells
    return "".join(output.get("text", "") for c in cells for output in c.get("outputs", []))


def until(condition):
    """What `condition` returns once it is true."""
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)
    return found


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def pids(folder: Path, seed: int) -> list[int]:
    """The kernel and the process of a run that sleeps, once it does."""
    path = folder / f"{seed}.pids"
    return list(map(int, until(lambda: path.exists() and path.read_text()).split()))


# the list


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
    runs = check_runs(read_list(path))
    assert {run.notebook for run in runs} == {tmp_path / "n.ipynb"}
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


NOTEBOOK = '[[run]]\nnotebook = "n.ipynb"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[run]", "not TOML: .*line 1"),
        ("", "expected tables"),
        ("run = 3", "expected tables"),
        ("jobs = 3", "no such key: 'jobs'"),
        (NOTEBOOK + "[[run]]\nseed = 3", "run 2: no such key: 'seed'"),
        (NOTEBOOK + '[[run]]\nname = "x"', "run 2: no notebook"),
        (NOTEBOOK + "parameters = 3", "run 1: parameters is 3; expected a table"),
        (NOTEBOOK + "grid = { seed = 3 }", "run 1: grid: seed is 3; expected a list"),
        (NOTEBOOK + "grid = { seed = [] }", r"run 1: grid: seed is \[\]"),
        (NOTEBOOK + "grid = {seed = [1]}\nparameters = {seed = 1}", "run 1: 'seed' is among"),
        (NOTEBOOK + "grid = { sede = [1] }", "run 1: .*no parameter 'sede'; did you mean 'seed'"),
        (NOTEBOOK + 'grid = { seed = [1, "a"] }', "run 1: .*'seed' is 'a' .str.; expected int"),
        (NOTEBOOK + 'parameters = {scale = "big"}', "run 1: scale is 'big'"),
        (NOTEBOOK + "parameters = {rate = inf}", "run 1: a value that no notebook can be given"),
        (NOTEBOOK + "parameters = {scale = 2026-01-01}", "run 1: a value that no notebook"),
        (NOTEBOOK + 'name = "../x"', "run 1: the name is '../x'; expected"),
        (NOTEBOOK + 'name = "x.failed"', "run 1: the name is 'x.failed'; expected"),
        (NOTEBOOK + NOTEBOOK, "run 2: the name n-scale=smoke is taken by .*run 1"),
        (NOTEBOOK + 'name = "N"\n' + NOTEBOOK + 'name = "n"', "run 2: the name n is taken"),
        (NOTEBOOK + "grid = { seed = [3, 3] }", "run 1: the name n-seed=3.* is taken by .*run 1"),
        ('[[run]]\nnotebook = "no.ipynb"', r"run 1: no notebook .*/no\.ipynb"),
        ('[[run]]\nnotebook = "list.toml"', "run 1: expected a notebook that ends in .ipynb"),
        ('[[run]]\nnotebook = "bad.ipynb"', r"run 1: .*bad\.ipynb cannot be read as a notebook"),
    ],
)
def test_the_whole_list_is_checked_before_anything_starts(tmp_path, text, message):
    write(tmp_path / "n.ipynb")
    (tmp_path / "bad.ipynb").write_text("{")
    path = tmp_path / "list.toml"
    path.write_text(text)
    with pytest.raises(ListError, match=rf"list\.toml: .*{message}|list\.toml: {message}"):
        batch(path, "--output", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_other_bad_input_starts_nothing(tmp_path):
    write(tmp_path / "n.ipynb")
    (tmp_path / "list.toml").write_text(NOTEBOOK)
    with pytest.raises(FileNotFoundError, match=r"no\.toml"):
        batch(tmp_path / "no.toml")
    with pytest.raises(ValueError, match="workers must be 1 or more, found 0"):
        batch(tmp_path / "list.toml", "--workers", 0, "--output", tmp_path / "out")
    with pytest.raises(ListError, match="overwrite the notebook"):
        make_jobs([Run(tmp_path / "n.ipynb", {}, "n")], tmp_path)
    with pytest.raises(ValueError, match="cell_timeout must be above 0, found 0.0"):
        batch(tmp_path / "list.toml", "--cell-timeout", 0)
    assert not list(tmp_path.rglob("*.log"))


def test_the_digest_counts_sources_and_not_outputs(tmp_path):
    path = write(tmp_path / "n.ipynb", "print(1)")
    first = cells_digest(path)
    notebook = nbformat.read(path, 4)
    notebook.cells[2].outputs = [nbformat.v4.new_output("stream", text="1\n")]
    notebook.metadata["kernelspec"]["display_name"] = "another"
    nbformat.write(notebook, path)
    assert cells_digest(path) == first
    assert cells_digest(write(path, "print(2)")) != first


# running


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
    assert said.err.count("start ") == 3
    assert printed(out / "r-seed=3.ipynb") == "3 0.5 3\n"
    assert "KeyError" in (out / "r-seed=1.log").read_text()
    assert "SIGKILL" in (out / "r-seed=2.log").read_text().splitlines()[-1]
    made = {f"r-seed={seed}.failed.ipynb" for seed in (1, 2)} | {"r-seed=3.ipynb"}
    assert {p.name for p in out.iterdir() if p.suffix == ".ipynb"} == made

    # what is done is skipped; another parameter is run; so is all of another notebook
    assert batch(*words, "--dry-run") == 0
    table = rows(capsys.readouterr().out)
    assert [row[0] for row in table.values()] == ["to", "to", "skipped"]
    path.write_text(NOTEBOOK + 'name = "r-seed=3"\nparameters = { seed = 4 }')
    assert batch(*words) == 0
    assert "1 runs: 1 ran" in capsys.readouterr().out
    assert printed(out / "r-seed=3.ipynb") == "4 0.5 3\n"
    assert batch(*words) == 0
    assert "1 runs: 1 skipped" in capsys.readouterr().out
    write(tmp_path / "n.ipynb", SCENARIO, "1 + 1")
    assert batch(*words, "--dry-run") == 0
    assert "1 runs: 1 to run" in capsys.readouterr().out


@pytest.mark.parametrize(("number", "seeds"), [(signal.SIGKILL, [7]), (signal.SIGINT, [7, 8])])
def test_a_batch_that_is_killed_takes_its_runs_along_and_goes_on(tmp_path, capsys, number, seeds):
    write(tmp_path / "n.ipynb", SLEEPS)
    path, out = tmp_path / "list.toml", tmp_path / "out"
    path.write_text(
        f'{NOTEBOOK}name = "r"\nparameters = {{ folder = "{tmp_path}" }}\n'
        f"grid = {{ seed = {seeds} }}"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(path), "--output", str(out)],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
        stderr=subprocess.PIPE,
        start_new_session=True,
        # the tests themselves may be a background job, which ignores SIGINT
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        both = pids(tmp_path, 7)
        process.send_signal(number)
        _, errors = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode != 0
    assert (b"the same command goes on" in errors) == (number == signal.SIGINT)
    assert not (tmp_path / "8.pids").exists()
    (tmp_path / "go").touch()
    words = [path, "--output", out, "--workers", 2]
    assert batch(*words) == 0  # waits for the lock that a run of the killed batch holds
    assert not any(map(alive, both))
    assert {row[0] for row in rows(capsys.readouterr().out).values()} == {"ran"}
    ends = ("ipynb", "json", "log")
    names = {f"r-seed={seed}.{end}" for seed in seeds for end in ends}
    assert {p.name for p in out.iterdir()} == {".lock"} | names


def test_only_one_batch_has_a_folder_until_its_processes_have_ended(tmp_path):
    (job,) = make_jobs([Run(write(tmp_path / "n.ipynb", "print('ran')"), {}, "r")], tmp_path)
    with locked(tmp_path) as held:
        process = RunProcess(job, held=(held,))
    busy = pytest.raises(BlockingIOError, match="^another batch is at work in")
    with busy, locked(tmp_path, seconds=0.1):
        pass
    assert process.wait().status == "ran"
    with locked(tmp_path, seconds=0):
        assert printed(job.output) == "ran\n"


def test_what_is_done_and_what_is_not(tmp_path):
    notebook = write(tmp_path / "n.ipynb", "print('ran')")
    (job,) = make_jobs([Run(notebook, {}, "r")], tmp_path / "out")
    job.output.parent.mkdir()
    write(job.output)
    write_record(job, cells_digest(notebook), 3.0)
    assert [outcome[1:3] for outcome in run_jobs([job])] == [("skipped", 3.0)]
    record = json.loads(job.record.read_text())
    assert record["parameters"] == {"scale": "smoke"}
    assert record["cells"] == cells_digest(notebook)
    job.record.write_text("{")
    job.log.mkdir()  # a fault of the disk: the log cannot be written
    (outcome,) = run_jobs([job])
    assert outcome.status == "failed"
    assert "r.log" in outcome.message
    job.record.write_text(json.dumps(record))
    assert done_seconds(job, record["cells"]) == record["seconds"]
    assert done_seconds(job._replace(parameters={"scale": "lab"}), record["cells"]) is None
    job.output.unlink()
    assert done_seconds(job, record["cells"]) is None


@pytest.mark.parametrize(
    ("error", "message"), [(KeyError("x"), "KeyError: 'x'"), (OSError("the\ndisk"), "the disk")]
)
def test_a_run_that_fails_is_no_longer_done(tmp_path, monkeypatch, capsys, error, message):
    def fail(*_, cell_timeout):
        assert cell_timeout == 9
        raise error

    (job,) = make_jobs([Run(write(tmp_path / "n.ipynb"), {}, "r")], tmp_path, 9)
    write(job.output)
    write_record(job, cells_digest(job.notebook), 3.0)
    assert done_seconds(job, cells_digest(job.notebook)) == 3.0
    monkeypatch.setattr(child, "run_notebook", fail)
    assert child.answer(job)["error"] == message
    assert message.split()[0] in capsys.readouterr().err  # the log
    assert done_seconds(job, cells_digest(job.notebook)) is None


# on a cluster


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
    words = [path, "--output", out, "--dask", cluster.scheduler_address]
    path.write_text(
        NOTEBOOK
        + f'name = "r"\nparameters = {{ folder = "{tmp_path}" }}\ngrid = {{ seed = [1, 2] }}'
    )
    assert batch(*words) == 1
    table = rows(capsys.readouterr().out)
    assert (tmp_path / "killed").exists()
    assert [row[0] for row in table.values()] == ["ran", "failed"]
    assert "code cell [3] failed with KeyError" in " ".join(table["r-seed=2"])
    assert printed(out / "r-seed=1.ipynb") == "1\n"


def test_a_run_on_a_cluster_ends_when_nobody_waits_for_it(tmp_path, cluster):
    notebook = write(tmp_path / "n.ipynb", "if seed:\n    " + SLEEPS.replace("\n", "\n    "))
    runs = [Run(notebook, {"seed": seed, "folder": str(tmp_path)}) for seed in (0, 5)]
    (tmp_path / "out").mkdir()
    with ClusterRunner(cluster.scheduler_address) as runner:
        ended = runner.run(make_jobs(runs, tmp_path / "out"), started=lambda job: None)
        assert next(ended).status == "ran"
        both = pids(tmp_path, 5)
        assert all(map(alive, both))
        ended.close()
        until(lambda: not any(map(alive, both)))
    assert len(list((tmp_path / "out").glob("*.json"))) == 1


def test_a_worker_that_does_not_see_the_folder_says_so(tmp_path, cluster):
    jobs = make_jobs([Run(write(tmp_path / "n.ipynb"), {}, "r")], tmp_path / "nowhere")
    with ClusterRunner(cluster.scheduler_address) as runner:
        (outcome,) = runner.run(jobs, started=lambda job: None)
    assert outcome.status == "failed"
    assert f"no {tmp_path / 'nowhere'} on tcp://" in outcome.message


def test_without_dask_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match="python -m pip install distributed"):
        ClusterRunner("tcp://127.0.0.1:1")
