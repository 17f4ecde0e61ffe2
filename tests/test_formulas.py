"""Formulas as values, prefix and infix text against Spot, errors, and hostile text."""

import copy
import random
import time
from contextlib import suppress

import pytest
import spot
from hypothesis import given, settings
from hypothesis import strategies as st
from logical import LONG_NAMES, assignments, formulas, spot_formula, traces

from itekit.alpha import Renaming
from itekit.logic.formulas import (
    ARITY,
    LTL,
    MAX_DEPTH,
    MAX_SIZE,
    PROPOSITION,
    PROPOSITIONAL,
    Formula,
    FormulaError,
    from_tokens,
    parse_prefix,
    proposition,
    to_prefix,
)
from itekit.logic.traces import Trace, parse_trace
from itekit.logic.truth_tables import Assignment, parse_assignment
from lessons.infix import (
    TOKENS,
    formula_from_text,
    parse_infix,
    parse_infix_trace,
    to_infix,
    trace_to_infix,
)

a, b, c = map(proposition, "abc")


def test_a_formula_by_hand():
    f = Formula("U", (a & ~b, Formula("X", (Formula("|", (Formula("1"), c)),))))
    assert f.tokens() == tuple("U&a!bX|1c")
    assert (f.size, f.depth, f.propositions) == (9, 3, ("a", "b", "c"))
    assert [str(part) for part in f.subformulas()] == [
        *("a", "b", "1", "c", "! b", "| 1 c", "& a ! b", "X | 1 c", "U & a ! b X | 1 c")
    ]
    paths = ["", "0", "00", "01", "010", "1", "10", "100", "101"]
    assert f.tree_paths() == [tuple(map(int, path)) for path in paths]


@given(formulas(names=LONG_NAMES), formulas(names=LONG_NAMES))
def test_equality_sizes_paths_and_subformulas_agree_with_the_tree(f, g):
    same = copy.deepcopy(f)
    assert f == same and hash(f) == hash(same) and (same.size, same.depth) == (f.size, f.depth)
    assert (f == g) == (f.tokens() == g.tokens()) and f != f.tokens()
    assert f.size == len(f.tokens()) == len(f.tree_paths())
    assert f.depth == max(map(len, f.tree_paths()))
    for path, node in zip(f.tree_paths(), f.nodes(), strict=True):
        at = f
        for branch in path:
            at = at.operands[branch]
        assert at == node
    parts = f.subformulas()
    assert set(parts) == set(f.nodes()) and len(set(parts)) == len(parts) and parts[-1] == f
    assert all(set(part.operands) <= set(parts[:place]) for place, part in enumerate(parts))


def test_bad_formulas():
    wrong = [("?",), ("!",), ("&", (a,)), ("1", (a,)), (PROPOSITION, (a,), "a"), ("!", ("a",))]
    for arguments in wrong:
        with pytest.raises(ValueError, match="takes|is no operator"):
            Formula(*arguments)
    names = ["", "A", "1a", "a b", "ab;", "é", "true", "false", "xor", "a\n"]
    for arguments in [("1", (), "a"), *((PROPOSITION, (), name) for name in names)]:
        with pytest.raises(ValueError, match="is no name"):
            Formula(*arguments)
    with pytest.raises(ValueError, match="'X' is no name"):  # a renaming makes no operator
        parse_prefix("!a").rename(Renaming({"a": "X", "X": "a"}))


@given(formulas(names=LONG_NAMES), st.permutations(LONG_NAMES))
def test_renaming_a_formula_renames_its_tokens(f, images):
    r = Renaming(dict(zip(LONG_NAMES, images, strict=True)))
    renamed = f.rename(r)
    assert renamed.tokens() == r(f.tokens()) and renamed == r(f)
    assert renamed.rename(r.inverse()) == f
    assert (renamed.size, renamed.depth) == (f.size, f.depth)


@settings(max_examples=150)
@given(formulas(names=("a", "b"), leaves=5))
def test_core_keeps_the_meaning(f):
    core = f.core()
    assert {node.operator for node in core.nodes()} <= {*"10!&XU", PROPOSITION}
    assert core.core() == core
    assert spot.are_equivalent(spot_formula(core), spot_formula(f))


