"""Notebooks run headless by papermill, one or a list of them, with parameters that are checked.

papermill takes a mistyped parameter without a word, and `-p train false` as a text, which is true.
`run_notebook` compares names and types with the notebook's `parameters` cell before it starts;
`guard_parameters`, called by the cell after that one, does the same when papermill itself is used.
As a pytest plugin (`pytest -p itekit.notebooks --nbval-lax ...`) this module lets nbval start
several kernels at the same time.

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
NAME.ipynb, or NAME.failed.ipynb. A run is done if its output is there, made from the same cells and
parameters; delete an output to make it again.

On a cluster (see `itekit.workers`) workers need the folders of the notebooks and of the output
under the same paths. What a batch that was killed was running there, or beside itself, goes on to
its end.
"""

import ast
import contextlib
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

from itekit import workers
from itekit.files import atomic_path, locked, read_json, resolve_scale

PANEL = "application/vnd.jupyter.widget-view+json"
NO_PANEL = "(a panel of controls: run this cell in JupyterLab to use it)"
FOLDER = Path("runs") / "batch"
THREADS = "OMP_NUM_THREADS"
KEYS = {"notebook": str, "name": str, "parameters": dict, "grid": dict}


def parse_value(text: str):
    """The number, True, False or None that `text` names, else the text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def assigned(source: str) -> dict:
    """Name -> value of what a cell's top level assigns; None stands for what is no literal."""
    found = {}
    for node in ast.parse(source).body:
        for target in getattr(node, "targets", [getattr(node, "target", None)]):
            if isinstance(target, ast.Name):
                found[target.id] = None
                with contextlib.suppress(ValueError):
                    found[target.id] = ast.literal_eval(node.value)
    return found


def known_parameters(path: str | Path) -> dict:
    """Name -> default of a notebook's `parameters` cell; ValueError if it is no notebook."""
    try:
        for cell in read_json(path, dict)["cells"]:
            if "parameters" in cell["metadata"].get("tags", []):
                return assigned("".join(cell["source"]))
        return {}
    except (AttributeError, KeyError, TypeError, SyntaxError) as error:
        raise ValueError(f"{path}: not a notebook: {type(error).__name__}: {error}") from error


def check_values(known: dict, given: dict, where: str) -> None:
    """Raise ValueError unless each name in `given` is known and fits its default's type."""
    for name, value in given.items():
        if name not in known:
            raise ValueError(f"{where} has no parameter {name!r}; known: {', '.join(known)}")
        found, default = type(value), known[name]
        same = found is type(default) or (found is int and isinstance(default, float))
        if not same and default is not None:
            said = f"{where}: parameter {name!r} is {value!r} ({found.__name__}); expected "
            raise ValueError(f"{said}{type(default).__name__}, as its default {default!r}")


def check_parameters(path: str | Path, parameters: dict) -> None:
    """Raise ValueError for what a notebook does not take, and for a scale that there is not."""
    check_values(known_parameters(path), parameters, Path(path).name)
    resolve_scale(parameters.get("scale"))


