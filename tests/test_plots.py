"""Figures hold what they were given."""

import math

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st
from logical import formulas

from itekit.logic.formulas import parse_prefix
from lessons import plots
from lessons.lesson_12 import paper_alpha_covariance
from lessons.plots.lassos import LOOKS
from lessons.plots.show import WIDEST
from lessons.plots.trees import MOST_NODES, tree_places

NAN = float("nan")
LENGTHS, PROPOSITIONS = [3, 5, 7, 9], [1, 2, 4]
SAMPLES = np.array([[20, 10, 5, 0], [0, 20, 20, 1], [0, 0, 20, 20]])
CORRECT = np.array([[20, 5, 0, 0], [0, 20, 10, 1], [0, 0, 5, 15]])
AXES = {"lengths": LENGTHS, "propositions": PROPOSITIONS, "title": "t"}
FROM_3 = {"lengths": range(3, 31), "uniques": range(3, 31)}
TRAINING = 5, (5, 10)  # unique characters and length


def triangle(n: int):
    """Values above the diagonal: a string has no more unique characters than its length."""
    unique, length = np.mgrid[3 : 3 + n, 3 : 3 + n]
    return np.where(unique <= length, unique + length / 100, NAN)


def traces(figure: go.Figure, **attributes) -> list:
    return [t for t in figure.data if all(t[key] == value for key, value in attributes.items())]


def named(figure: go.Figure, name: str) -> list:
    return [trace for trace in figure.data if (trace.name or "").startswith(name)]


def corners(box) -> tuple:
    assert (box.x[0], box.y[0]) == (box.x[-1], box.y[-1])
    return min(box.x), max(box.x), min(box.y), max(box.y)


# heatmaps


def test_heatmap_holds_the_grid_its_axes_and_the_box_of_training():
    grid = triangle(28)
    figure = plots.edit_distance_heatmaps([("Proposed", grid, *TRAINING)], **FROM_3)
    (heatmap,) = traces(figure, type="heatmap")
    np.testing.assert_allclose(np.asarray(heatmap.z, float), grid, atol=1e-4)
    assert list(heatmap.x) == list(heatmap.y) == list(range(3, 31))
    assert figure.layout.title.text == f"Proposed: mean {np.nanmean(grid):.2f}"
    assert list(figure.layout.yaxis.range) == [30.5, 2.5]  # rows go down, as in a matrix
    assert list(figure.layout.xaxis.range) == [2.5, 30.5]
    assert (figure.layout.coloraxis.cmin, len(figure.to_json()) < 20_000) == (0, True)
    assert figure.layout.coloraxis.cmax == pytest.approx(np.nanmax(grid))
    assert [corners(drawn) for drawn in named(figure, "training data")] == [(4.5, 10.5, 2.5, 5.5)]


def test_box_follows_the_cells_of_a_grid_with_a_stride():
    axis, grid = np.arange(5, 165, 5), np.ones((32, 32))
    panels = [("a", grid, 20, (20, 80)), ("far off", grid, 20, (200, 300))]
    figure = plots.edit_distance_heatmaps(panels, lengths=axis, uniques=axis)
    assert [corners(box) for box in named(figure, "training data")] == [(17.5, 82.5, 2.5, 22.5)]


def test_several_heatmaps_share_colours_and_axes_and_fit():
    panels = [(c, (i + 1) * triangle(28), 5, (5, 10)) for i, c in enumerate("abc")]
    figure = plots.edit_distance_heatmaps(panels, **FROM_3)
    assert {heatmap.coloraxis for heatmap in traces(figure, type="heatmap")} == {"coloraxis"}
    assert figure.layout.coloraxis.cmax == pytest.approx(3 * np.nanmax(triangle(28)))
    assert [note.text[:1] for note in figure.layout.annotations] == list("abc")
    legend = [trace.name for trace in figure.data if trace.showlegend]
    assert sorted(name.split(":")[0] for name in legend) == ["impossible", "training data"]
    assert figure.layout.width <= WIDEST


