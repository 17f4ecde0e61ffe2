"""Lesson 10: heatmaps, differences, and a panel of changes; and its exercises."""

from collections.abc import Callable, Iterable, Mapping
from html import escape
from statistics import mean

import ipywidgets as widgets
from scipy.stats import binomtest

from itekit.datasets.presets import preset
from itekit.decoding import Solver
from itekit.logic.formulas import parse_prefix
from itekit.network import Network
from itekit.results import shipped
from itekit.tasks.ltl import check
from itekit.tasks.verdicts import SOLVED
from lessons.exercises import Exercise, many
from lessons.infix import formula_from_text, to_infix
from lessons.panels import Panel, look, small_panel, typed
from lessons.plots import rate_heatmaps, show
from lessons.rates import Counts, Difference, newcombe, points, wilson
from lessons.runs import Runs, ahead, counts, draw_rates, variant
from lessons.tables import html_table


def heatmap_panel(result: dict) -> tuple:
    """A panel for `plots.rate_heatmaps`: the counts over the grid, and what training held."""
    grid, task = result["result"]["generalization"], result["experiment"]["task"]
    recipe = preset(task["set"], task["scale"])
    while hasattr(recipe, "source"):  # of a set that is derived from another
        recipe = recipe.source
    longest = max(stratum.high for stratum in recipe.strata)
    return variant(result["name"]), grid["samples"], grid["correct"], task["propositions"], longest


# The grid


def heatmaps(results: Mapping[str, dict | None], title: str) -> None:
    """Show the paper's figure for the results that there are."""
    found = {variant(name): one for name, one in results.items() if one}
    if not found:
        print("no results yet")
        return
    grid = next(iter(found.values()))["result"]["generalization"]
    panels = [heatmap_panel(one) for one in found.values()]
    means = {v: one["result"]["generalization"]["mean_correct_samples"] for v, one in found.items()}
    told = "; ".join(f"{name} {mean:.0%}" for name, mean in means.items())
    axes = {"lengths": grid["lengths"], "propositions": grid["propositions"]}
    alt = f"Correct answers by number of APs and length: {told} of all problems."
    show(rate_heatmaps(panels, **axes, title=title), alt=alt)


def grid_rates(results: Mapping[str, dict | None]) -> dict[str, dict[str, Counts]]:
    """For `show_rates`: right answers with more APs than in training, and with as many."""
    found = {variant(name): counts(one) for name, one in results.items() if one}
    parts = {"more APs than in training": "more", "APs of training": "known"}
    return {v: {text: rows[key] for text, key in parts.items()} for v, rows in found.items()}


# Differences


def ahead_by(first: str, second: str, seed: int) -> Difference:
    """By how much a run is ahead of another with more APs than in training."""
    return ahead(shipped(first, seed=seed), shipped(second, seed=seed), "more")


def tell_difference(first: dict | None, second: dict | None, row: str = "more") -> None:
    """Print by how much a result is ahead of another, with more APs than in training."""
    if first and second:
        print(f"{first['name']} - {second['name']}: {points(*ahead(first, second, row))}")


def tell_draws(results: Mapping[str, dict | None]) -> None:
    """Print the least, the mean and the largest rate over the grid of each result's draws."""
    for name, one in results.items():
        if one:
            rates = draw_rates(one)
            ends = f"{min(rates):.1%} to {max(rates):.1%}, mean {mean(rates):.1%}"
            print(f"{variant(name):12} {len(rates)} draws: {ends}")


# Changes that keep the meaning, and formulas that people wrote


def solves(formula: str, answer: str) -> bool:
    """Whether an answer is right, and not vacuous."""
    return check(formula, answer) in SOLVED


def change_panel(networks: Mapping[str, Network], changes: Mapping[str, Callable]) -> Panel:
    """A formula, harmless changes of it, and what networks answer; a slider moves one change.

    The changes are functions of prefix text; "!!" also takes the place of the double negation.
    """
    changes = dict(changes)  # a lesson's next cell may change its own
    solvers = {variant(name): Solver(one, 0, beams=1) for name, one in networks.items()}

    def work(text: str, place: int) -> str:
        formula = "".join(formula_from_text(text).core().tokens()).replace("!!", "")
        place, rows = min(place, len(formula) - 1), {"as you wrote it": formula}
        for name, change in changes.items():
            rows[name] = change(formula, place) if name == "!!" else change(formula)
        table = [("", "<b>formula</b>", *(f"<b>{name}</b>" for name in solvers))]
        answers = [solver.answers(list(rows.values()), skip=True) for solver in solvers.values()]
        for (name, text), *found in zip(rows.items(), *answers, strict=True):
            marks = (
                f"{'✓' if solves(text, a) else '✗'} <code>{escape(a) or '(no answer)'}</code>"
                for a in found
            )
            table.append((name, escape(to_infix(parse_prefix(text))), *marks))
        return html_table(table)

    place = widgets.IntSlider(0, 0, 30, **look("!! at token", "30em", "7em"))
    return small_panel(work, typed("G (a | X b)", "formula"), place)


def written_rates(runs: Runs, names: Iterable[str]) -> dict[str, dict[str, Counts]]:
    """For `show_rates`: formulas that people wrote, solved by one answer and by ten tries."""
    found = {name: runs.redraw(name, "patterns") for name in names}
    tries = {n: one["patterns"]["formulas"] for n, one in found.items() if one}
    return {
        name.removeprefix("ltl/"): {
            "one answer": (sum(best == 1 for _, best, _ in rows), len(rows)),
            "ten tries, three beams each": (sum(beam > 0 for *_, beam in rows), len(rows)),
        }
        for name, rows in tries.items()
    }


# Exercises


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
    lambda results: _pairs(results, lambda *r: wilson(*r[:2])[0] > wilson(*r[2:])[1]): (
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
