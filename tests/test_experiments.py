"""Presets at every scale, their round trip through JSON, and settings that contradict."""

import json
from dataclasses import replace
from functools import reduce
from itertools import product

import pytest
from tiny import seeded

from itekit.experiments import (
    SCALES,
    CopyingExperiment,
    TrainingConfig,
    experiment,
    from_json,
    resolve_scale,
)
from itekit.names import NAMES
from itekit.network import Network
from itekit.tasks.copying import CopyingData, EvaluationGrid


def test_every_preset_makes_sense_survives_json_and_has_a_file_of_its_own():
    slugs = set()
    for scale, name in product(SCALES, NAMES):
        made = experiment(name, scale, seed=3)
        slugs.add(made.slug)
        assert (made.name, made.scale, made.seed) == (name, scale, 3)
        assert from_json(json.loads(json.dumps(made.to_json()))) == made
        assert len(made.vocabulary) <= len(made.test_vocabulary)
    assert len(slugs) == len(SCALES) * len(NAMES)
    made = experiment("copying-5-10/without-f_bn", "lab", 7)
    assert made.slug == "copying-5-10-without-f_bn-lab-s7"


def test_every_preset_builds_and_reads_its_test_vocabulary():
    for name in NAMES:
        network = Network(experiment(name, "smoke")).train(False)
        vocabulary = network.experiment.readable_vocabulary
        U = network.matrix(vocabulary, seeded())
        assert len(U) >= len(vocabulary) and U.shape[1] == network.experiment.model.d_model


def test_the_paper_size_is_the_default_and_holds_the_numbers_of_the_paper():
    made = experiment("copying-5-10/proposed", "paper")
    assert made.training == TrainingConfig() and made.grid == EvaluationGrid()
    assert made.training.steps * made.training.batch_size == pytest.approx(10_000_000, rel=0.03)
    assert (made.model.d_model, made.model.layers, made.embedding.d_beta) == (64, 2, 6)
    assert (made.data, made.draws, made.loss) == (CopyingData(5, 10, 5), 10, "adacos")
    large = experiment("copying-large/proposed", "paper")
    assert (large.data, large.test_characters) == (CopyingData(20, 80, 20), 160)
    for scale in SCALES:  # the full vocabulary trains on the test characters
        made = experiment("copying-5-10/full-vocabulary", scale)
        assert made.data.characters == made.test_characters == 30
        assert made.vocabulary == made.test_vocabulary
        assert experiment("copying-5-10/plain", scale).data.characters == 5


def test_weights_depend_on_the_seed_alone():
    networks = [Network(experiment("copying-5-10/plain", "smoke", s)) for s in (0, 0, 1)]
    weights = [n.embedding.learned.tolist() for n in networks]
    assert weights[0] == weights[1] != weights[2]


def changed(path: str, value) -> dict:
    """The JSON of an experiment with one setting changed, or removed by ..."""
    made = experiment("copying-5-10/proposed", "smoke").to_json()
    *parents, last = path.split(".")
    inner = reduce(dict.__getitem__, parents, made)
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return made


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("seed", -1, "seed must be 0 or more, found -1"),
        ("colour", 1, "CopyingExperiment has no setting 'colour'"),
        ("name", ..., "CopyingExperiment needs the setting 'name'"),
        ("model", 5, "ModelConfig needs its settings, found 5"),
        ("model.layers", True, "ModelConfig.layers must be int, found True"),
        ("embedding.method", {}, "EmbeddingConfig.method must be str, found {}"),
        ("training.steps", 0, "steps must be 1 or more, found 0"),
        ("training.positions", 10, "strings of 10 and their end take 11 positions: .* found 10"),
        ("training.validate_every", 7, r"validate_every \(7\) .* multiple of log_every \(5\)"),
        ("embedding.f_fn", False, "loss adacos needs f_fn"),
        ("model.normalize_features", False, "set it in embedding and in model"),
        ("loss", "hinge", "unknown loss 'hinge': expected one of adacos, learned_scale, "),
        ("draws", 0, "draws must be 1 or more, found 0"),
        ("test_characters", 8, "test_characters must be 9 or more, found 8"),
    ],
)
def test_a_wrong_setting_is_named(path, value, message):
    with pytest.raises(ValueError, match=message):
        CopyingExperiment.from_json(changed(path, value))


