"""The manifest beside each set: what made it, what it holds, and the checksums of its files."""

import hashlib
import json
import platform
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import itekit
from itekit import machine
from itekit.datasets.recipes import Derivation, Recipe
from itekit.datasets.store import DataError, Pair
from itekit.logic.formulas import ARITY
from itekit.logic.prefix import split

MANIFEST = "manifest.json"
PACKAGES = ("spottl", "py-aiger", "py-aiger-sat", "python-sat")


def tool_versions() -> dict[str, str]:
    """Versions of what decides the formulas and labels."""
    return {"itekit": itekit.__version__} | machine.versions(PACKAGES)


def make_manifest(
    recipe: Recipe | Derivation, texts: Mapping[str, str], pairs: Mapping[str, list[Pair]]
) -> dict:
    """What every manifest holds: recipe, files, histograms, and where it was made.

    Args:
        texts, pairs: the content of each split, as text and as pairs.
    """
    source = recipe if isinstance(recipe, Recipe) else recipe.source
    return {
        "name": recipe.name,
        "scale": recipe.scale,
        "seed": recipe.seed,
        "task": recipe.task,
        "recipe" if isinstance(recipe, Recipe) else "derivation": recipe.to_json(),
        "files": {
            name: {
                "file": name + source.suffix,
                "pairs": len(pairs[name]),
                "sha256": digest(text),
                "bytes": len(text.encode()),
            }
            for name, text in texts.items()
        },
        "histograms": histograms((p for part in pairs.values() for p in part), source.format),
        "versions": tool_versions() | {"python": platform.python_version()},
        "command": machine.command(),
        "hardware": machine.processor(),
        "date": machine.today(),
    }


def histograms(pairs: Iterable[Pair], format: str = "characters") -> dict[str, dict[int, int]]:
    """How many formulas have each size and each number of APs, and labels each length (tokens)."""
    sizes, propositions, lengths = Counter(), Counter(), Counter()
    for formula, label in pairs:
        tokens = split(formula, format)
        sizes[len(tokens)] += 1
        propositions[len(set(tokens) - ARITY.keys())] += 1
        lengths[len(split(label, format))] += 1
    named = {"size": sizes, "propositions": propositions, "label_length": lengths}
    return {name: dict(sorted(counts.items())) for name, counts in named.items()}


def digest(text: str) -> str:
    """SHA-256 of text in UTF-8, as hexadecimal digits: of a file before it is compressed."""
    return hashlib.sha256(text.encode()).hexdigest()


def read_manifest(path: Path) -> dict:
    """A manifest, from its file or from the folder that it is in.

    Raises:
        DataError: not a manifest.
        OSError: the file cannot be read.
    """
    path = Path(path)
    path = path / MANIFEST if path.is_dir() else path
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(path, None, f"damaged JSON ({error})") from error
    for key, kind in (("name", str), ("task", str), ("files", dict)):
        if not isinstance(manifest, dict) or not isinstance(manifest.get(key), kind):
            raise DataError(path, None, f"not the manifest of a set: expected {key!r}")
    return manifest
