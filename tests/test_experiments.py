"""Named experiments at every scale, their round trip through JSON, settings that contradict."""

import json
from itertools import product

import pytest
from tiny import seeded

from itekit.experiments import Experiment, TrainingConfig, from_json
from itekit.files import SCALES, resolve_scale
from itekit.names import NAMES, change, experiment, result_name, run_name
from itekit.network import Network
from itekit.tasks.copying import Copying, CopyingData, EvaluationGrid
from itekit.tasks.ltl import Ltl


def test_every_experiment_makes_sense_survives_json_and_has_a_file_of_its_own():
    files = set()
    for scale, name in product(SCALES, NAMES):
        named = experiment(name, scale, seed=3)
        files.add(result_name(named))
        assert (named.name, named.scale, named.seed) == (name, scale, 3)
        assert from_json(json.loads(json.dumps(named.to_json()))) == named
        assert len(named.task.vocabulary) <= len(named.task.test_vocabulary)
    assert len(files) == len(SCALES) * len(NAMES)


def test_every_experiment_builds_and_reads_its_test_vocabulary():
    for name in NAMES:
        network = Network(experiment(name, "smoke")).eval()
        vocabulary = network.experiment.readable_vocabulary
        U = network.matrix(vocabulary, seeded())
        assert len(U) >= len(vocabulary) and U.shape[1] == network.experiment.model.d_model


def test_the_paper_size_holds_the_numbers_of_the_paper():
    copying = experiment("copying-5-10/proposed", "paper")
    assert copying.training == TrainingConfig() and copying.task == Copying("paper")
    assert copying.task.data == CopyingData(5, 10, 5) and copying.task.grid == EvaluationGrid()
    assert (copying.model.d_model, copying.model.layers, copying.embedding.d_beta) == (64, 2, 6)
    assert (copying.task.draws, copying.loss) == (10, "adacos")
    large = experiment("copying-large/proposed", "paper").task
    assert (large.data, large.test_characters) == (CopyingData(20, 80, 20), 160)
    for name, sizes, steps, limit in (
        ("ltl/proposed", (128, 8, 8, 1024), (52_000, 768), 128),
        ("prop/proposed", (132, 6, 6, 512), (50_000, 1024), 22),
    ):
        logic = experiment(name, "paper")
        model, training, task = logic.model, logic.training, logic.task
        assert (model.d_model, model.layers, model.heads, model.d_ff) == sizes
        assert (training.steps, training.batch_size) == steps and model.tree_positions
        assert (task.propositions, task.test_propositions, task.beam) == (5, 10, 3)
        assert (logic.embedding.d_beta, task.draws, task.limit) == (5, 10, limit)
    assert experiment("ltl-limited/plain", "paper").training.steps == 5200
    assert experiment("ltl-perturbed/alpha-renaming", "paper").task.test_propositions == 5
    full = experiment("ltl/full-vocabulary", "paper").task
    assert full.set == "ltl35-10ap" and full.vocabulary == full.test_vocabulary


def test_weights_depend_on_the_seed_alone():
    networks = [Network(experiment("copying-5-10/plain", "smoke", s)) for s in (0, 0, 1)]
    weights = [n.embedding.learned.tolist() for n in networks]
    assert weights[0] == weights[1] != weights[2]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("seed", -1, "seed must be 0 or more, found -1"),
        ("colour", 1, "Experiment has no setting 'colour'"),
        ("name", ..., "Experiment needs the setting 'name'"),
        ("model", 5, "ModelConfig needs its settings, found 5"),
        ("task", 5, "an experiment needs its task, found "),
        ("task.kind", "modal", "unknown task 'modal': expected copying, ltl, propositional"),
        ("model.layers", True, "ModelConfig.layers must be int, found True"),
        ("embedding.method", {}, "EmbeddingConfig.method must be str, found {}"),
        ("training.steps", 0, "steps must be 1 or more, found 0"),
        ("training.positions", 10, "strings of 10 and their end take 11 positions: .* found 10"),
        ("training.validate_every", 7, r"validate_every \(7\) .* multiple of log_every \(5\)"),
        ("embedding.f_fn", False, "loss adacos needs f_fn"),
        ("loss", "hinge", "unknown loss 'hinge': expected one of adacos, learned_scale, "),
        ("task.draws", 0, "draws must be 1 or more, found 0"),
        ("task.test_characters", 8, "test_characters must be 9 or more, found 8"),
        # what once trained uphill, or failed after hours at the evaluation
        ("training.gradient_norm", -1.0, "gradient_norm must be more than 0, found -1"),
        ("training.learning_rate", -1.0, "learning_rate must be more than 0, found -1"),
        ("training.learning_rate", float("nan"), "learning_rate must be float, found nan"),
        ("embedding.d_beta", 4, "vertices in 4 .* 16 vectors, but 30 unique .* at least 5"),
    ],
)
def test_a_wrong_setting_is_named(path, value, message):
    tree = experiment("copying-5-10/proposed", "smoke").to_json()
    *parts, last = path.split(".")
    part = tree[parts[0]] if parts else tree
    part[last] = value
    if value is ...:
        del part[last]
    with pytest.raises(ValueError, match=message):
        from_json(tree)


