"""Figures hold what they were given, and `show` fits them into JupyterLab."""

import base64
import importlib
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

look = importlib.import_module("lessons.plots.show")  # `plots.show` is the function
PLOTLY = "application/vnd.plotly.v1+json"
NAN = float("nan")


def traces(figure: go.Figure, mode: str) -> list:
    return [trace for trace in figure.data if trace.mode == mode]


def named(figure: go.Figure, name: str) -> list:
    return [trace for trace in figure.data if (trace.name or "").startswith(name)]


def corners(box) -> tuple:
    return min(box.x), max(box.x), min(box.y), max(box.y)


# heatmaps


def test_heatmaps_hold_the_grids_on_one_scale_and_the_boxes_of_training():
    unique, length = np.mgrid[3:31, 3:31]  # a string has no more unique characters than its length
    grid, axis = np.where(unique <= length, unique + length / 100, NAN), range(3, 31)
    panels = [("a", grid, 5, (5, 10)), ("b", 3 * grid, 20, (40, 50))]
    figure = plots.edit_distance_heatmaps(panels, lengths=axis, uniques=axis)
    one, other = (trace for trace in figure.data if trace.type == "heatmap")
    np.testing.assert_allclose(np.asarray(one.z, float), grid, atol=1e-4)
    assert list(one.x) == list(one.y) == list(axis) and one.coloraxis == other.coloraxis
    assert figure.layout.coloraxis.cmax == pytest.approx(3 * np.nanmax(grid))
    assert figure.layout.annotations[0].text == f"a: mean {np.nanmean(grid):.2f}"
    assert list(figure.layout.yaxis.range) == [30.5, 2.5]  # rows go down, as in a matrix
    assert [corners(box) for box in named(figure, "training data")] == [(4.5, 10.5, 2.5, 5.5)]
    assert figure.layout.width <= WIDEST


def test_rates_their_paleness_their_rows_and_the_whole():
    samples = np.array([[20, 10, 5, 0], [0, 20, 20, 1], [0, 0, 20, 20]])
    correct = np.array([[20, 5, 0, 0], [0, 20, 10, 1], [0, 0, 5, 15]])
    axes = {"lengths": [3, 5, 7, 9], "propositions": [1, 2, 4], "title": "t"}
    figure = plots.rate_heatmaps([("m", samples, correct, 2, (5, 7))], **axes)
    (cells,), (pale,) = named(figure, "correct"), named(figure, "paleness")
    there = samples > 0
    rates, white = (np.where(there, x, NAN) for x in (correct / samples.clip(1), 1 - samples / 20))
    np.testing.assert_allclose(np.asarray(cells.z, float), rates, atol=1e-4)
    np.testing.assert_allclose(np.asarray(pale.z, float), white, atol=1e-6)
    notes = [note.text for note in figure.layout.annotations]
    assert notes[0] == f"m: {correct.sum() / samples.sum():.1%} correct"
    assert notes[-3:] == ["71%", "76%", "50%"]  # 25 of 35, 31 of 41, 20 of 40
    (box,) = named(figure, "training data")
    assert corners(box) == (4, 8, 0.5, 3)  # borders lie between the cells: axes may have gaps


# lines


def test_the_papers_lines_are_dashed_and_open_in_the_same_colours():
    ours = {"alpha-renaming": {"10": 0.5, "3": 1.0}, "proposed": {3: 0.7, 4: 0.6}}
    paper = paper_alpha_covariance("ltl")
    figure = plots.alpha_covariance_lines(ours, paper=paper, title="", training=5)
    lines = {trace.name: trace for trace in figure.data}
    assert set(lines) == {*ours, *(f"{name} (paper)" for name in paper)}
    for name in ours:
        mine, theirs = lines[name], lines[f"{name} (paper)"]
        assert mine.line.color == theirs.line.color
        assert (mine.line.dash, theirs.line.dash) == ("solid", "dash")
        assert theirs.marker.symbol == f"{mine.marker.symbol}-open"
    assert (lines["alpha-renaming"].x, lines["alpha-renaming"].y) == ((3, 10), (1.0, 0.5))
    assert [boundary.x0 for boundary in figure.layout.shapes] == [5.5]


