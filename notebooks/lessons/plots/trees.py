"""A formula drawn as a tree: a node a token, an operator above its operands.

A tree is given as the `tokens()` and the `tree_paths()` of a `Formula`.
"""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from lessons.plots.show import COLOURS, DARK, GREY, WIDEST, colour_bar, colours, style

Path = tuple[int, ...]
MOST_NODES = 200
SHADES = "Blues"

LOOKS = {  # fill, rim, symbol and label colour; values differ in shape too
    "": ("white", GREY, "circle", DARK),  # shaded by its weight
    "operator": ("white", COLOURS[0], "circle", DARK),
    "leaf": ("#EFEFEF", GREY, "circle", DARK),
    "true": (COLOURS[0], COLOURS[0], "circle", "white"),
    "false": (COLOURS[1], COLOURS[1], "square", "white"),
    "open": ("white", GREY, "diamond", DARK),
}


def tree_places(paths: Sequence[Path]) -> list[tuple[float, int]]:
    """Where each node stands, (x, depth): leaves are one apart, an operator above their middle."""
    left, x = len(paths) - len({path[:-1] for path in paths[1:]}), {}
    for path in reversed(paths):
        below = [x[branch] for branch in ((*path, 0), (*path, 1)) if branch in x]
        left -= not below
        x[path] = sum(below) / len(below) if below else float(left)
    return [(x[path], len(path)) for path in paths]


def shaded_labels(shades: np.ndarray, top: float) -> list[str]:
    """The colours of labels that can be read on nodes so dark."""
    return ["white" if shade > 0.55 * top else DARK for shade in shades]


def formula_tree(
    labels: Sequence[str],
    paths: Sequence[Path],
    *,
    values: Sequence[tuple[str, str]] | None = None,
    weights: Sequence[float] | None = None,
    notes: Sequence[str] | None = None,
    title: str = "",
) -> go.Figure:
    """The tree as a figure; ValueError for more than 200 nodes.

    Args:
        labels, paths: the text of each node, in prefix order, and its branches from the root.
        values: of each node "true", "false" or "open", and what the pointer shows there; without
            values the pointer shows label, branches from the root, and weight.
        weights: an attention weight for each node, in place of values: the larger, the darker.
        notes: small text beside each node, such as its path.
    """
    if len(paths) > MOST_NODES:
        raise ValueError(f"a tree of {len(paths)} nodes: at most {MOST_NODES} are drawn")
    places, inner = tree_places(paths), {path[:-1] for path in paths if path}
    bar = 0 if weights is None else 70
    columns, rows = max(x for x, _ in places) + 1, max(depth for _, depth in places) + 1
    column = min(64 if notes else 46, (WIDEST - 60 - bar) / columns)
    row = min(58, max(18, 900 / rows))
    size = min(30, 0.8 * column, 0.8 * row)
    named = zip(labels, paths, strict=True)
    hover = [f"{label}, {' '.join(map(str, path)) or 'root'}" for label, path in named]
    kinds = ["operator" if path in inner else "leaf" for path in paths]
    if values:
        kinds, hover = zip(*values, strict=True)
    elif weights is not None:
        kinds = [""] * len(paths)
        hover = [f"{text}: {weight:.3g}" for text, weight in zip(hover, weights, strict=True)]
    figure = go.Figure().update_layout(showlegend=values is not None)
    at, lines = dict(zip(paths, places, strict=True)), []
    for path in paths[1:]:
        lines += [at[path[:-1]], at[path], (None, 0)]
    line = {"mode": "lines", "line": {"color": "#BBBBBB", "width": 1.5}, "hoverinfo": "skip"}
    figure.add_scatter(x=[x for x, _ in lines], y=[-y for _, y in lines], showlegend=False, **line)
    nodes = list(zip(places, labels, hover, kinds, strict=True))
    for kind, (fill, rim, symbol, ink) in LOOKS.items():
        if own := [(x, -y, *texts) for (x, y), *texts, k in nodes if k == kind]:
            x, y, text, said = zip(*own, strict=True)
            across = size * (0.9 if symbol == "square" else 1)
            letters = max(8, size * min(0.53, 1.1 / max(map(len, text))))
            line = {"color": rim, "width": 2}
            marker = {"color": fill, "symbol": symbol, "size": across, "line": line}
            write = {"text": text, "textfont": {"color": ink, "size": letters}}
            shown = {"mode": "markers+text", "hovertext": said, "hoverinfo": "text", **write}
            figure.add_scatter(x=x, y=y, name=kind, marker=marker, **shown)
    if weights is not None:
        shades = np.asarray(weights, float)
        top = float(shades.max()) or 1.0
        figure.data[-1].marker.update(color=shades, coloraxis="coloraxis")
        figure.data[-1].textfont.color = shaded_labels(shades, top)
        scale = colours(SHADES, 0, top, colour_bar("attention weight"))
        figure.update_layout(coloraxis=scale)
    away = size / 2 + 4  # notes stand clear of the lines: beside operators, below leaves
    small = {"font": {"size": 11, "color": "#555555"}, "showarrow": False}
    for path, (x, depth), note in zip(paths, places, notes, strict=True) if notes else ():
        where = {"xanchor": "center", "yanchor": "top", "yshift": -away}
        if path in inner:
            where = {"xanchor": "left", "yanchor": "middle", "xshift": away}
        figure.add_annotation(x=x, y=-depth, text=note, **small, **where)
    figure.update_xaxes(visible=False, range=[-0.7, columns - 0.3])
    figure.update_yaxes(visible=False, range=[0.4 - rows, 0.6])
    height = max(3 * bar, int(row * rows)) + 40 + 30 * bool(title) + 30 * bool(values)
    width = max(420, int(column * columns) + 60) + bar
    margin = {"l": 20, "r": 20 + bar, "t": 50 if title else 20, "b": 50 if values else 20}
    below = {"orientation": "h", "x": 0.5, "xanchor": "center", "y": 0, "yanchor": "top"}
    return style(figure, title=title, width=width, height=height, margin=margin, legend=below)