def test_rates_their_paleness_their_rows_and_the_whole():
    figure = plots.rate_heatmaps([("m", SAMPLES, CORRECT, 2, (5, 7))], **AXES)
    (cells,), (pale,) = named(figure, "correct"), named(figure, "paleness")
    z, white, there = np.asarray(cells.z, float), np.asarray(pale.z, float), SAMPLES > 0
    np.testing.assert_allclose(z[there], (CORRECT / SAMPLES.clip(1))[there], atol=1e-4)
    np.testing.assert_allclose(white[there], (1 - SAMPLES / 20)[there], atol=1e-6)
    assert np.isnan(z[~there]).all() and np.isnan(white[~there]).all()
    np.testing.assert_array_equal(cells.customdata, np.stack([CORRECT, SAMPLES], axis=2))
    assert list(cells.x) == LENGTHS and list(cells.y) == PROPOSITIONS
    notes = [note.text for note in figure.layout.annotations]
    assert notes[0] == f"m: {CORRECT.sum() / SAMPLES.sum():.1%} correct"
    assert notes[-3:] == ["71%", "76%", "50%"]  # 25 of 35, 31 of 41, 20 of 40
    (box,) = named(figure, "training data")
    assert corners(box) == (4, 8, 0.5, 3)  # borders lie between the cells: axes may have gaps
    paler = "paler: fewer formulas, 1 to 20 a cell"
    legend = sorted(trace.name for trace in figure.data if trace.showlegend)
    assert legend == ["no formulas", paler, "training data"]


# lines


def test_lines_hold_the_rates_in_order_and_the_end_of_training():
    rates = {"a": {"10": 0.1, "2": 0.5, "1": 1}}
    figure = plots.alpha_covariance_lines(rates, paper={}, training=2, title="")
    (line,), (boundary,) = figure.data, figure.layout.shapes
    assert (line.x, line.y) == ((1, 2, 10), (1, 0.5, 0.1))
    assert (boundary.x0, boundary.x1, boundary.layer) == (2.5, 2.5, "below")
    left, right = figure.layout.annotations
    assert (left.xanchor, right.xanchor) == ("right", "left")
    assert left.text.startswith("in training") and "more APs" in right.text


def test_the_papers_lines_are_dashed_and_open_in_the_same_colours():
    ours = {"alpha-renaming": {3: 0.5}, "proposed": {3: 0.7, 4: 0.6}, "canonical": {3: 1.0}}
    paper = paper_alpha_covariance("ltl")
    figure = plots.alpha_covariance_lines(ours, paper=paper, title="")
    lines = {trace.name: trace for trace in figure.data}
    assert set(lines) == {*ours, *(f"{name} (paper)" for name in paper)}
    for name in ("proposed", "alpha-renaming"):
        mine, theirs = lines[name], lines[f"{name} (paper)"]
        assert mine.line.color == theirs.line.color
        assert (mine.line.dash, theirs.line.dash) == ("solid", "dash")
        assert theirs.marker.symbol == f"{mine.marker.symbol}-open"
    assert lines["proposed (paper)"].x == tuple(range(3, 11))
    assert len({trace.line.color for trace in figure.data}) == 4


def test_draws_and_runtimes_are_on_logarithmic_axes():
    rates = {"a": {1: 0.5, 3: 0.6, 10: 0.7}, "b": {1: 0.4, 5: 0.5}}
    figure = plots.solved_against_draws(rates, title="")
    assert figure.layout.xaxis.type == "log" and figure.layout.xaxis.tickvals == (1, 3, 5, 10)
    a, b = figure.data
    assert a.y == (0.5, 0.6, 0.7) and a.line.dash != b.line.dash
    figure = plots.runtime_figure({"naive": ([1, 10], [0.5, NAN]), "fast": ([1, 10], [0.1, 0.2])})
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")
    naive, fast = figure.data
    assert naive.name == "naive" and naive.y[0] == 0.5 and np.isnan(naive.y[1])
    assert naive.line.dash != fast.line.dash and naive.line.color != fast.line.color


