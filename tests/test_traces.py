"""Traces, assignments and perturbed pairs: text, time, renaming, equality, errors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from logical import LONG_NAMES, assignments, formulas, traces

from itekit.alpha import Renaming, alpha_equivalent_pairs, used_tokens
from itekit.datasets.presets import perturb
from itekit.logic.formulas import FormulaError, proposition
from itekit.logic.traces import Trace, parse_trace, trace_equal
from itekit.logic.truth_tables import Assignment, parse_assignment
from itekit.tasks.ltl import check
from itekit.tasks.verdicts import EXACT
from lessons.infix import parse_infix_trace, trace_from_text, trace_to_infix
from lessons.perturbation import collides, published_perturbation

a, b, c = map(proposition, "abc")


# Traces


def test_traces_by_hand():
    trace = parse_trace("a;&ab;{b}")
    assert trace == Trace((a, a & b), (b,)) and trace.propositions == ("a", "b")
    assert trace.text() == "a;&ab;{b}" and str(trace) == "a ; & a b ; { b }"
    for text in ("a;{}", "a;Xb;{a}", "{U"):
        with pytest.raises(FormulaError):
            parse_trace(text)
    trace = parse_trace("a;{b;c}")
    assert [str(trace.step_at(time)) for time in range(6)] == list("abcbcb")


@given(traces(LONG_NAMES))
def test_every_form_is_read_the_same(trace):
    forms = [trace.text(), str(trace), trace_to_infix(trace)]
    assert [trace_from_text(form) for form in forms] == [trace] * 3
    assert parse_infix_trace(forms[2].replace("cycle", "")) == trace
    assert parse_trace(trace.tokens()) == parse_trace(list(trace.tokens())) == trace


@pytest.mark.parametrize(
    ("one", "two", "equal"),
    [
        ("{&a&bc}", "{&&cba}", True),
        ("{|a|bc}", "{||cab}", True),
        ("{=a^bc}", "{=^cba}", True),
        ("{=a=bc}", "{==abc}", False),  # operands in another order, but nothing is laid flat
        ("{>ab}", "{>ba}", False),
        ("{&aa}", "{a}", False),
        ("a;{b}", "{a;b}", False),
        ("a;b;{1}", "b;a;{1}", False),
        ("{" + "&a" * 200 + "b}", "{" + "&" * 200 + "b" + "a" * 200 + "}", True),
    ],
)
def test_traces_equal_up_to_the_order_of_operands(one, two, equal):
    assert trace_equal(parse_trace(one), parse_trace(two)) == equal
    assert (check("0", one, two) == EXACT) == equal


# Assignments


def test_the_papers_assignment():
    assignment = parse_assignment("a1b0")
    assert assignment.values == (("a", True), ("b", False))
    assert assignment.text() == "a1b0" and str(assignment) == "a 1 b 0"
    assert "a" in assignment and "c" not in assignment
    assert parse_assignment("") == Assignment() and Assignment().text() == ""


@given(assignments(LONG_NAMES))
def test_assignments_are_read_as_they_are_printed(assignment):
    assert parse_assignment(assignment.text()).values == assignment.values
    assert parse_assignment(assignment.tokens()) == parse_assignment(str(assignment)) == assignment


@given(assignments(), assignments(), traces(), st.permutations("abc"))
def test_the_order_does_not_matter_and_renaming_renames_the_tokens(one, two, trace, images):
    again, r = Assignment(one.values[::-1]), Renaming(dict(zip("abc", images, strict=True)))
    assert one == again and hash(one) == hash(again) and one != dict(one.values)
    assert (one == two) == (set(one.values) == set(two.values))
    assert r(one).tokens() == r(one.tokens()) and r.inverse()(r(one)) == one
    assert r(trace).tokens() == r(trace.tokens()) and r.inverse()(r(trace)) == trace


# Perturbed data: the order in the label, the published tool's collisions, and the repair

NAMES = "abcde"
PAIRS = st.tuples(
    formulas(names=NAMES), st.one_of(traces(NAMES, leaves=2), assignments(NAMES))
).map(lambda pair: (pair[0].tokens(), pair[1].tokens()))


def test_perturbation_by_hand():
    assert perturb("&dX&ba", "b;a;{1}", NAMES) == ("&cX&ab", "a;b;{1}")
    assert published_perturbation("&dX&ba", "b;a;{1}", NAMES) == ("&dX&ab", "a;b;{1}")
    assert not collides("&dX&ba", "b;a;{1}", NAMES)


@given(PAIRS)
def test_the_repair_is_a_renaming_that_puts_the_label_in_order(pair):
    source, label = perturb(*pair, NAMES)
    assert alpha_equivalent_pairs(pair, (source, label), NAMES)
    count = len(used_tokens(label, NAMES))
    assert used_tokens(label, NAMES) == list(NAMES[:count])
    only_source = [name for name in used_tokens(source, NAMES) if name not in NAMES[:count]]
    assert only_source == list(NAMES[count : count + len(only_source)])
    assert perturb(source, label, NAMES) == (source, label)


@given(PAIRS)
def test_the_published_tool_is_right_exactly_where_nothing_collides(pair):
    published = published_perturbation(*pair, NAMES)
    assert used_tokens(published[1], NAMES) == used_tokens(perturb(*pair, NAMES)[1], NAMES)
    if set(used_tokens(pair[1], NAMES)) <= set(used_tokens(pair[0], NAMES)):
        assert collides(*pair, NAMES) != alpha_equivalent_pairs(pair, published, NAMES)
