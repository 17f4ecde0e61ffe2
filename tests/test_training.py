"""Training: repeated, killed and resumed, refused, diverged; checkpoints; and that it learns."""

import errno
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import safetensors.torch
import torch
from safetensors.torch import load_file, save_file
from tiny import mixed_batch, seeded, tiny_experiment, tiny_logic_network, tiny_network

from itekit import files, network, training
from itekit.data import Batch
from itekit.embeddings import EMBEDDINGS, DualPartEmbedding
from itekit.files import LOG, read_log
from itekit.losses import LOSSES, CrossEntropy
from itekit.names import VARIANTS, change
from itekit.network import CheckpointError, Network, read_checkpoint
from itekit.tasks.copying import CopyingData
from itekit.training import CHECKPOINT, FINISHED, Trainer, TrainingDivergedError, batch_loss

TESTS = Path(__file__).parent
EVERY_5 = tiny_experiment(checkpoint_every=5)

# Trains, and is killed in the middle of writing the checkpoint of step 15.
CHILD = """
import os, signal, sys
import torch
from itekit import files
from itekit.training import Trainer
from tiny import tiny_experiment

torch.set_num_threads(1)
trainer = Trainer(tiny_experiment(checkpoint_every=5), sys.argv[1])
replace = files.os.replace

def killed(source, target):
    if target.name == "checkpoint.safetensors" and trainer.step == 15:
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
    tensors, expected = load_file(one), load_file(other)
    return tensors.keys() == expected.keys() and all(tensors[k].equal(expected[k]) for k in tensors)


def first_batch(trained: Network, size: int = 16) -> Batch:
    return Batch.of(trained.experiment.task.stream(size, 0).batch(0))


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A run that was never interrupted."""
    torch.set_num_threads(1)
    directory = tmp_path_factory.mktemp("whole")
    Trainer(EVERY_5, directory).run(progress=False)
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


# Interrupted and resumed


def test_a_killed_run_resumes_with_the_same_losses_and_weights(whole, tmp_path):
    """A process is killed while it writes a checkpoint and a log line; this one goes on."""
    killed = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert read_checkpoint(tmp_path / CHECKPOINT)[1]["step"] == 10
    assert [r["step"] for r in read_log(tmp_path)] == [5, 10, 15]
    (left,) = tmp_path.glob(".*.tmp")
    os.utime(left, (0, 0))  # as old as a killed run's

    trainer = Trainer(EVERY_5, tmp_path)
    assert trainer.step == 10
    trainer.run(progress=False)
    assert {path.name for path in tmp_path.iterdir()} - {files.LOCK} == {CHECKPOINT, LOG, FINISHED}
    assert same(tmp_path) == same(whole)
    assert all(same_tensors(tmp_path / name, whole / name) for name in (CHECKPOINT, FINISHED))


@pytest.mark.parametrize(
    ("name", "precision"),
    [
        ("copying-5-10/randomized-positions", "bfloat16"),
        ("ltl/smallest-set", "float32"),
    ],
)
def test_a_run_in_pieces_gives_the_same_losses_and_weights(name, precision, tmp_path):
    settings, whole, pieces = tiny_experiment(name), tmp_path / "whole", tmp_path / "pieces"
    for folder, stops in ((whole, (20,)), (pieces, (5, 13, 20))):
        for until in stops:
            Trainer(settings, folder, precision=precision).run(until, progress=False)
    assert same(pieces) == same(whole)
    assert all(same_tensors(pieces / file, whole / file) for file in (CHECKPOINT, FINISHED))


def test_a_run_that_is_to_terminate_saves_and_gives_every_record(whole, tmp_path):
    settings, records = tiny_experiment(), []  # a checkpoint every 10 steps

    def record(entry: dict) -> None:
        records.append(entry)
        if entry["step"] == 5:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt):
        Trainer(settings, tmp_path).run(progress=False, on_record=record)
    assert Trainer(settings, tmp_path).step == 5
    Trainer(settings, tmp_path).run(progress=False, on_record=record)
    assert same(tmp_path) == same(whole) and records == read_log(tmp_path)


def test_a_loss_in_the_log_is_the_mean_since_the_record_before(whole, tmp_path):
    settings = tiny_experiment(log_every=1, validate_every=20, checkpoint_every=20)
    Trainer(settings, tmp_path).run(until=10, progress=False)
    losses = [r["loss"] for r in read_log(tmp_path)]
    means = [sum(losses[:5]) / 5, sum(losses[5:]) / 5]
    assert [r["loss"] for r in read_log(whole)[:2]] == pytest.approx(means, rel=1e-5)
    with pytest.raises(ValueError, match="until must be 0 to 20, found 21"):
        Trainer(tiny_experiment(), tmp_path / "third").run(until=21)


