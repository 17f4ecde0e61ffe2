"""Results on logic problems as rows and panels: read, never typed in; what is missing is named."""

import json
import shlex

import pytest

from itekit import results
from itekit.__main__ import make_parser
from itekit.datasets.presets import preset
from itekit.experiments import experiment
from itekit.logic_summary import heatmap_panel, our_rate, run_line, shipped, to_make
from itekit.plots import rate_heatmaps


def made_result(name, **trained):
    """A result with 4 and 2 correct of 5 problems each in a grid of 4 rows and 2 columns."""
    made = experiment(name, "smoke")
    grid = {
        "propositions": [1, 2, 3, 4],
        "lengths": [1, 2],
        "samples": [[5, 5]] * 4,
        "correct": [[4, 4], [4, 4], [4, 4], [2, 2]],
        "mean_correct_cells": 0.7,
    }
    return {
        "name": name,
        "scale": "smoke",
        "seed": 0,
        "experiment": made.to_json(),
        "trained": {"steps": 20, **trained},
        "result": {"generalization": grid},
    }


def test_a_missing_result_is_none_and_its_commands_can_be_parsed(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    assert shipped("ltl/proposed", "lab", 7) is None
    commands = to_make("ltl/proposed", "lab", 7).split(" && ")
    assert [command.split()[3] for command in commands] == ["train", "evaluate"]
    for command in commands:
        python, *words = shlex.split(command)
        assert python == "python" and words[:2] == ["-m", "itekit"]
        parsed = make_parser().parse_args(words[2:])
        assert (parsed.name, parsed.scale, parsed.seed) == ("ltl/proposed", "lab", 7)


def test_a_result_that_is_there_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    made = made_result("prop/plain")
    (tmp_path / "prop-plain-smoke-s0.json").write_text(json.dumps(made))
    assert shipped("prop/plain", "smoke") == made


def test_an_unknown_experiment_is_an_error_not_a_missing_result():
    with pytest.raises(ValueError, match="unknown experiment"):
        shipped("ltl/proposd")


def test_run_line_says_how_long_on_what_if_known():
    assert run_line(made_result("ltl/plain")) == "ltl/plain, smoke size, seed 0: 20 steps"
    line = run_line(made_result("ltl/plain", seconds=120, hardware="two cores"))
    assert line.endswith("20 steps in 2 minutes on two cores")


@pytest.mark.parametrize("name", ["ltl/proposed", "ltl-perturbed/plain", "prop-limited/proposed"])
def test_panels_hold_the_counts_and_the_box_of_the_training_set(name):
    result = made_result(name)
    title, samples, correct, propositions, longest = heatmap_panel(result)
    grid = result["result"]["generalization"]
    assert (title, samples, correct) == (name.split("/")[1], grid["samples"], grid["correct"])
    source = preset({"l": "ltl35", "p": "prop35"}[name[0]], "smoke").strata[0]
    assert (propositions, longest) == (source.propositions, source.high)


def test_full_vocabulary_has_all_propositions_in_its_box():
    box = heatmap_panel(made_result("ltl/full-vocabulary"))[3]
    assert box == experiment("ltl/full-vocabulary", "smoke").test_propositions == 5


def test_panels_can_be_drawn():
    result = made_result("ltl/proposed")
    grid = result["result"]["generalization"]
    axes = {"lengths": grid["lengths"], "propositions": grid["propositions"]}
    figure = rate_heatmaps([heatmap_panel(result, "ours")], **axes)
    assert "ours: 70.0% correct" in [note.text for note in figure.layout.annotations]


def test_beyond_counts_the_rows_past_the_training_propositions_only():
    assert our_rate(made_result("ltl/proposed"), "beyond") == 0.4  # 3 of training, 1 beyond
    assert our_rate(made_result("ltl/full-vocabulary"), "beyond") is None
