"""A sample of LTLRandom35 or PropRandom35 of any size, made in seconds, for measurements.

The whole sets have the same number of formulas of every size from some size on, and below it nearly
all formulas that there are. In the paper's LTL set these few smallest sizes are 1 % of all; a
sample that took them in the same way would be made of small formulas. It leaves them out, and has
the same number of each of the other sizes.
"""

from dataclasses import replace
from pathlib import Path

from itekit.datasets.generate import generate
from itekit.datasets.manifest import MANIFEST, read_manifest
from itekit.datasets.presets import preset
from itekit.datasets.recipes import Derivation, Recipe, folder_name
from itekit.datasets.sets import OWN, read_folder
from itekit.datasets.store import Pair

TRIES = 1000  # candidates for each formula that is wanted, at most


def sample_recipe(name: str, scale: str | None, count: int, seed: int = 0) -> Recipe:
    """The recipe of about `count` formulas in all, labelled by the fast method.

    Raises:
        ValueError: not ltl35 or prop35, an unknown scale, or fewer formulas than sizes.
    """
    whole = preset(name, scale, seed)
    if isinstance(whole, Derivation) or whole.strata[0].full_from is None:
        raise ValueError(f"only ltl35 and prop35 can be sampled, found {name}")
    (stratum,) = whole.strata
    capped = stratum.high - stratum.full_from + 1
    smaller = round((stratum.count - stratum.cap * capped) / stratum.cap)  # sizes at the cap
    cap = round(count / (capped + smaller))
    if cap < 1:
        raise ValueError(f"a sample needs {capped + smaller} formulas or more, found {count}")
    low = stratum.full_from - smaller
    tries = TRIES * count
    drawn = replace(
        stratum,
        low=low,
        full_from=low,
        cap=cap,
        count=cap * (capped + smaller),
        tries=tries,
    )
    made = {"name": f"{name}-sample{count}", "method": "fast", "round": None, "suffix": ".txt"}
    return replace(whole, strata=(drawn,), **made)


def sample(
    name: str,
    scale: str | None = None,
    count: int = 1000,
    seed: int = 0,
    folder: Path = OWN,
    workers: int | None = None,
) -> dict[str, list[Pair]]:
    """Split -> pairs of a sample, made on the first call and kept in `folder`.

    Args:
        name, scale, seed: of the set, see `presets.preset`.
        count: formulas in all splits together.
        folder: where samples are kept; default: runs/sets.
        workers: processes that make labels; default: the number of cores.

    Raises:
        ValueError: see `sample_recipe`.
    """
    recipe = sample_recipe(name, scale, count, seed)
    place = Path(folder) / folder_name(recipe)
    found = (place / MANIFEST).exists() and read_manifest(place).get("recipe")
    if not found or Recipe.from_json(found) != recipe:
        generate(recipe, place, workers=workers)
    return read_folder(place)
