"""Exercises of notebook 09: partial assignments, prime implicants, the published perturbation."""

from itertools import product

from itekit.logic import truth_tables
from itekit.logic.perturbation import collides
from lessons.exercises import Exercise, many, random_formula

NAMES = "abc"


def _names(formula):
    return sorted(set(formula) & set(NAMES))


def _free(formula, given):
    return [name for name in _names(formula) if name not in given]


def _is_right(formula, given):
    return truth_tables.implied_by(formula, _free(formula, given), given)


def _formula(rng, largest=9):
    return random_formula(rng, rng.randint(1, largest), "!", "&&||=^", NAMES)


def _formula_and_values(rng):
    formula = _formula(rng)
    return formula, {name: rng.randint(0, 1) for name in _names(formula) if rng.random() < 0.5}


check_is_right = Exercise(
    "is_right",
    _is_right,
    many(100, _formula_and_values, ("|a!a", {}), ("|&a!b&bc", {"a": 1, "c": 1})),
)
check_is_right.mistakes = {
    lambda formula, given: _is_right(formula, dict.fromkeys(NAMES, 0) | given): "a name without a "
    "value is taken for false. It is free: the formula has to be true for both of its values.",
    lambda formula, given: truth_tables.table(formula, _free(formula, given), given) != 0: "one "
    "completion that makes it true is not enough: all of them have to.",
}
check_is_right.signs = {
    lambda answer, expected, *_: expected: "three values forget that all occurrences of a name "
    "have the same value (part 3): go through the completions.",
}


def _implicants(formula):
    """All right partial assignments, as frozensets of literals such as "a1"."""
    found = set()
    for values in product((None, 0, 1), repeat=len(_names(formula))):
        pairs = zip(_names(formula), values, strict=True)
        given = {name: value for name, value in pairs if value is not None}
        if _is_right(formula, given):
            found.add(frozenset(f"{name}{value}" for name, value in given.items()))
    return found


def _texts(assignments):
    return {"".join(sorted(one)) for one in assignments}


def _primes(formula):
    right = _implicants(formula)
    return _texts(one for one in right if not any(one - {literal} in right for literal in one))


def _shortest(formula):
    right = _implicants(formula)
    return _texts(one for one in right if len(one) == min(map(len, right)))


def _label(formula):
    """One prime implicant as text; "" if there is none, or if the formula is always true."""
    found = truth_tables.prime_implicant(formula, _names(formula)) or {}
    return "".join(f"{name}{int(value)}" for name, value in found.items())


check_prime_implicants = Exercise(
    "prime_implicants", _primes, many(25, lambda rng: (_formula(rng),), ("|&a!b&bc",), ("|a&bc",))
)
check_prime_implicants.mistakes = {
    lambda formula: _texts(_implicants(formula)): "all right assignments are listed. Minimal are "
    "those of which no literal can be left out.",
    _shortest: "a minimal assignment need not be a shortest one: in a ∨ (b ∧ c) both a1 and b1c1 "
    "are minimal.",
    lambda formula: {_label(formula)} if _primes(formula) else set(): "that is one of them. Which "
    "literals can be dropped hangs on where you start: try all partial assignments.",
}


def _formula_and_label(rng):
    formula = _formula(rng, 7)
    label = _label(formula)
    return (formula, label) if label else None


check_merges = Exercise(
    "merges",
    lambda formula, label: collides(formula, label, NAMES),
    many(80, _formula_and_label, ("&a|bc", "a1c1")),
)
check_merges.mistakes = {
    lambda formula, label: not set(_names(formula)) <= set(label): "a name that the "
    "label lacks is not enough: it merges only if another one is given its name.",
    lambda formula, label: False: "names do merge: one that only the formula has stays, also if a "
    "name of the label has just been given its name.",
}
