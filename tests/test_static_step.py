"""The step for a GPU, run on the CPU: static shapes, bfloat16, compiled layers."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny import mixed_batch, seeded, tiny_logic_network, tiny_network
from torch._dynamo.testing import CompileCounter

from itekit import execution
from itekit.attention import split_heads
from itekit.data import Batch
from itekit.dropout import Dropout, add_dropped, drop
from itekit.execution import Execution
from itekit.layout import Layout
from itekit.losses import sorted_median
from itekit.network import Network
from itekit.positions import rope_cosines_sines, rope_table

CPU = torch.device("cpu")
quiet = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")  # torch's compiler
PROFILE = Path(__file__).parent / "benchmarks" / "profile_training_step.py"


def formulas(S: int, T: int, count: int = 4, seed: int = 0) -> Batch:
    """Random tokens of the smallest logic vocabulary, the first row longest, all closed."""
    rows = [torch.randint(3, 8, (count, n), generator=seeded(seed)) for n in (S, T)]
    for side in rows:
        side[:, -1] = 1
        side[1:, -2:] = torch.tensor([1, 0])
    return Batch(*rows)


def loss_and_gradients(network: Network, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    network.train()
    if network.loss.scale is not None:
        network.loss.scale.fill_(5.0)
    loss = network.batch_loss(batch, seeded())
    modules = (network.embedding, network.model)
    gradients = torch.autograd.grad(loss, [p for m in modules for p in m.parameters()])
    return loss, torch.cat([g.flatten() for g in gradients])


def test_rotation_in_real_numbers_equals_the_one_in_complex_numbers():
    x = torch.randn(2 * 5, 3 * 8, generator=seeded(), requires_grad=True)
    tables = [rope_table(5, 4, CPU) * 0.5, rope_table(5, 4, CPU), None]
    real = [rope_cosines_sines(torch.arange(5), 4, 10_000.0) * s for s in (0.5, 1)] + [None]
    torch.testing.assert_close(real[1], torch.view_as_real(tables[1]))
    found = split_heads(x, Layout(2, 5, static=True), 2, real, [5, 5, 5])
    expected = split_heads(x, Layout(2, 5), 2, tables, [5, 5, 5])
    weights = torch.randn(3, 2, 2, 5, 4, generator=seeded(1))
    for part, other in zip(found, expected, strict=True):
        torch.testing.assert_close(part, other)
    pull = [torch.autograd.grad((weights * torch.stack(p)).sum(), x)[0] for p in (found, expected)]
    torch.testing.assert_close(*pull)


def test_rotation_keeps_bfloat16():
    x = torch.randn(10, 8, generator=seeded())
    table = [rope_cosines_sines(torch.arange(5), 4, 10_000.0)]
    (exact,) = split_heads(x, Layout(2, 5, static=True), 2, table, [5])
    (found,) = split_heads(x.bfloat16(), Layout(2, 5, static=True), 2, table, [5])
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.float(), exact, rtol=0.02, atol=0.02)


@pytest.mark.parametrize("adacos", [True, False])
@pytest.mark.parametrize("make", [tiny_network, tiny_logic_network])
def test_a_static_step_equals_one_without_padding(make, adacos):
    network = make()
    if not adacos:
        network = Network.build(replace(network.experiment, adacos=False))
    batch = mixed_batch(network) if make is tiny_network else formulas(7, 6)
    expected = loss_and_gradients(network, batch)
    network.model.static = True
    torch.testing.assert_close(loss_and_gradients(network, batch.padded(8)), expected)
    network.train(False)
    assert not network.model.layout(batch.source != 0).static


def test_lengths_are_rounded_up_with_padding():
    batch = formulas(7, 9)
    padded = batch.padded(8)
    assert (padded.source.shape, padded.target.shape) == ((4, 8), (4, 16))
    assert padded.source[:, :7].equal(batch.source) and padded.target[:, 9:].eq(0).all()
    assert padded.padded(8).target.shape == (4, 16)


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0, float("nan")]), min_size=1, max_size=9))
def test_the_median_by_sorting_is_torchs(values):
    values = torch.tensor(values)
    torch.testing.assert_close(sorted_median(values), torch.nanmedian(values), equal_nan=True)


@pytest.fixture
def compile_with(monkeypatch):
    """Sets the compiler's backend."""
    torch._dynamo.reset()
    return lambda backend: monkeypatch.setattr(execution, "BACKEND", backend)


