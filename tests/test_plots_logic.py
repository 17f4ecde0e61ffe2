"""Figures of the logic tasks and of the copying search say what they were given."""

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from itekit import plots
from itekit.logic.operators import LTL
from itekit.logic.prefix import parse_prefix
from itekit.paper import paper_alpha_covariance, paper_search
from itekit.plots import rate_grids, rate_lines, rates, search
from itekit.plots.correlations import p_text

LENGTHS, PROPOSITIONS = [3, 5, 7, 9], [1, 2, 4]
SAMPLES = np.array([[20, 10, 5, 0], [0, 20, 20, 1], [0, 0, 20, 20]])
CORRECT = np.array([[20, 5, 0, 0], [0, 20, 10, 1], [0, 0, 5, 15]])
AXES = {"lengths": LENGTHS, "propositions": PROPOSITIONS}


def named(figure: go.Figure, name: str) -> list:
    return [trace for trace in figure.data if trace.name == name]


def texts(figure: go.Figure) -> list[str]:
    return [note.text for note in figure.layout.annotations]


def one(samples=SAMPLES, correct=CORRECT, propositions=2, length=(5, 7)) -> go.Figure:
    return plots.rate_heatmaps([("m", samples, correct, propositions, length)], **AXES)


# heatmaps of correct answers


def test_colour_is_the_rate_and_empty_cells_have_none():
    (cells,) = named(one(), "correct")
    z = np.asarray(cells.z, float)
    assert np.isnan(z[SAMPLES == 0]).all()
    np.testing.assert_allclose(z[SAMPLES > 0], (CORRECT / SAMPLES.clip(1))[SAMPLES > 0], atol=1e-4)
    np.testing.assert_array_equal(cells.customdata, np.stack([CORRECT, SAMPLES], axis=2))
    assert list(cells.x) == LENGTHS and list(cells.y) == PROPOSITIONS


def test_paleness_follows_the_number_of_formulas():
    (pale,) = named(one(), "paleness")
    z = np.asarray(pale.z, float)
    np.testing.assert_allclose(z[SAMPLES > 0], (1 - SAMPLES / 20)[SAMPLES > 0], atol=1e-6)
    assert np.isnan(z[SAMPLES == 0]).all()
    assert (pale.zmin, pale.zmax, pale.hoverinfo) == (0, 1, "skip")
    clear, white = (colour for _, colour in pale.colorscale)
    assert clear == "rgba(255,255,255,0)"
    assert white == f"rgba(255,255,255,{rates.PALEST})" and rates.PALEST < 1  # never invisible


def test_paleness_is_relative_to_the_largest_cell_of_all_panels():
    panels = [("a", SAMPLES, CORRECT, None, None), ("b", 5 * SAMPLES, CORRECT, None, None)]
    few, many = named(plots.rate_heatmaps(panels, **AXES), "paleness")
    assert np.nanmin(np.asarray(few.z, float)) == pytest.approx(0.8)
    assert np.nanmin(np.asarray(many.z, float)) == 0


def test_only_what_is_there_is_in_the_legend():
    full = np.full((3, 4), 7)
    shown = [t.name for t in one(full, full, None, None).data if t.showlegend]
    assert shown == []
    shown = [t.name for t in one().data if t.showlegend]
    assert sorted(shown) == [
        "no formulas",
        "paler: fewer formulas, 1 to 20 a cell",
        "training data",
    ]


@pytest.mark.parametrize(
    "propositions, length, box",
    [
        (2, (5, 7), (4, 8, 0.5, 3)),  # borders lie between the cells: axes may have gaps
        ((2, 4), 9, (2, 10, 1.5, 5)),
        (1, (1, 99), (2, 10, 0.5, 1.5)),
    ],
)
def test_box_is_around_the_training_region(propositions, length, box):
    (drawn,) = named(one(propositions=propositions, length=length), "training data")
    assert (min(drawn.x), max(drawn.x), min(drawn.y), max(drawn.y)) == box
    assert (drawn.x[0], drawn.y[0]) == (drawn.x[-1], drawn.y[-1]) and drawn.line.dash


def test_no_training_region_no_box():
    assert named(one(propositions=None, length=None), "training data") == []


def test_rows_and_the_whole_say_their_share_of_correct_answers():
    notes = texts(one())
    assert notes[0] == f"m: {CORRECT.sum() / SAMPLES.sum():.1%} correct"
    assert notes[-3:] == ["71%", "76%", "50%"]  # 25 of 35, 31 of 41, 20 of 40
    samples = SAMPLES.copy()
    samples[1] = 0
    assert texts(one(samples, CORRECT * (samples > 0)))[-2] == "–"
    places = [n.y for n in one().layout.annotations if n.text in ("71%", "76%", "50%")]
    assert places == PROPOSITIONS