def test_curves_hold_the_records():
    records = [{"step": s, "loss": 2.0**-s, "scale": 1.0 * s, "tokens": 7} for s in range(5)]
    records[4]["validation_loss"] = 0.5
    figure = plots.training_curves({"a": records, "b": [{"step": 1, "loss": 3.0}]})
    (loss, other), (scale,) = named(figure, "a")[:1] + named(figure, "b"), named(figure, "a")[2:]
    validation = named(figure, "a, validation")[0]
    assert list(loss.x) == [0, 1, 2, 3, 4] and list(loss.y) == [1, 0.5, 0.25, 0.125, 0.0625]
    assert list(validation.x) == [4] and list(validation.y) == [0.5]
    assert validation.mode == "markers" and validation.yaxis == loss.yaxis
    assert list(scale.y) == [0, 1, 2, 3, 4] and scale.yaxis != loss.yaxis and list(other.y) == [3]


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


# matrices


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


# trees and lassos


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
    nodes = traces(figure, "markers+text")
    drawn = [one for t in nodes for one in zip(t.text, t.x, t.y, strict=True)]
    assert sorted(drawn) == sorted((str(i), x, -y) for i, (x, y) in enumerate(place.values()))
    assert figure.layout.width <= WIDEST


def test_values_differ_in_colour_and_shape_and_are_named():
    paths = parse_prefix("|&a!b&bc").tree_paths()
    values = ["open", "open", "true", "false", "false", "false", "true", "open"]
    said = [(value, f"said {i}") for i, value in enumerate(values)]
    figure = plots.formula_tree("|&a!b&bc", paths, values=said)
    groups = {t.name: t for t in traces(figure, "markers+text")}
    assert set(groups) == set(values) and list(groups["false"].text) == ["!", "b", "&"]
    assert list(groups["false"].hovertext) == ["said 3", "said 4", "said 5"]
    for look_of in ("symbol", "color"):
        assert len({group.marker[look_of] for group in groups.values()}) == 3
    with pytest.raises(ValueError, match="tree of 201 nodes: at most 200"):
        plots.formula_tree(["a"] * 201, [(0,) * depth for depth in range(MOST_NODES + 1)])


@given(st.integers(0, 20), st.integers(1, 20))
def test_arrows_lead_from_each_time_to_the_next_and_back_to_the_cycle(prefix, cycle):
    figure = plots.lasso_figure(["a & <b>"] * prefix, ["y"] * cycle)
    (times,) = traces(figure, "markers+text")
    shown = [note.text for note in figure.layout.annotations]
    assert shown == ["a &amp; &lt;b&gt;"] * prefix + ["y"] * cycle
    places = list(zip(times.x, times.y, strict=True))
    for time, arrow in enumerate(traces(figure, "lines+markers")):
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
    with pytest.raises(ValueError, match="61 times: at most 60"):
        plots.lasso_table(["a"], ["b"] * 60, [("a", [True] * 61)])


# show


@pytest.mark.parametrize("picture", [None, b"picture"])
def test_show_gives_one_output_that_fits_with_a_picture_of_its_size(monkeypatch, picture):
    outputs, figure = [], go.Figure(layout={"width": 1700})
    monkeypatch.delenv("ITEKIT_SCALE", raising=False)
    monkeypatch.setattr("IPython.get_ipython", lambda: object())
    monkeypatch.setattr("IPython.display.display", lambda data, **more: outputs.append(data))
    monkeypatch.setattr(look, "png_bytes", lambda figure: picture)
    plots.show(figure, "nothing")
    (data,) = outputs
    assert base64.b64decode(data.get("image/png", "")) == (picture or b"")
    assert data[PLOTLY]["layout"]["width"] == WIDEST and figure.layout.width == 1700
    assert data["text/plain"] == data[PLOTLY]["layout"]["meta"]["alt"] == "nothing"
    assert data[PLOTLY]["config"]["scrollZoom"] is False, "the wheel scrolls the page"


def test_show_outside_a_notebook_prints_the_text(capsys):
    plots.show(go.Figure(), "two points")
    assert capsys.readouterr().out == "two points\n"


@pytest.mark.parametrize("works", [False, True])
def test_a_chrome_draws_a_picture_of_the_size_and_one_that_fails_warns(
    tmp_path, monkeypatch, works
):
    chrome, figure = tmp_path / "chrome", plots.cosine_matrix(np.eye(3), "abc")
    chrome.write_text("#!/bin/sh\nexit 3\n")
    chrome.chmod(0o755)
    look._browser_works.cache_clear()
    if works:
        if (picture := plots.png_bytes(figure)) is None:
            pytest.skip("no Chrome or Chromium here")
        size = int.from_bytes(picture[16:20]), int.from_bytes(picture[20:24])
        assert size == (figure.layout.width, figure.layout.height) and len(picture) < 20_000
        return
    monkeypatch.setenv("BROWSER_PATH", str(chrome))
    with pytest.warns(RuntimeWarning, match="interactive only: the browser made no picture"):
        assert plots.png_bytes(figure) is None
    look._browser_works.cache_clear()
