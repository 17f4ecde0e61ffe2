"""Exercises of notebook 11: a bias of names made, measured, and its cost."""

from itekit.alpha import alpha_covariance
from itekit.logic.perturbation import perturb, published_perturbation
from lessons.exercises import Exercise, many, random_formula

NAMES = "abc"


def _last_first(formula, label):
    return perturb(formula, label, NAMES[::-1])


def _trace(rng):
    steps = [rng.choice(("1", "a", "b", "c", "!b", "&ac", "&bc", "!c")) for _ in range(3)]
    return "".join(step + ";" for step in steps[: rng.randint(0, 2)]) + "{" + steps[2] + "}"


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
}


def _first(label):
    return next((token for token in label if token in NAMES), None)


def _first_shares(labels):
    firsts = [first for label in labels if (first := _first(label))]
    return {name: firsts.count(name) / len(firsts) for name in NAMES}


def _anywhere(labels):
    having = [label for label in labels if _first(label)]
    return {name: sum(name in label for label in having) / len(having) for name in NAMES}


def _labels(rng):
    without = ["{1}"] * rng.randint(0, 1)
    return (without + ["b;{a}"] + [_trace(rng) for _ in range(rng.randint(1, 4))],)


check_first_shares = Exercise("first_shares", _first_shares, many(40, _labels))
check_first_shares.mistakes = {
    lambda labels: {n: sum(_first(y) == n for y in labels) / len(labels) for n in NAMES}: "labels "
    "without any AP are counted in the total. Shares of the labels that have one add up to 1.",
    _anywhere: "that counts in how many labels a name occurs; asked is which comes first.",
}


def _drop(before, after):
    pairs = [(x, y) for x, y in zip(before, after, strict=True) if len(x) > 1 and len(y) > 1]
    return sum(alpha_covariance(x) - alpha_covariance(y) for x, y in pairs) / len(pairs)


def _pooled(before, after):
    x, y = (alpha_covariance([a for one in side for a in one]) for side in (before, after))
    return x - y


def _answers(rng):
    sizes = [rng.choice((3, 6)) for _ in range(rng.randint(1, 3))] + [1] * rng.randint(0, 1)
    said = ("{a}", "{b}", "b;{1}")
    return tuple([[rng.choice(said[:k]) for _ in range(n)] for n in sizes] for k in (2, 3))


check_covariance_drop = Exercise("covariance_drop", _drop, many(40, _answers))
check_covariance_drop.mistakes = {
    _pooled: "all answers are thrown into one set. Alpha-covariance is of *one* problem's forms; "
    "take the mean over problems.",
    lambda before, after: _drop(after, before): "a drop is positive if the value falls.",
    lambda before, after: _drop(before, after) * sum(len(x) > 1 for x in before) / len(before): "a "
    "problem with a single form has no alpha-covariance (0/0): leave it out.",
}
