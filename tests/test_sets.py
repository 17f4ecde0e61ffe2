"""Sets: DeepLTL's text format, manifests, presets, and the sets that come with the kit."""

import hashlib
import json
import lzma
import random
from dataclasses import asdict
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from itekit.datasets.generate import regenerate
from itekit.datasets.presets import NAMES, Derivation, folder_name, from_json, preset, quota
from itekit.datasets.sets import (
    MANIFEST,
    SHIPPED,
    find_set,
    read_folder,
    read_manifest,
    read_pairs,
    read_set,
    read_text,
    write_pairs,
)
from itekit.files import SCALES, MissingError
from itekit.tasks import ltl, propositional
from itekit.tasks.verdicts import CORRECT
from itekit.workers import check_all

LTL_PAIRS = [("&aXb", "a;b;{1}"), ("U1!c", "{!c}"), ("F&a!b", "&a!b;{1;a}"), ("1", "{1}")]
PROPOSITIONAL_PAIRS = [("&ab", "a1b1"), ("^a=b1", "a0b1"), ("|a!c", "c0")]
SUFFIXES = (".txt", ".txt.xz")
texts = st.text("abcXU!&;{}10 é", min_size=1, max_size=20)


# Files


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_written_is_read_by_us_and_by_others(tmp_path, suffix):
    path = tmp_path / f"set{suffix}"
    text = write_pairs(path, LTL_PAIRS)
    assert text.startswith("&aXb\na;b;{1}\nU1!c\n{!c}\n") and read_text(path) == text
    assert read_pairs(path, "ltl") == LTL_PAIRS
    unpack = {".txt.xz": lzma.decompress}.get(suffix, bytes)
    assert unpack(path.read_bytes()).decode() == text


@settings(max_examples=25)
@given(st.lists(st.tuples(texts, texts), max_size=8), st.sampled_from(SUFFIXES))
def test_any_lines_come_back_and_always_as_the_same_bytes(tmp_path_factory, pairs, suffix):
    folders = [tmp_path_factory.mktemp("store") for _ in range(2)]
    for folder in folders:
        put(folder, pairs, suffix=suffix)
        assert read_folder(folder) == {"train": pairs}
    assert len({(folder / f"train{suffix}").read_bytes() for folder in folders}) == 1


@pytest.mark.parametrize(
    ("task", "content", "pairs"),
    [
        ("ltl", b"a\r\n{a}\r\nXb\r\n{1}\r\n", [("a", "{a}"), ("Xb", "{1}")]),
        ("propositional", b"<->axorbc\na1b1c0\n&&xor\nx1o1r1\n",
         [("=a^bc", "a1b1c0"), ("&&xor", "x1o1r1")]),
    ],
)  # fmt: skip
def test_files_of_others_are_read(tmp_path, task, content, pairs):
    path = tmp_path / "theirs.txt"
    path.write_bytes(content)
    assert read_pairs(path, task) == pairs


@pytest.mark.parametrize(
    ("task", "content", "problem"),
    [
        ("ltl", b"a\n{a}\nb\n{b\n", "line 4: .*found the end, expected"),
        ("ltl", b"a\n{a}\n&a\n{b}\n", "line 3: .*position 2: found the end, expected a formula"),
        ("ltl", b"a\n{a}\nb\n\n", "line 4: nothing there, expected a label"),
        ("ltl", b"a\n{a}\nb\n", "line 3: the file ends here, expected a label"),
        ("ltl", b"a\n{a}\nb\xe9\n{b}\n", "line 3: expected text in UTF-8.* byte 0xe9"),
        ("ltl", b"a\n{a}\nz\n{1}\n", "line 3: .*found 'z'"),
        ("ltl", b"", "mine.txt, line 1: nothing there, expected a formula"),
        ("propositional", b"a\na1\na\na1a1\n", "line 4: .*'a' again"),
        ("LTL", b"", "unknown task 'LTL'"),
    ],
)
def test_damage_is_named(tmp_path, task, content, problem):
    path = tmp_path / "mine.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=problem):
        read_pairs(path, task, propositions="abc")


