"""Formulas and prefix notation: values, sizes, paths, renamings, core operators, round trips."""

import copy
import time

import pytest
import spot
from hypothesis import given, settings
from hypothesis import strategies as st
from logical import LONG_NAMES, formulas, spot_formula

from itekit.alpha import (
    Renaming,
    all_renamings,
    alpha_covariance,
    alpha_equivalent,
    canonical,
    used_tokens,
)
from itekit.logic.formulas import (
    ARITY,
    FALSE,
    MAX_DEPTH,
    MAX_SIZE,
    PROPOSITION,
    TRUE,
    Formula,
    from_tokens,
    next_,
    proposition,
    until,
)
from itekit.logic.operators import LTL, PROPOSITIONAL, STEPS, is_name, proposition_names
from itekit.logic.prefix import FormulaError, parse_prefix, to_prefix

a, b, c = map(proposition, "abc")
languages = st.sampled_from([LTL, PROPOSITIONAL, STEPS])


# Operators and names


def test_the_tokens_of_both_logics():
    assert [o.token for o in LTL.operators if o.core] == list("10!&XU")
    assert PROPOSITIONAL.tokens == tuple("10!&|=^") and all(o.core for o in PROPOSITIONAL.operators)
    assert set(LTL.tokens) - set(STEPS.tokens) == set("XUFGRWM")
    assert all(len(token) == 1 and not is_name(token) for token in ARITY)


def test_names_in_the_order_of_a_spreadsheet():
    names = proposition_names(702)
    assert names[:3] == ("a", "b", "c") and names[25:28] == ("z", "aa", "ab")
    assert names[51:53] == ("az", "ba") and names[-1] == "zz"
    assert len(set(names)) == 702 and all(map(is_name, names))
    assert proposition_names(0) == ()
    for count in (-1, 703):
        with pytest.raises(ValueError, match=f"{count} were asked for"):
            proposition_names(count)


@pytest.mark.parametrize("name", ["", "A", "1a", "a b", "ab;", "é", "true", "false", "xor", "a\n"])
def test_what_is_no_name(name):
    assert not is_name(name)
    with pytest.raises(ValueError):
        proposition(name)


# Values


def test_a_formula_by_hand():
    f = until(a & ~b, next_(TRUE | c))
    assert f.tokens() == tuple("U&a!bX|1c")
    assert (f.size, f.depth, f.propositions) == (9, 3, ("a", "b", "c"))
    assert [str(part) for part in f.subformulas()] == [
        *("a", "b", "1", "c", "! b", "| 1 c", "& a ! b", "X | 1 c", "U & a ! b X | 1 c")
    ]
    assert f.tree_paths() == [
        (),
        (0,),
        (0, 0),
        (0, 1),
        (0, 1, 0),
        (1,),
        (1, 0),
        (1, 0, 0),
        (1, 0, 1),
    ]
    assert str(a ^ FALSE) == "^ a 0" and repr(a) == "<Formula a>"


@given(formulas(), formulas())
def test_equal_tokens_are_equal_formulas(f, g):
    same = from_tokens(f.tokens())
    assert f == same and hash(f) == hash(same) and f is not None
    assert (f == g) == (f.tokens() == g.tokens())
    assert f != f.tokens() and len({f, same, g}) == 1 + (f != g)


@given(formulas(names=LONG_NAMES))
def test_sizes_paths_and_subformulas_agree_with_the_tree(f):
    assert f.size == len(f.tokens()) == len(f.tree_paths())
    assert f.depth == max(map(len, f.tree_paths()))
    for path, node in zip(f.tree_paths(), f.nodes(), strict=True):
        at = f
        for branch in path:
            at = at.operands[branch]
        assert at == node
    parts = f.subformulas()
    assert set(parts) == set(f.nodes()) and len(set(parts)) == len(parts) and parts[-1] == f
    for place, part in enumerate(parts):
        assert set(part.operands) <= set(parts[:place])
    assert f.propositions == tuple(dict.fromkeys(t for t in f.tokens() if t not in ARITY))


@given(formulas(names=LONG_NAMES))
def test_a_copy_is_the_same_formula(f):
    for twin in (copy.copy(f), copy.deepcopy(f)):
        assert twin == f and (twin.size, twin.depth) == (f.size, f.depth)