def test_a_run_may_go_on_in_another_precision_and_says_so(whole, tmp_path):
    Trainer(EVERY_5, tmp_path).run(until=10, progress=False)
    resumed = Trainer(EVERY_5, tmp_path, precision="bfloat16").run(progress=False)
    ours, expected = same(tmp_path), same(whole)
    assert ours[:2] == expected[:2]
    for record, other in zip(ours[2:], expected[2:], strict=True):
        assert record["loss"] != other["loss"]
        assert record["loss"] == pytest.approx(other["loss"], rel=0.02)
    parts = [(part["from_step"], part["precision"]) for part in resumed.trained["executed"]]
    assert parts == [(0, "float32"), (10, "bfloat16")]
    with pytest.raises(ValueError, match="unknown precision 'half'"):
        Trainer(EVERY_5, tmp_path, precision="half")


# Refused


@pytest.mark.parametrize(
    ("other", "setting"),
    [
        (tiny_experiment(steps=30, checkpoint_every=5), "training.steps 30, found 20"),
        (tiny_experiment("copying-5-10/plain"), "name copying-5-10/plain, found"),
    ],
)
def test_a_directory_of_another_run_is_refused(whole, other, setting):
    before = {path.name: path.read_bytes() for path in whole.iterdir()}
    with pytest.raises(CheckpointError, match=f"{CHECKPOINT}: .*expected {setting}.*directory"):
        Trainer(other, whole)
    with pytest.raises(CheckpointError, match=f"{FINISHED}: .*expected {setting}"):
        Network.load(whole / FINISHED, other)
    with pytest.raises(CheckpointError, match="unknown task 'copying': expected ltl"):
        Trainer(tiny_experiment("ltl/proposed"), whole)
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


def test_a_run_that_begins_with_other_weights_needs_their_network(tmp_path):
    converted = tiny_experiment("ltl/converted")
    with pytest.raises(ValueError, match="ltl/converted begins with .* ltl/plain: give its netw"):
        Trainer(converted, tmp_path)
    start = tiny_logic_network("ltl/plain", seed=3)
    trainer = Trainer(converted, tmp_path, start=start)
    learned = trainer.network.embedding.learned
    assert learned.equal(start.embedding.learned[: len(learned)])
    trainer.run(until=5, progress=False)
    assert Trainer(converted, tmp_path).step == 5, "a checkpoint has its weights"


def test_weights_pass_between_two_losses_and_not_between_two_sizes():
    first = tiny_network("copying-5-10/plain", seed=3)
    for loss in ("learned_scale", "cross_entropy"):
        other = Network(replace(tiny_experiment("copying-5-10/plain"), loss=loss))
        other.load_weights_from(first)
        assert other.embedding.learned.equal(first.embedding.learned)
    with pytest.raises(ValueError, match="(?s)plain do not fit .*full-vocabulary: .*learned"):
        tiny_network("copying-5-10/full-vocabulary").load_weights_from(first)


@pytest.mark.parametrize(
    ("changed", "dropped", "message"),
    [
        ({}, "optimizer.", "without the state of its training"),
        ({"loss.scale": torch.tensor(torch.inf)}, "none", "loss.scale: expected finite numbers"),
        ({"embedding.more": torch.zeros(2)}, "none", "Unexpected key.*embedding.more"),
        ({}, "embedding.shared", "Missing key.*embedding.shared"),
    ],
)
def test_a_broken_state_is_never_resumed(whole, tmp_path, changed, dropped, message):
    tensors, metadata = read_checkpoint(whole / CHECKPOINT)
    tensors = {k: v for k, v in tensors.items() if not k.startswith(dropped)} | changed
    save_file(tensors, tmp_path / CHECKPOINT, {"itekit": json.dumps(metadata)})
    with pytest.raises(CheckpointError, match=f"(?s){CHECKPOINT}: .*{message}"):
        Trainer(EVERY_5, tmp_path)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (None, "not a checkpoint of itekit"),
        ("{", "damaged"),
        ('{"format": 1}', "expected checkpoint format 2, found 1"),
        ('{"format": 2, "experiment": {}}', "no readable settings .*needs its task"),
    ],
)
def test_another_file_is_refused(whole, tmp_path, entry, message):
    path = tmp_path / "other.safetensors"
    save_file({"x": torch.zeros(2)}, path, {"itekit": entry} if entry else None)
    with pytest.raises(CheckpointError, match=f"other.safetensors.*{message}"):
        Network.load(path)
    path.write_bytes((whole / FINISHED).read_bytes()[:-1])
    with pytest.raises(CheckpointError, match="other.safetensors: damaged or truncated"):
        Network.load(path)
    with pytest.raises(CheckpointError, match="gone.safetensors: no such checkpoint"):
        Network.load(tmp_path / "gone.safetensors")


