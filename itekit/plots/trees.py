"""A formula drawn as a tree: a node a token, an operator above its operands.

Paper, section "Experiments": tree positions tell the encoder where in this tree a token stands. A
tree is given as its tokens in prefix order and, for each of them, the path of branches from the
root to it, 0 the left or only one, 1 the right one (`tokens()` and `tree_paths()` of
`itekit.logic.formulas.Formula`).
"""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from itekit.plots.show import COLOURS, DARK, GREY, SYMBOLS, WIDEST, colour_bar, floats, style

Path = tuple[int, ...]
MOST_NODES = 200
SHADES = "Blues"

# Fill, rim, symbol and label colour. Values differ in shape too, for readers who see no colours.
_SHADED = ("white", GREY, "circle", DARK)
_PLAIN = {
    "operator": ("white", COLOURS[0], "circle", DARK),
    "leaf": ("#EFEFEF", GREY, "circle", DARK),
}
_VALUES = {
    "true": (COLOURS[0], COLOURS[0], "circle", "white"),
    "false": (COLOURS[1], COLOURS[1], "square", "white"),
    "open": ("white", GREY, "diamond", DARK),
}


def path_text(path: Path) -> str:
    """The path in words: "root", or the branches from the root down, such as "0 1"."""
    return " ".join(map(str, path)) or "root"


def tree_places(paths: Sequence[Path]) -> list[tuple[float, int]]:
    """Where each node stands, (x, depth): leaves are one apart, an operator above their middle.

    Raises:
        ValueError: the paths are not those of one tree in prefix order.
    """
    paths = [tuple(path) for path in paths]
    below: dict[Path, list[Path]] = {path: [] for path in paths}
    if paths[:1] != [()] or len(below) < len(paths) or sorted(paths) != paths:
        raise ValueError("paths: expected those of one tree, each once, in prefix order")
    for path in paths[1:]:
        if path[:-1] not in below or path[-1] != len(below[path[:-1]]):
            raise ValueError(f"paths: {path} is there, but not the node above or left of it")
        below[path[:-1]].append(path)
    left = sum(not nodes for nodes in below.values())
    x: dict[Path, float] = {}
    for path in reversed(paths):
        left -= not below[path]
        ends = below[path][:1] + below[path][-1:]
        x[path] = sum(x[end] for end in ends) / 2 if ends else float(left)
    return [(x[path], len(path)) for path in paths]


