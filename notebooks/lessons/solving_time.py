"""How long Spot takes to solve a formula, by its length and its atomic propositions (APs).

Paper, section "Generalization", figure "Scaling behavior of the trace generation using spot". Times
are CPU seconds of `itekit.tasks.ltl.solve` with each translation, in a process that is ended at a
limit. The formulas of a cell have exactly the given numbers of tokens and of different APs.
"""

import time
from collections.abc import Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from itekit.datasets.candidates import random_formulas
from itekit.datasets.generate import TOOLS
from itekit.files import resolve_scale
from itekit.logic.formulas import LTL
from itekit.tasks.ltl import TRANSLATIONS, solve
from itekit.tasks.verdicts import TIME_OUT
from itekit.workers import run
from lessons.measured import PACKAGES, command, load_measured, origin

NOTEBOOK = "appendix/07_labels_and_data"


class TimingGrid(NamedTuple):
    """What is measured; each pair of a length and a count is a cell."""

    lengths: tuple[int, ...]  # of the formulas, in tokens
    counts: tuple[int, ...]  # of their APs
    formulas: int  # different ones in a cell; one with less than half of them is left empty
    cpu_seconds: float  # limit for each formula and translation
    tries: int  # random trees that are drawn for a cell at most


GRIDS = {
    "smoke": TimingGrid((6, 12, 18), (1, 3), 5, 0.2, 5_000),
    "lab": TimingGrid(tuple(range(5, 51, 5)), tuple(range(1, 11)), 30, 1.0, 300_000),
    "paper": TimingGrid(tuple(range(2, 51, 2)), tuple(range(1, 11)), 100, 10.0, 2_000_000),
}


def cell_formulas(grid: TimingGrid, count: int, length: int, seed: int) -> list[str]:
    """Different formulas of a cell, the same for the same seed."""
    if length < 2 * count - 1:  # a formula with n APs has at least n - 1 binary operators
        return []
    number = int(np.random.SeedSequence([seed, count, length]).generate_state(1)[0]) >> 1
    options = {"fitting": "all", "limit": grid.tries}
    different: dict[str, None] = {}
    for formula in random_formulas(LTL, count, (length, length), number, **options):
        different[formula] = None
        if len(different) == grid.formulas:
            break
    return list(different)


def time_item(item: Sequence[str]) -> float:
    """CPU seconds of solving (formula, translation); for a worker process."""
    _warm_up()
    start = time.thread_time()  # the process's clock only ticks while a limit is armed
    solve(*item)
    return time.thread_time() - start


@cache
def _warm_up() -> None:
    """What only the first call in a process pays for."""
    for translation in TRANSLATIONS:
        solve("Ua&bXc", translation)


def cell_statistics(times: Sequence[float | str]) -> dict[str, float | None]:
    """(Upper) median, upper quartile, None past the limit, and share of time-outs of a cell."""
    known = [np.inf if found == TIME_OUT else found for found in times]
    quantiles = np.quantile(known, [0.5, 0.75], method="higher")
    median, quartile = (float(f"{q:.3g}") if q < np.inf else None for q in quantiles)
    share = sum(found == TIME_OUT for found in times) / len(times)
    return {"median": median, "upper_quartile": quartile, "time_outs": round(share, 4)}


def measure(scale: str | None = None, seed: int = 0, progress: bool = False) -> dict:
    """The times of a whole grid of GRIDS, one formula at a time, as a JSON value.

    "formulas" says how many each cell has, and each translation has "median", "upper_quartile" and
    "time_outs": a row for each AP count, a column for each length, None where there is no value.
    """
    scale, start = resolve_scale(scale), time.perf_counter()
    grid = GRIDS[scale]
    cells = {(c, n): cell_formulas(grid, c, n, seed) for c in grid.counts for n in grid.lengths}
    items = [(text, by) for by in TRANSLATIONS for texts in cells.values() for text in texts]
    answers = run(time_item, items, workers=1, limit=grid.cpu_seconds)
    times = iter(list(tqdm(answers, total=len(items), disable=not progress)))

    def rows(values: dict) -> list[list]:
        return [[values.get((count, length)) for length in grid.lengths] for count in grid.counts]

    result = {"scale": scale, "seed": seed, "grid": grid._asdict()}
    result["formulas"] = rows({cell: len(texts) for cell, texts in cells.items()})
    for translation in TRANSLATIONS:
        found = {cell: list(islice(times, len(texts))) for cell, texts in cells.items()}
        enough = {c: t for c, t in found.items() if 2 * len(t) >= grid.formulas}
        statistics = {cell: cell_statistics(some) for cell, some in enough.items()}
        result[translation] = {
            name: rows({cell: values[name] for cell, values in statistics.items()})
            for name in ("median", "upper_quartile", "time_outs")
        }
    seconds = time.perf_counter() - start
    where = origin(command(NOTEBOOK, scale), seconds, packages=(*PACKAGES, *TOOLS))
    return result | {"measured": where}


def load_solving_time(scale: str = "lab") -> dict:
    """A shipped result of `measure`; MissingError says the command that makes it."""
    return load_measured("solving-time", scale, command(NOTEBOOK, scale))
