"""Training on logic problems: every variant learns, resumes exactly, and is what its name says."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from tiny import seeded, tiny_logic_network

from itekit.data import Batch
from itekit.experiments import experiment
from itekit.layout import Layout
from itekit.logic_presets import NAMES, VARIANTS
from itekit.network import Network
from itekit.random_vectors import SamplingSetTooSmallError
from itekit.runlog import read_log
from itekit.training import Trainer


def tiny(name: str, **training):
    """A smoke preset with a narrow model."""
    made = experiment(name, "smoke")
    model = replace(made.model, d_model=24, heads=2, d_ff=32)
    return replace(made, model=model, training=replace(made.training, **training))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("task", ["ltl", "prop"])
def test_every_variant_trains_all_its_parameters(task, variant):
    made = tiny(f"{task}/{variant}")
    network, stream = Network.build(made).train(), made.stream()
    loss = network.batch_loss(stream.batch(0), seeded())
    loss.backward()
    assert torch.isfinite(loss)
    for name, module in network.modules.items():
        for key, parameter in module.named_parameters():
            assert parameter.grad is not None and parameter.grad.any(), f"{name}.{key}"


@pytest.mark.parametrize("name", ["ltl/per-sample", "prop-perturbed/plain"])
def test_a_run_in_pieces_gives_the_same_losses(name, tmp_path):
    def losses(folder) -> list[float]:
        return [record["loss"] for record in read_log(folder)]

    Trainer(tiny(name), tmp_path / "whole").run(progress=False)
    for until in (10, None):
        Trainer(tiny(name), tmp_path / "pieces").run(until, progress=False)
    assert losses(tmp_path / "whole") == losses(tmp_path / "pieces")
    assert losses(tmp_path / "whole")[-1] < losses(tmp_path / "whole")[0]


def test_a_matrix_for_each_sequence_gives_what_each_matrix_gives():
    network = tiny_logic_network("ltl/per-sample")
    batch = network.experiment.stream().batch(0)
    U = network.embedding.matrix(network.experiment.vocabulary, seeded(), count=len(batch.source))
    assert not torch.equal(U[0], U[1])
    layout = Layout.of(batch.target != 0)
    found = layout.unpack(network.logits(U, batch)[0])
    for number, matrix in enumerate(U):
        row = slice(number, number + 1)
        alone = Batch(batch.source[row], batch.target[row])
        logits, _ = network.logits(matrix, alone)
        kept = found[number][batch.target[number] != 0]
        assert torch.allclose(kept[:, 3:], logits[:, 3:], atol=1e-5)


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


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("ltl")])
def test_a_preset_trains_on_the_set_it_names(name):
    made = experiment(name, "smoke")
    stream = made.stream()
    names = set(stream.problems.sources.unique().tolist()) & set(made.vocabulary.class_ids(0))
    assert len(names) == 3 if made.propositions == 3 else len(names) > 3
    if made.canonical:
        first = made.vocabulary.class_ids(0)[0]
        rows = stream.problems.sources.numpy()
        firsts = [row[row >= first][0] for row in rows if (row >= first).any()]
        assert set(np.array(firsts).tolist()) == {first}, "the first proposition is always a"


def test_labels_in_the_order_of_the_formula_are_the_same_assignments():
    made = experiment("prop/by-appearance", "smoke")
    stream, usual = made.stream(), experiment("prop/proposed", "smoke").stream()
    assert torch.equal(stream.problems.sources, usual.problems.sources)
    assert not torch.equal(stream.problems.targets, usual.problems.targets)
    first = made.vocabulary.class_ids(0)[0]
    for formula, target in zip(
        stream.problems.sources.tolist(), stream.problems.targets.tolist(), strict=True
    ):
        named = [token for token in target if token >= first]
        assert named == sorted(named, key=formula.index)


def test_more_propositions_than_the_sampling_set_holds():
    network = tiny_logic_network("ltl/proposed")
    wide = replace(network.experiment, test_propositions=33).test_vocabulary
    with pytest.raises(SamplingSetTooSmallError, match="32"):
        network.matrix(wide, seeded())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task": "modal"}, "unknown task 'modal': expected one of ltl, propositional"),
        ({"beam": 0}, "beam must be 1 or more, found 0"),
        ({"label_order": "appearance"}, "unknown label_order 'appearance': expected one of name"),
        ({"variants": 1}, "2 variants or more, found 1"),
        ({"test_propositions": 2}, "test_propositions must be 3 or more, as at training, found 2"),
    ],
)
def test_settings_that_make_no_sense(change, message):
    with pytest.raises(ValueError, match=message):
        replace(experiment("ltl/proposed", "smoke"), **change)


def test_per_sample_needs_random_parts():
    with pytest.raises(ValueError, match="it needs a dual-part embedding"):
        replace(experiment("ltl/plain", "smoke"), per_sample=True)
