"""What the proposed embeddings cost, in time and in weights.

Paper, section "Computational Efficiency", appendix "Computational Efficiency Details". Ordinary
embeddings, alpha-renaming and the proposed embeddings do the same work on the same formulas: a
training step, a forward pass, a generation, and drawing U for the test vocabulary ("embedding").
The networks are untrained. The methods take turns, and a ratio compares two times of one turn, so
that other work on the machine matters less than for the times.

Shape letters: B sources, V vocabulary, D model, m interchangeable tokens.
"""

import os
import time
import timeit
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import median
from unittest.mock import patch

import numpy as np
import torch
from torch.nn.utils import clip_grad_norm_

from itekit import random_vectors
from itekit.data import Batch
from itekit.datasets.generate import sample
from itekit.datasets.sets import read_set
from itekit.decoding import END, beam
from itekit.embeddings import EmbeddingConfig
from itekit.experiments import Experiment
from itekit.files import MissingError, resolve_scale
from itekit.names import experiment
from itekit.network import Network
from itekit.random_vectors import fewest_dimensions, seeded
from itekit.tasks.streams import PairStream
from itekit.training import adamw, batch_loss
from lessons.measured import command, load_measured, origin

NOTEBOOK = "13_efficiency"

METHODS = ("plain", "alpha-renaming", "proposed")
QUANTITIES = ("training_step", "forward", "generation", "embedding")
SIZES = (5, 10, 100, 1000, 10_000)  # interchangeable tokens
KINDS = {  # of operations, by the names that torch's profiler has for them
    "linear layers": "aten::linear AddmmBackward0",
    "attention and projection: products, softmax": (
        "aten::matmul aten::softmax BmmBackward0 MmBackward0 SoftmaxBackward0"
    ),
    "element by element: dropout, RoPE, sums": (
        "aten::dropout aten::mul MulBackward0 aten::add AddBackward0"
    ),
    "copies: heads side by side": "aten::flatten aten::clone CloneBackward0 UnbindBackward0",
    "layer norm": "aten::layer_norm NativeLayerNormBackward0",
    "ReLU": "aten::relu_ ReluBackward0",
    "AdamW and clipping": "optimizer",
}
# Formulas that batches are made of (at paper size a sample of about so many is drawn); turns of
# steps, passes and generations; formulas and steps of a generation; turns of drawing.
EFFORTS = {
    "smoke": {"formulas": 100, "turns": 2, "sources": 8, "length": 4, "draws": 2},
    "lab": {"formulas": 6500, "turns": 9, "sources": 96, "length": 24, "draws": 50},
    "paper": {"formulas": 20_000, "turns": 7, "sources": 768, "length": 41, "draws": 50},
}
COUNTS = (10, 100, 1000, 10_000, 100_000)  # of random vectors that are drawn at once


class Subject:
    """One method of embedding: a network, its optimizer, and what is timed of it."""

    def __init__(self, method: str, scale: str, seed: int = 0, device: torch.device | str = "cpu"):
        self.experiment = experiment(f"ltl/{method}", scale, seed)
        self.device = torch.device(device)
        self.network = Network(self.experiment).to(self.device)
        self.optimizer = adamw(self.network)
        for group in self.optimizer.param_groups:
            group["lr"] = self.experiment.training.learning_rate
        self.draw = seeded(seed, 1)

    def train_step(self, batch: Batch) -> None:
        """What `training.Trainer` does in a step, with a fresh U, nothing compiled."""
        self.network.train()
        with torch.autocast("cuda", torch.bfloat16, enabled=self.device.type == "cuda"):
            loss = batch_loss(self.network, batch.to(self.device), self.draw)
        self.optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(self.network.parameters(), self.experiment.training.gradient_norm)
        self.optimizer.step()

    @torch.no_grad()
    def forward(self, batch: Batch) -> torch.Tensor:
        """The logits of a batch, with a U drawn for it, without gradients."""
        U = self.network.train(False).matrix(self.experiment.task.vocabulary, self.draw)
        return self.network.logits(U, batch.to(self.device))

    def prepare(self) -> torch.Tensor:
        """U for all that the network can read: [V, D]."""
        self.network.embedding.train(False)
        return self.network.matrix(self.experiment.readable_vocabulary, self.draw)

    def generate(self, source: torch.Tensor, steps: int) -> torch.Tensor:
        """The best beams [B, steps] of a search in which no answer ends."""
        model, U = self.network.train(False).model, self.prepare()
        project, impossible = model.project, U.new_zeros(len(U))
        impossible[END] = -torch.inf
        with patch.object(model, "project", lambda U, x: project(U, x) + impossible):
            return beam(model, U, source.to(self.device), steps, self.experiment.task.beam)[0][:, 0]


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
    return 1 - int((batch.source != 0).sum() + (batch.target != 0).sum()) / batch.tokens


def _median_seconds(call: Callable[[], object], turns: int) -> float:
    """Of processor time, after one call to warm up."""
    call()
    return median(timeit.repeat(call, repeat=turns, number=1, timer=time.process_time))


def _weights(module: torch.nn.Module) -> int:
    return sum(weight.numel() for weight in module.parameters())


