"""The transformer against a reference with written-out masks, and what must not change its answers.

Compiled code and decoding with a `Past` are held to the same.
"""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from logical import formulas
from tiny import seeded, tiny_logic_network, tiny_network
from torch._dynamo.testing import CompileCounter
from torch.nn.functional import layer_norm, normalize, relu, scaled_dot_product_attention

from itekit.data import Batch
from itekit.logic.formulas import ARITY
from itekit.model import (
    MAX_TREE_DEPTH,
    ModelConfig,
    Transformer,
    rope_factors,
    rotate,
    tree_encoding,
    tree_paths,
)
from itekit.tasks.ltl import Ltl
from itekit.training import batch_loss

CONFIG = ModelConfig(d_model=16, layers=2, heads=2, d_ff=24)
END, START, FIRST = 1, 2, 3


def transformer(seed: int = 0, config: ModelConfig = CONFIG) -> Transformer:
    """A random model."""
    torch.manual_seed(seed)
    return Transformer(config).double().eval()


def matrix(size: int = 9, seed: int = 1) -> torch.Tensor:
    U = torch.randn(size, 16, generator=seeded(seed), dtype=torch.float64)
    return normalize(U, dim=1)


def sequences(lengths: list[int], size: int = 9, seed: int = 2) -> torch.Tensor:
    """Random rows, closed with the end token and padded: [B, L + 1]."""
    rows = torch.randint(FIRST, size, (len(lengths), max(lengths) + 1), generator=seeded(seed))
    for row, length in zip(rows, lengths, strict=True):
        row[length], row[length + 1 :] = END, 0
    return rows


def shifted(target: torch.Tensor) -> torch.Tensor:
    return torch.cat([torch.full_like(target[:, :1], START), target[:, :-1]], dim=1)


def logits(model, U, source, target) -> torch.Tensor:
    """Logits [N, V] of the tokens that are not padding."""
    return model(U, source, shifted(target))[target != 0]


# The reference: another attention, masks written out.


def heads_of(x, count, rotary):
    x = x.unflatten(-1, (count, -1)).transpose(1, 2)
    return rotate(x, rope_factors(torch.arange(x.shape[2]), x.shape[3])) if rotary else x


def attention(queries, keys, values, mask, count):
    mixed = scaled_dot_product_attention(
        heads_of(queries, count, True), heads_of(keys, count, True),
        heads_of(values, count, False), attn_mask=mask,
    )  # fmt: skip
    return mixed.transpose(1, 2).flatten(2)


def normed(norm, x):
    return layer_norm(x, (16,), norm.weight, norm.bias, eps=1e-6)


def feed_forward(layer, x):
    inner = relu(x @ layer.inner.weight.T + layer.inner.bias)
    return inner @ layer.outer.weight.T + layer.outer.bias


def itself(layer, x, mask):
    joined = x @ layer.query_key_value.weight.T + layer.query_key_value.bias
    return layer.output(attention(*joined.chunk(3, dim=-1), mask, layer.heads))


def reference(model, U, source, target) -> torch.Tensor:
    """Logits [B, T, V] of the same model."""
    seen = (source != 0)[:, None, None, :]
    T = target.shape[1]
    causal = torch.arange(T)[:, None] >= torch.arange(T)
    x = U[source] * 4
    for layer in model.encoder:
        x = normed(layer.norm_attention, x + itself(layer.attention, x, seen))
        x = normed(layer.norm_feed_forward, x + feed_forward(layer.feed_forward, x))
    y = U[shifted(target)] * 4
    for layer in model.decoder:
        y = normed(layer.norm_attention, y + itself(layer.attention, y, causal))
        keys, values = layer.cross.key_value(x).chunk(2, dim=-1)
        mixed = attention(layer.cross.query(y), keys, values, seen, layer.cross.heads)
        y = normed(layer.norm_cross, y + layer.cross.output(mixed))
        y = normed(layer.norm_feed_forward, y + feed_forward(layer.feed_forward, y))
    result = normalize(y, dim=-1) @ U.T
    return result.index_fill(-1, torch.tensor([0, START]), -torch.inf)


LENGTHS = st.lists(st.integers(1, 20), min_size=1, max_size=4)


