"""Vocabularies: identifiers, round trips, classes, extension, errors that name the token."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from itekit.vocabulary import END, PAD, SPECIAL, START, UnknownTokenError, Vocabulary

TWO = Vocabulary(("+", "not"), (("x", "y", "z"), ("0", "1")))
words = st.text(st.characters(categories=["L", "N", "S", "P"]), min_size=1, max_size=4)


@st.composite
def vocabularies(draw) -> Vocabulary:
    tokens = draw(st.lists(words.filter(lambda w: w not in SPECIAL), unique=True, max_size=20))
    classes = draw(st.integers(1, 3))
    places = [draw(st.integers(0, classes)) for _ in tokens]
    parts = [tuple(t for t, p in zip(tokens, places, strict=True) if p == i)
             for i in range(classes + 1)]  # fmt: skip
    return Vocabulary(parts[0], tuple(parts[1:]))


def test_identifiers_are_special_then_fixed_then_the_classes_in_order():
    assert TWO.tokens == (PAD, END, START, "+", "not", "x", "y", "z", "0", "1")
    assert [TWO.tokens[i] for i in (TWO.pad_id, TWO.end_id, TWO.start_id)] == [PAD, END, START]
    assert (TWO.learned_count, TWO.class_sizes) == (5, (3, 2))
    assert (TWO.class_ids(0), TWO.class_ids(1)) == (range(5, 8), range(8, 10))
    assert TWO.interchangeable_ids == range(5, 10)


@given(vocabularies())
def test_every_token_has_one_identifier_and_one_place(vocabulary):
    ids = vocabulary.encode(vocabulary.tokens)
    assert ids == list(range(len(vocabulary)))
    assert vocabulary.decode(ids) == list(vocabulary.tokens)
    in_classes = [
        i for k in range(len(vocabulary.class_sizes)) for i in vocabulary.class_ids(k)
    ]  # fmt: skip
    assert in_classes == list(vocabulary.interchangeable_ids)
    assert len(vocabulary) == vocabulary.learned_count + sum(vocabulary.class_sizes)


@given(vocabularies(), st.data())
def test_encode_and_decode_are_inverse(vocabulary, data):
    tokens = data.draw(st.lists(st.sampled_from(vocabulary.tokens), max_size=12))
    assert vocabulary.decode(vocabulary.encode(tokens)) == tokens


@given(vocabularies())
def test_json_round_trip(vocabulary):
    assert Vocabulary.from_json(vocabulary.to_json()) == vocabulary


def test_a_string_is_read_one_character_a_token():
    assert TWO.encode("x+1") == [5, 3, 9] == TWO.encode(["x", "+", "1"])
    assert TWO.encode("") == []


def test_an_unknown_token_is_named_with_its_position():
    with pytest.raises(UnknownTokenError, match=r"'w' at position 2: expected one of .*x y z 0 1"):
        TWO.encode("x+w")


@pytest.mark.parametrize("identifier", [-1, 10])
def test_an_identifier_out_of_range_is_named(identifier):
    with pytest.raises(ValueError, match=rf"identifier {identifier} \(position 1\).*0 to 9"):
        TWO.decode([0, identifier])


def test_extension_adds_to_the_ends_of_classes_and_moves_nothing_learned():
    longer = TWO.extend({0: "ab", 1: ["2"]})
    assert longer.interchangeable == (("x", "y", "z", "a", "b"), ("0", "1", "2"))
    assert longer.fixed == TWO.fixed and longer.learned_count == TWO.learned_count
    assert longer.tokens[: TWO.learned_count] == TWO.tokens[: TWO.learned_count]
    assert TWO.extend({}) == TWO


def test_one_class_is_extended_without_naming_it():
    assert Vocabulary(interchangeable=("ab",)).extend("cd").interchangeable == (tuple("abcd"),)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("ab", "2 interchangeable classes: say which"),
        ({2: "ab"}, "no interchangeable class 2: expected 0 to 1"),
        ({-1: "ab"}, "no interchangeable class -1"),
        ({1: "x"}, "'x' occurs twice"),
    ],
)
def test_a_wrong_extension_is_an_error(more, message):
    with pytest.raises(ValueError, match=message):
        TWO.extend(more)


@pytest.mark.parametrize(
    ("fixed", "interchangeable", "message"),
    [
        (("a", "a"), (), "'a' occurs twice"),
        (("a",), (("b", "a"),), "'a' occurs twice"),
        ((START,), (), "'<start>' occurs twice"),
        (("",), (), "non-empty string, found ''"),
        ((3,), (), "non-empty string, found 3"),
        ((), "abc", r"found 'abc': one class is \('abc',\)"),
    ],
)
def test_a_wrong_vocabulary_is_an_error(fixed, interchangeable, message):
    with pytest.raises(ValueError, match=message):
        Vocabulary(fixed, interchangeable)
