"""The networks and the results of a lesson: those that are shipped, or made here; and their table.

One name is one run: what a figure or a table shows is called as the experiment is.
"""

import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from IPython.display import Markdown
from scipy.stats import ttest_ind

from itekit.files import MissingError
from itekit.names import NAMES, experiment
from itekit.network import Network
from itekit.results import (
    RUNS,
    evaluate,
    load_network,
    load_or_train,
    load_redraw,
    results,
    shipped,
)
from itekit.tasks.verdicts import count_names, paired_interval, unpacked_bits
from itekit.vocabulary import proposition_names
from lessons.paper import markdown_table, our_rate, paper_cell
from lessons.rates import Difference, newcombe, wilson

COLUMNS = {  # what a row of the paper's tables on logic tells
    "correct": "correct",
    "solved": "of it: not vacuous",
    "exact": "exact",
    "heatmap-mean-correct": "correct over the grid",
    "beyond": "of it: more APs than in training",
    "alpha-covariance-3": "alpha-covariance, 3 APs",
}
LOGIC_NAMES = tuple(name for name in NAMES if not name.startswith("copying-"))
HEAD = ("experiment", "size", *COLUMNS.values(), "seeds", "minutes", "hardware")


@dataclass(frozen=True)
class Runs:
    """Runs by name: those made here if `train`, else those that are shipped at size `kept`."""

    scale: str
    seed: int = 0
    train: bool = False
    kept: str = "lab"

    @property
    def size(self) -> str:
        """The size of the networks."""
        return self.scale if self.train or self.scale == "paper" else self.kept

    def network(self, name: str) -> Network:
        """The network of a run; MissingError: it is not shipped."""
        return _trained(self, name) if self.train else load_network(name, self.size, self.seed)

    def results(self, *names: str) -> dict[str, dict | None]:
        """The evaluation of each run, None where there is none yet."""
        return {
            name: _evaluated(self, name) if self.train else shipped(name, self.size, self.seed)
            for name in names
        }

    def redraw(self, name: str, suffix: str = "redraw") -> dict | None:
        """The result of redraw and verify (run.ipynb), None if there is none yet."""
        try:
            return load_redraw(name, self.size, self.seed, suffix)["result"]
        except MissingError:
            return None


@cache
def _trained(runs: Runs, name: str) -> Network:
    folder = Path(tempfile.mkdtemp()) if runs.scale == "smoke" else RUNS
    settings = experiment(name, runs.scale, runs.seed)
    return load_or_train(settings, folder, train=True, progress=False)


@cache
def _evaluated(runs: Runs, name: str) -> dict:
    return evaluate(_trained(runs, name), progress=False)


def network(name: str, size: str, seed: int) -> Network:
    """The shipped lab network; at smoke size an untrained one."""
    if size == "smoke":
        return Network(experiment(name, size, seed)).eval()
    return load_network(name, "lab", seed)


def variant(name: str) -> str:
    """A run's name without its family."""
    return name.partition("/")[2]


def counts(one: Mapping, key: str = "correct") -> dict[str, tuple[int, int]]:
    """(right answers, problems) of the grid: by number of APs, "known" in training or "more", and
    of all of it; and of the "test" split, where it was counted in this way.
    """
    grid = one["result"]["generalization"]
    right, samples = (np.sum(grid[k], axis=1).tolist() for k in (key, "samples"))
    known = _known(one)
    rows = {str(n): both for n, both in enumerate(zip(right, samples, strict=True), 1)}
    parts = {"grid": slice(None), "known": slice(known), "more": slice(known, None)}
    rows |= {name: (sum(right[part]), sum(samples[part])) for name, part in parts.items()}
    test = one["result"]["test"]
    if key in test:
        rows["test"] = round(test[key] * test["samples"]), test["samples"]
    return rows


def _known(one: Mapping) -> int:
    """APs of a family's training; full-vocabulary, with all APs, is judged as the others are."""
    family = one["name"].partition("/")[0]
    return experiment(f"{family}/proposed", one["scale"]).task.propositions


def ahead(first: Mapping, second: Mapping, part: str) -> Difference:
    """By how much a result is ahead of another in a part of `counts`, or in the mean over "cells".

    The interval is paired where both results hold a bit for each problem, else Newcombe's.
    """
    marks = [_marks(one, part) for one in (first, second)]
    if all(values is not None for values in marks):
        return paired_interval(*marks)
    rates = []
    for one in (first, second):
        right, n = counts(one)["grid" if part == "cells" else part]
        rates += [our_rate(one, "heatmap-mean-correct") * n if part == "cells" else right, n]
    return newcombe(*rates)


