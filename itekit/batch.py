"""Many notebooks, or one with many parameters: a process for each run, here or on a Dask cluster.

A list is a TOML file, with a table for each run:

    [[run]]
    notebook = "../notebooks/05_copying.ipynb"      # seen from the list's folder
    parameters = { scale = "lab", train = true }

    [[run]]
    notebook = "../notebooks/06_copying_search.ipynb"
    name = "search"                                 # of the output; default: from the parameters
    parameters = { scale = "lab" }
    grid = { method = ["normal", "hypercube_vertices"], seed = [0, 1, 2] }    # six runs

`grid` gives every combination of its values, which follow the name; without a name, the notebook's
is followed by all parameters. The whole list is checked before any run starts. Each writes
NAME.ipynb, and NAME.log with what its process printed. A run is done if its output is there, made
from the same cells and parameters; delete an output to make it again.

On a cluster (see `itekit.workers`) workers need the folders of the notebooks and of the output
under the same paths. Runs of a worker that dies are done again elsewhere; those of a batch that was
stopped go on to their end.
"""

import contextlib
import itertools
import json
import os
import platform
import re
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

from itekit.files import locked, read_json, resolve_scale
from itekit.notebooks import check_parameters, known_parameters, unfinished_cell
from itekit.workers import cluster, cores

PACKAGES = Path(__file__).resolve().parents[1]  # so that kernels find this package as we did
TO_RUN, RAN, FAILED, SKIPPED = "to run", "ran", "failed", "skipped"
FOLDER = Path("runs") / "batch"
GRACE = 10.0  # seconds for an interrupted run to end
THREADS = "OMP_NUM_THREADS"
KEYS = {"notebook": str, "name": str, "parameters": dict, "grid": dict}
_processes: set[subprocess.Popen] = set()  # that run on this machine


class Run(NamedTuple):
    """One run of a notebook; paths are absolute, since another machine may read them."""

    name: str
    notebook: str
    folder: str
    parameters: dict
    cell_timeout: float | None = None

    def path(self, suffix: str) -> Path:
        """The output (".ipynb") or the log (".log")."""
        return Path(self.folder, f"{self.name}{suffix}")


class Outcome(NamedTuple):
    """How a run ended: RAN, FAILED (`message` says where), SKIPPED (done before), or is TO_RUN."""

    name: str
    status: str
    minutes: str = "-"
    message: str = ""

    def row(self, width: int = 0) -> str:
        """A line of the table."""
        return f"{self.name:<{width}}  {self.status:<8} {self.minutes:>7}  {self.message}".rstrip()


def read_list(path: str | Path, folder: str | Path, cell_timeout: float | None = None) -> list[Run]:
    """The runs of a TOML file, with output in `folder`; ValueError names the file and the run."""
    path, folder, runs = Path(path), Path(folder).absolute(), {}
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not TOML: {error}") from error
    tables = content.pop("run", None)
    if content or not tables or not isinstance(tables, list):
        raise ValueError(f"{path}: expected tables [[run]], and nothing else")
    for number, table in enumerate(tables, 1):
        try:
            for name, notebook, parameters in _runs(table, path.parent):
                run = Run(name, str(notebook), str(folder), parameters, cell_timeout)
                if run.path(".ipynb").resolve() == notebook.resolve():
                    raise ValueError(f"the output would overwrite the notebook {notebook}")
                if runs.setdefault(name.casefold(), run) is not run:
                    raise ValueError(f"the name {name} is taken; give another name")
        except (TypeError, ValueError, OSError) as error:
            raise ValueError(f"{path}: run {number}: {error}") from error
    return list(runs.values())


def _runs(table: dict, folder: Path) -> Iterator[tuple[str, Path, dict]]:
    """Name, notebook and parameters of each run of one table."""
    if not all(isinstance(value, KEYS.get(key, ())) for key, value in dict(table).items()):
        raise ValueError(f"found {table}; expected texts and tables named {', '.join(KEYS)}")
    notebook = Path(os.path.abspath(folder / table.get("notebook", "?")))
    known, grid = known_parameters(notebook), table.get("grid", {})
    for key, values in grid.items():
        if not (isinstance(values, list) and values):
            raise ValueError(f"grid: {key} is {values!r}; expected a list of values")
    for values in itertools.product(*grid.values()):
        point = dict(zip(grid, values, strict=True))
        parameters = table.get("parameters", {}) | point
        check_parameters(notebook, parameters)
        if known.get("scale", "") is None:  # ITEKIT_SCALE counts on a cluster's machines too
            parameters["scale"] = resolve_scale(parameters.get("scale"))
        name = table.get("name", notebook.stem)
        for key, value in parameters.items():
            text = json.dumps(value, allow_nan=False)  # what a notebook can be given
            name += f"-{key}={text}" if key in point or "name" not in table else ""
        name = re.sub(r"[^\w.=+-]+", "_", name.replace('"', ""))
        if not re.fullmatch(r"\w.{0,199}(?<!\.failed)", name):
            raise ValueError(f"{name!r} cannot be the name of a file: give the run a name")
        yield name, notebook, parameters


def done_minutes(run: Run) -> str | None:
    """How long the run took if its output is there, of these cells and parameters; else None."""
    try:
        made, output = read_json(run.notebook, dict), read_json(run.path(".ipynb"), dict)
        papermill = output["metadata"]["papermill"]
        same = papermill["parameters"] == run.parameters and _cells(made) == _cells(output)
        return f"{papermill['duration'] / 60:.1f}" if same else None
    except (OSError, ValueError, KeyError, TypeError):  # none, or a damaged one
        return None


