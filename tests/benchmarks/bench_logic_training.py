"""Formulas a second in LTL training: the library against a plain torch.nn.Transformer.

    python tests/benchmarks/bench_logic_training.py

ltl/proposed at the paper's model size (D 128, 8 + 8 layers, 8 heads, feed-forward 1024) with
batches of 96, on formulas of the paper's recipe: 5 APs, the same number of each size to 35, with
Spot's traces. 12,500 of them are drawn once, labelled with the fast translation (its traces are
about as long), and kept in runs/sets. A round is 10 batches, the same formulas for all methods:

    library            what training.Trainer does in a step (a fresh U, AdaCos, clipping, AdamW) on
                       the batches of PairStream, which are grouped by length in pools of 20
    library, bfloat16  the same with `--precision bfloat16`: the products of the linear layers
    plain              torch.nn.Transformer as it comes (dropout on attention weights too), learned
                       embeddings, sinusoidal positions, cross-entropy; shuffled batches, padded to
                       the longest formula and the longest trace of each
    plain, no attention dropout
                       the same without dropout on attention weights, as the paper's model
    plain, grouped     as "plain, no attention dropout" on the library's batches

The methods take turns batch by batch; a ratio compares sums over the same round. Nothing is
asserted.
"""

from functools import partial
from statistics import median

import numpy as np
from _bench import seconds, start
from _plain import plain
from _steps import library, print_parts
from torch.nn.utils.rnn import pad_sequence

from itekit.data import Batch
from itekit.datasets.sample import sample
from itekit.experiments import experiment
from itekit.pairs import POOL, PairStream, Problems

COMMAND = "python tests/benchmarks/bench_logic_training.py"
EXPERIMENT = experiment("ltl/proposed", "paper")
FORMULAS, BATCH, BATCHES = 12_500, 96, 10
GROUPED, SHUFFLED = "grouped by length", "shuffled"

METHODS = {
    "library": (partial(library, EXPERIMENT), GROUPED),
    "library, bfloat16": (partial(library, EXPERIMENT, precision="bfloat16"), GROUPED),
    "plain": (partial(plain, EXPERIMENT, True), SHUFFLED),
    "plain, no attention dropout": (partial(plain, EXPERIMENT, False), SHUFFLED),
    "plain, grouped": (partial(plain, EXPERIMENT, False), GROUPED),
}


def make_batches() -> dict[str, list[Batch]]:
    """The first batches of a pool as PairStream makes them, and their formulas in random order."""
    pairs, rng = sample("ltl35", "paper", FORMULAS)["train"], np.random.default_rng(0)
    pool = [pairs[row] for row in rng.permutation(len(pairs))[: BATCH * POOL]]
    problems = Problems.of(pool, EXPERIMENT.vocabulary)
    stream = PairStream(problems, problems, BATCH, 0)
    grouped = [stream.batch(step) for step in range(BATCHES)]
    return {GROUPED: grouped, SHUFFLED: shuffled(grouped, rng)}


def shuffled(batches: list[Batch], rng: np.random.Generator) -> list[Batch]:
    """The formulas of some batches in random order, padded to the longest of their new batches."""
    rows = [
        (s[s != 0], t[t != 0]) for b in batches for s, t in zip(b.source, b.target, strict=True)
    ]
    parts = rng.permutation(len(rows)).reshape(len(batches), -1)
    return [
        Batch(*(pad_sequence([rows[i][side] for i in part], batch_first=True) for side in (0, 1)))
        for part in parts
    ]


def print_batches(batches: dict[str, list[Batch]]) -> None:
    for order, many in batches.items():
        places = sum(batch.tokens for batch in many)
        tokens = sum(int((batch.source != 0).sum() + (batch.target != 0).sum()) for batch in many)
        longest = [max(side.shape[1] for side in sides) for sides in
                   ((b.source for b in many), (b.target for b in many))]  # fmt: skip
        print(f"  {order:20}{places / len(many):8.0f} places a batch, {1 - tokens / places:.0%} of "
              f"them padding; longest source {longest[0]}, target {longest[1]}")  # fmt: skip


def measure(batches: dict[str, list[Batch]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each method in each round; the methods take turns batch by batch."""
    steps = {name: make(batches[order]) for name, (make, order) in METHODS.items()}
    for run in list(steps.values()) * 2:
        run()  # warm up
    totals = {name: [0.0] * rounds for name in steps}
    for number in range(rounds):
        for _ in range(BATCHES):
            for name, run in steps.items():
                totals[name][number] += seconds(run)
    return totals


def main() -> None:
    options = start(COMMAND)
    rounds = options.rounds or 3
    batches = make_batches()
    print(f"\n{BATCH * BATCHES:,} formulas in {BATCHES} batches of {BATCH}")
    print_batches(batches)
    totals = measure(batches, rounds)
    print(f"\na round of {BATCHES} training steps: median of {rounds} rounds")
    for name, times in totals.items():
        rate = BATCH * BATCHES / median(times)
        ratios = [other / own for other, own in zip(times, totals["library"], strict=True)]
        print(f"  {name:28}{median(times) / BATCHES * 1e3:8.0f} ms a step{rate:8.0f} formulas/s; "
              f"library {median(ratios):.2f} times as many ({min(ratios):.2f} to "
              f"{max(ratios):.2f})")  # fmt: skip
    print_parts(library(EXPERIMENT, batches[GROUPED]), 4)


if __name__ == "__main__":
    main()
