"""Notebooks run headless by papermill, one or a list of them, with parameters that are checked.

papermill takes a mistyped parameter without a word, and `-p train false` as a text, which is true.
`run_notebook` compares names and types with the notebook's `parameters` cell before it starts;
`guard_parameters`, called by the cell after that one, does the same when papermill itself is used.
As a pytest plugin (`pytest -p itekit.notebooks --nbval-lax ...`) this module lets nbval start
several kernels at the same time.

A list is a TOML file, such as notebooks/paper.toml, with tables of runs:

    [[run]]
    notebook = "06_copying_search.ipynb"            # seen from the list's folder
    parameters = { train = true }

    [[run]]
    notebook = "run.ipynb"
    grid = { name = ["ltl/proposed", "ltl/plain"], seed = [0, 1, 2] }    # six runs

`grid` gives every combination of its values. A run is called by its parameters, and by its
experiment where it has one: ltl-proposed-lab-s0. The whole list is checked before any run starts.
Each writes NAME.ipynb, or NAME.failed.ipynb, and what it prints to NAME.log. A run is done if its
output is there, made from the same cells and parameters; delete an output to make it again.

Several processes may work on one list, in one folder: each takes what no other has begun. On a
cluster (see `itekit.workers`) workers need the folders of the notebooks and of the output under the
same paths. What a batch that was killed was running there, or beside itself, goes on to its end.
"""

import ast
import contextlib
import fnmatch
import itertools
import json
import os
import re
import sys
import tomllib
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import filelock

from itekit import workers
from itekit.files import HOME, RUNS, atomic_path, read_json, resolve_scale

PANEL = "application/vnd.jupyter.widget-view+json"
NO_PANEL = "(a panel of controls: run this cell in JupyterLab to use it)"
THREADS = "OMP_NUM_THREADS"
KEYS = {"notebook": str, "parameters": dict, "grid": dict}
EXPERIMENT = ("name", "scale", "seed", "settings")  # parameters of a run of one experiment
ELSEWHERE = "another process runs it"


def parse_value(text: str):
    """The number, True, False or None that `text` names, else the text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def assigned(source: str) -> dict:
    """Name -> value of what a cell's top level assigns; None if the value is no literal."""
    values = {}
    for node in ast.parse(source).body:
        for target in getattr(node, "targets", [getattr(node, "target", None)]):
            if isinstance(target, ast.Name):
                values[target.id] = None
                with contextlib.suppress(ValueError):
                    values[target.id] = ast.literal_eval(node.value)
    return values


def known_parameters(path: str | Path) -> dict:
    """Name -> default of a notebook's `parameters` cell; ValueError if it is no notebook."""
    try:
        for cell in read_json(path, dict)["cells"]:
            if "parameters" in cell["metadata"].get("tags", []):
                return assigned("".join(cell["source"]))
        return {}
    except (AttributeError, KeyError, TypeError, SyntaxError) as error:
        raise ValueError(f"{path}: not a notebook: {type(error).__name__}: {error}") from error


def check_values(known: dict, parameters: dict, where: str) -> None:
    """Raise ValueError unless each parameter is known and fits its default's type."""
    for name, value in parameters.items():
        if name not in known:
            raise ValueError(f"{where} has no parameter {name!r}; known: {', '.join(known)}")
        kind = type(value)
        default = known[name]
        fits = kind is type(default) or (kind is int and isinstance(default, float))
        if not fits and default is not None:
            message = f"{where}: parameter {name!r} is {value!r} ({kind.__name__}); expected "
            raise ValueError(f"{message}{type(default).__name__}, as its default {default!r}")


def check_parameters(path: str | Path, parameters: dict) -> None:
    """Raise ValueError for an unknown parameter or scale, and for a value of another type."""
    check_values(known_parameters(path), parameters, Path(path).name)
    resolve_scale(parameters.get("scale"))


