"""The reference of the training benchmarks: torch.nn.Transformer as it comes."""

import math
from collections.abc import Callable

import torch
from _steps import stepper
from torch import nn
from torch.nn.functional import cross_entropy, linear

from itekit.data import Batch
from itekit.settings import Experiment


class PlainTransformer(nn.Module):
    """Learned embeddings and sinusoidal positions around torch.nn.Transformer; tied output.

    Args:
        experiment: gives the sizes and the training vocabulary.
        attention_dropout: dropout on attention weights too, as torch.nn.Transformer has it.
        longest: positions that there are.
    """

    def __init__(self, experiment: Experiment, attention_dropout: bool, longest: int = 160):
        super().__init__()
        size = experiment.model
        self.embedding = nn.Embedding(len(experiment.vocabulary), size.d_model)
        self.transformer = nn.Transformer(
            size.d_model, size.heads, size.layers, size.layers, size.d_ff, size.dropout,
            batch_first=True,
        )  # fmt: skip
        self.dropout = nn.Dropout(size.dropout)
        if not attention_dropout:
            for module in self.modules():
                if isinstance(module, nn.MultiheadAttention):
                    module.dropout = 0.0
        angles = torch.arange(float(longest))[:, None] * 10000.0 ** (
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


def plain(
    experiment: Experiment, attention_dropout: bool, batches: list[Batch]
) -> Callable[[], None]:
    """A function that trains the plain transformer for one step, batch after batch."""
    torch.manual_seed(0)
    model = PlainTransformer(experiment, attention_dropout)

    def loss_of(step: int) -> torch.Tensor:
        batch = batches[step % len(batches)]
        logits = model(batch.source, batch.inputs)
        return cross_entropy(logits.flatten(0, 1), batch.target.flatten(), ignore_index=0)

    return stepper(experiment, [model], loss_of)