@torch.no_grad()
def vocabulary_costs(experiment: Experiment, turns: int, sizes: Sequence[int] = SIZES) -> dict:
    """What embeddings of an experiment's width cost for m interchangeable tokens, m in `sizes`.

    The experiment gives D, the other tokens, and d_beta, which grows where its sampling set is too
    small. "bytes" are those of U, "seconds" the median of `turns` times of drawing it.
    """
    D, config, training = experiment.model.d_model, experiment.embedding, experiment.task.vocabulary
    widths = [max(config.d_beta, fewest_dimensions(config.method, m)) for m in sizes]
    parameters, seconds = {name: [] for name in METHODS}, {name: [] for name in METHODS}
    for m, width in zip(sizes, widths, strict=True):
        vocabulary = replace(training, interchangeable=(tuple(f"x{i}" for i in range(m)),))
        configs = EmbeddingConfig("learned"), EmbeddingConfig("alpha_renaming")
        for name, chosen in zip(METHODS, (*configs, replace(config, d_beta=width)), strict=True):
            maker = chosen.maker.build(chosen, vocabulary, vocabulary, D).train()
            parameters[name].append(_weights(maker))
            draw = partial(maker.matrix, vocabulary, seeded(0, m))
            seconds[name].append(_median_seconds(draw, turns))
    others = training.learned_count
    facts = {"sizes": list(sizes), "d_beta": widths, "bytes": [4 * D * (others + m) for m in sizes]}
    return facts | {"parameters": parameters, "seconds": seconds}


def step_parts(run: Callable[[], object], steps: int = 1) -> dict[str, float]:
    """Seconds of `steps` calls of `run` on a CPU by kind of operation, largest first.

    An operation's own time counts for the kind of the nearest operation around it that KINDS names.
    The profiler costs time too: read the shares, and take the length of a step from a clock.
    """
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # no messages of the profiler's own
    kinds = {name: kind for kind, names in KINDS.items() for name in names.split()}
    parts: Counter[str] = Counter()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        for _ in range(steps):
            run()
    for event in profile.events():
        around, kind = event, None
        while around is not None and kind is None:
            name = around.name.removeprefix("autograd::engine::evaluate_function: ")
            optimizer = name.startswith("Optimizer.") or "_foreach_" in name
            kind, around = kinds.get("optimizer" if optimizer else name), around.cpu_parent
        parts[kind or "the rest"] += event.self_cpu_time_total / 1e6
    return dict(parts.most_common())


def measure(scale: str | None = None) -> dict:
    """Everything as JSON; processor time on one CPU thread, else wall time."""
    scale, started, load = resolve_scale(scale), time.perf_counter(), os.getloadavg()[0]
    effort, now, clock = EFFORTS[scale], time.perf_counter, "perf_counter"
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda":
        clock = "perf_counter after synchronize"
        now = lambda: (torch.cuda.synchronize(device), time.perf_counter())[1]  # noqa: E731
    elif torch.get_num_threads() == 1:
        now, clock = time.process_time, "process_time"
    subjects = {method: Subject(method, scale, device=device) for method in METHODS}
    proposed = subjects["proposed"].experiment
    task, size = proposed.task, proposed.training.batch_size
    try:
        pairs = read_set("ltl35", scale)["train"][: effort["formulas"]]
    except MissingError:
        pairs = sample("ltl35", scale, effort["formulas"])["train"]
    problems = task.pack(pairs, task.vocabulary)
    stream = PairStream(problems, problems, size, proposed.seed)
    batches = [Batch.of(stream.batch(step)).to(device) for step in range(effort["turns"])]
    first = problems.batch(np.arange(min(effort["sources"], len(problems))))
    source = Batch.of(first).source.to(device)
    facts = {"batch": size, "sources": len(source), "steps": effort["length"], "beams": task.beam}
    result: dict = {"formulas": facts, "methods": list(METHODS)}
    calls = {
        "training_step": lambda s, turn: s.train_step(batches[turn]),
        "forward": lambda s, turn: s.forward(batches[turn]),
        "generation": lambda s, turn: s.generate(source, effort["length"]),
        "embedding": lambda s, turn: s.prepare(),
    }
    for quantity, call in calls.items():
        turns = effort["draws" if quantity == "embedding" else "turns"]
        mine = {method: partial(call, subject) for method, subject in subjects.items()}
        result[quantity] = summary(take_turns(mine, turns, now), METHODS[0])
    result["parameters"] = {
        method: {"embedding": _weights(s.network.embedding), "model": _weights(s.network.model)}
        for method, s in subjects.items()
    }
    result["vocabulary"] = vocabulary_costs(proposed, effort["draws"])
    counts, generator = COUNTS[:2] if scale == "smoke" else COUNTS, seeded(0, 20)
    drawn = {"dimensions": 20, "counts": list(counts), "seconds": {}}
    for method in random_vectors.METHODS:
        draw = partial(random_vectors.random_vectors, method)
        calls = [partial(draw, count, 20, generator) for count in counts]
        drawn["seconds"][method] = [_median_seconds(call, effort["draws"]) for call in calls]
    result["random_vectors"] = drawn
    words = command(NOTEBOOK, scale)
    measured = {"clock": clock, "threads": torch.get_num_threads()}
    measured["load_average"] = [round(load, 1), round(os.getloadavg()[0], 1)]
    return {
        "name": "efficiency",
        "scale": scale,
        "result": result,
        "effort": effort,
        "experiments": {method: s.experiment.to_json() for method, s in subjects.items()},
        "measured": origin(words, time.perf_counter() - started, device) | measured,
    }


def load_efficiency(scale: str | None = None) -> dict:
    """A kept result; MissingError says the command that makes it."""
    scale = resolve_scale(scale)
    return load_measured("efficiency", scale, command(NOTEBOOK, scale))
