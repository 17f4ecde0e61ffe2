"""Experiments as values, and the copying experiments of the paper at three sizes.

The names are FAMILY/VARIANT. Families: copying-5-10 (paper, appendix "Generalization to larger
vocabularies and lengths"), copying-3-30 ("Generalization to larger vocabularies") and
copying-large ("Scaling up"). Variants: proposed, plain, full-vocabulary, alpha-renaming,
without-f_bn, and neighboring-points-16.
"""

import dataclasses
import types
import typing
from dataclasses import dataclass, field, replace

from itekit.embeddings import EmbeddingConfig
from itekit.model import ModelConfig
from itekit.scale import resolve_scale
from itekit.tasks.copying import CopyingData, EvaluationGrid, copying_vocabulary
from itekit.vocabulary import Vocabulary


@dataclass(frozen=True)
class TrainingConfig:
    """How long and how to train; the defaults are the paper's for copying.

    Attributes:
        steps, batch_size: optimiser steps, and sequences in each.
        learning_rate, warmup: peak, and the steps of linear warm-up; then cosine to zero.
        gradient_norm: gradients are clipped to this norm.
        log_every, validate_every, checkpoint_every: in steps, the latter two multiples of the first.
    """

    steps: int = 20_000
    batch_size: int = 512
    learning_rate: float = 1e-3
    warmup: int = 1000
    gradient_norm: float = 1.0
    log_every: int = 50
    validate_every: int = 1000
    checkpoint_every: int = 500

    def __post_init__(self):
        for name in ("steps", "batch_size", "log_every", "validate_every", "checkpoint_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be 1 or more, found {getattr(self, name)}")
        for name in ("validate_every", "checkpoint_every"):
            if getattr(self, name) % self.log_every:
                raise ValueError(
                    f"{name} ({getattr(self, name)}) must be a multiple of log_every "
                    f"({self.log_every})"
                )