# Failed


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
    ],
)
def test_a_failed_write_keeps_the_checkpoint_before(tmp_path, monkeypatch, error, message):
    trainer = Trainer(tiny_experiment(), tmp_path)
    trainer.run(until=10, progress=False)

    def half(state, path, metadata):
        Path(path).write_bytes(b"half")
        raise error

    monkeypatch.setattr(network, "save_file", half)
    with pytest.raises(OSError, match=message):
        trainer.run(progress=False)
    monkeypatch.undo()
    assert {path.name for path in tmp_path.iterdir()} - {files.LOCK} == {CHECKPOINT, LOG}
    assert Trainer(tiny_experiment(), tmp_path).step == 10


# Files


def test_a_link_at_a_temporary_name_is_not_followed(tmp_path):
    target = tmp_path / "precious.txt"
    target.write_text("precious")
    for name in (f".a.json.{os.getpid()}.tmp", ".a.json.tmp"):
        (tmp_path / name).symlink_to(target)
    files.write_json(tmp_path / "a.json", {"x": [1, None]})
    assert target.read_text() == "precious"
    assert files.read_json(tmp_path / "a.json") == {"x": [1, None]}


def test_damaged_json_and_a_damaged_log_are_one_clear_error(tmp_path):
    path = tmp_path / "a.json"
    for text in ("{", "3"):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"a.json: (damaged JSON|not the JSON value expected)"):
            files.read_json(path)
    (tmp_path / LOG).write_text('{"step": 5, "loss": 1}\n' + "[\n")
    with pytest.raises(ValueError, match=f"{LOG}, line 2: damaged record"):
        read_log(tmp_path)
    assert read_log(tmp_path / "none") == []


@pytest.mark.parametrize("dtype", [None, torch.float16])
def test_a_network_comes_back_as_it_was_saved(dtype, tmp_path):
    saved, path = tiny_network(seed=5), tmp_path / "a.safetensors"
    saved.trained = {"steps": 7, "hardware": "none"}
    saved.save(path, dtype=dtype)
    loaded, batch = Network.load(path), mixed_batch(saved)
    assert loaded.experiment == saved.experiment and loaded.trained == saved.trained
    U = [n.matrix(n.experiment.task.vocabulary, seeded(3)) for n in (loaded, saved)]
    logits, expected = (n.logits(u, batch) for n, u in zip((loaded, saved), U, strict=True))
    assert logits.dtype == torch.float32
    torch.testing.assert_close(logits, expected, atol=0.02 if dtype else 0, rtol=0)


def test_another_evaluation_of_the_same_run_is_allowed(whole):
    grid = replace(EVERY_5.task.grid, samples=9)
    other = change(EVERY_5, "task", draws=7, grid=grid)
    assert Network.load(whole / FINISHED, other).experiment == other
    loaded = Network.load(whole / FINISHED)
    assert loaded.experiment == EVERY_5
    assert loaded.with_rope_base(500.0).experiment.model.rope_base == 500
    moved = loaded.to("meta").with_rope_base(1e6)
    assert {p.device.type for p in moved.parameters()} == {"meta"}, "it stays on its device"


# Steps


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


def test_a_layer_wider_than_the_cache_trains_too():
    wide = {"d_model": 2, "heads": 1, "layers": 1, "d_ff": 2**21 + 1}
    trained = Network(change(tiny_experiment("copying-5-10/plain"), "model", **wide)).train()
    batch_loss(trained, mixed_batch(trained, 1), seeded()).backward()
    assert trained.embedding.learned.grad.any()


@pytest.mark.parametrize("variant", VARIANTS["ltl"])
def test_every_variant_trains_all_its_parameters(variant):
    task = "prop" if variant in VARIANTS["prop"] else "ltl"
    trained = Network(tiny_experiment(f"{task}/{variant}")).train()
    loss = batch_loss(trained, first_batch(trained), seeded())
    loss.backward()
    assert torch.isfinite(loss)
    for name, parameter in trained.named_parameters():
        assert parameter.grad is not None and parameter.grad.any(), name


