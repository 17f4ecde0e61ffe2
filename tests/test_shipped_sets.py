"""The sets that come with the kit: whole, right, made by their presets, and made again here."""

import random

import pytest

from itekit.datasets.checking import check_all
from itekit.datasets.generate import regenerate
from itekit.datasets.manifest import read_manifest
from itekit.datasets.presets import NAMES, preset
from itekit.datasets.recipes import Derivation, folder_name
from itekit.datasets.sets import SHIPPED, read_folder
from itekit.datasets.store import read_pairs
from itekit.tasks.verdicts import CORRECT

pytest.importorskip("spot")

FOLDERS = sorted(SHIPPED.iterdir())
QUICK = [f for f in FOLDERS if "alpha-covariance" in f.name or "generalization" in f.name]


def test_every_preset_is_shipped_at_the_two_smaller_sizes_and_all_are_small():
    made = [folder_name(preset(name, scale)) for name in NAMES for scale in ("smoke", "lab")]
    assert [folder.name for folder in FOLDERS] == sorted(made)
    assert sum(p.stat().st_size for f in FOLDERS for p in f.iterdir()) < 10_000_000


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_set_is_that_of_its_preset_and_its_labels_are_right(folder):
    manifest = read_manifest(folder)
    recipe = preset(manifest["name"], folder.name.rsplit("-", 1)[1], manifest["seed"])
    field = "derivation" if isinstance(recipe, Derivation) else "recipe"
    assert type(recipe).from_json(manifest[field]) == recipe
    splits = read_folder(folder)  # compares the checksums
    assert {split: len(pairs) for split, pairs in splits.items()} == {
        split: entry["pairs"] for split, entry in manifest["files"].items()
    }
    pairs = [pair for found in splits.values() for pair in found]
    if "limited" not in folder.name and "perturbed" not in folder.name:
        assert len({formula for formula, _ in pairs}) == len(pairs), "a formula stands twice"
    some = random.Random(0).sample(pairs, min(len(pairs), 200))
    assert set(check_all(manifest["task"], some, workers=1)) == {CORRECT}


@pytest.mark.parametrize("folder", QUICK, ids=lambda folder: folder.name)
def test_a_set_is_made_again_bit_for_bit(folder, tmp_path):
    again = regenerate(folder, tmp_path / "again", workers=1)
    for path in folder.glob("*.txt*"):
        assert (again / path.name).read_bytes() == path.read_bytes()


def test_the_reader_s_checks_accept_a_shipped_file():
    path = SHIPPED / "ltl-generalization-lab" / "test.txt.xz"
    assert len(read_pairs(path, "ltl")) == read_manifest(path.parent)["files"]["test"]["pairs"]
