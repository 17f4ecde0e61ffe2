"""Training, evaluation and decoding as on a GPU, without one: shapes, devices, and no waiting."""

from dataclasses import replace

import pytest
import torch
from fake_gpu import fake_gpu, moved
from tiny import mixed_batch, seeded, tiny_experiment, tiny_logic_network, tiny_network
from torch._subclasses.fake_tensor import DataDependentOutputException

from itekit import decoding
from itekit.data import Batch
from itekit.decoding import beam, greedy
from itekit.model import Dropout
from itekit.training import Network, Trainer


def formulas() -> Batch:
    rows = torch.randint(3, 8, (4, 12)), torch.randint(3, 8, (4, 8))
    return Batch(*rows)


NETWORKS = {
    "copying": tiny_network,
    "alpha-renaming": lambda: tiny_network("copying-5-10/alpha-renaming"),
    "cross-entropy": lambda: Network(replace(tiny_network().experiment, adacos=False)),
    "logic": lambda: tiny_logic_network("ltl/per-sample"),
}


def on_fake_gpu(name: str, device: torch.device) -> tuple[Network, Batch]:
    network = NETWORKS[name]()
    batch = formulas() if network.experiment.model.tree_positions else mixed_batch(network)
    return moved(network, device), batch.to(device)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_training_step_stays_on_the_device_and_never_waits(name):
    with fake_gpu() as device:
        network, batch = on_fake_gpu(name, device)
        network.train()
        for one in (batch, replace(batch, positions=torch.arange(16).to(device))):
            loss = network.batch_loss(one, seeded(), Dropout(0.1, None))
            assert (loss.device.type, loss.dtype, loss.shape) == (device.type, torch.float32, ())
            loss.backward()
        for parameter in network.parameters():
            assert (
                parameter.grad.shape == parameter.shape
                and parameter.grad.device.type == device.type
            )


def test_a_step_of_the_trainer_never_waits(tmp_path):
    trainer = Trainer(tiny_experiment(batch_size=4, positions=20), tmp_path, precision="bfloat16")
    with fake_gpu() as trainer.device:
        moved(trainer.network.train(), trainer.device)
        trainer.static = True
        trainer.optimizer = torch.optim.SGD(trainer.network.parameters())  # AdamW refuses "meta"
        loss, worked = trainer.train_step()
        assert loss.device.type == trainer.device.type and worked == 2 * 4 * 16


@pytest.mark.parametrize("name", NETWORKS)
def test_an_evaluation_step_keeps_padding_in(name):
    with fake_gpu() as device:
        network, batch = on_fake_gpu(name, device)
        network.eval()
        U = network.matrix(network.experiment.vocabulary, seeded())
        logits, targets = network.logits(U, batch)
        assert logits.shape == (batch.target.numel(), len(U)) and targets.shape == logits.shape[:1]
        assert logits.device.type == device.type


@pytest.mark.parametrize(("name", "copies"), [("copying", 1), ("logic", 2)])
def test_decoding_looks_at_what_has_finished_now_and_then(name, copies, monkeypatch):
    monkeypatch.setattr(decoding, "LOOK_EVERY", (1, 4))
    with fake_gpu() as device:
        network, batch = on_fake_gpu(name, device)
        model, B = network.eval().model, len(batch.source)
        U = network.matrix(network.experiment.vocabulary, seeded())
        U = U if copies == 1 else torch.stack([U] * copies)
        assert greedy(model, U, batch.source, 3).shape == (B, 3)
        tokens, scores = beam(model, U, batch.source, 3, 2)
        assert (tokens.shape, scores.shape) == ((B, 2, 3), (B, 2))
        assert {x.device.type for x in (tokens, scores)} == {device.type}
        with pytest.raises(DataDependentOutputException):
            greedy(model, U, batch.source, 4)  # the first look
