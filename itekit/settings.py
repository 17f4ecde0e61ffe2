"""Experiments as values: every setting that decides a run, checked when it is made.

`Experiment` is what all tasks share; what a task adds is in `task_settings`.
"""

import dataclasses
import typing
from dataclasses import dataclass, field, replace

from itekit.embeddings import EmbeddingConfig
from itekit.layers import ROPE_BASE, ModelConfig
from itekit.vocabulary import Vocabulary


@dataclass(frozen=True)
class TrainingConfig:
    """How long and how to train; the defaults are the paper's for copying.

    Attributes:
        steps, batch_size: optimiser steps, and sequences in each.
        learning_rate, warmup: peak, and the steps of linear warm-up; then cosine to zero.
        gradient_norm: gradients are clipped to this norm.
        positions: train at randomized positions, chosen from so many (see
            `Batch.at_random_positions`); 0: at 0, 1, 2, ..., as the evaluation.
        log_every: steps between records of the log.
        validate_every, checkpoint_every: in steps, multiples of log_every.

    Raises:
        ValueError: a setting out of range.
    """

    steps: int = 20_000
    batch_size: int = 512
    learning_rate: float = 1e-3
    warmup: int = 1000
    gradient_norm: float = 1.0
    positions: int = 0
    log_every: int = 50
    validate_every: int = 1000
    checkpoint_every: int = 500

    def __post_init__(self):
        for name in ("steps", "batch_size", "log_every", "validate_every", "checkpoint_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be 1 or more, found {getattr(self, name)}")
        for name in ("warmup", "positions"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be 0 or more, found {getattr(self, name)}")
        for name in ("validate_every", "checkpoint_every"):
            if getattr(self, name) % self.log_every:
                raise ValueError(
                    f"{name} ({getattr(self, name)}) must be a multiple of log_every "
                    f"({self.log_every})"
                )


@dataclass(frozen=True)
class Experiment:
    """What decides a run of any task.

    Attributes:
        name: family/variant.
        scale: "smoke", "lab" or "paper".
        embedding, model, training, adacos: the network and how it is trained.
        per_sample: a random part of its own for each sequence of a batch, not one for the batch.
        draws: random embeddings that an evaluation draws.
        seed: of weights, data and random parts; 0 or more.

    Raises:
        ValueError: settings out of range, or that contradict each other.
    """

    name: str
    scale: str = "paper"
    embedding: EmbeddingConfig = field(default_factory=EmbeddingConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    adacos: bool = True
    per_sample: bool = False
    draws: int = 10
    seed: int = 0

    # Settings of the evaluation alone: two runs that differ in them have the same weights.
    EVALUATION: typing.ClassVar[tuple[str, ...]] = ("draws",)

    def __post_init__(self):
        if self.adacos and not self.embedding.f_fn:
            raise ValueError("AdaCos needs f_fn: without it the logits are not cosines")
        if self.embedding.f_fn != self.model.normalize_features:
            raise ValueError("f_fn normalises rows and features: set it in embedding and in model")
        if self.seed < 0:
            raise ValueError(f"the seed must be 0 or more, found {self.seed}")
        if self.per_sample and self.embedding.kind != "dual_part":
            raise ValueError("per_sample draws random parts: it needs a dual-part embedding")
        if self.draws < 1:
            raise ValueError(f"draws must be 1 or more, found {self.draws}")

    @property
    def vocabulary(self) -> Vocabulary:
        """The training vocabulary."""
        raise NotImplementedError

    @property
    def test_vocabulary(self) -> Vocabulary:
        """The vocabulary at evaluation."""
        raise NotImplementedError

    @property
    def readable_vocabulary(self) -> Vocabulary:
        """What the network can read at evaluation: ordinary embeddings cannot be extended."""
        extends = self.embedding.kind != "learned"
        return self.test_vocabulary if extends else self.vocabulary

    @property
    def operands(self) -> tuple[int, ...]:
        """For tree positions: how many operands each non-interchangeable token takes."""
        return ()

    def stream(self):
        """The batches to train on: `batch(step)`, and `held_out`, the ones to validate with."""
        raise NotImplementedError

    @property
    def slug(self) -> str:
        """A file name: family-variant-scale-seed, and RoPE's base where it is not the paper's."""
        base = "" if self.model.rope_base == ROPE_BASE else f"-rope{self.model.rope_base:.15g}"
        return f"{self.name.replace('/', '-')}-{self.scale}-s{self.seed}{base}"

    def with_rope_base(self, base: float) -> typing.Self:
        """The same experiment with another base of RoPE.

        Raises:
            ValueError: a base of 1 or less.
        """
        return replace(self, model=replace(self.model, rope_base=base))

    def to_json(self) -> dict:
        """A JSON value from which `from_json` rebuilds the experiment."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, value: dict) -> typing.Self:
        """Rebuild an experiment.

        Raises:
            ValueError: an unknown or missing setting.
        """
        return _rebuild(cls, value)


def _rebuild(kind: type, value: dict):
    hints = {f.name: typing.get_type_hints(kind)[f.name] for f in dataclasses.fields(kind)}
    unknown = set(value) - set(hints)
    if unknown:
        raise ValueError(f"{kind.__name__} has no setting {sorted(unknown)[0]!r}")
    for f in dataclasses.fields(kind):
        required = f.default is f.default_factory is dataclasses.MISSING
        if required and f.name not in value:
            raise ValueError(f"{kind.__name__} needs the setting {f.name!r}")
    settings = {
        name: _rebuild(hints[name], v) if dataclasses.is_dataclass(hints[name]) else v
        for name, v in value.items()
    }
    return kind(**settings)
