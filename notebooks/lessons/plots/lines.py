"""Lines: rates of correct answers, training curves, runtimes.

Paper, section "Alpha-Covariance": its table by number of atomic propositions (APs), drawn; section
"Random embedding generation": its figure of runtimes.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from lessons.plots.show import GREY, look, style

Rates = Mapping[str, Mapping[int | str, float]]
PANELS = {"loss": "loss", "scale": "AdaCos scale", "learning_rate": "learning rate"}
METHODS = ("proposed", "alpha-renaming", "plain", "full-vocabulary", "symbol-invariant")
METHODS += ("smallest-set", "converted")  # in the order of their colours


def _rate_lines(ours: Rates, paper: Rates, words: str, what: str, title: str) -> go.Figure:
    """A model has one colour and one symbol: ours solid and full, the paper's dashed and open."""
    names = enumerate({**ours, **paper})
    looks = {name: look(METHODS.index(name) if name in METHODS else i) for i, name in names}
    figure = go.Figure()
    for rates, of, size, width in ((ours, "", 9, 2.5), (paper, " (paper)", 8, 1.5)):
        for name in [name for name in looks if name in rates]:
            colour, symbol, _ = looks[name]
            marker = {"symbol": symbol, "size": size, "color": colour}
            if of:
                marker |= {"symbol": f"{symbol}-open", "line": {"width": 2}}
            line = {"color": colour, "width": width, "dash": "dash" if of else "solid"}
            hover = f"{name}{of}, {words}: %{{y:.1%}}<extra></extra>"
            trace = {"mode": "lines+markers", "line": line, "marker": marker}
            points = sorted((int(number), rate) for number, rate in rates[name].items())
            x, y = zip(*points, strict=True)
            figure.add_scatter(x=x, y=y, name=name + of, hovertemplate=hover, **trace)
    figure.update_xaxes(tickvals=sorted({x for trace in figure.data for x in trace.x}))
    figure.update_yaxes(range=[-0.02, 1.03], tickformat=".0%", dtick=0.2, title_text=what)
    return style(figure, title=title, width=860, height=460, showlegend=True)


def alpha_covariance_lines(
    ours: Rates, *, paper: Rates, title: str, training: int | None = None
) -> go.Figure:
    """Mean alpha-covariance by APs, {"model": {3: 0.54, 4: ...}}; `training`: the most there."""
    figure = _rate_lines(ours, paper, "%{x} APs", "mean alpha-covariance", title)
    figure.update_xaxes(title_text="atomic propositions in the formula")
    if training is not None:
        line = {"color": GREY, "width": 2, "dash": "dash"}
        figure.add_vline(x=training + 0.5, line=line, layer="below")
        text = {"yref": "paper", "y": 1.0, "yanchor": "bottom", "showarrow": False}
        text |= {"x": training + 0.5, "font": {"size": 13, "color": "#555555"}}
        figure.add_annotation(text="in training ←", xanchor="right", xshift=-6, **text)
        figure.add_annotation(text="→ more APs than in training", xanchor="left", xshift=6, **text)
    return figure


def solved_against_draws(rates: Rates, *, title: str) -> go.Figure:
    """Rates of formulas with a verified answer after k tries: {"model": {1: 0.9, 3: ...}}.

    A try is a draw of the random embeddings or, for a model without them, a random renaming.
    """
    figure = _rate_lines(rates, {}, "%{x} draws", "formulas solved", title)
    for i, trace in enumerate(figure.data):
        trace.line.dash = look(i)[2]
    text = "draws, or renamings, tried (k)"
    return figure.update_xaxes(type="log", title_text=text, minor_ticks="")


def _points(records: Sequence[Mapping], quantity: str) -> np.ndarray:
    """Steps and values [2, n] of the records that have `quantity`."""
    points = [(r["step"], r[quantity]) for r in records if r.get(quantity) is not None]
    return np.array(points, np.float32).T


