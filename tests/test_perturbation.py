"""Perturbed data: the order in the label, the published tool's collisions, and the repair."""

import pytest
import spot
from hypothesis import given
from hypothesis import strategies as st
from logical import assignments, formulas, traces

from itekit.alpha import alpha_equivalent_pairs, used_tokens
from itekit.logic.operators import proposition_names
from itekit.logic.perturbation import collides, perturb, published_perturbation
from itekit.logic.prefix import parse_prefix
from itekit.logic.traces import parse_trace

NAMES = "abcde"


def test_by_hand():
    assert perturb("&dX&ba", "b;a;{1}", NAMES) == ("&cX&ab", "a;b;{1}")
    assert published_perturbation("&dX&ba", "b;a;{1}", NAMES) == ("&dX&ab", "a;b;{1}")
    assert not collides("&dX&ba", "b;a;{1}", NAMES)


def test_two_propositions_that_the_published_tool_makes_one():
    pair = "&a!b", "!b;{1}"  # b becomes a, and a stays
    assert published_perturbation(*pair, NAMES) == ("&a!a", "!a;{1}")
    assert collides(*pair, NAMES)
    assert perturb(*pair, NAMES) == ("&b!a", "!a;{1}")
    assert not spot.formula("a & !b").equivalent_to(spot.formula("a & !a"))


pairs = st.tuples(
    formulas(names=NAMES), st.one_of(traces(NAMES, leaves=2), assignments(NAMES))
).map(lambda pair: (pair[0].tokens(), pair[1].tokens()))


@given(pairs)
def test_the_repair_is_a_renaming_that_puts_the_label_in_order(pair):
    source, label = perturb(*pair, NAMES)
    assert alpha_equivalent_pairs(pair, (source, label), NAMES)
    count = len(used_tokens(label, NAMES))
    assert used_tokens(label, NAMES) == list(NAMES[:count])
    only_source = [name for name in used_tokens(source, NAMES) if name not in NAMES[:count]]
    assert only_source == list(NAMES[count : count + len(only_source)])
    assert perturb(source, label, NAMES) == (source, label)


@given(pairs)
def test_the_published_tool_is_right_exactly_where_nothing_collides(pair):
    published = published_perturbation(*pair, NAMES)
    assert used_tokens(published[1], NAMES) == used_tokens(perturb(*pair, NAMES)[1], NAMES)
    if set(used_tokens(pair[1], NAMES)) <= set(used_tokens(pair[0], NAMES)):
        assert collides(*pair, NAMES) != alpha_equivalent_pairs(pair, published, NAMES)


def test_formulas_and_traces_are_perturbed_as_their_tokens_are():
    pair = parse_prefix("&dX&ba"), parse_trace("b;a;{1}")
    assert perturb(*pair, NAMES) == (parse_prefix("&cX&ab"), parse_trace("a;b;{1}"))


def test_names_of_more_than_one_letter():
    names = proposition_names(30)
    source, label = perturb(["&", "ad", "ab"], ("ab", "1"), names)
    assert (source, label) == (["&", "b", "a"], ("a", "1"))
    assert published_perturbation(["&", "ad", "ab"], ("ab", "1"), names)[0] == ["&", "ad", "a"]


@pytest.mark.parametrize("names", ["aab", ["a", "a"]])
def test_names_that_stand_twice(names):
    with pytest.raises(ValueError, match="'a' stands twice among the names"):
        perturb("a", "a", names)
