"""The transformer against a plain padded reference, and what must never change its answers."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import seeded, tiny_network
from torch.nn.functional import layer_norm, normalize, relu, scaled_dot_product_attention

from itekit.attention import split_heads
from itekit.dropout import Dropout, add_dropped, drop
from itekit.layout import Layout, causal_bias, padded, padding_bias
from itekit.model import ModelConfig, Transformer
from itekit.positions import rope_table, rotate

CPU = torch.device("cpu")
CONFIG = ModelConfig(d_model=16, layers=2, heads=2, d_ff=24)
END, START, FIRST = 1, 2, 3


def transformer(seed: int = 0, config: ModelConfig = CONFIG) -> Transformer:
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
    return model(U, source, shifted(target), Layout.of(target != 0))


# The reference: everything padded, nothing packed, masks written out.


def heads_of(x, count, rotary):
    x = x.unflatten(-1, (count, -1)).transpose(1, 2)
    return rotate(x, rope_table(x.shape[2], x.shape[3], CPU)) if rotary else x


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
    """Logits [B, T, V] of the same model, padded."""
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
def test_forward_equals_the_padded_reference(sources, targets, seed):
    count = min(len(sources), len(targets))
    source, target = sequences(sources[:count], seed=seed), sequences(targets[:count], seed=seed)
    model, U = transformer(), matrix()
    found = logits(model, U, source, target)
    torch.testing.assert_close(found, reference(model, U, source, target)[target != 0],
                               atol=1e-6, rtol=1e-5)  # fmt: skip


@pytest.mark.parametrize("lengths", [[5, 2, 7], [4, 4], [17, 3]])
def test_gradients_equal_those_of_the_padded_reference(lengths):
    source, target = sequences(lengths), sequences(lengths[::-1], seed=3)
    weights = torch.randn(int((target != 0).sum()), 9, generator=seeded(), dtype=torch.float64)
    gradients = []
    for forward in (logits, lambda *given: reference(*given)[target != 0]):
        model, U = transformer(), matrix().requires_grad_()
        (forward(model, U, source, target)[:, [1, *range(3, 9)]] * weights[:, 2:]).sum().backward()
        gradients.append({"U": U.grad} | {n: p.grad for n, p in model.named_parameters()})
    for name, found in gradients[0].items():
        torch.testing.assert_close(found, gradients[1][name], atol=1e-6, rtol=1e-5, msg=name)


@pytest.mark.parametrize("packed", [False, True])
def test_gradient_of_split_heads(packed):
    valid = torch.tensor([[True, True, True], [True, False, False]]) | (not packed)
    layout = Layout.of(valid)
    tables = [rope_table(3, 4, CPU) * 0.5, rope_table(3, 4, CPU), None]
    x = torch.randn(int(valid.sum()), 24, dtype=torch.float64, generator=seeded())
    torch.autograd.gradcheck(
        lambda x: split_heads(x, layout, 2, tables, [3, 5, 4]), x.requires_grad_(), atol=1e-6
    )


def test_split_heads_is_unpack_rotate_and_pad():
    valid = torch.tensor([[True, True, True], [True, True, False]])
    layout, table = Layout.of(valid), rope_table(3, 4, CPU)
    x = torch.randn(5, 16, generator=seeded())
    query, value = split_heads(x, layout, 2, [table, None], [3, 16])
    plain = layout.unpack(x).unflatten(-1, (2, 2, 4)).permute(2, 0, 3, 1, 4)
    torch.testing.assert_close(query, rotate(plain[0], table))
    assert torch.equal(value[:, :, :3], plain[1]) and (value[:, :, 3:] == 0).all()


@given(st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=1, max_size=5))
def test_layout_packs_and_unpacks(valid):
    valid = torch.tensor(valid)
    layout, x = Layout.of(valid), torch.randn(len(valid), 4, 3, generator=seeded())
    assert torch.equal(layout.pack(x), x[valid])
    assert torch.equal(layout.unpack(layout.pack(x)), x * valid[..., None])


def test_masks():
    assert [padded(n, CPU) for n in (1, 16, 17)] == [16, 16, 32]
    valid = torch.tensor([[True, False], [True, True]])
    assert (padding_bias(valid) == 0)[:, 0, 0].sum(dim=1).tolist() == [1, 2]
    assert (causal_bias(5, CPU) == 0).sum(dim=1).tolist() == [1, 2, 3, 4, 5]


def test_padding_never_changes_the_logits_of_real_tokens():
    model, U = transformer(), matrix()
    source, target = sequences([3, 12, 5]), sequences([2, 4, 14], seed=5)
    together = logits(model, U, source, target).split((target != 0).sum(dim=1).tolist())
    for i, found in enumerate(together):
        alone = [x[i : i + 1, : int((x[i] != 0).sum())] for x in (source, target)]
        torch.testing.assert_close(logits(model, U, *alone), found)
    wider = [torch.nn.functional.pad(x, (0, 9)) for x in (source, target)]
    torch.testing.assert_close(logits(model, U, *wider), torch.cat(together))


def test_a_position_sees_earlier_targets_only_and_all_of_the_source():
    model, U = transformer(), matrix()
    source, target = sequences([6, 6]), sequences([8, 8])
    before = logits(model, U, source, target).unflatten(0, (2, 9))
    later = target.clone()
    later[0, 5] = FIRST + (later[0, 5] - FIRST + 1) % 6
    after = logits(model, U, source, later).unflatten(0, (2, 9))
    changed = (before - after).abs().nan_to_num().amax(dim=-1) > 1e-9
    assert changed[0].tolist() == [False] * 6 + [True] * 3 and not changed[1].any()
    other = source.clone()
    other[0, -2] = FIRST + (other[0, -2] - FIRST + 1) % 6
    after = logits(model, U, other, target).unflatten(0, (2, 9))
    changed = (before - after).abs().nan_to_num().amax(dim=-1) > 1e-9
    assert changed[0].all() and not changed[1].any()


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


def test_padding_and_start_are_never_an_output_and_logits_are_cosines():
    found = logits(transformer(), matrix(), sequences([4, 6]), sequences([3, 5]))
    assert (found[:, [0, START]] == -math.inf).all()
    rest = found[:, [END, *range(FIRST, 9)]]
    assert rest.isfinite().all() and (rest.abs() <= 1 + 1e-9).all()


def test_without_normalised_features_logits_are_dot_products():
    features = torch.randn(3, 16, dtype=torch.float64, generator=seeded())
    model = transformer(config=ModelConfig(16, 1, 2, 16, normalize_features=False))
    found = model.project(matrix(), features)[:, FIRST:]
    torch.testing.assert_close(found, features @ matrix()[FIRST:].T)


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 40))
def test_rotated_dot_products_depend_on_the_distance_alone(p, q, shift):
    table = rope_table(128, 8, CPU).to(torch.complex128)
    x, y = torch.randn(2, 1, 8, generator=seeded(), dtype=torch.float64)
    products = [
        (rotate(x, table[p + s : p + s + 1]) * rotate(y, table[q + s : q + s + 1])).sum()
        for s in (0, shift)
    ]
    torch.testing.assert_close(*products, atol=1e-5, rtol=0)


def test_rotation_is_by_the_angles_of_the_paper_of_rope():
    table = rope_table(5, 6, CPU)
    for p, j in [(0, 0), (1, 0), (4, 0), (3, 1), (4, 2)]:
        angle = p * 10000 ** (-2 * j / 6)
        assert table[p, j].item() == pytest.approx(complex(math.cos(angle), math.sin(angle)))
    quarter = torch.tensor([[1j]], dtype=torch.complex64)
    assert rotate(torch.tensor([[3.0, 4.0]]), quarter).tolist() == [[-4.0, 3.0]]


def test_cross_attention_rotates_queries_and_keys_by_their_own_positions():
    """Equal source vectors: only the rotation of keys tells the positions apart."""
    cross = transformer().decoder[0].cross
    memory = torch.ones(4, 16, dtype=torch.float64)
    keys, values = cross.keys_values(memory, Layout(1, 4))
    assert (keys[:, :, 0] - keys[:, :, 1]).abs().max() > 1e-3
    assert torch.equal(values[:, :, 0], values[:, :, 1])
    x = torch.ones(4, 16, dtype=torch.float64)
    query = cross.split_query(cross.query(x), Layout(1, 4))
    scores = query @ keys[:, :, :4].transpose(-1, -2)
    later = scores[..., 1:, 1:]
    torch.testing.assert_close(scores[..., :-1, :-1], later, atol=1e-6, rtol=0)
    assert (scores[..., 0] - scores[..., 1]).abs().max() > 1e-3


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_keeps_the_rate_and_the_mean(p):
    factor = Dropout(p, seeded()).keep(torch.empty(99_999, 3))
    assert factor.unique().tolist() == [0.0, pytest.approx(1 / (1 - p))]
    deviation = 5 * math.sqrt(p * (1 - p) / factor.numel())
    assert (factor == 0).float().mean().item() == pytest.approx(p, abs=deviation)


def test_dropout_is_decided_by_its_generator_and_differs_from_call_to_call():
    x = torch.ones(7, 5)
    dropout = Dropout(0.5, seeded(4))
    first, second = drop(x, dropout), drop(x, dropout)
    assert torch.equal(first, drop(x, Dropout(0.5, seeded(4)))) and not torch.equal(first, second)
    added = add_dropped(x, 2 * x, Dropout(0.5, seeded(4)))
    torch.testing.assert_close(added, x + 2 * first)


def test_no_dropout_is_the_identity():
    x = torch.ones(4)
    assert drop(x, None) is x and drop(x, Dropout(0.0, seeded())) is x
    assert add_dropped(x, x, Dropout(0.0, seeded())).tolist() == [2.0] * 4
    assert (Dropout(1 - 1e-9, seeded()).keep(torch.empty(100)) == 0).all()


@pytest.mark.parametrize("p", [-0.1, 1.0])
def test_a_dropout_probability_out_of_range_is_an_error(p):
    with pytest.raises(ValueError, match=rf"\[0, 1\), found {p}"):
        Dropout(p, seeded())
    with pytest.raises(ValueError, match=rf"\[0, 1\), found {p}"):
        ModelConfig(dropout=p)


@pytest.mark.parametrize("heads", [3, 16])
def test_the_width_must_hold_pairs_in_every_head(heads):
    with pytest.raises(ValueError, match=f"multiple of 2 × heads = {2 * heads}, found 16"):
        Transformer(ModelConfig(d_model=16, heads=heads))


@pytest.mark.parametrize("name", ["d_model", "layers", "heads", "d_ff"])
def test_a_size_below_one_is_an_error(name):
    with pytest.raises(ValueError, match=f"{name} must be 1 or more, found 0"):
        ModelConfig(**{name: 0})


def test_another_rope_base_changes_positions_and_nothing_else():
    network = tiny_network()
    other = network.with_rope_base(100.0)
    assert other.experiment.model.rope_base == 100.0
    U = network.matrix(network.experiment.vocabulary, seeded(0))
    source = torch.tensor([[4, 4, 4, 1]])
    inputs = torch.tensor([[2, 4, 4, 4]])
    layout = Layout.of(source != 0)
    same = network.with_rope_base(network.experiment.model.rope_base)
    expected = network.model(U, source, inputs, layout)
    torch.testing.assert_close(same.model(U, source, inputs, layout), expected)
    assert not torch.allclose(other.model(U, source, inputs, layout), expected, atol=1e-4)
    with pytest.raises(ValueError, match="rope_base must be more than 1, found 1"):
        network.with_rope_base(1)
