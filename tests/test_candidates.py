"""Random formulas: what they are made of, that a seed decides them, and what was asked for."""

import re
from collections import Counter
from itertools import islice, product
from string import ascii_lowercase

import pytest
import spot

from itekit.datasets.candidates import COLLECTIONS, candidates, patterns, random_formulas
from itekit.logic.formulas import ARITY, LTL, PROPOSITIONAL, parse_prefix, split, to_prefix
from itekit.logic.spot_bridge import prefix_to_spot
from itekit.logic.traces import sorted_operands
from itekit.tasks.ltl import solve
from itekit.vocabulary import proposition_names
from lessons.infix import parse_infix


def first(count: int, *args, **options) -> list[str]:
    return list(islice(random_formulas(*args, **options), count))


def names_of(text: str) -> set[str]:
    return set(text) - ARITY.keys()


@pytest.mark.parametrize("language", [LTL, PROPOSITIONAL])
def test_formulas_are_of_the_language_and_no_larger_than_their_trees(language):
    core = {operator.token for operator in language.operators if operator.core}
    texts = first(3000, language, 4, (5, 20), 0)
    for text in texts[:500]:
        assert to_prefix(parse_prefix(text, language, propositions="abcd")) == text
    assert set().union(*texts) <= core | set("abcd")
    assert set().union(*texts) >= core - {"|"} | set("abcd")
    assert max(map(len, texts)) == 20  # 20 nodes are 20 tokens where Spot simplifies nothing
    assert max(map(len, first(3000, language, 4, (20, 20), 0))) == 20


def small_trees(language, size: int, names: str) -> dict[tuple, float]:
    """Trees of up to 3 nodes with their probabilities under the weights: the recipe by hand."""
    weights = {"!": 1, "X": 1, "U": 1, "&": 1} if language is LTL else {}
    weights = weights or {"!": 1, "&": 1, "|": 1, "=": 0.5, "^": 0.5}
    leaves = {leaf: 1 / (2 + len(names)) for leaf in "10" + names}
    if size == 1:
        return leaves
    unary = {token: weight for token, weight in weights.items() if ARITY[token] == 1}
    chosen = unary if size == 2 else weights
    total, found = sum(chosen.values()), Counter()
    for token, weight in chosen.items():
        parts = [small_trees(language, size - 1, names)] if ARITY[token] == 1 else [leaves, leaves]
        for operands in product(*(part.items() for part in parts)):
            probability = weight / total
            for _, share in operands:
                probability *= share
            found[token + "".join(text for text, _ in operands)] += probability
    return found


@pytest.mark.parametrize("language", [LTL, PROPOSITIONAL])
def test_weights_are_those_of_the_recipe(language):
    expected = Counter()
    for tree, probability in small_trees(language, 3, "ab").items():
        made = to_prefix(parse_infix(str(prefix_to_spot(tree))))  # what Spot makes of a tree
        expected[made] += probability
    drawn = 20_000
    found = Counter(first(drawn, language, 2, (3, 3), 1))
    assert found.keys() == expected.keys()
    chi_square = sum(
        (found[text] - drawn * share) ** 2 / (drawn * share) for text, share in expected.items()
    )
    degrees = len(expected) - 1
    assert chi_square < degrees + 4 * (2 * degrees) ** 0.5


def test_a_seed_decides_whatever_else_the_process_does():
    alone = first(2500, LTL, 5, (1, 35), 7)
    alive = [spot.formula.X(spot.formula.ff())]  # formulas without names, in an odd order of age
    for _ in range(5):
        alive += [spot.formula.U(*pair) for pair in product(alive[-5:], repeat=2)]
        alive += [spot.formula.X(spot.formula.Not(formula)) for formula in alive[-9:]]
    alive += [prefix_to_spot(text) for text in alone]
    for text in alone:  # as somebody might call them in Spot
        numbers = [f"p{'abcde'.index(token)}" if token.islower() else token for token in text]
        alive.append(prefix_to_spot(" ".join(numbers) + " "))
    mixed, other = random_formulas(LTL, 5, (1, 35), 7), random_formulas(PROPOSITIONAL, 3, (9, 9), 7)
    found = []
    for number in range(2500):
        found.append(next(mixed))
        if number % 100 == 0:
            spot.srand(number)
            alive.append([next(other), solve(min(found, key=len))])
    assert found == alone
    assert len(alive) > 5000  # alive until here