def training_curves(runs: Mapping[str, Sequence[Mapping]]) -> go.Figure:
    """Curves of one or more runs, {"run name": records}, in panels that share the step axis.

    A record has "step" and any of "loss", "validation_loss", "scale" (AdaCos), "learning_rate".
    """
    every = [record for records in runs.values() for record in records]
    panels = [panel for panel in PANELS if any(r.get(panel) is not None for r in every)]
    heights = [2.2] + [1.0] * (len(panels) - 1)
    layout = {"shared_xaxes": True, "vertical_spacing": 0.06, "row_heights": heights}
    figure = make_subplots(len(panels), 1, **layout)
    for row, panel in enumerate(panels, 1):
        figure.update_yaxes(title_text=PANELS[panel], exponentformat="power", row=row)
        quantities = (panel, "validation_loss") if panel == "loss" else (panel,)
        for (run, (name, records)), quantity in product(enumerate(runs.items()), quantities):
            points, validation = _points(records, quantity), quantity == "validation_loss"
            if not len(points):
                continue
            colour, _, dash = look(run)
            marker = {"size": 8, "symbol": "circle-open", "line": {"width": 2}}
            figure.add_scatter(
                x=points[0],
                y=points[1],
                name=f"{name}, validation" if validation else name,
                legendgroup=name,
                showlegend=panel == "loss",
                mode="markers" if validation else "lines",
                line={"color": colour, "width": 2, "dash": dash},
                marker=marker | {"color": colour},
                hovertemplate=f"step %{{x}}: {quantity.replace('_', ' ')} %{{y:.4g}}",
                row=row,
                col=1,
            )
    losses = [r["loss"] for r in every if 0 < (r.get("loss") or 0) < np.inf]
    decades = 1 if losses and max(losses) >= 100 * min(losses) else None  # a tick a decade
    figure.update_yaxes(type="log", dtick=decades, row=1)
    figure.update_xaxes(title_text="step", row=len(panels))
    names = -(-sum(trace.showlegend for trace in figure.data) // 2)  # rows of two, below
    legend = {"orientation": "h", "x": 0, "yref": "container", "y": 0, "yanchor": "bottom"}
    layout = {"hovermode": "x unified", "legend": legend, "margin_b": 60 + 22 * names}
    height = 190 + 130 * len(panels) + 22 * names
    return style(figure, width=760, height=height, **layout)


def runtime_figure(runtimes: Mapping[str, tuple[Any, Any]], *, title: str = "") -> go.Figure:
    """Seconds against counts on logarithmic axes: {"method": (counts [N], seconds [N])}."""
    figure = go.Figure()
    for i, (name, (counts, seconds)) in enumerate(runtimes.items()):
        colour, symbol, dash = look(i)
        figure.add_scatter(
            x=np.asarray(counts, float),
            y=np.asarray(seconds, np.float32),
            name=name,
            mode="lines+markers",
            line={"color": colour, "width": 2, "dash": dash},
            marker={"size": 8, "symbol": symbol},
            hovertemplate="%{x} vectors: %{y:.3g} s",
        )
    axis = {"type": "log", "dtick": 1, "exponentformat": "power"}
    figure.update_xaxes(title_text="number of vectors", **axis)
    figure.update_yaxes(title_text="seconds", **axis)
    return style(figure, title=title, width=700, height=440)


def rates_with_intervals(
    counts: Mapping[str, Mapping[float, tuple[int, int]]], *, title: str, x: str, log: bool = False
) -> go.Figure:
    """Rates with Wilson's 95 % intervals, {"model": {x: (how many of, so many)}}.

    A model that is named as a method of the kit has that method's colour.
    """
    from scipy.stats import binomtest  # takes half a second to load

    figure = go.Figure()
    for i, (name, points) in enumerate(counts.items()):
        colour, symbol, dash = look(METHODS.index(name) if name in METHODS else i)
        rates = [k / n for k, n in points.values()]
        ends = [binomtest(k, n).proportion_ci(method="wilson") for k, n in points.values()]
        bars = {"array": [end.high - rate for end, rate in zip(ends, rates, strict=True)]}
        bars["arrayminus"] = [rate - end.low for end, rate in zip(ends, rates, strict=True)]
        figure.add_scatter(
            x=list(points),
            y=rates,
            error_y=bars,
            name=name,
            mode="lines+markers",
            line={"color": colour, "width": 2.5, "dash": dash},
            marker={"symbol": symbol, "size": 9, "color": colour},
            customdata=list(points),  # so that a trace that is shifted aside says where it belongs
            hovertemplate=f"{name}, %{{customdata}}: %{{y:.1%}}<extra></extra>",
        )
    values = sorted({value for points in counts.values() for value in points})
    text = [f"{value:,}" for value in values]
    kind = "log" if log else "linear"
    figure.update_xaxes(title_text=x, type=kind, tickvals=values, ticktext=text, minor_ticks="")
    figure.update_yaxes(range=[-0.02, 1.03], tickformat=".0%", dtick=0.2, title_text="correct")
    return style(figure, title=title, width=860, height=420, showlegend=True)
