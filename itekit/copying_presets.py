"""The copying experiments of the paper at three sizes.

The names are FAMILY/VARIANT. Families: copying-5-10 (paper, appendix "Generalization to larger
vocabularies and lengths"), copying-3-30 ("Generalization to larger vocabularies") and
copying-large ("Scaling up"). Variants: proposed, plain, full-vocabulary, alpha-renaming,
without-f_bn and neighboring-points-16; and ours, trained at random positions out of a third more
than the evaluation's strings are long (Ruoss et al. 2023): randomized-positions, the proposed
model, and randomized-positions-BASELINE for plain, full-vocabulary and alpha-renaming.
"""

import types
from dataclasses import replace

from itekit.embeddings import EmbeddingConfig
from itekit.layers import ModelConfig
from itekit.settings import TrainingConfig
from itekit.task_settings import CopyingExperiment
from itekit.tasks.copying import CopyingData, EvaluationGrid

RANDOMIZED = "randomized-positions"

_PROPOSED = EmbeddingConfig("dual_part", "hypercube_vertices", 6)
_BASELINES = {
    "plain": EmbeddingConfig("learned"),
    "full-vocabulary": EmbeddingConfig("learned"),
    "alpha-renaming": EmbeddingConfig("alpha_renaming"),
}
EMBEDDINGS = types.MappingProxyType(
    {
        "proposed": _PROPOSED,
        **_BASELINES,
        "without-f_bn": replace(_PROPOSED, f_bn=False),
        "neighboring-points-16": EmbeddingConfig("dual_part", "neighboring_points", 16),
        RANDOMIZED: _PROPOSED,
        **{f"{RANDOMIZED}-{name}": embedding for name, embedding in _BASELINES.items()},
    }
)

_SMOKE = TrainingConfig(20, 16, warmup=5, log_every=5, validate_every=10, checkpoint_every=10)
_LARGE = ModelConfig(d_model=128, layers=6, heads=8, d_ff=128)

# family -> scale -> settings
FAMILIES = types.MappingProxyType(
    {
        "copying-5-10": {
            "paper": {},
            "lab": {
                "training": TrainingConfig(3000, 256, warmup=200, validate_every=500),
                "grid": EvaluationGrid(samples=10),
                "draws": 3,
            },
            "smoke": {
                "training": _SMOKE,
                "grid": EvaluationGrid(maximum=10, samples=2, stride=3),
                "draws": 3,
            },
        },
        "copying-3-30": {
            "paper": {"data": CopyingData(3, 30, 5)},
            "lab": {
                "data": CopyingData(3, 30, 5),
                "training": TrainingConfig(1500, 128, warmup=150, validate_every=500),
                "grid": EvaluationGrid(samples=10),
                "draws": 3,
            },
            "smoke": {
                "data": CopyingData(3, 30, 5),
                "training": _SMOKE,
                "grid": EvaluationGrid(maximum=10, samples=2, stride=3),
                "draws": 3,
            },
        },
        "copying-large": {
            "paper": {
                "data": CopyingData(20, 80, 20),
                "test_characters": 160,
                "model": _LARGE,
                "grid": EvaluationGrid(3, 160, samples=20),
                "averaged": False,
            },
            "lab": {
                "data": CopyingData(10, 40, 10),
                "test_characters": 80,
                "model": replace(_LARGE, d_model=64, layers=2, heads=4),
                "training": TrainingConfig(1500, 128, warmup=150, validate_every=500),
                "grid": EvaluationGrid(4, 80, samples=5, stride=4),
                "draws": 3,
                "averaged": False,
            },
            "smoke": {
                "data": CopyingData(6, 12, 6),
                "test_characters": 16,
                "training": _SMOKE,
                "grid": EvaluationGrid(4, 16, samples=2, stride=4),
                "draws": 3,
                "averaged": False,
            },
        },
    }
)

NAMES = tuple(f"{family}/{variant}" for family in FAMILIES for variant in EMBEDDINGS)


def copying_experiment(name: str, scale: str, seed: int) -> CopyingExperiment:
    """The preset FAMILY/VARIANT at a scale.

    The scaled-up task needs a larger sampling set: its dual-part variants have d_beta >= 16.
    """
    family, variant = name.split("/")
    made = CopyingExperiment(
        name, scale, embedding=EMBEDDINGS[variant], seed=seed, **FAMILIES[family][scale]
    )
    if family == "copying-large":
        wide = replace(made.embedding, d_beta=max(16, made.embedding.d_beta))
        made = replace(made, embedding=wide)
    if variant.startswith(RANDOMIZED):
        longest = max(made.data.maximum, made.grid.maximum)
        training = replace(made.training, positions=longest * 4 // 3)
        made = replace(made, training=training)
    if variant.endswith("full-vocabulary"):
        data = replace(made.data, characters=made.test_characters)
        made = replace(made, data=data)
    return made
