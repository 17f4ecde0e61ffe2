"""What the copying search says: its table, correlations, pairs, and the spread over draws (06).

Paper, appendices "Hyperparameter Search" and "Sensitivity to randomness in embeddings". A record is
a mapping of `lessons.copying_search.load_search` or `paper_search`.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scipy.stats import pearsonr

from itekit.random_vectors import METHODS
from lessons.copying_search import FEATURES, ROWS, Setting
from lessons.paper import paper_table

KEYS = ("method", "d_beta", *FEATURES)
FACTORS = (*METHODS, "d_beta", *FEATURES)
Record = Mapping[str, object]


def paper_search() -> list[dict]:
    """The paper's copying search: a record for each of 90 settings, in the order of its table.

    Each has "method", "d_beta", "f_bn", "f_fn", "adacos" and "edit_distance".
    """
    table, records = paper_table("copying-search"), []
    for row in table.rows:
        on = row.removeprefix("copying-5-10/search/").split("+")
        features = {name: name in on for name in FEATURES}
        for column, figure in table.row(row).items():
            method, d_beta = column.rsplit("-", 1)
            setting = {"method": method, "d_beta": int(d_beta), **features}
            records.append(setting | {"edit_distance": figure})
    return records


def proposed(records: Sequence[Record]) -> list[Record]:
    """The records with random parts: the baselines left out."""
    return [record for record in records if record["method"] in METHODS]


def search_table(records: Sequence[Record]) -> tuple[list[str], list[list[str]]]:
    """The paper's table as text: its head, and a row for what is on.

    A column is a method and d_beta; a cell is the best seed, "" where there is none.
    """
    order = [*METHODS, *dict.fromkeys(r["method"] for r in records)]
    cells, columns = {}, set()
    for record in sorted(records, key=lambda r: r["edit_distance"], reverse=True):
        setting = Setting.of(record)
        cells[setting.on, setting.column] = f"{record['edit_distance']:.1f}"
        columns.add((order.index(setting.method), setting.d_beta, setting.column))
    names = [name for *_, name in sorted(columns)]
    rows = [Setting("normal", 8, *on).on for on in ROWS]
    table = [[row, *(cells.get((row, name), "") for name in names)] for row in rows]
    return ["on", *names], [row for row in table if any(row[1:])]


def correlations(
    records: Sequence[Record], of: str = "edit_distance"
) -> dict[str, tuple[float, float]]:
    """Pearson's coefficient of each factor with the edit distance, and its two-sided p-value.

    A method, and a feature that is on, count 1, else 0. Baselines are left out; a factor that is
    the same in all records has no entry. ValueError for fewer than three records.
    """
    records, found = proposed(records), {}
    if len(records) < 3:
        raise ValueError(f"correlations need 3 records or more, found {len(records)}")
    distances = [record[of] for record in records]
    for factor in FACTORS:
        values = [float(r["method"] == factor if factor in METHODS else r[factor]) for r in records]
        if len(set(values)) > 1 and len(set(distances)) > 1:
            found[factor] = tuple(map(float, pearsonr(values, distances)))
    return found


def pairs(records: Sequence[Record], feature: str) -> list[tuple[Record, Record]]:
    """Records that differ in one of FEATURES alone: (off, on), with the same seed.

    A correlation mixes f_fn with AdaCos, which needs it; pairs do not.
    """

    def key(record: Record) -> tuple:
        return (*(record[name] for name in KEYS if name != feature), record.get("seed"))

    off = {key(record): record for record in records if not record[feature]}
    return [(off[key(r)], r) for r in records if r[feature] and key(r) in off]


@dataclass(frozen=True)
class Sensitivity:
    """Mean edit distance over the random draws of one model, and of the median draw by loss."""

    min: float
    mean: float
    max: float
    std: float  # of the sample
    median_choice: float

    @property
    def difference(self) -> float:
        """The median choice against the mean, in per cent; NaN if the mean is 0."""
        return 100 * (self.median_choice - self.mean) / self.mean if self.mean else math.nan


def sensitivity(result: Mapping) -> Sensitivity:
    """Of a record, or of a result of `results.load_result`, with several draws."""
    draws = [draw["mean_edit_distance"] for draw in result["result"]["draws"]]
    chosen = result["result"]["median_draw_mean_edit_distance"]
    mean, deviation = statistics.mean(draws), statistics.stdev(draws)
    return Sensitivity(min(draws), mean, max(draws), deviation, chosen)


def pooled_std(found: Sequence[Sensitivity]) -> float:
    """The pooled standard deviation over draws, of models with as many draws each."""
    return math.sqrt(statistics.mean(one.std**2 for one in found))
