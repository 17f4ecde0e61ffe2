"""The sets that are there: shipped in data/sets, or generated in runs/sets.

A set is a folder NAME-SCALE with a file for each split and a manifest.json.
"""

from pathlib import Path

from itekit.datasets.derive import derive
from itekit.datasets.manifest import MANIFEST, digest, read_manifest
from itekit.datasets.presets import NAMES, preset
from itekit.datasets.recipes import Derivation, folder_name
from itekit.datasets.store import DataError, Pair, read_text, split_pairs
from itekit.scale import SCALES

ROOT = Path(__file__).resolve().parents[2]
SHIPPED, OWN = ROOT / "data" / "sets", ROOT / "runs" / "sets"


class MissingSetError(FileNotFoundError):
    """A set that is neither shipped nor generated yet; the message says the command."""


def find_set(name: str, scale: str | None = None, seed: int = 0) -> Path:
    """The folder of a set: the shipped one, else one generated here.

    Raises:
        MissingSetError: there is none.
        ValueError: an unknown name or scale.
    """
    recipe = preset(name, scale, seed)
    for folder in (SHIPPED, OWN):
        if (folder / folder_name(recipe) / MANIFEST).exists():
            return folder / folder_name(recipe)
    seeded = f" --seed {seed}" if seed else ""
    raise MissingSetError(
        f"no set {folder_name(recipe)} in {SHIPPED} or {OWN}; make it: "
        f"python -m itekit generate {name} --scale {recipe.scale}{seeded}"
    )


def read_set(name: str, scale: str | None = None, *, seed: int = 0) -> dict[str, list[Pair]]:
    """Split -> (formula, label) pairs of a set.

    A limited or perturbed set that is not there is derived from its source on the spot.

    Raises:
        MissingSetError: the set is not there.
        DataError: a file is damaged, or is not the one of the manifest.
        ValueError: an unknown name or scale.
    """
    recipe = preset(name, scale, seed)
    try:
        return read_folder(find_set(name, scale, seed))
    except MissingSetError:
        if not isinstance(recipe, Derivation):
            raise
        source = recipe.source
        return derive(recipe, read_set(source.name, source.scale, seed=seed))


def read_folder(folder: Path) -> dict[str, list[Pair]]:
    """Split -> pairs of the set in a folder, checked against the manifest's checksums.

    Raises:
        DataError: a file is damaged, or is not the one of the manifest.
        OSError: a file cannot be read.
    """
    manifest = read_manifest(folder)
    pairs = {}
    for split, entry in manifest["files"].items():
        path = Path(folder) / entry["file"]
        text = read_text(path)
        if digest(text) != entry["sha256"]:
            raise DataError(path, None, "not the file that manifest.json describes (SHA-256)")
        pairs[split] = split_pairs(path, text, manifest["task"], check=False)
    return pairs


def summary(folder: Path) -> str:
    """A set in a few lines: its files, and what became of the candidates."""
    manifest = read_manifest(folder)
    lines = [f"set         {folder}"]
    for name, entry in manifest["files"].items():
        size = (Path(folder) / entry["file"]).stat().st_size
        lines.append(f"{name:<12}{entry['pairs']:,} pairs, {size / 1e6:.2f} MB")
    for outcome, count in manifest.get("counts", {}).items():
        lines.append(f"{outcome:<20}{count:>12,}")
    if short := manifest.get("short"):
        lines.append(f"{len(short)} of the recipe's strata could not be filled: see {MANIFEST}")
    return "\n".join(lines)


def table() -> str:
    """All presets with their numbers of pairs, and which of them are there."""
    lines = [f"{'set':<22}" + "".join(f"{scale:>24}" for scale in SCALES)]
    for name in NAMES:
        cells = []
        for scale in SCALES:
            recipe = preset(name, scale)
            states = [
                state
                for state, folder in (("shipped", SHIPPED), ("here", OWN))
                if (folder / folder_name(recipe) / MANIFEST).exists()
            ]
            cells.append(f"{recipe.count:,} {states[0] if states else '-':>8}")
        lines.append(f"{name:<22}" + "".join(f"{cell:>24}" for cell in cells))
    return "\n".join([*lines, "", f"shipped: in {SHIPPED}", f"here: in {OWN}"])