@given(st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=3, max_size=3))
def test_hatch_covers_exactly_the_empty_cells(full):
    samples = np.array(full).astype(int)
    axes = np.array(LENGTHS, float), np.array(PROPOSITIONS, float)
    panel = rate_grids.RatePanel("", samples, samples, axes[1], axes[0], None)
    x, y = rate_grids.empty_outlines(panel)
    hatched = np.zeros((3, 4), int)
    for cx, cy in zip(x.reshape(-1, 6), y.reshape(-1, 6), strict=True):
        across = (np.nanmin(cx) < axes[0]) & (axes[0] < np.nanmax(cx))
        down = (np.nanmin(cy) < axes[1]) & (axes[1] < np.nanmax(cy))
        hatched += np.outer(down, across)
    np.testing.assert_array_equal(hatched, samples == 0)


def test_heatmaps_share_colours_from_none_to_all_and_rows_go_down():
    figure = plots.rate_heatmaps([("a", SAMPLES, CORRECT, 2, 7)] * 3, **AXES)
    assert {t.coloraxis for t in named(figure, "correct")} == {"coloraxis"}
    assert (figure.layout.coloraxis.cmin, figure.layout.coloraxis.cmax) == (0, 1)
    assert list(figure.layout.yaxis.range) == [5, 0.5]
    assert figure.layout.width <= 900


@pytest.mark.parametrize(
    "panel, message",
    [
        (("a", SAMPLES[:2], CORRECT, 2, 7), r"'a', samples: .*3 rows .* of 4 .*found shape \(2, 4"),
        (("a", SAMPLES, CORRECT.T, 2, 7), r"'a', correct: expected 3 rows .* found shape \(4, 3\)"),
        (("a", SAMPLES, CORRECT[0], 2, 7), r"'a', correct: expected 2 axes, found shape \(4,\)"),
        (("a", SAMPLES, SAMPLES + 1, 2, 7), r"'a': cell \(0, 0\) has 21 correct of 20"),
        (("a", SAMPLES, CORRECT / 20, 2, 7), "'a', correct: expected counts, whole numbers"),
        (("a", -SAMPLES, CORRECT, 2, 7), "'a', samples: expected counts"),
        (("a", 0 * SAMPLES, 0 * CORRECT, 2, 7), "'a': samples are all 0"),
        (("a", SAMPLES, CORRECT, 2, None), "both training_propositions and training_length"),
        (("a", SAMPLES, CORRECT, (5, 6), 7), "training_propositions: .* covers no cell"),
        (("a", SAMPLES, CORRECT), r"panels: expected at least one \(title, samples"),
    ],
)
def test_bad_counts_are_refused(panel, message):
    with pytest.raises(ValueError, match=message):
        plots.rate_heatmaps([panel], **AXES)


def test_bad_axes_and_no_panels_are_refused():
    with pytest.raises(ValueError, match="lengths: expected increasing"):
        plots.rate_heatmaps([("a", SAMPLES, CORRECT, 2, 7)], lengths=[3, 3, 5, 7], propositions=[1])
    with pytest.raises(ValueError, match="panels: expected at least one"):
        plots.rate_heatmaps([], **AXES)


# rates as lines


def test_lines_hold_the_rates_in_order_and_read_keys_of_json():
    figure = plots.rates_by_propositions({"a": {"10": 0.1, "2": 0.5, "1": 1}}, training=2)
    (line,) = figure.data
    assert (line.x, line.y) == ((1, 2, 10), (1, 0.5, 0.1))


def test_the_boundary_stands_behind_the_last_number_in_training():
    figure = plots.rates_by_propositions({"a": {1: 1, 2: 0.5, 3: 0.2}}, training=2)
    (boundary,) = figure.layout.shapes
    assert (boundary.x0, boundary.x1, boundary.layer) == (2.5, 2.5, "below")
    left, right = figure.layout.annotations
    assert (left.xanchor, right.xanchor) == ("right", "left")
    assert left.text.startswith("in training") and "more APs" in right.text
    assert not plots.rates_by_propositions({"a": {1: 1}}).layout.shapes


