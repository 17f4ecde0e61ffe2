"""Vocabularies: identifiers, round trips, classes, extension, errors; those of the tasks."""

import pytest

from itekit.logic.formulas import LTL, PROPOSITIONAL, is_name
from itekit.tasks.ltl import Ltl
from itekit.tasks.propositional import Propositional
from itekit.vocabulary import (
    END,
    PAD,
    SPECIAL,
    START,
    UnknownTokenError,
    Vocabulary,
    alphabet,
    copying_vocabulary,
    proposition_names,
)

TWO = Vocabulary(("+", "not"), (("x", "y", "z"), ("0", "1")))


def test_identifiers_are_special_then_fixed_then_the_classes_in_order():
    assert TWO.tokens == (PAD, END, START, "+", "not", "x", "y", "z", "0", "1")
    assert [TWO.tokens[i] for i in (TWO.pad_id, TWO.end_id, TWO.start_id)] == [PAD, END, START]
    assert (TWO.learned_count, TWO.class_sizes) == (5, (3, 2))
    assert (TWO.class_ids(0), TWO.class_ids(1)) == (range(5, 8), range(8, 10))
    assert TWO.encode(TWO.tokens) == list(range(len(TWO))) == list(range(10))
    assert TWO.decode(range(10)) == list(TWO.tokens)


def test_an_unknown_token_is_named_with_its_position():
    assert TWO.encode("x+1") == [5, 3, 9] == TWO.encode(["x", "+", "1"])
    with pytest.raises(UnknownTokenError, match=r"'w' at position 2: expected one of .*x y z 0 1"):
        TWO.encode("x+w")


def test_extension_adds_to_the_ends_of_classes_and_moves_nothing_learned():
    longer = TWO.extend("ab").extend(["2"], 1)
    assert longer.interchangeable == (("x", "y", "z", "a", "b"), ("0", "1", "2"))
    assert longer.tokens[: TWO.learned_count] == TWO.tokens[: TWO.learned_count]
    assert TWO.extend(()) == TWO and TWO.extend("ab") == TWO.extend(["a", "b"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TWO.extend("x", 1), "'x' occurs twice"),
        (lambda: Vocabulary(("a", "a")), "'a' occurs twice"),
        (lambda: Vocabulary((START,)), "'<start>' occurs twice"),
        (lambda: Vocabulary((), "abc"), r"found 'abc': one class is \('abc',\)"),
        (lambda: alphabet(0), "1 to 10000 characters, 0 were asked"),
    ],
)
def test_a_wrong_vocabulary_or_extension_is_an_error(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# The tasks' vocabularies


@pytest.mark.parametrize("size", [1, 5, 62, 63, 160])
def test_an_alphabet_has_different_characters_and_begins_like_a_smaller_one(size):
    assert len(set(alphabet(size))) == size == len(copying_vocabulary(size)) - len(SPECIAL)
    assert all(len(character) == 1 for character in alphabet(size))
    assert alphabet(size) == alphabet(size + 1)[:size]


def test_propositions_are_called_by_letters_then_by_ideographs():
    assert proposition_names(3) == ("a", "b", "c")
    assert proposition_names(28)[25:] == ("z", "一", "丁")
    assert len(set(proposition_names(702))) == 702 and is_name(proposition_names(702)[-1])


@pytest.mark.parametrize(("task", "language"), [(Ltl, LTL), (Propositional, PROPOSITIONAL)])
def test_the_fixed_tokens_are_the_operators_that_data_use(task, language):
    core = {o.token for o in language.operators if o.core}
    assert core <= set(task(propositions=2).vocabulary.fixed) <= core | set("|;{}")
    assert task(propositions=2).vocabulary.interchangeable == (("a", "b"),)
