"""Random formulas: what they are made of, that a seed decides them, and what was asked for."""

import subprocess
import sys
from collections import Counter
from itertools import islice, product
from pathlib import Path

import pytest
import spot

from itekit.datasets.candidates import BATCH, random_formulas
from itekit.logic.formulas import ARITY, LTL, PROPOSITIONAL, parse_prefix, split, to_prefix
from itekit.logic.infix import parse_infix
from itekit.logic.spot_bridge import prefix_to_spot
from itekit.logic.traces import sorted_operands
from itekit.tasks.ltl import solve
from itekit.vocabulary import proposition_names, propositional_vocabulary


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


def test_the_vocabulary_is_that_of_the_models():
    tokens = propositional_vocabulary(4).tokens
    assert set().union(*first(3000, PROPOSITIONAL, 4, (1, 20), 0)) == set(tokens[3:])
    assert set().union(*first(3000, LTL, 4, (1, 20), 0)) == set("10!&XUabcd")


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
    assert chi_square < degrees + 4 * (2 * degrees) ** 0.5, (chi_square, degrees)


def nameless() -> list[spot.formula]:
    """Formulas without propositions, in an odd order of age."""
    found = [spot.formula.X(spot.formula.ff())]
    for _ in range(5):
        pairs = list(product(found[-5:], repeat=2))
        found += [spot.formula.U(*pair) for pair in pairs]
        found += [spot.formula.X(spot.formula.Not(formula)) for formula in found[-9:]]
        found += [spot.formula.X(formula) for formula in found[-9:]]
    return found


def test_a_seed_decides_whatever_else_the_process_does():
    alone = first(2500, LTL, 5, (1, 35), 7)
    alive = [nameless(), [prefix_to_spot(text) for text in alone]]
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
    assert len(alive) == 2527  # alive until here


def test_spot_would_change_nothing_but_the_order_of_operands():
    drawn = first(2000, LTL, 3, (1, 30), 8)
    for text in drawn:
        again = parse_infix(str(prefix_to_spot(text)))
        assert sorted_operands(again) == sorted_operands(parse_prefix(text))
    assert sum("&" in text and "X0" in text for text in drawn) > 100


def test_a_seed_decides_in_another_process_too():
    code = (
        "from itertools import islice; from itekit.datasets.candidates import random_formulas; "
        "from itekit.logic.formulas import LTL; "
        "print(*islice(random_formulas(LTL, 10, (1, 40), 3, rename_sorted=True), 2000))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parents[1], capture_output=True, text=True
    )
    assert done.stdout.split() == first(2000, LTL, 10, (1, 40), 3, rename_sorted=True)


def test_seeds_and_batches_differ():
    texts = [first(3 * BATCH, LTL, 10, (30, 40), seed) for seed in range(4)]
    batches = [
        tuple(t[start : start + BATCH]) for t in texts for start in range(0, 3 * BATCH, BATCH)
    ]
    assert len(set(batches)) == 12
    large = [text for batch in batches for text in batch if len(text) > 25]
    assert len(set(large)) > 0.99 * len(large) > 3000


@pytest.mark.parametrize(
    ("language", "propositions", "size"),
    [(LTL, 1, 30), (LTL, 5, 35), (LTL, 10, 50), (PROPOSITIONAL, 2, 12), (PROPOSITIONAL, 10, 50)],
)
def test_exact_sizes_are_found(language, propositions, size):
    source = random_formulas(language, propositions, (size, size), 0, fitting=True, limit=100_000)
    texts = list(islice(source, 100))
    assert {len(text) for text in texts} == {size} and len(texts) == 100
    assert source.trees < 100_000
    assert set().union(*texts) - ARITY.keys() == set("abcdefghij"[:propositions])


