"""The paper's figures are recorded whole, are consistent, and are found by the right names."""

import dataclasses
import json
import math

import pytest

from itekit.copying_presets import RANDOMIZED
from itekit.experiments import NAMES
from itekit.paper import (
    FILE,
    citation,
    paper_alpha_covariance,
    paper_rate,
    paper_search,
    paper_table,
    paper_tables,
    paper_value,
    paper_values,
)
from itekit.random_vectors import METHODS

COPYING = {"copying-5-10", "copying-3-30", "copying-large"}
LOGIC = {"ltl", "ltl-perturbed", "ltl-limited", "ltl-generalization", "prop", "prop-perturbed"}
SIGNED = "copying-5-10/search/correlation/"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("copying-5-10/proposed", 0.38),
        ("copying-5-10/plain", 0.51),
        ("copying-5-10/full-vocabulary", 4.93),
        ("copying-5-10/alpha-renaming", 1.85),
        ("copying-3-30/models", 27),
        ("copying-3-30/models-without-error", 20),
        ("copying-3-30/worst", 1.0),
        ("copying-large/proposed", 0.0),
        ("copying-5-10/median-choice/difference", 1.4),
        ("copying-5-10/median-choice/absolute-difference", 9.1),
        ("copying-5-10/search/correlation/adacos", -0.41),
        ("copying-5-10/search/f_bn/neighboring_points-8", 0.6),
        ("copying-5-10/search/alpha-renaming/f_fn", 11.3),
        ("ltl/plain/correct", 98.23),
        ("ltl-perturbed/plain/exact", 12.12),
        ("ltl-perturbed/proposed/alpha-covariance-3", 97.66),
        ("ltl-limited/alpha-renaming/alpha-covariance-5", 97.82),
        ("ltl/proposed/alpha-covariance-10-of-10", 28.34),
        ("ltl/proposed/heatmap-mean-correct", 90.76),
        ("ltl/without-f_bn/heatmap-mean-correct", 29.53),
        ("prop-perturbed/plain/alpha-covariance-5", 10.65),
        ("prop/llama/correct", 29.03),
        ("ltl/proposed/training-minutes", 2 * 60 + 29),
    ],
)
def test_figures_are_those_of_the_paper(key, value):
    assert paper_value(key) == value == paper_values()[key].value


def test_spread_over_draws_is_ordered_and_its_mean_is_the_result():
    low, mean, high = (paper_value(f"copying-5-10/draws/{name}") for name in ("min", "mean", "max"))
    assert (low, mean, high, paper_value("copying-5-10/draws/std")) == (0.25, 0.38, 0.55, 0.09)
    assert mean == paper_value("copying-5-10/proposed")
    assert paper_value("copying-5-10/proposed-table") == round(mean, 1)  # the table's best cell


def test_keys_are_named_after_experiments_or_their_families():
    keys = paper_values()
    assert {key.split("/")[0] for key in keys} == COPYING | LOGIC
    small = {name for name in NAMES if name.startswith("copying-5-10/")}
    assert small - set(keys) == {name for name in small if RANDOMIZED in name}


def test_every_figure_says_what_it_is():
    for key, entry in paper_values().items():
        assert math.isfinite(entry.value) and (entry.value >= 0 or key.startswith(SIGNED)), key
        assert entry.unit != "per cent" or 0 <= entry.value <= 100, key
        for field in dataclasses.fields(entry):
            assert getattr(entry, field.name) not in ("", None), (key, field.name)


@pytest.mark.parametrize("name", paper_tables())
def test_tables_are_whole_and_their_figures_have_keys(name):
    table = paper_table(name)
    assert len(set(table.columns)) == len(table.columns)
    for row, figures in table.rows.items():
        assert tuple(table.row(row).values()) == figures and len(figures) == len(table.columns)
        for column, figure in table.row(row).items():
            assert paper_value(f"{row}/{column}") == table.column(column)[row] == figure
    with pytest.raises(TypeError):
        table.rows["another"] = ()


def test_no_key_stands_for_two_figures():
    tables = [paper_table(name) for name in paper_tables()]
    in_tables = [f"{row}/{column}" for t in tables for row in t.rows for column in t.columns]
    assert len(set(in_tables)) == len(in_tables)
    assert not set(in_tables) & set(json.loads(FILE.read_text(encoding="utf-8"))["values"])


