"""Lassos, their tables, solving times and drawn graphs: the figures hold what they were given."""

import math
import shutil
import subprocess
import xml.etree.ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from itekit import plots
from itekit.plots import graphviz
from itekit.plots.lasso_tables import LOOKS
from itekit.plots.solving_time import relative_text

LABELS = st.lists(st.text("ab &<|", min_size=1, max_size=9), max_size=6)


def arrows(figure) -> list:
    return [trace for trace in figure.data if trace.mode == "lines+markers"]


# lassos


@given(LABELS, LABELS.filter(bool))
def test_a_lasso_has_a_node_a_label_and_an_arrow_for_each_time(prefix, cycle):
    figure = plots.lasso_figure(prefix, cycle)
    (nodes,) = [trace for trace in figure.data if trace.mode == "markers+text"]
    assert list(nodes.text) == [str(time) for time in range(len(prefix + cycle))]
    shown = [
        note.text.replace("&lt;", "<").replace("&amp;", "&") for note in figure.layout.annotations
    ]
    assert shown == prefix + cycle
    assert len(arrows(figure)) == len(prefix + cycle)


@given(st.integers(0, 4), st.integers(1, 7))
def test_arrows_lead_from_each_time_to_the_next_and_back_to_the_cycle(prefix, cycle):
    figure = plots.lasso_figure(["x"] * prefix, ["y"] * cycle)
    (nodes,) = [trace for trace in figure.data if trace.mode == "markers+text"]
    places = list(zip(nodes.x, nodes.y, strict=True))
    following = [*range(1, prefix + cycle), prefix]
    for time, arrow in enumerate(arrows(figure)):
        ends = (arrow.x[0], arrow.y[0]), (arrow.x[-1], arrow.y[-1])
        nearest = [min(range(len(places)), key=lambda i: math.dist(places[i], end)) for end in ends]
        assert nearest == [time, following[time]]


def test_the_cycle_is_a_circle_and_the_prefix_a_line():
    (nodes,) = [t for t in plots.lasso_figure("ab", "cdefg").data if t.mode == "markers+text"]
    x, y = np.array(nodes.x), np.array(nodes.y)
    assert (y[:2] == 0).all() and (np.diff(x[:2]) > 0).all()
    middle = x[2] + (max(x[2:]) - x[2]) / 2, 0
    radii = np.hypot(x[2:] - np.mean(x[2:]), y[2:])
    np.testing.assert_allclose(radii, radii[0])
    assert middle[0] > x[1]


# tables


def test_a_table_says_each_status_once_where_it_is():
    rows = [("a", ["holds", "fails", "depends on the word"]), ("G(a <-> b)", [True, False, True])]
    figure = plots.lasso_table(["a"], ["b", "c"], rows)
    found = {}
    for trace in figure.data:
        assert set(trace.text) == {LOOKS[trace.name][0]}
        found |= {(x, y): trace.name for x, y in zip(trace.x, trace.y, strict=True)}
    assert found == {
        (0, 0): "holds",
        (1, 0): "fails",
        (2, 0): "depends on the word",
        (0, 1): "holds",
        (1, 1): "fails",
        (2, 1): "holds",
    }
    assert list(figure.layout.yaxis.ticktext) == ["a", "G(a &lt;-&gt; b)"]
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1], "the first row is on top"
    assert [t.split("<br>")[0] for t in figure.layout.xaxis.ticktext] == ["a", "b", "c"]
    (band,) = figure.layout.shapes
    assert (band.x0, band.x1) == (0.5, 2.5), "the cycle, and nothing else, is in the band"


def test_signs_tell_statuses_apart_without_colour():
    assert len({sign for sign, _, _ in LOOKS.values()}) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a"], [], [("a", ["holds"])]), "cycle: expected at least one"),
        ((["a"], ["b"] * 60, [("a", ["holds"] * 61)]), "61 times: at most 60"),
        (([], ["b"], []), "rows: expected at least one"),
        (([], ["b"], [("a", ["holds", "holds"])]), "row 'a': expected 1 statuses, found 2"),
        (([], ["b"], [("a", ["maybe"])]), "row 'a', time 0: 'maybe' is none of 'holds'"),
    ],
)
def test_bad_tables_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        plots.lasso_table(*arguments)


def test_bad_lassos_are_refused():
    with pytest.raises(ValueError, match="cycle"):
        plots.lasso_figure(["a"], [])


# solving times


def test_solving_times_are_relative_to_the_fastest_cell_of_all():
    panels = {
        "slow": ([[0.02, None]], [[0.0, 0.8]]),
        "fast": ([[0.002, None]], [[0.0, None]]),
    }
    figure = plots.solving_time_heatmaps(panels, [10, 20], [3], limit=2.0)
    slow, fast = figure.data
    np.testing.assert_allclose(np.asarray(slow.z, float), [[1, 3]], atol=1e-3)
    assert np.asarray(slow.text).tolist() == [["10", ">1000"]]
    assert np.asarray(fast.text).tolist() == [["1.0", ""]]
    assert np.isnan(np.asarray(fast.z, float)[0, 1]), "an empty cell stays empty"
    assert figure.layout.coloraxis.cmax == pytest.approx(3)
    assert "above 2e+03 ms, 80% time-outs" in slow.customdata[0][1]


@pytest.mark.parametrize(
    ("value", "text"),
    [(1, "1.0"), (9.94, "9.9"), (9.96, "10"), (9949, "9949"), (12_345, "12k"), (math.nan, "")],
)
def test_relative_times_are_short(value, text):
    assert relative_text(value) == text and len(text) <= 4


@pytest.mark.parametrize(
    ("panel", "message"),
    [
        (([[1.0]], [[0.0]]), r"expected shape \(1, 2\), found \(1, 1\)"),
        (([[None, None]], [[None, None]]), "times above 0"),
        (([[0.0, 1.0]], [[0.0, 0.0]]), "times above 0"),
        (([["a", 1.0]], [[0.0, 0.0]]), "expected numbers"),
    ],
)
def test_bad_times_are_refused(panel, message):
    with pytest.raises(ValueError, match=message):
        plots.solving_time_heatmaps({"x": panel}, [10, 20], [3], limit=1.0)


# graphs

GRAPH = 'digraph g { start [label=""]; start -> 0; 0 -> 0 [label=" a & b "]; }'


def test_a_graph_is_drawn_with_its_labels_and_a_title():
    if graphviz.find_dot() is None:
        pytest.skip("no dot here")
    svg = plots.graph_svg(GRAPH, "an <automaton>")
    root = xml.etree.ElementTree.fromstring(svg)
    words = [e.text.strip() for e in root.iter() if e.tag.endswith("text") and e.text.strip()]
    assert sorted(words) == ["0", "a & b"]
    titles = [e.text for e in root.iter() if e.tag.endswith("title")]
    assert titles == ["an <automaton>"] and root.get("role") == "img"
    with pytest.raises(ValueError, match="dot: .*syntax error"):
        plots.graph_svg("digraph {")


def test_without_dot_the_text_is_shown(monkeypatch, capsys):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert plots.graph_svg(GRAPH) is None
    plots.show_graph(GRAPH, "0 -> 0   a & b", "an automaton")
    assert capsys.readouterr().out == "0 -> 0   a & b\n"


def test_a_drawing_that_takes_too_long_is_no_drawing(monkeypatch):
    def hangs(*_, **options):
        raise subprocess.TimeoutExpired("dot", options["timeout"])

    monkeypatch.setattr(graphviz, "find_dot", lambda: "dot")
    monkeypatch.setattr(subprocess, "run", hangs)
    assert plots.graph_svg(GRAPH) is None
