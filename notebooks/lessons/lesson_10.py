"""Lesson 10: its networks and results, tables, two figures and a panel; and its exercises."""

import math
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path

import ipywidgets as widgets
import numpy as np
import plotly.graph_objects as go
from IPython.display import Markdown
from scipy.stats import binomtest

from itekit.datasets.presets import preset
from itekit.decoding import Solver
from itekit.evaluation import paired_interval
from itekit.experiments import experiment
from itekit.files import MissingError
from itekit.logic.formulas import parse_prefix
from itekit.logic.infix import formula_from_text, to_infix
from itekit.plots import rate_heatmaps, show, style
from itekit.results import (
    RUNS,
    evaluate,
    load_network,
    load_or_train,
    load_redraw,
    markdown_table,
    paper_cell,
    shipped,
)
from itekit.tasks.ltl import check
from itekit.tasks.verdicts import SOLVED
from itekit.training import Network
from lessons.exercises import Exercise, many
from lessons.panels import Panel, look, typed
from lessons.tables import html_table


@dataclass(frozen=True)
class Runs:
    """The networks and the results of the lesson: those that are shipped, or made here."""

    scale: str
    seed: int
    train: bool

    @property
    def size(self) -> str:
        return self.scale if self.train or self.scale == "paper" else "lab"

    def network(self, name: str) -> Network:
        return _trained(self, name) if self.train else load_network(name, self.size, self.seed)

    def results(self, *names: str) -> dict[str, dict | None]:
        """The evaluation of each network, None where there is none yet."""
        return {
            name: _evaluated(self, name) if self.train else shipped(name, self.size, self.seed)
            for name in names
        }

    def redraw(self, name: str, suffix: str = "redraw") -> dict | None:
        """What `python -m itekit redraw` found, None if it has not run yet."""
        try:
            return load_redraw(name, self.size, self.seed, suffix)["result"]
        except MissingError:
            return None


@cache
def _trained(runs: Runs, name: str) -> Network:
    folder = Path(tempfile.mkdtemp()) if runs.scale == "smoke" else RUNS
    return load_or_train(name, runs.scale, runs.seed, True, folder, False)


@cache
def _evaluated(runs: Runs, name: str) -> dict:
    return evaluate(_trained(runs, name), progress=False)


def _wilson(k: int, n: int) -> tuple[float, float]:
    return binomtest(int(k), int(n)).proportion_ci(method="wilson")


def heatmap_panel(result: dict, title: str = "") -> tuple:
    """A panel for `plots.rate_heatmaps`: the counts over the grid, and what training held."""
    grid, made = result["result"]["generalization"], result["experiment"]
    title = title or result["name"].partition("/")[2]
    recipe = preset(made["set"], made["scale"])
    while hasattr(recipe, "source"):  # of a set that is derived from another
        recipe = recipe.source
    longest = max(stratum.high for stratum in recipe.strata)
    return title, grid["samples"], grid["correct"], made["propositions"], longest


def _variant(name: str) -> str:
    return name.partition("/")[2]


# The grid


def counts(one: Mapping, key: str = "correct") -> dict[str, tuple[int, int]]:
    """(right answers, problems) by number of APs, and of those in training and of "more"."""
    grid = one["result"]["generalization"]
    right, samples = (np.sum(grid[k], axis=1).tolist() for k in (key, "samples"))
    family = one["name"].partition("/")[0]  # full-vocabulary, with all APs, is judged alike
    known = experiment(f"{family}/proposed", one["scale"]).propositions
    rows = {str(n): both for n, both in enumerate(zip(right, samples, strict=True), 1)}
    rows["known"] = sum(right[:known]), sum(samples[:known])
    return rows | {"more": (sum(right[known:]), sum(samples[known:]))}


def heatmaps(results: Mapping[str, dict | None], title: str) -> None:
    """Show the paper's figure for the results that there are."""
    found = {_variant(name): one for name, one in results.items() if one}
    if not found:
        print("no results yet")
        return
    grid = next(iter(found.values()))["result"]["generalization"]
    panels = [heatmap_panel(one, variant) for variant, one in found.items()]
    means = {v: one["result"]["generalization"]["mean_correct_samples"] for v, one in found.items()}
    told = "; ".join(f"{variant} {mean:.0%}" for variant, mean in means.items())
    axes = {"lengths": grid["lengths"], "propositions": grid["propositions"]}
    alt = f"Correct answers by number of APs and length: {told} of all problems."
    show(rate_heatmaps(panels, **axes, title=title), alt=alt)


