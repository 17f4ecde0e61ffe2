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

`grid` gives every combination of its values. A name is followed by the values of the grid,
"search-method=normal-seed=0"; without one, the notebook's name is followed by all parameters. The
whole list is checked before any run starts. Each writes NAME.ipynb, and NAME.log with what its
process printed. A run is done if its output is there, made from the same cells and parameters;
delete an output to make it again.

On a cluster (see `itekit.workers`) workers need the folders of the notebooks and of the output
under the same paths, and do as many runs at a time as they have threads. Runs of a worker that dies
are done again elsewhere; those of a batch that was stopped go on to their end.
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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

from itekit.experiments import resolve_scale
from itekit.files import locked, read_json
from itekit.notebooks import check_parameters, known_parameters, unfinished_cell
from itekit.workers import cluster, cores

PACKAGES = Path(__file__).resolve().parents[1]  # so that kernels find this package as we did
TO_RUN, RAN, FAILED, SKIPPED = "to run", "ran", "failed", "skipped"
FOLDER = Path("runs") / "batch"
GRACE = 10.0  # seconds for an interrupted run to end
THREADS = "OMP_NUM_THREADS"
KEYS = {"notebook": str, "name": str, "parameters": dict, "grid": dict}
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=+-]{0,199}(?<!\.failed)")
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
    """How a run ended: RAN, FAILED, SKIPPED (it was done before), or is still TO_RUN.

    `message` says of a failed run which cell and which error, or how its process died.
    """

    name: str
    status: str
    seconds: float = 0.0
    message: str = ""


def read_list(path: str | Path, folder: str | Path, cell_timeout: float | None = None) -> list[Run]:
    """The runs of a TOML file, with output in `folder`, all of them checked.

    `scale`, where a notebook has it and the list leaves it to ITEKIT_SCALE, is written out, so that
    a cluster runs the same size as this machine.

    Raises:
        FileNotFoundError: no such file.
        ValueError: names the file and the run: not TOML, or not of this module's form; a notebook
            that is not there, a parameter that it does not have, a name that is no file's name.
    """
    path, folder = Path(path), Path(folder).absolute()
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not TOML: {error}") from error
    entries = content.pop("run", None)
    tables = isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries)
    if content or not entries or not tables:
        other = "".join(f", found {key!r}" for key in content)
        raise ValueError(f"{path}: expected tables [[run]], one for each run{other}")
    runs, taken = [], {}
    for number, entry in enumerate(entries, 1):
        try:
            for name, notebook, parameters in _entry(entry, path.parent):
                runs.append(Run(name, str(notebook), str(folder), parameters, cell_timeout))
                if runs[-1].path(".ipynb").resolve() == notebook.resolve():
                    raise ValueError(f"the output would overwrite the notebook {notebook}")
                if name.casefold() in taken:
                    where = f"run {taken[name.casefold()]}"
                    raise ValueError(f"the name {name} is taken by {where}; give another name")
                taken[name.casefold()] = number
        except (ValueError, OSError) as error:
            raise ValueError(f"{path}: run {number}: {error}") from error
    return runs


