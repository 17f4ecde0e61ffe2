"""A formula drawn as a tree: a node a token, an operator above its operands.

Paper, section "Experiments": tree positions tell the encoder where in this tree a token stands. A
tree is given as its tokens in prefix order and, for each of them, the path of branches from the
root to it (`tokens()` and `tree_paths()` of `itekit.logic.formulas.Formula`). The nodes can be
shaded, as by the attention that a token of the answer pays to each of them.
"""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from itekit.plots.style import COLOURS, GREY, SYMBOLS, colour_bar, style
from itekit.plots.tree_places import MOST_NODES, Path, checked_weights, path_text, tree_places

__all__ = ["MOST_NODES", "formula_tree", "path_text", "tree_places"]

WIDEST = 1100  # pixels
EDGE, DARK = "#BBBBBB", "#222222"

# Fill, rim, symbol and label colour. Values differ in shape too, for readers who see no colours.
_OPERATOR = ("white", COLOURS[0], "circle", DARK)
_LEAF = ("#EFEFEF", GREY, "circle", DARK)
_SHADED = ("white", GREY, "circle", DARK)
SHADES = "Blues"
_VALUES = {
    "true": (COLOURS[0], COLOURS[0], "circle", "white"),
    "false": (COLOURS[1], COLOURS[1], "square", "white"),
    "open": ("white", GREY, "diamond", DARK),
}


def formula_tree(
    labels: Sequence[str],
    paths: Sequence[Path],
    *,
    values: Sequence[str] | None = None,
    weights: Sequence[float] | None = None,
    notes: Sequence[str] | None = None,
    hover: Sequence[str] | None = None,
    title: str = "",
    weights_title: str = "attention weight",
) -> go.Figure:
    """The tree as a figure.

    Args:
        labels: what is written in each node, in prefix order.
        paths: the branches from the root to each node: 0 the left or only one, 1 the right one.
        values: what is said of each node. Nodes with one value share a colour and a shape, which
            the legend names; "true", "false" and "open" always look the same.
        weights: a number of 0 or more for each node, in place of values: the larger, the darker.
        notes: small text beside each node, such as its path.
        hover: what the pointer shows at each node; its label, path and weight if None.
        weights_title: what the weights are, along the colour bar.

    Raises:
        ValueError: paths that are no tree in prefix order, more than 200 nodes, another number
            of labels, values, weights, notes or hover texts than of paths, both values and
            weights, or a weight below 0.
    """
    each = {"labels": labels, "values": values, "weights": weights, "notes": notes, "hover": hover}
    shades = checked_weights(each, len(paths))
    places = tree_places(paths)
    paths = [tuple(path) for path in paths]
    columns, rows = max(x for x, _ in places) + 1, max(depth for _, depth in places) + 1
    column = min(64 if notes else 46, (WIDEST - 60) / columns)
    row = min(58, max(18, 900 / rows))
    size = min(30, 0.8 * column, 0.8 * row)
    hover = hover or _hover(labels, paths, shades)
    figure = go.Figure(_edges(paths, places))
    for name, look, members in _groups(paths, values, shades is not None):
        figure.add_trace(_nodes(name, look, members, places, labels, hover, size))
    if shades is not None:
        _shade(figure, shades, weights_title)
    if notes is not None:
        _notes(figure, paths, places, notes, size)
    figure.update_xaxes(visible=False, range=[-0.7, columns - 0.3])
    figure.update_yaxes(visible=False, range=[0.4 - rows, 0.6])
    bar = 0 if shades is None else 70
    height = max(3 * bar, int(row * rows)) + 40 + 30 * bool(title) + 30 * bool(values)
    style(figure, title=title, width=max(420, int(column * columns) + 60) + bar, height=height)
    figure.update_layout(margin={"l": 20, "r": 20 + bar, "t": 50 if title else 20, "b": 20})
    if values is not None:
        below = {"orientation": "h", "x": 0.5, "xanchor": "center", "y": 0, "yanchor": "top"}
        figure.update_layout(legend=below, margin_b=50)
    return figure


