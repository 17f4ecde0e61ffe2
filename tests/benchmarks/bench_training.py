"""Time of a training step: the library against a plain torch.nn.Transformer.

    python tests/benchmarks/bench_training.py

Nothing is asserted about time, which is processor time with one thread, else wall time.
Copying at the paper's size (batches of 512 strings), logic at lab size (the lab sets, batches by
length). All sides see the same batches, AdamW, and gradient clipping; notebook 13 has the table.

    library              what training.Trainer does in a step: a fresh U, AdaCos, backward, clipping
    library, bfloat16    the same as `--precision bfloat16` has it
    plain                torch.nn.Transformer as it comes (post-norm, dropout on attention weights
                         too), learned embeddings tied to the output, sinusoidal positions added,
                         padding masks, cross-entropy
"""

import argparse
import math
import time
from collections.abc import Callable
from itertools import count
from statistics import median

import torch
from torch import nn
from torch.nn.functional import cross_entropy, linear
from torch.nn.utils import clip_grad_norm_

from itekit.data import Batch
from itekit.experiments import Experiment
from itekit.names import experiment
from itekit.network import Network
from itekit.random_vectors import seeded
from itekit.training import adamw, batch_loss
from lessons.efficiency import take_turns

BATCHES = 6
CASES = {"copying-5-10/proposed": "paper", "ltl/proposed": "lab", "prop/proposed": "lab"}


class PlainTransformer(nn.Module):
    """Learned embeddings and sinusoidal positions around torch.nn.Transformer; tied output."""

    def __init__(self, settings: Experiment, longest: int = 160):
        super().__init__()
        size = settings.model
        self.embedding = nn.Embedding(len(settings.task.vocabulary), size.d_model)
        self.transformer = nn.Transformer(
            size.d_model, size.heads, size.layers, size.layers, size.d_ff, size.dropout,
            batch_first=True,
        )  # fmt: skip
        self.dropout = nn.Dropout(size.dropout)
        frequencies = 10000.0 ** (-torch.arange(0, size.d_model, 2) / size.d_model)
        angles = torch.arange(float(longest))[:, None] * frequencies
        self.register_buffer("positions", torch.cat([angles.sin(), angles.cos()], dim=1))

    def embed(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens) * math.sqrt(self.embedding.embedding_dim)
        return self.dropout(x + self.positions[: tokens.shape[1]])

    def forward(self, source: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        T = inputs.shape[1]
        causal, padding = torch.ones(T, T, dtype=torch.bool).triu(1), source == 0
        features = self.transformer(
            self.embed(source), self.embed(inputs), tgt_mask=causal, tgt_is_causal=True,
            src_key_padding_mask=padding, tgt_key_padding_mask=inputs == 0,
            memory_key_padding_mask=padding,
        )  # fmt: skip
        return linear(features, self.embedding.weight)


METHODS = ("library", "library, bfloat16", "plain")


def stepper(method: str, settings: Experiment, batches: list[Batch]) -> Callable[..., None]:
    """A function that trains for one step, batch after batch, whatever it is given."""
    module = PlainTransformer(settings) if method == "plain" else Network(settings)
    optimizer, steps = adamw(module.train()), count()
    for group in optimizer.param_groups:
        group["lr"] = settings.training.learning_rate

    def run(*_) -> None:
        step = next(steps)
        batch = batches[step % len(batches)]
        if method == "plain":
            logits = module(batch.source, batch.inputs)
            loss = cross_entropy(logits.flatten(0, 1), batch.target.flatten(), ignore_index=0)
        else:
            torch.manual_seed(step)
            with torch.autocast("cpu", torch.bfloat16, enabled="bfloat16" in method):
                loss = batch_loss(module, batch, seeded(0, 1, step))
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(module.parameters(), settings.training.gradient_norm)
        optimizer.step()

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1, help="torch's threads")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each method")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    now = time.process_time if options.threads == 1 else time.perf_counter
    print(f"torch {torch.__version__}, threads {options.threads}; times are {now.__name__}'s")
    for name, scale in CASES.items():
        settings = experiment(name, scale)
        stream = settings.task.stream(settings.training.batch_size, settings.seed)
        batches = [Batch.of(stream.batch(step)) for step in range(BATCHES)]
        tokens = sum(batch.tokens for batch in batches) / len(batches)
        steps = {method: stepper(method, settings, batches) for method in METHODS}
        times = take_turns(steps, options.rounds, now)
        seconds = {method: median(turns) for method, turns in times.items()}
        size = len(batches[0].source)
        print(f"\n{name}, {scale} size, batch {size}: median of {options.rounds} turns")
        for method, value in seconds.items():
            print(f"  {method:20}{value * 1e3:8.1f} ms {tokens / value:10.0f} tokens/s"
                  f" {value / seconds['library']:6.2f} times the library's")  # fmt: skip


if __name__ == "__main__":
    main()
