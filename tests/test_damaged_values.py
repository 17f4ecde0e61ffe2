"""JSON with a value changed: what reads it goes on, or says which file and setting is wrong."""

import copy
import json
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import tiny_experiment

from itekit import results
from itekit.datasets import sets
from itekit.datasets.presets import folder_name, from_json, preset
from itekit.files import LOG, read_log
from itekit.network import Network, read_checkpoint, save_checkpoint
from itekit.training import CHECKPOINT, Trainer
from lessons.lesson_10 import heatmap_panel
from lessons.runs import COLUMNS

WRONG = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([-1, 0, 1, 3, 10**6, 10**30, -0.5, 1e308, float("nan"), "", "a", "../x"]),
    st.sampled_from([[], {}, [1], [[1, "a"]], {"a": 1}, [None], [{}]]),
)


def places(value, path=()) -> list[tuple]:
    """The paths of all values inside a value of JSON; of a long list the first two items."""
    items = value.items() if isinstance(value, dict) else enumerate(value[:2])
    found = []
    for key, one in items:
        found.append((*path, key))
        if isinstance(one, dict | list):
            found += places(one, found[-1])
    return found


@st.composite
def changed(draw, value):
    """The value with one of its values replaced, or taken away."""
    value = copy.deepcopy(value)
    *parents, last = draw(st.sampled_from(places(value)))
    inner = value
    for key in parents:
        inner = inner[key]
    if draw(st.integers(0, 3)):
        inner[last] = draw(WRONG)
    else:
        del inner[last]
    return value


# Recipes and manifests

RECIPES = [
    json.loads(json.dumps(asdict(preset(name, "smoke"))))
    for name in ("ltl35", "prop-generalization", "ltl-limited")
]


@given(st.sampled_from(RECIPES).flatmap(changed))
def test_a_recipe_is_one_or_is_named(value):
    try:
        recipe = from_json(value)
    except ValueError as error:
        assert "not a recipe: " in str(error)
        return
    assert folder_name(recipe) and recipe.count >= 0
    source = getattr(recipe, "source", recipe)
    assert min(source.split_sizes(1000).values()) >= 0


MANIFEST = json.loads((sets.SHIPPED / "ltl35-smoke" / sets.MANIFEST).read_text())
MANIFEST = {key: MANIFEST[key] for key in ("name", "task", "files", "counts", "renamings", "short")}


@given(changed(MANIFEST) | WRONG)
def test_a_manifest_is_one_or_is_named(tmp_path_factory, value):
    folder = tmp_path_factory.mktemp("set")
    for path in (sets.SHIPPED / "ltl35-smoke").glob("*.txt*"):
        (folder / path.name).symlink_to(path)
    (folder / sets.MANIFEST).write_text(json.dumps(value))
    for read in (sets.summary, sets.read_folder):
        try:
            read(folder)
        except ValueError as error:
            assert str(folder) in str(error)


# Checkpoints and logs


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A training that stopped in the middle."""
    folder = tmp_path_factory.mktemp("run")
    Trainer(tiny_experiment(), folder).run(until=10, progress=False)
    return read_checkpoint(folder / CHECKPOINT)


@given(data=st.data())
def test_metadata_are_right_or_are_named(begun, tmp_path_factory, data):
    tensors, metadata = begun
    path = tmp_path_factory.mktemp("other") / CHECKPOINT
    save_checkpoint(path, tensors, data.draw(changed(metadata)))
    for read in (lambda: Network.load(path), lambda: Trainer(tiny_experiment(), path.parent)):
        try:
            read()
        except ValueError as error:
            assert str(path) in str(error)


@pytest.mark.parametrize("step", [-1, 21, 10.5, "ten", True])
def test_a_step_outside_the_run_is_named(begun, tmp_path, step):
    tensors, metadata = begun
    save_checkpoint(tmp_path / CHECKPOINT, tensors, metadata | {"step": step})
    with pytest.raises(ValueError, match=f"{CHECKPOINT}: .*step.*found .*{step}"):
        Trainer(tiny_experiment(), tmp_path)


RECORDS = [{"step": 5, "loss": 1.5, "learning_rate": 0.1, "scale": 2.0, "validation_loss": 1}]


@given(changed(RECORDS).filter(bool))
def test_a_record_of_a_log_is_one_or_its_line_is_named(tmp_path_factory, records):
    folder = tmp_path_factory.mktemp("log")
    (folder / LOG).write_text("".join(json.dumps(record) + "\n" for record in records))
    try:
        assert all(isinstance(record["step"], int) for record in read_log(folder))
    except ValueError as error:
        assert f"{LOG}, line 1: " in str(error)


# Results

SHIPPED = [results.RESULTS / f"{name}.json" for name in (
    "ltl-proposed-lab-s0", "ltl-plain-lab-s0", "copying-5-10-plain-paper-s0",
)]  # fmt: skip


@given(st.sampled_from(SHIPPED), st.data())
def test_a_result_is_one_or_is_named(tmp_path_factory, path, data):
    value = json.loads(path.read_text())
    made = value["name"], value["scale"], value["seed"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(results, "RESULTS", tmp_path_factory.mktemp("results"))
        (results.RESULTS / path.name).write_text(json.dumps(data.draw(changed(value) | WRONG)))
        try:
            result = results.load_result(*made)
        except ValueError as error:
            assert path.name in str(error)
            return
    assert results.run_line(result)
    if path.name.startswith("copying"):
        assert isinstance(results.our_value(result), int | float)
        return
    assert len(heatmap_panel(result)) == 5
    for column in COLUMNS:
        assert isinstance(results.our_rate(result, column), int | float | None)
