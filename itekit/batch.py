"""Many notebooks, or one with many parameters, here or on a Dask cluster.

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

import itertools
import json
import os
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path
from typing import NamedTuple

from itekit import workers
from itekit.files import locked, read_json, resolve_scale
from itekit.notebooks import check_parameters, known_parameters, run_notebook

FOLDER = Path("runs") / "batch"
THREADS = "OMP_NUM_THREADS"
KEYS = {"notebook": str, "name": str, "parameters": dict, "grid": dict}


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


def execute(run: Run, threads: int | None = None, cell_timeout: float | None = None) -> None:
    """Run one notebook; errors as of `run_notebook`."""
    if threads:
        os.environ[THREADS] = str(threads)  # the kernel's too
    run_notebook(run.notebook, run.output, run.parameters, cell_timeout, progress=False)


def run_all(runs: Sequence[Run], count: int = 1, client=None, **options) -> dict[str, tuple]:
    """Run what is not done; by name how each ended, its minutes, and where it failed.

    `count` at a time here, or on the cluster of `client`; `options` as for `execute`.
    """
    with locked(Path(runs[0].output).parent):
        ends = planned(runs)
        rest = [run for run in runs if ends[run.name][0] == "to run"]
        job, where = partial(execute, **options), {"workers": count, "client": client}
        with closing(workers.run(job, rest, keep_errors=True, **where)) as errors:
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
    """`python -m itekit batch`: run a list of notebooks; 1 if any of them failed, else 0.

    Threads of each run: by default as OMP_NUM_THREADS says, else the cores divided by the workers;
    on a cluster as its workers have it.
    """
    folder = arguments.output or FOLDER / Path(arguments.list).stem
    runs, threads = read_list(arguments.list, folder), arguments.threads
    if arguments.dry_run:
        ends = planned(runs)
    else:
        if not (arguments.dask or threads or os.environ.get(THREADS)):
            threads = max(1, workers.cores() // arguments.workers)
        options = {"threads": threads, "cell_timeout": arguments.cell_timeout}
        with workers.cluster(arguments.dask) if arguments.dask else nullcontext() as client:
            ends = run_all(runs, arguments.workers, client, **options)
    width = max(map(len, ends))
    for name, end in [("run", ("", "minutes", "where it failed")), *ends.items()]:
        print("{:<{}}  {:<8} {:>7}  {}".format(name, width, *end).rstrip())
    counts = Counter(status for status, *_ in ends.values())
    print(f"\n{len(ends)} runs: {', '.join(f'{n} {status}' for status, n in counts.items())}")
    print(f"output    {Path(runs[0].output).parent}")
    return int("failed" in counts)
