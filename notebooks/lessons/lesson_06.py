"""Lesson 06: correlations and pairs of a search, the band of chance; and its exercises."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from IPython.display import Markdown
from scipy.stats import pearsonr, rankdata, spearmanr, wilcoxon

from itekit.random_vectors import METHODS, sampling_set_size
from lessons.copying_search import FEATURES, ROWS
from lessons.exercises import Exercise, many
from lessons.figures import correlation_bars, slider
from lessons.paper import markdown_table, paper_value
from lessons.plots import COLOURS, GREY, show, style
from lessons.search_tables import FACTORS, KEYS, Record, correlations, pairs

ALT = "Six panels of mean edit distance against d_beta. It jumps between 0.4 and 22.9."


def printed() -> dict[str, float]:
    """The coefficients that the paper prints, of all its models."""
    return {f: paper_value(f"copying-5-10/search/correlation/{f}") for f in FACTORS}


def show_correlations(records: Sequence[Record], title: str, of: str = "edit_distance") -> None:
    """Bars of the coefficients of all factors, the printed ones as diamonds."""
    found, title = correlations(records, of), f"Correlation with the edit distance, {title}"
    alt = ", ".join(f"{f} {r:+.2f}, p {p:.2g}" for f, (r, p) in found.items())
    theirs = {factor: r for factor, r in printed().items() if factor in found}
    show(correlation_bars(found, paper=theirs, title=title), alt=f"{title}: {alt}.")


def pairs_table(records: Sequence[Record], of: str = "edit_distance") -> Markdown:
    """What turning a switch on changes, over pairs of settings that differ in it alone."""
    rows = []
    for feature in FEATURES:
        changes = [on[of] - off[of] for off, on in pairs(records, feature)]
        p = wilcoxon(changes).pvalue if any(changes) else 1.0
        better = f"{sum(change < 0 for change in changes)} of {len(changes)}"
        chance = f"{p:.2g}" if p >= 0.001 else "< 0.001"
        rows.append([feature, f"{np.mean(changes):+.2f}", better, chance])
    return Markdown(markdown_table(("switched on", "mean change", "better in", "p"), rows))


def chance_figure(
    coefficients: Mapping[str, float], runs: Sequence[int], band: Callable[[int], float]
) -> go.Figure:
    """Coefficients before the band in which chance leaves 95 % of them; a slider of the runs."""
    values, steps = np.array(list(coefficients.values())), []
    for n in runs:
        reach = float(band(n))
        shown = {"marker.color": [[COLOURS[0] if abs(r) > reach else GREY for r in values]]}
        shape = {"shapes[0].x0": -reach, "shapes[0].x1": reach}
        steps.append({"method": "update", "label": str(n), "args": [shown, shape, [0]]})
    figure = go.Figure()
    colours = steps[0]["args"][0]["marker.color"][0]
    marker = {"size": 15, "symbol": "diamond", "color": colours}
    figure.add_scatter(x=values, y=list(coefficients), mode="markers", marker=marker)
    ends = {"x0": -float(band(runs[0])), "x1": float(band(runs[0]))}
    figure.add_vrect(**ends, fillcolor=GREY, opacity=0.25, line_width=0, layer="below")
    figure.update_xaxes(title_text="correlation coefficient r", range=[-0.85, 0.85])
    figure.update_yaxes(autorange="reversed")
    size = {"width": 760, "height": 480, "margin": {"r": 40, "b": 140}}
    return style(figure, **size, sliders=[slider(steps, "runs: ", 50)])


def _size(method, d):
    return sampling_set_size(method, d) or math.inf


def _sets(rng):
    settings = [(m, d) for m in METHODS for d in rng.sample(range(2, 9), 2)]
    edges = [n + k for s in settings if (n := sampling_set_size(*s)) for k in (0, 1)]
    return rng.sample(settings, 3), rng.choice(edges)


LACKS_ZERO = [("neighboring_points", 3), ("normal", 2), ("hypercube_vertices", 5)], 27


check_usable = Exercise(
    "usable",
    lambda settings, m: [s for s in settings if _size(*s) >= m],
    many(30, _sets, LACKS_ZERO),
)
check_usable.mistakes = {
    lambda settings, m: [s for s in settings if (sampling_set_size(*s) or 0) >= m]: "normally "
    "distributed vectors come from a continuous set, which is never too small.",
    lambda settings, m: [s for s in settings if _size(*s) + (s[0][:3] == "nei") >= m]: "the zero "
    "vector is counted: d dimensions hold 3^d - 1 neighboring points.",
    lambda settings, m: [s for s in settings if _size(*s) > m]: "a set with exactly as many "
    "vectors as there are characters is large enough.",
}


def _by_setting(records, score):
    found = {}
    for r in records:
        found.setdefault((r["method"], r["d_beta"]), []).append(r["edit_distance"])
    return {setting: score(distances) for setting, distances in found.items()}


def _ranking(records, score=statistics.mean):
    scores = _by_setting(records, score)
    return sorted(scores, key=scores.get)


def _records(rng):
    settings = rng.sample([(m, d) for m in METHODS for d in (4, 8, 16)], rng.randint(2, 3))
    every = [setting for setting in settings for _ in range(rng.randint(1, 3))]
    records = [
        {"method": method, "d_beta": d_beta, "edit_distance": round(rng.uniform(0, 20), 2)}
        for method, d_beta in every
    ]
    ties = len(set(_by_setting(records, statistics.mean).values())) < len(settings)
    return None if ties else (records,)


check_ranking = Exercise("ranking", _ranking, many(60, _records))
check_ranking.mistakes = {
    lambda records: _ranking(records, min): "settings are ranked by their best seed, and the one "
    "with the most seeds has the most luck (part 3). Rank by the mean.",
    lambda records: _ranking(records)[::-1]: "the smallest number of errors has to come first.",
}


def _paired_change(records, feature):
    changes = [on["edit_distance"] - off["edit_distance"] for off, on in pairs(records, feature)]
    return statistics.mean(changes)


def _change_of_means(records, feature):
    sides = [[r["edit_distance"] for r in records if r[feature] == on] for on in (1, 0)]
    return statistics.mean(sides[0]) - statistics.mean(sides[1])


def _settings(rng):
    every = [dict(zip(KEYS, ("normal", 8, *on), strict=True)) for on in ROWS]
    settings = rng.sample(every, rng.randint(3, 5))
    records = [s | {"edit_distance": round(rng.uniform(0, 20), 1)} for s in settings]
    feature = rng.choice(("f_bn", "adacos"))
    return (records, feature) if pairs(records, feature) else None


check_paired_change = Exercise("paired_change", _paired_change, many(60, _settings))
check_paired_change.mistakes = {
    _change_of_means: "that is the difference of two means over different settings: what else is "
    "on in them plays a part. Compare pairs that differ in the switch alone.",
    lambda *a: -_paired_change(*a): "on minus off: the change by a switch that helps is negative.",
    lambda records, feature: statistics.mean(
        on["edit_distance"] / off["edit_distance"] for off, on in pairs(records, feature)
    ): "that is a ratio. How many edits are there more, or fewer? Take a difference.",
}


def _two_lists(rng):
    n = rng.randint(3, 6)
    x, y = ([round(rng.expovariate(0.2), 1) for _ in range(n)] for _ in range(2))
    if rng.random() < 0.5:
        y[0] = y[1]  # a tie
    return (x, y) if len(set(y)) > 1 < len(set(x)) else None


check_rank_correlation = Exercise(
    "rank_correlation", lambda x, y: spearmanr(x, y).statistic, many(30, _two_lists)
)
check_rank_correlation.mistakes = {
    lambda x, y: pearsonr(x, y)[0]: "that is the correlation of the values, not of their ranks.",
    lambda *xy: pearsonr(*map(np.argsort, xy))[0]: "argsort says which value comes first, second, "
    "...; a rank says at which place a value stands: the inverse of it.",
    lambda *xy: pearsonr(*(np.argsort(np.argsort(one)) for one in xy))[0]: "equal values have to "
    "share one rank, the mean of their places; here the order of the list decides.",
    lambda x, y: 1 - 6 * ((rankdata(x) - rankdata(y)) ** 2).sum() / (len(x) ** 3 - len(x)): "the "
    "formula with squared differences holds only where no values are equal (see part 4).",
}
