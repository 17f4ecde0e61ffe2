"""Time and memory of a training step: the library against a plain torch.nn.Transformer.

    python tests/benchmarks/bench_training_step.py

copying-5-10/proposed at the paper's size (D 64, 2 + 2 layers, 4 heads, feed-forward 64, batch 512,
strings of 5 to 10 characters). All sides see the same batches, AdamW, and gradient clipping.

    library    what training.Trainer does in a step: a fresh U, the network's loss (AdaCos),
               backward, clipping, AdamW
    plain      torch.nn.Transformer as it comes (post-norm, dropout 0.1), learned embeddings tied
               to the output, sinusoidal positions added, padding masks, cross-entropy
    plain, no attention dropout
               the same without dropout on attention weights, which the paper's model has not either

The methods take turns; medians are printed. Nothing is asserted.
"""

from functools import partial

from _bench import medians, peak_memory, start, take_turns
from _plain import plain
from _steps import library, print_parts

from itekit.data import Batch, CopyingStream
from itekit.experiments import experiment

COMMAND = "python tests/benchmarks/bench_training_step.py"
EXPERIMENT = experiment("copying-5-10/proposed", "paper")
BATCHES = 8

METHODS = {
    "library": partial(library, EXPERIMENT),
    "plain": partial(plain, EXPERIMENT, True),
    "plain, no attention dropout": partial(plain, EXPERIMENT, False),
}


def make_batches(size: int = EXPERIMENT.training.batch_size) -> list[Batch]:
    stream = CopyingStream(EXPERIMENT.data, EXPERIMENT.vocabulary, size, 0)
    return [stream.batch(i) for i in range(BATCHES)]


def train(name: str, size: int) -> None:
    run = METHODS[name](make_batches(size))
    for _ in range(5):
        run()


def print_memory() -> None:
    print("\npeak memory of 5 steps in a fresh process, MiB (resource.getrusage, ru_maxrss)")
    for name in METHODS:
        size = EXPERIMENT.training.batch_size
        growth, peak = peak_memory(partial(train, name, 2), partial(train, name, size))
        print(f"  {name:28}{growth:8.0f} above the same steps with a batch of 2;{peak:7.0f} in all")


def print_times(rounds: int) -> None:
    batches = make_batches()
    tokens = sum(batch.tokens for batch in batches) / len(batches)
    steps = {name: make(batches) for name, make in METHODS.items()}
    take_turns(steps, 5)  # warm up
    times = medians(take_turns(steps, rounds))
    print(f"\na training step, batch {len(batches[0].source)}: median of {rounds} turns")
    for name, value in times.items():
        ratio = value / times["library"]
        print(f"  {name:28}{value * 1e3:8.1f} ms {tokens / value:10.0f} tokens/s"
              f" {ratio:6.2f} times the library's")  # fmt: skip


def main() -> None:
    options = start(COMMAND)
    print_memory()
    print_times(options.rounds or 15)
    print_parts(library(EXPERIMENT, make_batches()), 10)


if __name__ == "__main__":
    main()