@given(formulas())
def test_the_fast_builder_makes_what_the_constructor_makes(f):
    def rebuild(f):
        return Formula(f.operator, tuple(rebuild(operand) for operand in f.operands), f.name)

    g = from_tokens(f.tokens())
    for one, two in zip(g.nodes(), rebuild(f).nodes(), strict=True):
        for attribute in ("operator", "name", "size", "depth", "operands"):
            assert getattr(one, attribute) == getattr(two, attribute)


def test_formulas_do_not_change():
    with pytest.raises(AttributeError):
        a.name = "b"
    with pytest.raises((AttributeError, TypeError)):
        a.colour = "blue"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("?",), "unknown operator '\\?'"),
        (("!",), "'!' takes 1 operands, found 0"),
        (("&", (a,)), "'&' takes 2 operands, found 1"),
        (("1", (a,)), "'1' takes 0 operands, found 1"),
        ((PROPOSITION, (a,), "a"), "takes 0"),
        (("!", ("a",)), "must be a Formula, found 'a'"),
        ((PROPOSITION,), "does not go with name ''"),
        (("1", (), "a"), "does not go with name 'a'"),
        ((PROPOSITION, (), "Ab"), "'Ab' is no name"),
    ],
)
def test_bad_formulas(arguments, message):
    with pytest.raises(ValueError, match=message):
        Formula(*arguments)


# Nothing exhausts the stack or the memory


def test_a_formula_as_deep_as_allowed_can_be_used_everywhere():
    f = from_tokens(["!"] * MAX_DEPTH + ["a"])
    assert f.depth == MAX_DEPTH and len(f.subformulas()) == MAX_DEPTH + 1
    assert copy.deepcopy(f) == f
    assert f.rename(Renaming({"a": "b"})).propositions == ("b",) and f.core() == f
    with pytest.raises(ValueError, match="deeper than 200"):
        _ = ~f
    with pytest.raises(FormulaError, match="position 200"):
        parse_prefix("!" * (MAX_DEPTH + 1) + "a")


def test_a_formula_that_is_too_large():
    f = a
    for _ in range(15):
        f = f & f
    assert f.size == 2**16 - 1 <= MAX_SIZE and len(f.subformulas()) == 16
    with pytest.raises(ValueError, match="131071 tokens, at most 100000"):
        _ = f & f
    with pytest.raises(FormulaError, match="at most 100000 tokens"):
        parse_prefix("&" + to_prefix(f) * 2)


@pytest.mark.parametrize("text", ["!" * 90_000 + "a", "&" * 50_000 + "a" * 50_001, "&a" * 40_000])
def test_hostile_text_is_refused_at_once(text):
    start = time.process_time()
    with pytest.raises(FormulaError):
        parse_prefix(text)
    assert time.process_time() - start < 2


# Renaming, and alpha-equivalence of values


@given(formulas(names=LONG_NAMES), st.permutations(LONG_NAMES))
def test_renaming_a_formula_renames_its_tokens(f, images):
    r = Renaming(dict(zip(LONG_NAMES, images, strict=True)))
    renamed = f.rename(r)
    assert renamed.tokens() == r(f.tokens()) and renamed == r(f)
    assert renamed.rename(r.inverse()) == f
    assert (renamed.size, renamed.depth) == (f.size, f.depth)


def test_a_renaming_never_makes_an_operator_of_a_proposition():
    with pytest.raises(ValueError, match="'X' is no name"):
        parse_prefix("!a").rename(Renaming({"a": "X", "X": "a"}))
    assert parse_prefix("Xb").rename(Renaming({"a": "X", "X": "a"})) == next_(b)


@given(formulas(), formulas(), st.sampled_from(list(all_renamings("abc", "abcd"))))
def test_alpha_equivalence_of_formulas_is_that_of_their_tokens(f, g, r):
    names = "abcd"
    assert used_tokens(f, names) == list(f.propositions)
    assert alpha_equivalent(f, r(f), names)
    assert alpha_equivalent(f, g, names) == alpha_equivalent(f.tokens(), g.tokens(), names)
    form = canonical(f, names, names)
    assert isinstance(form, Formula) and form == canonical(r(f), names, names)
    assert form.propositions == tuple(names[: len(f.propositions)])