def _hover(labels: Sequence[str], paths: Sequence[Path], shades: np.ndarray | None) -> list[str]:
    texts = [f"{label}, {path_text(path)}" for label, path in zip(labels, paths, strict=True)]
    if shades is None:
        return texts
    return [f"{text}: {shade:.3g}" for text, shade in zip(texts, shades, strict=True)]


def _shade(figure: go.Figure, shades: np.ndarray, title: str) -> None:
    """Fill the nodes, which are one trace, from white for 0 to the darkest for the largest."""
    top = float(shades.max()) or 1.0
    nodes = figure.data[-1]
    nodes.marker.color = shades
    nodes.textfont.color = ["white" if shade > 0.55 * top else DARK for shade in shades]
    figure.update_layout(
        coloraxis={"colorscale": SHADES, "cmin": 0, "cmax": top, "colorbar": colour_bar(title)}
    )
    nodes.marker.coloraxis = "coloraxis"


def _groups(
    paths: Sequence[Path], values: Sequence[str] | None, shaded: bool
) -> list[tuple[str, tuple[str, ...], list[int]]]:
    """Name, look and nodes of each group: all, the values, or the operators and the leaves."""
    if shaded:
        return [("", _SHADED, list(range(len(paths))))]
    if values is None:
        inner = {path[:-1] for path in paths}
        names = ["operator" if path in inner else "leaf" for path in paths]
        looks = {"operator": _OPERATOR, "leaf": _LEAF}
    else:
        names = list(values)
        others = dict.fromkeys(name for name in names if name not in _VALUES)
        looks = _VALUES | {name: _other_look(number) for number, name in enumerate(others)}
    members = {name: [i for i, own in enumerate(names) if own == name] for name in looks}
    return [
        ("" if values is None else name, looks[name], nodes)
        for name, nodes in members.items()
        if nodes
    ]


def _other_look(number: int) -> tuple[str, ...]:
    colour = COLOURS[(number + 2) % len(COLOURS)]
    return "white", colour, SYMBOLS[number % len(SYMBOLS)], DARK


def _edges(paths: Sequence[Path], places: Sequence[tuple[float, int]]) -> go.Scatter:
    at = dict(zip(paths, places, strict=True))
    x, y = [], []
    for path in paths[1:]:
        (above, higher), (below, lower) = at[path[:-1]], at[path]
        x += [above, below, None]
        y += [-higher, -lower, None]
    line = {"color": EDGE, "width": 1.5}
    return go.Scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip", showlegend=False)


def _nodes(
    name: str,
    look: tuple[str, ...],
    members: list[int],
    places: Sequence[tuple[float, int]],
    labels: Sequence[str],
    hover: Sequence[str],
    size: float,
) -> go.Scatter:
    fill, rim, symbol, label = look
    text = [labels[i] for i in members]
    return go.Scatter(
        x=[places[i][0] for i in members],
        y=[-places[i][1] for i in members],
        text=text,
        mode="markers+text",
        name=name,
        showlegend=bool(name),
        textfont={"color": label, "size": max(8, size * min(0.53, 1.1 / max(map(len, text))))},
        marker={
            "color": fill,
            "symbol": symbol,
            "size": size * (0.9 if symbol == "square" else 1),
            "line": {"color": rim, "width": 2},
        },
        hovertext=[hover[i] for i in members],
        hoverinfo="text",
    )


def _notes(
    figure: go.Figure,
    paths: Sequence[Path],
    places: Sequence[tuple[float, int]],
    notes: Sequence[str],
    size: float,
) -> None:
    """Small text below the leaves and to the right of the operators, clear of the lines."""
    inner = {path[:-1] for path in paths}
    away = size / 2 + 4
    beside = {"xanchor": "left", "yanchor": "middle", "xshift": away}
    below = {"xanchor": "center", "yanchor": "top", "yshift": -away}
    font = {"size": 11, "color": "#555555"}
    for path, (x, depth), note in zip(paths, places, notes, strict=True):
        where = beside if path in inner else below
        figure.add_annotation(x=x, y=-depth, text=note, showarrow=False, font=font, **where)
