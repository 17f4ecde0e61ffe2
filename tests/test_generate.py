"""Generated sets: what they hold, and the same bytes whatever happened on the way."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from itekit.__main__ import main
from itekit.datasets import child, derive, generate, jobs_ltl, sets
from itekit.datasets.checking import check_all
from itekit.datasets.drawing import Drawing
from itekit.datasets.journal import Journal
from itekit.datasets.manifest import MANIFEST, read_manifest
from itekit.datasets.parallel import Chunk
from itekit.datasets.presets import NAMES, preset
from itekit.datasets.recipes import TEST_ONLY, Derivation, Recipe, Stratum
from itekit.datasets.sets import MissingSetError, read_folder
from itekit.datasets.store import DataError
from itekit.logic.formulas import ARITY
from itekit.tasks.verdicts import EXACT, TIME_OUT

CHANGING = ("cpu_seconds", "workers", "command", "hardware", "date", "versions")


class Here:
    """An executor in this process, in which some formulas "run out of time"; it counts chunks."""

    workers = 1

    def __init__(self, slow=()):
        self.slow, self.chunks, self.limits = set(slow), 0, set()

    def run(self, task, chunks, cpu_seconds):
        function = child.load(task)
        self.limits.add(cpu_seconds)
        for number in reversed(range(len(chunks))):  # never in order
            self.chunks += 1
            items = chunks[number]
            yield Chunk(number, [TIME_OUT if i[0] in self.slow else function(i) for i in items], 0)


def ltl_recipe(count=60, **settings) -> Recipe:
    strata = (Stratum(3, 1, 12, count, 100 * count, cap=max(1, count // 8), full_from=8),)
    return replace(Recipe("tiny", "smoke", "ltl", "fast", strata), **settings)


def propositional_recipe(**settings) -> Recipe:
    strata = (Stratum(4, 1, 14, 60, 6000, cap=7, largest_tree=16),)
    return replace(Recipe("tiny", "smoke", "propositional", "fast", strata), **settings)


def cells_recipe(task="ltl") -> Recipe:
    cells = [(1, 1), (2, 5), (3, 7), (5, 3)]  # a formula of length 3 cannot hold 5 APs
    strata = tuple(Stratum(n, s, s, 4, 3000, all_propositions=True) for n, s in cells)
    return Recipe("cells", "smoke", task, "fast", strata, TEST_ONLY)


def contents(folder: Path) -> dict[str, bytes]:
    """The data files of a set, and of its manifest what does not depend on the machine."""
    found = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != MANIFEST}
    manifest = read_manifest(folder)
    lasting = {key: value for key, value in manifest.items() if key not in CHANGING}
    return found | {MANIFEST: json.dumps(lasting).encode()}


def all_pairs(folder: Path) -> list[tuple[str, str]]:
    return [pair for part in read_folder(folder).values() for pair in part]


def propositions(formula: str) -> set[str]:
    return set(formula) - ARITY.keys()


# The same bytes


@pytest.mark.parametrize("recipe", [ltl_recipe(), propositional_recipe()], ids=lambda r: r.task)
def test_the_number_of_workers_changes_nothing(tmp_path, recipe):
    folders = [
        generate.generate(recipe, tmp_path / str(workers), workers=workers) for workers in (1, 2, 3)
    ]
    assert contents(folders[0]) == contents(folders[1]) == contents(folders[2])
    assert contents(generate.generate(recipe, tmp_path / "here", executor=Here())) == contents(
        folders[0]
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2", "3", "here"]


SLOW_RUN = """
import signal
import sys
from pathlib import Path
from itekit.datasets.generate import generate
from itekit.datasets.recipes import Recipe, Stratum

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
strata = (Stratum(5, 20, 30, 250, 25_000),)
recipe = Recipe("slow", "smoke", "ltl", "default", strata)
generate(recipe, Path(sys.argv[1]), workers=int(sys.argv[2]))
"""


def start_slow_run(folder: Path, workers: int) -> subprocess.Popen:
    """A run of a second or more, in a process group of its own."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", SLOW_RUN, str(folder), str(workers)]
    return subprocess.Popen(command, env=environment, start_new_session=True)


