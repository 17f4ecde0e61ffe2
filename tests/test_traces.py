"""Traces, assignments and perturbed pairs: text, time, renaming, equality, errors."""

import copy
import pickle
import random

import pytest
import spot
from hypothesis import given
from hypothesis import strategies as st
from logical import LONG_NAMES, assignments, formulas, traces

from itekit.alpha import Renaming, alpha_covariance, alpha_equivalent_pairs, used_tokens
from itekit.logic.formulas import STEPS, Formula, FormulaError, parse_prefix, proposition
from itekit.logic.infix import parse_infix_trace, to_infix, trace_from_text, trace_to_infix
from itekit.logic.perturbation import collides, perturb, published_perturbation
from itekit.logic.semantics import letters, truth_table
from itekit.logic.traces import Trace, parse_trace, read_trace, sorted_operands, trace_equal
from itekit.logic.truth_tables import Assignment, parse_assignment
from itekit.vocabulary import proposition_names

a, b, c = map(proposition, "abc")


def check_error(call, text, position, found, expected):
    with pytest.raises(FormulaError) as caught:
        call()
    error = caught.value
    assert (error.text, error.position) == (text, position)
    assert found in error.found and expected in error.expected


# Traces


def test_the_papers_trace():
    trace = parse_trace("a;&ab;{b}")
    assert trace == Trace((a, a & b), (b,))
    assert trace.steps == (a, a & b, b) and trace.propositions == ("a", "b")
    assert trace.text() == "a;&ab;{b}" and str(trace) == "a ; & a b ; { b }"


@pytest.mark.parametrize("text", ["{1}", "{a;b}", "1;1;{0;!a}", "{|a!b}", ">ab;^ab;{=a1;&a&bc}"])
def test_traces_of_files(text):
    assert parse_trace(text).text() == text


@given(traces(LONG_NAMES))
def test_every_form_is_read_the_same(trace):
    forms = [trace.text(), str(trace), trace_to_infix(trace), trace_to_infix(trace, unicode=True)]
    assert [trace_from_text(form) for form in forms] == [trace] * 4
    assert parse_infix_trace(forms[2].replace("cycle", "")) == trace
    assert parse_trace(trace.tokens()) == parse_trace(list(trace.tokens())) == trace
    assert copy.deepcopy(trace) == pickle.loads(pickle.dumps(trace)) == trace


@given(traces())
def test_steps_are_read_without_trees(trace):
    steps, start = read_trace(trace.text())
    assert [tuple(step) for step in steps] == [step.tokens() for step in trace.steps]
    assert start == len(trace.prefix)


@given(traces(), st.integers(0, 12))
def test_time_goes_round_the_cycle(trace, time):
    assert trace.step_at(time) == (trace.prefix + trace.cycle * 30)[time]
    with pytest.raises(ValueError, match="times start at 0, found -1"):
        trace.step_at(-1)


@pytest.mark.parametrize(
    ("prefix", "cycle", "message"),
    [
        ((a,), (), "at least one step in its cycle"),
        ((a, Formula("X", (b,))), (a,), "step 1 must be a Boolean formula, found <Formula X b>"),
        ((), ("a",), "step 0 must be a Boolean formula, found 'a'"),
    ],
)
def test_bad_traces(prefix, cycle, message):
    with pytest.raises(ValueError, match=message):
        Trace(prefix, cycle)


@pytest.mark.parametrize(
    ("text", "position", "found", "expected"),
    [
        ("", 0, "the end", "'{', the start of the cycle"),
        ("a;b", 3, "the end", "'{', the start of the cycle"),
        ("a;&b;{1}", 4, "';'", "the second operand of '&' at position 2"),
        ("a;;{1}", 2, "';'", "a formula"),
        ("{}", 1, "'}'", "a formula"),
        ("{a;}", 3, "'}'", "a formula"),
        ("{a", 2, "the end", "'}' after the '{', the end of the cycle"),
        ("a{b}", 1, "'{'", "';' to end the step before the cycle"),
        ("ab;{b}", 1, "'b'", "';', as 'a' is a whole formula"),
        ("a;{{b}}", 6, "'}'", "the end: the trace is complete"),
        ("a;{{b}", 3, "'{'", "a formula"),
        ("a;b}", 4, "the end", "'{', the start of the cycle"),
        ("{a}b", 3, "'b'", "the end: the trace is complete"),
        ("{a}{b}", 3, "'{'", "the end: the trace is complete"),
        ("a;Xb;{1}", 2, "'X' (next, no operator of the steps of a trace)", "1 0 ! & |"),
        ("c;{1}", 0, "'c'", "one of a b"),
        ("a ; & b  ac ; { 1 }", 9, "'ac'", "one of a b"),
    ],
)
def test_errors_of_prefix_traces(text, position, found, expected):
    check_error(lambda: parse_trace(text, propositions="ab"), text, position, found, expected)