def test_spot_would_change_nothing_but_the_order_of_operands():
    drawn = first(2000, LTL, 3, (1, 30), 8)
    for text in drawn:
        again = parse_infix(str(prefix_to_spot(text)))
        assert sorted_operands(again) == sorted_operands(parse_prefix(text))
    assert sum("&" in text and "X0" in text for text in drawn) > 100


@pytest.mark.parametrize(
    ("language", "propositions", "size"),
    [(LTL, 1, 30), (LTL, 10, 50), (PROPOSITIONAL, 10, 50), (LTL, 30, 40)],
)
def test_exact_sizes_are_found(language, propositions, size):
    texts = first(300, language, propositions, (size, size), 0, fitting=True, limit=100_000)
    assert {len(split(text)) for text in texts} == {size} and len(texts) == 300
    used = {token for text in texts for token in split(text)} - ARITY.keys()
    assert used == set(proposition_names(propositions))


def test_fitting_formulas_are_the_ones_that_fit():
    everything = first(5000, LTL, 3, (10, 15), 5)
    fit = list(islice(candidates(LTL, 3, (10, 15), 5, fitting=True), 5000))
    assert fit == [text if len(text) >= 10 else None for text in everything]
    assert list(random_formulas(LTL, 3, (10, 15), 5, fitting=True, limit=5000)) == [
        text for text in fit if text
    ]
    all_three = random_formulas(LTL, 3, (10, 15), 5, fitting="all", limit=5000)
    assert list(all_three) == [text for text in fit if text and len(names_of(text)) == 3]
    nothing = random_formulas(LTL, 10, (10, 10), 0, fitting="all", limit=2500)
    assert list(nothing) == []


def test_a_larger_alphabet_finds_many_propositions_in_few_leaves():
    few, many = (
        list(random_formulas(LTL, 6, (14, 14), 0, fitting="all", limit=30_000, alphabet=alphabet))
        for alphabet in (None, 60)
    )
    assert all(len(text) == 14 and names_of(text) == set("abcdef") for text in few + many)
    assert len(many) > 10 * len(few)


@pytest.mark.parametrize("alphabet", [None, 30])
def test_a_larger_alphabet_leaves_formulas_of_one_shape_equally_likely(alphabet):
    options = {"fitting": "all", "alphabet": alphabet, "limit": 100_000}
    texts = random_formulas(LTL, 2, (5, 5), 0, **options)
    found = Counter(text for text in texts if text[1:3] == "UX" or text[:2] == "UX")
    shapes = {text.replace("a", "?").replace("b", "?") for text in found}
    for shape in shapes:
        assert shape.count("?") == 2
        one, other = (found[shape.replace("?", x, 1).replace("?", y)] for x, y in ("ab", "ba"))
        assert abs(one - other) < 5 * (one + other) ** 0.5
    assert len(shapes) > 3 and min(found.values()) > 20


@pytest.mark.parametrize(
    ("propositions", "sizes", "seed", "alphabet"),
    [(0, (1, 9), 0, None), (5, (9, 8), 0, None), (5, (1, 9), -1, None), (5, (1, 9), 0, 4)],
)
def test_arguments_out_of_range(propositions, sizes, seed, alphabet):
    with pytest.raises(ValueError, match="found"):
        next(random_formulas(LTL, propositions, sizes, seed, alphabet=alphabet))


def test_patterns_mean_what_people_wrote():
    found = {f: text for collection in COLLECTIONS for f, text in patterns(collection).items()}
    assert len(found) == 164  # of 169, five are in two collections
    for formula, text in found.items():
        assert set(formula) <= set("01!&XU") | set(ascii_lowercase)
        numbers = sorted(set(re.findall(r"p(\d+)", text)), key=int)
        for name, number in zip(proposition_names(len(numbers)), numbers, strict=True):
            text = re.sub(rf"p{number}\b", name, text)
        assert spot.are_equivalent(prefix_to_spot(formula), spot.formula(text))
