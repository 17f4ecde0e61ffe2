"""The paper's tables with ours: seeds are joined, changed settings apart, other names left out."""

import json
import shutil

import pytest

from itekit.results import RESULTS, load_result
from lessons import paper_tables
from lessons.paper import our_rate
from lessons.paper_tables import PaperTables


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """The tables of two trainings of ltl/proposed at lab size, and of one with fewer steps."""
    for seed in (0, 1):
        for end in (".json", ".log.json"):
            shutil.copy(RESULTS / f"ltl-proposed-lab-s{seed}{end}", tmp_path)
    first = tmp_path / "ltl-proposed-lab-s0.json"
    shutil.copy(first, tmp_path / "ltl-proposed-lab-s0-steps=9.json")
    log = tmp_path / "ltl-proposed-lab-s1.log.json"
    records = json.loads(log.read_text())
    records[-1]["validation_accuracy"] = 1.0
    log.write_text(json.dumps(records))
    monkeypatch.setattr(paper_tables, "RESULTS", tmp_path)
    monkeypatch.setattr(paper_tables, "RUNS", tmp_path)
    return PaperTables()


def test_a_row_joins_trainings_and_a_changed_setting_has_its_own(tables):
    column = "heatmap-mean-correct"
    rates = [100 * our_rate(load_result("ltl/proposed", "lab", s), column) for s in (0, 1)]
    head, _, ours, changed, *others = tables.means(column, "correct").data.splitlines()
    low, high = sorted(rates)
    assert f"lab, seeds 0, 1 | {sum(rates) / 2:.2f} ({low:.2f} to {high:.2f})" in ours
    assert f"chosen {rates[1]:.2f} (seed 1)<br>paper 90.76" in ours
    assert f"**steps=9**<br>lab, seed 0 | {rates[0]:.2f}<br>" in changed
    assert all("missing" in row for row in others)


def test_what_is_about_other_names_than_the_papers_stays_empty(tables):
    (row,) = [r for r in tables.table("alpha-covariance").data.splitlines() if "seeds" in r]
    assert row.count("–<br>paper") == 8, "six names at lab size, ten in the paper"


def test_it_says_what_is_missing_and_the_command(tables):
    said = PaperTables("lab").missing().data
    assert "| ltl | 19 | `itekit batch paper.toml --scale lab --only 'ltl*'` |" in said
