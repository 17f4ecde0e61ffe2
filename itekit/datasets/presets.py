"""What decides a set of solved problems, and the paper's sets by name, each at three sizes.

Paper: sections "LTL Solving", "Generalization" and "Dataset Perturbations", appendices "LTL
Experiment with Limited Dataset" and "Experimental Setup".

    ltl35                   LTLRandom35: 5 APs, sizes 1 to 35, of each size from 10 on as many
    ltl35-10ap              the same with 10 APs, without the quota
    ltl-limited             a tenth of ltl35's training split; at paper scale a recipe of its own
    ltl-perturbed           ltl35 with APs renamed in the order of the trace
    ltl-generalization      at most 100 formulas for each AP count 1 to 10 and length 1 to 50
    ltl-alpha-covariance    1000 formulas for each AP count 3 to 10
    ltl-patterns            formulas that people wrote, from five collections (ours)

and, but for the last, the same with `prop` for propositional logic (PropRandom35). Labels of ltl35
come from Spot's default translation, as the paper's; those of the larger LTL sets from the fast
one.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from itekit.alpha import canonical_renaming, tokens_of
from itekit.files import rebuild, resolve_scale
from itekit.logic.formulas import LANGUAGES, join, split
from itekit.vocabulary import proposition_names

Pair = tuple[str, str]
SUFFIXES = (".txt", ".txt.xz")
PLAIN = re.compile(r"\w[\w.-]{,99}")  # what the name of a file may be


@dataclass(frozen=True)
class Stratum:
    """Different formulas from one random source (`candidates.candidates`)."""

    propositions: int
    low: int  # the smallest and the largest size in tokens
    high: int
    count: int  # how many are wanted
    tries: int  # candidates that are drawn at most; what is missing then stays missing
    cap: int | None = None  # at most so many formulas of a size
    full_from: int | None = None  # also full when all sizes from here on have `cap` formulas
    largest_tree: int | None = None  # the largest random tree, `high` if None: Spot shortens some
    all_propositions: bool = False
    alphabet: int | None = None
    collection: str | None = None

    def __post_init__(self):
        if min(self.propositions, self.low) < 1 or self.high < self.low or self.count < 0:
            raise ValueError(f"expected APs, sizes of 1 or more, and a count, found {self}")


@dataclass(frozen=True)
class Recipe:
    """Everything that decides a set, except which formulas run out of time."""

    name: str
    scale: str
    task: str  # "ltl" or "propositional"
    method: str  # how labels are made: the second argument of the task's `solve`
    strata: tuple[Stratum, ...]
    splits: tuple[tuple[str, int], ...] = (("train", 80), ("validation", 10), ("test", 10))  # in %
    sorted_names: bool = False  # rename each formula's APs to a, b, ... in their sorted order
    cpu_seconds: float = 10.0  # limit for the label of one formula
    suffix: str = ".txt"  # of the files, one of SUFFIXES
    seed: int = 0

    def __post_init__(self):
        names = all(PLAIN.fullmatch(n) for n in (self.name, self.scale, *dict(self.splits)))
        if not names or self.task not in LANGUAGES or self.suffix not in SUFFIXES:
            raise ValueError(f"expected names of files, a task and one of {SUFFIXES}, found {self}")
        shares = [share for _, share in self.splits]
        if self.seed < 0 or not self.strata or min(shares, default=-1) < 0 or sum(shares) > 100:
            raise ValueError(f"expected strata, shares of 100, and a seed above -1, found {self}")

    @property
    def count(self) -> int:
        """How many labelled formulas are wanted."""
        return sum(stratum.count for stratum in self.strata)

    def split_sizes(self, total: int) -> dict[str, int]:
        """How many of `total` go to each split; the last takes what is left."""
        sizes = {name: total * share // 100 for name, share in self.splits[:-1]}
        return sizes | {self.splits[-1][0]: total - sum(sizes.values())}


def perturb(
    source: Sequence[str], label: Sequence[str], names: Sequence[str]
) -> tuple[Sequence[str], Sequence[str]]:
    """Rename a pair so that the label's APs appear in the order of `names`, without duplicates;
    APs that only the source has get the remaining names, by first appearance.

    A pair is two token sequences (strings, lists, tuples), or a formula and a trace or assignment.
    """
    joined = [*tokens_of(label), *tokens_of(source)]
    return canonical_renaming(joined, names, names).apply_pair(source, label)


@dataclass(frozen=True)
class Derivation:
    """A set made from another one's pairs, without new formulas.

    "limited" keeps the first tenth of the training split, and the other splits whole; "perturbed"
    renames the APs of every pair so that they appear in the label in the order a, b, c, ...
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
        if "train" not in dict(self.source.splits):
            raise ValueError(f"{self.name} needs a source with a training split, found {self}")

    @property
    def count(self) -> int:
        """How many pairs there will be if the source is complete."""
        left_out = self.source.split_sizes(self.source.count)["train"] * 9 // 10
        return self.source.count - (left_out if self.kind == "limited" else 0)

    def derive(self, source: Mapping[str, list[Pair]]) -> dict[str, list[Pair]]:
        """The derived splits from those of the source set."""
        if self.kind == "limited":
            return dict(source) | {"train": source["train"][: len(source["train"]) // 10]}
        names = proposition_names(max(stratum.propositions for stratum in self.source.strata))

        def perturbed(pair: Pair) -> Pair:
            formula, label = perturb(split(pair[0]), split(pair[1]), names)
            return join(formula), join(label)

        return {name: [perturbed(pair) for pair in pairs] for name, pairs in source.items()}


def from_json(value: dict) -> Recipe | Derivation:
    """Rebuild what `dataclasses.asdict` took apart; ValueError names a wrong setting."""
    is_derivation = isinstance(value, dict) and "source" in value
    try:
        return rebuild(Derivation if is_derivation else Recipe, value)
    except ValueError as error:
        raise ValueError(f"not a recipe: {error}") from error


def folder_name(recipe: Recipe | Derivation) -> str:
    """NAME-SCALE, and -sSEED for a seed other than 0."""
    return f"{recipe.name}-{recipe.scale}" + (f"-s{recipe.seed}" if recipe.seed else "")


class Size(NamedTuple):
    """How large a set is."""

    count: int  # formulas: in all, for each cell of a grid, or for each number of propositions
    propositions: int  # at most
    high: int  # tokens of the largest formulas
    full_from: int = 0  # from this size on, there are as many formulas of each size
    smaller: float = 0.0  # the share of smaller formulas; at lab size nearly all that exist


_SIZES = {
    "ltl35": {
        "smoke": Size(200, 3, 12, full_from=6, smaller=0.112),
        "lab": Size(100_000, 3, 20, full_from=8, smaller=0.098),
        "paper": Size(1_000_000, 5, 35, full_from=10, smaller=0.112),
    },
    "prop35": {
        "smoke": Size(200, 3, 12, full_from=6, smaller=0.095),
        "lab": Size(100_000, 3, 20, full_from=8, smaller=0.042),
        "paper": Size(1_000_000, 5, 35, full_from=12, smaller=0.095),
    },
    "35-10ap": {
        "smoke": Size(100, 5, 12),
        "lab": Size(50_000, 6, 20),
        "paper": Size(1_000_000, 10, 35),
    },
    "-generalization": {
        "smoke": Size(3, 3, 8),
        "lab": Size(20, 6, 25),
        "paper": Size(100, 10, 50),
    },
    "-alpha-covariance": {
        "smoke": Size(5, 4, 15),
        "lab": Size(100, 6, 25),
        "paper": Size(1000, 10, 50),
    },
    "-patterns": {"smoke": Size(0, 5, 12), "lab": Size(0, 6, 50), "paper": Size(0, 10, 50)},
}
_TASKS = {"ltl": "ltl", "prop": "propositional"}
_KINDS = ("35", "35-10ap", "-limited", "-perturbed", "-generalization", "-alpha-covariance")
NAMES = (*(prefix + kind for prefix in _TASKS for kind in _KINDS), "ltl-patterns")
_PATTERNS = {  # collection: formulas in it
    "Dwyer et al. 1998": 55,
    "Etessami and Holzmann 2000": 12,
    "Somenzi and Bloem 2000": 27,
    "Holeček et al. 2004": 55,
    "Pelánek 2007": 20,
}
# task -> lengths for each AP below which formulas with all APs are found sooner among 4 times as
# many APs, and among twice as many (measured for 5, 6 and 10 APs; see `random_formulas`)
_ALPHABETS = {"ltl": (3.5, 6), "propositional": (3, 4)}


def quota(count: int, share: float, first: int, high: int) -> int:
    """Formulas of one size at most: all but a share of them, spread over sizes first to high."""
    return int(count * (1 - share) / (high - first + 1))


def preset(name: str, scale: str | None = None, seed: int = 0) -> Recipe | Derivation:
    """The set `name` at a scale (default: ITEKIT_SCALE, else lab).

    "ltl35-sample5000" is a small ltl35 for a pilot, made by the fast method: about 5,000 pairs, the
    same number of each size that the whole set has in full.
    """
    scale = resolve_scale(scale)
    whole, _, count = name.partition("-sample")
    if whole in ("ltl35", "prop35") and re.fullmatch("[1-9][0-9]{,8}", count):
        return _sample(name, preset(whole, scale, seed), int(count))
    if name not in NAMES:
        raise ValueError(f"unknown set {name!r}: expected one of {', '.join(NAMES)}")
    prefix = "prop" if name.startswith("prop") else "ltl"
    kind = name.removeprefix(prefix)
    task = _TASKS[prefix]
    short = kind == "-limited" and scale == "paper"  # instead of a part of a million formulas
    if kind == "-perturbed" or (kind == "-limited" and not short):
        return Derivation(name, kind[1:], preset(f"{prefix}35", scale, seed))
    if kind == "35" or short:
        size = _SIZES[f"{prefix}35"][scale]
        size = size._replace(count=size.count // 10) if short else size
        strata = (_balanced(size, task),)
    else:
        strata = tuple(_strata(kind, _SIZES[kind][scale], task))
    return Recipe(
        name,
        scale,
        task,
        "default" if name in ("ltl35", "ltl-limited") else "fast",
        strata,
        Recipe.splits if kind in ("35", "35-10ap", "-limited") else (("test", 100),),
        sorted_names=kind == "35-10ap",
        suffix=".txt" if scale == "smoke" or short else ".txt.xz",
        seed=seed,
    )


def _sample(name: str, whole: Recipe, count: int) -> Recipe:
    """A small set of a recipe with a quota: `count` formulas, all of the quota's sizes."""
    (stratum,) = whole.strata
    cap = count // (stratum.high - stratum.full_from + 1)
    stratum = replace(stratum, low=stratum.full_from, count=count, cap=cap, tries=1000 * count)
    return replace(whole, name=name, method="fast", suffix=".txt", strata=(stratum,))


def _balanced(size: Size, task: str) -> Stratum:
    """Formulas with a quota for each size."""
    count, propositions, high, first, smaller = size
    cap = quota(count, smaller, first, high)
    largest = high + (2 if task == "propositional" else 0)
    limits = {"cap": cap, "full_from": first, "largest_tree": largest}
    return Stratum(propositions, 1, high, count, 1000 * count, **limits)


def _strata(kind: str, size: Size, task: str) -> Iterator[Stratum]:
    """The strata of sets without a quota."""
    count, most, high, *_ = size
    if kind == "35-10ap":
        yield Stratum(most, 1, high, count, 100 * count)
    elif kind == "-patterns":
        for name, number in _PATTERNS.items():
            yield Stratum(most, 1, high, number, number, collection=name)
    elif kind == "-alpha-covariance":
        for aps in range(3, most + 1):
            yield Stratum(aps, 1, high, count, 5000 * count, all_propositions=True)
    else:
        for aps in range(1, most + 1):
            for size in range(2 * aps - 1, high + 1):  # n APs need n - 1 binary operators
                rare, uncommon = (aps * factor for factor in _ALPHABETS[task])
                alphabet = 4 * aps if size < rare else 2 * aps if size < uncommon else None
                options = {"all_propositions": True, "alphabet": alphabet}
                yield Stratum(aps, size, size, count, 2000 * count, **options)
