"""Generated sets: what they hold, and the same bytes whatever happened on the way."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from itekit.__main__ import main
from itekit.alpha import canonical
from itekit.datasets import generate, sets
from itekit.datasets.candidates import Drawing
from itekit.datasets.generate import LABELS, make_missing, regenerate, sample
from itekit.datasets.presets import Recipe, Stratum
from itekit.datasets.sets import MANIFEST, read_folder, read_manifest
from itekit.files import locked
from itekit.logic.formulas import ARITY, split
from itekit.tasks import ltl, propositional
from itekit.tasks.verdicts import TIME_OUT
from itekit.workers import check_all

CHECKS = {"ltl": ltl.check, "propositional": propositional.check}
CHANGING = ("seconds", "workers", "command", "hardware", "date", "versions")


class Here:
    """In place of `Pool`: this process, in which some formulas "run out of time"; it counts."""

    workers, slow, asked, limits = 1, (), 0, set()

    def __init__(self, *_):
        Here.limits = set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def run(self, function, items, limit, count):
        Here.limits.add(limit)
        for item in items:
            Here.asked += 1
            yield TIME_OUT if item in Here.slow else function(item)


@pytest.fixture
def here(monkeypatch):
    """Labels are made in this process: Here, whose `slow` formulas a test sets."""
    monkeypatch.setattr(generate, "Pool", Here)
    monkeypatch.setattr(Here, "slow", ())
    monkeypatch.setattr(Here, "asked", 0)
    return Here


def ltl_recipe(count=60, **settings) -> Recipe:
    strata = (Stratum(3, 1, 12, count, 100 * count, cap=max(1, count // 8), full_from=8),)
    return replace(Recipe("tiny", "smoke", "ltl", "fast", strata), **settings)


def propositional_recipe(**settings) -> Recipe:
    strata = (Stratum(4, 1, 14, 60, 6000, cap=7, largest_tree=16),)
    return replace(Recipe("tiny", "smoke", "propositional", "fast", strata), **settings)


def contents(folder: Path) -> dict[str, bytes]:
    """The data files of a set, and of its manifest what does not depend on the machine."""
    found = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != MANIFEST}
    manifest = read_manifest(folder)
    lasting = {key: value for key, value in manifest.items() if key not in CHANGING}
    return found | {MANIFEST: json.dumps(lasting).encode()}


def all_pairs(folder: Path) -> list[tuple[str, str]]:
    return [pair for part in read_folder(folder).values() for pair in part]


def propositions(formula: str) -> set[str]:
    return set(split(formula)) - ARITY.keys()


make = generate.generate


# The same bytes

RECIPES = {"ltl": ltl_recipe(), "propositional": propositional_recipe()}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Task -> the folder of its tiny set."""
    folder = tmp_path_factory.mktemp("tiny")
    return {task: make(recipe, folder / task, workers=1) for task, recipe in RECIPES.items()}


@pytest.mark.parametrize("task", RECIPES)
def test_the_number_of_workers_changes_nothing(tiny, tmp_path, task):
    many = make(RECIPES[task], tmp_path / "many", workers=3)
    assert contents(many) == contents(tiny[task])


SLOW_RUN = """
import sys
from pathlib import Path
from itekit.datasets.generate import generate
from itekit.datasets.presets import Recipe, Stratum

recipe = Recipe("slow", "smoke", "ltl", "default", (Stratum(5, 20, 30, 180, 18_000),))
generate(recipe, Path(sys.argv[1]), workers=int(sys.argv[2]))
"""


def start_slow_run(folder: Path, workers: int, lines: int = 0) -> subprocess.Popen:
    """A run of a second or more, in a process group of its own, that has made so many labels."""
    command = [sys.executable, "-c", SLOW_RUN, str(folder), str(workers)]
    run = subprocess.Popen(command, start_new_session=True)
    while lines and labels(folder) < lines:
        assert run.poll() is None, "it ended before it could be killed"
        time.sleep(0.002)
    return run


def labels(folder: Path) -> int:
    path = folder / LABELS
    return path.read_bytes().count(b"\n") - 1 if path.exists() else 0


def test_a_run_killed_twice_ends_with_the_same_bytes(tmp_path):
    whole = start_slow_run(tmp_path / "whole", 1)
    folder, known = tmp_path / "killed", b""
    for workers in (2, 3):
        run = start_slow_run(folder, workers, labels(folder) + 40)
        os.killpg(run.pid, signal.SIGKILL)
        assert run.wait() == -signal.SIGKILL
        found = (folder / LABELS).read_bytes()
        assert found.startswith(known) and not (folder / MANIFEST).exists()
        known = found
        with open(folder / LABELS, "ab") as file:
            file.write(b"half a li")  # as if killed in the middle of a line
    assert start_slow_run(folder, 1).wait() == 0 and whole.wait() == 0
    assert contents(folder) == contents(tmp_path / "whole")
    assert LABELS not in contents(folder)


