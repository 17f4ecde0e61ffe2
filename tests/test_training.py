"""Training: repeated, killed and resumed, refused, diverged; and that it learns something."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tiny import tiny_experiment

from itekit import files
from itekit.checkpoints import CheckpointError, read_checkpoint
from itekit.embeddings import EmbeddingConfig
from itekit.experiments import experiment
from itekit.network import Network
from itekit.runlog import LOG, read_log, truncate_log
from itekit.tasks.copying import CopyingData
from itekit.training import CHECKPOINT, FINISHED, Trainer, TrainingDivergedError

TESTS = Path(__file__).parent

# Trains, and is killed in the middle of writing a file: which, and after which step.
CHILD = """
import os, signal, sys
import torch
from itekit import files
from itekit.training import Trainer
from tiny import tiny_experiment

torch.set_num_threads(1)
directory, name, step = sys.argv[1], sys.argv[2], int(sys.argv[3])
trainer = Trainer(tiny_experiment(checkpoint_every=5), directory)
replace = files.os.replace

def killed(source, target):
    if target.name == name and trainer.step == step:
        with open(target.parent / "log.jsonl", "a") as log:
            log.write('{"step": 2')
        os.kill(os.getpid(), signal.SIGKILL)
    replace(source, target)

files.os.replace = killed
trainer.run(progress=False)
"""


def same(directory: Path) -> list[dict]:
    """The log without what a clock decides."""
    return [{k: v for k, v in r.items() if k != "tokens_per_second"} for r in read_log(directory)]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory) -> Path:
    """A whole run, in this process."""
    torch.set_num_threads(1)
    directory = tmp_path_factory.mktemp("whole")
    Trainer(tiny_experiment(checkpoint_every=5), directory).run(progress=False)
    return directory


def test_a_run_leaves_its_log_its_checkpoint_and_its_network(uninterrupted):
    assert {path.name for path in uninterrupted.iterdir()} == {CHECKPOINT, LOG, FINISHED}
    records = read_log(uninterrupted)
    assert [r["step"] for r in records] == [5, 10, 15, 20]
    assert all({"loss", "learning_rate", "tokens_per_second", "scale"} <= set(r) for r in records)
    assert ["validation_loss" in r for r in records] == [False, True, False, True]
    assert all(0 <= r["validation_accuracy"] <= 1 for r in records[1::2])
    assert all(r["validation_edit_distance"] > 0 for r in records[1::2])
    assert records[0]["learning_rate"] == pytest.approx(1e-3) and records[0]["loss"] > 0


def test_a_killed_run_resumes_with_the_same_losses_and_weights(uninterrupted, tmp_path):
    """A process is killed while it writes a checkpoint and a log line; this one goes on."""
    paths = os.pathsep.join([str(TESTS.parent), str(TESTS)])
    killed = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path), CHECKPOINT, "15"],
        env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert read_checkpoint(tmp_path / CHECKPOINT)[1]["step"] == 10
    assert [r["step"] for r in read_log(tmp_path)] == [5, 10, 15]
    assert (tmp_path / LOG).read_text().endswith('{"step": 2')
    assert not (tmp_path / FINISHED).exists()

    trainer = Trainer(tiny_experiment(checkpoint_every=5), tmp_path)
    assert trainer.step == 10
    trainer.run(progress=False)
    assert same(tmp_path) == same(uninterrupted)
    for name in (CHECKPOINT, FINISHED):
        found, expected = load_file(tmp_path / name), load_file(uninterrupted / name)
        assert found.keys() == expected.keys()
        assert all(torch.equal(found[key], expected[key]) for key in expected)


def test_a_run_in_pieces_gives_the_same_losses(uninterrupted, tmp_path):
    made = tiny_experiment(checkpoint_every=5)
    Trainer(made, tmp_path).run(until=5, progress=False)
    trainer = Trainer(made, tmp_path)
    trainer.run(until=10, progress=False)
    trainer.run(progress=False)
    assert same(tmp_path) == same(uninterrupted)


def test_another_seed_gives_other_losses(uninterrupted, tmp_path):
    Trainer(tiny_experiment(seed=1), tmp_path).run(until=5, progress=False)
    assert read_log(tmp_path)[0]["loss"] != read_log(uninterrupted)[0]["loss"]


def test_how_often_to_save_does_not_change_the_losses(uninterrupted, tmp_path):
    Trainer(tiny_experiment(checkpoint_every=20), tmp_path).run(progress=False)
    assert same(tmp_path) == same(uninterrupted)


def test_a_loss_in_the_log_is_the_mean_since_the_record_before(uninterrupted, tmp_path):
    made = tiny_experiment(log_every=1, validate_every=20, checkpoint_every=20)
    Trainer(made, tmp_path).run(until=10, progress=False)
    losses = [r["loss"] for r in read_log(tmp_path)]
    means = [sum(losses[:5]) / 5, sum(losses[5:]) / 5]
    assert [r["loss"] for r in read_log(uninterrupted)[:2]] == pytest.approx(means, rel=1e-5)


def test_a_stop_between_two_records_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="until must be a multiple of 5, found 7"):
        Trainer(tiny_experiment(), tmp_path).run(until=7)


def test_a_run_that_was_interrupted_goes_on_with_right_means(tmp_path):
    """As when a reader stops a cell and starts it again."""
    trainer = Trainer(tiny_experiment(), tmp_path)
    losses, step = [], trainer._train_step

    def interrupted():
        if trainer.step == 7 and len(losses) == 7:
            losses.append(None)
            raise KeyboardInterrupt
        result = step()
        losses.append(result[0].item())
        return result

    trainer._train_step = interrupted
    with pytest.raises(KeyboardInterrupt):
        trainer.run(until=10, progress=False)
    trainer.run(until=10, progress=False)
    assert read_log(tmp_path)[1]["loss"] == pytest.approx(sum(losses[8:]) / 3)


@pytest.mark.parametrize(
    ("other", "setting"),
    [
        (tiny_experiment(seed=1), "seed 1, found 0"),
        (tiny_experiment(steps=30), "training.steps 30, found 20"),
        (tiny_experiment("copying-5-10/plain"), "name copying-5-10/plain, found"),
    ],
)
def test_a_directory_of_another_run_is_refused(tmp_path, other, setting):
    Trainer(tiny_experiment(), tmp_path).run(until=10, progress=False)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(CheckpointError, match=f"{CHECKPOINT}: .*expected {setting}.*directory"):
        Trainer(other, tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("name", ["prop/proposed", "copying-5-10/proposed"])
def test_a_checkpoint_of_another_task_is_refused(tmp_path, name):
    Trainer(tiny_experiment("ltl/proposed", steps=5), tmp_path).run(progress=False)
    expected = f"expected name {name}, found ltl/proposed"
    with pytest.raises(CheckpointError, match=f"{CHECKPOINT}: .*{expected}"):
        Trainer(tiny_experiment(name, steps=5), tmp_path)
    with pytest.raises(CheckpointError, match=f"{FINISHED}: .*{expected}"):
        Network.load(tmp_path / FINISHED, tiny_experiment(name, steps=5))


def test_a_run_may_go_on_in_another_precision_and_says_so(uninterrupted, tmp_path):
    made = tiny_experiment(checkpoint_every=5)
    Trainer(made, tmp_path).run(until=10, progress=False)
    network = Trainer(made, tmp_path, precision="bfloat16").run(progress=False)
    found, expected = same(tmp_path), same(uninterrupted)
    assert found[:2] == expected[:2]
    for record, other in zip(found[2:], expected[2:], strict=True):
        assert record["loss"] != other["loss"]
        assert record["loss"] == pytest.approx(other["loss"], rel=0.01)
    parts = [(part["from_step"], part["precision"]) for part in network.trained["executed"]]
    assert parts == [(0, "float32"), (10, "bfloat16")]


def test_a_run_in_bfloat16_resumes_with_the_same_losses(tmp_path):
    made = tiny_experiment(checkpoint_every=5)
    for name, stops in (("whole", (20,)), ("pieces", (5, 15, 20))):
        for until in stops:
            Trainer(made, tmp_path / name, precision="bfloat16").run(until, progress=False)
    assert same(tmp_path / "pieces") == same(tmp_path / "whole")


def test_a_network_is_not_a_checkpoint_to_resume_from(uninterrupted, tmp_path):
    (tmp_path / CHECKPOINT).write_bytes((uninterrupted / FINISHED).read_bytes())
    with pytest.raises(CheckpointError, match="without the state of its training"):
        Trainer(tiny_experiment(checkpoint_every=5), tmp_path)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_loss_that_is_not_a_number_names_the_steps_and_keeps_the_checkpoint(tmp_path, precision):
    trainer = Trainer(tiny_experiment(), tmp_path, precision=precision)
    trainer.run(until=10, progress=False)
    with torch.no_grad():
        trainer.network.embedding.shared[0, 0] = torch.nan
    with pytest.raises(TrainingDivergedError, match=f"nan in steps 11 to 15.*{CHECKPOINT}"):
        trainer.run(progress=False)
    assert [r["step"] for r in read_log(tmp_path)] == [5, 10]
    resumed = Trainer(tiny_experiment(), tmp_path)
    assert resumed.step == 10
    resumed.run(progress=False)
    assert (tmp_path / FINISHED).exists()


def test_a_weight_that_is_not_a_number_is_never_saved(tmp_path):
    """The loss of a step is taken before its update, so that it can still be finite."""
    trainer = Trainer(tiny_experiment(), tmp_path)
    parameter = trainer.network.embedding.shared
    parameter.register_hook(lambda g: g * torch.inf if trainer.step == 9 else g)
    with pytest.raises(TrainingDivergedError, match="weight .* after step 10; there is no check"):
        trainer.run(progress=False)
    assert not (tmp_path / CHECKPOINT).exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_named_when_the_log_is_written(tmp_path):
    trainer = Trainer(tiny_experiment(), tmp_path)
    (tmp_path / LOG).symlink_to("/dev/full")
    with pytest.raises(OSError, match=f"the disk is full: .*{LOG} was not written"):
        trainer.run(progress=False)


def test_a_full_disk_keeps_the_checkpoint_before(tmp_path, monkeypatch):
    trainer = Trainer(tiny_experiment(), tmp_path)
    trainer.run(until=10, progress=False)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "replace", full)
    with pytest.raises(OSError, match=f"the disk is full: .*{CHECKPOINT} was not written"):
        trainer.run(progress=False)
    monkeypatch.undo()
    assert {path.name for path in tmp_path.iterdir()} == {CHECKPOINT, LOG}
    assert Trainer(tiny_experiment(), tmp_path).step == 10


def test_the_log_is_cut_after_a_step_and_at_half_a_line(tmp_path):
    (tmp_path / LOG).write_text('{"step": 1}\n{"step": 2}\n{"step": 3}\n{"st')
    assert [r["step"] for r in read_log(tmp_path)] == [1, 2, 3]
    truncate_log(tmp_path, 2)
    assert (tmp_path / LOG).read_text() == '{"step": 1}\n{"step": 2}\n'
    truncate_log(tmp_path / "none", 2)
    assert read_log(tmp_path / "none") == [] and not (tmp_path / "none").exists()


@pytest.mark.parametrize("adacos", [True, False])
def test_it_learns(adacos, tmp_path):
    """Strings of one or two of three characters, where 60 % is the best without copying."""
    made = tiny_experiment()
    training = replace(
        made.training, steps=100, batch_size=64, learning_rate=1e-2, warmup=20,
        log_every=20, validate_every=100, checkpoint_every=100,
    )  # fmt: skip
    made = replace(made, data=CopyingData(1, 2, 3), training=training)
    made = replace(made, model=replace(made.model, dropout=0.0))
    if not adacos:
        model = replace(made.model, normalize_features=False)
        made = replace(made, embedding=EmbeddingConfig(f_fn=False), model=model, adacos=False)
    Trainer(made, tmp_path).run(progress=False)
    records = read_log(tmp_path)
    assert records[-1]["loss"] < 0.6 * records[0]["loss"]
    assert records[-1]["validation_accuracy"] > 0.75


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_step_and_a_resumed_run_on_cuda_agree_with_the_cpu(tmp_path):
    made = tiny_experiment(log_every=1)
    made = replace(made, model=replace(made.model, dropout=0.0))
    for device in ("cpu", "cuda"):
        Trainer(made, tmp_path / device, device).run(until=10, progress=False)
        Trainer(made, tmp_path / device, device).run(until=12, progress=False)
    losses = [[r["loss"] for r in read_log(tmp_path / d)] for d in ("cpu", "cuda")]
    assert losses[1] == pytest.approx(losses[0], rel=1e-2)
    assert losses[1][0] == pytest.approx(losses[0][0], rel=1e-4)


def test_the_presets_train_at_smoke_size(tmp_path):
    made = experiment("copying-large/proposed", "smoke")
    network = Trainer(made, tmp_path).run(until=5, progress=False)
    assert network.experiment == made and not network.model.training
