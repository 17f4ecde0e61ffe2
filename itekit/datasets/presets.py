"""What decides a set of solved problems, and the paper's sets by name, each at three sizes.

Paper: sections "LTL Solving", "Generalization" and "Dataset Perturbations", appendices "LTL
Experiment with Limited Dataset" and "Experimental Setup".

    ltl35              LTLRandom35: 5 APs, sizes 1 to 35, the same number of each size from 10 on
    ltl35-10ap         the same with 10 APs, without the quota
    ltl-limited        a tenth of ltl35's training split
    ltl-perturbed      ltl35 with APs renamed in the order of the trace
    ltl-generalization at most 100 formulas for each AP count 1 to 10 and length 1 to 50
    ltl-alpha-covariance   1000 formulas for each AP count 3 to 10

and the same with `prop` for propositional logic (PropRandom35). At `lab` size there are fewer APs,
shorter formulas and fewer of them. Labels of ltl35 come from Spot's default translation, as the
paper's; those of the larger LTL sets from the fast one.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from itekit.logic.formulas import LANGUAGES, join, split
from itekit.vocabulary import proposition_names

Pair = tuple[str, str]
SUFFIXES = (".txt", ".txt.gz", ".txt.xz")
TRAINING_SPLITS = (("train", 80), ("validation", 10), ("test", 10))
TEST_ONLY = (("test", 100),)
PLAIN = re.compile(r"\w[\w.-]*")  # what the name of a file may be


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
        all_propositions, alphabet: see `candidates.random_formulas`.
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
        for name, value in vars(self).items():
            if value is not None and value is not False and value < 1:
                raise ValueError(f"{name} must be 1 or more, found {value}")
        if self.low > self.high or (self.full_from and not self.cap):
            raise ValueError(f"expected low <= high, and full_from only with a cap, found {self}")


@dataclass(frozen=True)
class Recipe:
    """Everything that decides a set, up to which formulas run out of time.

    Attributes:
        name, scale: what it is called; scale is "smoke", "lab" or "paper".
        task: "ltl" or "propositional".
        method: how labels are made: the second argument of the task's `solve`.
        strata: the sources, in order.
        splits: names and per cent, in order; the last split takes what is left.
        round: formulas that are labelled before those without a label are replaced, at most;
            None: all that are missing. It changes which formulas fill a quota.
        sorted_names: rename each formula's APs to a, b, ... in their sorted order.
        cpu_seconds: limit for the label of one formula.
        suffix: of the files, one of SUFFIXES.
        seed: of the random formulas and of the order; 0 or more.
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
    suffix: str = ".txt"
    seed: int = 0

    def __post_init__(self):
        if self.task not in LANGUAGES:
            raise ValueError(f"unknown task {self.task!r}: expected ltl or propositional")
        if self.suffix not in SUFFIXES:
            raise ValueError(f"suffix {self.suffix!r}: expected one of {', '.join(SUFFIXES)}")
        if bad := [
            n for n in (self.name, self.scale, *dict(self.splits)) if not PLAIN.fullmatch(n)
        ]:
            raise ValueError(f"{bad[0]!r} cannot be the name of a file")
        if self.seed < 0 or (self.round is not None and self.round < 1):
            raise ValueError(
                f"the seed must be 0 or more, and round 1, found {self.seed}, {self.round}"
            )
        if not self.strata or sum(share for _, share in self.splits) != 100:
            raise ValueError(f"expected strata, and splits of 100 per cent, found {self}")

    @property
    def propositions(self) -> int:
        """APs of the whole set."""
        return max(stratum.propositions for stratum in self.strata)

    @property
    def count(self) -> int:
        """How many labelled formulas are wanted."""
        return sum(stratum.count for stratum in self.strata)

    def split_sizes(self, total: int) -> dict[str, int]:
        """How many of `total` go to each split; the last takes what is left."""
        sizes = {name: total * share // 100 for name, share in self.splits[:-1]}
        return sizes | {self.splits[-1][0]: total - sum(sizes.values())}


@dataclass(frozen=True)
class Derivation:
    """A set made from another one's pairs, without new formulas.

    Attributes:
        name: what it is called.
        kind: "limited" keeps the first tenth of the training split, and the other splits whole;
            "perturbed" renames the APs of every pair so that they appear in the label in the order
            a, b, c, ...
        source: the recipe of the other set, which gives scale, seed, task and suffix.
    """

    name: str
    kind: str
    source: Recipe
    scale = property(lambda self: self.source.scale)
    seed = property(lambda self: self.source.seed)
    task = property(lambda self: self.source.task)
    suffix = property(lambda self: self.source.suffix)

    def __post_init__(self):
        if self.kind not in ("limited", "perturbed") or not PLAIN.fullmatch(self.name):
            raise ValueError(f"expected a name, and limited or perturbed, found {self}")
        if self.kind == "limited" and "train" not in dict(self.source.splits):
            raise ValueError(f"{self.source.name} has no training split to limit")

    @property
    def count(self) -> int:
        """How many pairs there will be if the source is complete."""
        sizes = self.source.split_sizes(self.source.count)
        return sum(sizes.values()) - (sizes["train"] * 9 // 10 if self.kind == "limited" else 0)

    def derive(self, source: Mapping[str, list[Pair]]) -> dict[str, list[Pair]]:
        """The derived splits from those of the source set."""
        if self.kind == "limited":
            return dict(source) | {"train": source["train"][: len(source["train"]) // 10]}
        from itekit.logic.perturbation import perturb

        names = proposition_names(self.source.propositions)

        def perturbed(pair: Pair) -> Pair:
            formula, label = perturb(split(pair[0]), split(pair[1]), names)
            return join(formula), join(label)

        return {name: [perturbed(pair) for pair in pairs] for name, pairs in source.items()}


def from_json(value: dict) -> Recipe | Derivation:
    """Rebuild what `dataclasses.asdict` took apart; ValueError for a wrong setting."""
    try:
        if "source" in value:
            return Derivation(**value | {"source": from_json(value["source"])})
        strata = tuple(Stratum(**stratum) for stratum in value["strata"])
        splits = tuple((name, share) for name, share in value["splits"])
        settings = {k: v for k, v in value.items() if (k, v) != ("format", "characters")}  # older
        return Recipe(**settings | {"strata": strata, "splits": splits})
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"not a recipe: {error}") from error


def folder_name(recipe: Recipe | Derivation) -> str:
    """NAME-SCALE, and -sSEED for a seed other than 0."""
    return f"{recipe.name}-{recipe.scale}" + (f"-s{recipe.seed}" if recipe.seed else "")


_SUFFIX = {"smoke": ".txt", "lab": ".txt.xz", "paper": ".txt.xz"}
_ROUND = {"smoke": None, "lab": None, "paper": 100_000}
# task, scale -> formulas, APs, largest size, first size of the quota, share of smaller formulas.
# At lab size the share is what there is: nearly all small formulas, as in the paper's sets.
_RANDOM35 = {
    ("ltl", "smoke"): (200, 3, 12, 6, 0.112),
    ("ltl", "lab"): (100_000, 3, 20, 8, 0.098),
    ("ltl", "paper"): (1_000_000, 5, 35, 10, 0.112),
    ("propositional", "smoke"): (200, 3, 12, 6, 0.095),
    ("propositional", "lab"): (100_000, 3, 20, 8, 0.042),
    ("propositional", "paper"): (1_000_000, 5, 35, 12, 0.095),
}
_MARGIN = {"ltl": 0, "propositional": 2}  # trees above the largest size
# scale -> formulas, APs, largest size
_MORE_APS = {"smoke": (100, 5, 12), "lab": (50_000, 6, 20), "paper": (1_000_000, 10, 35)}
# scale -> APs, longest length, formulas a cell
_GRID = {"smoke": (3, 8, 3), "lab": (6, 25, 20), "paper": (10, 50, 100)}
# task -> lengths for each AP below which formulas with all APs are found sooner among 4 times as
# many APs, and among twice as many (measured for 5, 6 and 10 APs; see `random_formulas`)
_ALPHABETS = {"ltl": (3.5, 6), "propositional": (3, 4)}
# scale -> APs, longest length, formulas for each AP count from 3 on
_ALPHA_COVARIANCE = {"smoke": (4, 15, 5), "lab": (6, 25, 100), "paper": (10, 50, 1000)}


def quota(count: int, share: float, first: int, high: int) -> int:
    """Formulas of one size at most: all but a share of them, spread over sizes first to high."""
    return int(count * (1 - share) / (high - first + 1))


def _random35(task: str, scale: str) -> dict:
    count, propositions, high, first, share = _RANDOM35[task, scale]
    limits = {"cap": quota(count, share, first, high), "full_from": first}
    largest = high + _MARGIN[task]
    return {
        "strata": (
            Stratum(propositions, 1, high, count, 1000 * count, **limits, largest_tree=largest),
        )
    }


def _more_propositions(task: str, scale: str) -> dict:
    count, propositions, high = _MORE_APS[scale]
    stratum = Stratum(propositions, 1, high, count, 100 * count)
    return {"strata": (stratum,), "sorted_names": True}


def _generalization(task: str, scale: str) -> dict:
    most, longest, count = _GRID[scale]
    strata = []
    for aps in range(1, most + 1):
        for length in range(2 * aps - 1, longest + 1):  # n APs need n - 1 binary operators
            rare, uncommon = (aps * factor for factor in _ALPHABETS[task])
            alphabet = 4 * aps if length < rare else 2 * aps if length < uncommon else None
            options = {"all_propositions": True, "alphabet": alphabet}
            strata.append(Stratum(aps, length, length, count, 2000 * count, **options))
    return {"strata": tuple(strata), "splits": TEST_ONLY}


def _alpha_covariance(task: str, scale: str) -> dict:
    most, longest, count = _ALPHA_COVARIANCE[scale]
    strata = tuple(
        Stratum(aps, 1, longest, count, 5000 * count, all_propositions=True)
        for aps in range(3, most + 1)
    )
    return {"strata": strata, "splits": TEST_ONLY}


_KINDS = {
    "35": _random35,
    "35-10ap": _more_propositions,
    "-limited": "limited",
    "-perturbed": "perturbed",
    "-generalization": _generalization,
    "-alpha-covariance": _alpha_covariance,
}
_SETS = {
    prefix + kind: (prefix, task, make)
    for prefix, task in (("ltl", "ltl"), ("prop", "propositional"))
    for kind, make in _KINDS.items()
}
NAMES = tuple(_SETS)


def preset(name: str, scale: str | None = None, seed: int = 0) -> Recipe | Derivation:
    """The set `name` at a scale (default: ITEKIT_SCALE, else lab).

    Raises:
        ValueError: an unknown name or scale, or a negative seed.
    """
    from itekit.experiments import resolve_scale  # which loads torch

    scale = resolve_scale(scale)
    if name not in _SETS:
        raise ValueError(f"unknown set {name!r}: expected one of {', '.join(NAMES)}")
    prefix, task, make = _SETS[name]
    if isinstance(make, str):
        return Derivation(name, make, preset(f"{prefix}35", scale, seed))
    method = "default" if name == "ltl35" else "fast"
    settings = {"round": _ROUND[scale], "suffix": _SUFFIX[scale], "seed": seed}
    return Recipe(name, scale, task, method, **make(task, scale), **settings)
