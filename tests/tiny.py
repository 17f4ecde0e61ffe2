"""Experiments and networks that are small enough for tests."""

from dataclasses import replace

import numpy as np
import torch

from itekit.data import Batch
from itekit.experiments import Experiment
from itekit.names import change, experiment
from itekit.network import Network
from itekit.tasks.copying import CopyingData, copying_batch


def tiny_experiment(
    name: str = "copying-5-10/proposed", seed: int = 0, scale: str = "smoke", **training
) -> Experiment:
    """A named experiment with a model of width 24; `training` replaces settings of the training."""
    model = {"model.d_model": 24, "model.heads": 2, "model.d_ff": 32}
    return change(experiment(name, scale, seed, **model), "training", **training)


def tiny_network(name: str = "copying-5-10/proposed", seed: int = 0, **task) -> Network:
    """An untrained network in evaluation mode; `task` replaces settings of the task."""
    base = tiny_experiment(name, seed)
    return Network(replace(base, task=replace(base.task, **task))).eval()


def tiny_logic_network(name: str = "ltl/proposed", seed: int = 0) -> Network:
    """An untrained network for logic problems, in evaluation mode, with short answers."""
    return tiny_network(name, seed, limit=6)


def mixed_batch(network: Network, count: int = 6, seed: int = 0) -> Batch:
    """Strings of lengths 1 to 7 over the training vocabulary."""
    task = network.experiment.task
    data = CopyingData(1, 7, task.data.characters)
    strings = data.strings(count, np.random.default_rng(seed))
    return Batch.of(copying_batch(*strings, task.vocabulary))


def seeded(seed: int = 0) -> torch.Generator:
    """A CPU generator."""
    return torch.Generator().manual_seed(seed)
