"""What decides a generated set: a `Recipe`, or a `Derivation` from another set.

Paper, section "LTL Solving", and appendix "Experimental Setup" of the propositional experiments:
the random formulas of LTLRandom35 and PropRandom35, the sets with 10 atomic propositions (APs) and
those for generalization.  A recipe is made of strata: formulas from one random source, as many as
are wanted or as can be found.  `presets` has the paper's.
"""

import dataclasses
from dataclasses import dataclass

TRAINING_SPLITS = (("train", 80), ("validation", 10), ("test", 10))
TEST_ONLY = (("test", 100),)


@dataclass(frozen=True)
class Stratum:
    """Different formulas from one random source.

    Attributes:
        propositions: APs that are drawn from.
        low, high: smallest and largest size (number of tokens).
        count: how many labelled formulas are wanted.
        tries: candidates that are drawn at most; what is missing then stays missing.
        cap: at most so many formulas of a size; None: any number.
        full_from: the stratum is also full when all sizes from this one on have `cap` formulas.
        largest_tree: size of the largest random tree, which Spot may make smaller; default `high`.
        all_propositions: only formulas that hold every one of the APs.
        alphabet: draw from so many APs, and rename those that occur (see `random_formulas`).

    Raises:
        ValueError: numbers out of range.
    """

    propositions: int
    low: int
    high: int
    count: int
    tries: int
    cap: int | None = None
    full_from: int | None = None
    largest_tree: int | None = None
    all_propositions: bool = False
    alphabet: int | None = None

    def __post_init__(self):
        if not 1 <= self.low <= self.high:
            raise ValueError(f"sizes must satisfy 1 <= low <= high, found {self.low}, {self.high}")
        if self.full_from is not None and self.cap is None:
            raise ValueError("full_from needs a cap")
        for name, value in vars(self).items():
            if value is not None and value is not False and value < 1:
                raise ValueError(f"{name} must be 1 or more, found {value}")


@dataclass(frozen=True)
class Recipe:
    """Everything that decides a set, up to which formulas run out of time.

    Attributes:
        name, scale: what it is called; scale is "smoke", "lab" or "paper".
        task: "ltl" or "propositional".
        method: how labels are made: the translation of `itekit.tasks.ltl.solve`, or the method of
            `itekit.tasks.propositional.solve`.
        strata: the sources, in order.
        splits: names and per cent, in order; the last split takes what is left.
        round: formulas that are labelled before those without a label are replaced, at most;
            None: all that are missing. It changes which formulas fill a quota.
        sorted_names: rename each formula's APs to a, b, ... in their sorted order.
        cpu_seconds: limit for the label of one formula.
        format: "characters" or "spaced".
        suffix: of the files: ".txt", ".txt.gz" or ".txt.xz".
        seed: of the random formulas and of the order; 0 or more.

    Raises:
        ValueError: a setting out of range.
    """

    name: str
    scale: str
    task: str
    method: str
    strata: tuple[Stratum, ...]
    splits: tuple[tuple[str, int], ...] = TRAINING_SPLITS
    round: int | None = None
    sorted_names: bool = False
    cpu_seconds: float = 10.0
    format: str = "characters"
    suffix: str = ".txt"
    seed: int = 0

    def __post_init__(self):
        if self.task not in ("ltl", "propositional"):
            raise ValueError(f"unknown task {self.task!r}: expected ltl or propositional")
        if not self.strata:
            raise ValueError("a recipe needs at least one stratum")
        if self.seed < 0:
            raise ValueError(f"the seed must be 0 or more, found {self.seed}")
        if self.round is not None and self.round < 1:
            raise ValueError(f"round must be 1 or more, found {self.round}")
        if sum(share for _, share in self.splits) != 100:
            raise ValueError(f"the splits must sum to 100 per cent, found {self.splits}")
        if self.format == "characters" and self.propositions > 26:
            raise ValueError(f"{self.propositions} APs need format='spaced': names go past z")

    @property
    def propositions(self) -> int:
        """APs of the whole set."""
        return max(stratum.propositions for stratum in self.strata)

    @property
    def count(self) -> int:
        """How many labelled formulas are wanted."""
        return sum(stratum.count for stratum in self.strata)

    def to_json(self) -> dict:
        """A JSON value from which `from_json` rebuilds the recipe."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, value: dict) -> "Recipe":
        """Rebuild a recipe.

        Raises:
            ValueError: an unknown, missing or wrong setting.
        """
        try:
            strata = tuple(Stratum(**stratum) for stratum in value["strata"])
            splits = tuple((name, share) for name, share in value["splits"])
            return cls(**value | {"strata": strata, "splits": splits})
        except (TypeError, KeyError) as error:
            raise ValueError(f"not a recipe: {error}") from error


@dataclass(frozen=True)
class Derivation:
    """A set made from another one's pairs, without new formulas.

    Attributes:
        name: what it is called.
        kind: "limited" keeps the first tenth of the training split, and the other splits whole
            (paper, appendix "LTL Experiment with Limited Dataset"); "perturbed" renames the APs of
            every pair so that they appear in the label in the order a, b, c, ... (paper, section
            "Dataset Perturbations").
        source: the recipe of the other set.

    Raises:
        ValueError: an unknown kind, or a source without a training split to limit.
    """

    name: str
    kind: str
    source: Recipe

    def __post_init__(self):
        if self.kind not in ("limited", "perturbed"):
            raise ValueError(f"unknown kind {self.kind!r}: expected limited or perturbed")
        if self.kind == "limited" and "train" not in dict(self.source.splits):
            raise ValueError(f"{self.source.name} has no training split to limit")

    @property
    def scale(self) -> str:
        """The source's."""
        return self.source.scale

    @property
    def seed(self) -> int:
        """The source's."""
        return self.source.seed

    @property
    def task(self) -> str:
        """The source's."""
        return self.source.task

    @property
    def count(self) -> int:
        """How many pairs there will be if the source is complete."""
        sizes = split_sizes(self.source.count, self.source.splits)
        if self.kind == "limited":
            sizes["train"] //= 10
        return sum(sizes.values())

    def to_json(self) -> dict:
        """A JSON value from which `from_json` rebuilds the derivation."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, value: dict) -> "Derivation":
        """Rebuild a derivation.

        Raises:
            ValueError: an unknown, missing or wrong setting.
        """
        try:
            return cls(**value | {"source": Recipe.from_json(value["source"])})
        except (TypeError, KeyError) as error:
            raise ValueError(f"not a derivation: {error}") from error


def folder_name(recipe: Recipe | Derivation) -> str:
    """NAME-SCALE, and -sSEED for a seed other than 0."""
    seed = f"-s{recipe.seed}" if recipe.seed else ""
    return f"{recipe.name}-{recipe.scale}{seed}"


def split_sizes(total: int, splits: tuple[tuple[str, int], ...]) -> dict[str, int]:
    """How many of `total` go to each split; the last takes what is left."""
    sizes = {name: total * share // 100 for name, share in splits[:-1]}
    return sizes | {splits[-1][0]: total - sum(sizes.values())}
