"""Read a list of runs, each a notebook with parameters, and check all of it before any starts.

A list is a TOML file, with a table for each run:

    [[run]]
    notebook = "../notebooks/05_copying.ipynb"      # seen from the list's folder
    parameters = { scale = "lab", train = true }

    [[run]]
    notebook = "../notebooks/06_copying_search.ipynb"
    name = "search"                                 # of the output; default: from the parameters
    parameters = { scale = "lab" }
    grid = { method = ["normal", "hypercube_vertices"], seed = [0, 1, 2] }    # six runs

`grid` gives every combination of its values.  A name is followed by the values of the grid,
"search-method=normal-seed=0"; without one, the notebook's name is followed by all parameters.
"""

import itertools
import json
import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from itekit.notebooks import check_parameters, known_parameters
from itekit.scale import resolve_scale

KEYS = ("notebook", "name", "parameters", "grid")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=+-]*")
LONGEST = 200  # characters; a file's name may have 255, and temporary names are longer
FAILED = ".failed"  # `run_notebook` names what is left of a failed run so


class ListError(ValueError):
    """A list of runs with a mistake: the message names the file and the run."""


@dataclass(frozen=True)
class Run:
    """One run of a notebook.

    Attributes:
        notebook: path.
        parameters: name -> number, text, truth value, or a list of them.
        name: of the output without ".ipynb"; None: the notebook's name and its parameters.
        place: where it was written, for messages, such as "search.toml: run 3".
    """

    notebook: Path
    parameters: dict
    name: str | None = None
    place: str = ""


def read_list(path: str | Path) -> list[Run]:
    """The runs of a TOML file, grids as their combinations; `check_runs` does the rest.

    Raises:
        FileNotFoundError: no such file.
        ListError: not TOML, or not in the form of this module's docstring.
    """
    path = Path(path)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ListError(f"{path}: not TOML: {error}") from error
    _only(content, ("run",), f"{path}")
    entries = content.get("run", [])
    if not (isinstance(entries, list) and entries and all(isinstance(e, dict) for e in entries)):
        raise ListError(f"{path}: expected tables [[run]], one for each run; found none")
    return [
        run
        for number, entry in enumerate(entries, 1)
        for run in _runs(entry, path.parent, f"{path}: run {number}")
    ]


def _runs(entry: dict, folder: Path, place: str) -> list[Run]:
    """The runs of one table."""
    _only(entry, KEYS, place)
    for key, kind, kind_name in (
        ("notebook", str, "a path"),
        ("name", str, "text"),
        ("parameters", dict, "a table"),
        ("grid", dict, "a table"),
    ):
        if not isinstance(entry.get(key, kind()), kind):
            raise ListError(f"{place}: {key} is {entry[key]!r}; expected {kind_name}")
    if not entry.get("notebook"):
        raise ListError(f"{place}: no notebook; expected notebook = PATH, seen from the list")
    name, parameters = entry.get("name"), entry.get("parameters", {})
    grid = entry.get("grid", {})
    for key, values in grid.items():
        if not (isinstance(values, list) and values):
            raise ListError(f"{place}: grid: {key} is {values!r}; expected a list of values")
        if key in parameters:
            raise ListError(f"{place}: {key!r} is among the parameters and in the grid")
    notebook = Path(os.path.normpath(folder / entry["notebook"]))
    return [
        Run(notebook, parameters | point, name and name + _values(point), place)
        for values in itertools.product(*grid.values())
        for point in [dict(zip(grid, values, strict=True))]
    ]


def check_runs(runs: list[Run]) -> list[Run]:
    """The runs with their names, and with the scale that they will have, or the first mistake.

    `scale`, where the notebook has it and the list leaves it to ITEKIT_SCALE, is written out, so
    that a cluster runs the same size as this machine.

    Raises:
        ListError: a notebook that is not there or cannot be read, a parameter that it does not
            have or of the wrong type, a name that is no file's name, two runs of one name.
    """
    checked, places, known = [], {}, {}
    for number, run in enumerate(runs, 1):
        place = run.place or f"run {number}"
        try:
            parameters = _checked_parameters(run, known)
        except (ValueError, OSError) as error:
            raise ListError(f"{place}: {error}") from error
        name = run.name or _plain(run.notebook.stem) + _values(parameters)
        if not NAME.fullmatch(name) or len(name) > LONGEST or name.endswith(FAILED):
            raise ListError(
                f"{place}: the name is {name!r}; expected at most {LONGEST} letters, digits and "
                f"._=+-, the first a letter or digit, the end not {FAILED}: give the run a name"
            )
        other = places.setdefault(name.casefold(), (number, place))
        if other != (number, place):
            raise ListError(f"{place}: the name {name} is taken by {other[1]}; give another name")
        checked.append(Run(run.notebook, parameters, name, place))
    return checked


def _checked_parameters(run: Run, known: dict[Path, dict[str, str]]) -> dict:
    """The parameters with the scale written out; `known` keeps what each notebook has.

    Raises:
        ValueError, OSError: whatever is wrong with them, or with the notebook.
    """
    path, parameters = run.notebook, dict(run.parameters)
    if not path.is_file():
        raise FileNotFoundError(f"no notebook {path}")
    if path.suffix != ".ipynb":
        raise ValueError(f"expected a notebook that ends in .ipynb; found {path}")
    if path not in known:
        try:
            known[path] = known_parameters(path)
        except Exception as error:  # whatever papermill makes of a file that is no notebook
            raise ValueError(f"{path} cannot be read as a notebook: {error}") from error
    try:
        json.dumps(parameters, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"a value that no notebook can be given: {error}") from error
    check_parameters(path, parameters)
    if "scale" not in parameters and known[path].get("scale") == "None":
        parameters["scale"] = resolve_scale()
    return parameters


def _only(table: dict, keys: tuple[str, ...], place: str) -> None:
    for key in table:
        if key not in keys:
            raise ListError(f"{place}: no such key: {key!r}; expected {', '.join(keys)}")


def _values(parameters: dict) -> str:
    """What parameters add to a name: "-seed=0-rate=0.5"."""
    return "".join(
        f"-{key}={_plain(value if isinstance(value, str) else json.dumps(value, default=str))}"
        for key, value in parameters.items()
    )


def _plain(text: str) -> str:
    """`text` in characters that a file's name may have."""
    return re.sub(r"[^A-Za-z0-9._=+-]+", "_", text)
