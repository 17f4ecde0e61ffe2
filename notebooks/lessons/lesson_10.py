"""Exercises of notebook 10: means over a grid, what can be reached, who is ahead beyond chance."""

import math
from collections.abc import Callable, Iterable

from scipy.stats import binomtest

from itekit.results import MissingResultError, load_redraw
from lessons.exercises import Exercise, many


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


def _wilson(k, n):
    return binomtest(k, n).proportion_ci(method="wilson")


def _newcombe(k1, n1, k2, n2):
    (low1, _), (_, high2), p1, p2 = _wilson(k1, n1), _wilson(k2, n2), k1 / n1, k2 / n2
    return p1 - p2 - math.hypot(p1 - low1, high2 - p2) > 0


def _pairs(results, ahead):
    return {(a, b) for a in results for b in results if a != b and ahead(*results[a], *results[b])}


def _results(rng):
    sizes = {name: rng.choice((20, 100, 400)) for name in ("proposed", "alpha-renaming", "plain")}
    return ({name: (round(n * rng.uniform(0.4, 0.7)), n) for name, n in sizes.items()},)


check_ahead = Exercise("ahead", lambda results: _pairs(results, _newcombe), many(60, _results))
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


# Formulas that people wrote


def written(name: str, size: str = "lab") -> dict[str, tuple[int, int]]:
    """Formula -> the try that solved it, by the best beam and by any; 0 for none."""
    rows = load_redraw(name, size, suffix="patterns")["result"]["patterns"]["formulas"]
    return {formula: (best, any_beam) for formula, best, any_beam in rows}


def _rate(rows) -> str:
    k, n = sum(rows), len(rows)
    low, high = _wilson(k, n)
    return f"{k:3} of {n:3} {k / n:4.0%} ({low:.0%} to {high:.0%})"


def written_table(names: Iterable[str], size: str = "lab") -> None:
    """Solved formulas with 95 % intervals: one try, its three beams, and ten tries with beams."""
    print(f"{'':28}{'one answer':26}{'three beams':26}ten tries, three beams each")
    for name in names:
        try:
            tried = written(name, size).values()
        except MissingResultError:
            print(f"{name:28}not run yet")
            continue
        best, one, ten = ([t[i] in some for t in tried] for i, some in
                          ((0, (1,)), (1, (1,)), (1, range(1, 11))))  # fmt: skip
        print(f"{name:28}" + "  ".join(map(_rate, (best, one, ten))))


def written_by(names: Iterable[str], group: Callable[[str], str], size: str = "lab") -> None:
    """Formulas that one answer solves, by what `group` says of them."""
    for name in names:
        rows = {}
        for formula, (best, _) in written(name, size).items():
            rows.setdefault(group(formula), []).append(best == 1)
        print(f"{name:22}", ";  ".join(f"{key}: {_rate(rows[key])}" for key in sorted(rows)))
