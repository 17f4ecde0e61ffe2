"""The command line: bad input ends with one clear line and code 2, a failed run with code 1."""

import errno
from types import SimpleNamespace

import pytest
import torch

from itekit import notebooks
from itekit.__main__ import main

COPYING = "copying-5-10/proposed"


def ended(capsys, *words: str) -> tuple[int, str]:
    """The exit code of a command, and the last line of what it wrote to standard error."""
    try:
        code = main(list(words))
    except SystemExit as end:
        code = end.code
    return code, capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("nosuchcommand", "invalid choice: 'nosuchcommand'"),
        ("run Makefile", "expected two files that end in .ipynb"),
        ("batch no.toml", "no.toml"),
        ("batch no.toml --part 3/2", "--part: invalid I/N value: '3/2'"),
        ("train copying-5-10/propsed", "'copying-5-10/propsed': try copying-5-10/proposed"),
        (f"train {COPYING} --scale huge", "scale is 'huge'; expected one of"),
        (f"train {COPYING} --seed -1", "--seed: invalid int >= 0 value: '-1'"),
        (f"train {COPYING} --device tpu", "--device tpu: "),
        (f"evaluate {COPYING} --rope-base nan", "--rope-base: invalid float >= 1 value: 'nan'"),
        (f"evaluate {COPYING} search=best --scale paper", "unknown search 'best'"),
        (f"train {COPYING} training.step=5", "try training.steps"),
        (f"train {COPYING} --seed 1 steps", "argument KEY=VALUE: invalid KEY=VALUE value: 'steps'"),
        (f"train {COPYING} --scael lab", "unrecognized arguments: --scael lab"),
        (f"evaluate {COPYING} --scale paper --checkpoint Makefile", "Makefile"),
        (f"evaluate {COPYING} --scale paper --seed 77", "make it: python -m itekit train"),
        ("generate", "one of the arguments name --from-manifest is required"),
        ("generate --from-manifest Makefile", "Makefile"),
    ],
)
def test_bad_input_ends_with_code_2_and_a_clear_line(command, message, capsys):
    code, said = ended(capsys, *command.split())
    assert code == 2 and message in said


@pytest.mark.parametrize(
    ("words", "variable", "used"),
    [
        ("steps=5 --scale smoke loss=learned_scale", "", 1),
        ("--threads 2 steps=5 --scale smoke loss=learned_scale", "3", 2),
        ("--scale smoke steps=5 loss=learned_scale", "3", 3),
    ],
)
def test_settings_may_stand_anywhere_and_one_thread_is_the_default(
    words, variable, used, tmp_path, monkeypatch
):
    calls = []

    def trainer(experiment, *_):
        calls.append((experiment.loss, experiment.training.steps, torch.get_num_threads()))
        return SimpleNamespace(run=lambda: None)

    monkeypatch.setattr("itekit.results.trainer", trainer)
    monkeypatch.setenv("OMP_NUM_THREADS", variable)
    torch.set_num_threads(3)  # as a process of the user's is
    assert main(["train", "ltl/proposed", "--directory", str(tmp_path), *words.split()]) == 0
    torch.set_num_threads(1)
    assert calls == [("learned_scale", 5, used)]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_said(capsys):
    code, said = ended(capsys, "train", COPYING, "--device", "cuda")
    assert code == 2 and "--device cuda: " in said


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (RuntimeError("it\nfailed"), 1),
        (OSError(errno.ENOSPC, "it failed"), 1),
        (FileNotFoundError("it failed"), 2),
        (KeyboardInterrupt(), 130),
    ],
)
def test_failures_end_with_their_code_and_one_line(error, expected, capsys, monkeypatch):
    def fail(*_):
        raise error

    monkeypatch.setattr(notebooks, "batch_command", fail)
    code, said = ended(capsys, "batch", "list.toml")
    assert code == expected and ("it failed" in said or "interrupted" in said)
