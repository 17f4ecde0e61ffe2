"""Checkpoints: whole or not there, read back as written, refused with a reason, no pickle."""

import ast
import errno
import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from tiny import mixed_batch, seeded, tiny_experiment, tiny_network

from itekit import checkpoints
from itekit.checkpoints import CheckpointError, read_checkpoint, save_checkpoint
from itekit.data import Batch
from itekit.experiments import NAMES
from itekit.files import write_json, write_text
from itekit.network import Network

PACKAGE = Path(checkpoints.__file__).parent
SMALL = [name for name in NAMES if name.startswith("copying-5-10")]


def answers(network: Network, batch: Batch) -> list[torch.Tensor]:
    U = network.matrix(network.experiment.vocabulary, seeded(3))
    logits, targets = network.logits(U, batch)
    return [U, logits, network.loss(logits, targets)]


@pytest.mark.parametrize("name", SMALL)
def test_a_network_comes_back_as_it_was_saved(name, tmp_path):
    network = tiny_network(name, seed=5)
    network.trained = {"steps": 7, "hardware": "none"}
    if network.loss.scale is not None:
        network.loss.scale.fill_(2.345)
    network.save(tmp_path / "a.safetensors")
    loaded, batch = Network.load(tmp_path / "a.safetensors"), mixed_batch(network)
    assert loaded.experiment == network.experiment and loaded.trained == network.trained
    assert loaded.loss.scale is None or loaded.loss.scale.item() == pytest.approx(2.345)
    assert not any(module.training for module in loaded.modules.values())
    for found, expected in zip(answers(loaded, batch), answers(network, batch), strict=True):
        assert torch.equal(found, expected)


def test_rounded_weights_are_computed_with_in_full_precision(tmp_path):
    network, path = tiny_network(SMALL[0], seed=5), tmp_path / "a.safetensors"
    network.save(path, dtype=torch.float16)
    assert {t.dtype for t in read_checkpoint(path)[0].values()} == {torch.float16}
    loaded, batch = Network.load(path), mixed_batch(network)
    for found, expected in zip(answers(loaded, batch), answers(network, batch), strict=True):
        assert found.dtype == torch.float32 and torch.allclose(found, expected, atol=0.02)
        assert not torch.equal(found, expected)


@pytest.fixture
def saved(tmp_path) -> Path:
    tiny_network().save(tmp_path / "run.safetensors")
    return tmp_path / "run.safetensors"


@pytest.mark.parametrize("kept", [0, 3, 8, 100, 0.5, -1])
def test_a_truncated_file_is_named(saved, kept):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(len(content) * kept) if isinstance(kept, float) else kept])
    with pytest.raises(CheckpointError, match="run.safetensors: damaged or truncated"):
        Network.load(saved)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(CheckpointError, match="gone.safetensors: no such checkpoint"):
        Network.load(tmp_path / "gone.safetensors")
    with pytest.raises(CheckpointError, match="no such checkpoint"):
        Network.load(tmp_path)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (None, "not a checkpoint of itekit"),
        ("3", "not a checkpoint of itekit"),
        ("{", "damaged"),
        ("{}", "expected checkpoint format 1, found None"),
        ('{"format": 2}', "expected checkpoint format 1, found 2"),
        ('{"format": 1}', "no readable settings"),
        ('{"format": 1, "experiment": {}}', "no readable settings .*'name'"),
        ('{"format": 1, "experiment": {"name": "a", "size": 1}}', "no setting 'size'"),
        ('{"format": 1, "experiment": []}', "no readable settings"),
    ],
)
def test_another_safetensors_file_is_refused(tmp_path, entry, message):
    path = tmp_path / "other.safetensors"
    save_file({"x": torch.zeros(2)}, path, {"itekit": entry} if entry else None)
    with pytest.raises(CheckpointError, match=f"other.safetensors.*{message}"):
        Network.load(path)


def test_a_text_file_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("these are not weights, however long the text may be")
    with pytest.raises(CheckpointError, match="notes.txt"):
        Network.load(tmp_path / "notes.txt")


@pytest.mark.parametrize(
    ("change", "setting"),
    [
        ({"data.characters": 6}, "data.characters 6, found 5"),
        ({"model.d_model": 32}, "model.d_model 32, found 24"),
        ({"embedding.method": "neighboring_points"}, "embedding.method neighboring_points, found"),
        ({"embedding.d_beta": 5}, "embedding.d_beta 5, found 6"),
        ({"seed": 1}, "seed 1, found 0"),
    ],
)
def test_a_checkpoint_of_other_settings_is_refused(saved, change, setting):
    """Some have tensors of the same shapes: only the settings tell them apart."""
    made = tiny_experiment().to_json()
    ((path, value),) = change.items()
    *parents, last = path.split(".")
    for parent in parents[:1]:
        made[parent][last] = value
    if not parents:
        made[last] = value
    with pytest.raises(CheckpointError, match=f"run.safetensors.*expected {setting}"):
        Network.load(saved, type(tiny_experiment()).from_json(made))


