"""A formula drawn as a tree: a node a token, an operator above its operands.

Paper, section "Experiments": tree positions tell the encoder where in this tree a token stands. A
tree is given as its tokens in prefix order and, for each of them, the path of branches from the
root to it (`tokens()` and `tree_paths()` of `itekit.logic.formulas.Formula`).
"""

from collections.abc import Sequence

import plotly.graph_objects as go

from itekit.plots.style import COLOURS, GREY, SYMBOLS, style

MOST_NODES = 200
WIDEST = 1100  # pixels
EDGE, DARK = "#BBBBBB", "#222222"

# Fill, rim, symbol and label colour. Values differ in shape too, for readers who see no colours.
_OPERATOR = ("white", COLOURS[0], "circle", DARK)
_LEAF = ("#EFEFEF", GREY, "circle", DARK)
_VALUES = {
    "true": (COLOURS[0], COLOURS[0], "circle", "white"),
    "false": (COLOURS[1], COLOURS[1], "square", "white"),
    "open": ("white", GREY, "diamond", DARK),
}

Path = tuple[int, ...]


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


def formula_tree(
    labels: Sequence[str],
    paths: Sequence[Path],
    *,
    values: Sequence[str] | None = None,
    notes: Sequence[str] | None = None,
    hover: Sequence[str] | None = None,
    title: str = "",
) -> go.Figure:
    """The tree as a figure.

    Args:
        labels: what is written in each node, in prefix order.
        paths: the branches from the root to each node: 0 the left or only one, 1 the right one.
        values: what is said of each node. Nodes with one value share a colour and a shape, which
            the legend names; "true", "false" and "open" always look the same.
        notes: small text beside each node, such as its path.
        hover: what the pointer shows at each node; its label and path if None.

    Raises:
        ValueError: paths that are no tree in prefix order, more than 200 nodes, or another number
            of labels, values, notes or hover texts than of paths.
    """
    for name, given in ("labels", labels), ("values", values), ("notes", notes), ("hover", hover):
        if given is not None and len(given) != len(paths):
            wanted = f"one for each of {len(paths)} nodes"
            raise ValueError(f"{name}: expected {wanted}, found {len(given)}")
    if len(paths) > MOST_NODES:
        raise ValueError(f"a tree of {len(paths)} nodes: at most {MOST_NODES} are drawn")
    places = tree_places(paths)
    paths = [tuple(path) for path in paths]
    columns, rows = max(x for x, _ in places) + 1, max(depth for _, depth in places) + 1
    column = min(64 if notes else 46, (WIDEST - 60) / columns)
    row = min(58, max(18, 900 / rows))
    size = min(30, 0.8 * column, 0.8 * row)
    hover = hover or [f"{label}, {path_text(p)}" for label, p in zip(labels, paths, strict=True)]
    figure = go.Figure(_edges(paths, places))
    for name, look, members in _groups(paths, values):
        figure.add_trace(_nodes(name, look, members, places, labels, hover, size))
    if notes is not None:
        _notes(figure, paths, places, notes, size)
    figure.update_xaxes(visible=False, range=[-0.7, columns - 0.3])
    figure.update_yaxes(visible=False, range=[0.4 - rows, 0.6])
    height = int(row * rows) + 40 + 30 * bool(title) + 30 * bool(values)
    style(figure, title=title, width=max(420, int(column * columns) + 60), height=height)
    figure.update_layout(margin={"l": 20, "r": 20, "t": 50 if title else 20, "b": 20})
    if values is not None:
        below = {"orientation": "h", "x": 0.5, "xanchor": "center", "y": 0, "yanchor": "top"}
        figure.update_layout(legend=below, margin_b=50)
    return figure


def _groups(
    paths: Sequence[Path], values: Sequence[str] | None
) -> list[tuple[str, tuple[str, ...], list[int]]]:
    """Name, look and nodes of each group: the values, or the operators and the leaves."""
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
