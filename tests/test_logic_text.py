"""Infix notation against Spot, what errors say, and every parser on random and mutated text."""

import random
import re

import pytest
import spot
from fuzz_parsers import fuzz
from hypothesis import given, settings
from hypothesis import strategies as st
from logical import LONG_NAMES, formulas, random_formula, spot_formula

from itekit.logic.infix import TOKENS, parse_infix, to_infix
from itekit.logic.operators import LTL, PROPOSITIONAL
from itekit.logic.prefix import FormulaError, parse_prefix, to_prefix

# Round trips


@settings(max_examples=200)
@given(formulas(names=LONG_NAMES))
def test_infix_round_trip_and_spot_reads_the_same(f):
    text = to_infix(f)
    assert parse_infix(text) == f
    assert parse_infix(to_infix(f, unicode=True)) == f
    assert spot.formula(text) == spot_formula(f)


@given(formulas(PROPOSITIONAL))
def test_propositional_infix_round_trip(f):
    assert parse_infix(to_infix(f), PROPOSITIONAL) == f


def test_many_larger_formulas_against_spot():
    rng = random.Random(0)
    for size in range(1, 41):
        for _ in range(8):
            f = random_formula(rng, size, LTL, "abcde")
            assert spot.formula(to_infix(f)) == spot_formula(f)
            assert parse_infix(to_infix(f)) == f


# What people type


@pytest.mark.parametrize(
    ("text", "prefix"),
    [
        ("a U b U c", "UaUbc"),
        ("a & b & c", "&&abc"),
        ("a -> b -> c", ">a>bc"),
        ("a -> b <-> c", ">a=bc"),
        ("a <-> b -> c", "=a>bc"),
        ("a R b W c M a", "RaWbMca"),
        ("a | b ^ c & a", "|a^b&ca"),
        ("a & b U c | X a", "|&aUbcXa"),
        ("!a U X b", "U!aXb"),
        ("G F a -> F G b", ">GFaFGb"),
        ("aUb", "Uab"),
        ("X0", "X0"),
        ("!X!(b & Xb)", "!X!&bXb"),
        ("X((a & Xa) U XXb)", "XU&aXaXXb"),
        ("a & (!a <-> !c | d)", "&a=!a|!cd"),
        (" ( ( a ) )\t", "a"),
        ("a/\\b\\/c", "|&abc"),
        ("¬a ∧ b ∨ c → ⊤ ↔ ⊥ ⊕ a", ">|&!abc=1^0a"),
        ("true xor false", "^10"),
        ("a && b || c", "|&abc"),
        ("[]<>a", "GFa"),
        ("□◇○a", "GFXa"),
        ("a V b", "Rab"),
    ],
)
def test_by_hand(text, prefix):
    assert to_prefix(parse_infix(text)) == prefix


def test_names_longer_than_one_letter():
    assert str(parse_infix("xorb & p0 U truey")) == "& xorb U p0 truey"


def typed_text(rng: random.Random, depth: int = 3) -> str:
    """Operands, operators and parentheses as they come, every operator in some spelling."""
    spellings = [s for s in TOKENS if s not in "⊤⊥○"]  # Spot does not read these as we do
    binary = [s for s in spellings if LTL.by_token.get(TOKENS[s]) and "2" in arity(s)]
    unary = [s for s in spellings if "1" in arity(s)]
    words = []
    for place in range(rng.randint(1, 5)):
        words += [rng.choice(binary)] if place else []
        words += rng.choices(unary, k=rng.choice([0, 0, 0, 1, 2]))
        if depth and rng.random() < 0.3:
            words += ["(", typed_text(rng, depth - 1), ")"]
        else:
            words.append(rng.choice([*"abcd", "1", "0", "true"]))
    return " ".join(words)


def arity(spelling: str) -> str:
    operator = LTL.by_token.get(TOKENS[spelling])
    return str(operator.arity) if operator else ""


def test_precedence_and_associativity_are_spots():
    rng = random.Random(1)
    for _ in range(1500):
        text = typed_text(rng)
        assert spot_formula(parse_infix(text)) == spot.formula(text), text


@given(formulas(), st.randoms(use_true_random=False))
def test_spaces_do_not_matter(f, rng):
    words = re.findall(r"[a-z]+|<->|->|\S", to_infix(f))
    assert parse_infix("".join(word + " " * rng.randint(1, 2) for word in words)) == f
    assert parse_infix("".join(words)) == f  # every name here is one letter, so none are joined


# Errors