def _rate(k: int, n: int) -> str:
    low, high = _wilson(k, n)
    return f"{k / n:.1%} ({100 * low:.0f} to {100 * high:.0f})"


def grid_table(results: Mapping[str, dict | None]) -> Markdown:
    """A row for each network: correct answers with 95 % intervals, and the paper's mean."""
    head = ["network", "APs of training", "more APs", "more, about some word"]
    head, rows = [*head, "mean over cells", "the paper's"], []
    for name, one in results.items():
        cells = ["not run yet", *["–"] * 3]
        if one:
            right, mean = counts(one), one["result"]["generalization"]["mean_correct_cells"]
            cells = [_rate(*right["known"]), _rate(*right["more"])]
            cells += [_rate(*counts(one, "solved")["more"]), f"{mean:.1%}"]
        theirs = paper_cell(name, "heatmap-mean-correct")
        rows.append([_variant(name), *cells, "–" if theirs is None else f"{theirs:.1%}"])
    if name.startswith("prop/"):  # an assignment is never without words
        head, *rows = ([*row[:3], *row[4:]] for row in (head, *rows))
    return Markdown(markdown_table(tuple(head), rows))


# Differences


def _points(difference: float, low: float, high: float) -> str:
    return f"{100 * difference:+.1f} points ({100 * low:+.1f} to {100 * high:+.1f})"


def newcombe(k1: int, n1: int, k2: int, n2: int) -> tuple[float, float, float]:
    """The difference of two rates from different problems, and its 95 % interval."""
    (low1, high1), (low2, high2), p1, p2 = _wilson(k1, n1), _wilson(k2, n2), k1 / n1, k2 / n2
    d = p1 - p2
    return d, d - math.hypot(p1 - low1, high2 - p2), d + math.hypot(high1 - p1, p2 - low2)


def tell_difference(first: dict | None, second: dict | None, row: str = "more") -> None:
    """Print the difference of two results with more APs than in training, from their counts."""
    if first and second:
        found = newcombe(*counts(first)[row], *counts(second)[row])
        print(f"{first['name']} - {second['name']}: {_points(*found)}")


def differences_figure(pairs: Mapping[str, tuple[dict | None, dict | None]], title: str) -> None:
    """The first result of each pair minus the second, by number of APs, with 95 % intervals."""
    figure, told = go.Figure(), []
    looks = zip(("#8A8A8A", "#222222"), ("circle", "square"), strict=True)
    for (label, (first, second)), (colour, symbol) in zip(pairs.items(), looks, strict=False):
        if not (first and second):
            continue
        rows = [key for key in counts(first) if key.isdigit()]
        found = [newcombe(*counts(first)[key], *counts(second)[key]) for key in rows]
        d, low, high = np.array(found).T
        bars = {"array": high - d, "arrayminus": d - low, "thickness": 2}
        marker = {"color": colour, "symbol": symbol, "size": 10}
        figure.add_scatter(x=rows, y=d, error_y=bars, mode="markers", marker=marker, name=label)
        told.append(f"{label}: " + ", ".join(f"{100 * x:+.1f}" for x in d))
    figure.add_hline(y=0, line={"color": "#444444", "width": 1.5})
    figure.update_xaxes(title_text="atomic propositions in the formula", type="category")
    figure.update_yaxes(title_text="difference of the rates", tickformat="+.0%", dtick=0.05)
    figure.update_layout(scattermode="group", scattergap=0.75)
    style(figure, title=title, width=760, height=400, showlegend=True)
    show(figure, alt=f"{title}. Points by number of APs: {'; '.join(told)}.")


# Redraw and verify