def test_fitting_formulas_are_the_ones_that_fit():
    everything = first(5000, LTL, 3, (10, 15), 5)
    fit = random_formulas(LTL, 3, (10, 15), 5, fitting=True, limit=5000)
    assert list(fit) == [text for text in everything if len(text) >= 10] and fit.trees == 5000
    all_three = random_formulas(LTL, 3, (10, 15), 5, all_propositions=True, limit=5000)
    assert list(all_three) == [
        text for text in everything if len(text) >= 10 and len(names_of(text)) == 3
    ]
    endless = random_formulas(LTL, 3, (10, 15), 5, fitting=True)
    assert next(endless) == everything[endless.trees - 1]


def test_what_does_not_exist_ends_at_the_limit():
    nothing = random_formulas(LTL, 10, (10, 10), 0, all_propositions=True, limit=2500)
    assert list(nothing) == [] and nothing.trees == 2500
    assert next(nothing, None) is None and nothing.trees == 2500
    assert list(random_formulas(LTL, 1, (1, 1), 0, limit=0)) == []


def test_names_in_sorted_order():
    plain = first(2000, LTL, 10, (1, 35), 2)
    renamed = first(2000, LTL, 10, (1, 35), 2, rename_sorted=True)
    for before, after in zip(plain, renamed, strict=True):
        used = sorted(names_of(before))
        table = dict(zip(used, "abcdefghij", strict=False))
        assert after == "".join(table.get(token, token) for token in before)
    assert any(before != after for before, after in zip(plain, renamed, strict=True))


def test_a_larger_alphabet_finds_many_propositions_in_few_leaves():
    options = {"all_propositions": True, "limit": 30_000}
    few = list(random_formulas(LTL, 6, (14, 14), 0, **options))
    many = list(random_formulas(LTL, 6, (14, 14), 0, alphabet=60, **options))
    assert all(len(text) == 14 and names_of(text) == set("abcdef") for text in few + many)
    assert len(many) > 10 * len(few)
    at_most = list(random_formulas(LTL, 6, (14, 14), 0, alphabet=60, limit=3000))
    assert {len(names_of(text)) for text in at_most} >= {2, 3, 4, 5, 6}
    assert {len(text) for text in at_most} == {14}


@pytest.mark.parametrize("alphabet", [None, 30])
def test_a_larger_alphabet_leaves_formulas_of_one_shape_equally_likely(alphabet):
    options = {"all_propositions": True, "alphabet": alphabet, "limit": 100_000}
    texts = random_formulas(LTL, 2, (5, 5), 0, **options)
    found = Counter(text for text in texts if text[1:3] == "UX" or text[:2] == "UX")
    shapes = {text.replace("a", "?").replace("b", "?") for text in found}
    for shape in shapes:
        assert shape.count("?") == 2
        one, other = (found[shape.replace("?", x, 1).replace("?", y)] for x, y in ("ab", "ba"))
        assert abs(one - other) < 5 * (one + other) ** 0.5
    assert len(shapes) > 3 and min(found.values()) > 20


def test_names_past_z():
    names = proposition_names(30)
    texts = [split(text) for text in first(200, LTL, 30, (40, 40), 0, fitting=True)]
    assert all(len(tokens) == 40 for tokens in texts)
    assert set().union(*texts) - ARITY.keys() == set(names)


@pytest.mark.parametrize(
    ("args", "options", "message"),
    [
        ((LTL, 0, (1, 9), 0), {}, "1 <= propositions"),
        ((LTL, 5, (0, 9), 0), {}, "1 <= low <= high, found 0 and 9"),
        ((LTL, 5, (9, 8), 0), {}, "found 9 and 8"),
        ((LTL, 5, (1, 9), -1), {}, "found -1 and None"),
        ((LTL, 5, (1, 9), 0), {"limit": -1}, "found 0 and -1"),
        ((LTL, 5, (1, 9), 0), {"alphabet": 4}, "<= alphabet, not 5, 4"),
        ((LTL, 703, (1, 9), 0), {}, "702 names"),
    ],
)
def test_arguments_out_of_range(args, options, message):
    with pytest.raises(ValueError, match=message):
        random_formulas(*args, **options)
