"""The command line: bad input ends with one line and code 2, a failed run with code 1."""

import json

import pytest
import torch

from itekit import batch, doctor
from itekit.__main__ import main
from itekit.experiments import experiment
from itekit.results import checkpoint_path
from itekit.training import Network

COPYING = "copying-5-10/proposed"


def ended(capsys, *words: str) -> tuple[int, str]:
    """The exit code of a command, and what it wrote to standard error."""
    try:
        code = main(list(words))
    except SystemExit as end:
        code = end.code
    return code, capsys.readouterr().err


BAD = [
    ("nosuchcommand", "invalid choice: 'nosuchcommand'"),
    ("run no.ipynb", "no.ipynb"),
    ("run Makefile", "expected files that end in .ipynb"),
    ("batch no.toml", "no.toml"),
    ("batch x.toml --workers 0", "--workers: expected a number from 1 on, found '0'"),
    ("batch x.toml --cell-timeout nan", "expected a number from 1 on"),
    ("train copying-5-10/propsed", "copying-5-10/propsed"),
    (f"train {COPYING} --scale huge", "scale is 'huge'; expected one of"),
    (f"train {COPYING} --seed -1", "--seed: expected a number from 0 on, found '-1'"),
    (f"train {COPYING} --threads 0", "--threads: expected a number from 1 on"),
    (f"train {COPYING} --precision half", "--precision: invalid choice: 'half'"),
    (f"train {COPYING} --device tpu", "--device: expected cpu, cuda or cuda:NUMBER, found 'tpu'"),
    (f"evaluate {COPYING} --rope-base nan", "expected a number from 1 on, found 'nan'"),
    (f"evaluate {COPYING} --rope-base 0", "expected a number from 1 on, found '0'"),
    (f"evaluate {COPYING} --rope-base inf", "expected a number from 1 on, found 'inf'"),
    (f"evaluate {COPYING} --scale paper --search best", "best"),
    (f"evaluate {COPYING} --scale paper --checkpoint no.safetensors", "no.safetensors"),
    (f"evaluate {COPYING} --scale paper --checkpoint Makefile", "Makefile"),
    (f"evaluate {COPYING} --scale paper --seed 77", "make it: python -m itekit train"),
    ("redraw ltl/proposed --tries 0", "--tries: expected a number from 1 on, found '0'"),
    ("search --only -1", "--only: expected a number from 0 on, found '-1'"),
    ("generate", "give the name of a set, or --from-manifest FILE"),
    ("generate nosuchset", "nosuchset"),
    ("generate --from-manifest Makefile", "Makefile"),
    ("solving-time --scale huge", "scale is 'huge'"),
    ("efficiency --scale huge", "scale is 'huge'"),
    ("llm ltl --samples -1", "--samples: expected a number from 1 on, found '-1'"),
    ("llm ltl --timeout 0", "--timeout: expected a number from 1 on"),
    ("llm ltl --base-url http://localhost:1/v1", "--base-url needs --model"),
]


@pytest.mark.parametrize(("command", "message"), BAD, ids=[command for command, _ in BAD])
def test_bad_input_ends_with_one_line_and_code_2(command, message, capsys):
    code, said = ended(capsys, *command.split())
    assert code == 2, said
    assert said.count("\n") == 1 and message in said


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize(
    "command", [f"train {COPYING}", "evaluate ltl/proposed", "redraw ltl/proposed", "search",
                "efficiency"]
)  # fmt: skip
@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
def test_a_gpu_that_is_not_there_is_said_in_one_line(command, device, capsys):
    code, said = ended(capsys, *command.split(), "--device", device)
    assert code == 2
    assert said.count("\n") == 1 and f"--device {device}: torch " in said


def test_a_network_with_weights_that_are_not_finite_is_not_evaluated(tmp_path, capsys):
    path = tmp_path / "nan.safetensors"
    network = Network.load(checkpoint_path(experiment(COPYING, "paper")))
    next(network.model.parameters()).data[0] = torch.nan
    network.save(path)
    command = ["evaluate", COPYING, "--scale", "paper", "--checkpoint", str(path)]
    code, said = ended(capsys, *command, "--directory", str(tmp_path))
    assert code == 2 and said.count("\n") == 1 and "nan.safetensors" in said
    assert not list(tmp_path.glob("*.json"))


def test_one_try_of_redraw_is_told_and_kept(tmp_path, capsys, monkeypatch):
    found = {part: {"solved": {"all": [0.25]}} for part in ("test", "generalization")}
    monkeypatch.setattr("itekit.redraw.redraw", lambda network, tries: found)
    command = ["redraw", "ltl/proposed", "--scale", "lab", "--tries", "1"]
    assert main([*command, "--directory", str(tmp_path)]) == 0
    assert "solved by 1 try 25.0%" in capsys.readouterr().out
    (path,) = tmp_path.glob("*-redraw.json")
    assert json.loads(path.read_text())["result"] == found


@pytest.mark.parametrize(
    ("error", "expected"),
    [(RuntimeError("it\nfailed"), 1), (OSError("it failed"), 2), (KeyboardInterrupt(), 130)],
)
def test_failures_end_with_their_code_and_one_line(error, expected, capsys, monkeypatch):
    def fail(*_):
        raise error

    monkeypatch.setattr(batch, "batch_command", fail)
    code, said = ended(capsys, "batch", "list.toml")
    assert code == expected
    assert said.count("\n") == 1 and ("it failed" in said or "interrupted" in said)


def test_sets_are_listed_and_the_doctor_gives_its_code(capsys, monkeypatch):
    assert main(["sets"]) == 0
    assert "ltl35" in capsys.readouterr().out
    monkeypatch.setattr(doctor, "CHECKS", ())
    assert main(["doctor"]) == 0
