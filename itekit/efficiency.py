"""What the proposed embeddings cost: time of training, of inference and of the embeddings, weights.

Paper, section "Computational Efficiency", appendix "Computational Efficiency Details". Ordinary
embeddings, alpha-renaming and the proposed embeddings do the same work here on the same formulas:

    training_step   a fresh U, loss, gradients, clipping, AdamW, on a batch grouped by length
    forward         a U and the logits of a batch, without gradients
    generation      beam search for a fixed number of steps (the end token is made impossible)
    embedding       drawing U for the test vocabulary, which an evaluation does once

The networks are untrained, for weights do not change the time. The methods take turns at each
batch, and a ratio compares two times of the same turn, so that other work on the machine matters
less than for the times themselves.
"""

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

import numpy as np
import torch

from itekit.data import Batch
from itekit.datasets.sample import sample
from itekit.datasets.sets import MissingSetError, read_set
from itekit.embedding_costs import draw_seconds, vocabulary_costs
from itekit.experiments import experiment
from itekit.pairs import Pair, PairStream, Problems
from itekit.provenance import provenance
from itekit.results import RESULTS, MissingResultError
from itekit.scale import resolve_scale
from itekit.timing import Subject, clock, padding, summary, take_turns

METHODS = ("plain", "alpha-renaming", "proposed")
QUANTITIES = ("training_step", "forward", "generation", "embedding")


@dataclass(frozen=True)
class Effort:
    """How much is measured.

    Attributes:
        formulas: that batches are made of; at paper size a sample of about so many is drawn.
        turns: of training steps, forward passes and generations.
        sources: formulas for which answers are generated.
        length: steps of a generation.
        draws: turns of drawing U and of drawing random vectors.
        counts: random vectors that are drawn at once.
    """

    formulas: int
    turns: int
    sources: int
    length: int
    draws: int
    counts: tuple[int, ...] = (10, 100, 1000, 10_000, 100_000)


EFFORTS: Mapping[str, Effort] = MappingProxyType(
    {
        "smoke": Effort(100, 2, 8, 4, 2, (10, 100)),
        "lab": Effort(6500, 9, 96, 24, 50),
        "paper": Effort(20_000, 7, 768, 41, 50),
    }
)


def measure(scale: str | None = None, device: str = "cpu", progress: bool = False) -> dict:
    """Everything as JSON, with its provenance."""
    scale, started, load = resolve_scale(scale), time.perf_counter(), os.getloadavg()[0]
    effort, now = EFFORTS[scale], clock(torch.device(device))
    subjects = {method: Subject(method, scale, device=device) for method in METHODS}
    batches, source, facts = _formulas(scale, effort, device)
    calls = {
        "training_step": lambda s, turn: s.train_step(batches[turn % len(batches)]),
        "forward": lambda s, turn: s.forward(batches[turn % len(batches)]),
        "generation": lambda s, turn: s.generate(source, effort.length),
        "embedding": lambda s, turn: s.prepare(),
    }
    result: dict = {"formulas": facts, "methods": list(METHODS)}
    for quantity, call in calls.items():
        turns = effort.draws if quantity == "embedding" else effort.turns
        mine = {method: partial(call, subject) for method, subject in subjects.items()}
        result[quantity] = summary(take_turns(mine, turns, now), METHODS[0])
        if progress:
            print(_line(quantity, result[quantity]), flush=True)
    result["parameters"] = {method: s.parameters() for method, s in subjects.items()}
    result["vocabulary"] = vocabulary_costs(subjects["proposed"].experiment, effort.draws)
    result["random_vectors"] = draw_seconds(effort.counts, effort.draws)
    measured = provenance(device) | {
        "seconds": round(time.perf_counter() - started, 1),
        "threads": torch.get_num_threads(),
        "clock": getattr(now, "__name__", "perf_counter after synchronize"),
        "load_average": [round(load, 1), round(os.getloadavg()[0], 1)],
    }
    settings = {method: s.experiment.to_json() for method, s in subjects.items()}
    return {
        "name": "efficiency",
        "scale": scale,
        "result": result,
        "effort": vars(effort),
        "experiments": settings,
        "measured": measured,
    }


def _formulas(scale: str, effort: Effort, device: str) -> tuple[list[Batch], torch.Tensor, dict]:
    """Batches to train on, sources to answer, and how many places of the batches are padding."""
    made = experiment("ltl/proposed", scale)
    problems = Problems.of(_pairs(scale, effort.formulas), made.vocabulary)
    stream = PairStream(problems, problems, made.training.batch_size, made.seed)
    batches = [stream.batch(step).to(torch.device(device)) for step in range(effort.turns)]
    source = problems.batch(np.arange(min(effort.sources, len(problems)))).source
    shuffled = problems.batch(np.arange(made.training.batch_size))
    facts = {
        "batch": made.training.batch_size,
        "sources": len(source),
        "steps": effort.length,
        "beams": made.beam,
        "padding_grouped": float(np.mean([padding(batch) for batch in batches])),
        "padding_shuffled": padding(shuffled),
    }
    return batches, source.to(device), facts


def _pairs(scale: str, count: int) -> list[Pair]:
    """`count` problems of ltl35 to train on, of a sample where the set is not there."""
    try:
        return read_set("ltl35", scale)["train"][:count]
    except MissingSetError:
        return sample("ltl35", scale, count)["train"]


def _line(quantity: str, found: dict[str, dict]) -> str:
    cells = [
        f"{method} {one['seconds'] * 1e3:.4g} ms (× {one['ratio_quartiles'][1]:.2f})"
        for method, one in found.items()
    ]
    return f"{quantity:14}" + ", ".join(cells)


def result_path(scale: str, directory: Path | None = None) -> Path:
    """Where a result is kept."""
    return Path(directory or RESULTS) / f"efficiency-{scale}.json"


def load_efficiency(scale: str | None = None, directory: Path | None = None) -> dict:
    """A kept result.

    Raises:
        MissingResultError: there is none at this scale; the message says the command.
        ValueError: the file is damaged.
    """
    scale = resolve_scale(scale)
    path = result_path(scale, directory)
    if not path.exists():
        raise MissingResultError(
            f"no result {path.name} in {path.parent}; make it: "
            f"python -m itekit efficiency --scale {scale}"
        )
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: damaged JSON ({error})") from error
