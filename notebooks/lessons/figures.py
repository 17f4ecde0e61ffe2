"""Drawings of lessons: search and correlations (06), times (07), attention (04 and the explorer).

Paper, appendix "Hyperparameter Search", figure "Scaling behavior of the trace generation using
spot".

Shape letters: N rows, M columns; T tokens of an answer, S tokens of a problem.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import plotly.graph_objects as go
from IPython.display import HTML, display
from plotly.subplots import make_subplots

from lessons.plots.show import (
    AMOUNTS,
    BELOW,
    COLOURS,
    PLAIN,
    WIDEST,
    colour_bar,
    colours,
    compact,
    in_legend,
    look,
    show,
    style,
    subplots,
)
from lessons.plots.trees import SHADES

FOLD = """<style>
.jp-OutputArea:has(.fold:not([open])) > .jp-OutputArea-child:not(:has(.fold)),
.cell_output:has(.fold:not([open])) > :not(:has(.fold)) { display: none }
</style><details class="fold"><summary>What comes out: click to see it</summary></details>"""


def fold() -> None:
    """Fold what the rest of a cell shows, after a run too: a click on this line opens it."""
    display(HTML(FOLD))


def slider(steps: Sequence[Mapping], name: str, below: int, first: int = 0) -> dict:
    """A slider that many pixels below a figure; it says its name and where it is."""
    where = {"pad": {"t": below}, "currentvalue": {"prefix": name}}
    return {"steps": steps, "active": first, **where}


# the copying search (06)

FEATURES = {"f_bn": "f_bn", "f_fn": "f_fn", "adacos": "AdaCos"}
APART = 2**0.1  # between methods at one d_beta, so that their points do not hide each other
SIGNIFICANT = 0.05
Record = Mapping[str, Any]


def features_text(record: Record) -> str:
    """What is on, as the paper writes it: "f_bn + f_fn + AdaCos", or "none"."""
    return " + ".join(name for key, name in FEATURES.items() if record[key]) or "none"


def search_scatter(records: Sequence[Record], *, paper: Sequence[Record] = ()) -> go.Figure:
    """Edit distance against d_beta: a panel for each combination of features, a colour a method.

    Args:
        records: mappings with "method", "d_beta", "f_bn", "f_fn", "adacos" and "edit_distance".
            Several runs of one setting are several points; the line follows the best.
        paper: the same for the paper's table (`search_tables.paper_search`), as open markers.
    """
    every = [*records, *paper]
    ordered = sorted(every, key=lambda r: [not r[key] for key in ("adacos", "f_fn", "f_bn")])
    panels = list(dict.fromkeys(map(features_text, ordered)))
    methods = list(dict.fromkeys(record["method"] for record in every))
    columns, down = min(3, len(panels)), -(-len(panels) // 3)
    spacing = {"horizontal_spacing": 0.03, "vertical_spacing": 0.2 / down}
    shared = {"shared_xaxes": "all", "shared_yaxes": "all"}
    figure, places = subplots(panels, columns, **shared, **spacing)
    for panel, place in zip(panels, places, strict=True):
        for of_paper, (number, method) in product((True, False), enumerate(methods)):
            some = paper if of_paper else records
            own = [r for r in some if r["method"] == method and features_text(r) == panel]
            if not own:
                continue
            own.sort(key=lambda r: (r["d_beta"], r["edit_distance"]))
            counts, y = ([r[key] for r in own] for key in ("d_beta", "edit_distance"))
            x = [d_beta * APART ** (number - (len(methods) - 1) / 2) for d_beta in counts]
            name, (colour, symbol, _) = method.replace("_", " "), look(number)
            name, marker = name + " (paper)" * of_paper, {"color": colour, "size": 9}
            shared = {"name": name, "legendgroup": name, "showlegend": False, **place}
            if of_paper:
                marker |= {"symbol": f"{symbol}-open"}
            else:
                marker |= {"symbol": symbol, "opacity": 0.85}
                best = dict(zip(x[::-1], y[::-1], strict=True))  # of each d_beta
                ways, line = sorted(best), {"color": colour, "width": 1.5}
                line = {"mode": "lines", "line": line, "hoverinfo": "skip"}
                figure.add_scatter(x=ways, y=[best[d] for d in ways], **line, **shared)
            said = {"hovertemplate": f"{name}, d_beta %{{customdata}}: %{{y:.2f}}<extra></extra>"}
            said |= {"customdata": counts, "legendrank": 1000 + of_paper}
            figure.add_scatter(x=x, y=y, mode="markers", marker=marker, **said, **shared)
    for place in places[-columns:]:  # the lowest one of each column
        figure.update_xaxes(title_text="d_beta", showticklabels=True, **place)
    in_legend(trace for trace in figure.data if trace.mode == "markers")
    counts = sorted({record["d_beta"] for record in every})
    reach = [math.log10(counts[0] / 1.35), math.log10(counts[-1] * 1.35)]
    figure.update_xaxes(type="log", tickvals=counts, range=reach, minor_ticks="")
    highest = max(record["edit_distance"] for record in every) or 1.0
    figure.update_yaxes(range=[-0.03 * highest, 1.05 * highest])
    figure.update_yaxes(title_text="mean edit distance", col=1)
    size = {"width": WIDEST, "height": 165 + 240 * down, "margin": {"t": 45, "b": 95}}
    return style(figure, **size, legend=BELOW | {"entrywidth": 220})


def correlation_bars(
    correlations: Mapping[str, tuple[float, float]], *, paper: Mapping[str, float], title: str = ""
) -> go.Figure:
    """A bar for each factor: {factor: (r, p)}; hatched where p is 0.05 or more.

    The coefficients that the paper prints, by factor, are diamonds.
    """
    figure = go.Figure()
    hatched = {"shape": "/", "fgcolor": COLOURS[0], "bgcolor": "white", "size": 7, "solidity": 0.25}
    marker = {"color": COLOURS[0], "line": {"color": COLOURS[0], "width": 1.5}}
    for sure, sign in ((True, "<"), (False, "≥")):
        some = {f: found for f, found in correlations.items() if (found[1] < SIGNIFICANT) == sure}
        figure.add_bar(
            x=[r for r, _ in some.values()],
            y=list(some),
            customdata=[p for _, p in some.values()],
            orientation="h",
            name=f"bar: p {sign} {SIGNIFICANT}",
            visible=bool(some),
            marker=marker if sure else marker | {"pattern": hatched},
            hovertemplate="%{y}: r %{x:.3f}, p %{customdata:.2g}<extra></extra>",
        )
    line = {"color": "white", "width": 1.5}
    figure.add_scatter(
        x=list(paper.values()),
        y=list(paper),
        mode="markers",
        marker={"symbol": "diamond", "size": 12, "color": COLOURS[1], "line": line},
        name="as the paper prints it, of 277 models",
        hovertemplate="%{y}: r %{x:.2f} (paper)<extra></extra>",
    )
    for name, (r, p) in correlations.items():
        beside = {"xref": "paper", "x": 1.01, "xanchor": "left", "showarrow": False}
        chance = "p < 0.001" if p < 0.001 else f"p {p:.3f}" if p < 0.01 else f"p {p:.2f}"
        figure.add_annotation(text=f"r {r:+.2f}, {chance}".replace("-", "−"), y=name, **beside)
    lengths = [abs(r) for r in (*(r for r, _ in correlations.values()), *paper.values())]
    reach = 1.15 * max(0.1, *lengths)
    figure.update_xaxes(range=[-reach, reach], title_text="correlation coefficient r")
    figure.update_xaxes(zeroline=True, zerolinecolor="#444444", zerolinewidth=1)
    order = {"categoryorder": "array", "categoryarray": list(correlations)[::-1]}
    figure.update_yaxes(type="category", showgrid=False, **order)
    bars = {"showlegend": True, "legend": BELOW, "bargap": 0.35, "barmode": "overlay"}
    size = {"width": 820, "height": 190 + 42 * len(correlations)}
    return style(figure, title=title, **size, margin={"r": 160, "b": 100}, **bars)


# solving times (07)


def solving_time_heatmaps(
    panels: Mapping[str, tuple], lengths: Sequence[int], counts: Sequence[int], *, limit: float
) -> go.Figure:
    """One heatmap for each method, side by side, all relative to the fastest cell of any.

    Args:
        panels: by name, the median seconds [N, M] and the shares of time-outs [N, M]. None or NaN:
            no share where a cell is empty, no median either where it is past the limit.
        lengths, counts: of the columns and the rows.
        limit: seconds after which a formula was given up.
    """

    def short(value: float) -> str:  # in at most four characters
        thousands = f"{value / 1000:.0f}k"
        return thousands if value >= 9950 else f"{value:.{int(value < 9.95)}f}".replace("nan", "")

    grids = np.array(list(panels.values()), float)  # [methods, 2, N, M]
    fastest, places = np.nanmin(grids[:, 0]), {"horizontal_spacing": 0.05, "shared_yaxes": True}
    figure = make_subplots(1, len(grids), subplot_titles=list(panels), **places)
    for column, (seconds, shares) in enumerate(grids, 1):
        late = np.isnan(seconds) & ~np.isnan(shares)
        times = np.where(late, limit, seconds)
        text = np.array([list(map(short, row)) for row in (times / fastest).tolist()], object)
        words = [
            f"median {'above ' if past else ''}{1000 * time:.3g} ms, {share:.0%} time-outs"
            for time, share, past in zip(times.flat, shares.flat, late.flat, strict=True)
        ]
        cells = go.Heatmap(
            z=compact(np.log10(times / fastest)),
            x=[str(n) for n in lengths],
            y=[str(n) for n in counts],
            text=np.where(late, ">" + text, text),
            texttemplate="%{text}",
            textfont_size=11,
            customdata=np.reshape(words, late.shape),
            coloraxis="coloraxis",
            xgap=1,
            ygap=1,
            hoverongaps=False,
            hovertemplate="length %{x}, %{y} APs<br>%{customdata}<extra></extra>",
        )
        figure.add_trace(cells, 1, column)
    top = max(1.0, float(np.log10(limit / fastest)))
    ticks = list(range(int(top) + 1))
    bar = colour_bar("times the fastest", tickvals=ticks, ticktext=[f"{10**t:,}" for t in ticks])
    figure.update_xaxes(title_text="formula length (tokens)", type="category", **PLAIN)
    figure.update_yaxes(type="category", **PLAIN)
    figure.update_yaxes(title_text="atomic propositions", col=1)
    size = {"width": max(600, 190 + len(grids) * (33 * len(lengths) + 30))}
    size["height"] = 130 + 33 * max(4, len(counts))
    return style(figure, **size, margin_t=45, coloraxis=colours(AMOUNTS, 0, top, bar))


def show_solving_times(result: Mapping) -> None:
    """Show a heatmap for each translation of Spot, of a result of `lessons.solving_time`."""
    names, grid = ("default", "fast"), result["grid"]
    panels = {f"{n} translation": (result[n]["median"], result[n]["time_outs"]) for n in names}
    show(
        solving_time_heatmaps(panels, grid["lengths"], grid["counts"], limit=grid["cpu_seconds"]),
        alt="Two heatmaps of the median solving time relative to the fastest cell, by length and "
        "number of atomic propositions. Both grow towards long formulas with many propositions, "
        "the default translation much faster.",
    )


# attention


def attention_heatmap(weights: Any, targets: Sequence[str], sources: Sequence[str]) -> go.Figure:
    """All weights [T, S]: a row for each token of the answer, a column for each of the problem."""
    cells = go.Heatmap(
        z=compact(np.asarray(weights, float)),
        customdata=[[[target, source] for source in sources] for target in targets],
        hovertemplate="%{customdata[0]} looks at %{customdata[1]}: %{z:.3f}<extra></extra>",
        colorscale=SHADES,
        zmin=0,
        colorbar=colour_bar("attention weight"),
    )
    figure, (across, down) = go.Figure(cells), ([*range(len(s))] for s in (sources, targets))
    named = {"ticktext": sources, "tickangle": 0, "side": "top", "title_text": "problem"}
    figure.update_xaxes(tickvals=across, **named, **PLAIN)
    named = {"ticktext": targets, "autorange": "reversed", "title_text": "answer"}
    figure.update_yaxes(tickvals=down, **named, **PLAIN)
    width, height = max(420, 180 + 24 * len(sources)), min(1000, 120 + 24 * len(targets))
    return style(figure, width=width, height=height, margin_t=70)