@settings(max_examples=12)
@given(LENGTHS, LENGTHS, st.integers(0, 1000))
def test_forward_equals_the_reference(sources, targets, seed):
    count = min(len(sources), len(targets))
    source, target = sequences(sources[:count], seed=seed), sequences(targets[:count], seed=seed)
    model, U = transformer(), matrix()
    expected = reference(model, U, source, target)[target != 0]
    torch.testing.assert_close(logits(model, U, source, target), expected, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("lengths", [[5, 2, 7], [4, 4], [17, 3]])
def test_gradients_equal_those_of_the_reference(lengths):
    source, target = sequences(lengths), sequences(lengths[::-1], seed=3)
    weights = torch.randn(int((target != 0).sum()), 9, generator=seeded(), dtype=torch.float64)
    gradients = []
    for forward in (logits, lambda *inputs: reference(*inputs)[target != 0]):
        model, U = transformer(), matrix().requires_grad_()
        (forward(model, U, source, target)[:, [1, *range(3, 9)]] * weights[:, 2:]).sum().backward()
        gradients.append({"U": U.grad} | {n: p.grad for n, p in model.named_parameters()})
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradient, gradients[1][name], atol=1e-6, rtol=1e-5, msg=name)


def rows(S: int, T: int, count: int = 4) -> Batch:
    """Random tokens of the smallest logic vocabulary, the first row longest, all closed."""
    sides = [torch.randint(3, 8, (count, n), generator=seeded(n)) for n in (S, T)]
    for side in sides:
        side[:, -1] = END
        side[1:, -2:] = torch.tensor([END, 0])
    return Batch(*sides)


@given(st.permutations(range(FIRST, 9)), st.integers(0, 1000))
def test_renaming_tokens_with_their_rows_renames_the_logits(order, seed):
    """The embedding matrix is all that the model knows of a token."""
    model, U = transformer(seed), matrix(seed=seed)
    rename = torch.tensor([0, END, START, *order])  # token i becomes rename[i]
    renamed = torch.empty_like(U)
    renamed[rename] = U
    source, target = sequences([4, 7], seed=seed), sequences([5, 2], seed=seed + 1)
    before = logits(model, U, source, target)
    after = logits(model, renamed, rename[source], rename[target])
    torch.testing.assert_close(after[:, rename], before, atol=1e-12, rtol=0)


def test_logits_without_normalisation_are_dot_products():
    features = torch.randn(3, 16, dtype=torch.float64, generator=seeded())
    model = Transformer(ModelConfig(16, 1, 2, 16), f_fn=False).double()
    products = model.project(matrix(), features)[:, FIRST:]
    torch.testing.assert_close(products, features @ matrix()[FIRST:].T)


def test_rotation_is_by_the_angles_of_the_paper_of_rope():
    x = torch.randn(2, 5, 6, generator=seeded())
    turned = rotate(x, rope_factors(torch.arange(5), 6))
    for p, j in [(0, 0), (1, 0), (4, 0), (3, 1), (4, 2)]:
        angle = p * 10000 ** (-2 * j / 6)
        before, after = (complex(*row) for row in (x[1, p, 2 * j :][:2], turned[1, p, 2 * j :][:2]))
        assert after == pytest.approx(before * complex(math.cos(angle), math.sin(angle)), abs=1e-6)


def test_dropout_is_in_training_alone_and_the_seed_decides_it():
    network, batch = tiny_network().train(), rows(4, 4)
    U = network.matrix(network.experiment.task.vocabulary, seeded(0))
    drawn = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        drawn.append(network.logits(U, batch))
    assert drawn[0].equal(drawn[1]) and not drawn[0].equal(drawn[2])
    assert network.eval().logits(U, batch).equal(network.logits(U, batch))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"dropout": 1.0}, r"\[0, 1\), found 1.0"),
        ({"heads": 3}, "multiple of 2 × heads = 6, found 16"),
        ({"layers": 0}, "layers must be 1 or more, found 0"),
        ({"rope_base": math.nan}, "rope_base must be more than 1, found nan"),
        ({"aggregation": ""}, "aggregation must be encoder or both, found ''"),
    ],
)
def test_settings_that_make_no_sense_are_errors(setting, message):
    with pytest.raises(ValueError, match=message):
        Transformer(ModelConfig(**{"d_model": 16, "heads": 2} | setting))