def guard_parameters() -> str:
    """Check the injected parameters; return the scale. Call it in the cell after `parameters`.

    ValueError when papermill injected what the `parameters` cell does not take: its injected cell
    begins with "# Parameters" and runs just after that one.
    """
    from IPython import get_ipython

    names = get_ipython().user_ns if get_ipython() else {}
    cells = names.get("In", [])
    for before, source in zip(cells, cells[1:], strict=False):
        if source.startswith("# Parameters\n"):
            check_values(assigned(before), {n: names[n] for n in assigned(source)}, "this notebook")
    return resolve_scale(names.get("scale"))


def private_sockets() -> dict:
    """Options for a kernel manager whose kernel talks through sockets in the file system: a port
    that is chosen for a kernel may be taken by another process before it opens it.
    """
    from jupyter_core.paths import jupyter_runtime_dir

    file = Path(jupyter_runtime_dir()) / f"kernel-{uuid.uuid4().hex[:16]}.json"
    if os.name != "posix" or len(str(file)) > 90:  # a socket's path may have 107
        return {}
    file.parent.mkdir(parents=True, exist_ok=True)
    return {"transport": "ipc", "connection_file": str(file)}


def pytest_configure() -> None:
    """Let nbval start its kernels with sockets of their own."""
    import nbval.kernel
    from jupyter_client import KernelManager

    nbval.kernel.KernelManager = lambda **options: KernelManager(**options, **private_sockets())


def run_notebook(
    path: str | Path,
    output: str | Path,
    parameters: dict | None = None,
    cell_timeout: float | None = None,
    log=None,
) -> Path:
    """Execute a notebook in its own folder and write the executed copy to `output`.

    What the notebook prints goes to the open file `log` at once. A run that fails or is interrupted
    leaves what it had as `NAME.failed.ipynb`; RuntimeError names the cell. ValueError before the
    start: a wrong parameter or scale; a file that is no notebook; a kernel that is not installed.
    """
    import papermill
    from jupyter_client.kernelspec import NoSuchKernel
    from nbclient.exceptions import CellTimeoutError, DeadKernelError
    from papermill.exceptions import PapermillExecutionError
    from traitlets.config import Config

    path = Path(path).absolute()
    output = Path(output).absolute()
    if not path.suffix == output.suffix == ".ipynb" or path.resolve() == output.resolve():
        raise ValueError(f"expected two files that end in .ipynb, found {path} and {output}")
    check_parameters(path, parameters or {})
    failed = output.with_name(f"{output.stem}.failed.ipynb")
    options = {"execution_timeout": cell_timeout, "progress_bar": False, "cwd": path.parent}
    options |= {"config": Config(KernelManager=private_sockets()), "stdout_file": log}
    options |= {"extra_arguments": ["--log-level=ERROR"]}
    try:
        with atomic_path(output, ".partial.ipynb") as unfinished:
            try:
                papermill.execute_notebook(path, unfinished, parameters or {}, **options)
            except NoSuchKernel as error:
                message = f"{path.name}: its kernel {error.name!r} is not installed here"
                raise ValueError(message) from error
            except BaseException:
                if unfinished.stat().st_size:
                    os.chmod(unfinished, 0o644)
                    os.replace(unfinished, failed)
                raise
        failed.unlink(missing_ok=True)
        return output
    except (PapermillExecutionError, CellTimeoutError, DeadKernelError) as error:
        reason = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        if isinstance(error, PapermillExecutionError):
            reason = f"{error.ename}: {error.evalue}"
        code = [cell for cell in read_json(failed)["cells"] if cell["cell_type"] == "code"]
        started = sum("start_time" in cell["metadata"].get("papermill", {}) for cell in code)
        message = f"{path.name}: code cell [{started}] failed with {reason}"
        raise RuntimeError(f"{message}. What ran is in {failed}") from error