def test_the_papers_lines_are_dashed_and_open_in_the_same_colours():
    ours = {"alpha-renaming": {3: 0.5}, "proposed": {3: 0.7, 4: 0.6}, "canonical": {3: 1.0}}
    figure = plots.alpha_covariance_lines(ours, paper=paper_alpha_covariance("ltl"))
    lines = {trace.name: trace for trace in figure.data}
    assert set(lines) == {*ours, *(f"{n} (paper)" for n in paper_alpha_covariance("ltl"))}
    for name in ("proposed", "alpha-renaming"):
        mine, theirs = lines[name], lines[f"{name} (paper)"]
        assert mine.line.color == theirs.line.color
        assert (mine.line.dash, theirs.line.dash) == ("solid", "dash")
        assert theirs.marker.symbol == f"{mine.marker.symbol}-open"
    assert lines["proposed (paper)"].x == tuple(range(3, 11))
    assert lines["proposed (paper)"].y[0] == pytest.approx(0.543)
    colours = {trace.line.color for trace in figure.data}
    assert len(colours) == 4  # full-vocabulary is only the paper's, and has its own
    alone = plots.alpha_covariance_lines({}, paper=paper_alpha_covariance("prop"))
    assert len(alone.data) == 3


def test_draws_are_on_a_logarithmic_axis_with_the_numbers_drawn():
    figure = plots.solved_against_draws({"a": {1: 0.5, 3: 0.6, 10: 0.7}, "b": {1: 0.4, 5: 0.5}})
    assert figure.layout.xaxis.type == "log" and figure.layout.xaxis.tickvals == (1, 3, 5, 10)
    a, b = figure.data
    assert a.y == (0.5, 0.6, 0.7) and a.line.dash != b.line.dash
    assert a.marker.symbol != b.marker.symbol


@pytest.mark.parametrize(
    "given_rates, message",
    [
        ({}, "at least one model"),
        ({"a": {}}, "'a': no rates"),
        ({"a": {3: 54.3}}, "'a', 3: expected a rate from 0 to 1, found 54.3"),
        ({"a": {3: None}}, "'a', 3: expected a rate"),
        ({"a": {3: float("nan")}}, "'a', 3: expected a rate"),
        ({"a": {0: 0.5}}, "'a': expected whole numbers of 1 or more, found 0"),
        ({"a": {"x": 0.5}}, "found 'x'"),
    ],
)
@pytest.mark.parametrize("figure", [plots.rates_by_propositions, plots.solved_against_draws])
def test_bad_rates_are_refused(figure, given_rates, message):
    with pytest.raises(ValueError, match=message):
        figure(given_rates)


def test_bad_rates_of_the_paper_are_refused_too():
    with pytest.raises(ValueError, match="'b', 3: expected a rate"):
        plots.alpha_covariance_lines({"a": {3: 0.5}}, paper={"b": {3: 54.0}})
    assert rate_lines.rate_points("a", {"3": 1, 2: 0}) == {2: 0, 3: 1}


# the copying search


def test_each_setting_is_a_point_in_the_panel_of_its_features():
    records = paper_search()
    figure = plots.search_scatter(records)
    points = [trace for trace in figure.data if trace.mode == "markers"]
    panels = texts(figure)
    assert panels[0] == "f_bn + f_fn + AdaCos" and panels[-1] == "none" and len(panels) == 6
    drawn = set()
    for trace in points:
        panel = panels[int((trace.xaxis or "x")[1:] or 1) - 1]
        assert len(trace.x) == 5
        for d_beta, y in zip(trace.customdata, trace.y, strict=True):
            drawn.add((panel, trace.name.replace(" ", "_"), d_beta, y))
    assert drawn == {
        (search.features_text(r), r["method"], r["d_beta"], r["edit_distance"]) for r in records
    }
    assert len([trace for trace in points if trace.showlegend]) == 3


def test_points_of_methods_stand_near_their_d_beta_but_apart():
    figure = plots.search_scatter([r for r in paper_search() if r["d_beta"] == 8])
    x = [trace.x[0] for trace in figure.data if trace.mode == "markers"][:3]
    assert len(set(x)) == 3 and all(7 < value < 9.2 for value in x)


def test_the_line_follows_the_best_run_of_each_setting():
    on = {"method": "normal", "f_bn": True, "f_fn": True, "adacos": True}
    runs = [(4, 5.0), (2, 7.0), (4, 1.0), (2, 9.0)]
    figure = plots.search_scatter([{**on, "d_beta": d, "edit_distance": e} for d, e in runs])
    path, points = figure.data
    assert path.mode == "lines" and path.y == (7.0, 1.0)
    assert points.y == (7.0, 9.0, 1.0, 5.0)


def test_the_papers_settings_are_open_markers_beside_ours():
    ours = [r for r in paper_search() if r["adacos"]]
    figure = plots.search_scatter(ours, paper=paper_search())
    theirs = [t for t in figure.data if t.name.endswith("(paper)")]
    assert len(theirs) == 18 and all(t.marker.symbol.endswith("-open") for t in theirs)
    assert len([t for t in figure.data if t.showlegend]) == 6


