"""Exercises of notebook 12: renamings undone, alpha-covariance, what it counts."""

from itertools import permutations

from itekit.alpha import Renaming, alpha_covariance
from lessons.exercises import Exercise, many, one_by_one, replaced

NAMES = "abcd"


def _undo(answer, renaming):
    return Renaming(renaming).inverse()(answer)


def _answer_and_renaming(rng):
    answer = "".join(f"{n}{rng.randint(0, 1)}" for n in rng.sample(NAMES, 2))
    return answer, dict(zip(NAMES, rng.sample(NAMES, 4), strict=True))


check_undo = Exercise("undo", _undo, many(40, _answer_and_renaming, ("a1b0", {"a": "b", "b": "a"})))
check_undo.mistakes = {
    replaced: "that renames once more. Undoing needs the arrows turned round.",
    lambda answer, r: one_by_one([(new, old) for old, new in r.items()], answer)[0]: "names are "
    "replaced one after the other, so that one that has just been restored is changed again.",
}

# the solvers of the cases


def first_in_the_formula(formula):
    return next(token for token in formula if token in NAMES) + "1"


def first_in_the_alphabet(formula):
    return min(token for token in formula if token in NAMES) + "1"


def two_in_the_alphabet(formula):
    return "1".join(sorted(token for token in formula if token in NAMES)[:2]) + "1"


SOLVERS = first_in_the_formula, first_in_the_alphabet, two_in_the_alphabet


def _answers(solver, formula, renamings, undo=_undo):
    return [undo(solver(replaced(formula, r)), r) for r in renamings]


def _solver_and_renamings(rng):
    formula = "||" + "".join(rng.sample(NAMES, 3))
    orders = rng.sample(list(permutations(NAMES)), rng.randint(2, 5))
    return rng.choice(SOLVERS), formula, [dict(zip(NAMES, o, strict=True)) for o in orders]


check_covariance_of = Exercise(
    "covariance_of", lambda *a: alpha_covariance(_answers(*a)), many(40, _solver_and_renamings)
)
check_covariance_of.mistakes = {
    lambda *a: alpha_covariance(_answers(*a, undo=lambda answer, r: answer)): "the renamings are "
    "not undone before the answers are compared: a1 and b1 may be one answer.",
    lambda *a: alpha_covariance(_answers(*a, undo=replaced)): "the answer is renamed a second "
    "time: undoing takes the inverse.",
    lambda *a: 1 - len(set(_answers(*a))) / len(a[2]): "the equation has |U| - 1 over |P| - 1, so "
    "that one answer to all forms gives 1.",
    lambda solver, formula, renamings: alpha_covariance(
        [_undo(solver(formula), r) for r in renamings]
    ): "the solver is asked about the formula as it is: rename the formula first.",
}


def _values(forms):
    return [round(1 - u / (forms - 1), 12) for u in range(forms)][::-1]


check_possible_values = Exercise(
    "possible_values", _values, many(8, lambda rng: (rng.randint(3, 12),), (2,), (6,))
)
check_possible_values.mistakes = {
    lambda n: [i / n for i in range(n + 1)]: "|U| is 1 to n: the equation divides by n - 1.",
    lambda n: _values(n)[::-1]: "the smallest value comes first.",
}


def _literals(text):
    return frozenset(zip(text[::2], text[1::2], strict=True))


def _assignments(rng):
    names = [rng.sample("ab", rng.randint(1, 2)) for _ in range(rng.randint(2, 6))]
    return (["".join(n + rng.choice("01") for n in some) for some in names],)


check_covariance_of_meaning = Exercise(
    "covariance_of_meaning",
    lambda answers: alpha_covariance([sorted(_literals(answer)) for answer in answers]),
    many(40, _assignments, (["a1b0", "b0a1"],)),
)
check_covariance_of_meaning.mistakes = {
    alpha_covariance: "a1b0 and b0a1 are two texts and one assignment: compare them as sets.",
    lambda answers: alpha_covariance(["".join(sorted(a)) for a in answers]): "sorting the "
    "characters takes names and values apart: a1b0 and a0b1 become the same.",
}