class Run(NamedTuple):
    """One run of a notebook; paths are absolute, since another machine may read them."""

    name: str
    notebook: str
    output: str
    parameters: dict
    experiment: object | None = None  # of a notebook with the parameters EXPERIMENT

    def __repr__(self) -> str:
        return self.name  # in messages


def read_list(path: str | Path, folder: str | Path, scale: str | None = None) -> list[Run]:
    """The runs of a TOML file, with output in `folder`, at `scale` where the list says none.

    Runs that begin with the weights of another experiment are the last. ValueError names the file
    and the run.
    """
    path, folder = Path(path), Path(folder).absolute()
    runs = {}
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not TOML: {error}") from error
    tables = content.pop("run", None)
    if content or not tables or not isinstance(tables, list):
        raise ValueError(f"{path}: expected tables [[run]], and nothing else")
    for number, table in enumerate(tables, 1):
        try:
            for run in _runs(table, path.parent, folder, scale):
                if runs.setdefault(run.name.casefold(), run) is not run:
                    raise ValueError(f"the run {run} is in the list twice")
        except (TypeError, ValueError, OSError) as error:
            raise ValueError(f"{path}: run {number}: {error}") from error
    return sorted(runs.values(), key=lambda run: bool(getattr(run.experiment, "start", "")))


def _runs(table: dict, folder: Path, output: Path, scale: str | None) -> Iterator[Run]:
    """Each run of one table."""
    good = isinstance(table, dict)
    if not (good and all(isinstance(value, KEYS.get(key, ())) for key, value in table.items())):
        raise ValueError(f"found {table}; expected texts and tables named {', '.join(KEYS)}")
    notebook = Path(os.path.abspath(folder / table.get("notebook", "?")))
    known = known_parameters(notebook)
    grid = table.get("grid", {})
    for key, values in grid.items():
        if not (isinstance(values, list) and values):
            raise ValueError(f"grid: {key} is {values!r}; expected a list of values")
    for values in itertools.product(*grid.values()):
        parameters = table.get("parameters", {}) | dict(zip(grid, values, strict=True))
        check_parameters(notebook, parameters)
        json.dumps(parameters, allow_nan=False)  # what a notebook can be given
        if known.get("scale", "") is None:  # ITEKIT_SCALE counts on a cluster's machines too
            parameters["scale"] = resolve_scale(parameters.get("scale", scale))
        experiment = None
        name, rest = notebook.stem, parameters
        if known.keys() >= set(EXPERIMENT):
            from itekit.names import experiment as named
            from itekit.names import result_name

            settings = known | parameters
            experiment = named(*(settings[key] for key in EXPERIMENT[:3]), **settings["settings"])
            name = result_name(experiment)
            rest = {key: value for key, value in parameters.items() if key not in EXPERIMENT}
        name += "".join(f"-{key}={_text(value)}" for key, value in rest.items())
        name = re.sub(r"[^\w.=+-]+", "_", name)[:200]
        yield Run(name, str(notebook), str(output / f"{name}.ipynb"), parameters, experiment)


def _text(value) -> str:
    """A parameter in the name of a run."""
    return "+".join(map(str, value)) if isinstance(value, list) else str(value)


def done_minutes(run: Run) -> str | None:
    """How long the run took if its output is there, of these cells and parameters; else None."""
    try:
        notebook, output = read_json(run.notebook, dict), read_json(run.output, dict)
        papermill = output["metadata"]["papermill"]
        same = papermill["parameters"] == run.parameters and _cells(notebook) == _cells(output)
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


def prepare_kernels(threads: int | None, home: str = str(HOME)) -> None:
    """Set how many threads kernels have, and where they write: not in a notebook's own folder.

    `threads`: None is what OMP_NUM_THREADS says, else one.
    """
    if threads or not os.environ.get(THREADS):
        os.environ[THREADS] = str(threads or 1)
    os.environ["ITEKIT_HOME"] = home


