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

import math
from collections import Counter
from collections.abc import Callable
from functools import partial

import torch
from _bench import medians, peak_memory, start, take_turns
from torch import nn
from torch.nn.functional import cross_entropy, linear
from torch.nn.utils import clip_grad_norm_

from itekit.data import Batch, CopyingStream
from itekit.dropout import Dropout
from itekit.experiments import experiment
from itekit.network import Network, seeded
from itekit.schedule import adamw

COMMAND = "python tests/benchmarks/bench_training_step.py"
EXPERIMENT = experiment("copying-5-10/proposed", "paper")
BATCHES = 8


class PlainTransformer(nn.Module):
    """Learned embeddings and sinusoidal positions around torch.nn.Transformer; tied output."""

    def __init__(self, vocabulary: int, attention_dropout: bool):
        super().__init__()
        size = EXPERIMENT.model
        self.embedding = nn.Embedding(vocabulary, size.d_model)
        self.transformer = nn.Transformer(
            size.d_model, size.heads, size.layers, size.layers, size.d_ff, size.dropout,
            batch_first=True,
        )  # fmt: skip
        self.dropout = nn.Dropout(size.dropout)
        if not attention_dropout:
            for module in self.modules():
                if isinstance(module, nn.MultiheadAttention):
                    module.dropout = 0.0
        angles = torch.arange(64.0)[:, None] * 10000.0 ** (
            -torch.arange(0, size.d_model, 2) / size.d_model
        )
        self.register_buffer("positions", torch.cat([angles.sin(), angles.cos()], dim=1))

    def embed(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens) * math.sqrt(self.embedding.embedding_dim)
        return self.dropout(x + self.positions[: tokens.shape[1]])

    def forward(self, source: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        T = inputs.shape[1]
        causal = torch.ones(T, T, dtype=torch.bool).triu(1)
        padding = source == 0
        features = self.transformer(
            self.embed(source), self.embed(inputs), tgt_mask=causal, tgt_is_causal=True,
            src_key_padding_mask=padding, tgt_key_padding_mask=inputs == 0,
            memory_key_padding_mask=padding,
        )  # fmt: skip
        return linear(features, self.embedding.weight)


def stepper(modules: list[nn.Module], loss_of: Callable[[int], torch.Tensor]):
    """A function that trains for one step; both sides use this one."""
    optimizer = adamw(modules, EXPERIMENT.training.learning_rate)
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    step = 0

    def run() -> None:
        nonlocal step
        loss = loss_of(step)
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(parameters, EXPERIMENT.training.gradient_norm)
        optimizer.step()
        step += 1

    return run


def library(batches: list[Batch]) -> Callable[[], None]:
    network = Network.build(EXPERIMENT).train()

    def loss_of(step: int) -> torch.Tensor:
        dropout = Dropout(EXPERIMENT.model.dropout, seeded(0, 2, step))
        return network.batch_loss(batches[step % len(batches)], seeded(0, 1, step), dropout)

    return stepper(list(network.modules.values()), loss_of)


def plain(attention_dropout: bool, batches: list[Batch]) -> Callable[[], None]:
    torch.manual_seed(0)
    model = PlainTransformer(len(EXPERIMENT.vocabulary), attention_dropout)

    def loss_of(step: int) -> torch.Tensor:
        batch = batches[step % len(batches)]
        logits = model(batch.source, batch.inputs)
        return cross_entropy(logits.flatten(0, 1), batch.target.flatten(), ignore_index=0)

    return stepper([model], loss_of)


METHODS = {
    "library": library,
    "plain": partial(plain, True),
    "plain, no attention dropout": partial(plain, False),
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


# An operation counts for the kind of the nearest of these around it, itself included.
KINDS = {
    "dropout": "dropout and residual sums",
    "aten::addcmul": "dropout and residual sums",
    "AddcmulBackward0": "dropout and residual sums",
    "aten::linear": "linear layers and projection",
    "AddmmBackward0": "linear layers and projection",
    "aten::matmul": "attention: products and softmax",
    "aten::softmax": "attention: products and softmax",
    "BmmBackward0": "attention: products and softmax",
    "SoftmaxBackward0": "attention: products and softmax",
    "_SplitHeads": "attention: heads, RoPE, unpacking",
    "_SplitHeadsBackward": "attention: heads, RoPE, unpacking",
    "aten::index_select": "attention: heads, RoPE, unpacking",
    "IndexSelectBackward0": "attention: heads, RoPE, unpacking",
    "aten::layer_norm": "layer norm",
    "NativeLayerNormBackward0": "layer norm",
    "optimizer": "AdamW and clipping",
}


def kind_of(event) -> str:
    while event is not None:
        name = event.name.removeprefix("autograd::engine::evaluate_function: ")
        name = "optimizer" if name.startswith("Optimizer.") or "_foreach_" in name else name
        if name in KINDS:
            return KINDS[name]
        event = event.cpu_parent
    return "the rest"


def print_breakdown(steps: int = 10) -> None:
    run = library(make_batches())
    for _ in range(3):
        run()
    keep = Dropout.keep
    Dropout.keep = torch.profiler.record_function("dropout")(keep)
    try:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            for _ in range(steps):
                run()
    finally:
        Dropout.keep = keep
    shares = Counter()
    for event in profile.events():
        shares[kind_of(event)] += event.self_cpu_time_total
    print(f"\nwhere the library's step goes, by torch.profiler over {steps} steps, both ways")
    for kind, value in shares.most_common():
        print(f"  {kind:36}{value / shares.total():6.1%}")


def main() -> None:
    options = start(COMMAND)
    print_memory()
    print_times(options.rounds or 15)
    print_breakdown()


if __name__ == "__main__":
    main()
