"""Experiments as data: a task, a network, and how it is trained. The table of names is `names`.

A setting is called by its path, such as "training.steps". One out of range is a ValueError.
"""

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any

from itekit.embeddings import EmbeddingConfig
from itekit.files import rebuild
from itekit.losses import LOSSES
from itekit.model import ModelConfig
from itekit.tasks.task import TASKS, Task, at_least, one_of
from itekit.vocabulary import Vocabulary


@dataclass(frozen=True)
class TrainingConfig:
    """How long and how to train; the defaults are the paper's for copying.

    Attributes:
        steps, batch_size: optimiser steps, and sequences in each.
        learning_rate, warmup: peak, and the steps of linear warm-up; then cosine to zero.
        gradient_norm: gradients are clipped to this norm.
        positions: of each batch, the columns are at a random choice of so many positions, in
            order; 0: at 0, 1, 2, ..., as in the evaluation.
        log_every: in steps; validate_every, checkpoint_every: multiples of it.
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
        at_least(self, 1, "steps", "batch_size", "log_every", "validate_every", "checkpoint_every")
        at_least(self, 0, "warmup", "positions")
        for name in ("learning_rate", "gradient_norm"):
            if not 0 < (value := getattr(self, name)) < math.inf:
                raise ValueError(f"{name} must be more than 0, found {value}")
        for name in ("validate_every", "checkpoint_every"):
            if (value := getattr(self, name)) % (every := self.log_every):
                raise ValueError(f"{name} ({value}) must be a multiple of log_every ({every})")


@dataclass(frozen=True)
class Experiment:
    """What decides a run: a task, a network, and how it is trained.

    Attributes:
        name: family/variant.
        task: what is learned, of which size, and how it is evaluated.
        embedding, model, training: the network and how it is trained.
        loss: a key of `losses.LOSSES`.
        start: the experiment with whose weights the training begins; "": random ones.
        seed: of weights, data and random parts; 0 or more.
    """

    name: str
    task: Any  # a `tasks.task.Task`: which one, its JSON says by "kind"
    embedding: EmbeddingConfig = field(default_factory=EmbeddingConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    loss: str = "adacos"
    start: str = ""
    seed: int = 0

    def __post_init__(self):
        one_of(self, "loss", tuple(LOSSES))
        if getattr(LOSSES[self.loss], "cosines", False) and not self.embedding.f_fn:
            raise ValueError(f"loss {self.loss} needs f_fn: without it the logits are not cosines")
        at_least(self, 0, "seed")
        self.embedding.check_names(self.task.test_vocabulary)
        self.task.check_training(self.training)

    @property
    def scale(self) -> str:
        """The size, smoke, lab or paper: the task's."""
        return self.task.scale

    @property
    def operands(self) -> tuple[int, ...]:
        """How many operands each non-interchangeable token takes."""
        vocabulary = self.task.vocabulary
        fixed = vocabulary.tokens[: vocabulary.learned_count]
        return tuple(self.task.operands.get(token, 0) for token in fixed)

    @property
    def readable_vocabulary(self) -> Vocabulary:
        """What the network can read at evaluation: ordinary embeddings cannot be extended."""
        extends = self.embedding.maker.extends
        return self.task.test_vocabulary if extends else self.task.vocabulary

    def of_training(self, path: str) -> bool:
        """Whether the weights depend on a setting."""
        part, _, rest = path.partition(".")
        return part != "task" or rest.partition(".")[0] not in self.task.EVALUATION

    def differences(self, usual: "Experiment") -> dict[str, object]:
        """The settings, by path, that are not those of `usual`."""
        other = usual.settings()
        return {path: v for path, v in self.settings().items() if v != other.get(path)}

    def settings(self) -> dict[str, object]:
        """All settings by their paths, such as "training.steps"."""
        return flat(self.to_json())

    def to_json(self) -> dict:
        """A JSON value from which `from_json` rebuilds the experiment."""
        value = dataclasses.asdict(self)
        return value | {"task": {"kind": self.task.kind} | value["task"]}


def from_json(value: dict, kind: type[Task] | None = None) -> Experiment:
    """Rebuild an experiment of a kind of task, by default the one of TASKS that its JSON names.

    ValueError for an unknown kind and for an unknown or wrong setting.
    """
    if not isinstance(value, dict) or not isinstance(settings := value.get("task"), dict):
        raise ValueError(f"an experiment needs its task, found {repr(value)[:200]}")
    settings = dict(settings)
    word = settings.pop("kind", None)
    kind = kind or TASKS.get(word)
    if kind is None or word != kind.kind:
        known = kind.kind if kind else ", ".join(TASKS)
        raise ValueError(f"unknown task {word!r}: expected {known or 'an import of itekit.names'}")
    return rebuild(Experiment, value | {"task": rebuild(kind, settings)})


def flat(settings: dict, prefix: str = "") -> dict[str, object]:
    """Settings by their paths, such as "training.steps"."""
    paths = {}
    for key, value in settings.items():
        path = prefix + key
        paths |= flat(value, f"{path}.") if isinstance(value, dict) else {path: value}
    return paths