@dataclass(frozen=True)
class CopyingExperiment:
    """Everything that decides a copying run.

    Attributes:
        name: family/variant.
        scale: "smoke", "lab" or "paper".
        data: the training strings.
        test_characters: size of the alphabet at evaluation.
        embedding, model, training, adacos: the network and how it is trained.
        grid: the evaluation set.
        draws: random embeddings that an evaluation averages over.
        seed: of weights, data and random parts.
    """

    name: str
    scale: str = "paper"
    data: CopyingData = field(default_factory=CopyingData)
    test_characters: int = 30
    embedding: EmbeddingConfig = field(default_factory=EmbeddingConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    adacos: bool = True
    grid: EvaluationGrid = field(default_factory=EvaluationGrid)
    draws: int = 10
    seed: int = 0

    def __post_init__(self):
        if self.adacos and not self.embedding.f_fn:
            raise ValueError("AdaCos needs f_fn: without it the logits are not cosines")
        if self.embedding.f_fn != self.model.normalize_features:
            raise ValueError("f_fn normalises rows and features: set it in embedding and in model")

    @property
    def vocabulary(self) -> Vocabulary:
        """The training vocabulary."""
        return copying_vocabulary(self.data.characters)

    @property
    def test_vocabulary(self) -> Vocabulary:
        """The vocabulary at evaluation."""
        return copying_vocabulary(self.test_characters)

    @property
    def slug(self) -> str:
        """A file name: family-variant-scale-seed."""
        return f"{self.name.replace('/', '-')}-{self.scale}-s{self.seed}"

    def to_json(self) -> dict:
        """A JSON value from which `from_json` rebuilds the experiment."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, value: dict) -> "CopyingExperiment":
        """Rebuild an experiment.

        Raises:
            ValueError: an unknown or missing setting.
        """
        return _rebuild(cls, value)


def _rebuild(kind: type, value: dict):
    hints = typing.get_type_hints(kind)
    unknown = set(value) - set(hints)
    if unknown:
        raise ValueError(f"{kind.__name__} has no setting {sorted(unknown)[0]!r}")
    return kind(**{
        name: _rebuild(hints[name], v) if dataclasses.is_dataclass(hints[name]) else v
        for name, v in value.items()
    })  # fmt: skip


EMBEDDINGS = types.MappingProxyType({
    "proposed": EmbeddingConfig("dual_part", "hypercube_vertices", 6),
    "plain": EmbeddingConfig("learned"),
    "full-vocabulary": EmbeddingConfig("learned"),
    "alpha-renaming": EmbeddingConfig("alpha_renaming"),
    "without-f_bn": EmbeddingConfig("dual_part", "hypercube_vertices", 6, f_bn=False),
    "neighboring-points-16": EmbeddingConfig("dual_part", "neighboring_points", 16),
})  # fmt: skip

_SMOKE = TrainingConfig(20, 16, warmup=5, log_every=5, validate_every=10, checkpoint_every=10)
_LARGE = ModelConfig(d_model=128, layers=6, heads=8, d_ff=128)

# family -> scale -> settings
FAMILIES = types.MappingProxyType({
    "copying-5-10": {
        "paper": {},
        "lab": {
            "training": TrainingConfig(3000, 256, warmup=200, validate_every=500),
            "grid": EvaluationGrid(samples=10), "draws": 3,
        },
        "smoke": {
            "training": _SMOKE,
            "grid": EvaluationGrid(maximum=10, samples=2, stride=3), "draws": 3,
        },
    },
    "copying-3-30": {
        "paper": {"data": CopyingData(3, 30, 5)},
        "lab": {
            "data": CopyingData(3, 30, 5),
            "training": TrainingConfig(3000, 128, warmup=200, validate_every=500),
            "grid": EvaluationGrid(samples=10), "draws": 3,
        },
        "smoke": {
            "data": CopyingData(3, 30, 5), "training": _SMOKE,
            "grid": EvaluationGrid(maximum=10, samples=2, stride=3), "draws": 3,
        },
    },
    "copying-large": {
        "paper": {
            "data": CopyingData(20, 80, 20), "test_characters": 160, "model": _LARGE,
            "grid": EvaluationGrid(3, 160, samples=20), "draws": 1,
        },
        "lab": {
            "data": CopyingData(10, 40, 10), "test_characters": 80,
            "model": replace(_LARGE, d_model=64, layers=2, heads=4),
            "training": TrainingConfig(3000, 128, warmup=200, validate_every=500),
            "grid": EvaluationGrid(4, 80, samples=5, stride=4), "draws": 1,
        },
        "smoke": {
            "data": CopyingData(6, 12, 6), "test_characters": 16, "training": _SMOKE,
            "grid": EvaluationGrid(4, 16, samples=2, stride=4), "draws": 1,
        },
    },
})  # fmt: skip

NAMES = tuple(f"{family}/{variant}" for family in FAMILIES for variant in EMBEDDINGS)


def experiment(name: str, scale: str | None = None, seed: int = 0) -> CopyingExperiment:
    """The preset FAMILY/VARIANT at a scale.

    The scaled-up task needs a larger sampling set: its dual-part variants have d_beta >= 16.

    Raises:
        ValueError: an unknown name or scale.
    """
    if name not in NAMES:
        raise ValueError(f"unknown experiment {name!r}: expected one of {', '.join(NAMES)}")
    family, variant = name.split("/")
    scale = resolve_scale(scale)
    made = CopyingExperiment(name, scale, embedding=EMBEDDINGS[variant], seed=seed,
                             **FAMILIES[family][scale])  # fmt: skip
    if family == "copying-large":
        wide = replace(made.embedding, d_beta=max(16, made.embedding.d_beta))
        made = replace(made, embedding=wide)
    if variant == "full-vocabulary":
        data = replace(made.data, characters=made.test_characters)
        made = replace(made, data=data)
    return made
