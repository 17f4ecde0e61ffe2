"""The paper's figures, to be put beside ours: `paper_value("copying-5-10/proposed")`.

They are read from data/paper.json: those of the appendix "Copying Task Experiments", and of the
logic tasks those of the sections "LTL Solving", "Assignment Prediction for Propositional Logic",
"Ablation Studies" and "Comparison with LLMs" and of the appendices that continue them. Each has its
unit, the section it stands in and what it was measured on. A figure that belongs to one of the
kit's experiments has the experiment's name; one that stands in a table has the key ROW/COLUMN.
"""

import difflib
import functools
import json
import types
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).resolve().parent.parent / "data" / "paper.json"
PER_CENT = "per cent"
SEARCH = "copying-5-10/search/"
FEATURES = ("f_bn", "f_fn", "adacos")


@dataclass(frozen=True)
class PaperValue:
    """One figure of the paper.

    Attributes:
        value: as printed in the paper.
        unit: what is counted.
        section: title of the section, with the one above it where a title stands twice.
        note: what it was measured on.
    """

    value: float
    unit: str
    section: str
    note: str


@dataclass(frozen=True)
class PaperTable:
    """One table of the paper.

    Attributes:
        unit, section, note: of every figure in it, as in `PaperValue`.
        columns: their names, from left to right.
        rows: the figures of each row by its name, in the paper's order.
    """

    unit: str
    section: str
    note: str
    columns: tuple[str, ...]
    rows: Mapping[str, tuple[float, ...]]

    def row(self, name: str) -> dict[str, float]:
        """The figures of a row by column.

        Raises:
            ValueError: no such row; the message lists the nearest ones.
        """
        return dict(zip(self.columns, _entry(self.rows, name, "row"), strict=True))

    def column(self, name: str) -> dict[str, float]:
        """The figures of a column by row.

        Raises:
            ValueError: no such column; the message lists the nearest ones.
        """
        place = _entry({column: i for i, column in enumerate(self.columns)}, name, "column")
        return {row: figures[place] for row, figures in self.rows.items()}


def _entry(found: Mapping, key: str, what: str):
    if key not in found:
        near = difflib.get_close_matches(key, found, 3, 0.4) or list(found)[:20]
        raise ValueError(f"the paper's {what} {key!r} is not in {FILE.name}: try {', '.join(near)}")
    return found[key]


@functools.cache
def _contents() -> dict:
    return json.loads(FILE.read_text(encoding="utf-8"))


@functools.cache
def _tables() -> Mapping[str, PaperTable]:
    tables = {}
    for name, entry in _contents()["tables"].items():
        rows = types.MappingProxyType({row: tuple(line) for row, line in entry["rows"].items()})
        tables[name] = PaperTable(**entry | {"columns": tuple(entry["columns"]), "rows": rows})
    return types.MappingProxyType(tables)


@functools.cache
def _values() -> Mapping[str, PaperValue]:
    values = {key: PaperValue(**entry) for key, entry in _contents()["values"].items()}
    for table in _tables().values():
        about = (table.unit, table.section, table.note)
        for row in table.rows:
            for column, figure in table.row(row).items():
                values[f"{row}/{column}"] = PaperValue(figure, *about)
    return types.MappingProxyType(values)


def paper_values() -> dict[str, PaperValue]:
    """All figures by key, those in tables as ROW/COLUMN."""
    return dict(_values())


def paper_value(key: str) -> float:
    """The figure named `key`, for example "ltl-perturbed/proposed/correct", as printed.

    Raises:
        ValueError: no such figure is recorded; the message lists the nearest keys.
    """
    return _entry(_values(), key, "figure").value


def paper_rate(key: str) -> float:
    """The same as a rate from 0 to 1, as our results have it.

    Raises:
        ValueError: no such figure, or one that is not in per cent.
    """
    found = _entry(_values(), key, "figure")
    if found.unit != PER_CENT:
        raise ValueError(f"the paper's figure {key!r} is in {found.unit}, not in {PER_CENT}")
    return found.value / 100


def paper_tables() -> tuple[str, ...]:
    """The names of the tables."""
    return tuple(_tables())


def paper_table(name: str) -> PaperTable:
    """The table `name`, for example "ltl-perturbation".

    Raises:
        ValueError: no such table is recorded; the message lists the nearest names.
    """
    return _entry(_tables(), name, "table")


def paper_alpha_covariance(task: str) -> dict[str, dict[int, float]]:
    """Alpha-covariance, 0 to 1, by variant and number of APs out of 10; `task` "ltl" or "prop".

    Paper, section "Alpha-Covariance"; see the note of the table "alpha-covariance".

    Raises:
        ValueError: another task.
    """
    table = paper_table("alpha-covariance")
    counts = [int(column.split("-")[2]) for column in table.columns]
    rows = [(row.split("/"), figures) for row, figures in table.rows.items()]
    found = {
        name: {count: figure / 100 for count, figure in zip(counts, figures, strict=True)}
        for (family, name), figures in rows
        if family == task
    }
    if not found:
        raise ValueError(f"task: expected 'ltl' or 'prop', found {task!r}")
    return found


def paper_search() -> list[dict]:
    """The copying search: a record for each of 90 settings, in the order of the paper's table.

    Each has "method" (as in `itekit.random_vectors.METHODS`), "d_beta", "f_bn", "f_fn", "adacos"
    and "edit_distance". Paper, appendix "Hyperparameter Search".
    """
    records = []
    for row, figures in paper_table("copying-search").rows.items():
        on = row.removeprefix(SEARCH).split("+")
        features = {feature: feature in on for feature in FEATURES}
        for column, figure in zip(paper_table("copying-search").columns, figures, strict=True):
            method, d_beta = column.rsplit("-", 1)
            setting = {"method": method, "d_beta": int(d_beta), **features}
            records.append({**setting, "edit_distance": figure})
    return records


def citation() -> str:
    """The paper, on one line."""
    source = _contents()["source"]
    authors = ", ".join(source["authors"])
    return f"{authors}: {source['title']}. {source['venue']}, {source['year']}."