def test_labels_are_kept_for_the_same_recipe_alone(here, tmp_path, monkeypatch):
    for recipe, asks in ((ltl_recipe(), False), (ltl_recipe(seed=1), True)):
        expected = contents(make(recipe, tmp_path / f"whole{recipe.seed}"))
        with monkeypatch.context() as patch, pytest.raises(OSError, match="the disk is full"):
            patch.setattr(generate, "write_json", Mock(side_effect=OSError("the disk is full")))
            make(ltl_recipe(), tmp_path / "b")
        here.asked = 0
        assert contents(make(recipe, tmp_path / "b")) == expected
        assert (here.asked > 0) == asks


def test_seeds_names_and_scales_give_other_formulas():
    recipes = [ltl_recipe(), ltl_recipe(seed=1), ltl_recipe(name="b"), ltl_recipe(scale="lab")]
    drawn = [tuple(Drawing(recipe).next_round()) for recipe in recipes]
    assert len(set(drawn)) == 4
    assert drawn[0] == tuple(Drawing(recipes[0]).next_round())


# What a set holds


@pytest.mark.parametrize("task", RECIPES)
def test_what_a_set_holds_and_that_its_manifest_says_so(tiny, task):
    splits, manifest = read_folder(tiny[task]), read_manifest(tiny[task])
    pairs = [pair for part in splits.values() for pair in part]
    total, sizes = len(pairs), Counter(len(formula) for formula, _ in pairs)
    assert set(check_all(CHECKS[task], pairs)) == {"correct"}
    assert task != "ltl" or not any("0" in label for _, label in pairs)
    assert 50 <= total == len({formula for formula, _ in pairs}) <= 60
    assert max(sizes.values()) <= 7 and max(sizes) <= {"ltl": 12, "propositional": 14}[task]
    assert set().union(*(propositions(f) for f, _ in pairs)) <= set("abcd")
    ends = total * 80 // 100, total * 10 // 100
    assert [len(part) for part in splits.values()] == [*ends, total - sum(ends)]
    known = {canonical(formula, "abcd", "abcd") for formula, _ in splits["train"]}
    again = [canonical(formula, "abcd", "abcd") in known for formula, _ in splits["test"]]
    assert manifest["renamings"]["test"] == sum(again)
    assert f"{sum(again) / len(again):.1%} are renamings of training" in sets.summary(tiny[task])
    order = [len(formula) for formula, _ in pairs]
    assert order != sorted(order), "the splits are mixed"
    counts = manifest["counts"]
    assert counts["candidates"] == sum(counts.values()) - counts["candidates"]
    assert counts["kept"] == total == sum(f["pairs"] for f in manifest["files"].values())
    assert counts["unsatisfiable"] > 0 and (task == "ltl") == ("tautology" not in counts)
    assert manifest["histograms"] == {
        "size": {str(size): sizes[size] for size in sorted(sizes)},
        "propositions": Counter(str(len(propositions(f))) for f, _ in pairs),
        "label_length": Counter(str(len(label)) for _, label in pairs),
    }
    assert manifest["versions"].keys() >= {"itekit", "spottl", "py-aiger", "python-sat", "python"}


def test_a_stratum_is_full_when_all_large_sizes_are(here, tmp_path):
    strata = (Stratum(3, 1, 9, 500, 20_000, cap=5, full_from=7),)
    manifest = read_manifest(make(ltl_recipe(strata=strata), tmp_path / "a"))
    assert [manifest["histograms"]["size"][size] for size in "789"] == [5, 5, 5]
    assert manifest["counts"]["candidates"] < 5000


def test_what_cannot_be_filled_ends_and_is_recorded(here, tmp_path):
    cells = [(1, 1), (2, 5), (3, 7), (5, 3)]  # a formula of length 3 cannot hold 5 APs
    strata = tuple(Stratum(n, s, s, 4, 3000, all_propositions=True) for n, s in cells)
    folder = make(Recipe("cells", "smoke", "ltl", "fast", strata, (("test", 100),)), tmp_path / "a")
    manifest = read_manifest(folder)
    short = {(cell["propositions"], cell["sizes"]): cell for cell in manifest["short"]}
    assert short.keys() == {(1, "1 to 1"), (5, "3 to 3")}
    assert (short[5, "3 to 3"]["found"], short[5, "3 to 3"]["candidates"]) == (0, 3000)
    assert (short[1, "1 to 1"]["found"], short[1, "1 to 1"]["wanted"]) == (1, 4)
    found = Counter((len(propositions(f)), len(f)) for f, _ in all_pairs(folder))
    assert found == {(1, 1): 1, (2, 5): 4, (3, 7): 4}
    assert manifest["files"].keys() == {"test"}


