"""Exercises of notebook 11: a bias of names made, measured, and its cost."""

from collections import Counter

from itekit.alpha import alpha_covariance, used_tokens
from itekit.logic.perturbation import perturb, published_perturbation
from lessons.exercises import Exercise, many, one_by_one, random_formula

NAMES = "abc"


def _last_first(formula, label):
    return perturb(formula, label, NAMES[::-1])


def _trace(rng):
    steps = [rng.choice(("1", "a", "b", "c", "!b", "&ac", "&bc", "!c")) for _ in range(3)]
    return "".join(step + ";" for step in steps[: rng.randint(0, 2)]) + "{" + steps[2] + "}"


def _one_by_one(formula, label):
    order = used_tokens(label + formula, NAMES)
    return one_by_one(zip(order, NAMES[::-1], strict=False), formula, label)


check_perturb_backwards = Exercise(
    "perturb_backwards",
    _last_first,
    many(60, lambda rng: (random_formula(rng, rng.randint(1, 8)), _trace(rng))),
)
check_perturb_backwards.mistakes = {
    lambda f, y: published_perturbation(f, y, NAMES[::-1]): "only the label's APs are renamed, and "
    "one that the formula alone has may merge with them: give it a name that is left.",
    lambda f, y: (f, _last_first(f, y)[1]): "the formula has to get the new names too.",
    lambda f, y: _last_first(y, f)[::-1]: "the order is that of the formula. It has to be that of "
    "the label; what only the formula has comes after.",
    lambda f, y: perturb(f, y, NAMES): "the label's first AP is to be called c, the next b.",
    _one_by_one: "names are replaced one after the other, so that a new name is renamed again.",
}


def _first(label):
    return next((token for token in label if token in NAMES), None)


def _first_shares(labels):
    firsts = [first for label in labels if (first := _first(label))]
    return {name: firsts.count(name) / len(firsts) for name in NAMES}


def _anywhere(labels):
    having = [label for label in labels if _first(label)]
    return {name: sum(name in label for label in having) / len(having) for name in NAMES}


def _every_ap(labels):
    counts = Counter(token for label in labels for token in label if token in NAMES)
    return {name: counts[name] / counts.total() for name in NAMES}


def _labels(rng):
    without = ["{1}"] * rng.randint(0, 1)
    return (without + ["b;{a}"] + [_trace(rng) for _ in range(rng.randint(1, 4))],)


check_first_shares = Exercise("first_shares", _first_shares, many(40, _labels))
check_first_shares.mistakes = {
    lambda labels: {n: sum(_first(y) == n for y in labels) / len(labels) for n in NAMES}: "labels "
    "without any AP are counted in the total. Shares of the labels that have one add up to 1.",
    _anywhere: "that counts in how many labels a name occurs; asked is which comes first.",
    _every_ap: "that counts every occurrence; asked is which name comes first in a label.",
}


def _drop(before, after):
    pairs = [(x, y) for x, y in zip(before, after, strict=True) if len(x) > 1 and len(y) > 1]
    return sum(alpha_covariance(x) - alpha_covariance(y) for x, y in pairs) / len(pairs)


def _pooled(before, after):
    x, y = (alpha_covariance([a for one in side for a in one]) for side in (before, after))
    return x - y


def _summed(before, after, value):
    x, y = (sum(map(value, side)) for side in (before, after))
    return (x - y) / len(before)


def _answers(rng):
    sizes = [rng.choice((3, 6)) for _ in range(rng.randint(1, 3))] + [1] * rng.randint(0, 1)
    said = ("{a}", "{b}", "b;{1}")
    return tuple([[rng.choice(said[:k]) for _ in range(n)] for n in sizes] for k in (2, 3))


check_covariance_drop = Exercise("covariance_drop", _drop, many(40, _answers))
check_covariance_drop.mistakes = {
    _pooled: "all answers are thrown into one set. Alpha-covariance is of *one* problem's forms; "
    "take the mean over problems.",
    lambda *a: _summed(*a, lambda x: 1 - len(set(x)) / len(x)): "the equation has |U| - 1 over "
    "|P| - 1: one answer to all forms is 1, a new one to each is 0.",
    lambda before, after: _drop(after, before): "a drop is positive if the value falls.",
    lambda *a: _summed(*a, lambda x: alpha_covariance(x) if len(x) > 1 else 0): "a problem with a "
    "single form has no alpha-covariance (0/0): leave it out.",
}
