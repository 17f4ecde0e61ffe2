"""What the records of a copying search say: tables, correlations, pairs, sensitivity to the draw.

Paper, appendices "Hyperparameter Search" and "Sensitivity to randomness in embeddings". A record
has "method", "d_beta", "f_bn", "f_fn", "adacos" and "edit_distance": those of
`records.load_search` do, and those of the paper's own table, `paper.paper_search`.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scipy.stats import pearsonr

from itekit.random_vectors import METHODS
from itekit.search.settings import FEATURES, ROWS, Setting

Record = Mapping[str, object]
FACTORS = (*METHODS, "d_beta", *FEATURES)
KEYS = ("method", "d_beta", *FEATURES)
ENOUGH = 3  # records for a correlation


def proposed(records: Sequence[Record]) -> list[Record]:
    """The records with random parts: the baselines left out."""
    return [record for record in records if record["method"] in METHODS]


def best(records: Sequence[Record]) -> list[Record]:
    """The best seed of each setting, as the paper's tables have it; in the order of the records."""
    found = {}
    for record in records:
        key = tuple(record[name] for name in KEYS)
        if key not in found or record["edit_distance"] < found[key]["edit_distance"]:
            found[key] = record
    return list(found.values())


def search_table(records: Sequence[Record]) -> tuple[list[str], list[list[str]]]:
    """The paper's table: a row for what is on, a column for each method and d_beta.

    Returns:
        the head and the rows as text, for `summary.markdown_table`; the best seed of each setting,
        "" where there is none.
    """
    settings = {_setting(record): record["edit_distance"] for record in best(records)}
    order = [*METHODS, *dict.fromkeys(s.method for s in settings if s.is_baseline)]
    places = sorted({(order.index(s.method), s.d_beta, s.column) for s in settings})
    columns = [column for *_, column in places]
    cells = {(s.on, s.column): f"{distance:.1f}" for s, distance in settings.items()}
    rows = [Setting(METHODS[0], 8, *on).on for on in ROWS]
    return ["on", *columns], [
        [row, *(cells.get((row, column), "") for column in columns)]
        for row in rows
        if any(on == row for on, _ in cells)
    ]


def _setting(record: Record) -> Setting:
    return Setting(*(record[name] for name in KEYS))


def correlations(
    records: Sequence[Record], of: str = "edit_distance"
) -> dict[str, tuple[float, float]]:
    """Pearson's coefficient of each factor with the edit distance, and its p-value.

    A method, and a feature that is on, count 1, else 0: the coefficient is then the point-biserial
    one.  Baselines are left out; a factor that is the same in all records has no entry.

    Args:
        of: the key of another figure than "edit_distance".

    Returns:
        {factor: (r, p)}, in the order of the paper; r < 0: more of it, fewer errors.  The p-value
        is two-sided, for independent records and no correlation.

    Raises:
        ValueError: fewer than three records with random parts.
    """
    records = proposed(records)
    if len(records) < ENOUGH:
        raise ValueError(f"correlations need {ENOUGH} records or more, found {len(records)}")
    distances = [record[of] for record in records]
    if len(set(distances)) == 1:
        return {}
    found = {}
    for factor in FACTORS:
        values = [_value(record, factor) for record in records]
        if len(set(values)) > 1:
            r, p = pearsonr(values, distances)
            found[factor] = (float(r), float(p))
    return found


def _value(record: Record, factor: str) -> float:
    return float(record["method"] == factor if factor in METHODS else record[factor])


def pairs(records: Sequence[Record], feature: str) -> list[tuple[Record, Record]]:
    """Records that differ in one feature alone: (off, on), with the same seed.

    A correlation mixes f_fn with AdaCos, which needs it; pairs do not.

    Raises:
        ValueError: not a feature.
    """
    if feature not in FEATURES:
        raise ValueError(f"unknown feature {feature!r}: expected one of {', '.join(FEATURES)}")
    rest = [name for name in KEYS if name != feature]

    def key(record: Record) -> tuple:
        return (*(record[name] for name in rest), record.get("seed"))

    off = {key(record): record for record in records if not record[feature]}
    return [(off[key(r)], r) for r in records if r[feature] and key(r) in off]


@dataclass(frozen=True)
class Sensitivity:
    """How much the random draw matters to one model (paper, "Sensitivity to randomness ...").

    Attributes:
        min, mean, max, std: of the mean edit distance over the draws; the sample deviation.
        median_choice: that of the draw with the median cross-entropy.
    """

    min: float
    mean: float
    max: float
    std: float
    median_choice: float

    @property
    def difference(self) -> float:
        """The median choice against the mean, in per cent; NaN if the mean is 0."""
        return 100 * (self.median_choice - self.mean) / self.mean if self.mean else math.nan


def sensitivity(result: Mapping) -> Sensitivity:
    """The sensitivity of a result: of `results.load_result`, or of a record of the search.

    Raises:
        ValueError: the result has a single draw, or not all of its draws were decoded.
    """
    draws = [draw["mean_edit_distance"] for draw in result["result"]["draws"]]
    if len(draws) < 2 or None in draws:
        raise ValueError(
            "sensitivity needs the edit distance of two random draws or more, "
            f"found {sum(draw is not None for draw in draws)}"
        )
    chosen = result["result"]["median_draw_mean_edit_distance"]
    mean, std = statistics.mean(draws), statistics.stdev(draws)
    return Sensitivity(min(draws), mean, max(draws), std, chosen)


def pooled_std(found: Sequence[Sensitivity]) -> float:
    """The pooled standard deviation over draws, of models with as many draws each.

    Raises:
        ValueError: no models.
    """
    if not found:
        raise ValueError("pooled_std needs a model or more, found none")
    return math.sqrt(statistics.mean(one.std**2 for one in found))