def execute(run: Run, home: str, threads: int | None, cell_timeout: float | None) -> str:
    """Run one notebook, unless another process does; errors as of `run_notebook`."""
    prepare_kernels(threads, home)
    output = Path(run.output)
    output.parent.mkdir(parents=True, exist_ok=True)
    try:
        with filelock.FileLock(output.with_name(f".{output.stem}.lock"), timeout=0):
            if not done_minutes(run):
                with open(output.with_suffix(".log"), "a", encoding="utf-8") as log:
                    run_notebook(run.notebook, output, run.parameters, cell_timeout, log)
    except filelock.Timeout:
        return ELSEWHERE
    return ""


def run_all(runs: Sequence[Run], count: int = 1, client=None, **options) -> dict[str, tuple]:
    """Run what is not done; by name how each ended, its minutes, and where it failed.

    `count` at a time here, or on the cluster of `client`; `options` as for `execute`.
    """
    ends = planned(runs)
    rest = [run for run in runs if ends[run.name][0] != "done"]
    job = partial(execute, home=str(HOME), **options)
    where = {"workers": count, "client": client}
    with contextlib.closing(workers.run(job, rest, keep_errors=True, **where)) as answers:
        for number, (run, answer) in enumerate(zip(rest, answers, strict=True), 1):
            missing = f"no {run.output} here: workers must share its folder"
            message = " ".join(str(answer or missing).removeprefix(f"item {run}: ").split())
            minutes = done_minutes(run)
            status = "ran" if minutes else "elsewhere" if answer == ELSEWHERE else "failed"
            ends[run.name] = status, minutes or "-", "" if minutes else message
            print(f"{number}/{len(rest)}  {run}", *ends[run.name], file=sys.stderr)
    return ends


def planned(runs: Sequence[Run]) -> dict[str, tuple]:
    """Which runs are done, were begun, or are missing: as `run_all`."""
    ends = {}
    for run in runs:
        minutes = done_minutes(run)
        begun = "goes on" if Path(run.output).with_suffix(".log").exists() else "missing"
        ends[run.name] = ("done", minutes, "") if minutes else (begun, "-", "")
    return ends


def sets_needed(runs: Sequence[Run]) -> dict[str, bool]:
    """The sets of problems that the runs read -> whether they are here, for a set's own scale."""
    from itekit.datasets.sets import is_here

    needed = {}
    for experiment in filter(None, (run.experiment for run in runs)):
        for name in experiment.task.set_names():
            needed[f"{name}-{experiment.scale}"] = is_here(name, experiment.scale)
    return needed


def batch_command(arguments) -> int:
    """`python -m itekit batch`: run a list of notebooks; 1 if any of them failed, else 0."""
    folder = arguments.output or RUNS / "batch" / Path(arguments.list).stem
    runs = read_list(arguments.list, folder, arguments.scale)
    runs = [run for run in runs if fnmatch.fnmatch(run.name, arguments.only)]
    number, count = arguments.part
    runs = runs[number - 1 :: count]
    if not runs:
        raise ValueError(f"{arguments.list}: no run is named {arguments.only} in this part")
    if arguments.dry_run:
        ends = planned(runs)
    else:
        options = {"threads": arguments.threads, "cell_timeout": arguments.cell_timeout}
        cluster = workers.cluster(arguments.dask) if arguments.dask else contextlib.nullcontext()
        with cluster as client:
            ends = run_all(runs, arguments.workers, client, **options)
    width = max(map(len, ends))
    for name, end in sorted(ends.items(), key=lambda item: item[1][0] == "failed"):  # the last
        print("{:<{}}  {:<9} {:>7}  {}".format(name, width, *end).rstrip())
    counts = Counter(status for status, *_ in ends.values())
    print(f"\n{len(ends)} runs: {', '.join(f'{n} {status}' for status, n in counts.items())}")
    missing = [name for name, here in sets_needed(runs).items() if not here]
    print(f"missing   {', '.join(missing) or 'no'} sets of problems")
    print(f"output    {Path(runs[0].output).parent}")
    return int("failed" in counts)
