"""Exercises of notebook 06: ranks, rankings, pairs of settings, large enough sampling sets."""

import math
import statistics

import numpy as np
from scipy.stats import pearsonr, rankdata, spearmanr

from itekit.random_vectors import METHODS, sampling_set_size
from itekit.search import ROWS
from lessons.exercises import Exercise, many
from lessons.search_tables import KEYS, pairs


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
    "on in them plays a part. Compare pairs that differ in the feature alone.",
    lambda *a: -_paired_change(*a): "on minus off: the change by a feature that helps is negative.",
}


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
