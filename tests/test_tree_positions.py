"""Tree positions from tokens alone equal those of the parsed formula, for whole batches at once."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from logical import formulas

from itekit.experiments import experiment
from itekit.logic.formulas import ARITY
from itekit.model import ModelConfig, Transformer
from itekit.network import Network
from itekit.positions import MAX_TREE_DEPTH, tree_encoding, tree_paths
from itekit.tasks.vocabularies import ltl_vocabulary


def operands(texts: list[str]) -> torch.Tensor:
    """Operand counts [B, S]: each formula, then the end token, then padding."""
    rows = [[ARITY.get(token, 0) for token in text] for text in texts]
    width = max(map(len, rows)) + 1
    return torch.tensor([row + [0] * (width - len(row)) for row in rows])


def expected(paths: list[tuple[int, ...]], d_model: int) -> torch.Tensor:
    """The definition: two numbers for each branch, the deepest first."""
    table = torch.zeros(len(paths), d_model)
    for row, path in zip(table, paths, strict=True):
        for place, branch in enumerate(reversed(path)):
            row[2 * place + branch] = 1
    return table


@given(st.lists(formulas(names=("a", "b"), leaves=12), min_size=1, max_size=5))
def test_they_are_those_of_the_parsed_formulas(batch):
    encoding = tree_encoding(tree_paths(operands(["".join(f.tokens()) for f in batch])), 64)
    for row, formula in zip(encoding, batch, strict=True):
        size = len(formula.tokens())
        assert torch.equal(row[:size], expected(formula.tree_paths(), 64))
        assert not row[size:].any(), "what stands after a formula has no position"


def source(token: str, count: int) -> torch.Tensor:
    """A token so many times, and then a proposition: int64 [1, count + 1]."""
    return torch.tensor([ltl_vocabulary(3).encode(token * count + "a")])


def test_an_example_by_hand():
    # U a & b c: a is left of the root, & right, b is left of & and c right of it
    encoding = tree_encoding(tree_paths(operands(["Ua&bc"])), 4)[0].tolist()
    assert encoding == [[0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 1], [0, 1, 0, 1],
                        [0, 0, 0, 0]]  # fmt: skip


def test_as_deep_as_they_go_and_not_deeper():
    deepest = tree_paths(operands(["X" * MAX_TREE_DEPTH + "a"]))
    assert deepest[0, 0, MAX_TREE_DEPTH] == 2**MAX_TREE_DEPTH - 1
    with pytest.raises(ValueError, match=f"63 branches deep: tree positions hold {MAX_TREE_DEPTH}"):
        tree_paths(operands(["X" * (MAX_TREE_DEPTH + 1) + "a"]))
    network = Network.build(experiment("ltl/plain", "smoke"))  # D is 64
    network.model.encode(network.matrix(network.experiment.vocabulary, None), source("X", 32))
    with pytest.raises(ValueError, match="33 branches deep: tree positions hold 32"):
        network.model.encode(network.matrix(network.experiment.vocabulary, None), source("X", 33))
    with pytest.raises(ValueError, match="d_model must be even, found 7"):
        tree_encoding(deepest, 7)
    with pytest.raises(ValueError, match="number of operands"):
        Transformer(ModelConfig(tree_positions=True))


def test_the_encoder_tells_trees_apart_and_not_the_places_of_tokens():
    """With tree positions only, swapping the operands of a formula swaps what is encoded."""
    network = Network.build(experiment("ltl/plain", "smoke")).train(False)
    vocabulary = network.experiment.vocabulary
    U = network.matrix(vocabulary, None)
    one, other = (torch.tensor([vocabulary.encode(text)]) for text in ("&Xab", "&bXa"))
    memory = network.model.encode(U, one).memory
    swapped = network.model.encode(U, other).memory
    assert not torch.allclose(memory[[0, 3, 1, 2]], swapped, atol=1e-4), "left is not right"
    network.model.config = ModelConfig(tree_positions=False)
    memory = network.model.encode(U, one).memory
    swapped = network.model.encode(U, other).memory
    assert torch.allclose(memory[[0, 3, 1, 2]], swapped, atol=1e-4), "no positions: a bag of tokens"
