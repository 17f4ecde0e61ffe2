"""The drawings of single lessons say what they were given: search, times, graphs, explorer."""

import numpy as np

from itekit.results import shipped
from lessons import figures
from lessons.paper import our_rate
from lessons.rates import newcombe, show_differences, show_rates
from lessons.runs import ahead, counts
from lessons.search_tables import paper_search

# the copying search


def test_each_setting_is_a_point_in_the_panel_of_its_features():
    records, text = paper_search(), figures.features_text
    figure = figures.search_scatter([r for r in records if r["adacos"]], paper=records)
    panels = [note.text for note in figure.layout.annotations]
    assert panels[0] == "f_bn + f_fn + AdaCos" and panels[-1] == "none" and len(panels) == 6
    points = [trace for trace in figure.data if trace.mode == "markers"]
    theirs, drawn = [trace for trace in points if trace.name.endswith("(paper)")], set()
    for trace in theirs:
        panel = panels[int((trace.xaxis or "x")[1:] or 1) - 1]
        method = trace.name.removesuffix(" (paper)").replace(" ", "_")
        drawn |= {(panel, method, *at) for at in zip(trace.customdata, trace.y, strict=True)}
    assert drawn == {(text(r), r["method"], r["d_beta"], r["edit_distance"]) for r in records}


def test_bars_are_hatched_where_chance_may_be_the_reason():
    found = {"f_fn": (-0.3, 1e-7), "d_beta": (0.01, 0.9), "f_bn": (0.1, 0.049)}
    figure = figures.correlation_bars(found, paper={"f_fn": -0.29, "d_beta": 0.01})
    sure, unsure, paper = figure.data
    assert (sure.y, sure.x) == (("f_fn", "f_bn"), (-0.3, 0.1)) and not sure.marker.pattern.shape
    assert (unsure.y, unsure.x) == (("d_beta",), (0.01,)) and unsure.marker.pattern.shape == "/"
    assert dict(zip(paper.y, paper.x, strict=True)) == {"f_fn": -0.29, "d_beta": 0.01}
    said = [note.text for note in figure.layout.annotations]
    assert said == ["r −0.30, p < 0.001", "r +0.01, p 0.90", "r +0.10, p 0.05"]


# solving times and graphs


def test_solving_times_are_relative_to_the_fastest_cell_of_all():
    panels = {"slow": ([[0.02, None]], [[0.0, 0.8]]), "fast": ([[0.002, None]], [[0.0, None]])}
    figure = figures.solving_time_heatmaps(panels, [10, 20], [3], limit=2.0)
    slow, fast = figure.data
    np.testing.assert_allclose(np.asarray(slow.z, float), [[1, 3]], atol=1e-3)
    assert np.isnan(np.asarray(fast.z, float)[0, 1]), "an empty cell stays empty"
    assert "above 2e+03 ms, 80% time-outs" in slow.customdata[0][1]


# rates and their differences


def test_rates_and_differences_are_shown_with_their_intervals(capsys):
    show_rates({"LTL": {"plain": {"new": (13, 20), "none": (0, 0)}}}, "Rates")
    assert capsys.readouterr().out == "Rates. LTL plain, new: 13 of 20, 65.0%.\n"
    show_differences({"heap": None, "ahead": newcombe(56, 70, 48, 80)}, "A", {"ahead": 0.5})
    said = "A. ahead +20.0 points (+5.2 to +33.4); the paper: ahead +50.0.\n"  # Newcombe 1998
    assert capsys.readouterr().out == said


def test_a_difference_is_paired_where_both_results_hold_a_bit_for_each_problem():
    ours, theirs = shipped("ltl/proposed"), shipped("ltl/alpha-renaming")
    for part in ("test", "grid", "known", "more", "1", "6"):
        (k, n), (j, m) = (counts(one)[part] for one in (ours, theirs))
        difference, low, high = ahead(ours, theirs, part)
        _, least, most = newcombe(k, n, j, m)
        assert np.isclose(difference, k / n - j / m) and high - low < most - least, part
    cells = [our_rate(one, "heatmap-mean-correct") for one in (ours, theirs)]
    assert np.isclose(ahead(ours, theirs, "cells")[0], cells[0] - cells[1])
    del ours["result"]["generalization"]["good"]
    assert ahead(ours, theirs, "more") == newcombe(*counts(ours)["more"], *counts(theirs)["more"])
