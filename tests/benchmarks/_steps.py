"""One training step of the library, as `training.Trainer` does it, and where its time goes."""

from collections.abc import Callable

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

from itekit.data import Batch
from itekit.execution import Execution
from itekit.network import Network, seeded
from itekit.schedule import adamw
from itekit.settings import Experiment
from itekit.step_parts import step_parts


def stepper(
    experiment: Experiment, modules: list[nn.Module], loss_of: Callable[[int], torch.Tensor]
) -> Callable[[], None]:
    """A function that trains for one step; all sides of a benchmark use this one."""
    optimizer = adamw(modules, experiment.training.learning_rate)
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    step = 0

    def run() -> None:
        nonlocal step
        loss = loss_of(step)
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(parameters, experiment.training.gradient_norm)
        optimizer.step()
        step += 1

    return run


def library(
    experiment: Experiment, batches: list[Batch], precision: str = "float32"
) -> Callable[[], None]:
    """The library's step: a fresh U, the network's loss (AdaCos), dropout from a generator."""
    execution = Execution.choose(torch.device("cpu"), precision, compiled=False)
    network = execution.prepare(Network(experiment).train())

    def loss_of(step: int) -> torch.Tensor:
        batch = execution.batch(batches[step % len(batches)])
        dropout = execution.dropout(experiment.model.dropout, 0, step)
        return network.batch_loss(batch, seeded(0, 1, step), dropout)

    return stepper(experiment, network, loss_of)


def print_parts(run: Callable[[], None], steps: int) -> None:
    """Where the library's step goes."""
    for _ in range(3):
        run()
    parts = step_parts(run, steps)
    print(f"\nwhere the library's step goes, by torch.profiler over {steps} steps, both ways")
    for kind, value in parts.items():
        print(f"  {kind:36}{value / sum(parts.values()):6.1%}")