def test_a_run_killed_twice_ends_with_the_same_bytes(tmp_path):
    whole = start_slow_run(tmp_path / "whole", 1)
    folder, work = tmp_path / "killed", tmp_path / ".killed.work"
    finished = 0
    for workers in (2, 3):
        run = start_slow_run(folder, workers)
        while len(list(work.glob("*.json"))) < finished + 4:
            assert run.poll() is None, "it ended before it could be killed"
            time.sleep(0.002)
        os.killpg(run.pid, signal.SIGKILL)
        assert run.wait() == -signal.SIGKILL
        finished = len(list(work.glob("*.json")))
        assert not folder.exists()
    times = {path: path.stat().st_mtime_ns for path in work.glob("*.json")}
    run = start_slow_run(folder, 1)
    while len(list(work.glob("*.json"))) < finished + 2:
        assert run.poll() is None
        time.sleep(0.002)
    kept = [path for path, written in times.items() if path.stat().st_mtime_ns == written]
    assert len(kept) == len(times), "finished chunks are not worked on again"
    assert run.wait() == 0 and whole.wait() == 0
    assert contents(folder) == contents(tmp_path / "whole")
    assert not work.exists()


def test_ctrl_c_ends_every_process_soon(tmp_path):
    run = start_slow_run(tmp_path / "a", 2)
    while not list((tmp_path / ".a.work").glob("*.json")):
        assert run.poll() is None
        time.sleep(0.002)
    os.killpg(run.pid, signal.SIGINT)
    assert run.wait(timeout=60) != 0
    for _ in range(100):
        try:
            os.killpg(run.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("a process of the group is still there")


def test_rounds_of_another_length_keep_the_promises(tmp_path):
    recipe = ltl_recipe(round=7)
    rounds = Here()
    folder = generate.generate(recipe, tmp_path / "a", executor=rounds)
    assert rounds.chunks > 60 // 7
    assert len(all_pairs(folder)) == 60
    sizes = Counter(len(formula) for formula, _ in all_pairs(folder))
    assert max(sizes.values()) <= 60 // 8
    assert contents(generate.regenerate(folder, tmp_path / "b", executor=Here())) == contents(
        folder
    )


# The sets that are shipped


def shipped(name: str) -> Path:
    folder = sets.SHIPPED / f"{name}-lab"
    if not folder.exists():
        pytest.skip(f"{folder} is not here")
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_shipped_sets_are_whole_and_of_todays_recipe(name):
    folder = shipped(name)
    manifest, recipe = read_manifest(folder), preset(name, "lab")
    key = "derivation" if isinstance(recipe, Derivation) else "recipe"
    assert type(recipe).from_json(manifest[key]) == recipe
    pairs = read_folder(folder)
    assert {name: len(part) for name, part in pairs.items()} == {
        name: entry["pairs"] for name, entry in manifest["files"].items()
    }


@pytest.mark.parametrize("name", ["ltl-alpha-covariance", "prop-alpha-covariance"])
def test_small_shipped_sets_come_out_the_same(tmp_path, name):
    generate.regenerate(shipped(name), tmp_path / "again", executor=Here())


def test_a_failure_while_writing_the_files_costs_no_label(tmp_path, monkeypatch):
    recipe = ltl_recipe()
    expected = contents(generate.generate(recipe, tmp_path / "a", executor=Here()))

    def full_disk(path, text):
        if path.name.startswith("test"):
            raise OSError("the disk is full")
        write_lines(path, text)

    write_lines = generate.write_lines
    with monkeypatch.context() as patch:
        patch.setattr(generate, "write_lines", full_disk)
        with pytest.raises(OSError, match="the disk is full"):
            generate.generate(recipe, tmp_path / "b", executor=Here())
    assert not (tmp_path / "b" / MANIFEST).exists()
    again = Here()
    assert contents(generate.generate(recipe, tmp_path / "b", executor=again)) == expected
    assert again.chunks == 0


def test_a_set_is_replaced_whole(tmp_path):
    generate.generate(ltl_recipe(seed=1), tmp_path / "a", executor=Here())
    folder = generate.generate(ltl_recipe(seed=2), tmp_path / "a", executor=Here())
    fresh = generate.generate(ltl_recipe(seed=2), tmp_path / "b", executor=Here())
    assert contents(folder) == contents(fresh)


def test_seeds_names_and_scales_give_other_formulas(tmp_path):
    recipes = [ltl_recipe(), ltl_recipe(seed=1), ltl_recipe(name="b"), ltl_recipe(scale="lab")]
    drawn = [tuple(f for _, f in Drawing(recipe).next_round()) for recipe in recipes]
    assert len(set(drawn)) == 4
    assert drawn[0] == tuple(f for _, f in Drawing(recipes[0]).next_round())


# The journal


def test_the_journal_gives_back_only_what_belongs_to_the_job(tmp_path):
    items = [["a", "fast", "characters"], ["&ab", "fast", "characters"]]
    with Journal(tmp_path / "work", ["task", 10]) as journal:
        assert journal.read(items) is None
        journal.write(items, ["{a}", "{&ab}"], 0.5)
        assert journal.read(items) == (["{a}", "{&ab}"], 0.5)
        assert journal.read(items[::-1]) is None
        assert journal.read(items[:1]) is None
        with pytest.raises(RuntimeError, match="another process is at work in .*work"):
            Journal(tmp_path / "work", ["task", 10])
    with Journal(tmp_path / "work", ["task", 20]) as journal:
        assert journal.read(items) is None
    with Journal(tmp_path / "work", ["task", 10]) as journal:
        (entry,) = (tmp_path / "work").glob("*.json")
        for damaged in ("", "{", "[]", '{"answers": ["{a}"], "spent": 0}', '{"spent": 0}'):
            entry.write_text(damaged)
            assert journal.read(items) is None
        journal.remove()
    assert not (tmp_path / "work").exists()


# What a set holds


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Task -> the folder of its tiny set."""
    folder = tmp_path_factory.mktemp("tiny")
    recipes = {"ltl": ltl_recipe(), "propositional": propositional_recipe()}
    return {
        task: generate.generate(recipe, folder / task, executor=Here())
        for task, recipe in recipes.items()
    }


@pytest.mark.parametrize("task", ["ltl", "propositional"])
def test_every_label_solves_its_formula(tiny, task):
    pairs = all_pairs(tiny[task])
    assert len(pairs) >= 50
    verdicts = check_all(task, [(formula, label, None) for formula, label in pairs], workers=1)
    assert set(verdicts) == {"correct"}
    labelled = check_all(task, [(*pair, pair[1]) for pair in pairs], workers=1)
    assert set(labelled) == {EXACT}
    if task == "ltl":
        assert not any("0" in label for _, label in pairs)


@pytest.mark.parametrize("task", ["ltl", "propositional"])
def test_formulas_are_different_and_within_the_quota(tiny, task):
    (stratum,) = Recipe.from_json(read_manifest(tiny[task])["recipe"]).strata
    formulas = [formula for formula, _ in all_pairs(tiny[task])]
    assert len(set(formulas)) == len(formulas) <= stratum.count
    sizes = Counter(map(len, formulas))
    assert max(sizes.values()) <= stratum.cap
    assert stratum.low <= min(sizes) and max(sizes) <= stratum.high
    assert set().union(*map(propositions, formulas)) <= set("abcde"[: stratum.propositions])


@pytest.mark.parametrize("task", ["ltl", "propositional"])
def test_the_manifest_describes_the_files(tiny, task):
    manifest = read_manifest(tiny[task])
    pairs = all_pairs(tiny[task])
    counts = manifest["counts"]
    assert counts["candidates"] == sum(counts.values()) - counts["candidates"]
    assert counts["kept"] == len(pairs) == sum(f["pairs"] for f in manifest["files"].values())
    assert counts["unsatisfiable"] > 0
    assert (task == "ltl") == ("tautology" not in counts)
    sizes = Counter(str(len(formula)) for formula, _ in pairs)
    assert manifest["histograms"]["size"] == sizes
    names = Counter(str(len(propositions(formula))) for formula, _ in pairs)
    assert manifest["histograms"]["propositions"] == names
    lengths = Counter(str(len(label)) for _, label in pairs)
    assert manifest["histograms"]["label_length"] == lengths
    assert manifest["versions"].keys() >= {"itekit", "spottl", "py-aiger", "python-sat", "python"}
    assert Recipe.from_json(manifest["recipe"]).task == manifest["task"] == task
    for entry in manifest["files"].values():
        assert (tiny[task] / entry["file"]).stat().st_size == entry["bytes"]  # not compressed


@pytest.mark.parametrize("task", ["ltl", "propositional"])
def test_splits_are_80_10_10_and_mixed(tiny, task):
    splits = read_folder(tiny[task])
    total = len(all_pairs(tiny[task]))
    assert {name: len(part) for name, part in splits.items()} == {
        "train": total * 80 // 100,
        "validation": total * 10 // 100,
        "test": total - total * 80 // 100 - total * 10 // 100,
    }
    sizes = [len(formula) for formula, _ in all_pairs(tiny[task])]
    assert sizes != sorted(sizes)


def test_a_stratum_is_full_when_all_large_sizes_are(tmp_path):
    strata = (Stratum(3, 1, 9, 500, 20_000, cap=5, full_from=7),)
    folder = generate.generate(ltl_recipe(strata=strata), tmp_path / "a", executor=Here())
    sizes = read_manifest(folder)["histograms"]["size"]
    assert [sizes[size] for size in "789"] == [5, 5, 5]
    assert read_manifest(folder)["counts"]["candidates"] < 5000


def test_what_cannot_be_filled_ends_and_is_recorded(tmp_path):
    folder = generate.generate(cells_recipe(), tmp_path / "a", executor=Here())
    manifest = read_manifest(folder)
    short = {(cell["propositions"], cell["sizes"]): cell for cell in manifest["short"]}
    assert short.keys() == {(1, "1 to 1"), (5, "3 to 3")}
    assert (short[5, "3 to 3"]["found"], short[5, "3 to 3"]["candidates"]) == (0, 3000)
    assert (short[1, "1 to 1"]["found"], short[1, "1 to 1"]["wanted"]) == (1, 4)
    found = Counter((len(propositions(f)), len(f)) for f, _ in all_pairs(folder))
    assert found == {(1, 1): 1, (2, 5): 4, (3, 7): 4}
    assert manifest["files"].keys() == {"test"}


def test_sorted_names_start_at_a(tmp_path):
    strata = (Stratum(8, 1, 12, 60, 6000),)
    recipe = ltl_recipe(strata=strata, sorted_names=True)
    pairs = all_pairs(generate.generate(recipe, tmp_path / "a", executor=Here()))
    for formula, label in pairs:
        used = propositions(formula)
        assert used == set("abcdefgh"[: len(used)])
        assert set(label) - set(";{}") - ARITY.keys() <= used
    assert max(len(propositions(formula)) for formula, _ in pairs) > 3


def test_more_than_26_propositions_are_written_spaced(tmp_path):
    strata = (Stratum(40, 1, 15, 30, 3000),)
    with pytest.raises(ValueError, match="40 APs need format='spaced'"):
        ltl_recipe(strata=strata)
    recipe = ltl_recipe(strata=strata, format="spaced")
    pairs = all_pairs(generate.generate(recipe, tmp_path / "a", executor=Here()))
    assert any(len(token) == 2 for formula, _ in pairs for token in formula.split())
    verdicts = check_all("ltl", pairs, workers=1, format="spaced")
    assert set(verdicts) == {"correct"}


# Time-outs


def slow_formulas(recipe: Recipe) -> list[str]:
    return [formula for _, formula in Drawing(recipe).next_round()][3::7]


def test_time_outs_are_listed_and_taken_over_exactly(tmp_path):
    recipe = ltl_recipe()
    slow = slow_formulas(recipe)
    first = generate.generate(recipe, tmp_path / "first", executor=Here(slow))
    manifest = read_manifest(first)
    assert manifest["time_outs"] == slow
    assert manifest["counts"]["time-out"] == len(slow)
    assert not {f for f, _ in all_pairs(first)} & set(slow)
    fast = Here()  # a machine on which nothing runs out of time
    again = generate.regenerate(first / MANIFEST, tmp_path / "again", executor=fast)
    assert contents(again) == contents(first)
    assert fast.limits == {100 * recipe.cpu_seconds}
    other = generate.generate(recipe, tmp_path / "other", executor=Here())
    assert contents(other)["train.txt"] != contents(first)["train.txt"]


def test_a_time_out_that_the_manifest_lacks_is_an_error(tmp_path):
    recipe = ltl_recipe()
    first = generate.generate(recipe, tmp_path / "first", executor=Here())
    slow = slow_formulas(recipe)[:1]
    with pytest.raises(RuntimeError, match=f"{slow[0]} ran out of 1000.0 s"):
        generate.regenerate(first, tmp_path / "again", executor=Here(slow))


def test_real_time_outs_are_taken_over_too(tmp_path):
    strata = (Stratum(7, 30, 35, 60, 6000),)
    recipe = ltl_recipe(strata=strata, method="default", cpu_seconds=0.03)
    first = generate.generate(recipe, tmp_path / "first", workers=1)
    assert len(all_pairs(first)) == 60
    assert len(read_manifest(first)["time_outs"]) >= 1
    again = generate.regenerate(first, tmp_path / "again", workers=2)
    assert contents(again) == contents(first)


def test_a_difference_is_named_with_the_versions(tmp_path, monkeypatch):
    first = generate.generate(ltl_recipe(), tmp_path / "first", executor=Here())
    monkeypatch.setattr(jobs_ltl, "label", lambda item: "{1}")
    with pytest.raises(RuntimeError, match=r"again.train\.txt is not the one of .*spottl"):
        generate.regenerate(first, tmp_path / "again", executor=Here())


def test_a_manifest_is_not_overwritten_by_its_comparison(tmp_path):
    first = generate.generate(ltl_recipe(), tmp_path / "first", executor=Here())
    with pytest.raises(ValueError, match="another output"):
        generate.regenerate(first, first, executor=Here())


@pytest.mark.parametrize("change", [{"recipe": {}}, {"recipe": None}, {"time_outs": None}])
def test_a_manifest_that_is_no_recipe_is_named(tmp_path, change):
    first = generate.generate(ltl_recipe(), tmp_path / "first", executor=Here())
    manifest = json.loads((first / MANIFEST).read_text()) | change
    if change.get("time_outs", 0) is None:
        del manifest["time_outs"]
    (first / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(DataError, match="not the manifest of a generated set"):
        generate.regenerate(first / MANIFEST, tmp_path / "again", executor=Here())


# Derived sets


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Empty folders in place of the shipped and the own sets."""
    monkeypatch.setattr(sets, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setattr(sets, "OWN", tmp_path / "own")
    monkeypatch.setattr(generate, "OWN", tmp_path / "own")
    return tmp_path


def test_derived_sets_are_made_from_their_source(folders):
    limited, perturbed = preset("ltl-limited", "smoke"), preset("ltl-perturbed", "smoke")
    with pytest.raises(MissingSetError, match="python -m itekit generate ltl35 --scale smoke"):
        generate.generate(limited)
    source = read_folder(generate.generate(preset("ltl35", "smoke"), executor=Here()))
    few = read_folder(generate.generate(limited))
    assert few == source | {"train": source["train"][: len(source["train"]) // 10]}
    folder = generate.generate(perturbed)
    renamed = read_folder(folder)
    assert folder == folders / "own" / "ltl-perturbed-smoke"
    pairs = [pair for part in renamed.values() for pair in part]
    for formula, label in pairs:
        seen = list(dict.fromkeys(c for c in label if c.islower()))
        assert seen == sorted(seen) and set(seen) == set("abc"[: len(seen)])
        assert propositions(formula) <= set("abc")
    assert set(check_all("ltl", pairs, workers=1)) == {"correct"}
    flat = [pair for part in source.values() for pair in part]
    assert all(len(a[0]) == len(b[0]) for a, b in zip(pairs, flat, strict=True))
    assert sets.read_set("ltl-perturbed", "smoke") == renamed
    again = generate.regenerate(folder, folders / "again")
    assert contents(again) == contents(folder)


def test_perturbing_never_merges_two_propositions():
    derivation = Derivation("p", "perturbed", ltl_recipe())
    source = {"train": [("&aXb", "b;{1}"), ("&c&ab", "{c}")]}
    made = derive.derive(derivation, source)
    assert made == {"train": [("&bXa", "a;{1}"), ("&a&bc", "{a}")]}


# The command line


def test_the_command_line_makes_and_repeats_a_set(folders, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["__main__.py", "generate", "prop-alpha-covariance"])
    command = ["generate", "prop-alpha-covariance", "--scale", "smoke", "--workers", "1"]
    assert main(command) == 0
    folder = folders / "own" / "prop-alpha-covariance-smoke"
    assert str(folder) in capsys.readouterr().out
    assert read_manifest(folder)["command"] == "python -m itekit generate prop-alpha-covariance"
    output = str(folders / "again")
    manifest = str(folder / MANIFEST)
    assert main(["generate", "--from-manifest", manifest, "--output", output]) == 0
    assert contents(Path(output)) == contents(folder)
    assert main(["sets"]) == 0
    table = capsys.readouterr().out
    (line,) = [line for line in table.splitlines() if line.startswith("prop-alpha-covariance")]
    assert "here" in line


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["ltl36"], "unknown set 'ltl36'"),
        (["ltl35", "--scale", "large"], "'large'"),
        (["ltl35", "--seed", "-1"], "the seed must be 0 or more"),
        (["ltl35", "--workers", "0"], "workers must be 1 or more"),
        ([], "give the name of a set, or --from-manifest FILE"),
        (["ltl35", "--from-manifest", "x"], "give the name of a set, or --from-manifest FILE"),
        (["--from-manifest", "nowhere.json"], "nowhere.json"),
        (["ltl-limited"], "no set ltl35-smoke"),
    ],
)
def test_bad_arguments_end_with_a_message(folders, capsys, arguments, problem):
    scale = [] if "--scale" in arguments else ["--scale", "smoke"]
    assert main(["generate", *arguments, *scale]) == 2
    assert problem in capsys.readouterr().err
    assert not list(folders.glob("own/*smoke"))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "ltl35"])
def test_every_preset_can_be_made_at_smoke_size(folders, name):
    recipe = preset(name, "smoke")
    if isinstance(recipe, Derivation):
        generate.generate(recipe.source, executor=Here())
    folder = generate.generate(recipe, executor=Here())
    assert 0.7 * recipe.count <= len(all_pairs(folder)) <= recipe.count
