"""The paper's figures, and ours beside them.

The paper's figures are in data/paper.json: one that belongs to an experiment of the kit has its
name, one in a table the key ROW/COLUMN. Rates are 0 to 1.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from itekit.files import DATA, nearest, read_json

PAPER = DATA / "paper.json"


@dataclass(frozen=True)
class PaperTable:
    """One table of the paper: the figures of each row, in the order of the columns."""

    unit: str
    section: str
    note: str
    columns: list[str]
    rows: dict[str, list[float]]

    def row(self, name: str) -> dict[str, float]:
        """The figures of a row by column; ValueError lists the nearest names."""
        return dict(zip(self.columns, _entry(self.rows, name, "row"), strict=True))


def _entry(entries: Mapping, key: str, what: str):
    if key in entries:
        return entries[key]
    raise ValueError(
        f"the paper's {what} {key!r} is not in {PAPER.name}: try {nearest(key, entries)}"
    )


@functools.cache
def _tables() -> Mapping[str, PaperTable]:
    return {name: PaperTable(**table) for name, table in read_json(PAPER, dict)["tables"].items()}


@functools.cache
def paper_figures() -> Mapping[str, dict]:
    """All of the paper's figures by their keys: "value", "unit", "section", "note"."""
    figures = read_json(PAPER, dict)["values"]
    for table in _tables().values():
        about = {"unit": table.unit, "section": table.section, "note": table.note}
        for row in table.rows:
            for column, figure in table.row(row).items():
                figures[f"{row}/{column}"] = {"value": figure} | about
    return figures


def paper_value(key: str) -> float:
    """A figure as printed, such as "ltl-perturbed/proposed/correct"."""
    return _entry(paper_figures(), key, "figure")["value"]


def paper_cell(name: str, column: str) -> float | None:
    """The same of an experiment as a rate from 0 to 1; None if the paper reports none."""
    figure = paper_figures().get(f"{name}/{column}")
    if figure and figure["unit"] != "per cent":
        raise ValueError(f"the paper's figure {name}/{column} is in {figure['unit']}")
    return figure and figure["value"] / 100


def paper_table(name: str) -> PaperTable:
    """The table `name`, for example "ltl-perturbation"; ValueError lists the nearest names."""
    return _entry(_tables(), name, "table")


# Ours beside the paper's


def our_value(result: dict) -> float:
    """The mean edit distance to compare with the paper's: for ordinary embeddings over the cells
    whose characters it was trained on; over the others its answer is empty.
    """
    values = result["result"]
    within = values["mean_within_training_characters"]
    learned = result["experiment"]["embedding"]["kind"] == "learned"
    return within if learned and within is not None else values["mean_edit_distance"]


def our_rate(result: dict, column: str) -> float | None:
    """A figure of a result on logic, by a key of COLUMNS; None if the evaluation has none.

    The mean over the grid weighs every cell alike, as the paper's; "beyond" is over its problems
    with more APs than in training; "solved" over answers that stand for some word (ours).
    """
    values = result["result"]
    if column in ("correct", "solved", "exact"):
        return values["test"].get(column)
    grid = values["generalization"]
    if column == "heatmap-mean-correct":
        return grid["mean_correct_cells"]
    if column == "beyond":
        known = result["experiment"]["task"]["propositions"]
        samples, correct = (sum(map(sum, grid[key][known:])) for key in ("samples", "correct"))
        return correct / samples if samples else None
    if not column.startswith("alpha-covariance-"):
        return None
    count, _, more = column.removeprefix("alpha-covariance-").partition("-of-")
    cells = values["alpha_covariance" if more else "alpha_covariance_training"] or {}
    return cells.get("by_propositions", {}).get(count, {}).get("mean")


def run_line(result: dict) -> str:
    """One line: which run it is and how long it took; for copying its figure and the paper's."""
    trained, name, settings = result["trained"], result["name"], result["experiment"]
    line = f"{name}, {result['scale']} size, seed {result['seed']}: "
    line += f"{trained.get('steps', 0):,} steps"
    line += " (unfinished)" if trained.get("partial") else ""
    if "seconds" in trained:
        line += f" in {trained['seconds'] / 60:.0f} minutes on {trained.get('hardware', '?')}"
    if "mean_edit_distance" not in result["result"]:
        return line
    line += f"; mean edit distance {our_value(result):.2f}"
    known = settings["task"]["data"]["characters"]
    if settings["embedding"]["kind"] == "learned" and known < result["result"]["axis"][-1]:
        line += f" (up to {known} unique characters)"
    if figure := paper_figures().get(name):
        where = " (validation set)" if figure["note"].startswith("validation") else ""
        line += f"; paper {figure['value']}{where}"
    elif name == "copying-3-30/proposed":
        clean, models = (paper_value(f"copying-3-30/models{end}") for end in ("-without-error", ""))
        line += f"; paper 0.0 for {clean:g} of {models:g} models"
    return line


def markdown_table(head: tuple[str, ...], rows: list[list[str]]) -> str:
    """A Markdown table; a vertical bar inside a cell is escaped."""
    lines = [[cell.replace("|", "\\|") for cell in line] for line in (head, *rows)]
    return "\n".join(
        f"| {' | '.join(line)} |" for line in (lines[0], ["---"] * len(head), *lines[1:])
    )
