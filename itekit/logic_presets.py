"""The experiments on LTL and propositional problems at three sizes.

The names are FAMILY/VARIANT. Families: ltl, ltl-perturbed and ltl-limited (paper, sections "LTL
Solving", "Dataset Perturbations", and appendix "LTL Experiment with Limited Dataset"), and the same
with prop. Variants:

    proposed, plain, full-vocabulary, alpha-renaming     the paper's models
    without-f_bn, without-adacos, without-adacos-f_fn    its ablations
    per-sample          a random part for each problem of a batch (ours)
    canonical           problems renamed by first appearance, ordinary embeddings (ours)
    canonical-proposed  the same with the proposed embeddings (ours)
    by-appearance, by-appearance-plain, by-appearance-alpha-renaming    propositional labels in
                        the order of the formula, not of the names (ours)
    longer, longer-alpha-renaming    LTL in three times the steps (ours)
    many-names, many-names-alpha-renaming    LTL with 20 propositions in the vocabulary of the grid,
                        whose problems hold no more than before (ours)

On perturbed and limited data there are proposed, plain, alpha-renaming and canonical only. There
alpha-renaming has as many embeddings as training has propositions, as in the paper, since more
propositions are not evaluated.
"""

import types
from dataclasses import replace

from itekit.embeddings import EmbeddingConfig
from itekit.layers import ModelConfig
from itekit.settings import TrainingConfig
from itekit.task_settings import LogicExperiment

_PROPOSED = EmbeddingConfig("dual_part", "hypercube_vertices", 5)
_WITHOUT_F_FN = replace(_PROPOSED, f_fn=False)
_LEARNED = EmbeddingConfig("learned")

# variant -> settings
VARIANTS = types.MappingProxyType(
    {
        "proposed": {"embedding": _PROPOSED},
        "plain": {"embedding": _LEARNED},
        "full-vocabulary": {"embedding": _LEARNED},
        "alpha-renaming": {"embedding": EmbeddingConfig("alpha_renaming")},
        "without-f_bn": {"embedding": replace(_PROPOSED, f_bn=False)},
        "without-adacos": {"embedding": _PROPOSED, "adacos": False},
        "without-adacos-f_fn": {"embedding": _WITHOUT_F_FN, "adacos": False},
        "per-sample": {"embedding": _PROPOSED, "per_sample": True},
        "canonical": {"embedding": _LEARNED, "canonical": True},
        "canonical-proposed": {"embedding": _PROPOSED, "canonical": True},
    }
)
_BY_APPEARANCE = types.MappingProxyType(
    {
        f"by-appearance{name and '-' + name}": VARIANTS[name or "proposed"]
        | {"label_order": "appearance"}
        for name in ("", "plain", "alpha-renaming")
    }
)

_LONGER = types.MappingProxyType(
    {"longer": VARIANTS["proposed"], "longer-alpha-renaming": VARIANTS["alpha-renaming"]}
)
_MANY_NAMES = types.MappingProxyType(
    {
        "many-names": VARIANTS["proposed"] | {"test_propositions": 20},
        "many-names-alpha-renaming": VARIANTS["alpha-renaming"] | {"test_propositions": 20},
    }
)
_OTHERS = types.MappingProxyType({"ltl": _LONGER | _MANY_NAMES, "prop": _BY_APPEARANCE})

_TRAINING = types.MappingProxyType(
    {
        "ltl": {
            "paper": TrainingConfig(52_000, 768),
            "lab": TrainingConfig(3000, 256, warmup=300, validate_every=500, checkpoint_every=100),
        },
        "propositional": {
            "paper": TrainingConfig(50_000, 1024),
            "lab": TrainingConfig(12_000, 64, warmup=500, log_every=100),
        },
    }
)
_SMOKE = TrainingConfig(20, 16, warmup=5, log_every=5, validate_every=10, checkpoint_every=10)
_TREE = ModelConfig(tree_positions=True)
_MODELS = types.MappingProxyType(
    {
        "ltl": {
            "paper": replace(_TREE, d_model=128, layers=8, heads=8, d_ff=1024),
            "lab": replace(_TREE, d_model=64, layers=4, heads=4, d_ff=256, dropout=0.05),
        },
        "propositional": {
            "paper": replace(_TREE, d_model=132, layers=6, heads=6, d_ff=512),
            "lab": replace(_TREE, d_model=64, layers=4, heads=4, d_ff=256, dropout=0.05),
        },
    }
)
# scale -> APs of training, APs of the larger sets, and what an evaluation takes
_SIZES = types.MappingProxyType(
    {
        "paper": {"propositions": 5, "test_propositions": 10},
        "lab": {"propositions": 3, "test_propositions": 6, "samples": 2000, "renamed": 40},
        "smoke": {
            "propositions": 3,
            "test_propositions": 5,
            "samples": 8,
            "renamed": 2,
            "draws": 2,
            "variants": 6,
        },
    }
)
_LIMITS = types.MappingProxyType({"ltl": 128, "propositional": 22})
_TASKS = types.MappingProxyType({"ltl": "ltl", "prop": "propositional"})
_KINDS = ("", "-perturbed", "-limited")

_ON_OTHER_DATA = ("proposed", "plain", "alpha-renaming", "canonical")


def _variants(family: str) -> tuple[str, ...]:
    if "-" in family:
        return _ON_OTHER_DATA
    return *VARIANTS, *_OTHERS[family]


FAMILIES = tuple(prefix + kind for prefix in _TASKS for kind in _KINDS)
NAMES = tuple(f"{family}/{variant}" for family in FAMILIES for variant in _variants(family))


def logic_experiment(name: str, scale: str, seed: int) -> LogicExperiment:
    """The preset FAMILY/VARIANT at a scale."""
    family, variant = name.split("/")
    prefix, _, kind = family.partition("-")
    task, settings = _TASKS[prefix], dict(_SIZES[scale])
    model = replace(_MODELS[task].get(scale, _TREE), normalize_features="f_fn" not in variant)
    training = _TRAINING[task].get(scale, _SMOKE)
    source = f"{prefix}-{kind}" if kind else f"{prefix}35"
    if kind == "limited" and scale != "smoke":
        training = replace(training, steps=training.steps // 10)
    if variant in _LONGER:
        training = replace(training, steps=training.steps * 3)
    if kind and variant == "alpha-renaming":
        settings["test_propositions"] = settings["propositions"]
    if variant == "full-vocabulary":
        source, settings["propositions"] = f"{prefix}35-10ap", settings["test_propositions"]
    settings |= (VARIANTS | _OTHERS[prefix])[variant]
    return LogicExperiment(
        name,
        scale,
        model=model,
        training=training,
        seed=seed,
        task=task,
        set=source,
        limit=_LIMITS[task],
        **settings,
    )
