"""Formulas as trees: places, looks, and what does not fit."""

import pytest
from hypothesis import given
from logical import formulas

from itekit import plots
from itekit.logic.operators import PROPOSITIONAL
from itekit.logic.prefix import parse_prefix, to_prefix
from itekit.plots.trees import MOST_NODES, formula_tree, path_text, tree_places

TREES = formulas(PROPOSITIONAL, leaves=20).map(to_prefix)


def tree(text: str) -> tuple[list[str], list[tuple[int, ...]]]:
    """Labels and paths of a formula in prefix notation."""
    formula = parse_prefix(text, PROPOSITIONAL)
    return list(formula.tokens()), formula.tree_paths()


def nodes(figure) -> list:
    """The traces that hold nodes."""
    return [trace for trace in figure.data if trace.mode == "markers+text"]


@given(TREES)
def test_leaves_stand_in_reading_order_and_operators_in_their_middle(text):
    labels, paths = tree(text)
    place = dict(zip(paths, tree_places(paths), strict=True))
    below = {path: [p for p in paths if p[:-1] == path and p] for path in paths}
    leaves = [place[path][0] for path in paths if not below[path]]
    assert leaves == list(range(len(leaves)))
    for path, (x, depth) in place.items():
        assert depth == len(path)
        if below[path]:
            ends = [place[child][0] for child in below[path]]
            assert x == (min(ends) + max(ends)) / 2 and ends == sorted(ends)
    assert len(set(place.values())) == len(labels), "no two nodes in one place"


@given(TREES)
def test_figure_has_every_token_once_and_a_line_to_each_but_the_root(text):
    labels, paths = tree(text)
    figure = formula_tree(labels, paths)
    drawn = [
        (x, -y, label)
        for trace in nodes(figure)
        for x, y, label in zip(trace.x, trace.y, trace.text, strict=True)
    ]
    expected = [(*place, label) for place, label in zip(tree_places(paths), labels, strict=True)]
    assert sorted(drawn) == sorted(expected)
    (lines,) = [trace for trace in figure.data if trace.mode == "lines"]
    assert len(lines.x) == 3 * (len(paths) - 1)
    low, high = figure.layout.yaxis.range
    assert all(low < y < high for trace in nodes(figure) for y in trace.y)


def test_operators_and_leaves_look_different_without_values():
    inner, leaves = nodes(formula_tree(*tree("&a!b")))
    assert list(inner.text) == ["&", "!"] and list(leaves.text) == ["a", "b"]
    assert inner.marker.color != leaves.marker.color
    assert not inner.showlegend and not leaves.showlegend


def test_values_differ_in_colour_and_shape_and_are_named():
    labels, paths = tree("|&a!b&bc")
    values = ["open", "open", "open", "true", "false", "false", "false", "other"]
    groups = {trace.name: trace for trace in nodes(formula_tree(labels, paths, values=values))}
    assert set(groups) == set(values)
    assert list(groups["false"].text) == ["b", "&", "b"]
    looks = {name: groups[name].marker for name in ("true", "false", "open")}
    assert len({look.symbol for look in looks.values()}) == 3
    assert len({look.color for look in looks.values()}) == 3
    assert all(trace.showlegend for trace in groups.values())
    again = {trace.name: trace for trace in nodes(formula_tree(["a"], [()], values=["true"]))}
    assert again["true"].marker.color == looks["true"].color


def test_notes_stand_beside_operators_and_below_leaves():
    labels, paths = tree("&a!b")
    figure = formula_tree(labels, paths, notes=[path_text(path) for path in paths])
    notes = {note.text: note for note in figure.layout.annotations}
    assert list(notes) == ["root", "0", "1", "1 0"]
    assert notes["root"].xanchor == notes["1"].xanchor == "left"
    assert notes["0"].yshift < 0 and notes["1 0"].yshift < 0
    assert (notes["1 0"].x, notes["1 0"].y) == (1, -2)


def test_the_pointer_shows_label_and_path_or_what_is_given():
    labels, paths = tree("!a")
    assert [trace.hovertext[0] for trace in nodes(formula_tree(labels, paths))] == [
        "!, root",
        "a, 0",
    ]
    given = nodes(formula_tree(labels, paths, hover=["not a", "just a"]))
    assert [trace.hovertext[0] for trace in given] == ["not a", "just a"]


def test_large_trees_fit_and_larger_ones_are_refused():
    chain = ["!"] * (MOST_NODES - 1) + ["a"]
    paths = [(0,) * depth for depth in range(MOST_NODES)]
    assert formula_tree(chain, paths).layout.height < 4000
    wide = "&" * 99 + "a" * 100
    figure = formula_tree(*tree(wide))
    assert figure.layout.width <= 1100
    with pytest.raises(ValueError, match=f"tree of {MOST_NODES + 1} nodes: at most {MOST_NODES}"):
        formula_tree(["!", *chain], [*paths, (0,) * MOST_NODES])


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        ([], "one tree"),
        ([(0,)], "one tree"),
        ([(), (0,), (0,)], "each once"),
        ([(), (1,), (0,)], "in prefix order"),
        ([(), (1,)], r"\(1,\) is there, but not the node above or left"),
        ([(), (0,), (1, 0)], r"\(1, 0\) is there"),
    ],
)
def test_paths_that_are_no_tree_are_refused(paths, message):
    with pytest.raises(ValueError, match=message):
        tree_places(paths)


@pytest.mark.parametrize("name", ["labels", "values", "notes", "hover"])
def test_one_of_each_for_every_node(name):
    given = {"labels": ["!", "a"], name: ["x"]}
    with pytest.raises(ValueError, match=f"{name}: expected one for each of 2 nodes, found 1"):
        formula_tree(paths=[(), (0,)], **given)


def test_the_tree_is_one_of_the_plots():
    assert plots.formula_tree is formula_tree