def test_damaged_archives_never_pass(tmp_path):
    path = tmp_path / "set.txt.xz"
    write_pairs(path, LTL_PAIRS)
    content = path.read_bytes()
    changed = content[:-20] + bytes([content[-20] ^ 1]) + content[-19:]
    for damaged in (content[:1], content[:20], content[:-1], changed):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=f"{path}: a damaged or truncated"):
            read_pairs(path, "ltl")


@pytest.mark.parametrize("pair", [("", "{1}"), ("a", "{1}\n"), ("a\r", "{1}")])
def test_what_would_break_the_format_is_not_written(tmp_path, pair):
    with pytest.raises(ValueError, match="expected one line of text"):
        write_pairs(tmp_path / "set.txt", [pair])
    assert list(tmp_path.iterdir()) == []


# Folders


def put(folder, pairs, task="ltl", suffix=".txt") -> None:
    """A set with one split, written by hand."""
    text = write_pairs(folder / f"train{suffix}", pairs)
    entry = {"file": f"train{suffix}", "sha256": hashlib.sha256(text.encode()).hexdigest()}
    files = {"train": entry | {"pairs": len(pairs)}}
    manifest = {"name": folder.name, "task": task, "files": files}
    (folder / MANIFEST).write_text(json.dumps(manifest))


def test_shipped_sets_come_before_ones_own(folders):
    with pytest.raises(MissingError, match="python -m itekit generate ltl35 --scale smoke"):
        find_set("ltl35", "smoke")
    put(folders / "own" / "ltl35-smoke", LTL_PAIRS)
    assert read_set("ltl35", "smoke") == {"train": LTL_PAIRS}
    put(folders / "shipped" / "ltl35-smoke", LTL_PAIRS[:2])
    assert read_set("ltl35", "smoke") == {"train": LTL_PAIRS[:2]}
    with pytest.raises(MissingError, match="--scale smoke --seed 3"):
        read_set("ltl35", "smoke", seed=3)


def test_a_changed_file_is_noticed(folders):
    folder = folders / "own" / "ltl35-smoke"
    put(folder, LTL_PAIRS)
    write_pairs(folder / "train.txt", LTL_PAIRS[1:])
    with pytest.raises(ValueError, match=r"train\.txt: not the file that manifest\.json"):
        read_set("ltl35", "smoke")


def test_a_manifest_that_leads_out_of_its_folder_is_named(folders):
    put(folders / "own", LTL_PAIRS)
    manifest = (folders / "own" / MANIFEST).read_text()
    (folders / "own" / MANIFEST).write_text(manifest.replace('"train.txt"', '"../train.txt"'))
    with pytest.raises(ValueError, match=r"manifest\.json: "):
        read_folder(folders / "own")


def test_derived_sets_need_only_their_source(folders):
    pairs = [("&bXa", "b;a;{1}"), ("Uca", "&!ba;{c}")] * 10
    put(folders / "own" / "ltl35-smoke", pairs)
    assert read_set("ltl-limited", "smoke") == {"train": pairs[:2]}
    perturbed = read_set("ltl-perturbed", "smoke")["train"]
    assert perturbed == [("&aXb", "a;b;{1}"), ("Ucb", "&!ab;{c}")] * 10
    with pytest.raises(MissingError, match="generate prop35"):
        read_set("prop-limited", "smoke")


# Presets


def test_presets_are_values_that_survive_json():
    for name, scale in product(NAMES, SCALES):
        recipe = preset(name, scale, 5)
        assert from_json(json.loads(json.dumps(asdict(recipe)))) == recipe
        assert folder_name(recipe) == f"{name}-{scale}-s5"
        assert recipe.task == ("ltl" if name.startswith("ltl") else "propositional")