def test_another_rope_base_changes_positions_and_nothing_else():
    network, batch = tiny_network(), rows(4, 4)
    U = network.matrix(network.experiment.task.vocabulary, seeded(0))
    base = network.experiment.model.rope_base
    same, other = (network.with_rope_base(b).logits(U, batch) for b in (base, 100.0))
    expected = network.logits(U, batch)
    assert torch.equal(same, expected) and not torch.allclose(other, expected, atol=1e-4)
    none = replace(batch, positions=torch.zeros(4, dtype=torch.int64))
    same, other = (network.with_rope_base(b).logits(U, none) for b in (base, 100.0))
    assert torch.equal(same, other)


# bfloat16 and compilation


def loss_and_gradients(network, batch, half: bool = False):
    network.train().loss.scale.fill_(5.0)
    torch.manual_seed(0)
    with torch.autocast("cpu", torch.bfloat16, enabled=half):
        loss = batch_loss(network, batch, seeded())
    parts = (network.embedding, network.model)
    gradients = torch.autograd.grad(loss, [p for part in parts for p in part.parameters()])
    return loss, torch.cat([g.flatten() for g in gradients])


def test_bfloat16_is_near_float32():
    network, batch = tiny_logic_network(), rows(7, 6)
    (loss, gradient), (other, rounded) = (
        loss_and_gradients(network, batch, half) for half in (False, True)
    )
    assert other.dtype == rounded.dtype == torch.float32
    assert loss != other and other.item() == pytest.approx(loss.item(), rel=0.01)
    assert (gradient - rounded).norm() < 0.05 * gradient.norm()


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")  # torch's compiler
@pytest.mark.parametrize("name", ["ltl/proposed", "ltl/symbol-invariant"])
def test_the_model_is_compiled_whole_and_rarely(name):
    """Once for the first shape and once for varying ones; evaluation is a third."""
    torch._dynamo.reset()
    counter, plain, compiled = CompileCounter(), *(tiny_logic_network(name) for _ in range(2))
    compiled.model.compile(backend=counter, fullgraph=True)
    assert compiled.model.state_dict().keys() == plain.model.state_dict().keys()
    for S, T in [(8, 16), (12, 24), (8, 32), (11, 14)]:
        batch = rows(S, T).at_random_positions(40, seeded())
        expected = loss_and_gradients(plain, batch)
        torch.testing.assert_close(loss_and_gradients(compiled, batch), expected)
    assert 0 < counter.frame_count <= 2


# Tree positions


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
    return torch.tensor([Ltl(propositions=3).vocabulary.encode(token * count + "a")])


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
    network = tiny_logic_network("ltl/plain")  # D is 24
    U = network.matrix(network.experiment.task.vocabulary, None)
    network.model.encode(U, source("X", 12))
    with pytest.raises(ValueError, match="13 branches deep: tree positions hold 12"):
        network.model.encode(U, source("X", 13))
    with pytest.raises(ValueError, match="d_model must be even, found 7"):
        tree_encoding(deepest, 7)
    with pytest.raises(ValueError, match="number of operands"):
        Transformer(ModelConfig(tree_positions=True))


def test_the_encoder_tells_trees_apart_and_not_the_places_of_tokens():
    """With tree positions only, swapping the operands of a formula swaps what is encoded."""
    network = tiny_logic_network("ltl/plain")
    vocabulary = network.experiment.task.vocabulary
    U = network.matrix(vocabulary, None)
    one, other = (torch.tensor([vocabulary.encode(text)]) for text in ("&Xab", "&bXa"))
    memory = network.model.encode(U, one).memory
    swapped = network.model.encode(U, other).memory
    assert not torch.allclose(memory[:, [0, 3, 1, 2]], swapped, atol=1e-4), "left is not right"
    network.model.add_positions = lambda x, *_: (x, None)  # no positions at all
    memory = network.model.encode(U, one).memory
    swapped = network.model.encode(U, other).memory
    assert torch.allclose(memory[:, [0, 3, 1, 2]], swapped, atol=1e-4), "a bag of tokens"
