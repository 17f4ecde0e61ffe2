"""The copying search: edit distance by settings of the embedding, and what it correlates with.

Paper, appendix "Hyperparameter Search": its table of mean edit distances (method of random vectors,
d_beta, and which of f_bn, f_fn and AdaCos are on) and its table of correlations.
"""

import math
from collections.abc import Mapping, Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from itekit.plots.style import COLOURS, SYMBOLS, style

FEATURES = {"f_bn": "f_bn", "f_fn": "f_fn", "adacos": "AdaCos"}
KEYS = ("method", "d_beta", *FEATURES, "edit_distance")
APART = 2**0.1  # between methods at one d_beta, so that their points do not hide each other
PAPER = " (paper)"
Record = Mapping[str, object]


def features_text(record: Record) -> str:
    """What is on, as the paper writes it: "f_bn + f_fn + AdaCos", or "none"."""
    return " + ".join(name for key, name in FEATURES.items() if record[key]) or "none"


def _check(name: str, records: Sequence[Record]) -> None:
    for i, record in enumerate(records):
        for key in KEYS:
            if key not in record:
                raise ValueError(f"{name}, record {i}: no {key!r}, found {sorted(record)}")
        d_beta, distance = record["d_beta"], record["edit_distance"]
        if not isinstance(d_beta, int) or d_beta < 1:
            raise ValueError(f"{name}, record {i}: d_beta must be 1 or more, found {d_beta!r}")
        if not isinstance(distance, int | float) or not 0 <= distance < math.inf:
            raise ValueError(f"{name}, record {i}: {distance!r} is not an edit distance")


def _points(records: Sequence[Record], method: str, place: float, look: int) -> list[go.Scatter]:
    """Every run of a method as a point, and a line through the best one of each d_beta."""
    own = sorted(
        (r for r in records if r["method"] == method),
        key=lambda r: (r["d_beta"], r["edit_distance"]),
    )
    best = {}
    for record in own:
        best.setdefault(record["d_beta"], record["edit_distance"])
    name, colour = method.replace("_", " "), COLOURS[look % len(COLOURS)]
    group = {"name": name, "legendgroup": method, "showlegend": False}
    symbol = SYMBOLS[look % len(SYMBOLS)]
    points = go.Scatter(
        x=[r["d_beta"] * place for r in own],
        y=[r["edit_distance"] for r in own],
        customdata=[r["d_beta"] for r in own],
        mode="markers",
        marker={"color": colour, "symbol": symbol, "size": 9, "opacity": 0.85},
        hovertemplate=f"{name}, d_beta %{{customdata}}: %{{y:.2f}}<extra></extra>",
        **group,
    )
    line = {"color": colour, "width": 1.5}
    x = [d_beta * place for d_beta in best]
    path = go.Scatter(x=x, y=list(best.values()), mode="lines", line=line, **group)
    return [path.update(hoverinfo="skip"), points]


def _paper_points(records: Sequence[Record], methods: dict[str, float]) -> list[go.Scatter]:
    """The paper's figures: open markers in the methods' colours, without lines."""
    found = []
    for look, (method, place) in enumerate(methods.items()):
        own = [r for r in records if r["method"] == method]
        symbol = f"{SYMBOLS[look % len(SYMBOLS)]}-open"
        name = method.replace("_", " ") + PAPER
        points = go.Scatter(
            x=[r["d_beta"] * place for r in own],
            y=[r["edit_distance"] for r in own],
            customdata=[r["d_beta"] for r in own],
            mode="markers",
            marker={"color": COLOURS[look % len(COLOURS)], "symbol": symbol, "size": 9},
            name=name,
            legendgroup=name,
            showlegend=False,
            hovertemplate=f"{name}, d_beta %{{customdata}}: %{{y}}<extra></extra>",
        )
        found += [points] if own else []
    return found


def search_scatter(
    records: Sequence[Record],
    *,
    paper: Sequence[Record] = (),
    columns: int = 3,
    title: str = "Copying search: mean edit distance of each setting",
) -> go.Figure:
    """A panel for each set of features that are on; in it, edit distance against d_beta by method.

    Args:
        records: a run each, with "method", "d_beta", "f_bn", "f_fn", "adacos", "edit_distance".
            Several runs of one setting are points above each other; the line follows the best.
        paper: the same for the paper's table (`itekit.paper.paper_search`), as open markers.
        columns: panels side by side.

    Raises:
        ValueError: no records at all, or one without such a value.
    """
    records, paper = list(records), list(paper)
    _check("records", records)
    _check("paper", paper)
    panels = list(dict.fromkeys(features_text(r) for r in _ordered(records + paper)))
    if not panels or columns < 1:
        raise ValueError(f"expected records and columns, found {len(records)} and {columns}")
    names = list(dict.fromkeys(str(r["method"]) for r in records + paper))
    methods = {name: APART ** (i - (len(names) - 1) / 2) for i, name in enumerate(names)}
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    grid = {"shared_xaxes": "all", "shared_yaxes": "all", "subplot_titles": panels}
    spacing = {"horizontal_spacing": 0.03, "vertical_spacing": 0.2 / rows}
    figure = make_subplots(rows, columns, **grid, **spacing)
    for i, panel in enumerate(panels):
        own, theirs = ([r for r in s if features_text(r) == panel] for s in (records, paper))
        for trace in _paper_points(theirs, methods):
            figure.add_trace(trace, i // columns + 1, i % columns + 1)
        for look, (method, place) in enumerate(methods.items()):
            for trace in _points(own, method, place, look) if own else []:
                figure.add_trace(trace, i // columns + 1, i % columns + 1)
    return _finish(figure, records + paper, rows, columns, len(panels), title)


def _ordered(records: Sequence[Record]) -> list[Record]:
    """In the order of the paper's rows: AdaCos first, then f_fn, then f_bn."""
    return sorted(records, key=lambda r: [not r[key] for key in ("adacos", "f_fn", "f_bn")])


def _finish(
    figure: go.Figure, records: Sequence[Record], rows: int, columns: int, panels: int, title: str
) -> go.Figure:
    """Axes, one legend entry for each method, and the sizes."""
    named = set()
    for trace in figure.data:
        if trace.mode == "markers" and trace.name not in named:
            named.add(trace.name)
            trace.update(showlegend=True, legendrank=1001 if trace.name.endswith(PAPER) else 1000)
    counts = sorted({r["d_beta"] for r in records})
    reach = [math.log10(counts[0] / 1.35), math.log10(counts[-1] * 1.35)]
    figure.update_xaxes(type="log", tickvals=counts, range=reach, minor_ticks="")
    highest = max(r["edit_distance"] for r in records) or 1.0
    figure.update_yaxes(range=[-0.03 * highest, 1.05 * highest])
    figure.update_yaxes(title_text="mean edit distance", col=1)
    for i in range(panels):
        if i + columns >= panels:
            place = {"row": i // columns + 1, "col": i % columns + 1}
            figure.update_xaxes(title_text="d_beta", showticklabels=True, **place)
    for i in range(panels, rows * columns):
        place = {"row": i // columns + 1, "col": i % columns + 1}
        figure.update_xaxes(visible=False, **place)
        figure.update_yaxes(visible=False, **place)
    place = {"orientation": "h", "x": 0.5, "xanchor": "center", "yref": "container", "y": 0.01}
    figure.update_layout(legend=place | {"entrywidth": 220})
    style(figure, title=title, width=860, height=165 + 240 * rows)
    return figure.update_layout(margin={"t": 85 if title else 45, "b": 95})