def test_the_papers_sets_have_the_papers_numbers():
    ltl, propositional = preset("ltl35", "paper"), preset("prop35", "paper")
    for recipe, alpha, low in ((ltl, 0.112, 10), (propositional, 0.095, 12)):
        (stratum,) = recipe.strata
        assert (stratum.propositions, stratum.low, stratum.high) == (5, 1, 35)
        assert stratum.cap == int(1_000_000 * (1 - alpha) / len(range(low, 36)))
        assert stratum.cap == quota(1_000_000, alpha, low, 35)
        assert recipe.count == 1_000_000
    assert (ltl.method, preset("ltl35-10ap", "paper").method) == ("default", "fast")
    assert preset("ltl-limited", "paper").count == 80_000 + 200_000
    grid = preset("ltl-generalization", "paper")
    cells = {(s.propositions, s.low): s.count for s in grid.strata}
    assert all(s.low == s.high and s.all_propositions for s in grid.strata)
    possible = {(n, size) for n in range(1, 11) for size in range(1, 51) if size > 2 * n - 2}
    assert cells.keys() == possible and set(cells.values()) == {100}
    covariance = preset("prop-alpha-covariance", "paper")
    counts = [(s.propositions, s.count) for s in covariance.strata]
    assert counts == [(n, 1000) for n in range(3, 11)]


@pytest.mark.parametrize(
    "change",
    [{"colour": "red"}, {"suffix": "/../../../evil.txt"}, {"splits": [["../train", 100]]},
     {"name": "../x"}, {"name": 3}, {"strata": [3]}, {"seed": -1}, {"task": "LTL"}],
)  # fmt: skip
def test_wrong_recipes_are_named(change):
    with pytest.raises(ValueError, match="not a recipe|found Recipe"):
        from_json(json.loads(json.dumps(asdict(preset("ltl35", "lab")))) | change)


def test_unknown_names_are_named():
    with pytest.raises(ValueError, match="unknown set 'ltl36': expected one of ltl35, "):
        preset("ltl36", "lab")


# The sets that come with the kit

CHECKS = {"ltl": ltl.check, "propositional": propositional.check}
FOLDERS = sorted(SHIPPED.iterdir())
QUICK = [folder for folder in FOLDERS if "smoke" in folder.name]


def test_every_preset_is_shipped_at_the_two_smaller_sizes_and_all_are_small():
    made = [folder_name(preset(name, scale)) for name in NAMES for scale in ("smoke", "lab")]
    assert [folder.name for folder in FOLDERS] == sorted(made)
    assert sum(p.stat().st_size for f in FOLDERS for p in f.iterdir()) < 10_000_000


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_set_is_that_of_its_preset_and_its_labels_are_right(folder):
    manifest = read_manifest(folder)
    recipe = preset(manifest["name"], folder.name.rsplit("-", 1)[1], manifest["seed"])
    field = "derivation" if isinstance(recipe, Derivation) else "recipe"
    assert from_json(manifest[field]) == recipe
    splits = read_folder(folder)  # compares the checksums
    assert {name: len(pairs) for name, pairs in splits.items()} == {
        name: entry["pairs"] for name, entry in manifest["files"].items()
    }
    pairs = [pair for found in splits.values() for pair in found]
    if "limited" not in folder.name and "perturbed" not in folder.name:
        assert len({formula for formula, _ in pairs}) == len(pairs), "a formula stands twice"
    some = random.Random(0).sample(pairs, min(len(pairs), 200))
    assert set(check_all(CHECKS[manifest["task"]], some)) == {CORRECT}


@pytest.mark.parametrize("folder", QUICK, ids=lambda folder: folder.name)
def test_a_set_is_made_again_bit_for_bit(folder, tmp_path):
    again = regenerate(folder, tmp_path / "again", workers=1)
    for path in folder.glob("*.txt*"):
        assert (again / path.name).read_bytes() == path.read_bytes()


def test_the_readers_checks_accept_a_shipped_file():
    path = SHIPPED / "ltl-generalization-lab" / "test.txt.xz"
    assert len(read_pairs(path, "ltl")) == read_manifest(path.parent)["files"]["test"]["pairs"]