def redraw_table(runs: Runs, names: Iterable[str], scaled: Iterable[str] = ()) -> Markdown:
    """Solved problems: one draw, its beams, all draws; CPU time a problem, and that of a solver.

    The time is that of trying until an answer is right, checks included. `scaled`: networks that
    have been searched with 8 times their logits too.
    """
    head = ("network", "problems", "one draw", "its beams", "30 draws, all beams")
    head, rows = (*head, "ms a problem", "ms of the solver"), []
    found = {name: runs.redraw(name) for name in names}
    found |= {f"{name}, 8 × logits": runs.redraw(name, "redraw-scale8") for name in scaled}
    for name, one in found.items():
        if not one:
            rows.append([name, "not run yet", *["–"] * 5])
            continue
        for part, where in (("test", "as trained"), ("generalization", "the grid")):
            n, seconds = one[part]["samples"]["all"], one[part]["cpu_seconds"]
            best, beams = (one[part][key]["all"] for key in ("solved", "solved_beams"))
            rates = [_rate(round(rate * n), n) for rate in (best[0], beams[0], beams[-1])]
            tries = 1 + sum(1 - rate for rate in beams[:-1])
            times = 1000 * tries * seconds["try"], 1000 * seconds["solver"]
            rows.append([name, where, *rates, f"{times[0]:.1f}", f"{times[1]:.2f}"])
    return Markdown(markdown_table(head, rows))


# Changes that keep the meaning, and formulas that people wrote


def solves(formula: str, answer: str) -> bool:
    """Whether an answer is right, and about some word."""
    return check(formula, answer) in SOLVED


class ChangePanel(Panel):
    """A formula, harmless changes of it, and what networks answer; a slider moves one change.

    The changes are functions of prefix text; "!!" also takes the place of the double negation.
    """

    def __init__(self, networks: Mapping[str, Network], changes: Mapping[str, Callable]):
        self.solvers = {_variant(n): Solver(one, 0, beams=1) for n, one in networks.items()}
        self.changes, self.text = changes, typed("G (a | X b)", "formula")
        self.place = widgets.IntSlider(0, 0, 30, **look("!! at token", "30em", "7em"))
        super().__init__([self.text, self.place])
        self.watch(self.text, self.place)

    def work(self) -> str:
        formula = "".join(formula_from_text(self.text.value).core().tokens()).replace("!!", "")
        place = min(self.place.value, len(formula) - 1)
        rows = {"as you wrote it": formula}
        for name, change in self.changes.items():
            rows[name] = change(formula, place) if name == "!!" else change(formula)
        table = [("", "<b>formula</b>", *(f"<b>{name}</b>" for name in self.solvers))]
        answers = [solver.answers(list(rows.values())) for solver in self.solvers.values()]
        for (name, text), *found in zip(rows.items(), *answers, strict=True):
            marks = (f"{'✓' if solves(text, a) else '✗'} <code>{escape(a)}</code>" for a in found)
            table.append((name, escape(to_infix(parse_prefix(text))), *marks))
        return html_table(table)


def written(runs: Runs, name: str) -> dict[str, tuple[int, int]]:
    """Formula -> the try that solved it, by the best beam and by any; 0 for none."""
    found = runs.redraw(name, "patterns")
    rows = found["patterns"]["formulas"] if found else []
    return {formula: (best, any_beam) for formula, best, any_beam in rows}


def written_table(runs: Runs, names: Sequence[str]) -> Markdown:
    """Solved formulas with 95 % intervals; one answer beside the first network's, same problems."""
    head = ("network", "one answer", "ten tries, three beams each", "one answer − first row")
    rows, first = [], None
    for name in names:
        if not (tried := written(runs, name)):
            continue
        one = np.array([best == 1 for best, _ in tried.values()])
        ten = sum(any_beam > 0 for _, any_beam in tried.values())
        beside = "–" if first is None else _points(*paired_interval(one, first))
        first = one if first is None else first
        rates = _rate(one.sum(), len(one)), _rate(ten, len(one))
        rows.append([name.removeprefix("ltl/"), *rates, beside])
    return Markdown(markdown_table(head, rows))


def written_by(runs: Runs, names: Iterable[str], group: Callable[[str], str]) -> Markdown:
    """Formulas that one answer solves, by what `group` says of them."""
    head, rows = (), []
    for name in names:
        if tried := written(runs, name):
            parts = {}
            for formula, (best, _) in tried.items():
                parts.setdefault(group(formula), []).append(best == 1)
            keys = sorted(parts)
            head = ("network", *(f"{k}: {len(parts[k])} formulas" for k in keys))
            rates = (_rate(sum(parts[k]), len(parts[k])) for k in keys)
            rows.append([name.removeprefix("ltl/"), *rates])
    return Markdown(markdown_table(head, rows))


