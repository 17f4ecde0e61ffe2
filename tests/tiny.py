"""Experiments and networks that are small enough for tests."""

from dataclasses import replace

import numpy as np
import torch

from itekit.data import Batch, copying_batch
from itekit.experiments import CopyingExperiment, LogicExperiment
from itekit.names import experiment
from itekit.network import Network
from itekit.tasks.copying import CopyingData


def tiny_experiment(
    name: str = "copying-5-10/proposed", seed: int = 0, scale: str = "smoke", **training
) -> CopyingExperiment | LogicExperiment:
    """A preset with a model of width 24; `training` replaces settings of the training."""
    made = experiment(name, scale, seed)
    model = replace(made.model, d_model=24, heads=2, d_ff=32)
    return replace(made, model=model, training=replace(made.training, **training))


def tiny_network(name: str = "copying-5-10/proposed", seed: int = 0) -> Network:
    """An untrained network in evaluation mode."""
    return Network(tiny_experiment(name, seed)).train(False)


def mixed_batch(network: Network, count: int = 6, seed: int = 0) -> Batch:
    """Strings of lengths 1 to 7 over the test vocabulary."""
    data = CopyingData(1, 7, network.experiment.task.data.characters)
    strings, lengths = data.strings(count, np.random.default_rng(seed))
    return copying_batch(strings, lengths, network.experiment.task.vocabulary)


def seeded(seed: int = 0) -> torch.Generator:
    """A CPU generator."""
    return torch.Generator().manual_seed(seed)


def tiny_logic_network(name: str = "ltl/proposed", seed: int = 0) -> Network:
    """An untrained network for logic problems, in evaluation mode, with short answers."""
    return Network(replace(tiny_experiment(name, seed), limit=6)).train(False)
