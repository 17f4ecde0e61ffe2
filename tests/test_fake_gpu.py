"""Training, evaluation and decoding as on a GPU, without one: shapes, devices, and no waiting.

Under torch's FakeTensorMode tensors have shapes and no values: every operation checks shapes and
devices, and whatever would make the host wait for a value (`.item()`, `nonzero`, a condition)
raises an error. Without a GPU torch cannot differentiate on a fake "cuda", so the device is "meta"
there: for the kit one more that is no CPU.
"""

from contextlib import contextmanager
from dataclasses import replace
from unittest import mock

import pytest
import torch
from tiny import mixed_batch, seeded, tiny_experiment, tiny_logic_network, tiny_network
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode

from itekit import decoding
from itekit.data import Batch
from itekit.decoding import beam, greedy
from itekit.model import Dropout
from itekit.training import Network, Trainer

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "meta")
NETWORKS = {
    "copying": tiny_network,
    "alpha-renaming": lambda: tiny_network("copying-5-10/alpha-renaming"),
    "cross-entropy": lambda: Network(replace(tiny_network().experiment, loss="cross_entropy")),
    "logic": lambda: tiny_logic_network("ltl/smallest-set"),
}
autocast = torch.autocast


def _autocast(device: str, *settings, **named):
    """`torch.autocast`, which does not know "meta"."""
    if device == "meta":
        return autocast("cpu", enabled=False)
    return autocast(device, *settings, **named)


@contextmanager
def fake_gpu():
    """For code that runs within."""
    with FakeTensorMode(allow_non_fake_inputs=True), mock.patch("torch.autocast", _autocast):
        yield


def moved(module: torch.nn.Module) -> torch.nn.Module:
    """The module with fake weights on the device; `Module.to` cannot do that."""
    for part in module.modules():
        for name, weight in part._parameters.items():
            part._parameters[name] = torch.nn.Parameter(weight.detach().to(DEVICE))
        for name, buffer in part._buffers.items():
            part._buffers[name] = buffer.to(DEVICE)
    return module


def on_fake_gpu(name: str) -> tuple[Network, Batch]:
    network = NETWORKS[name]()
    formulas = Batch(torch.randint(3, 8, (4, 12)), torch.randint(3, 8, (4, 8)))
    batch = formulas if network.experiment.model.tree_positions else mixed_batch(network)
    return moved(network), batch.to(DEVICE)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_step_stays_on_the_device_and_never_waits(name):
    with fake_gpu():
        network, batch = on_fake_gpu(name)
        network.train()
        for one in (batch, replace(batch, positions=torch.arange(16).to(DEVICE))):
            loss = network.batch_loss(one, seeded(), Dropout(0.1, None))
            assert (loss.device.type, loss.dtype, loss.shape) == (DEVICE.type, torch.float32, ())
            loss.backward()
        gradients = [parameter.grad for parameter in network.parameters()]
        assert {gradient.device.type for gradient in gradients} == {DEVICE.type}
        U = network.eval().matrix(network.experiment.vocabulary, seeded())
        logits, targets = network.logits(U, batch)  # padding stays in
        assert logits.shape == (batch.target.numel(), len(U)) and targets.shape == logits.shape[:1]
        assert logits.device.type == DEVICE.type


def test_a_step_of_the_trainer_never_waits(tmp_path):
    trainer = Trainer(tiny_experiment(batch_size=4, positions=20), tmp_path, precision="bfloat16")
    with fake_gpu():
        trainer.device, trainer.static = DEVICE, True
        moved(trainer.network.train())
        trainer.optimizer = torch.optim.SGD(trainer.network.parameters())  # AdamW refuses "meta"
        loss, worked = trainer.train_step()
        assert loss.device.type == DEVICE.type and worked == 2 * 4 * 16


@pytest.mark.parametrize(("name", "copies"), [("copying", 1), ("logic", 2)])
def test_decoding_looks_at_what_has_finished_now_and_then(name, copies, monkeypatch):
    monkeypatch.setattr(decoding, "LOOK_EVERY", (1, 4))
    with fake_gpu():
        network, batch = on_fake_gpu(name)
        model, B = network.eval().model, len(batch.source)
        U = network.matrix(network.experiment.vocabulary, seeded())
        U = U if copies == 1 else torch.stack([U] * copies)
        assert greedy(model, U, batch.source, 3).shape == (B, 3)
        tokens, scores = beam(model, U, batch.source, 3, 2)
        assert (tokens.shape, scores.shape) == ((B, 2, 3), (B, 2))
        assert {x.device.type for x in (tokens, scores)} == {DEVICE.type}
        with pytest.raises(DataDependentOutputException):
            greedy(model, U, batch.source, 4)  # the first look