def test_the_plain_model_breaks_on_perturbed_data_and_the_others_hold():
    for task, table in ("ltl", "ltl-perturbation"), ("prop", "prop-perturbation"):
        for column in paper_table(table).columns:
            figures = paper_table(table).column(column)
            plain = figures[f"{task}-perturbed/plain"]
            others = [
                figures[f"{task}-perturbed/{name}"] for name in ("alpha-renaming", "proposed")
            ]
            assert plain < min(others) and plain < figures[f"{task}/plain"], (task, column)


def test_alpha_covariance_is_a_rate_by_number_of_propositions():
    ltl, prop = paper_alpha_covariance("ltl"), paper_alpha_covariance("prop")
    assert list(ltl) == list(prop) == ["full-vocabulary", "alpha-renaming", "proposed"]
    assert all(list(rates) == list(range(3, 11)) for rates in (*ltl.values(), *prop.values()))
    assert ltl["proposed"][3] == pytest.approx(0.5430) and prop["proposed"][10] == 0.2075
    with pytest.raises(ValueError, match="'ltl' or 'prop', found 'copying'"):
        paper_alpha_covariance("copying")


def test_search_has_every_setting_once_and_agrees_with_what_is_said_of_it():
    records = paper_search()
    setting = [{k: v for k, v in one.items() if k != "edit_distance"} for one in records]
    assert len(records) == 90 == len({tuple(one.values()) for one in setting})
    assert {one["method"] for one in records} == set(METHODS)
    assert all(one["f_fn"] for one in records if one["adacos"])
    best = min(records, key=lambda one: one["edit_distance"])
    assert best["edit_distance"] == paper_value("copying-5-10/proposed-table")
    assert (best["method"], best["d_beta"], best["f_bn"]) == ("hypercube_vertices", 6, True)
    smallest = zip(METHODS, (2, 4, 5), strict=True)
    for method, d_beta in smallest:  # the first column of each method, first and last row
        first = next(one for one in records if one["method"] == method)
        assert first["d_beta"] == d_beta and all(first[f] for f in ("f_bn", "f_fn", "adacos"))
        last = [one for one in records if (one["method"], one["d_beta"]) == (method, d_beta)][-1]
        assert not any(last[f] for f in ("f_bn", "f_fn", "adacos"))
        assert last["edit_distance"] == paper_value(f"copying-5-10/search/none/{method}-{d_beta}")


@pytest.mark.parametrize(
    ("ours", "table"),
    [
        ("without-f_bn", "f_fn+adacos/hypercube_vertices-6"),
        ("proposed-table", "f_bn+f_fn+adacos/hypercube_vertices-6"),
        ("neighboring-points-16", "f_bn+f_fn+adacos/neighboring_points-16"),
    ],
)
def test_figures_of_experiments_are_those_of_the_search_table(ours, table):
    assert paper_value(f"copying-5-10/{ours}") == paper_value(f"copying-5-10/search/{table}")


def test_a_rate_is_a_hundredth_of_a_figure_in_per_cent():
    assert paper_rate("ltl/plain/correct") == pytest.approx(0.9823)
    with pytest.raises(ValueError, match="is in minutes, not in per cent"):
        paper_rate("ltl/plain/training-minutes")


@pytest.mark.parametrize("key", ["copying-5-10/propsed", "", "ltl/proposed-on-the-moon"])
def test_an_unknown_figure_is_an_error_that_helps(key):
    with pytest.raises(ValueError, match="paper.json") as caught:
        paper_value(key)
    assert repr(key) in str(caught.value)
    assert any(known in str(caught.value) for known in paper_values())


def test_an_unknown_table_row_or_column_is_an_error_that_helps():
    with pytest.raises(ValueError, match="table 'ltl-perturbed' is not in paper.json: .*ltl-pert"):
        paper_table("ltl-perturbed")
    with pytest.raises(ValueError, match="row 'ltl/plane' .*: try ltl/plain"):
        paper_table("ltl-perturbation").row("ltl/plane")
    with pytest.raises(ValueError, match="column 'corect' .*: try correct"):
        paper_table("ltl-perturbation").column("corect")


def test_citation_names_all_authors_title_and_year():
    text = citation()
    for part in ("Işık", "Cinbis", "Aydin Gol", "Interchangeable Token Embeddings", "2025"):
        assert part in text


def test_the_data_card_speaks_of_everything_in_data():
    card = (FILE.parent / "README.md").read_text(encoding="utf-8")
    entries = [path.name for path in FILE.parent.iterdir() if not path.name.startswith(".")]
    assert [name for name in entries if name not in card and name != "README.md"] == []