def shaded_labels(shades: np.ndarray, top: float) -> list[str]:
    """The colours of labels that can be read on nodes so dark."""
    return ["white" if shade > 0.55 * top else DARK for shade in shades]


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
        paths: the branches from the root to each node.
        values: what is said of each node. Nodes with one value share a colour and a shape, which
            the legend names; "true", "false" and "open" always look the same.
        weights: a number of 0 or more for each node, in place of values: the larger, the darker.
        notes: small text beside each node, such as its path.
        hover: what the pointer shows at each node; its label, path and weight if None.
        weights_title: what the weights are, along the colour bar.

    Raises:
        ValueError: paths that are no tree in prefix order, more than 200 nodes, or another number
            of labels, values, weights, notes or hover texts than of paths.
    """
    each = {"labels": labels, "values": values, "weights": weights, "notes": notes, "hover": hover}
    for name, given in each.items():
        if given is not None and len(given) != len(paths):
            found = f"one for each of {len(paths)} nodes, found {len(given)}"
            raise ValueError(f"{name}: expected {found}")
    if len(paths) > MOST_NODES:
        raise ValueError(f"a tree of {len(paths)} nodes: at most {MOST_NODES} are drawn")
    places, paths = tree_places(paths), [tuple(path) for path in paths]
    bar = 0 if weights is None else 70
    columns, rows = max(x for x, _ in places) + 1, max(depth for _, depth in places) + 1
    column = min(64 if notes else 46, (WIDEST - 60 - bar) / columns)
    row = min(58, max(18, 900 / rows))
    size = min(30, 0.8 * column, 0.8 * row)
    figure, inner = go.Figure(), {path[:-1] for path in paths if path}
    _edges(figure, dict(zip(paths, places, strict=True)))
    hover = hover or [f"{la}, {path_text(path)}" for la, path in zip(labels, paths, strict=True)]
    if weights is not None and each["hover"] is None:
        hover = [f"{text}: {shade:.3g}" for text, shade in zip(hover, weights, strict=True)]
    nodes = [(x, -y, *two) for (x, y), *two in zip(places, labels, hover, strict=True)]
    if weights is not None:
        _nodes(figure, "", _SHADED, nodes, size)
        _shade(figure, floats("weights", weights, dimensions=1), weights_title)
    else:
        kinds = values or ["operator" if path in inner else "leaf" for path in paths]
        looks = _PLAIN if values is None else _VALUES
        others = dict.fromkeys(kind for kind in kinds if kind not in looks)
        looks = looks | {kind: _other_look(number) for number, kind in enumerate(others)}
        for kind, look in looks.items():
            if own := [node for node, one in zip(nodes, kinds, strict=True) if one == kind]:
                _nodes(figure, kind if values else "", look, own, size)
    away = size / 2 + 4  # notes stand clear of the lines: beside operators, below leaves
    small = {"font": {"size": 11, "color": "#555555"}, "showarrow": False}
    for path, (x, depth), note in zip(paths, places, notes or (), strict=False):
        where = {"xanchor": "center", "yanchor": "top", "yshift": -away}
        if path in inner:
            where = {"xanchor": "left", "yanchor": "middle", "xshift": away}
        figure.add_annotation(x=x, y=-depth, text=note, **small, **where)
    figure.update_xaxes(visible=False, range=[-0.7, columns - 0.3])
    figure.update_yaxes(visible=False, range=[0.4 - rows, 0.6])
    height = max(3 * bar, int(row * rows)) + 40 + 30 * bool(title) + 30 * bool(values)
    style(figure, title=title, width=max(420, int(column * columns) + 60) + bar, height=height)
    figure.update_layout(margin={"l": 20, "r": 20 + bar, "t": 50 if title else 20, "b": 20})
    if values is not None:
        below = {"orientation": "h", "x": 0.5, "xanchor": "center", "y": 0, "yanchor": "top"}
        figure.update_layout(legend=below, margin_b=50)
    return figure


def _other_look(number: int) -> tuple[str, ...]:
    return "white", COLOURS[(number + 2) % len(COLOURS)], SYMBOLS[number % len(SYMBOLS)], DARK


def _edges(figure: go.Figure, at: dict[Path, tuple[float, int]]) -> None:
    """A line to each node but the root."""
    x, y = [], []
    for path in list(at)[1:]:
        (above, higher), (below, lower) = at[path[:-1]], at[path]
        x += [above, below, None]
        y += [-higher, -lower, None]
    line = {"color": "#BBBBBB", "width": 1.5}
    figure.add_scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip", showlegend=False)


def _nodes(figure: go.Figure, name: str, look: tuple, nodes: list[tuple], size: float) -> None:
    """Nodes of one look, (x, y, label, what the pointer shows) each, as one trace."""
    (x, y, text, hover), (fill, rim, symbol, label) = zip(*nodes, strict=True), look
    across = size * (0.9 if symbol == "square" else 1)
    letters = max(8, size * min(0.53, 1.1 / max(map(len, text))))
    marker = {"color": fill, "symbol": symbol, "size": across, "line": {"color": rim, "width": 2}}
    write = {"text": text, "textfont": {"color": label, "size": letters}, "mode": "markers+text"}
    shown = {"name": name, "showlegend": bool(name), "hovertext": hover, "hoverinfo": "text"}
    figure.add_scatter(x=x, y=y, marker=marker, **write, **shown)


def _shade(figure: go.Figure, shades: np.ndarray, title: str) -> None:
    """Fill the nodes, which are one trace, from white for 0 to the darkest for the largest."""
    top = float(shades.max()) or 1.0
    figure.data[-1].marker.update(color=shades, coloraxis="coloraxis")
    figure.data[-1].textfont.color = shaded_labels(shades, top)
    scale = {"colorscale": SHADES, "cmin": 0, "cmax": top, "colorbar": colour_bar(title)}
    figure.update_layout(coloraxis=scale)