def test_another_evaluation_of_the_same_run_is_allowed(saved):
    made = tiny_experiment()
    other = replace(made, draws=7, grid=replace(made.grid, samples=9))
    assert Network.load(saved, other).experiment == other
    assert Network.load(saved, made).experiment == made


@pytest.mark.parametrize("what", ["missing", "unexpected", "other shape"])
def test_other_tensors_are_named(tmp_path, what):
    network, path = tiny_network(), tmp_path / "run.safetensors"
    extra = {"embedding.more": torch.zeros(2)} if what == "unexpected" else {}
    if what == "missing":
        del network.embedding.shared
    if what == "other shape":
        network.embedding.shared = torch.nn.Parameter(torch.zeros(2, 18))
    network.save(path, tensors=extra)
    expected = {
        "missing": r"embedding.shared: expected shape \[1, 18\], found none",
        "unexpected": r"embedding.more: expected none, found shape \[2\]",
        "other shape": r"embedding.shared: expected shape \[1, 18\], found shape \[2, 18\]",
    }
    with pytest.raises(CheckpointError, match=f"run.safetensors: tensor {expected[what]}"):
        Network.load(path)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "the disk is full: .*run.safetensors"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "the disk is full: .*run.safetensors"),
        (SafetensorError("I/O error"), "run.safetensors was not written"),
        (KeyboardInterrupt(), None),
    ],
)
def test_a_failed_write_leaves_the_checkpoint_before_it_and_nothing_else(
    saved, monkeypatch, error, message
):
    before = saved.read_bytes()

    def half(state, path, metadata):
        Path(path).write_bytes(before[:1000])
        raise error

    monkeypatch.setattr(checkpoints, "save_file", half)
    with pytest.raises(OSError if message else KeyboardInterrupt, match=message):
        tiny_network(seed=1).save(saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["run.safetensors"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_named_when_text_is_written(tmp_path, monkeypatch):
    def full(self, text, encoding):
        self.touch()
        with open("/dev/full", "w", encoding=encoding) as file:
            file.write(text)

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="the disk is full: .*a.json was not written"):
        write_text(tmp_path / "a.json", "text")
    assert list(tmp_path.iterdir()) == []


def test_json_is_written_whole(tmp_path):
    write_json(tmp_path / "new" / "a.json", {"x": [1, None]})
    assert json.loads((tmp_path / "new" / "a.json").read_text()) == {"x": [1, None]}
    with pytest.raises(TypeError):
        write_json(tmp_path / "new" / "a.json", {"x": object()})
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["a.json"]


def test_tensors_of_any_layout_are_written(tmp_path):
    path, x = tmp_path / "a.safetensors", torch.arange(6.0).reshape(2, 3)
    save_checkpoint(path, {}, {"note": "here"}, {"x": x.T, "y": x[:, 1], "z": torch.tensor(3)})
    tensors, metadata = read_checkpoint(path)
    assert metadata == {"note": "here"} and tensors["z"].item() == 3
    assert torch.equal(tensors["x"], x.T) and torch.equal(tensors["y"], x[:, 1])


FORBIDDEN = {"pickle", "cPickle", "dill", "joblib", "shelve", "marshal", "cloudpickle"}


def unsafe(source: str) -> list[str]:
    """Imports and calls that read or write pickles."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.split(".")[0] in FORBIDDEN]
        elif isinstance(node, ast.ImportFrom):
            names = {f"{node.module}.{a.name}" for a in node.names}
            found += names & {"torch.load", "torch.save", "numpy.load"}
            found += [node.module] if (node.module or "").split(".")[0] in FORBIDDEN else []
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = f"{node.value.id}.{node.attr}"
            found += {name} & {"torch.load", "torch.save", "np.load", "pd.read_pickle"}
        elif isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            found.append("allow_pickle")
    return found


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: p.stem)
def test_the_package_never_pickles(path):
    assert unsafe(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "source",
    ["import pickle", "from pickle import load", "torch.load(x)", "from torch import save",
     "np.load(x, allow_pickle=True)"],
)  # fmt: skip
def test_a_pickle_would_be_found(source):
    assert unsafe(source)