@quiet
@pytest.mark.parametrize("positions", [0, 40])
def test_layers_are_compiled_rarely_and_without_a_graph_break(compile_with, positions):
    """The encoder and the decoder layer each once for the first shape and once for varying ones;
    not again for other layers, other shapes or evaluation."""
    counter = CompileCounter()
    compile_with(counter)
    made = tiny_logic_network().experiment
    plain = Network.build(made)
    compiled = Execution.choose("cpu", compiled=True).prepare(Network.build(made))
    assert compiled.model.state_dict().keys() == plain.model.state_dict().keys()
    for S, T in [(7, 15), (15, 23), (8, 31), (14, 13), (23, 24)]:
        batch = formulas(S, T)
        if positions:
            batch = batch.at_random_positions(positions, seeded())
        found = loss_and_gradients(compiled, batch.padded(8))
        torch.testing.assert_close(found, loss_and_gradients(plain, batch))
    assert 0 < counter.frame_count <= 4
    frames = counter.frame_count
    compiled.train(False).logits(compiled.embedding.matrix(made.vocabulary, seeded()), batch)
    assert counter.frame_count == frames


@quiet
def test_the_compiled_backward_pass_gives_the_same_gradients(compile_with):
    compile_with("aot_eager")
    plain, compiled = tiny_logic_network(), tiny_logic_network()
    Execution.choose("cpu", compiled=True).prepare(compiled)
    found, expected = (loss_and_gradients(n, formulas(8, 16)) for n in (compiled, plain))
    torch.testing.assert_close(found, expected)


@quiet
def test_compiled_dropout_depends_on_the_seed_and_the_step(compile_with):
    compile_with("eager")
    how = Execution.choose("cpu", compiled=True)
    network, batch = how.prepare(tiny_logic_network()).train(), formulas(8, 8)

    def loss(step: int) -> float:
        network.loss.scale.fill_(5.0)
        return network.batch_loss(batch, seeded(), how.dropout(0.5, 0, step)).item()

    first = loss(3)
    torch.rand(5)
    assert loss(4) != first and loss(3) == first


def test_torchs_own_dropout_is_seeded_by_the_caller():
    x, dropout = torch.ones(1000), Dropout(0.25, None)
    torch.manual_seed(0)
    first = drop(x, dropout)
    torch.manual_seed(0)
    assert add_dropped(x, x, dropout).equal(x + first)
    assert set(first.tolist()) == {0.0, x.div(0.75)[0].item()} and 0.2 < (first == 0).sum() < 300


def test_bfloat16_is_near_float32_and_only_while_training():
    exact, rough = tiny_logic_network(), tiny_logic_network()
    Execution.choose("cpu", "bfloat16").prepare(rough)
    batch = formulas(7, 6)
    U = exact.embedding.matrix(exact.experiment.vocabulary, seeded())
    assert exact.logits(U, batch)[0].equal(rough.logits(U, batch)[0])
    (loss, gradient), (other, rounded) = (loss_and_gradients(n, batch) for n in (exact, rough))
    assert other.dtype == rounded.dtype == torch.float32
    assert loss != other and other.item() == pytest.approx(loss.item(), rel=0.01)
    assert (gradient - rounded).norm() < 0.05 * gradient.norm()
    assert all(p.dtype == torch.float32 for p in rough.model.parameters())


def test_the_defaults_of_a_device():
    assert Execution.choose("cpu") == Execution(CPU, "float32", False)
    cuda = Execution.choose("cuda")
    assert (cuda.precision, cuda.compiled, cuda.static) == ("bfloat16", True, True)
    with pytest.raises(ValueError, match="unknown precision 'half': expected one of float32, bf"):
        Execution.choose("cpu", "half")


def test_the_record_of_a_run_says_which_steps_ran_how():
    how, other = Execution.choose("cpu"), Execution.choose("cpu", "bfloat16")
    first = how.appended([], 0)
    assert first == [
        {"from_step": 0, "device": "cpu", "precision": "float32", "compiled": False, "processes": 1}
    ]
    assert how.appended(first, 10) == first
    both = other.appended(first, 10)
    assert [(part["from_step"], part["precision"]) for part in both] == [
        (0, "float32"), (10, "bfloat16")
    ]  # fmt: skip
    assert how.appended(both, 10) == first


def test_the_profile_of_a_step_runs_on_a_cpu():
    given = "--device cpu --precision bfloat16 --steps 1 --warm-up 1 --lengths 9 7"
    options = ["ltl/proposed", *given.split(), "--bandwidth", "1e11", "--compute", "1e12"]
    done = subprocess.run(
        [sys.executable, str(PROFILE), *options], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    for part in ("warm-up", "step", "parts", "products", "work", "hours for 20 steps", "TB/s"):
        assert part in done.stdout