@pytest.mark.parametrize("name", ["ltl/smallest-set", "ltl/names-200-alpha-renaming-per-problem"])
def test_a_matrix_for_each_sequence_gives_what_each_matrix_gives(name):
    trained = tiny_logic_network(name)
    vocabulary, batch = trained.experiment.task.vocabulary, first_batch(trained)
    U = trained.embedding.train().matrix(vocabulary, seeded(), count=len(batch.source))
    assert len(U.flatten(1).unique(dim=0)) > 10, "drawn, or dealt, for each problem"
    logits = trained.logits(U, batch)
    for row, matrix in zip(range(len(U)), U, strict=True):
        (one,) = trained.logits(matrix, Batch(*(x[[row]] for x in (batch.source, batch.target))))
        assert torch.allclose(logits[row, :, 3:], one[:, 3:], atol=1e-5)


# What a reader adds


class Scaled(DualPartEmbedding):
    def draw(self, count, generator):
        return super().draw(count, generator) * torch.arange(1.0, self.d_beta + 1)


class Squared(CrossEntropy):
    def forward(self, logits, targets):
        return super().forward(logits, targets) ** 2


def test_an_embedding_a_loss_and_an_optimizer_of_one_s_own_train(monkeypatch, tmp_path):
    monkeypatch.setitem(EMBEDDINGS, "scaled", Scaled)
    monkeypatch.setitem(LOSSES, "squared", Squared)
    own = replace(change(tiny_experiment(), "embedding", kind="scaled"), loss="squared")
    trainers = [
        Trainer(settings, tmp_path / str(number), optimizer=optimizer)
        for number, (settings, optimizer) in enumerate([
            (own, None),
            (replace(own, loss="cross_entropy"), None),
            (own, lambda network: torch.optim.SGD(network.parameters(), momentum=0.9)),
        ])
    ]  # fmt: skip
    losses = [trainer.train_step()[0] for trainer in trainers]
    torch.testing.assert_close(losses[0], losses[1] ** 2)
    assert losses[0] == losses[2]
    shared = [trainer.network.embedding.shared for trainer in trainers]
    assert not shared[0].equal(shared[2]), "AdamW and SGD step differently"
    trained = trainers[2].run(progress=False)
    assert type(trained.embedding) is Scaled
    assert Network.load(tmp_path / "2" / FINISHED, own).embedding.shared.equal(shared[2])
    with pytest.raises(ValueError, match="scaled.*: expected one of|vertices in 2 dim"):
        change(own, "embedding", d_beta=2)


def test_it_learns(tmp_path):
    """Strings of one or two of three characters, where 60 % is the best without copying."""
    settings = tiny_experiment(
        steps=100, batch_size=64, learning_rate=1e-2, warmup=20,
        log_every=20, validate_every=100, checkpoint_every=100,
    )  # fmt: skip
    settings = change(change(settings, "task", data=CopyingData(1, 2, 3)), "model", dropout=0.0)
    Trainer(settings, tmp_path).run(progress=False)
    records = read_log(tmp_path)
    assert records[-1]["loss"] < 0.6 * records[0]["loss"]
    assert records[-1]["validation_accuracy"] > 0.75


# Compiled, and on a GPU


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")  # torch's compiler
def test_a_compiled_run_trains_like_another_and_one_that_cannot_be_says_so(
    tmp_path, monkeypatch, capsys
):
    """Compiled by the backend that needs no C compiler; logic networks are in `test_model`."""

    def broken(forward):
        def fail(*arguments):
            raise RuntimeError("no C compiler\nand a long trace")

        return fail

    settings = change(tiny_experiment(), "model", dropout=0.0)
    losses, compile_ = [], partial(torch.compile, backend="eager")
    for number, compiler in enumerate((None, compile_, broken)):
        monkeypatch.setattr(torch, "compile", compiler)
        trainer = Trainer(settings, tmp_path / str(number), compiled=compiler is not None)
        trainer.run(until=5, progress=False)
        losses.append(read_log(tmp_path / str(number))[0]["loss"])
        assert trainer.compiled == (compiler is compile_)
    assert losses == pytest.approx(losses[:1] * 3, rel=1e-5)
    message = "the model cannot be compiled and trains slower: no C compiler\n"
    assert capsys.readouterr().out == message


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_step_and_a_resumed_run_on_cuda_agree_with_the_cpu(tmp_path):
    settings = change(tiny_experiment(log_every=1), "model", dropout=0.0)
    for device in ("cpu", "cuda"):
        Trainer(settings, tmp_path / device, device).run(until=10, progress=False)
        Trainer(settings, tmp_path / device, device).run(until=12, progress=False)
    losses = [[r["loss"] for r in read_log(tmp_path / d)] for d in ("cpu", "cuda")]
    assert losses[1] == pytest.approx(losses[0], rel=1e-2)
