"""Exercises of notebook 06: ranks, rankings, pairs of settings, large enough sampling sets."""

import statistics
from itertools import groupby

import numpy as np
from scipy.stats import pearsonr, rankdata, spearmanr

from lessons.exercises import Exercise
from itekit.random_vectors import METHODS, sampling_set_size
from itekit.search.analysis import KEYS, pairs
from itekit.search.settings import ROWS


def _cases_ranks(rng):
    for _ in range(30):
        n = rng.randint(3, 6)
        x, y = ([round(rng.expovariate(0.2), 1) for _ in range(n)] for _ in range(2))
        if rng.random() < 0.5:
            y[0] = y[1]  # a tie
        if len(set(y)) > 1 < len(set(x)):
            yield x, y


def _shortcut(x, y):
    n = len(x)
    return 1 - 6 * ((rankdata(x) - rankdata(y)) ** 2).sum() / (n * (n * n - 1))


def _order(values):
    return np.argsort(np.array(values))


check_rank_correlation = Exercise(
    "rank_correlation",
    lambda x, y: spearmanr(x, y).statistic,
    _cases_ranks,
    {
        lambda x, y: pearsonr(x, y)[0]: "that is the correlation of the values. Replace each "
        "value by its rank first.",
        lambda x, y: pearsonr(_order(x), _order(y))[0]: "argsort says which value comes "
        "first, second, ...; a rank says at which place a value stands: the inverse of it.",
        lambda x, y: pearsonr(_order(_order(x)), _order(_order(y)))[0]: "equal values have to "
        "share one rank, the mean of their places; here the order of the list decides.",
        lambda x, y: pearsonr(rankdata(x, "min"), rankdata(y, "min"))[0]: "equal values share "
        "the smallest of their places; they have to share the mean of them.",
        lambda x, y: pearsonr(rankdata(x, "dense"), rankdata(y, "dense"))[0]: "after equal values "
        "the count goes on from their places: 1, 2.5, 2.5, 4.",
        lambda x, y: pearsonr(sorted(x), sorted(y))[0]: "each list is sorted by itself, so that "
        "what belongs together is taken apart.",
        _shortcut: "the formula with squared differences holds only where no values are equal. "
        "Take part 4's coefficient of the ranks.",
    },
)


def _by_setting(records, score):
    key = lambda r: (r["method"], r["d_beta"])  # noqa: E731
    groups = groupby(sorted(records, key=key), key)
    return {name: score([r["edit_distance"] for r in group]) for name, group in groups}


def _ranking(records, score=statistics.mean, worst_first=False):
    scores = _by_setting(records, score)
    return sorted(scores, key=scores.get, reverse=worst_first)


def _cases_ranking(rng):
    runs = [(4, 1.0), (4, 2.0), (4, 9.0), (8, 3.0)]  # the mean and the median disagree
    yield ([{"method": "normal", "d_beta": d, "edit_distance": y} for d, y in runs],)
    for _ in range(30):
        settings = rng.sample([(m, d) for m in METHODS for d in (4, 8, 16)], rng.randint(2, 3))
        records = [
            {"method": m, "d_beta": d, "edit_distance": round(rng.uniform(0, 20), 2)}
            for m, d in settings for _ in range(rng.randint(1, 3))
        ]  # fmt: skip
        if len(set(_by_setting(records, statistics.mean).values())) == len(settings):  # no ties
            yield (records,)


check_ranking = Exercise(
    "ranking",
    _ranking,
    _cases_ranking,
    {
        lambda records: _ranking(records, min): "settings are ranked by their best seed, and "
        "the one with the most seeds has the most luck (part 3). Rank by the mean.",
        lambda records: _ranking(records, worst_first=True): "the largest distance comes first: "
        "an edit distance is a number of errors.",
        lambda records: _ranking(records, statistics.median): "that is the median over the seeds. "
        "Rank by the mean.",
        lambda records: _ranking(records, sum): "the distances of a setting's seeds are added "
        "up, which punishes having many seeds.",
    },
)


def _paired_change(records, feature):
    changes = [on["edit_distance"] - off["edit_distance"] for off, on in pairs(records, feature)]
    return statistics.mean(changes)


def _change_of_means(records, feature):
    means = [
        statistics.mean(r["edit_distance"] for r in records if r[feature] == on) for on in (1, 0)
    ]
    return means[0] - means[1]


def _cases_pairs(rng):
    every = [dict(zip(KEYS, ("normal", 8, *on), strict=True)) for on in ROWS]
    for _ in range(60):
        settings = rng.sample(every, rng.randint(3, 5))
        records = [s | {"edit_distance": round(rng.uniform(0, 20), 1)} for s in settings]
        feature = rng.choice(("f_bn", "adacos"))
        if pairs(records, feature):
            yield records, feature


check_paired_change = Exercise(
    "paired_change",
    _paired_change,
    _cases_pairs,
    {
        _change_of_means: "that is the difference of two means over different settings: what "
        "else is on in them plays a part. Compare pairs that differ in the feature alone.",
        lambda *a: -_paired_change(*a): "the sign is turned round: on minus off, so that a "
        "feature that helps is negative.",
        lambda records, feature: _paired_change(records, feature) * len(pairs(records, feature)): (
            "the changes are added up: their mean is asked for."
        ),
        lambda records, feature: 0.0: "every pair is counted twice, on minus off and off minus on.",
    },
)


def _usable(settings, characters):
    sizes = [sampling_set_size(*setting) for setting in settings]
    return [s for s, n in zip(settings, sizes, strict=True) if n is None or n >= characters]


def _cases_usable(rng):
    yield [("neighboring_points", 3), ("normal", 2), ("hypercube_vertices", 5)], 27
    for _ in range(30):
        settings = [(m, d) for m in METHODS for d in rng.sample(range(2, 9), 2)]
        edges = [n + k for s in settings if (n := sampling_set_size(*s)) for k in (0, 1)]
        yield rng.sample(settings, 3), rng.choice(edges)


check_usable = Exercise(
    "usable",
    _usable,
    _cases_usable,
    {
        lambda settings, m: [
            s for s in settings if (n := sampling_set_size(*s)) and n >= m
        ]: "normally distributed vectors come from a continuous set, which is never too small.",
        lambda settings, m: [
            (name, d)
            for name, d in settings
            if name == "normal" or {"n": 3, "h": 2}[name[0]] ** d >= m
        ]: "the zero vector is counted: d dimensions hold 3^d - 1 neighboring points.",
        lambda settings, m: [
            s for s in settings if (n := sampling_set_size(*s)) is None or n > m
        ]: "a set that holds exactly as many vectors as there are characters is large enough.",
        lambda settings, m: [s for s in settings if s[1] >= m]: "a vector for each character is "
        "needed, not a dimension for each.",
    },
)