@pytest.mark.parametrize(
    ("text", "position", "found", "expected"),
    [
        ("", 0, "the end", "a formula"),
        ("&a", 2, "the end", "a formula (the second operand of '&' at position 0)"),
        ("U&a", 3, "the end", "a formula (the second operand of '&' at position 1)"),
        ("&aX", 3, "the end", "a formula (the operand of 'X' at position 2)"),
        ("ab", 1, "'b'", "the end, as 'a' is a whole formula"),
        ("a U b", 1, "' '", "the end, as 'a' is a whole formula"),
        ("&A", 1, "'A'", "operand of '&' at position 0): an operator (1 0 ! & X U"),
        ("xora?", 4, "'?'", "the second operand of 'xor' at position 0"),
        ("<->a", 4, "the end", "the second operand of '<->' at position 0"),
        ("& a b", 1, "format='spaced'", "a formula (the first operand of '&' at position 0)"),
    ],
)
def test_prefix_errors(text, position, found, expected):
    check_error(lambda: parse_prefix(text), text, position, found, expected)


@pytest.mark.parametrize(
    ("text", "position", "found", "expected"),
    [
        ("& a  bc d", 8, "'d'", "the end, as '& a  bc' is a whole formula"),
        ("& ab", 4, "the end", "the second operand of '&' at position 0"),
        ("& ab true", 5, "'true'", "an atomic proposition (a small letter"),
    ],
)
def test_spaced_prefix_errors(text, position, found, expected):
    check_error(lambda: parse_prefix(text, format="spaced"), text, position, found, expected)


def test_errors_of_a_language_and_of_names():
    prefix, infix = parse_prefix, parse_infix
    check_error(lambda: prefix("&aXb", PROPOSITIONAL), "&aXb", 2, "'X' (next", "1 0 ! & | = ^")
    check_error(lambda: infix("a -> b", PROPOSITIONAL), "a -> b", 2, "'->' (implies", "& | <-> ^")
    check_error(lambda: prefix("&ac", propositions="ab"), "&ac", 2, "'c'", "one of a b")
    check_error(lambda: prefix(["&", "a", "B2"]), "& a B2", 4, "'B2'", "an atomic proposition")
    check_error(lambda: prefix(["&", "a"]), "&a", 2, "the end", "the second operand")


@pytest.mark.parametrize(
    ("text", "position", "found", "expected"),
    [
        ("", 0, "the end", "a formula: a name"),
        ("a &", 3, "the end", "a formula after '&' at position 2"),
        ("a -> -> b", 5, "'->'", "a formula after '->' at position 2"),
        ("a b", 2, "'b'", "an operator (& U | -> <-> ^ R W M) or the end"),
        ("a & (b | c", 10, "the end", "')' for the '(' at position 4"),
        ("a)", 1, "')'", "or the end"),
        ("()", 1, "')'", "a formula after '(' at position 0"),
        ("Ab", 0, "'A'", "a name in small letters"),
        ("a = b", 2, "'='", "an operator"),
        ("a > b", 2, "'>'", "an operator"),
        ("a & 2", 4, "'2'", "a formula after '&'"),
        ("!" * 300 + "a", 99, "'!'", "at most 200 operators inside each other"),
    ],
)
def test_infix_errors(text, position, found, expected):
    check_error(lambda: parse_infix(text), text, position, found, expected)


def check_error(call, text, position, found, expected):
    with pytest.raises(FormulaError) as caught:
        call()
    error = caught.value
    assert (error.text, error.position) == (text, position)
    assert found in error.found and expected in error.expected
    assert f"position {position}: found {error.found}, expected {error.expected}" in str(error)
    if len(text) < 60:
        assert error.picture == text + "\n" + " " * position + "^"


def test_a_long_text_is_shown_around_the_position():
    with pytest.raises(FormulaError) as caught:
        parse_prefix("!" * 100 + "?" + "a" * 100)
    shown = str(caught.value).split(", position")[0]
    assert shown.startswith("'…!!!") and shown.endswith("aaa…'") and "!?a" in shown
    assert len(shown) < 70
    above, below = caught.value.picture.split("\n")
    assert above[below.index("^")] == "?" and len(above) < 65


def test_hostile_infix_is_refused_at_once():
    for text in (
        "!" * 50_000 + "(" * 50_000 + "a" + ")" * 50_000,
        "(" * 100_000,
        "a&" * 60_000 + "a",
    ):
        with pytest.raises(FormulaError):
            parse_infix(text)
    assert parse_infix("(" * 50_000 + "a" + ")" * 50_000) == parse_infix("a")


# Every parser


def test_random_and_mutated_text_only_ever_raises_formula_error():
    counts = fuzz(3000, seed=0)
    assert len(counts) == 12
    for name, result in counts.items():
        assert sum(result.values()) == 3000
        assert min(result["taken"], result["refused"]) > 50, name