# Nothing exhausts the stack or the memory


def test_depth_and_size_are_limited():
    deepest = parse_prefix("!" * MAX_DEPTH + "a")
    assert deepest.depth == MAX_DEPTH and len(deepest.subformulas()) == MAX_DEPTH + 1
    assert deepest == parse_infix(to_infix(deepest)) == deepest.core()
    assert deepest.rename(Renaming({"a": "b"})).propositions == ("b",)
    large = equal = a
    for _ in range(15):
        large = large & large
    for _ in range(40):
        equal = Formula("=", (equal, b))
    assert large.size == 2**16 - 1 <= MAX_SIZE and parse_prefix(to_prefix(large)) == large
    for make in (lambda: ~deepest, lambda: large & large, equal.core):
        with pytest.raises(ValueError, match="at most 100000 tokens, and at most 200 operators"):
            make()


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_prefix, "!" * (MAX_DEPTH + 1) + "a"),
        (parse_prefix, "&" * 50_000 + "a" * 50_001),
        (parse_infix, "!" * 50_000 + "(" * 50_000 + "a" + ")" * 50_000),
        (parse_infix, "a&" * 60_000 + "a"),
        (parse_trace, "{" + "X" * 100_000 + "a}"),
    ],
)
def test_hostile_text_is_refused_at_once(parse, text):
    start = time.process_time()
    with pytest.raises(FormulaError):
        parse(text)
    assert time.process_time() - start < 3


# Prefix and infix notation


@settings(max_examples=200)
@given(formulas(names=LONG_NAMES))
def test_every_notation_is_read_the_same_and_infix_by_spot_too(f):
    text = to_prefix(f)
    assert (" " in text) == any(len(name) > 1 for name in f.propositions)
    for same in (text, f.tokens(), list(f.tokens()), f"{f} "):
        assert parse_prefix(same) == f
    for same in (to_infix(f), to_infix(f, unicode=True)):
        assert formula_from_text(same) == formula_from_text(text) == parse_infix(same) == f
    assert spot.formula(to_infix(f)) == spot_formula(f)


@given(st.text("abX!&|U()<->=^ ", max_size=12))
def test_no_text_is_a_formula_in_both_notations_with_two_meanings(text):
    readings = set()
    for read in (parse_prefix, parse_infix):
        with suppress(FormulaError):
            readings.add(read(text))
    if all(len(name) == 1 for f in readings for name in f.propositions):  # `ab ` is one name
        assert len(readings) <= 1


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("<->a!b", "=a!b"),
        ("!->xor01x", "!>^01x"),
        ("&&xor", "&&xor"),  # a formula as it stands: x, o and r
        ("xor a <-> b c", "^a=bc"),
    ],
)
def test_the_spellings_of_deepltl_are_read(text, tokens):
    assert parse_prefix(text) == from_tokens(tokens)


@pytest.mark.parametrize(
    ("text", "prefix"),
    [
        ("a U b U c", "UaUbc"),
        ("a & b & c", "&&abc"),
        ("a -> b <-> c", ">a=bc"),
        ("a & b U c | X a", "|&aUbcXa"),
        ("!a U X b", "U!aXb"),
        ("aUb", "Uab"),
        ("X0", "X0"),
        (" ( ( a ) )\t", "a"),
        ("¬a ∧ b ∨ c → ⊤ ↔ ⊥ ⊕ a", ">|&!abc=1^0a"),
        ("□◇○a", "GFXa"),
        ("xorb & p0 U truey", "& xorb U p0 truey"),
    ],
)
def test_what_people_type(text, prefix):
    assert to_prefix(parse_infix(text)) == prefix


def typed_text(rng: random.Random, depth: int = 3) -> str:
    """Operands, operators and parentheses as they come, every operator in some spelling."""
    spellings = [s for s in TOKENS if s not in "⊤⊥○"]  # Spot does not read these as we do
    unary, binary = ([s for s in spellings if ARITY.get(TOKENS[s]) == n] for n in (1, 2))
    words = []
    for place in range(rng.randint(1, 5)):
        words += [rng.choice(binary)] if place else []
        words += rng.choices(unary, k=rng.choice([0, 0, 0, 1, 2]))
        if depth and rng.random() < 0.3:
            words += ["(", typed_text(rng, depth - 1), ")"]
        else:
            words.append(rng.choice([*"abcd", "1", "0", "true"]))
    return " ".join(words)