def test_presets_are_the_paper_s():
    ltl, prop = (experiment(f"{task}/proposed", "paper") for task in ("ltl", "prop"))
    for made, sizes, steps in (
        (ltl, (128, 8, 8, 1024), (52_000, 768)),
        (prop, (132, 6, 6, 512), (50_000, 1024)),
    ):
        model, training = made.model, made.training
        assert (model.d_model, model.layers, model.heads, model.d_ff) == sizes
        assert (training.steps, training.batch_size) == steps
        assert (made.propositions, made.test_propositions, made.beam) == (5, 10, 3)
        assert model.tree_positions and (made.embedding.d_beta, made.draws) == (5, 10)
    assert (ltl.limit, prop.limit) == (128, 22)
    assert experiment("ltl-limited/plain", "paper").training.steps == 5200
    assert experiment("ltl-perturbed/alpha-renaming", "paper").test_propositions == 5
    assert experiment("ltl/full-vocabulary", "paper").set == "ltl35-10ap"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task": "modal"}, "unknown task 'modal': expected one of ltl, propositional"),
        ({"beam": 0}, "beam must be 1 or more, found 0"),
        ({"label_order": "appearance"}, "unknown label_order 'appearance': expected one of name"),
        ({"test_propositions": 2}, "test_propositions must be 3 or more, found 2"),
        ({"per_sample": True}, "it needs a dual-part embedding"),
    ],
)
def test_settings_that_make_no_sense(change, message):
    with pytest.raises(ValueError, match=message):
        replace(experiment("ltl/plain", "smoke"), **change)


def test_a_change_is_typed_and_named_and_stands_in_the_name_of_the_file():
    made = experiment("copying-5-10/proposed", "paper", 2, d_beta=8, **{"training.steps": 500})
    assert (made.embedding.d_beta, made.training.steps) == (8, 500)
    assert made.slug == "copying-5-10-proposed-paper-s2-embedding.d_beta=8-training.steps=500"
    assert made.slug == from_json(made.to_json()).slug == made.run
    other = experiment("copying-5-10/proposed", "paper", 2, search="published")
    assert other.slug == "copying-5-10-proposed-paper-s2-search=published"
    assert other.run == "copying-5-10-proposed-paper-s2", "the weights are the same"
    assert replace(other, name="mine/proposed").slug == "mine-proposed-paper-s2"
    ready = experiment("ltl/smallest-set", "paper", test_propositions=60)
    assert ready.embedding.d_beta == 6, "what the table computes follows a change"
    assert experiment("ltl/symbol-invariant", "lab", steps=50).training.steps == 50


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stps": 5}, "unknown setting 'stps': try steps"),
        ({"training.step": 5}, "unknown setting 'training.step': try training.steps"),
        ({"maximum": 5}, "setting 'maximum' may be data.maximum or grid.maximum"),
        ({"steps": "many"}, "TrainingConfig.steps must be int, found 'many'"),
    ],
)
def test_a_change_that_makes_no_sense(change, message):
    with pytest.raises(ValueError, match=message):
        experiment("copying-5-10/proposed", "smoke", **change)


def test_the_scale_comes_from_the_call_the_environment_or_is_lab(monkeypatch):
    monkeypatch.delenv("ITEKIT_SCALE", raising=False)
    assert resolve_scale() == "lab" and resolve_scale("paper") == "paper"
    monkeypatch.setenv("ITEKIT_SCALE", "smoke")
    assert resolve_scale() == "smoke" and experiment("ltl/plain").scale == "smoke"
    monkeypatch.setenv("ITEKIT_SCALE", "big")
    with pytest.raises(ValueError, match="environment variable ITEKIT_SCALE is 'big'; expected"):
        resolve_scale()