def _cells(notebook: dict) -> list[tuple[str, str]]:
    """Kinds and sources of the cells, without the one that papermill adds; no outputs."""
    return [
        (cell["cell_type"], "".join(cell["source"]))
        for cell in notebook["cells"]
        if "injected-parameters" not in cell["metadata"].get("tags", [])
    ]


def execute(run: Run, threads: int | None = None, held: Sequence[int] = ()) -> Outcome:
    """Run one notebook in a process of its own, which keeps the files `held` open."""
    if not (os.path.exists(run.notebook) and os.path.isdir(run.folder)):
        message = f"no {run.notebook} or {run.folder} on {platform.node()}: workers need both"
        return Outcome(run.name, FAILED, message=message)
    output, log, start = run.path(".ipynb"), run.path(".log"), time.monotonic()
    for left in (output, *Path(run.folder).glob(f".{run.name}.*.partial.ipynb")):
        left.unlink(missing_ok=True)  # not of these cells; or of a process that was killed
    words = [sys.executable, "-m", "itekit", "run", run.notebook, "--output", str(output)]
    words += [word for name, value in run.parameters.items() for word in ("-p", name, repr(value))]
    words += ["--cell-timeout", str(run.cell_timeout)] if run.cell_timeout else []
    path = os.pathsep.join([str(PACKAGES), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": path} | ({THREADS: str(threads)} if threads else {})
    with open(log, "w", encoding="utf-8") as file:
        print("#", shlex.join(words), file=file, flush=True)
        options = {"stdin": subprocess.DEVNULL, "stdout": file, "stderr": file, "env": environment}
        # in a session of its own: Ctrl-C is for the batch, which ends its runs
        process = subprocess.Popen(words, **options, pass_fds=held, start_new_session=True)
    _processes.add(process)
    try:
        code = process.wait()
    finally:
        _processes.discard(process)
    minutes = f"{(time.monotonic() - start) / 60:.1f}"
    if not code:
        return Outcome(run.name, RAN, minutes)
    message = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1]
    if code < 0:
        memory = " (out of memory?)" if code == -signal.SIGKILL else ""
        message = f"its process was ended by {signal.Signals(-code).name}{memory}; log: {log}"
        with contextlib.suppress(Exception):  # it may have been writing this file
            partial = Path(run.folder, f".{run.name}.{process.pid}.partial.ipynb")
            message = f"{Path(run.notebook).name}: {unfinished_cell(partial)}: {message}"
            os.replace(partial, run.path(".failed.ipynb"))
    return Outcome(run.name, FAILED, minutes, message.removeprefix("itekit run: "))


def run_all(
    runs: Sequence[Run], workers: int = 1, threads: int | None = None, client=None
) -> list[Outcome]:
    """Run what is not done, say how each of them ends, and return how all did, in their order.

    `workers` at a time here, or on the cluster of `client`. `threads` of each run: by default as
    OMP_NUM_THREADS says, else the cores divided by `workers`; on a cluster as its workers have it.
    """
    if not (client or threads or os.environ.get(THREADS)):
        threads = max(1, cores() // workers)
    with locked(runs[0].folder) as held:
        outcomes = {outcome.name: outcome for outcome in planned(runs)}
        rest = [run for run in runs if outcomes[run.name].status == TO_RUN]
        pool = client.get_executor(pure=False) if client else ThreadPoolExecutor(workers)
        kept = () if client else (held,)  # who comes next waits until these processes have ended
        waiting = {pool.submit(execute, run, threads, kept): run.name for run in rest}
        try:
            for count, future in enumerate(as_completed(waiting), 1):
                try:
                    end = future.result()
                except Exception as error:  # of the disk, or of a cluster
                    message = f"{type(error).__name__}: {error}"
                    end = Outcome(waiting[future], FAILED, message=message)
                outcomes[end.name] = end
                print(f"{count}/{len(rest)}  {end.row()}", file=sys.stderr)
        finally:  # after the last run, an error, or Ctrl-C
            for future in waiting:
                future.cancel()
            _end_processes()
            pool.shutdown()
    return list(outcomes.values())


def planned(runs: Sequence[Run]) -> list[Outcome]:
    """Which runs are done, and which are to run."""
    done = [(run.name, done_minutes(run)) for run in runs]
    return [Outcome(name, SKIPPED, m) if m else Outcome(name, TO_RUN) for name, m in done]


def _end_processes() -> None:
    """Interrupt the runs of this machine, and kill what is left of them after a while."""
    running, end = list(_processes), time.monotonic() + GRACE
    for process in running:
        process.send_signal(signal.SIGINT)
    for process in running:
        try:
            process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()  # its kernel sees that, and ends too


def batch_command(arguments) -> int:
    """`python -m itekit batch`: run a list of notebooks; 1 if any of them failed, else 0."""
    folder = arguments.output or FOLDER / Path(arguments.list).stem
    runs = read_list(arguments.list, folder, arguments.cell_timeout)
    if arguments.dry_run:
        outcomes = planned(runs)
    else:
        with cluster(arguments.dask) if arguments.dask else contextlib.nullcontext() as client:
            outcomes = run_all(runs, arguments.workers, arguments.threads, client)
    width = max(len(outcome.name) for outcome in outcomes)
    print(Outcome("run", "", "minutes", "where it failed").row(width))
    for outcome in outcomes:
        print(outcome.row(width))
    counts = Counter(outcome.status for outcome in outcomes)
    print(f"\n{len(outcomes)} runs: {', '.join(f'{n} {status}' for status, n in counts.items())}")
    print(f"output    {runs[0].folder}")
    return int(FAILED in counts)