@pytest.mark.parametrize(
    "change, message",
    [
        ({"edit_distance": None}, "records, record 0: None is not an edit distance"),
        ({"edit_distance": float("nan")}, "nan is not an edit distance"),
        ({"d_beta": 0}, "d_beta must be 1 or more, found 0"),
    ],
)
def test_bad_records_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        plots.search_scatter([{**paper_search()[0], **change}])


def test_records_without_a_setting_or_none_at_all_are_refused():
    record = paper_search()[0]
    del record["f_fn"]
    with pytest.raises(ValueError, match="paper, record 0: no 'f_fn', found"):
        plots.search_scatter([], paper=[record])
    with pytest.raises(ValueError, match="expected records"):
        plots.search_scatter([])


def test_bars_are_hatched_where_chance_may_be_the_reason():
    found = {"f_fn": (-0.3, 1e-7), "d_beta": (0.01, 0.9), "f_bn": (0.1, 0.049)}
    figure = plots.correlation_bars(found, paper={"f_fn": -0.29, "d_beta": 0.01})
    sure, unsure, paper = figure.data
    assert (sure.y, sure.x) == (("f_fn", "f_bn"), (-0.3, 0.1)) and not sure.marker.pattern.shape
    assert (unsure.y, unsure.x) == (("d_beta",), (0.01,)) and unsure.marker.pattern.shape == "/"
    assert dict(zip(paper.y, paper.x, strict=True)) == {"f_fn": -0.29, "d_beta": 0.01}
    assert figure.layout.yaxis.categoryarray == ("f_bn", "d_beta", "f_fn")  # upwards
    assert texts(figure) == ["r −0.30, p < 0.001", "r +0.01, p 0.90", "r +0.10, p 0.05"]
    assert p_text(0.0049) == "p 0.005"


@pytest.mark.parametrize(
    "found, paper, message",
    [
        ({}, None, "at least one factor"),
        ({"a": 0.5}, None, r"'a': expected \(r, p\), found 0.5"),
        ({"a": (1.5, 0.1)}, None, "'a': expected r from -1 to 1 .*, found 1.5"),
        ({"a": (0.5, -0.1)}, None, "and p from 0 to 1, found 0.5 and -0.1"),
        ({"a": (float("nan"), 0.1)}, None, "found nan"),
        ({"a": (0.5, 0.1)}, {"b": 0.1}, "paper: 'b' is not one of a"),
        ({"a": (0.5, 0.1)}, {"a": 41}, "paper, 'a': expected r from -1 to 1, found 41"),
    ],
)
def test_bad_correlations_are_refused(found, paper, message):
    with pytest.raises(ValueError, match=message):
        plots.correlation_bars(found, paper=paper)


# attention on a formula's tree

FORMULA = parse_prefix("&Ua!bXa", LTL)
TREE = list(FORMULA.tokens()), FORMULA.tree_paths()


def test_nodes_are_shaded_by_their_weights():
    weights = [0.0, 0.1, 0.5, 0.0, 0.2, 0.15, 0.05]
    figure = plots.formula_tree(*TREE, weights=weights)
    lines, nodes = figure.data
    assert lines.mode == "lines" and "".join(nodes.text) == "&Ua!bXa"
    np.testing.assert_array_equal(nodes.marker.color, weights)
    assert nodes.marker.coloraxis == "coloraxis"
    assert (figure.layout.coloraxis.cmin, figure.layout.coloraxis.cmax) == (0, 0.5)
    assert figure.layout.coloraxis.colorbar.title.text == "attention weight"
    assert nodes.textfont.color[2] == "white" and len(set(nodes.textfont.color)) == 2
    assert nodes.hovertext[2] == "a, 0 0: 0.5"


def test_weights_of_all_zeros_have_a_scale():
    figure = plots.formula_tree(*TREE, weights=[0] * 7, weights_title="share")
    assert figure.layout.coloraxis.cmax == 1
    assert figure.layout.coloraxis.colorbar.title.text == "share"


@pytest.mark.parametrize(
    "options, message",
    [
        ({"weights": [0.5]}, "weights: expected one for each of 7 nodes, found 1"),
        ({"weights": [0.5, -1, 0, 0, 0, 0, 0]}, "weights: .* found -1 at node 1"),
        ({"weights": [0.5, 0, float("nan"), 0, 0, 0, 0]}, "found nan at node 2"),
        ({"weights": ["x"] * 7}, "weights: expected numbers"),
        ({"weights": [0.1] * 7, "values": ["true"] * 7}, "give one of them"),
    ],
)
def test_bad_weights_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        plots.formula_tree(*TREE, **options)
