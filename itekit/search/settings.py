"""The settings of the copying search at three sizes, each as an experiment.

Paper, appendix "Hyperparameter Search": method of random vectors × d_beta × which of f_bn, f_fn and
AdaCos are on, and two baselines; each with at least three seeds.  `lab` is a part of that table,
with shorter trainings; `smoke` is what tests run.
"""

import types
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Self

from itekit.copying_presets import copying_experiment
from itekit.random_vectors import METHODS
from itekit.scale import resolve_scale
from itekit.settings import TrainingConfig
from itekit.task_settings import CopyingExperiment
from itekit.tasks.copying import EvaluationGrid

FAMILY = "copying-5-10"
BASELINES = ("full-vocabulary", "alpha-renaming")
FEATURES = ("f_bn", "f_fn", "adacos")

ALL, NONE = (True, True, True), (False, False, False)
# f_bn, f_fn, AdaCos: the rows of the paper's tables, from top to bottom
ROWS = (ALL, (False, True, True), (True, True, False), (False, True, False), (True, False, False))
ROWS += (NONE,)
BASELINE_ROWS = ((False, True, True), (False, True, False), NONE)
PAPER_D_BETA = types.MappingProxyType(
    {
        "normal": (2, 4, 8, 16, 32),
        "neighboring_points": (4, 6, 8, 16, 32),
        "hypercube_vertices": (5, 6, 8, 16, 32),
    }
)
LAB_D_BETA, LAB_SEEDS, PAPER_SEEDS = (8, 32), (0,), (0, 1, 2)

# scale -> what differs from the preset copying-5-10/proposed of that scale
SIZES = types.MappingProxyType(
    {
        "smoke": {},
        "lab": {
            "training": TrainingConfig(
                3000, 64, warmup=200, validate_every=500, checkpoint_every=250
            ),
            "grid": EvaluationGrid(samples=5, stride=3),
            "draws": 10,
        },
        "paper": {},
    }
)


@dataclass(frozen=True)
class Setting:
    """One training of the search.

    Attributes:
        method: of random vectors, one of `random_vectors.METHODS`; or one of `BASELINES`.
        d_beta: width of the random part; 0 for a baseline.
        f_bn, f_fn, adacos: what is on.
        seed: of weights, data and random parts.

    Raises:
        ValueError: an unknown method, or a baseline with a random part.
    """

    method: str
    d_beta: int
    f_bn: bool
    f_fn: bool
    adacos: bool
    seed: int = 0

    def __post_init__(self):
        if self.method not in METHODS + BASELINES:
            known = ", ".join(METHODS + BASELINES)
            raise ValueError(f"unknown method {self.method!r}: expected one of {known}")
        if self.is_baseline and (self.d_beta or self.f_bn):
            raise ValueError(f"{self.method} has no random part: d_beta and f_bn do not apply")

    @classmethod
    def of(cls, record: Mapping) -> Self:
        """The setting that a record of the search is about."""
        return cls(**{field.name: record[field.name] for field in fields(cls)})

    @property
    def is_baseline(self) -> bool:
        """Whether the embedding is learned, with no random part."""
        return self.method in BASELINES

    @property
    def on(self) -> str:
        """What is on, as in the keys of data/paper.json: "f_bn+f_fn+adacos", or "none"."""
        return "+".join(name for name in FEATURES if getattr(self, name)) or "none"

    @property
    def column(self) -> str:
        """The column of the paper's table: "hypercube_vertices-6", or the baseline."""
        return self.method if self.is_baseline else f"{self.method}-{self.d_beta}"

    def experiment(self, scale: str | None = None) -> CopyingExperiment:
        """The experiment copying-5-10/search-COLUMN-ON at a scale; its slug names the setting.

        Raises:
            ValueError: settings that contradict each other, such as AdaCos without f_fn.
        """
        scale = resolve_scale(scale)
        variant = self.method if self.is_baseline else "proposed"
        made = copying_experiment(f"{FAMILY}/{variant}", scale, self.seed)
        embedding = replace(made.embedding, f_fn=self.f_fn)
        if not self.is_baseline:
            embedding = replace(embedding, method=self.method, d_beta=self.d_beta, f_bn=self.f_bn)
        return replace(
            made,
            name=f"{FAMILY}/search-{self.column}-{self.on}",
            embedding=embedding,
            model=replace(made.model, normalize_features=self.f_fn),
            adacos=self.adacos,
            **SIZES[scale],
        )


def search_settings(scale: str | None = None) -> tuple[Setting, ...]:
    """All settings of the search at a scale: those with random parts first, then the baselines.

    Paper size: 15 columns × 6 rows × 3 seeds = 270 (the paper, with at least three seeds a setting,
    has 277), and 2 baselines × 3 rows × 3 seeds = 18, which the paper does not count.
    """
    scale = resolve_scale(scale)
    if scale == "smoke":
        pairs = [Setting(m, d, *on) for m in METHODS for d, on in ((8, ALL), (16, NONE))]
        return (*pairs, Setting(BASELINES[1], 0, *BASELINE_ROWS[0]))
    columns = PAPER_D_BETA if scale == "paper" else dict.fromkeys(METHODS, LAB_D_BETA)
    seeds = PAPER_SEEDS if scale == "paper" else LAB_SEEDS
    proposed = [
        Setting(method, d_beta, *on, seed)
        for seed in seeds
        for on in ROWS
        for method, counts in columns.items()
        for d_beta in counts
    ]
    baselines = [
        Setting(name, 0, *on, seed) for seed in seeds for name in BASELINES for on in BASELINE_ROWS
    ]
    return (*proposed, *baselines)