def guard_parameters() -> str:
    """The size to use, after a look at the parameters; called by the cell after theirs.

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
    progress: bool = True,
) -> Path:
    """Execute a notebook in its own folder and write the executed copy to `output`.

    A run that fails or is interrupted leaves what it had as `NAME.failed.ipynb`; RuntimeError names
    the cell. ValueError before the start: a wrong parameter or scale; a file that is no notebook;
    a kernel that is not installed.
    """
    import papermill
    from jupyter_client.kernelspec import NoSuchKernel
    from nbclient.exceptions import CellTimeoutError, DeadKernelError
    from papermill.exceptions import PapermillExecutionError
    from traitlets.config import Config

    path, output = Path(path).absolute(), Path(output).absolute()
    if not path.suffix == output.suffix == ".ipynb" or path.resolve() == output.resolve():
        raise ValueError(f"expected two files that end in .ipynb, found {path} and {output}")
    check_parameters(path, parameters or {})
    failed = output.with_name(f"{output.stem}.failed.ipynb")
    options = {"execution_timeout": cell_timeout, "progress_bar": progress, "cwd": path.parent}
    options |= {"config": Config(KernelManager=private_sockets())}
    options |= {"extra_arguments": ["--log-level=ERROR"]}
    try:
        with atomic_path(output, ".partial.ipynb") as unfinished:
            try:
                papermill.execute_notebook(path, unfinished, parameters or {}, **options)
            except NoSuchKernel as error:
                said = f"{path.name}: its kernel {error.name!r} is not installed here"
                raise ValueError(said) from error
            except BaseException:
                if unfinished.stat().st_size:
                    os.chmod(unfinished, 0o644)
                    os.replace(unfinished, failed)
                raise
        failed.unlink(missing_ok=True)
        return output
    except (PapermillExecutionError, CellTimeoutError, DeadKernelError) as error:
        said = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        if isinstance(error, PapermillExecutionError):
            said = f"{error.ename}: {error.evalue}"
        code = [cell for cell in read_json(failed)["cells"] if cell["cell_type"] == "code"]
        started = sum("start_time" in cell["metadata"].get("papermill", {}) for cell in code)
        said = f"code cell [{started}] failed with {said}. What ran is in {failed}"
        raise RuntimeError(f"{path.name}: {said}") from error


class Run(NamedTuple):
    """One run of a notebook; paths are absolute, since another machine may read them."""

    name: str
    notebook: str
    output: str
    parameters: dict

    def __repr__(self) -> str:
        return self.name  # in messages


def read_list(path: str | Path, folder: str | Path) -> list[Run]:
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
                run = Run(name, str(notebook), str(folder / f"{name}.ipynb"), parameters)
                if runs.setdefault(name.casefold(), run) is not run:
                    raise ValueError(f"the name {name} is taken; give another name")
        except (TypeError, ValueError, OSError) as error:
            raise ValueError(f"{path}: run {number}: {error}") from error
    return list(runs.values())


def _runs(table: dict, folder: Path) -> Iterator[tuple[str, Path, dict]]:
    """Name, notebook and parameters of each run of one table."""
    good = isinstance(table, dict)
    if not (good and all(isinstance(one, KEYS.get(key, ())) for key, one in table.items())):
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
        if not re.fullmatch(r"\w.{0,199}", name):
            raise ValueError(f"{name!r} cannot be the name of a file: give the run a name")
        yield name, notebook, parameters


def done_minutes(run: Run) -> str | None:
    """How long the run took if its output is there, of these cells and parameters; else None."""
    try:
        made, output = read_json(run.notebook, dict), read_json(run.output, dict)
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


def set_threads(count: int | None) -> None:
    """How many threads kernels have: `count`, else as OMP_NUM_THREADS says, else one."""
    if count or not os.environ.get(THREADS):
        os.environ[THREADS] = str(count or 1)


def execute(run: Run, threads: int | None = None, cell_timeout: float | None = None) -> None:
    """Run one notebook; errors as of `run_notebook`."""
    set_threads(threads)
    run_notebook(run.notebook, run.output, run.parameters, cell_timeout, progress=False)


def run_all(runs: Sequence[Run], count: int = 1, client=None, **options) -> dict[str, tuple]:
    """Run what is not done; by name how each ended, its minutes, and where it failed.

    `count` at a time here, or on the cluster of `client`; `options` as for `execute`.
    """
    with locked(Path(runs[0].output).parent):
        ends = planned(runs)
        rest = [run for run in runs if ends[run.name][0] == "to run"]
        job, where = partial(execute, **options), {"workers": count, "client": client}
        with contextlib.closing(workers.run(job, rest, keep_errors=True, **where)) as errors:
            for number, (run, error) in enumerate(zip(rest, errors, strict=True), 1):
                missing = f"no {run.output} here: workers must share its folder"
                message = " ".join(str(error or missing).removeprefix(f"item {run}: ").split())
                minutes = done_minutes(run)
                ends[run.name] = ("ran", minutes, "") if minutes else ("failed", "-", message)
                print(f"{number}/{len(rest)}  {run}", *ends[run.name], file=sys.stderr)
    return ends


def planned(runs: Sequence[Run]) -> dict[str, tuple]:
    """Which runs are done, and which are to run: as `run_all`."""
    done = {run.name: done_minutes(run) for run in runs}
    return {name: ("skipped", m, "") if m else ("to run", "-", "") for name, m in done.items()}


def batch_command(arguments) -> int:
    """`python -m itekit batch`: run a list of notebooks; 1 if any of them failed, else 0."""
    folder = arguments.output or FOLDER / Path(arguments.list).stem
    runs = read_list(arguments.list, folder)
    if arguments.dry_run:
        ends = planned(runs)
    else:
        options = {"threads": arguments.threads, "cell_timeout": arguments.cell_timeout}
        cluster = workers.cluster(arguments.dask) if arguments.dask else contextlib.nullcontext()
        with cluster as client:
            ends = run_all(runs, arguments.workers, client, **options)
    width = max(map(len, ends))
    for name, end in [("run", ("", "minutes", "where it failed")), *ends.items()]:
        print("{:<{}}  {:<8} {:>7}  {}".format(name, width, *end).rstrip())
    counts = Counter(status for status, *_ in ends.values())
    print(f"\n{len(ends)} runs: {', '.join(f'{n} {status}' for status, n in counts.items())}")
    print(f"output    {Path(runs[0].output).parent}")
    return int("failed" in counts)
