"""Two processes (gloo, on the CPU) train as one: same losses on the same data, same weights."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tiny import tiny_experiment

from itekit import execution
from itekit.checkpoints import read_checkpoint
from itekit.runlog import read_log
from itekit.training import CHECKPOINT, FINISHED, Trainer

TESTS = Path(__file__).parent
NAMES = (
    "ltl/proposed",
    "ltl/per-sample",
    "prop/without-adacos",
    "copying-5-10/alpha-renaming",
    "copying-5-10/randomized-positions",
)

# Trains half of every run, and the rest with a new trainer, as after a restart.
CHILD = """
import sys, torch
from pathlib import Path
from itekit.devices import joined, rank
from itekit.training import Trainer
from test_distributed import NAMES, without_dropout

torch.set_num_threads(1)
with joined("cpu") as device:
    for name in NAMES:
        directory = Path(sys.argv[1], name)
        Trainer(without_dropout(name), directory, device).run(until=10, progress=False)
        network = Trainer(without_dropout(name), directory, device).run(progress=False)
        same = [p.sum().item() for p in network.model.parameters()]
        Path(sys.argv[1], f"{rank()}.txt").open("a").write(f"{same}\\n")
"""


def without_dropout(name: str):
    made = tiny_experiment(name)
    return replace(made, model=replace(made.model, dropout=0.0))


def torchrun(*arguments: str) -> str:
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", *arguments]
    paths = os.pathsep.join([str(TESTS.parent), str(TESTS)])
    done = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def together(tmp_path_factory) -> Path:
    """Runs of two processes, each resumed once."""
    directory = tmp_path_factory.mktemp("together")
    (directory / "child.py").write_text(CHILD)
    torchrun(str(directory / "child.py"), str(directory))
    return directory


@pytest.mark.parametrize("name", NAMES)
def test_two_processes_give_the_losses_of_one(name, together, tmp_path):
    network = Trainer(without_dropout(name), tmp_path).run(progress=False)
    found, expected = read_log(together / name), read_log(tmp_path)
    assert [r["step"] for r in found] == [r["step"] for r in expected]
    for key in ("loss", "scale", "validation_loss", "validation_accuracy"):
        values = [[r[key] for r in log if key in r] for log in (found, expected)]
        assert values[0] == pytest.approx(values[1], rel=1e-4), key
    assert {p.name for p in (together / name).iterdir()} == {p.name for p in tmp_path.iterdir()}
    saved = load_file(together / name / FINISHED)
    for key, value in network.model.state_dict().items():
        torch.testing.assert_close(saved[f"model.{key}"], value, rtol=1e-2, atol=1e-3)
    trained = read_checkpoint(together / name / FINISHED)[1]["trained"]
    assert [part["processes"] for part in trained["executed"]] == [2]


def test_all_processes_hold_the_same_weights(together):
    texts = [(together / f"{rank}.txt").read_text() for rank in (0, 1)]
    assert texts[0] == texts[1] and texts[0].count("\n") == len(NAMES)


def test_the_command_under_torchrun(together, tmp_path):
    """With dropout, of which each process draws its own masks; only one process reports."""
    options = ["train", "ltl/proposed", "--scale", "smoke", "--directory", str(tmp_path)]
    assert torchrun("-m", "itekit", *options).count("run  ") == 1
    assert [r["step"] for r in read_log(tmp_path)] == [5, 10, 15, 20]
    assert (tmp_path / FINISHED).exists() and (tmp_path / CHECKPOINT).exists()


def test_one_process_goes_on_where_two_stopped(together, tmp_path):
    name = NAMES[0]
    for file in (together / name).iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    trainer = Trainer(without_dropout(name), tmp_path)
    assert trainer.step == 20
    assert [part["processes"] for part in trainer.executed] == [2, 1]


def test_a_batch_must_divide_evenly(tmp_path, monkeypatch):
    monkeypatch.setattr(execution, "processes", lambda: 3)
    with pytest.raises(ValueError, match="3 processes cannot share batches of 16 evenly"):
        Trainer(tiny_experiment("ltl/proposed"), tmp_path)