@pytest.mark.parametrize(
    ("part", "changed", "message"),
    [
        ("task", {"beam": 0}, "beam must be 1 or more, found 0"),
        ("task", {"label_order": "length"}, "unknown label_order 'length': expected one of name, "),
        ("task", {"test_propositions": 2}, "test_propositions must be 3 or more, found 2"),
        ("embedding", {"per_sample": True}, "per_sample: a learned embedding draws nothing"),
        ("embedding", {"method": "normal"}, "normal has no smallest sampling set: give d_beta"),
        ("training", {"learning_rate": float("nan")}, "learning_rate must be more than 0, found n"),
    ],
)
def test_settings_that_make_no_sense(part, changed, message):
    with pytest.raises(ValueError, match=message):
        change(change(experiment("prop/plain", "smoke"), "embedding", d_beta=None), part, **changed)


def test_without_d_beta_the_random_part_has_the_fewest_dimensions_for_the_names_of_the_test():
    for names, d_beta in ((8, 3), (9, 4), (200, 8)):
        own = Experiment("own/proposed", Ltl("smoke", test_propositions=names))
        assert Network(own).embedding.d_beta == d_beta


def test_a_change_is_typed_and_named_and_stands_in_the_name_of_the_file():
    usual = ("copying-5-10/proposed", "paper", 2)
    changed = experiment(*usual, d_beta=8, **{"training.steps": 500})
    assert (changed.embedding.d_beta, changed.training.steps) == (8, 500)
    file = "copying-5-10-proposed-paper-s2-embedding.d_beta=8-training.steps=500"
    assert result_name(changed) == result_name(from_json(changed.to_json())) == file
    assert run_name(changed) == file
    other = experiment(*usual, search="published")
    assert result_name(other) == "copying-5-10-proposed-paper-s2-search=published"
    assert run_name(other) == "copying-5-10-proposed-paper-s2", "the weights are the same"
    positions = experiment("copying-5-10/randomized-positions", "smoke", **{"grid.maximum": 15})
    assert positions.training.positions == 20, "what is computed follows a change"
    assert experiment("ltl/symbol-invariant", "lab", steps=50).training.steps == 50


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"stps": 5}, "unknown setting 'stps': try steps"),
        ({"training.step": 5}, "unknown setting 'training.step': try training.steps"),
        ({"maximum": 5}, "setting 'maximum' may be task.data.maximum or task.grid.maximum"),
        ({"steps": "many"}, "TrainingConfig.steps must be int, found 'many'"),
    ],
)
def test_a_change_that_makes_no_sense(changed, message):
    with pytest.raises(ValueError, match=message):
        experiment("copying-5-10/proposed", "smoke", **changed)


def test_the_scale_comes_from_the_call_the_environment_or_is_lab(monkeypatch):
    monkeypatch.delenv("ITEKIT_SCALE", raising=False)
    assert resolve_scale() == "lab" and resolve_scale("paper") == "paper"
    monkeypatch.setenv("ITEKIT_SCALE", "smoke")
    assert resolve_scale() == "smoke" and experiment("ltl/plain").scale == "smoke"
    monkeypatch.setenv("ITEKIT_SCALE", "big")
    with pytest.raises(ValueError, match="environment variable ITEKIT_SCALE is 'big'; expected"):
        resolve_scale()
