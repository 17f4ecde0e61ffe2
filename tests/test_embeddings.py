"""Makers of U: the paper's equation by hand, what is learned, extension, renaming, errors."""

import math
from itertools import product

import pytest
import torch
from tiny import seeded

import itekit.names  # noqa: F401 (the invariant kind is among EMBEDDINGS)
from itekit.embeddings import (
    EMBEDDINGS,
    AlphaRenamingEmbedding,
    DualPartEmbedding,
    EmbeddingConfig,
    LearnedEmbedding,
)
from itekit.random_vectors import METHODS, SamplingSetTooSmallError, random_vectors
from itekit.vocabulary import Vocabulary

ONE = Vocabulary(("+",), ("abcde",))
TWO = Vocabulary((), ("abc", "xyz0"))
SWITCHES = list(product([False, True], repeat=2))


def dual(vocabulary: Vocabulary = ONE, method: str = METHODS[2], d_beta: int = 4, **switches):
    torch.manual_seed(7)
    return DualPartEmbedding(vocabulary, 12, d_beta, method, **switches)


def unit(row: list[float]) -> list[float]:
    norm = math.sqrt(sum(x * x for x in row))
    return [x / norm for x in row]


def by_hand(maker, vocabulary, generator, f_bn, f_fn) -> list[list[float]]:
    """Paper, equation "embed", one row and one number at a time."""
    bn, fn = (unit if switch else list for switch in (f_bn, f_fn))
    rows = [fn(bn(learned) + [0.0] * maker.d_beta) for learned in maker.learned.tolist()]
    for alpha, size in zip(maker.shared.tolist(), vocabulary.class_sizes, strict=True):
        betas = random_vectors(maker.method, size, maker.d_beta, generator)
        rows += [fn(bn(alpha) + bn(beta)) for beta in betas.tolist()]
    return rows


@pytest.mark.parametrize(("f_bn", "f_fn"), SWITCHES)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("vocabulary", [ONE, TWO, ONE.extend("fgh")], ids=["one", "two", "more"])
def test_matrix_is_the_equation_of_the_paper(vocabulary, method, f_bn, f_fn):
    base = Vocabulary(vocabulary.fixed, tuple(c[:3] for c in vocabulary.interchangeable))
    maker = dual(base, method, f_bn=f_bn, f_fn=f_fn)
    U = maker.matrix(vocabulary, seeded(3))
    expected = by_hand(maker, vocabulary, seeded(3), f_bn, f_fn)
    torch.testing.assert_close(U, torch.tensor(expected))
    assert U.shape == (len(vocabulary), 12)


def test_only_the_random_part_changes_from_draw_to_draw():
    maker = dual()
    first, second = (maker.matrix(ONE, seeded(s)).detach() for s in (1, 2))
    assert torch.equal(first[:, :-4], second[:, :-4])
    assert not torch.equal(first[:, -4:], second[:, -4:])


def test_the_shared_gradient_is_the_sum_over_the_class():
    """Every token of a class trains the one α, which is why unseen tokens work."""
    maker = dual(f_bn=False, f_fn=False)
    maker.matrix(ONE, seeded()).sum().backward()
    assert (maker.shared.grad == len(ONE.interchangeable[0])).all()
    assert (maker.learned.grad == 1).all()


def test_a_sampling_set_that_is_too_small_is_named_with_its_size():
    maker = dual(d_beta=2)
    assert maker.matrix(Vocabulary(("+",), ("abcd",)), seeded()).shape == (8, 12)
    with pytest.raises(SamplingSetTooSmallError, match="vertices in 2 .* 4 vectors, but 5 .* 3"):
        maker.matrix(ONE, seeded())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"d_beta": 0}, "d_beta must be between 1 and 11, found 0"),
        ({"d_beta": 12}, "d_beta must be between 1 and 11, found 12"),
        ({"vocabulary": Vocabulary(("+",))}, "needs a class of interchangeable tokens"),
    ],
)
def test_a_wrong_setting_is_an_error(change, message):
    with pytest.raises(ValueError, match=message):
        dual(**change)


@pytest.mark.parametrize("other", [Vocabulary(("-",), ("abc",)), Vocabulary(("+",), ("abc", "01"))])
def test_other_fixed_tokens_or_classes_are_an_error(other):
    for maker in (dual(), AlphaRenamingEmbedding(ONE, 12), LearnedEmbedding(ONE, 12)):
        with pytest.raises(ValueError, match=r"fixed tokens of training, \+; found |1 classes of "):
            maker.matrix(other, seeded())


def test_learned_rows_are_as_they_are_or_normalised_and_cannot_be_extended():
    for f_fn in (False, True):
        maker = LearnedEmbedding(ONE, 12, f_fn)
        expected = [unit(row) if f_fn else row for row in maker.learned.tolist()]
        torch.testing.assert_close(maker.matrix(ONE), torch.tensor(expected))
    with pytest.raises(ValueError, match="rows for 9 tokens, and the vocabulary has 10"):
        maker.matrix(ONE.extend("f"))


def places(U: torch.Tensor, maker) -> list[int]:
    """Which learned row each row of U is."""
    return [int((maker.learned == row).all(dim=1).nonzero().item()) for row in U]


def test_alpha_renaming_trains_on_every_order_of_every_choice_within_each_class():
    train = Vocabulary(("+",), ("ab", "01"))
    maker = AlphaRenamingEmbedding(train.extend("c"), 12, f_fn=False).train()
    generator = seeded()
    dealt = [places(maker.matrix(train, generator), maker) for _ in range(50)]
    dealt += [places(U, maker) for U in maker.matrix(train, generator, count=50)]
    assert {tuple(row[:4]) for row in dealt} == {(0, 1, 2, 3)}
    firsts = {(4, 5), (5, 4), (4, 6), (6, 4), (5, 6), (6, 5)}
    assert {tuple(row[4:]) for row in dealt} == {(*f, *s) for f in firsts for s in [(7, 8), (8, 7)]}


def test_alpha_renaming_evaluates_in_order():
    test = TWO.extend("de")
    maker = AlphaRenamingEmbedding(test, 12, f_fn=False).eval()
    assert places(maker.matrix(test, seeded()), maker) == list(range(len(test)))
    assert places(maker.matrix(TWO, seeded()), maker) == [0, 1, 2, 3, 4, 5, 8, 9, 10, 11]
    with pytest.raises(ValueError, match="rows for 5 interchangeable tokens.* has 6"):
        AlphaRenamingEmbedding(ONE, 12).matrix(ONE.extend("f"), seeded())


def test_config_builds_each_kind_and_refuses_others():
    test = ONE.extend("fg")
    rows = {"dual_part": (4, 1), "learned": (9,), "alpha_renaming": (11,), "invariant": (6,)}
    assert rows.keys() <= EMBEDDINGS.keys()
    for kind, count in rows.items():
        config = EmbeddingConfig(kind)
        embedding = config.maker.build(config, ONE, test, 12)
        assert tuple(len(p) for p in embedding.parameters()) == count
    with pytest.raises(ValueError, match="unknown embedding 'plain'"):
        EmbeddingConfig("plain")
    with pytest.raises(ValueError, match="unknown method 'hypercube'"):
        EmbeddingConfig(method="hypercube")
