"""Training: repeated, killed and resumed, refused, diverged; checkpoints; and that it learns."""

import errno
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import safetensors.torch
import torch
from safetensors.torch import load_file, save_file
from tiny import mixed_batch, seeded, tiny_experiment, tiny_logic_network, tiny_network

from itekit import files, network, training
from itekit.data import Batch, stream
from itekit.names import VARIANTS
from itekit.network import CheckpointError, read_checkpoint, save_checkpoint
from itekit.tasks.copying import CopyingData
from itekit.training import (
    CHECKPOINT,
    FINISHED,
    LOG,
    Network,
    Trainer,
    TrainingDivergedError,
    batch_loss,
    read_log,
)

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


def same_tensors(one: Path, other: Path) -> bool:
    found, expected = load_file(one), load_file(other)
    return found.keys() == expected.keys() and all(found[k].equal(expected[k]) for k in expected)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A run that was never interrupted."""
    torch.set_num_threads(1)
    directory = tmp_path_factory.mktemp("whole")
    Trainer(tiny_experiment(checkpoint_every=5), directory).run(progress=False)
    return directory


def test_a_run_leaves_its_log_its_checkpoint_and_its_network(whole):
    assert {path.name for path in whole.iterdir()} - {files.LOCK} == {CHECKPOINT, LOG, FINISHED}
    records = read_log(whole)
    assert [r["step"] for r in records] == [5, 10, 15, 20]
    assert all({"loss", "learning_rate", "tokens_per_second", "scale"} <= set(r) for r in records)
    assert ["validation_loss" in r for r in records] == [False, True, False, True]
    assert all(0 <= r["validation_accuracy"] <= 1 for r in records[1::2])
    assert all(r["validation_edit_distance"] > 0 for r in records[1::2])
    assert records[0]["learning_rate"] == pytest.approx(1e-3) and records[0]["loss"] > 0


def test_a_killed_run_resumes_with_the_same_losses_and_weights(whole, tmp_path):
    """A process is killed while it writes a checkpoint and a log line; this one goes on."""
    killed = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path), CHECKPOINT, "15"],
        env=os.environ | {"PYTHONPATH": str(TESTS), "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert read_checkpoint(tmp_path / CHECKPOINT)[1]["step"] == 10
    assert [r["step"] for r in read_log(tmp_path)] == [5, 10, 15]
    assert not (tmp_path / FINISHED).exists()
    (left,) = tmp_path.glob("*.tmp") or tmp_path.glob(".*.tmp")
    os.utime(left, (0, 0))  # as old as a killed run's

    trainer = Trainer(tiny_experiment(checkpoint_every=5), tmp_path)
    assert trainer.step == 10
    trainer.run(progress=False)
    assert {path.name for path in tmp_path.iterdir()} - {files.LOCK} == {CHECKPOINT, LOG, FINISHED}
    assert same(tmp_path) == same(whole)
    assert all(same_tensors(tmp_path / name, whole / name) for name in (CHECKPOINT, FINISHED))


@pytest.mark.parametrize(
    ("name", "precision"),
    [
        ("copying-5-10/randomized-positions", "float32"),
        ("ltl/smallest-set", "float32"),
        ("prop-perturbed/plain", "bfloat16"),
    ],
)
def test_a_run_in_pieces_gives_the_same_losses_and_weights(name, precision, tmp_path):
    made = tiny_experiment(name, checkpoint_every=5)
    whole, pieces = tmp_path / "whole", tmp_path / "pieces"
    for folder, stops in ((whole, (20,)), (pieces, (5, 13, 20))):
        for until in stops:
            Trainer(made, folder, precision=precision).run(until, progress=False)
    assert same(pieces) == same(whole)
    assert all(same_tensors(pieces / file, whole / file) for file in (CHECKPOINT, FINISHED))


@pytest.mark.parametrize("name", ["copying-5-10/proposed", "copying-names-30/proposed"])
def test_a_batch_in_parts_has_the_same_loss_and_gradients(name, monkeypatch):
    results = []
    for in_cache in (2**21, 32 * 40):
        monkeypatch.setattr(training, "IN_CACHE", in_cache)
        trained = tiny_network(name).train()
        trained.model.apply(lambda module: setattr(module, "p", 0.0))  # no dropout
        batch = mixed_batch(trained, 12)
        if name.startswith("copying-names"):
            batch = batch.at_random_positions(20, seeded())
        loss = batch_loss(trained, batch, seeded())
        loss.backward()
        results.append([loss, trained.loss.scale, *(p.grad for p in trained.parameters())])
    assert len(batch.parts(40)) > 3
    torch.testing.assert_close(*results)


def test_a_loss_in_the_log_is_the_mean_since_the_record_before(whole, tmp_path):
    made = tiny_experiment(log_every=1, validate_every=20, checkpoint_every=20)
    Trainer(made, tmp_path).run(until=10, progress=False)
    losses = [r["loss"] for r in read_log(tmp_path)]
    means = [sum(losses[:5]) / 5, sum(losses[5:]) / 5]
    assert [r["loss"] for r in read_log(whole)[:2]] == pytest.approx(means, rel=1e-5)
    with pytest.raises(ValueError, match="until must be 0 to 20, found 21"):
        Trainer(tiny_experiment(), tmp_path / "third").run(until=21)


def test_a_run_that_is_told_to_terminate_saves_and_goes_on_as_if_nothing_was(whole, tmp_path):
    trainer = Trainer(tiny_experiment(checkpoint_every=5), tmp_path)
    step = trainer.train_step

    def told():
        if trainer.step == 7:
            os.kill(os.getpid(), signal.SIGTERM)
        return step()

    trainer.train_step = told
    with pytest.raises(KeyboardInterrupt):
        trainer.run(progress=False)
    assert Trainer(tiny_experiment(checkpoint_every=5), tmp_path).step == 8
    Trainer(tiny_experiment(checkpoint_every=5), tmp_path).run(progress=False)
    assert same(tmp_path) == same(whole)


def test_a_checkpoint_is_written_when_the_last_one_is_long_ago(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", 0)
    trainer, saved = Trainer(tiny_experiment(), tmp_path), []
    monkeypatch.setattr(trainer, "_save", lambda: saved.append(trainer.step))
    trainer.run(until=3, progress=False)
    assert saved == [1, 2, 3]


@pytest.mark.parametrize(
    ("other", "setting"),
    [
        (tiny_experiment(steps=30, checkpoint_every=5), "training.steps 30, found 20"),
        (tiny_experiment("ltl/proposed"), "name ltl/proposed, found"),
    ],
)
def test_a_directory_of_another_run_is_refused(whole, other, setting):
    before = {path.name: path.read_bytes() for path in whole.iterdir()}
    with pytest.raises(CheckpointError, match=f"{CHECKPOINT}: .*expected {setting}.*directory"):
        Trainer(other, whole)
    with pytest.raises(CheckpointError, match=f"{FINISHED}: .*expected {setting}"):
        Network.load(whole / FINISHED, other)
    assert {path.name: path.read_bytes() for path in whole.iterdir()} == before


def test_two_trainings_never_write_one_directory(tmp_path):
    trainer = Trainer(tiny_experiment(), tmp_path)
    with (
        files.locked(tmp_path),
        pytest.raises(BlockingIOError, match=f"{tmp_path}: another process works here"),
    ):
        trainer.run(progress=False)
    assert [path.name for path in tmp_path.iterdir()] == [files.LOCK]
    trainer.run(until=5, progress=False)


def test_a_run_may_go_on_in_another_precision_and_says_so(whole, tmp_path):
    made = tiny_experiment(checkpoint_every=5)
    Trainer(made, tmp_path).run(until=10, progress=False)
    network = Trainer(made, tmp_path, precision="bfloat16").run(progress=False)
    found, expected = same(tmp_path), same(whole)
    assert found[:2] == expected[:2]
    for record, other in zip(found[2:], expected[2:], strict=True):
        assert record["loss"] != other["loss"]
        assert record["loss"] == pytest.approx(other["loss"], rel=0.02)
    parts = [(part["from_step"], part["precision"]) for part in network.trained["executed"]]
    assert parts == [(0, "float32"), (10, "bfloat16")]
    with pytest.raises(ValueError, match="unknown precision 'half'"):
        Trainer(made, tmp_path, precision="half")


def change(path: Path, changed: dict, dropped: str = "none") -> None:
    """Rewrite a checkpoint with other tensors."""
    tensors, metadata = read_checkpoint(path)
    kept = {k: v for k, v in tensors.items() if not k.startswith(dropped)} | changed
    save_checkpoint(path, kept, metadata)


@pytest.mark.parametrize(
    ("changed", "dropped", "message"),
    [
        ({}, "optimizer.", r"optimizer.0.exp_avg: expected shape \[.*\], found none"),
        ({"optimizer.0.step": torch.tensor(torch.nan)}, "none", "optimizer.0.step: expected finit"),
        ({"loss.scale": torch.tensor(torch.inf)}, "none", "loss.scale: expected finite numbers"),
        ({"embedding.more": torch.zeros(2)}, "none", r"embedding.more: expected shape none"),
    ],
)
def test_a_broken_state_is_never_resumed(whole, tmp_path, changed, dropped, message):
    (tmp_path / CHECKPOINT).write_bytes((whole / CHECKPOINT).read_bytes())
    change(tmp_path / CHECKPOINT, changed, dropped)
    with pytest.raises(CheckpointError, match=f"{CHECKPOINT}: tensor {message}"):
        Trainer(tiny_experiment(checkpoint_every=5), tmp_path)
    if not message.startswith("optimizer"):
        with pytest.raises(CheckpointError, match=message):
            Network.load(tmp_path / CHECKPOINT)


def test_a_network_is_not_a_checkpoint_to_resume_from(whole, tmp_path):
    (tmp_path / CHECKPOINT).write_bytes((whole / FINISHED).read_bytes())
    with pytest.raises(CheckpointError, match="without the state of its training"):
        Trainer(tiny_experiment(checkpoint_every=5), tmp_path)


def test_a_damaged_log_is_named(tmp_path):
    (tmp_path / LOG).write_text('{"step": 5, "loss": 1}\n' + "[" * 100_000 + "\n")
    with pytest.raises(ValueError, match=f"{LOG}, line 2: damaged record"):
        read_log(tmp_path)
    assert read_log(tmp_path / "none") == []


def test_a_loss_that_is_not_a_number_names_the_steps_and_keeps_the_checkpoint(tmp_path):
    trainer = Trainer(tiny_experiment(), tmp_path)
    trainer.run(until=10, progress=False)
    with torch.no_grad():
        trainer.network.embedding.shared[0, 0] = torch.nan
    with pytest.raises(TrainingDivergedError, match=f"nan in steps 11 to 15.*{CHECKPOINT}"):
        trainer.run(progress=False)
    assert [r["step"] for r in read_log(tmp_path)] == [5, 10]
    assert Trainer(tiny_experiment(), tmp_path).step == 10


def test_a_weight_that_is_not_a_number_is_never_saved(tmp_path):
    """The loss of a step is taken before its update, so that it can still be finite."""
    trainer = Trainer(tiny_experiment(), tmp_path)
    parameter = trainer.network.embedding.shared
    parameter.register_hook(lambda g: g * torch.inf if trainer.step == 9 else g)
    with pytest.raises(TrainingDivergedError, match="weight .* after step 10; there is no check"):
        trainer.run(progress=False)
    assert not (tmp_path / CHECKPOINT).exists()


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), f"disk is full: .*{CHECKPOINT}"),
        (safetensors.SafetensorError("I/O error"), f"{CHECKPOINT} was not written"),
        (KeyboardInterrupt(), None),
    ],
)
def test_a_failed_write_keeps_the_checkpoint_before(tmp_path, monkeypatch, error, message):
    trainer = Trainer(tiny_experiment(), tmp_path)
    trainer.run(until=10, progress=False)

    def half(state, path, metadata):
        Path(path).write_bytes(b"half")
        raise error

    monkeypatch.setattr(network, "save_file", half)
    with pytest.raises(OSError if message else KeyboardInterrupt, match=message):
        trainer.run(progress=False)
    monkeypatch.undo()
    assert {path.name for path in tmp_path.iterdir()} - {files.LOCK} == {CHECKPOINT, LOG}
    assert Trainer(tiny_experiment(), tmp_path).step == 10


def test_a_link_at_a_temporary_name_is_not_followed(tmp_path):
    target = tmp_path / "precious.txt"
    target.write_text("precious")
    for name in (f".a.json.{os.getpid()}.tmp", ".a.json.tmp"):
        (tmp_path / name).symlink_to(target)
    files.write_json(tmp_path / "a.json", {"x": [1, None]})
    assert target.read_text() == "precious"
    assert files.read_json(tmp_path / "a.json") == {"x": [1, None]}


@pytest.mark.parametrize("text", ["{", "[" * 200_000, "3", "\ud800"])
def test_damaged_json_is_one_clear_error(tmp_path, text):
    path = tmp_path / "a.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(ValueError, match=r"a.json: (damaged JSON|not the JSON value expected)"):
        files.read_json(path)


def test_a_truncated_checkpoint_is_named(whole, tmp_path):
    path = tmp_path / "run.safetensors"
    path.write_bytes((whole / FINISHED).read_bytes()[:-1])
    with pytest.raises(CheckpointError, match="run.safetensors: damaged or truncated"):
        Network.load(path)
    with pytest.raises(CheckpointError, match="gone.safetensors: no such checkpoint"):
        Network.load(tmp_path / "gone.safetensors")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (None, "not a checkpoint of itekit"),
        ("[" * 100_000, "damaged"),
        ('{"format": 2}', "expected checkpoint format 1, found 2"),
        ('{"format": 1, "experiment": {}}', "no readable settings .*of another task"),
    ],
)
def test_another_safetensors_file_is_refused(tmp_path, entry, message):
    path = tmp_path / "other.safetensors"
    save_file({"x": torch.zeros(2)}, path, {"itekit": entry} if entry else None)
    with pytest.raises(CheckpointError, match=f"other.safetensors.*{message}"):
        Network.load(path)


@pytest.mark.parametrize("dtype", [None, torch.float16])
def test_a_network_comes_back_as_it_was_saved(dtype, tmp_path):
    network, path = tiny_network(seed=5), tmp_path / "a.safetensors"
    network.trained = {"steps": 7, "hardware": "none"}
    network.save(path, dtype=dtype)
    loaded, batch = Network.load(path), mixed_batch(network)
    assert loaded.experiment == network.experiment and loaded.trained == network.trained
    U = [n.matrix(n.experiment.task.vocabulary, seeded(3)) for n in (loaded, network)]
    found, expected = (n.logits(u, batch) for n, u in zip((loaded, network), U, strict=True))
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected, atol=0.02 if dtype else 0, rtol=0)


def test_another_evaluation_of_the_same_run_is_allowed(whole):
    made = tiny_experiment(checkpoint_every=5)
    other = replace(made, draws=7, grid=replace(made.grid, samples=9))
    assert Network.load(whole / FINISHED, other).experiment == other
    network = Network.load(whole / FINISHED)
    assert network.experiment == made
    assert network.with_rope_base(500.0).experiment.model.rope_base == 500


@pytest.mark.parametrize("variant", VARIANTS["ltl"])
def test_every_variant_trains_all_its_parameters(variant):
    task = "prop" if variant in VARIANTS["prop"] else "ltl"
    made = tiny_experiment(f"{task}/{variant}")
    network = Network(made).train()
    loss = batch_loss(network, stream(made).batch(0), seeded())
    loss.backward()
    assert torch.isfinite(loss)
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None and parameter.grad.any(), name


def test_a_matrix_for_each_sequence_gives_what_each_matrix_gives():
    network = tiny_logic_network("ltl/smallest-set")
    batch = stream(network.experiment).batch(0)
    U = network.embedding.matrix(network.experiment.task.vocabulary, seeded(), count=len(batch.source))
    assert not torch.equal(U[0], U[1])
    torch.manual_seed(0)
    found = network.logits(U, batch)
    for row, matrix in zip(range(len(U)), U, strict=True):
        (logits,) = network.logits(matrix, Batch(*(x[[row]] for x in (batch.source, batch.target))))
        assert torch.allclose(found[row, :, 3:], logits[:, 3:], atol=1e-5)


def test_it_learns(tmp_path):
    """Strings of one or two of three characters, where 60 % is the best without copying."""
    made = tiny_experiment()
    config = replace(
        made.training, steps=100, batch_size=64, learning_rate=1e-2, warmup=20,
        log_every=20, validate_every=100, checkpoint_every=100,
    )  # fmt: skip
    made = replace(made, data=CopyingData(1, 2, 3), training=config)
    made = replace(made, model=replace(made.model, dropout=0.0))
    Trainer(made, tmp_path).run(progress=False)
    records = read_log(tmp_path)
    assert records[-1]["loss"] < 0.6 * records[0]["loss"]
    assert records[-1]["validation_accuracy"] > 0.75


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")  # torch's compiler
def test_a_compiled_run_trains_like_another(tmp_path, monkeypatch):
    """Compiled by the backend that needs no C compiler; logic networks are in `test_model`."""
    monkeypatch.setattr(torch.nn.Module, "compile", _compile)
    made = tiny_experiment()
    made = replace(made, model=replace(made.model, dropout=0.0))
    losses = []
    for compiled in (True, False):
        trainer = Trainer(made, tmp_path / str(compiled), compiled=compiled)
        trainer.run(until=5, progress=False)
        losses.append(read_log(tmp_path / str(compiled))[0]["loss"])
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def _compile(module: torch.nn.Module) -> None:
    module._compiled_call_impl = torch.compile(module._call_impl, backend="eager")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_step_and_a_resumed_run_on_cuda_agree_with_the_cpu(tmp_path):
    made = tiny_experiment(log_every=1)
    made = replace(made, model=replace(made.model, dropout=0.0))
    for device in ("cpu", "cuda"):
        Trainer(made, tmp_path / device, device).run(until=10, progress=False)
        Trainer(made, tmp_path / device, device).run(until=12, progress=False)
    losses = [[r["loss"] for r in read_log(tmp_path / d)] for d in ("cpu", "cuda")]
    assert losses[1] == pytest.approx(losses[0], rel=1e-2)
    assert json.loads(json.dumps(losses)) == losses
