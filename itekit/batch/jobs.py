"""What a run will write, and whether that is there already, made from the same notebook.

Beside the output NAME.ipynb stand NAME.log, what the process printed, and NAME.json, written after
a run that went well: the SHA-256 of the notebook's cells, the parameters, the time.  A run whose
record says what the list says now is done.  The package itself is not part of the comparison:
delete an output to make it again.
"""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from itekit.batch.lists import ListError, Run, check_runs
from itekit.files import write_json
from itekit.machine import processor, today


class Job(NamedTuple):
    """A checked run and where it goes; all paths absolute, since another machine may read them.

    Attributes:
        name: of the run.
        notebook: path of the notebook.
        folder: where the output, the record and the log go.
        parameters: all that are passed to the notebook.
        cell_timeout: seconds that a cell may take; None: no limit.
    """

    name: str
    notebook: str
    folder: str
    parameters: dict
    cell_timeout: float | None = None

    @property
    def output(self) -> Path:
        """The executed notebook."""
        return Path(self.folder, f"{self.name}.ipynb")

    @property
    def record(self) -> Path:
        """What the output was made from."""
        return Path(self.folder, f"{self.name}.json")

    @property
    def log(self) -> Path:
        """What the process of the run printed."""
        return Path(self.folder, f"{self.name}.log")


def make_jobs(
    runs: Iterable[Run], folder: str | Path, cell_timeout: float | None = None
) -> list[Job]:
    """The jobs of a list of runs, in its order; writes nothing.

    Raises:
        ListError: as `check_runs`; also a run that would overwrite its notebook.
        ValueError: `cell_timeout` is not above 0.
    """
    if cell_timeout is not None and not cell_timeout > 0:
        raise ValueError(f"cell_timeout must be above 0, found {cell_timeout}")
    folder = str(Path(folder).absolute())
    jobs = []
    for run in check_runs(list(runs)):
        job = Job(run.name, str(run.notebook.absolute()), folder, run.parameters, cell_timeout)
        if job.output.resolve() == run.notebook.resolve():
            raise ListError(f"{run.place}: the output would overwrite the notebook {run.notebook}")
        jobs.append(job)
    return jobs


def cells_digest(notebook: str | Path) -> str:
    """SHA-256 of the kinds, tags and sources of a notebook's cells; outputs do not count.

    Raises:
        ValueError: not a notebook.
    """
    content = json.loads(Path(notebook).read_text(encoding="utf-8"))
    try:
        cells = [
            [cell["cell_type"], cell["metadata"].get("tags", []), "".join(cell["source"])]
            for cell in content["cells"]
        ]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{notebook}: not a notebook of format 4") from error
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()


def write_record(job: Job, cells: str, seconds: float) -> None:
    """Say that the output is there, and what it was made from."""
    made = {"notebook": job.notebook, "cells": cells, "parameters": job.parameters}
    where = {"seconds": round(seconds, 1), "hardware": processor(), "date": today()}
    write_json(job.record, made | where)


def done_seconds(job: Job, cells: str) -> float | None:
    """How long the run took if its output was made from these cells and parameters, else None."""
    try:
        record = json.loads(job.record.read_text(encoding="utf-8"))
        made, seconds = (record["cells"], record["parameters"]), float(record["seconds"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):  # none, or a damaged one
        return None
    same = json.dumps(made, sort_keys=True) == json.dumps((cells, job.parameters), sort_keys=True)
    return seconds if same and job.output.is_file() else None
