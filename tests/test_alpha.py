"""Renamings: group laws, brute-force alpha-equivalence, counts, and the paper's worked examples."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from itekit.alpha import (
    Renaming,
    all_renamings,
    alpha_covariance,
    alpha_equivalent,
    alpha_equivalent_pairs,
    canonical,
    canonical_renaming,
    sample_renamings,
    used_tokens,
)

LETTERS = "abcd"
FIXED = "&X"

strings = st.text(alphabet=LETTERS + FIXED, max_size=7)
renamings = st.permutations(LETTERS).map(lambda to: Renaming(dict(zip(LETTERS, to, strict=True))))
partial_mappings = st.integers(0, 4).flatmap(
    lambda k: st.tuples(st.permutations(LETTERS), st.permutations(LETTERS)).map(
        lambda sides: dict(zip(sides[0][:k], sides[1][:k], strict=True))
    )
)


def every_renaming() -> list[Renaming]:
    """All bijections of LETTERS, made without the functions under test."""
    return [Renaming(dict(zip(LETTERS, to, strict=True))) for to in itertools.permutations(LETTERS)]


# Renamings as values


@given(renamings, strings)
def test_a_renaming_keeps_the_kind_of_a_sequence_and_is_undone_by_its_inverse(r, tokens):
    assert r.inverse()(r(tokens)) == tokens == r(r.inverse()(tokens))
    assert r.inverse().inverse() == r and Renaming.identity(tokens) == tokens
    assert r(list(tokens)) == list(r(tokens)) and r(tuple(tokens)) == tuple(r(tokens))


@given(partial_mappings)
def test_any_one_to_one_mapping_is_closed_into_a_bijection(mapping):
    r = Renaming(mapping)
    assert all(r(old) == new for old, new in mapping.items())
    assert sorted(r(LETTERS)) == sorted(LETTERS)
    touched = set(mapping) | set(mapping.values())
    assert all(r(token) == token for token in LETTERS if token not in touched)


def test_equal_bijections_are_equal_whatever_they_came_from():
    r = Renaming({"a": "b", "b": "a", "c": "c"})
    assert r == Renaming({"a": "b"}) and len({r, Renaming({"b": "a"})}) == 1
    assert r != Renaming({"a": "c"})
    long = Renaming({"a": "p10"})
    assert long(["&", "a", "p10"]) == ["&", "p10", "a"]
    with pytest.raises(ValueError, match="'p10' does not fit in a string"):
        long("&ab")


def test_bad_mappings_are_named():
    for mapping, interchangeable, message in [
        ({"a": "c", "b": "c"}, None, "'a' and 'b' both become 'c'"),
        ({"a": "&"}, "abc", "'&' is not interchangeable"),
        ({"a": "bc"}, "abc", "'bc' is not interchangeable"),
    ]:
        with pytest.raises(ValueError, match=message):
            Renaming(mapping, interchangeable)


# The paper's example


def test_the_papers_pairs():
    pair = ("&aXb", "a;b;{1}")
    assert Renaming({"a": "b", "b": "a"}, "ab").apply_pair(*pair) == ("&bXa", "b;a;{1}")
    assert Renaming({"a": "c", "b": "d"}, "abcd").apply_pair(*pair) == ("&cXd", "c;d;{1}")
    assert alpha_equivalent_pairs(pair, ("&bXa", "b;a;{1}"), "ab")
    assert alpha_equivalent_pairs(pair, ("&cXd", "c;d;{1}"), "abcd")
    # each half is equivalent to its counterpart, by two different renamings
    crossed = ("&cXd", "d;c;{1}")
    assert alpha_equivalent(pair[0], crossed[0], "abcd")
    assert alpha_equivalent(pair[1], crossed[1], "abcd")
    assert not alpha_equivalent_pairs(pair, crossed, "abcd")
    # d is a letter of the larger vocabulary only
    assert not alpha_equivalent_pairs(pair, ("&cXd", "c;d;{1}"), "abc")
    # a shorter input with a longer output is another pair
    assert not alpha_equivalent_pairs(("ab", "c"), ("a", "bc"), LETTERS)


# Alpha-equivalence and the canonical form


@given(strings, strings, renamings, st.booleans())
def test_alpha_equivalent_is_what_brute_force_finds(a, b, r, related):
    b = r(a) if related else b
    related_by_one = any(s(a) == b for s in every_renaming())
    assert alpha_equivalent(a, b, LETTERS) == related_by_one
    form = canonical(a, LETTERS, LETTERS)
    assert (form == canonical(b, LETTERS, LETTERS)) == related_by_one
    assert used_tokens(form, LETTERS) == list(LETTERS[: len(used_tokens(a, LETTERS))])


@given(strings, strings, strings, strings, renamings, renamings)
def test_pairs_need_one_renaming_for_both_halves(a, b, c, d, r, s):
    for other in [(c, d), (r(a), r(b)), (r(a), s(b))]:
        related_by_one = any(t.apply_pair(a, b) == other for t in every_renaming())
        assert alpha_equivalent_pairs((a, b), other, LETTERS) == related_by_one


def test_canonical_renaming_serves_both_halves_without_merging():
    # perturbed data: letters in order of appearance in the label, those it lacks come after
    formula, label = "&dX&ba", "b;a"
    r = canonical_renaming(label + formula, LETTERS, LETTERS)
    assert r.apply_pair(formula, label) == ("&cX&ab", "a;b")
    assert canonical("&dXa", ["c", "b"], LETTERS) == "&cXb"
    with pytest.raises(ValueError, match="3 tokens appear, and there are 2 names"):
        canonical("abc", "ab", LETTERS)
    with pytest.raises(ValueError, match="'&' is not interchangeable"):
        canonical("ab", "a&b", LETTERS)


# Enumeration and sampling


def test_all_renamings_are_the_injections_in_order():
    for n, k in [(0, 0), (3, 0), (3, 1), (4, 3), (5, 5)]:
        available, used = "pqrstu"[:n], "abcde"[:k]
        images = ["".join(r(used)) for r in all_renamings(used, available)]
        assert images == ["".join(image) for image in itertools.permutations(available, k)]


@given(st.integers(0, 5), st.integers(0, 5), st.integers(0, 2**32 - 1), st.data())
def test_samples_are_distinct_and_among_all(n, k, seed, data):
    available, used = LETTERS[:n] + "e" * (n == 5), LETTERS[: min(k, n, 4)]
    everything = set(all_renamings(used, available))
    count = data.draw(st.integers(0, len(everything)))
    sample = sample_renamings(used, available, count, np.random.default_rng(seed))
    assert len(sample) == len(set(sample)) == count
    assert set(sample) <= everything
    assert sample == sample_renamings(used, available, count, np.random.default_rng(seed))


def test_sampling_is_uniform_over_renamings_and_orders():
    # ordered pairs of distinct renamings of 2 tokens to 3: 6 * 5 equally likely outcomes
    rng, rounds = np.random.default_rng(0), 6000
    seen = Counter(tuple(sample_renamings("ab", "abc", 2, rng)) for _ in range(rounds))
    assert len(seen) == 30
    chi_square = sum((count - rounds / 30) ** 2 / (rounds / 30) for count in seen.values())
    assert chi_square < 58.3  # 29 degrees of freedom, 0.1 per cent


def test_sampling_from_a_set_too_large_to_list():
    names = [f"p{number}" for number in range(60)]  # P(60, 40) is about 3e63
    sample = sample_renamings(names[:40], names, 500, np.random.default_rng(1))
    images = [tuple(r(names[:40])) for r in sample]
    assert len(set(images)) == 500 and all(len(set(image)) == 40 for image in images)
    firsts = Counter(image[0] for image in images)
    assert len(firsts) == 60 and max(firsts.values()) < 30  # 500 draws over 60 names


def test_more_than_there_are():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="a larger sample than population"):
        sample_renamings("ab", "abc", 7, rng)
    with pytest.raises(ValueError, match="3 used tokens cannot be renamed to 2"):
        all_renamings("abc", "ab")
    with pytest.raises(ValueError, match="a token stands twice in 'aa'"):
        sample_renamings("aa", "abc", 0, rng)


# Alpha-covariance


def test_alpha_covariance_by_hand():
    # the "or" of three variables; the model makes the alphabetically first one true
    answers = []
    for r in all_renamings("abc", "abc"):
        formula = r("||abc")
        answers.append(r.inverse()(min(set(formula) - {"|"}) + "1"))
    assert sorted(answers) == ["a1", "a1", "b1", "b1", "c1", "c1"]
    assert alpha_covariance(answers) == pytest.approx(1 - (3 - 1) / (6 - 1))
    assert alpha_covariance([["a", "1"], ("a", "1"), "a1", "b1"]) == pytest.approx(1 - 1 / 3)
    copied = [r.inverse()(r("&ab")) for r in every_renaming()]
    assert alpha_covariance(copied) == 1.0 and alpha_covariance("abcd") == 0.0
    with pytest.raises(ValueError, match="at least 2 .*, found 1"):
        alpha_covariance(["a1"])