def test_curves_hold_the_records():
    records = [{"step": s, "loss": 2.0**-s, "scale": 1.0 * s, "tokens": 7} for s in range(5)]
    records[4]["validation_loss"] = 0.5
    figure = plots.training_curves({"a": records, "b": [{"step": 1, "loss": 3.0}]})
    loss, validation, other, scale = figure.data
    assert list(loss.x) == [0, 1, 2, 3, 4] and list(loss.y) == [1, 0.5, 0.25, 0.125, 0.0625]
    assert list(validation.x) == [4] and list(validation.y) == [0.5]
    assert validation.mode == "markers" and validation.yaxis == loss.yaxis
    assert list(scale.y) == [0, 1, 2, 3, 4] and scale.yaxis != loss.yaxis and list(other.y) == [3]
    assert (figure.layout.yaxis.type, figure.layout.yaxis2.type) == ("log", None)
    assert "yaxis3" not in figure.layout


# matrices and vectors


def test_embedding_matrix_holds_U_the_lines_and_the_rows_in_use():
    U, tokens = np.arange(20.0).reshape(4, 5) - 12, ["<pad>", "x", "a", "b"]
    figure = plots.embedding_matrix(U, tokens, shared_dimensions=3, first_interchangeable=2)
    (heatmap,) = figure.data
    np.testing.assert_array_equal(heatmap.z, U)
    assert list(heatmap.y) == tokens and figure.layout.yaxis.autorange == "reversed"
    assert (figure.layout.coloraxis.cmin, figure.layout.coloraxis.cmax) == (-12, 12)
    down, across = figure.layout.shapes
    assert (down.x0, down.x1) == (2.5, 2.5) and (across.y0, across.y1) == (1.5, 1.5)
    plots.light_rows(figure, {"<pad>", "b"})
    assert [s.y0 + 0.5 for s in figure.layout.shapes if s.fillcolor] == [1, 2]  # veiled
    assert figure.layout.yaxis.ticktext == ("<b>&lt;pad&gt;</b>", "x", "a", "<b>b</b>")


def test_cosine_matrix_holds_the_cosines():
    (heatmap,) = plots.cosine_matrix([[1.0, 0.0], [2.0, 2.0], [0.0, -3.0]], "abc").data
    half = 0.5**0.5
    expected = [[1, half, 0], [half, 1, -half], [0, -half, 1]]
    np.testing.assert_allclose(np.asarray(heatmap.z, float), expected, atol=1e-3)
    with pytest.raises(ValueError, match="row 1 is all zeros"):
        plots.cosine_matrix([[1.0, 0.0], [0.0, 0.0]], "ab")
    with pytest.raises(ValueError, match="tokens: expected one for each of 3 rows of U, found 2"):
        plots.embedding_matrix(np.ones((3, 2)), "ab")


# trees


def nodes(figure) -> list:
    return traces(figure, mode="markers+text")


@given(formulas())
def test_leaves_stand_in_reading_order_and_operators_in_their_middle(formula):
    paths = formula.tree_paths()
    place = dict(zip(paths, tree_places(paths), strict=True))
    below = {path: [p for p in paths if p[:-1] == path and p] for path in paths}
    leaves = [place[path][0] for path in paths if not below[path]]
    assert leaves == list(range(len(leaves))) and len(set(place.values())) == len(paths)
    for path, (x, depth) in place.items():
        assert depth == len(path)
        if below[path]:
            ends = [place[child][0] for child in below[path]]
            assert x == (min(ends) + max(ends)) / 2 and ends == sorted(ends)
    figure = plots.formula_tree([str(i) for i in range(len(paths))], paths)
    drawn = [one for t in nodes(figure) for one in zip(t.text, t.x, t.y, strict=True)]
    assert sorted(drawn) == sorted((str(i), x, -y) for i, (x, y) in enumerate(place.values()))
    assert len(figure.data[0].x) == 3 * (len(paths) - 1) and figure.layout.width <= WIDEST


