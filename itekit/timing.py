"""One method of embedding, and how long it takes to train, to read and to answer.

Used by `efficiency`: the methods take turns, so that all of them see the same machine.
"""

import time
from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch.nn.utils import clip_grad_norm_

from itekit.data import Batch
from itekit.decoding import END, beam
from itekit.execution import Execution
from itekit.experiments import experiment
from itekit.network import Network, seeded
from itekit.schedule import adamw


def clock(device: torch.device) -> Callable[[], float]:
    """Processor time on one CPU thread, which other programs hardly change; else wall time."""
    if device.type == "cuda":
        return lambda: (torch.cuda.synchronize(device), time.perf_counter())[1]
    return time.process_time if torch.get_num_threads() == 1 else time.perf_counter


class Subject:
    """One method: a network, its optimizer, and what is timed of it."""

    def __init__(self, method: str, scale: str, seed: int = 0, device: torch.device | str = "cpu"):
        self.experiment = experiment(f"ltl/{method}", scale, seed)
        self.device = torch.device(device)
        self.vocabulary = self.experiment.vocabulary
        self.readable = self.experiment.readable_vocabulary
        self.execution = Execution.choose(self.device, compiled=False)
        self.network = self.execution.prepare(Network.build(self.experiment))
        self.modules = list(self.network.modules.values())
        self.optimizer = adamw(self.modules, self.experiment.training.learning_rate)
        self.draw, self.steps = seeded(seed, 1), 0

    def train_step(self, batch: Batch) -> None:
        """What `training.Trainer` does in a step, nothing compiled."""
        self.network.train()
        self.steps += 1
        settings = self.experiment
        dropout = self.execution.dropout(settings.model.dropout, settings.seed, self.steps)
        loss = self.network.batch_loss(self.execution.batch(batch), self.draw, dropout)
        self.optimizer.zero_grad()
        loss.backward()
        parameters = [p for module in self.modules for p in module.parameters()]
        clip_grad_norm_(parameters, settings.training.gradient_norm)
        self.optimizer.step()

    @torch.no_grad()
    def forward(self, batch: Batch) -> torch.Tensor:
        """The logits of a batch, with a U drawn for it."""
        self.network.train(False)
        U = self.network.matrix(self.vocabulary, self.draw)
        return self.network.logits(U, batch)[0]

    def prepare(self) -> torch.Tensor:
        """U for all that the network can read."""
        self.network.embedding.train(False)
        return self.network.matrix(self.readable, self.draw)

    def generate(self, source: torch.Tensor, steps: int) -> torch.Tensor:
        """The best beams [B, steps] of a search in which no answer ends."""
        model, U = self.network.train(False).model, self.prepare()
        project, impossible = model.project, U.new_zeros(len(U))
        impossible[END] = -torch.inf
        model.project = lambda U, features: project(U, features) + impossible
        try:
            return beam(model, U, source, steps, self.experiment.beam)[0][:, 0]
        finally:
            del model.project

    def parameters(self) -> dict[str, int]:
        """Learned numbers of the embedding and of the rest."""
        parts = {"embedding": self.network.embedding, "model": self.network.model}
        return {name: sum(p.numel() for p in part.parameters()) for name, part in parts.items()}


def take_turns(
    calls: Mapping[str, Callable[[int], object]], turns: int, now: Callable[[], float]
) -> dict[str, list[float]]:
    """Seconds of each call (given the number of the turn) in each turn, after one to warm up."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(-1, turns):
        for name, call in calls.items():
            start = now()
            call(max(turn, 0))
            if turn >= 0:
                times[name].append(now() - start)
    return times


def summary(times: Mapping[str, list[float]], reference: str) -> dict[str, dict]:
    """Median seconds of each method, and quartiles of its ratio to the reference's, by turns."""
    found = {}
    for name, own in times.items():
        ratios = np.array(own) / np.array(times[reference])
        quartiles = np.quantile(ratios, [0.25, 0.5, 0.75]).tolist()
        found[name] = {"seconds": float(np.median(own)), "ratio_quartiles": quartiles}
    return found


def padding(batch: Batch) -> float:
    """The share of a batch's places that hold no token."""
    tokens = int((batch.source != 0).sum() + (batch.target != 0).sum())
    return 1 - tokens / batch.tokens