def _entry(entry: dict, folder: Path) -> Iterator[tuple[str, Path, dict]]:
    """Name, notebook and parameters of each run of one table."""
    for key, value in entry.items():
        if key not in KEYS:
            raise ValueError(f"no such key: {key!r}; expected {', '.join(KEYS)}")
        if not isinstance(value, KEYS[key]):
            kind = "text" if KEYS[key] is str else "a table"
            raise ValueError(f"{key} is {value!r}; expected {kind}")
    if not entry.get("notebook"):
        raise ValueError("no notebook; expected notebook = PATH, seen from the list")
    notebook, grid = Path(os.path.abspath(folder / entry["notebook"])), entry.get("grid", {})
    known = known_parameters(notebook)
    for key, values in grid.items():
        if not (isinstance(values, list) and values) or key in entry.get("parameters", {}):
            raise ValueError(
                f"grid: {key} is {values!r}; expected a list of values, for what is no parameter"
            )
    for values in itertools.product(*grid.values()):
        point = dict(zip(grid, values, strict=True))
        parameters = entry.get("parameters", {}) | point
        try:
            json.dumps(parameters, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"a value that no notebook can be given: {error}") from error
        check_parameters(notebook, parameters)
        if "scale" not in parameters and known.get("scale", "") is None:
            parameters["scale"] = resolve_scale()
        name = entry.get("name") or _plain(notebook.stem)
        for key, value in (point if "name" in entry else parameters).items():
            name += "-" + _plain(f"{key}={value if isinstance(value, str) else json.dumps(value)}")
        if not NAME.fullmatch(name):
            raise ValueError(
                f"the name is {name!r}; expected at most 200 letters, digits and ._=+-, the first "
                "a letter or digit, the end not .failed: give the run a name"
            )
        yield name, notebook, parameters


def _plain(text: str) -> str:
    """`text` in characters that a file's name may have."""
    return re.sub(r"[^A-Za-z0-9._=+-]+", "_", text)


def done_seconds(run: Run) -> float | None:
    """How long the run took if its output is there, of these cells and parameters; else None."""
    try:
        made, output = read_json(run.notebook, dict), read_json(run.path(".ipynb"), dict)
        papermill = output["metadata"]["papermill"]
        same = papermill["parameters"] == run.parameters and _cells(made) == _cells(output)
        return float(papermill["duration"]) if same else None
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
    """Run one notebook in a process of its own; on a cluster, workers call this.

    Args:
        threads: OMP_NUM_THREADS of the process; None leaves it as it is here.
        held: open files that the process keeps open, such as a lock.
    """
    if not (os.path.exists(run.notebook) and os.path.isdir(run.folder)):
        message = f"no {run.notebook} or {run.folder} on {platform.node()}: workers need both"
        return Outcome(run.name, FAILED, 0.0, message)
    for left in Path(run.folder).glob(f".{run.name}.*.partial.ipynb"):
        left.unlink(missing_ok=True)  # of a process that was killed
    output, log, start = run.path(".ipynb"), run.path(".log"), time.monotonic()
    output.unlink(missing_ok=True)  # whatever comes, it is no longer what the list asks for
    words = [sys.executable, "-m", "itekit", "run", run.notebook, "--output", str(output)]
    words += [word for name, value in run.parameters.items() for word in ("-p", name, repr(value))]
    words += ["--cell-timeout", str(run.cell_timeout)] if run.cell_timeout else []
    path = os.pathsep.join([str(PACKAGES), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": path} | ({THREADS: str(threads)} if threads else {})
    with open(log, "w", encoding="utf-8") as file:
        file.write(f"# {shlex.join(words)}\n")
        file.flush()
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            env=environment,
            pass_fds=held,
            start_new_session=True,  # Ctrl-C is for the batch, which ends its runs
        )
        _processes.add(process)
    try:
        code = process.wait()
    finally:
        _processes.discard(process)
    seconds = time.monotonic() - start
    if not code:
        return Outcome(run.name, RAN, seconds)
    message = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1]
    if code < 0:
        memory = " (out of memory?)" if code == -signal.SIGKILL else ""
        message = f"its process was ended by {signal.Signals(-code).name}{memory}; log: {log}"
        with contextlib.suppress(Exception):  # it may have been writing this file
            partial = Path(run.folder, f".{run.name}.{process.pid}.partial.ipynb")
            message = f"{Path(run.notebook).name}: {unfinished_cell(partial)}: {message}"
            os.replace(partial, run.path(".failed.ipynb"))
    return Outcome(run.name, FAILED, seconds, message.removeprefix("itekit run: "))