def test_alpha_covariance_of_formulas():
    group = list(all_renamings("ab", "abc"))
    assert alpha_covariance([r.inverse()(r(a & b)) for r in group]) == 1.0
    assert alpha_covariance([r.inverse()(parse_prefix("&ab")) for r in group]) == 0.0


# Core operators


@settings(max_examples=150)
@given(formulas(names=("a", "b"), leaves=5))
def test_core_keeps_the_meaning(f):
    core = f.core()
    assert {node.operator for node in core.nodes()} <= {*"10!&XU", PROPOSITION}
    assert core.core() == core
    assert spot.are_equivalent(spot_formula(core), spot_formula(f))


@pytest.mark.parametrize("operator", [o.token for o in LTL.operators if not o.core])
def test_core_of_each_derived_operator(operator):
    f = Formula(operator, (a, b)[: ARITY[operator]])
    assert spot.are_equivalent(spot_formula(f.core()), spot_formula(f))


def test_core_that_would_be_too_large():
    f = a
    for _ in range(40):
        f = Formula("=", (f, b))
    with pytest.raises(ValueError, match="at most 100000"):
        f.core()


# Prefix notation


@given(languages.flatmap(lambda language: st.tuples(st.just(language), formulas(language))))
def test_characters_round_trip(pair):
    language, f = pair
    text = to_prefix(f)
    assert len(text) == f.size and parse_prefix(text, language) == f
    assert parse_prefix(list(text), language) == parse_prefix(tuple(text), language) == f


@given(formulas(names=LONG_NAMES))
def test_spaced_round_trip(f):
    text = to_prefix(f, format="spaced")
    assert text == str(f) and parse_prefix(text, format="spaced") == f
    assert parse_prefix(f.tokens()) == parse_prefix(f.tokens(), format="spaced") == f
    if all(len(name) == 1 for name in f.propositions):
        assert parse_prefix(text.replace(" ", "")) == f
    else:
        with pytest.raises(ValueError, match="use format='spaced'"):
            to_prefix(f)


def test_a_hundred_propositions():
    names = proposition_names(100)
    f = parse_prefix(["&"] * 99 + list(names))
    text = to_prefix(f, format="spaced")
    assert parse_prefix(text, format="spaced", propositions=names).propositions == names
    with pytest.raises(FormulaError, match="found 'cv'"):
        parse_prefix(text, format="spaced", propositions=names[:-1])


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("<->a!b", "=a!b"),
        ("xorab", "^ab"),
        ("xorxor", None),  # one binary operator and three propositions too many or too few
        ("&xoraxorb<->ab", None),
        ("&xoraxorb<->abc", "&^a^b=abc"),
        ("!->xor01x", "!>^01x"),
        ("&&xor", "&&xor"),  # a formula as it stands: x, o and r
        ("xorxo", "^xo"),
        ("x", "x"),
    ],
)
def test_the_spellings_of_deepltl_are_read(text, tokens):
    if tokens is None:
        with pytest.raises(FormulaError):
            parse_prefix(text)
    else:
        assert parse_prefix(text) == from_tokens(tokens)


@given(formulas(PROPOSITIONAL, names=("a", "b", "x", "o", "r")))
def test_deepltls_spelling_never_hides_another_formula(f):
    text = "".join({"=": "<->", "^": "xor"}.get(token, token) for token in f.tokens())
    assert parse_prefix(text, PROPOSITIONAL) == f
    spaced = text.replace("xor", " xor ").replace("<->", " <-> ")
    if {"x", "o", "r"}.isdisjoint(f.propositions):
        words = [w for part in spaced.split() for w in ([part] if part in ("xor", "<->") else part)]
        assert parse_prefix(" ".join(words), PROPOSITIONAL, format="spaced") == f


def test_an_unknown_format():
    for call in (lambda: parse_prefix("a", format="words"), lambda: to_prefix(a, format="words")):
        with pytest.raises(ValueError, match="unknown format 'words': expected one of characters"):
            call()