def test_precedence_and_associativity_are_spots():
    rng = random.Random(1)
    for _ in range(1500):
        text = typed_text(rng)
        assert spot_formula(parse_infix(text)) == spot.formula(text), text


# Errors

PARSERS = {
    "prefix": (parse_prefix, to_prefix),
    "propositional": (lambda t: parse_prefix(t, PROPOSITIONAL, propositions="abxor"), to_prefix),
    "infix": (parse_infix, to_infix),
    "either": (formula_from_text, to_prefix),
    "trace": (parse_trace, Trace.text),
    "trace, infix": (parse_infix_trace, trace_to_infix),
    "assignment": (parse_assignment, Assignment.text),
}


@pytest.mark.parametrize(
    ("kind", "text", "position", "found", "expected"),
    [
        ("prefix", "", 0, "the end", "a formula"),
        ("prefix", "U&a", 3, "the end", "a formula for '&' at position 1"),
        ("prefix", "& a  bc d", 8, "'d'", "the end: the formula is complete"),
        ("prefix", "!" * 201 + "a", 0, "a larger formula", "at most 200 operators inside"),
        ("propositional", "&aXb", 2, "'X'", "(1 0 ! & | = ^)"),
        ("propositional", "&ac", 2, "'c'", "one of a b"),
        ("infix", "a & (b | c", 10, "the end", "')'"),
        ("infix", "!" * 300 + "a", 99, "'!'", "at most 200 operators inside each other"),
        ("either", "a U", 3, "the end", "a formula: a name"),  # of the one that was read further
        ("trace", "a;b}", 4, "the end", "'{', the start of the cycle"),
        ("trace", "a;&b;{1}", 4, "';'", "a formula for '&' at position 2"),
        ("trace", "a{b}", 1, "'{'", "';' to end the step before the cycle"),
        ("trace", "a;{{b}}", 6, "'}'", "the end: the trace is complete"),
        ("trace, infix", "a; b; cycle{c", 13, "the end", "'}', the end of the cycle"),
        ("assignment", "a1b", 3, "the end", "0 or 1, the value of 'b'"),
        ("assignment", "a1a1", 2, "'a' again", "each name at most once"),
        ("assignment", "1a", 0, "'1'", "a name of a proposition"),
    ],
)
def test_errors_say_where_what_was_found_and_expected(kind, text, position, found, expected):
    with pytest.raises(FormulaError) as caught:
        PARSERS[kind][0](text)
    error = caught.value
    assert (error.text, error.position, error.found) == (text, position, found)
    assert expected in error.expected
    assert f"position {position}: found {found}, expected {error.expected}" in str(error)
    above, below = error.picture.split("\n")
    assert above in text and above[below.index("^") :][:1] == text[position : position + 1]


NAMES = ("a", "b", "x", "o", "r", "aa", "p0", "a_1")
ODD = ["\n", "\0", " ", "é", "ſ", "١", "\ud800", "A", "?", "{}", "xor", "<->", "cycle{", "!" * 201]
PIECES = st.sampled_from([*LTL.by_token, *NAMES, *";{}()01", *ODD])
VALID = st.one_of(
    formulas(LTL, NAMES).flatmap(lambda f: st.sampled_from([to_prefix(f), to_infix(f)])),
    traces(NAMES).flatmap(lambda t: st.sampled_from([t.text(), trace_to_infix(t)])),
    assignments(NAMES).map(Assignment.text),
)


@settings(max_examples=500)
@given(VALID, st.integers(0, 12), st.integers(0, 2), PIECES)
def test_mutated_text_only_ever_raises_formula_error(text, start, gap, piece):
    text = text[:start] + piece + text[start + gap :]
    for parse, show in PARSERS.values():
        try:
            value = parse(text)
        except FormulaError as error:
            assert 0 <= error.position <= len(text) and error.text == text
            assert "\n" not in str(error) and len(str(error)) < 1000
        else:
            assert parse(show(value)) == value
