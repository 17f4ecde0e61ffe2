"""Training, evaluation and decoding as on a GPU, without one: shapes, devices, and no waiting.

Under torch's FakeTensorMode tensors have shapes and no values: every operation checks shapes and
devices, and whatever would make the host wait for a value (`.item()`, `nonzero`, a condition)
raises an error. `NoCopies` refuses copies between the devices that the host waits for, such as a
number that is assigned to an element. Without a GPU torch cannot differentiate on a fake "cuda", so
the device is "meta" there: for the kit one more that is no CPU.
"""

from contextlib import contextmanager
from dataclasses import replace
from unittest import mock

import pytest
import torch
from tiny import mixed_batch, seeded, tiny_experiment, tiny_logic_network, tiny_network
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    FakeTensorMode,
    unset_fake_temporarily,
)
from torch.utils._python_dispatch import TorchDispatchMode

from itekit import decoding
from itekit.data import Batch
from itekit.decoding import beam, greedy
from itekit.invariant import Streams
from itekit.training import Network, Trainer, batch_loss

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "meta")
NETWORKS = {
    "copying": tiny_network,
    "alpha-renaming": lambda: tiny_network("copying-5-10/alpha-renaming"),
    "cross-entropy": lambda: Network(replace(tiny_network().experiment, loss="cross_entropy")),
    "logic": lambda: tiny_logic_network("ltl/smallest-set"),
    "symbol-invariant": lambda: tiny_logic_network("ltl/symbol-invariant"),
}
autocast, streams_of = torch.autocast, Streams.of.__func__


def _autocast(device: str, *settings, **named):
    """`torch.autocast`, which does not know "meta"."""
    if device == "meta":
        return autocast("cpu", enabled=False)
    return autocast(device, *settings, **named)


def _streams(cls, source, fixed):
    """`Streams.of`, which reads values: of a real batch on the CPU, as the trainer has it."""
    with unset_fake_temporarily():
        return streams_of(cls, source, fixed)


@contextmanager
def fake_gpu():
    """For code that runs within."""
    of = mock.patch.object(Streams, "of", classmethod(_streams))
    with FakeTensorMode(allow_non_fake_inputs=True), mock.patch("torch.autocast", _autocast), of:
        yield


class NoCopies(TorchDispatchMode):
    """Refuses copies from one device to another that the host waits for.

    A number that is assigned to an element is one: on a GPU torch makes a tensor of it on the CPU.
    """

    def __init__(self):
        super().__init__()
        self.numbers = []

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name, result = operation.overloadpacket.__name__, operation(*args, **kwargs)
        if name == "scalar_tensor":
            self.numbers.append(result)
        if name == "copy_" and not kwargs.get("non_blocking") and True not in args[2:]:
            assert args[0].device == args[1].device, "a copy that waits"
            assert not any(args[1] is number for number in self.numbers), "a number that waits"
        if name == "_to_copy" and kwargs.get("device") not in (None, args[0].device):
            assert kwargs.get("non_blocking"), "a copy that waits"
        return result


def moved(module: torch.nn.Module) -> torch.nn.Module:
    """The module with fake weights on the device; `Module.to` cannot do that."""
    for part in module.modules():
        for name, weight in part._parameters.items():
            part._parameters[name] = torch.nn.Parameter(weight.detach().to(DEVICE))
        for name, buffer in part._buffers.items():
            part._buffers[name] = buffer.to(DEVICE)
    return module


def batch_of(network: Network) -> Batch:
    """A real batch, on the CPU."""
    formulas = Batch(torch.randint(3, 8, (4, 12)), torch.randint(3, 8, (4, 8)))
    return formulas if network.experiment.model.tree_positions else mixed_batch(network)


def test_copies_that_wait_are_seen():
    with fake_gpu():
        x = torch.zeros(3, device=DEVICE)
        for waits in (lambda: x.__setitem__(0, 1.0), lambda: torch.zeros(3).to(DEVICE)):
            with NoCopies(), pytest.raises(AssertionError, match="that waits"):
                waits()
        with NoCopies():
            x[:2] = 1.0
            torch.zeros(3).to(DEVICE, non_blocking=True)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_step_goes_to_the_device_and_never_waits(name):
    network = NETWORKS[name]()
    batch = batch_of(network)
    placed = replace(batch, positions=torch.arange(16))
    with fake_gpu():
        moved(network.train())
        with NoCopies():
            for some in (batch, placed):
                loss = batch_loss(network, some, seeded())
                assert (loss.device.type, loss.dtype) == (DEVICE.type, torch.float32)
                loss.backward()
        gradients = [parameter.grad for parameter in network.parameters()]
        assert {gradient.device.type for gradient in gradients} == {DEVICE.type}
        U = network.eval().matrix(network.experiment.task.vocabulary, seeded())
        with NoCopies():
            logits = network.logits(U, batch)
        tokens = len(network.experiment.task.vocabulary)
        assert logits.shape == (*batch.target.shape, tokens)
        assert logits.device.type == DEVICE.type


def test_a_step_of_the_trainer_never_waits(tmp_path):
    trainer = Trainer(tiny_experiment(batch_size=4, positions=20), tmp_path, precision="bfloat16")
    with fake_gpu():
        trainer.device, trainer.compiled = DEVICE, True
        moved(trainer.network.train())
        trainer.optimizer = torch.optim.SGD(trainer.network.parameters())  # AdamW refuses "meta"
        with NoCopies():
            loss, worked = trainer.train_step()
        assert loss.device.type == DEVICE.type and worked == 2 * 4 * 16


@pytest.mark.parametrize("name", NETWORKS)
def test_decoding_looks_at_what_has_finished_now_and_then(name, monkeypatch):
    monkeypatch.setattr(decoding, "LOOK_EVERY", (1, 4))
    network = NETWORKS[name]().eval()
    batch = batch_of(network)
    streams = Streams.of(batch.source, network.experiment.task.vocabulary.learned_count)
    with fake_gpu():
        model, B = moved(network).model, len(batch.source)
        source, streams = batch.source.to(DEVICE), streams.to(DEVICE)
        monkeypatch.setattr(Streams, "of", lambda *_: streams)  # a search waits for them once
        U = network.matrix(network.experiment.task.vocabulary, seeded())
        with NoCopies():
            assert greedy(model, U, source, 3).shape == (B, 3)
            tokens, scores = beam(model, U, source, 3, 2)
        assert (tokens.shape, scores.shape) == ((B, 2, 3), (B, 2))
        assert {x.device.type for x in (tokens, scores)} == {DEVICE.type}
        with pytest.raises(DataDependentOutputException):
            greedy(model, U, source, 4)  # the first look