@pytest.mark.parametrize(
    ("text", "position", "found", "expected"),
    [
        ("", 0, "the end", "'cycle{', the start of the cycle"),
        ("a; b; cycle{c", 13, "the end", "'}' after the '{', the end of the cycle"),
        ("a cycle{b}", 7, "'{'", "';' to end the step before the cycle"),
        ("a & ; {b}", 4, "';'", "a formula after '&' at position 2"),
        ("a; {{b}}", 7, "'}'", "the end: the trace is complete"),
        ("a; {}", 4, "'}'", "a formula"),
        ("{a;}", 3, "'}'", "a formula"),
        ("a; X b; {c}", 3, "'X' (next, no operator of the steps of a trace)", "a formula"),
        ("{a} & b", 4, "'&'", "the end: the trace is complete"),
    ],
)
def test_errors_of_infix_traces(text, position, found, expected):
    check_error(lambda: parse_infix_trace(text), text, position, found, expected)


@given(traces(("a", "b")))
def test_spot_reads_the_infix_form(trace):
    word = spot.parse_word(trace_to_infix(trace)).as_automaton()
    for time, step in enumerate(trace.steps):
        broken = spot.formula("X" * time + "(" + to_infix(~step) + ")")
        assert not word.intersects(broken.translate("Low", "Any"))
    possible = all(truth_table(step, "ab") for step in trace.steps)
    assert word.is_empty() != possible
    if possible:  # a step says nothing more than what it says
        for time in range(len(trace.steps)):
            for letter in letters(trace.step_at(time), "ab"):
                now = " & ".join(name if name in letter else f"!{name}" for name in "ab")
                allowed = spot.formula("X" * time + f"({now})")
                assert word.intersects(allowed.translate("Low", "Any"))


@pytest.mark.parametrize(
    ("one", "two", "equal"),
    [
        ("{&ab}", "{&ba}", True),
        ("{&a&bc}", "{&&cba}", True),
        ("{|a|bc}", "{||cab}", True),
        ("{=a^bc}", "{=^cba}", True),
        ("{=a=bc}", "{==abc}", False),  # operands in another order, but nothing is laid flat
        ("{>ab}", "{>ba}", False),
        ("{&aa}", "{a}", False),
        ("{!&ab}", "{!&ba}", True),
        ("{|&abc}", "{|c&ba}", True),
        ("a;{b}", "{a;b}", False),
        ("{a}", "{a;a}", False),
        ("{1}", "{|a!a}", False),
    ],
)
def test_traces_equal_up_to_the_order_of_operands(one, two, equal):
    assert trace_equal(parse_trace(one), parse_trace(two)) == equal


def shuffled(formula: Formula, rng: random.Random) -> Formula:
    """The same formula with operands of commutative operators swapped here and there."""
    operands = [shuffled(operand, rng) for operand in formula.operands]
    if formula.operator in "&|=^" and rng.random() < 0.5:
        operands.reverse()
    return Formula(formula.operator, tuple(operands), formula.name)


@given(formulas(STEPS), formulas(STEPS), st.randoms(use_true_random=False))
def test_sorted_operands_are_one_value_for_one_meaning(f, g, rng):
    assert sorted_operands(shuffled(f, rng)) == sorted_operands(f)
    if sorted_operands(f) == sorted_operands(g):
        assert truth_table(f, "abc") == truth_table(g, "abc")