def _marks(one: Mapping, part: str) -> np.ndarray | None:
    """Whether each problem of a part has a right answer, None in results without these bits.

    For "cells" each is weighted, so that their mean is the mean over the cells of the grid.
    """
    where = "test" if part == "test" else "generalization"
    if "good" not in one["result"][where]:
        return None
    pairs = experiment(one["name"], one["scale"]).task.pairs(where)
    good = unpacked_bits(one["result"][where]["good"], len(pairs))
    if part in ("test", "grid"):
        return good
    names = count_names(pairs, proposition_names(26))
    if part == "cells":
        cells = [(n, len(problem)) for n, (problem, _) in zip(names, pairs, strict=True)]
        _, cell, sizes = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
        return good * len(good) / len(sizes) / sizes[cell]
    if part in ("known", "more"):
        return good[(names > _known(one)) == (part == "more")]
    return good[names == int(part)]


def draw_rates(one: Mapping) -> list[float]:
    """Right answers over the grid under each draw of the random part, by greedy decoding."""
    return [draw["correct_greedy"] for draw in one["result"]["generalization"]["draws"]]


def ahead_over_draws(first: Mapping, second: Mapping) -> Difference:
    """By how much the mean of `draw_rates` is ahead, and Welch's interval over the draws."""
    rates = [draw_rates(one) for one in (first, second)]
    low, high = ttest_ind(*rates, equal_var=False).confidence_interval()
    return float(np.mean(rates[0]) - np.mean(rates[1])), float(low), float(high)


def _cell(one: Mapping, column: str, paper: bool) -> str:
    rate, test = our_rate(one, column), one["result"]["test"]["samples"]
    part, _, kind = column.partition("-")
    if part in ("known", "more"):  # of the grid
        right, n = counts(one, kind or "correct")[part]
        rate = right / n
    elif rate is None:
        return "–"
    else:
        sizes = {"correct": test, "exact": test, "solved": test, "beyond": counts(one)["more"][1]}
        n = sizes.get(column)
    told = f"{100 * rate:.1f}"
    if n:
        told += " ({:.1f} to {:.1f})".format(*(100 * end for end in wilson(rate * n, n)))
    theirs = paper_cell(one["name"], column) if paper else None
    return told if theirs is None else f"{told}; paper {100 * theirs:.1f}"


def rates_table(
    runs: Iterable[dict | None], columns: Mapping[str, str], paper: bool = False
) -> Markdown:
    """A row for each run on logic: its rates in per cent, with Wilson's intervals of 95 %.

    `columns`: what `itekit.results.our_rate` calls a rate, and its heading; "known" and "more" are
    rates over the grid by the APs of training, "more-solved" without vacuous answers. With `paper`
    the paper's figure is behind ours.
    """
    rows = []
    for one in filter(None, runs):
        name = variant(one["name"]) + f", seed {one['seed']}" * bool(one["seed"])
        rows.append([name, *(_cell(one, column, paper) for column in columns)])
    return Markdown(markdown_table(("run", *columns.values()), rows))


def logic_rows() -> list[list[str]]:
    """A row for each experiment and size with results, and for each of which the paper tells:
    text in the order of HEAD, rates in per cent, one for each seed.
    """
    rows = []
    for name in LOGIC_NAMES:
        paper = {column: paper_cell(name, column) for column in COLUMNS}
        found = [(size, runs) for size in ("paper", "lab") if (runs := results(name, size))]
        if not found and any(figure is not None for figure in paper.values()):
            found = [("not run", [])]
        for scale, runs in found:
            cells = []
            for column, figure in paper.items():
                ours = [rate for run in runs if (rate := our_rate(run, column)) is not None]
                text = ", ".join(f"{100 * rate:.1f}" for rate in ours) or "–"
                cells.append(text if figure is None else f"{text} (paper {100 * figure:.1f})")
            trained = [run["trained"] for run in runs]
            minutes = sorted(t["seconds"] / 60 for t in trained if "seconds" in t)
            span = dict.fromkeys(f"{value:.0f}" for value in minutes[:1] + minutes[-1:])
            hardware = dict.fromkeys(t["hardware"] for t in trained if "hardware" in t)
            seeds = ", ".join(str(run["seed"]) for run in runs)
            rows.append([name, scale, *cells, seeds, " to ".join(span), "; ".join(hardware)])
    return rows
