"""Partial assignments: text, equality whatever the order, renaming, errors."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from logical import LONG_NAMES, assignments

from itekit.alpha import Renaming, alpha_covariance
from itekit.logic.assignments import Assignment, parse_assignment
from itekit.logic.prefix import FormulaError


def test_the_papers_assignment():
    assignment = parse_assignment("a1b0")
    assert assignment.values == (("a", True), ("b", False))
    assert assignment["a"] and not assignment["b"] and "c" not in assignment
    assert list(assignment) == ["a", "b"] and len(assignment) == 2
    assert assignment.as_dict() == {"a": True, "b": False}
    assert assignment.text() == "a1b0" and str(assignment) == "a 1 b 0"
    with pytest.raises(KeyError):
        assignment["c"]


@given(assignments())
def test_characters_round_trip(assignment):
    parsed = parse_assignment(assignment.text())
    assert parsed == assignment and parsed.values == assignment.values
    assert parse_assignment(assignment.tokens()) == assignment
    assert copy.deepcopy(assignment) == assignment


@given(assignments(LONG_NAMES))
def test_spaced_round_trip(assignment):
    text = assignment.text(format="spaced")
    assert parse_assignment(text, format="spaced").values == assignment.values
    if any(len(name) > 1 for name in assignment):
        with pytest.raises(ValueError, match="use format='spaced'"):
            assignment.text()


@given(assignments(), assignments(), st.randoms(use_true_random=False))
def test_the_order_does_not_matter(one, two, rng):
    values = list(one.values)
    rng.shuffle(values)
    again = Assignment(tuple(values))
    assert one == again and hash(one) == hash(again)
    assert (one == two) == (set(one.values) == set(two.values))
    assert one != dict(one.values)


def test_the_empty_assignment():
    assert parse_assignment("") == Assignment() and Assignment().text() == ""


@given(assignments(), st.permutations("abc"))
def test_renaming(assignment, images):
    r = Renaming(dict(zip("abc", images, strict=True)))
    assert r(assignment).tokens() == r(assignment.tokens())
    assert r.inverse()(r(assignment)) == assignment


def test_alpha_covariance_takes_the_order_as_it_is_given():
    answers = ["a1b0", "b0a1", "a1b0"]
    assert alpha_covariance(answers) == 0.5
    assert alpha_covariance(map(parse_assignment, answers)) == 1.0


@pytest.mark.parametrize(
    ("text", "position", "found", "expected"),
    [
        ("a", 1, "the end", "0 or 1, the value of 'a'"),
        ("a1b", 3, "the end", "0 or 1, the value of 'b'"),
        ("ab", 1, "'b'", "0 or 1, the value of 'a'"),
        ("a2", 1, "'2'", "0 or 1"),
        ("a1a1", 2, "'a' again", "each name at most once"),
        ("a1c0", 2, "'c'", "one of a b"),
        ("1a", 0, "'1'", "a name of a proposition"),
        ("a1 b0", 2, "' '", "a name of a proposition"),
        ("a1b0\n", 4, "'\\n'", "a name of a proposition"),
    ],
)
def test_errors(text, position, found, expected):
    with pytest.raises(FormulaError) as caught:
        parse_assignment(text, propositions="ab")
    error = caught.value
    assert (error.text, error.position) == (text, position)
    assert found in error.found and expected in error.expected


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((("A", True),), "'A' is no name"),
        (((1, True),), "1 is no name"),
        ((("a", 1),), "the value of 'a' must be True or False, found 1"),
        ((("a", True), ("a", False)), "a name stands twice in a a"),
    ],
)
def test_bad_assignments(values, message):
    with pytest.raises(ValueError, match=message):
        Assignment(values)
