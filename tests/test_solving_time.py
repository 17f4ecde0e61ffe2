"""Solving times: the formulas of a cell are what they should be, and time-outs are counted."""

import pytest

from itekit.logic.formulas import parse_prefix
from itekit.tasks.ltl import TRANSLATIONS
from itekit.tasks.verdicts import TIME_OUT
from lessons import measured, solving_time
from lessons.solving_time import (
    GRIDS,
    TimingGrid,
    cell_formulas,
    cell_statistics,
    load_solving_time,
    measure,
)

SMALL = TimingGrid((4, 9), (1, 3), 4, 0.5, 20_000)


def test_formulas_have_exactly_the_length_and_the_propositions():
    grid = SMALL._replace(formulas=8)
    found = cell_formulas(grid, 5, 20, 0)
    formulas = [parse_prefix(text) for text in found]
    assert {(f.size, len(f.propositions)) for f in formulas} == {(20, 5)}
    assert len(set(formulas)) == 8
    assert found == cell_formulas(grid, 5, 20, 0) != cell_formulas(grid, 5, 20, 1)
    assert cell_formulas(SMALL._replace(tries=10**9), 5, 8, 0) == [], "it cannot be"


def test_a_formula_that_takes_too_long_is_a_time_out_and_the_others_are_measured(monkeypatch):
    part = "| | G F a{0} F G b{0} U c{0} d{0}"  # five of them are too much for the small automaton
    hard = " ".join(["& " * 4 + part.format(0), *(part.format(i) for i in range(1, 5))])
    easy = ["U a b", "& a X b"]
    cells = {(2, 3): easy, (2, 8): [*easy, hard]}
    monkeypatch.setattr(
        solving_time, "cell_formulas", lambda grid, *cell_and_seed: cells[cell_and_seed[:2]]
    )
    monkeypatch.setitem(GRIDS, "smoke", TimingGrid((3, 8), (2,), 3, 0.3, 1))
    result = measure("smoke")
    assert result["default"]["time_outs"] == [[0.0, 0.3333]]
    assert result["default"]["upper_quartile"][0][1] is None
    assert result["default"]["median"][0][1] < 0.3
    assert tuple(cell_statistics([TIME_OUT, 0.123456, 0.1]).values()) == (0.123, None, 0.3333)


def test_a_result_says_where_it_comes_from_and_is_kept(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(GRIDS, "smoke", SMALL)
    monkeypatch.setattr(measured, "RESULTS", tmp_path)
    measured.save_measured("solving-time", measure("smoke"))
    assert "solving-time-smoke.json" in capsys.readouterr().out
    result = load_solving_time("smoke")
    assert result["seed"] == 0 and result["grid"]["lengths"] == [4, 9]
    assert {"command", "hardware", "date", "seconds"} <= result["measured"].keys()
    assert result["formulas"] == [[4, 4], [0, 4]]
    for translation in TRANSLATIONS:
        (one, two), (none, four) = result[translation]["median"]
        assert none is None and result[translation]["time_outs"][1] == [None, 0.0]
        assert all(0 < seconds < 0.5 for seconds in (one, two, four))
    with pytest.raises(FileNotFoundError, match="07_labels_and_data.ipynb -p scale paper -p"):
        load_solving_time("paper")