# Exercises


def _cells(samples, correct):
    rows = zip(samples, correct, strict=True)
    return [(n, k) for ns, ks in rows for n, k in zip(ns, ks, strict=True)]


def _over_cells(samples, correct, empty=()):
    """The mean rate of the cells; `empty`: those that a cell without problems counts as."""
    cells = _cells(samples, correct)
    rates = [rate for n, k in cells for rate in ([k / n] if n else empty)]
    return sum(rates) / len(rates)


def _over_problems(samples, correct):
    return sum(map(sum, correct)) / sum(map(sum, samples))


def _grid(rng):
    wide, high = rng.randint(2, 4), rng.randint(1, 3)
    samples = [[rng.choice((0, 1, 3, 20)) for _ in range(wide)] for _ in range(high)]
    samples[0][:2] = [20, 0]
    return samples, [[rng.randint(0, n) for n in row] for row in samples]


check_means = Exercise(
    "means", lambda *grid: (_over_cells(*grid), _over_problems(*grid)), many(30, _grid)
)
check_means.mistakes = {
    lambda *grid: (_over_problems(*grid), _over_cells(*grid)): "the mean over cells comes first.",
    lambda *grid: (_over_cells(*grid, [0.0]), _over_problems(*grid)): "a cell without problems "
    "counts as one where everything is wrong: leave it out.",
    lambda *grid: (_over_cells(*grid),) * 2: "over *problems* each problem weighs the same, so "
    "that a full cell counts for more than one with a single problem.",
}


def _ceiling(samples, known):
    return sum(map(sum, samples[:known])) / sum(map(sum, samples))


def _samples(rng):
    high, wide = rng.randint(2, 5), rng.randint(2, 3)
    samples = [[rng.randint(0, 20) for _ in range(wide)] for _ in range(high)]
    samples[0][0] += 1
    return samples, rng.randint(1, high - 1)


check_ceiling = Exercise("ceiling", _ceiling, many(30, _samples))
check_ceiling.mistakes = {
    lambda samples, known: known / len(samples): "that is the share of the *rows*, not problems.",
    lambda samples, known: _ceiling(samples, known - 1): "one row is missing: the first row is for "
    "formulas with 1 AP, so the first `known` rows can be read.",
}


def _pairs(results, ahead):
    return {(a, b) for a in results for b in results if a != b and ahead(*results[a], *results[b])}


def _results(rng):
    sizes = {name: rng.choice((20, 100, 400)) for name in ("proposed", "alpha-renaming", "plain")}
    return ({name: (round(n * rng.uniform(0.4, 0.7)), n) for name, n in sizes.items()},)


check_ahead = Exercise(
    "ahead", lambda results: _pairs(results, lambda *r: newcombe(*r)[1] > 0), many(60, _results)
)
check_ahead.mistakes = {
    lambda results: _pairs(results, lambda k, n, j, m: k / n > j / m): "the higher rate wins, "
    "whatever chance can do. Ask whether the interval of the difference lies above 0.",
    lambda results: _pairs(results, lambda *r: _wilson(*r[:2])[0] > _wilson(*r[2:])[1]): (
        "intervals of single rates may overlap and the difference be real: use its own interval."
    ),
}


def _only(first, second):
    return sum(a and not b for a, b in zip(first, second, strict=True))


def _sign_test(first, second, one_sided=False):
    wins, losses = _only(first, second), _only(second, first)
    if not wins + losses:
        return 1.0
    ahead, side = max(wins, losses), "greater" if one_sided else "two-sided"
    return binomtest(ahead, wins + losses, alternative=side).pvalue


def _two_methods(rng):
    n = rng.randint(2, 9)
    return tuple([rng.random() < p for _ in range(n)] for p in (0.8, 0.3))


check_sign_test = Exercise(
    "sign_test", _sign_test, many(40, _two_methods, ([True] * 3, [False] * 3))
)
check_sign_test.mistakes = {
    lambda first, second: binomtest(_only(first, second), len(first)).pvalue: "problems that both "
    "or neither solve say nothing about who is better: leave them out.",
    lambda *both: _sign_test(*both, one_sided=True): "that is one-sided. Nobody said beforehand "
    "which of the two is better.",
}