def run_all(
    runs: Sequence[Run],
    *,
    workers: int = 1,
    threads: int | None = None,
    client=None,
    say: Callable[[str], None] = lambda line: None,
) -> list[Outcome]:
    """Run what is not done, and return how all of them ended, in their order.

    Args:
        runs: of `read_list`, at least one.
        workers: how many at a time on this machine.
        threads: of each run; default: as OMP_NUM_THREADS says, else the cores divided by
            `workers`; on a cluster as its workers have it.
        client: a `distributed.Client`, to run there instead of here.
        say: takes a line when a run ends.

    Raises:
        ValueError: less than one worker.
        OSError: the folder cannot be written, or another batch is at work in it.
    """
    if workers < 1:
        raise ValueError(f"workers must be 1 or more, found {workers}")
    if not (client or threads or os.environ.get(THREADS)):
        threads = max(1, cores() // workers)
    with locked(runs[0].folder) as held:
        outcomes = skipped(runs)
        rest = [run for run in runs if run.name not in outcomes]
        pool = client.get_executor(pure=False) if client else ThreadPoolExecutor(workers)
        kept = () if client else (held,)  # who comes next waits until these processes have ended
        waiting = {pool.submit(execute, run, threads, kept): run for run in rest}
        try:
            for count, future in enumerate(as_completed(waiting), 1):
                name, error = waiting[future].name, future.exception()
                end = future.result() if error is None else None
                end = end or Outcome(name, FAILED, 0.0, f"{type(error).__name__}: {error}")
                outcomes[name] = end
                text = f"{end.status:<8} {name}  {count}/{len(rest)}  {_minutes(end)} min"
                say(f"{text}  {end.message}".rstrip())
        finally:  # after the last run, an error, or Ctrl-C
            for future in waiting:
                future.cancel()
            _end_processes()
            pool.shutdown()
    return [outcomes[run.name] for run in runs]


def skipped(runs: Sequence[Run]) -> dict[str, Outcome]:
    """By name, the runs that are done."""
    seconds = {run.name: done_seconds(run) for run in runs}
    return {n: Outcome(n, SKIPPED, value) for n, value in seconds.items() if value is not None}


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


def table(outcomes: Sequence[Outcome]) -> str:
    """Name, status and minutes of each run, where it failed, and how many there are of each."""
    width = max(len(outcome.name) for outcome in outcomes)
    lines = [f"{'run':<{width}}  {'status':<8}  {'minutes':>7}  where it failed"]
    for o in outcomes:
        lines.append(f"{o.name:<{width}}  {o.status:<8}  {_minutes(o):>7}  {o.message}".rstrip())
    counts = Counter(outcome.status for outcome in outcomes)
    said = [f"{counts[s]} {s}" for s in (TO_RUN, RAN, FAILED, SKIPPED) if counts[s]]
    return "\n".join([*lines, "", f"{len(outcomes)} runs: {', '.join(said)}"])


def _minutes(outcome: Outcome) -> str:
    return "-" if outcome.status == TO_RUN else f"{outcome.seconds / 60:.1f}"


def batch_command(arguments) -> int:
    """`python -m itekit batch`: run a list of notebooks; 1 if any of them failed, else 0."""
    folder = arguments.output or FOLDER / Path(arguments.list).stem
    runs = read_list(arguments.list, folder, arguments.cell_timeout)
    if arguments.dry_run:
        done = skipped(runs)
        print(table([done.get(run.name, Outcome(run.name, TO_RUN)) for run in runs]))
        return 0
    options = {"workers": arguments.workers, "threads": arguments.threads}
    with cluster(arguments.dask) if arguments.dask else contextlib.nullcontext() as client:
        try:
            outcomes = run_all(
                runs, client=client, say=lambda line: print(line, file=sys.stderr), **options
            )
        except KeyboardInterrupt:
            print("the same command goes on; finished runs are kept", file=sys.stderr)
            raise
    print(table(outcomes))
    print(f"output    {runs[0].folder}")
    return int(any(outcome.status == FAILED for outcome in outcomes))