def test_names_sorted_and_names_past_z(here, tmp_path):
    recipe = ltl_recipe(strata=(Stratum(8, 1, 12, 60, 6000),), sorted_names=True)
    used = [propositions(formula) for formula, _ in all_pairs(make(recipe, tmp_path / "a"))]
    assert all(names == set("abcdefgh"[: len(names)]) for names in used)
    assert max(map(len, used)) > 3
    pairs = all_pairs(make(ltl_recipe(strata=(Stratum(40, 1, 15, 30, 3000),)), tmp_path / "b"))
    assert any(len(token) == 2 for formula, _ in pairs for token in formula.split())
    assert set(check_all(CHECKS["ltl"], pairs)) == {"correct"}


# Time-outs


def test_time_outs_are_listed_and_taken_over_exactly(here, tmp_path):
    recipe = ltl_recipe()
    here.slow = list(Drawing(recipe).next_round())[3::7]
    first = make(recipe, tmp_path / "first")
    manifest = read_manifest(first)
    assert manifest["time_outs"] == here.slow
    assert manifest["counts"]["time-out"] == len(here.slow)
    assert not {f for f, _ in all_pairs(first)} & set(here.slow)
    here.slow = ()  # a machine on which nothing runs out of time
    again = regenerate(first / MANIFEST, tmp_path / "again")
    assert contents(again) == contents(first)
    assert here.limits == {100 * recipe.cpu_seconds}
    here.slow = [all_pairs(first)[0][0]]  # and one on which something else does
    with pytest.raises(RuntimeError, match="took over 1000.0 s, unlike in the manifest"):
        regenerate(first, tmp_path / "other")


def test_a_difference_is_named_with_the_versions(here, tmp_path, monkeypatch):
    first = make(ltl_recipe(), tmp_path / "first")
    monkeypatch.setitem(generate.SOLVE, "ltl", lambda *item: "{1}")
    with pytest.raises(RuntimeError, match=r"again.train\.txt is not the one of .*spottl"):
        regenerate(first, tmp_path / "again")


def test_a_manifest_that_is_no_recipe_is_named_and_writes_nothing(here, tmp_path):
    first = make(ltl_recipe(), tmp_path / "deep" / "first")
    with pytest.raises(ValueError, match="another output"):
        regenerate(first, first)
    manifest = read_manifest(first)
    evil = manifest["recipe"] | {"suffix": "/../../../evil.txt"}
    for change in ({"recipe": {}}, {"recipe": None}, {"time_outs": 3}, {"recipe": evil}):
        (first / MANIFEST).write_text(json.dumps(manifest | change))
        with pytest.raises(ValueError, match="not the manifest of a generated set"):
            regenerate(first / MANIFEST, tmp_path / "deep" / "again")
        assert [path.name for path in tmp_path.iterdir()] == ["deep"]
        assert [path.name for path in (tmp_path / "deep").iterdir()] == ["first"]


# Other sets, and the command line


def test_a_sample_has_the_same_number_of_each_size_and_is_kept(here, folders):
    pairs = sample("ltl35", "smoke", 70)
    sizes = Counter(len(formula) for part in pairs.values() for formula, _ in part)
    assert sizes == dict.fromkeys(range(6, 13), 10)
    here.asked = 0
    assert sample("ltl35", "smoke", 70) == pairs and here.asked == 0


def test_the_command_line_makes_and_repeats_a_set(folders, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["__main__.py", "generate", "prop-alpha-covariance"])
    command = ["generate", "prop-alpha-covariance", "--scale", "smoke", "--workers", "1"]
    assert main(command) == 0
    folder = folders / "own" / "prop-alpha-covariance-smoke"
    assert str(folder) in capsys.readouterr().out
    assert read_manifest(folder)["command"] == "python -m itekit generate prop-alpha-covariance"
    output, manifest = str(folders / "again"), str(folder / MANIFEST)
    assert main(["generate", "--from-manifest", manifest, "--output", output]) == 0
    assert contents(Path(output)) == contents(folder)


def test_a_set_that_is_missing_is_made_once_and_others_wait_for_it(folders, monkeypatch):
    """A derived set needs only its source."""
    monkeypatch.setattr(generate, "RETRY_SECONDS", 0.05)
    folder = folders / "own" / "prop35-smoke"
    with locked(folder):
        waiting = threading.Thread(target=make_missing, args=(["prop-limited"], "smoke"))
        waiting.start()
        time.sleep(0.3)
        assert not (folder / MANIFEST).exists()
    waiting.join(60)
    assert [path.name for path in (folders / "own").iterdir()] == ["prop35-smoke"]
    before = (folder / MANIFEST).stat().st_mtime_ns
    make_missing(["prop35", "prop-perturbed"], "smoke")
    assert (folder / MANIFEST).stat().st_mtime_ns == before
