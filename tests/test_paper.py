"""The whole paper as a list: everything is in it, in an order that works; and a short one runs."""

import json

import pytest

from itekit import results
from itekit.__main__ import main, make_parser
from itekit.tasks import names, paper


def test_the_list_has_every_experiment_of_the_papers_tables_and_sets_before_them(capsys):
    assert main(["paper", "--dry-run", "--scale", "paper"]) == 0
    said = capsys.readouterr().out
    lines = [line for line in said.splitlines() if line.startswith(("done", "to do"))]
    commands = [line.split("MB  ")[1].split("  (")[0] for line in lines]
    for command in commands:
        make_parser().parse_args(command.split())
    kept = json.loads(results.PAPER.read_text())
    rows = {row for table in kept["tables"].values() for row in table["rows"]}
    named = {key.rsplit("/", 1)[0] for key in kept["values"]} | set(kept["values"])
    searched = {"copying-5-10/without-f_bn", "copying-5-10/neighboring-points-16"}
    for name in (set(names.NAMES) & (rows | named)) - searched:
        train = commands.index(f"train {name} --scale paper --seed 0")
        assert commands.index(f"evaluate {name} --scale paper --seed 0") == train + 1
    first = min(i for i, command in enumerate(commands) if command.startswith("train"))
    assert all(command.startswith("generate") for command in commands[:first])
    assert "missing sets: ltl35, " in said and "ESTIMATE" in said
    assert "(52,000 steps, 5,809,850 parameters)" in said
    assert "(141,000 problems and 1,280,000 renamed ones)" in said
    ((hours,),) = [[float(line.split()[2])] for line in lines if "train ltl/proposed" in line]
    assert hours == pytest.approx(52_000 * 11.5e-3 / 3600, abs=0.01)


def test_what_begins_with_other_weights_comes_after_them_and_settings_go_along():
    words = [step.words for step in paper.steps(["ltl/converted"], "paper", steps=500)]
    trained = [(name, *rest) for command, name, *rest in words if command == "train"]
    assert trained[0][:2] == ("ltl/plain", "--scale")
    assert trained[1][:2] == ("ltl/converted", "steps=500")
    with pytest.raises(ValueError, match="unknown experiment 'ltl/propsed'"):
        paper.steps(["ltl/propsed"])


def test_a_short_list_is_done_goes_on_and_stops_at_a_failure(tmp_path, monkeypatch, capsys):
    ran = []

    def call(words):
        """In this process: a new one takes seconds to begin."""
        if words[0] == "evaluate" and not ran.count("evaluate") and "ltl/plain" in words:
            ran.append("evaluate")
            raise RuntimeError(f"stopped at python -m itekit {' '.join(words)}")
        ran.append(words[0])
        assert main([*words]) == 0

    monkeypatch.setattr(paper, "call", call)
    monkeypatch.setattr(paper, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(results, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path / "checkpoints")
    words = ["paper", "ltl/plain", "prop/plain", "limit=4", "beam=1", "--scale", "smoke"]
    words += ["--seed", "0"]
    assert main(words) == 1
    assert "stopped at python -m itekit evaluate ltl/plain" in capsys.readouterr().err
    assert ran == ["train", "evaluate"]
    assert main(words) == 0
    assert ran[2:] == ["evaluate", "train", "evaluate"], "the training was done"
    said = capsys.readouterr().out
    assert said.count("done  ") >= 6 and f"tables    {tmp_path / 'runs'}" in said
    assert main(words) == 0 and len(ran) == 5


def test_a_failed_command_is_named():
    with pytest.raises(RuntimeError, match=r"stopped at python -m itekit sets x \(exit code 2\)"):
        paper.call(["sets", "x"])


def test_the_tables_have_ours_beside_the_papers():
    table = paper.paper_rows(["ltl/proposed", "copying-5-10/proposed"], "lab")
    ours = 100 * results.our_rate(
        results.load_result("ltl/proposed", "lab"), "heatmap-mean-correct"
    )
    assert f"| ltl/proposed | heatmap-mean-correct | {ours:.2f} | 90.76 |" in table
    assert "| ltl/proposed | alpha-covariance-3-of-10 | 98.51 | 54.3 |" in table
