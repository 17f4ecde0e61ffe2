"""Symbolic lasso traces: text, time, renaming, and equality up to the order of operands."""

import copy
import random

import pytest
import spot
from hypothesis import given
from hypothesis import strategies as st
from logical import LONG_NAMES, formulas, spot_formula, traces

from itekit.alpha import Renaming, alpha_equivalent_pairs, canonical_renaming
from itekit.logic.formulas import Formula, proposition
from itekit.logic.infix import to_infix
from itekit.logic.infix_traces import parse_infix_trace, trace_to_infix
from itekit.logic.operators import STEPS
from itekit.logic.prefix import FormulaError, parse_prefix
from itekit.logic.rewriting import COMMUTATIVE, sorted_operands
from itekit.logic.semantics import letters, truth_table
from itekit.logic.traces import Trace, parse_trace, trace_equal

a, b, c = map(proposition, "abc")


def test_the_papers_trace():
    trace = parse_trace("a;&ab;{b}")
    assert trace == Trace((a, a & b), (b,))
    assert trace.steps == (a, a & b, b) and trace.propositions == ("a", "b")
    assert trace.text() == "a;&ab;{b}" and trace.text(format="spaced") == "a ; & a b ; { b }"
    assert str(trace) == "a ; & a b ; { b }"


@pytest.mark.parametrize("text", ["{1}", "{a;b}", "1;1;{0;!a}", "{|a!b}", ">ab;^ab;{=a1;&a&bc}"])
def test_traces_of_files(text):
    assert parse_trace(text).text() == text


@given(traces())
def test_characters_round_trip(trace):
    assert parse_trace(trace.text()) == trace
    assert parse_trace(trace.tokens()) == parse_trace(list(trace.tokens())) == trace
    assert copy.deepcopy(trace) == trace


@given(traces(LONG_NAMES))
def test_spaced_round_trip(trace):
    assert parse_trace(trace.text(format="spaced"), format="spaced") == trace


@given(traces(), st.integers(0, 12), st.integers(0, 12))
def test_time_goes_round_the_cycle(trace, time, later):
    word = list(trace.prefix) + list(trace.cycle) * 30
    assert trace.step_at(time) == word[time]
    assert trace.suffix(time).step_at(later) == word[time + later]
    assert len(trace.suffix(time).cycle) == len(trace.cycle)


def test_times_start_at_zero():
    for method in (parse_trace("{a}").step_at, parse_trace("{a}").suffix):
        with pytest.raises(ValueError, match="times start at 0, found -1"):
            method(-1)


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
        ("{a", 2, "the end", "';' or '}', the end of the cycle"),
        ("a{b}", 1, "'{'", "';' to end the step before the cycle"),
        ("ab;{b}", 1, "'b'", "';', as 'a' is a whole formula"),
        ("a;{{b}}", 3, "'{'", "the cycle is open already"),
        ("a;b}", 3, "'}'", "'{' to open the cycle first"),
        ("{a}b", 3, "'b'", "the end: the trace is complete"),
        ("{a}{b}", 3, "'{'", "the end: the trace is complete"),
        ("a;Xb;{1}", 2, "'X' (next, no operator of the steps of a trace)", "1 0 ! & |"),
        ("a; b;{1}", 2, "' '", "a formula"),
        ("c;{1}", 0, "'c'", "one of a b"),
    ],
)
def test_errors(text, position, found, expected):
    with pytest.raises(FormulaError) as caught:
        parse_trace(text, propositions="ab")
    error = caught.value
    assert (error.text, error.position) == (text, position)
    assert found in error.found and expected in error.expected


def test_errors_of_the_spaced_form():
    with pytest.raises(FormulaError, match="position 10: found 'ac'"):
        parse_trace("a ; & aa  ac ; { 1 }", format="spaced", propositions=["a", "aa"])
    with pytest.raises(ValueError, match="unknown format 'words'"):
        parse_trace("{1}", format="words")


# Infix


@given(traces(LONG_NAMES))
def test_infix_round_trip(trace):
    for unicode in (False, True):
        text = trace_to_infix(trace, unicode=unicode)
        assert parse_infix_trace(text) == trace
        assert parse_infix_trace(text.replace("cycle", "")) == trace


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
                assert word.intersects(
                    spot.formula("X" * time + f"({now})").translate("Low", "Any")
                )


@pytest.mark.parametrize(
    ("text", "position", "found", "expected"),
    [
        ("", 0, "the end", "'cycle{', the start of the cycle"),
        ("a; b", 4, "the end", "'cycle{', the start of the cycle"),
        ("a; b; cycle{c", 13, "the end", "'}', the end of the cycle"),
        ("a cycle{b}", 2, "'cycle{'", "';' to end the step before the cycle"),
        ("a & ; {b}", 4, "';'", "a formula after '&' at position 2"),
        ("a; {{b}}", 4, "'{'", "a formula"),
        ("a; {}", 4, "'}'", "a formula"),
        ("{a;}", 3, "'}'", "a formula"),
        ("a; X b; {c}", 3, "'X' (next, no operator of the steps of a trace)", "a formula"),
        ("{a} & b", 4, "'&'", "the end: the trace is complete"),
    ],
)
def test_infix_errors(text, position, found, expected):
    with pytest.raises(FormulaError) as caught:
        parse_infix_trace(text)
    error = caught.value
    assert (error.text, error.position) == (text, position)
    assert found in error.found and expected in error.expected


# Renaming


@given(traces(), st.permutations("abc"))
def test_renaming_a_trace_renames_its_tokens(trace, images):
    r = Renaming(dict(zip("abc", images, strict=True)))
    assert r(trace) == trace.rename(r)
    assert r(trace).text() == r(trace.text())
    assert r.inverse()(r(trace)) == trace


def test_formula_and_trace_together():
    pair = parse_prefix("&aXb"), parse_trace("a;b;{1}")
    swap = Renaming({"a": "b", "b": "a"})
    swapped = swap.apply_pair(*pair)
    assert swapped == (parse_prefix("&bXa"), parse_trace("b;a;{1}"))
    assert alpha_equivalent_pairs(pair, swapped, "ab")
    assert not alpha_equivalent_pairs(pair, (swapped[0], pair[1]), "ab")
    assert canonical_renaming(swapped[0], "ab", "ab") == swap


# Equality up to the order of operands


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
    if formula.operator in COMMUTATIVE and rng.random() < 0.5:
        operands.reverse()
    return Formula(formula.operator, tuple(operands), formula.name)


@given(formulas(STEPS), st.randoms(use_true_random=False))
def test_normal_form(f, rng):
    normal = sorted_operands(f)
    assert sorted_operands(shuffled(f, rng)) == normal
    assert sorted_operands(normal) == normal
    assert sorted(normal.tokens()) == sorted(f.tokens())
    assert spot.are_equivalent(spot_formula(normal), spot_formula(f))


@given(traces())
def test_normal_traces(trace):
    assert trace_equal(trace, trace.normal()) and trace.normal().normal() == trace.normal()


def test_a_long_conjunction_is_not_too_deep():
    f = parse_prefix("&a" * 200 + "b")
    assert f.depth == 200 and sorted_operands(f).depth == 8
    assert sorted_operands(parse_prefix("&" * 200 + "b" + "a" * 200)) == sorted_operands(f)
