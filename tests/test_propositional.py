"""Propositional logic: py-aiger, and truth tables against each other."""

import random
from functools import cache
from itertools import product

import logical
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from itekit.alpha import Renaming
from itekit.logic import aiger_bridge
from itekit.logic import truth_tables as tables
from itekit.logic.formulas import PROPOSITIONAL, FormulaError, fold, parse_prefix, to_prefix
from itekit.logic.truth_tables import Assignment, parse_assignment
from itekit.tasks.propositional import (
    CONTINGENT,
    METHODS,
    TAUTOLOGY,
    UNSATISFIABLE,
    check,
    classify,
    solve,
)
from itekit.tasks.verdicts import CORRECT, EXACT, INCORRECT, INVALID
from itekit.vocabulary import proposition_names
from lessons import semantics
from lessons.semantics import truth_table

CONNECTIVES = {
    "!": lambda a: not a,
    "&": lambda a, b: a and b,
    "|": lambda a, b: a or b,
    "=": lambda a, b: a == b,
    "^": lambda a, b: a != b,
}


def formulas(letters: str, leaves: int = 25):
    """Texts of formulas in prefix notation."""
    return logical.formulas(PROPOSITIONAL, tuple(letters), leaves).map(to_prefix)


@cache
def every_formula(size: int, letters: str = "ab") -> list[str]:
    """All formulas of exactly so many tokens."""
    if size == 1:
        return list("10" + letters)
    unary = ["!" + operand for operand in every_formula(size - 1, letters)]
    return unary + [
        operator + left + right
        for operator in "&|=^"
        for first in range(1, size - 1)
        for left in every_formula(first, letters)
        for right in every_formula(size - 1 - first, letters)
    ]


def names_of(text: str) -> tuple[str, ...]:
    return parse_prefix(text, PROPOSITIONAL).propositions


def value(text: str, values: dict[str, bool]) -> bool:
    """The formula's value, by the meaning of its connectives: the reference of these tests."""
    return fold(text, lambda t, *f: CONNECTIVES[t](*f) if f else values.get(t, t == "1"))


def assignments(names, fixed=None):
    """Every assignment that agrees with the fixed values, in counting order, False first."""
    fixed = fixed or {}
    choices = [[fixed[name]] if name in fixed else [False, True] for name in names]
    return [dict(zip(names, values, strict=True)) for values in product(*choices)]


def implies(text: str, fixed: dict[str, bool]) -> bool:
    return all(value(text, values) for values in assignments(names_of(text), fixed))


def first_prime_implicant(text: str) -> dict[str, bool] | None:
    """What the docstrings promise, word for word."""
    values = next((v for v in assignments(names_of(text)) if value(text, v)), None)
    for name in reversed(list(values or ())):
        others = {other: v for other, v in values.items() if other != name}
        values = others if implies(text, others) else values
    return values


def partial_assignments(names):
    choices = product((None, False, True), repeat=len(names))
    pairs = (zip(names, values, strict=True) for values in choices)
    return [{name: v for name, v in row if v is not None} for row in pairs]


# Formulas in py-aiger


@given(formulas("abc"))
def test_py_aiger_gives_a_formula_its_truth_table(text):
    expression = aiger_bridge.to_aiger(parse_prefix(text, PROPOSITIONAL))
    names = names_of(text)
    table = tables.table(text, names)
    assert table == truth_table(parse_prefix(text, PROPOSITIONAL), names)
    assert expression.inputs == set(names)
    for place, values in enumerate(assignments(names[::-1])):  # the first name changes fastest
        assert expression(values) == value(text, values) == bool(table >> place & 1)


# The exact methods against the definition, the authority, and each other


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_every_small_formula(size):
    for text in every_formula(size):
        names = names_of(text)
        expected = first_prime_implicant(text)
        assert tables.prime_implicant(text, names) == expected
        for values in partial_assignments(names):
            free = [name for name in names if name not in values]
            implied = implies(text, values)
            assert tables.implied_by(text, free, values) == implied
            assignment = Assignment(tuple(values.items()))
            assert semantics.implied_by(parse_prefix(text, PROPOSITIONAL), assignment) == implied


@given(formulas("abcdef", 40))
def test_tables_and_the_solver_find_the_same_prime_implicant(text):
    names = names_of(text)
    implicant = tables.prime_implicant(text, names)
    assert implicant == first_prime_implicant(text)
    assert implicant == aiger_bridge.prime_implicant(parse_prefix(text, PROPOSITIONAL))


