"""The brute-force reference: against Spot, against its own laws, and against one another."""

import random
from collections import Counter
from itertools import product

import pytest
import spot
from hypothesis import given, settings
from hypothesis import strategies as st
from logical import assignments, formulas, lassos, random_formula, spot_formula

from itekit.logic.assignments import Assignment, parse_assignment
from itekit.logic.formulas import Formula, proposition
from itekit.logic.infix import to_infix
from itekit.logic.operators import LTL, PROPOSITIONAL, STEPS, proposition_names
from itekit.logic.prefix import parse_prefix
from itekit.logic.semantics import evaluate_ltl, holds, implied_by, letters, truth_table
from itekit.logic.semantics import lassos as concrete_lassos
from itekit.logic.traces import Trace, parse_trace

# LTL


def spot_word(prefix, cycle, names="abc"):
    """The lasso as a Spot automaton that accepts this one word."""

    def text(letter):
        return " & ".join(name if name in letter else f"!{name}" for name in names)

    steps = [text(letter) for letter in prefix] + [f"cycle{{{'; '.join(map(text, cycle))}}}"]
    return spot.parse_word("; ".join(steps)).as_automaton()


def spot_holds(formula, word):
    return spot_formula(formula).translate("Low", "Any").intersects(word)


def test_the_papers_example():
    # X b & (a U c): b at the second step, c at some time, a at all preceding ones
    f = parse_prefix("&XbUac")
    assert holds(f, ["a", "ab", "c"], [""])
    assert not holds(f, ["a", "a", "c"], [""])
    assert not holds(f, ["a", "b", "c"], [""])
    assert not holds(f, ["a", "ab"], ["a"])  # c never comes
    assert holds(f, ["c", "b"], [""])


def test_for_each_subformula_where_it_holds():
    f = parse_prefix("UaXb")
    values = evaluate_ltl(f, [{"a"}, {"a"}, {"b"}], [set()])
    assert [(str(part), value) for part, value in values.items()] == [
        ("a", [True, True, False, False]),
        ("b", [False, False, True, False]),
        ("X b", [False, True, False, False]),
        ("U a X b", [True, True, False, False]),
    ]


def test_against_spot():
    rng = random.Random(0)
    found = []
    for _ in range(600):
        f = random_formula(rng, rng.randint(1, 14))
        lasso = [
            [frozenset(name for name in "abc" if rng.random() < 0.5) for _ in range(length)]
            for length in (rng.randint(0, 3), rng.randint(1, 3))
        ]
        found.append(holds(f, *lasso))
        assert found[-1] == spot_holds(f, spot_word(*lasso)), (f, lasso)
    assert 200 < sum(found) < 400


def test_every_operator_against_spot_on_all_short_lassos():
    words = [
        (prefix, cycle, spot_word(prefix, cycle, "ab"))
        for letters in product(
            [frozenset(), frozenset("a"), frozenset("b"), frozenset("ab")], repeat=3
        )
        for prefix, cycle in [(letters[:1], letters[1:]), (letters[:2], letters[2:])]
    ]
    operands = proposition("a"), proposition("b")
    for operator in LTL.operators:
        f = Formula(operator.token, operands[: operator.arity])
        translated = spot_formula(f).translate("Low", "Any")
        for prefix, cycle, word in words:
            assert holds(f, prefix, cycle) == translated.intersects(word), (f, prefix, cycle)


@settings(max_examples=100)
@given(formulas(), lassos())
def test_each_time_is_the_start_of_a_shorter_word(f, lasso):
    prefix, cycle = lasso
    values = evaluate_ltl(f, prefix, cycle)
    assert list(values) == list(f.subformulas())
    for part, value in values.items():
        assert len(value) == len(prefix) + len(cycle)
        for time in range(len(prefix)):
            assert value[time] == holds(part, prefix[time:], cycle)
        for turn in range(len(cycle)):
            assert value[len(prefix) + turn] == holds(part, [], cycle[turn:] + cycle[:turn])


@given(formulas(), lassos(), st.integers(1, 3))
def test_writing_the_cycle_out_changes_nothing(f, lasso, turns):
    prefix, cycle = lasso
    value = holds(f, prefix, cycle)
    assert value == holds(f, prefix, cycle * turns) == holds(f, prefix + cycle * turns, cycle)
    assert holds(~f, prefix, cycle) == (not value) == (not holds(f.core(), prefix, cycle))