def test_values_differ_in_colour_and_shape_and_are_named():
    paths = parse_prefix("|&a!b&bc").tree_paths()
    values = ["open", "open", "true", "false", "false", "false", "true", "open"]
    said = [(value, f"said {i}") for i, value in enumerate(values)]
    groups = {t.name: t for t in nodes(plots.formula_tree("|&a!b&bc", paths, values=said))}
    assert set(groups) == set(values) and list(groups["false"].text) == ["!", "b", "&"]
    assert list(groups["false"].hovertext) == ["said 3", "said 4", "said 5"]
    for look_of in ("symbol", "color"):
        assert len({group.marker[look_of] for group in groups.values()}) == 3


def test_what_is_too_large_is_refused():
    with pytest.raises(ValueError, match="tree of 201 nodes: at most 200"):
        plots.formula_tree(["a"] * 201, [(0,) * depth for depth in range(MOST_NODES + 1)])
    with pytest.raises(ValueError, match="61 times: at most 60"):
        plots.lasso_table(["a"], ["b"] * 60, [("a", [True] * 61)])
    with pytest.raises(ValueError, match="cycle: expected at least one"):
        plots.lasso_figure(["a"], [])


# lassos


@given(st.integers(0, 20), st.integers(1, 20))
def test_arrows_lead_from_each_time_to_the_next_and_back_to_the_cycle(prefix, cycle):
    figure = plots.lasso_figure(["a & <b>"] * prefix, ["y"] * cycle)
    ((times,),), places = [nodes(figure)], []
    assert list(times.text) == [str(time) for time in range(prefix + cycle)]
    shown = [note.text for note in figure.layout.annotations]
    assert shown == ["a &amp; &lt;b&gt;"] * prefix + ["y"] * cycle
    places = list(zip(times.x, times.y, strict=True))
    for time, arrow in enumerate(traces(figure, mode="lines+markers")):
        ends = (arrow.x[0], arrow.y[0]), (arrow.x[-1], arrow.y[-1])
        nearest = [min(range(len(places)), key=lambda i: math.dist(places[i], end)) for end in ends]
        assert nearest == [time, [*range(1, prefix + cycle), prefix][time]]
    assert figure.layout.width <= WIDEST


def test_a_table_says_each_status_once_where_it_is():
    rows = [("a", ["holds", "fails", "depends on the word"]), ("G(a <-> b)", [True, False, True])]
    figure = plots.lasso_table(["a"], ["b", "c"], rows)
    found = {}
    for trace in figure.data:
        assert set(trace.text) == {LOOKS[trace.name][0]}
        found |= {(x, y): trace.name for x, y in zip(trace.x, trace.y, strict=True)}
    statuses = ["holds", "fails", "depends on the word", "holds", "fails", "holds"]
    assert found == dict(zip([(x, y) for y in (0, 1) for x in (0, 1, 2)], statuses, strict=True))
    assert list(figure.layout.yaxis.ticktext) == ["a", "G(a &lt;-&gt; b)"]
    (band,) = figure.layout.shapes
    assert (band.x0, band.x1) == (0.5, 2.5), "the cycle, and nothing else, is in the band"


def test_intervals_are_wilsons_by_hand_and_methods_have_their_colours():
    counts = {"alpha-renaming": {6: (30, 40)}, "proposed": {6: (40, 40), 20: (0, 10)}}
    figure = plots.rates_with_intervals(counts, title="", x="names", log=True)
    first, second = figure.data
    z, p, n = 1.959964, 0.75, 40
    middle, half = p + z**2 / (2 * n), z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    low, high = ((middle + sign * half) / (1 + z**2 / n) for sign in (-1, 1))
    assert first.error_y.array[0] == pytest.approx(high - p, abs=1e-6)
    assert first.error_y.arrayminus[0] == pytest.approx(p - low, abs=1e-6)
    assert (second.line.color, first.line.color) == plots.COLOURS[:2]
    assert tuple(second.y) == (1.0, 0.0) and tuple(second.x) == (6, 20)
