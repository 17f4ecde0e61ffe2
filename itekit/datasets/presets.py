"""The paper's sets by name, each at three sizes: `preset("ltl35", "lab")`.

    ltl35              LTLRandom35: 5 APs, sizes 1 to 35, the same number of each size from 10 on
    ltl35-10ap         the same with 10 APs, without the quota
    ltl-limited        a tenth of ltl35's training split
    ltl-perturbed      ltl35 with APs renamed in the order of the trace
    ltl-generalization at most 100 formulas for each AP count 1 to 10 and length 1 to 50
    ltl-alpha-covariance   1000 formulas for each AP count 3 to 10

and the same with `prop` for propositional logic (PropRandom35).  At `lab` size there are fewer
APs, shorter formulas and fewer of them.  Labels of ltl35 come from Spot's default translation, as
the paper's; those of the larger LTL sets from the fast one.
"""

import types
from dataclasses import replace

from itekit.datasets.recipes import TEST_ONLY, Derivation, Recipe, Stratum
from itekit.scale import resolve_scale

_SUFFIX = types.MappingProxyType({"smoke": ".txt", "lab": ".txt.xz", "paper": ".txt.xz"})

# task -> scale -> formulas, APs, largest size, first size of the quota, share of smaller formulas.
# At lab size the share is what there is: nearly all small formulas, as in the paper's sets.
_RANDOM35 = types.MappingProxyType(
    {
        "ltl": {
            "smoke": (200, 3, 12, 6, 0.112),
            "lab": (100_000, 3, 20, 8, 0.098),
            "paper": (1_000_000, 5, 35, 10, 0.112),
        },
        "propositional": {
            "smoke": (200, 3, 12, 6, 0.095),
            "lab": (100_000, 3, 20, 8, 0.042),
            "paper": (1_000_000, 5, 35, 12, 0.095),
        },
    }
)
_ROUND = types.MappingProxyType({"smoke": None, "lab": None, "paper": 100_000})
_MARGIN = types.MappingProxyType({"ltl": 0, "propositional": 2})  # trees above the largest size
# scale -> formulas, APs, largest size
_MORE_APS = types.MappingProxyType(
    {"smoke": (100, 5, 12), "lab": (50_000, 6, 20), "paper": (1_000_000, 10, 35)}
)
# scale -> APs, longest length, formulas a cell
_GRID = types.MappingProxyType({"smoke": (3, 8, 3), "lab": (6, 25, 20), "paper": (10, 50, 100)})
# scale -> APs, longest length, formulas for each AP count from 3 on
_ALPHA_COVARIANCE = types.MappingProxyType(
    {"smoke": (4, 15, 5), "lab": (6, 25, 100), "paper": (10, 50, 1000)}
)


def quota(count: int, share: float, first: int, high: int) -> int:
    """Formulas of one size at most: all but a share of them, spread over sizes first to high."""
    return int(count * (1 - share) / (high - first + 1))


def _random35(task: str, scale: str) -> dict:
    count, propositions, high, first, share = _RANDOM35[task][scale]
    stratum = Stratum(
        propositions,
        1,
        high,
        count,
        tries=1000 * count,
        cap=quota(count, share, first, high),
        full_from=first,
        largest_tree=high + _MARGIN[task],
    )
    return {"strata": (stratum,)}


def _more_propositions(task: str, scale: str) -> dict:
    count, propositions, high = _MORE_APS[scale]
    return {
        "strata": (Stratum(propositions, 1, high, count, 100 * count),),
        "sorted_names": True,
    }


# task -> lengths for each AP below which formulas with all APs are found sooner among 4 times as
# many APs, and among twice as many (measured for 5, 6 and 10 APs; see `random_formulas`)
_ALPHABETS = types.MappingProxyType({"ltl": (3.5, 6), "propositional": (3, 4)})


def _generalization(task: str, scale: str) -> dict:
    most, longest, count = _GRID[scale]
    strata = []
    for aps in range(1, most + 1):
        for length in range(2 * aps - 1, longest + 1):  # n APs need n - 1 binary operators
            rare, uncommon = (aps * factor for factor in _ALPHABETS[task])
            alphabet = 4 * aps if length < rare else 2 * aps if length < uncommon else None
            cell = Stratum(aps, length, length, count, 2000 * count, all_propositions=True)
            strata.append(replace(cell, alphabet=alphabet))
    return {"strata": tuple(strata), "splits": TEST_ONLY}


def _alpha_covariance(task: str, scale: str) -> dict:
    most, longest, count = _ALPHA_COVARIANCE[scale]
    strata = tuple(
        Stratum(aps, 1, longest, count, 5000 * count, all_propositions=True)
        for aps in range(3, most + 1)
    )
    return {"strata": strata, "splits": TEST_ONLY}


_LTL = types.MappingProxyType(
    {
        "ltl35": (_random35, "default"),
        "ltl35-10ap": (_more_propositions, "fast"),
        "ltl-generalization": (_generalization, "fast"),
        "ltl-alpha-covariance": (_alpha_covariance, "fast"),
    }
)
_PROPOSITIONAL = types.MappingProxyType(
    {name.replace("ltl", "prop"): (make, "fast") for name, (make, _) in _LTL.items()}
)
_DERIVED = types.MappingProxyType(
    {
        f"{prefix}-{kind}": (f"{prefix}35", kind)
        for prefix in ("ltl", "prop")
        for kind in ("limited", "perturbed")
    }
)

_KINDS = ("35", "35-10ap", "-limited", "-perturbed", "-generalization", "-alpha-covariance")
NAMES = tuple(prefix + kind for prefix in ("ltl", "prop") for kind in _KINDS)


def preset(name: str, scale: str | None = None, seed: int = 0) -> Recipe | Derivation:
    """The set `name` at a scale (default: ITEKIT_SCALE, else lab).

    Raises:
        ValueError: an unknown name or scale, or a negative seed.
    """
    scale = resolve_scale(scale)
    if name in _DERIVED:
        source, kind = _DERIVED[name]
        return Derivation(name, kind, preset(source, scale, seed))
    table, task = (_LTL, "ltl") if name in _LTL else (_PROPOSITIONAL, "propositional")
    if name not in table:
        raise ValueError(f"unknown set {name!r}: expected one of {', '.join(NAMES)}")
    make, method = table[name]
    made = Recipe(name, scale, task, method, **make(task, scale))
    return replace(made, suffix=_SUFFIX[scale], round=_ROUND[scale], seed=seed)