def test_a_long_conjunction_can_be_compared():
    f, g = parse_prefix("&a" * 200 + "b"), parse_prefix("&" * 200 + "b" + "a" * 200)
    assert f.depth == 200 and sorted_operands(f) == sorted_operands(g)


@given(traces(), st.permutations("abc"))
def test_renaming_a_trace_renames_its_tokens(trace, images):
    r = Renaming(dict(zip("abc", images, strict=True)))
    assert r(trace) == trace.rename(r)
    assert r(trace).text() == r(trace.text())
    assert r.inverse()(r(trace)) == trace


# Assignments


def test_the_papers_assignment():
    assignment = parse_assignment("a1b0")
    assert assignment.values == (("a", True), ("b", False))
    assert assignment.as_dict() == {"a": True, "b": False}
    assert assignment.text() == "a1b0" and str(assignment) == "a 1 b 0"
    assert "a" in assignment and "c" not in assignment
    assert parse_assignment("") == Assignment() and Assignment().text() == ""


@given(assignments(LONG_NAMES))
def test_assignments_are_read_as_they_are_printed(assignment):
    assert parse_assignment(assignment.text()).values == assignment.values
    assert parse_assignment(assignment.tokens()) == parse_assignment(str(assignment)) == assignment
    assert copy.deepcopy(assignment) == assignment


@given(assignments(), assignments(), st.randoms(use_true_random=False))
def test_the_order_does_not_matter(one, two, rng):
    values = list(one.values)
    rng.shuffle(values)
    again = Assignment(tuple(values))
    assert one == again and hash(one) == hash(again)
    assert (one == two) == (set(one.values) == set(two.values))
    assert one != dict(one.values)


@given(assignments(), st.permutations("abc"))
def test_renaming_an_assignment(assignment, images):
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
        ("a1 b0", 0, "'a1'", "a name of a proposition"),
        ("a1b0\n", 4, "'\\n'", "a name of a proposition"),
    ],
)
def test_errors_of_assignments(text, position, found, expected):
    check_error(lambda: parse_assignment(text, propositions="ab"), text, position, found, expected)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((("A", True),), "'A' is no name"),
        (((1, True),), "1 is no name"),
        ((("a", 1),), "the value of 'a' must be True or False, found 1"),
        ((("a", True), ("a", False)), "a name stands twice in a 1 a 0"),
    ],
)
def test_bad_assignments(values, message):
    with pytest.raises(ValueError, match=message):
        Assignment(values)


# Perturbed data: the order in the label, the published tool's collisions, and the repair

NAMES = "abcde"
PAIRS = st.tuples(
    formulas(names=NAMES), st.one_of(traces(NAMES, leaves=2), assignments(NAMES))
).map(lambda pair: (pair[0].tokens(), pair[1].tokens()))


def test_perturbation_by_hand():
    assert perturb("&dX&ba", "b;a;{1}", NAMES) == ("&cX&ab", "a;b;{1}")
    assert published_perturbation("&dX&ba", "b;a;{1}", NAMES) == ("&dX&ab", "a;b;{1}")
    assert not collides("&dX&ba", "b;a;{1}", NAMES)
    pair = parse_prefix("&dX&ba"), parse_trace("b;a;{1}")
    assert perturb(*pair, NAMES) == (parse_prefix("&cX&ab"), parse_trace("a;b;{1}"))


def test_two_propositions_that_the_published_tool_makes_one():
    pair = "&a!b", "!b;{1}"  # b becomes a, and a stays
    assert published_perturbation(*pair, NAMES) == ("&a!a", "!a;{1}")
    assert collides(*pair, NAMES)
    assert perturb(*pair, NAMES) == ("&b!a", "!a;{1}")


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


def test_perturbed_names_of_more_than_one_letter():
    names = proposition_names(30)
    source, label = perturb(["&", "ad", "ab"], ("ab", "1"), names)
    assert (source, label) == (["&", "b", "a"], ("a", "1"))
    assert published_perturbation(["&", "ad", "ab"], ("ab", "1"), names)[0] == ["&", "ad", "a"]
    with pytest.raises(ValueError, match="'a' stands twice among the names"):
        perturb("a", "a", "aab")