# Labels


@given(formulas("abcde"))
def test_labels_of_both_methods_are_right(text):
    kind = classify(text)
    expected = first_prime_implicant(text)
    assert kind == (UNSATISFIABLE if expected is None else CONTINGENT if expected else TAUTOLOGY)
    for method in METHODS:
        label = solve(text, method)
        if kind == CONTINGENT:
            parsed = parse_assignment(label, propositions=names_of(text))
            places = [text.index(name) for name, _ in parsed.values]
            assert places == sorted(places), "not in the order of the formula"
            assert implies(text, parsed.as_dict())
            assert check(text, label) == check(text, label, method="aiger") == CORRECT
        elif method == "fast" or kind == UNSATISFIABLE:
            assert label is None


def test_labels_by_hand():
    assert solve("|ab") == "b1"  # first model a0b1; a is not needed
    assert solve("=ab") == "a0b0"
    assert solve("&b!a") == "b1a0"  # in the order of the formula
    assert solve("^ba") == "b0a1"  # b appears first and stays False
    assert solve("|&ab&cd") == "c1d1"
    assert [solve(text) for text in ("|a!a", "&a!a")] == [None] * 2


@given(formulas("abcd"), st.permutations("abcd"))
@example("|ab", list("bacd"))
@example("^&ab|ca", list("cbad"))
def test_the_label_of_a_renamed_formula_is_the_renamed_label(text, images):
    renaming = Renaming(dict(zip("abcd", images, strict=True)))
    label, renamed = solve(text), solve(renaming(text))
    assert (label is None) == (renamed is None)
    if label is not None:
        assert renamed == renaming(label)


# Verdicts


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("formula", "answer", "label", "verdict"),
    [
        ("&a!b", "b0a1", "a1b0", EXACT),
        ("|ab", "b1", "a1", CORRECT),
        ("xorab", "a1b0", None, CORRECT),
        ("|a!a", "", None, CORRECT),
        ("|ab", "", None, INCORRECT),
        ("|ab", "a0b0", "a1", INCORRECT),
        ("^ab", "a1", "a1b0", INCORRECT),  # b may still be true
        ("|ab", "a1b", "a1", INVALID),
        ("|ab", "a1 ", "a1", INVALID),
        ("|ab", "a1c1", "a1", INVALID),  # c is not in the formula
        ("|ab", "a1a1", "a1", INVALID),
        ("1", "a1", None, INVALID),
    ],
)
def test_verdicts(formula, answer, label, verdict, method):
    assert check(formula, answer, label, method) == verdict


answers = st.one_of(
    st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from("01")), max_size=4, unique=True)
    .map(lambda pairs: "".join(map("".join, pairs))),
    st.text("abX&012 ", max_size=5),
)  # fmt: skip


@given(formulas("abcd", 12), answers, st.none() | answers)
def test_both_methods_judge_alike(formula, answer, label):
    def verdict(method):
        try:
            return check(formula, answer, label, method)
        except FormulaError as error:
            return str(error)

    assert verdict("fast") == verdict("aiger")


# Many propositions


def test_labels_with_many_propositions_are_prime():
    rng, names = random.Random(1), proposition_names(60)
    tokens = [*rng.choices("&|=^", k=39), *rng.choices(names, k=40)]
    label = parse_assignment(solve(tokens))
    names_used = [name for name, _ in label.values]
    assert names_used == sorted(names_used, key=tokens.index)
    assert check(tokens, label.tokens(), None, "aiger") == CORRECT
    for place in range(len(label.values)):
        fewer = Assignment(label.values[:place] + label.values[place + 1 :])
        assert check(tokens, fewer.tokens()) == INCORRECT


# Errors


def test_errors_say_what_was_expected():
    assert solve("!" * 200 + "a") == solve("!" * 200 + "a", "aiger") == "a1"
    for text in ("&aXb", "", "ab", "!" * 201 + "a"):
        for method in METHODS:
            for question in (solve, lambda text, method: check(text, "", None, method)):
                with pytest.raises(FormulaError, match="position"):
                    question(text, method)
    with pytest.raises(FormulaError):
        check("|ab", "a1", "a")
    with pytest.raises(ValueError, match="unknown method 'slow': expected one of fast, aiger"):
        solve("a", "slow")