def test_an_empty_cycle():
    with pytest.raises(ValueError, match="the cycle needs at least one letter"):
        evaluate_ltl(parse_prefix("a"), [{"a"}], [])


# Symbolic traces


def test_lassos_of_a_trace():
    found = list(concrete_lassos(parse_trace("a;{|ab}"), "ab"))
    assert len(found) == len({(tuple(p), tuple(c)) for p, c in found}) == 2 * 3
    assert all("a" in prefix[0] and cycle[0] for prefix, cycle in found)
    assert len(list(concrete_lassos(parse_trace("a;{|ab}"), "ab", turns=2))) == 2 * 3 * 3
    assert list(concrete_lassos(parse_trace("{0}"), "ab")) == []


def test_a_trace_that_spot_accepts_has_no_lasso_that_fails():
    rng = random.Random(0)
    seen = Counter()
    for _ in range(300):
        f = random_formula(rng, rng.randint(1, 8), names="ab")
        steps = tuple(random_formula(rng, rng.randint(1, 3), STEPS, "ab") for _ in range(3))
        trace = Trace(steps[: rng.randint(0, 2)], steps[2:])
        fails = any(
            not holds(f, prefix, cycle)
            for turns in (1, 2)
            for prefix, cycle in concrete_lassos(trace, "ab", turns)
        )
        texts = [to_infix(step) for step in trace.prefix]
        texts.append(f"cycle{{{'; '.join(map(to_infix, trace.cycle))}}}")
        word = spot.parse_word("; ".join(texts)).as_automaton()
        satisfied = not word.intersects(spot_formula(~f).translate("Low", "Any"))
        assert not (satisfied and fails), (f, trace)
        seen[satisfied, fails] += 1
    # some traces fail in no lasso this short, but most that fail do
    assert seen[True, False] > 50 and seen[False, True] > 50 and seen[False, False] < 10


# Propositional logic


@given(formulas(STEPS))
def test_truth_tables_are_ltl_on_one_letter(f):
    table = truth_table(f, "abc")
    for number, values in enumerate(product([False, True], repeat=3)):
        letter = {name for name, value in zip("cba", values, strict=True) if value}
        assert bool(table >> number & 1) == holds(f, [], [letter])
    assert 0 <= table < 1 << 8
    assert [sum(1 << "abc".index(name) for name in letter) for letter in letters(f, "abc")] == [
        number for number in range(8) if table >> number & 1
    ]


@given(formulas(PROPOSITIONAL), formulas(PROPOSITIONAL))
def test_equal_tables_are_equivalent_formulas(f, g):
    same = truth_table(f, "abc") == truth_table(g, "abc")
    assert same == spot.are_equivalent(spot_formula(f), spot_formula(g))


def test_the_order_of_the_bits():
    assert truth_table(parse_prefix("a"), "ab") == 0b1010
    assert truth_table(parse_prefix("b"), "ab") == 0b1100
    assert truth_table(parse_prefix("1"), "") == 1 and truth_table(parse_prefix("0"), "") == 0


@given(formulas(PROPOSITIONAL, names=tuple("abcd")), assignments(tuple("abcde")))
def test_implied_by_lists_all_completions(f, assignment):
    completions = [
        {**dict(zip("abcd", values, strict=True)), **assignment.as_dict()}
        for values in product([False, True], repeat=4)
    ]
    found = all(holds(f, [], [{n for n, v in values.items() if v}]) for values in completions)
    assert implied_by(f, assignment) == found


def test_implied_by_by_hand():
    f = parse_prefix("|ab")
    assert implied_by(f, parse_assignment("a1")) and implied_by(f, parse_assignment("a0b1"))
    assert not implied_by(f, parse_assignment("a0")) and not implied_by(f, Assignment())


def test_what_has_no_table():
    names = proposition_names(17)
    wide = parse_prefix(["|"] * 16 + list(names))
    with pytest.raises(ValueError, match="17 propositions are left free, at most 16"):
        implied_by(wide, Assignment())
    assert implied_by(wide, parse_assignment("q1"))
    assert not implied_by(wide, parse_assignment("q0"))
    with pytest.raises(ValueError, match="'X' is temporal"):
        truth_table(parse_prefix("Xa"), "a")
    with pytest.raises(ValueError, match="proposition 'b' is not one of a"):
        truth_table(parse_prefix("b"), "a")
    with pytest.raises(ValueError, match="a name stands twice in a a"):
        truth_table(parse_prefix("a"), "aa")
