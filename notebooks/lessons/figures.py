"""Drawings that one lesson needs: search and correlations (06), times and graphs (07), explorer.

Paper, appendix "Hyperparameter Search" (edit distances by settings of the embedding, and what they
correlate with), figure "Scaling behavior of the trace generation using spot", section
"Alpha-Covariance", and section "Experiments" (tree positions, under cross-attention).

Shape letters: N rows, M columns; T tokens of an answer, S tokens of a problem.
"""

import html
import math
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from itekit.plots.show import (
    AMOUNTS,
    BELOW,
    COLOURS,
    GREY,
    SYMBOLS,
    WIDEST,
    colour_bar,
    compact,
    floats,
    style,
)
from itekit.plots.trees import SHADES, Path, formula_tree, shaded_labels

# the copying search (06)

FEATURES = {"f_bn": "f_bn", "f_fn": "f_fn", "adacos": "AdaCos"}
APART = 2**0.1  # between methods at one d_beta, so that their points do not hide each other
SIGNIFICANT = 0.05
Record = Mapping[str, Any]


def features_text(record: Record) -> str:
    """What is on, as the paper writes it: "f_bn + f_fn + AdaCos", or "none"."""
    return " + ".join(name for key, name in FEATURES.items() if record[key]) or "none"


def search_scatter(
    records: Sequence[Record], *, paper: Sequence[Record] = (), columns: int = 3, title: str = ""
) -> go.Figure:
    """Edit distance against d_beta: a panel for each combination of features, a colour a method.

    Args:
        records: mappings with "method", "d_beta", "f_bn", "f_fn", "adacos" and "edit_distance".
            Several runs of one setting are several points; the line follows the best.
        paper: the same for the paper's table (`itekit.results.paper_search`), as open markers.
        columns: panels side by side.
    """
    every = [*records, *paper]
    ordered = sorted(every, key=lambda r: [not r[key] for key in ("adacos", "f_fn", "f_bn")])
    panels = list(dict.fromkeys(map(features_text, ordered)))
    methods = list(dict.fromkeys(str(record["method"]) for record in every))
    columns = min(columns, len(panels))
    down = -(-len(panels) // columns)
    shared = {"shared_xaxes": "all", "shared_yaxes": "all", "subplot_titles": panels}
    spacing = {"horizontal_spacing": 0.03, "vertical_spacing": 0.2 / down}
    figure = make_subplots(down, columns, **shared, **spacing)
    for i in range(down * columns):
        place = {"row": i // columns + 1, "col": i % columns + 1}
        if i >= len(panels):
            figure.update_xaxes(visible=False, **place)
            figure.update_yaxes(visible=False, **place)
            continue
        for of_paper, some in ((True, paper), (False, records)):
            here = [record for record in some if features_text(record) == panels[i]]
            for look, method in enumerate(methods):
                own = [record for record in here if record["method"] == method]
                apart = APART ** (look - (len(methods) - 1) / 2)
                for trace in _points(own, method, apart, look, of_paper) if own else ():
                    figure.add_trace(trace, **place)
        if i + columns >= len(panels):
            figure.update_xaxes(title_text="d_beta", showticklabels=True, **place)
    named = set()
    for trace in figure.data:
        if trace.mode == "markers" and trace.name not in named:
            named.add(trace.name)
            trace.update(showlegend=True, legendrank=1000 + trace.name.endswith("(paper)"))
    counts = sorted({record["d_beta"] for record in every})
    reach = [math.log10(counts[0] / 1.35), math.log10(counts[-1] * 1.35)]
    figure.update_xaxes(type="log", tickvals=counts, range=reach, minor_ticks="")
    highest = max(record["edit_distance"] for record in every) or 1.0
    figure.update_yaxes(range=[-0.03 * highest, 1.05 * highest])
    figure.update_yaxes(title_text="mean edit distance", col=1)
    figure.update_layout(legend=BELOW | {"entrywidth": 220})
    style(figure, title=title, width=WIDEST, height=165 + 240 * down)
    return figure.update_layout(margin={"t": 85 if title else 45, "b": 95})


def _points(
    own: list[Record], method: str, apart: float, look: int, of_paper: bool
) -> list[go.Scatter]:
    """A method's runs as points; ours with a line through the best one of each d_beta."""
    name, symbol = method.replace("_", " ") + " (paper)" * of_paper, SYMBOLS[look % len(SYMBOLS)]
    own = own if of_paper else sorted(own, key=lambda r: (r["d_beta"], r["edit_distance"]))
    marker = {"color": COLOURS[look % len(COLOURS)], "symbol": symbol, "size": 9}
    marker |= {"symbol": f"{symbol}-open"} if of_paper else {"opacity": 0.85}
    shared = {"name": name, "legendgroup": name, "showlegend": False}
    points = go.Scatter(
        x=[record["d_beta"] * apart for record in own],
        y=[record["edit_distance"] for record in own],
        customdata=[record["d_beta"] for record in own],
        mode="markers",
        marker=marker,
        hovertemplate=f"{name}, d_beta %{{customdata}}: %{{y:.2f}}<extra></extra>",
        **shared,
    )
    best = {record["d_beta"]: record["edit_distance"] for record in reversed(own)}
    x, y = zip(*sorted(best.items()), strict=True)
    line = {"mode": "lines", "line": {"color": marker["color"], "width": 1.5}, "hoverinfo": "skip"}
    path = go.Scatter(x=[d_beta * apart for d_beta in x], y=y, **line, **shared)
    return [points] if of_paper else [path, points]


def p_text(p: float) -> str:
    """A p-value in few characters: "p 0.04", "p < 0.001"."""
    return "p < 0.001" if p < 0.001 else f"p {p:.3f}" if p < 0.01 else f"p {p:.2f}"


def correlation_bars(
    correlations: Mapping[str, tuple[float, float]],
    *,
    paper: Mapping[str, float] | None = None,
    title: str = "Correlation with the mean edit distance (negative: better)",
) -> go.Figure:
    """A bar for each factor: {"factor": (r, p)}; hatched where p is 0.05 or more.

    Args:
        correlations: coefficients with their p-values, from top to bottom.
        paper: the paper's coefficients by factor, as diamonds.

    Raises:
        ValueError: a factor of the paper that is not among ours.
    """
    ours, paper, figure = dict(correlations), dict(paper or {}), go.Figure()
    for name in paper.keys() - ours.keys():
        raise ValueError(f"paper: {name!r} is not one of {', '.join(ours)}")
    hatched = {"shape": "/", "fgcolor": COLOURS[0], "bgcolor": "white", "size": 7, "solidity": 0.25}
    for sign, pattern in (("<", {}), ("≥", {"pattern": hatched})):
        some = {name: (r, p) for name, (r, p) in ours.items() if (p < SIGNIFICANT) == (sign == "<")}
        if some:
            figure.add_bar(
                x=[r for r, _ in some.values()],
                y=list(some),
                customdata=[p for _, p in some.values()],
                orientation="h",
                name=f"ours, p {sign} {SIGNIFICANT}",
                marker={"color": COLOURS[0], "line": {"color": COLOURS[0], "width": 1.5}} | pattern,
                hovertemplate="%{y}: r %{x:.3f}, p %{customdata:.2g}<extra></extra>",
            )
    if paper:
        line = {"color": "white", "width": 1.5}
        figure.add_scatter(
            x=list(paper.values()),
            y=list(paper),
            mode="markers",
            marker={"symbol": "diamond", "size": 12, "color": COLOURS[1], "line": line},
            name="paper",
            hovertemplate="%{y}: r %{x:.2f} (paper)<extra></extra>",
        )
    for name, (r, p) in ours.items():
        beside = {"xref": "paper", "x": 1.01, "xanchor": "left", "showarrow": False}
        figure.add_annotation(text=f"r {r:+.2f}, {p_text(p)}".replace("-", "−"), y=name, **beside)
    reach = 1.15 * max([0.1, *(abs(r) for r, _ in ours.values()), *map(abs, paper.values())])
    figure.update_xaxes(range=[-reach, reach], title_text="correlation coefficient r")
    figure.update_xaxes(zeroline=True, zerolinecolor="#444444", zerolinewidth=1)
    order = {"categoryorder": "array", "categoryarray": list(ours)[::-1]}
    figure.update_yaxes(type="category", showgrid=False, **order)
    figure.update_layout(legend=BELOW, showlegend=True, bargap=0.35, barmode="overlay")
    style(figure, title=title, width=820, height=190 + 42 * len(ours))
    return figure.update_layout(margin={"r": 160, "b": 100})


# solving times and graphs (07)


def relative_text(value: float) -> str:
    """A relative time in at most four characters; nothing for NaN."""
    if np.isnan(value):
        return ""
    if value >= 9950:
        return f"{value / 1000:.0f}k"
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


def solving_time_heatmaps(
    panels: Mapping[str, tuple[Any, Any]],
    lengths: Sequence[int],
    counts: Sequence[int],
    *,
    limit: float,
    title: str = "",
) -> go.Figure:
    """One heatmap for each method, side by side, all relative to the fastest cell of any.

    Args:
        panels: by name, the median seconds [N, M] and the shares of time-outs [N, M]. None or NaN:
            no share where a cell is empty, no median either where it is past the limit.
        lengths, counts: of the columns and the rows.
        limit: seconds after which a formula was given up.

    Raises:
        ValueError: a wrong shape, a time that is not above 0, or no time at all.
    """
    shape, grids = (len(counts), len(lengths)), {}
    for name, (median, time_outs) in panels.items():
        seconds = floats(f"{name}, medians", median, dimensions=2)
        grids[name] = seconds, floats(f"{name}, time-outs", time_outs, dimensions=2)
        for array in grids[name]:
            if array.shape != shape:
                raise ValueError(f"{name}: expected shape {shape}, found {array.shape}")
    times = [t for seconds, _ in grids.values() for t in seconds.flat if not np.isnan(t)]
    if not times or min(times) <= 0:
        raise ValueError("panels: expected times above 0, found none or others")
    fastest, places = min(times), {"horizontal_spacing": 0.05, "shared_yaxes": True}
    figure = make_subplots(1, len(grids), subplot_titles=list(grids), **places)
    for column, (seconds, shares) in enumerate(grids.values(), 1):
        late = np.isnan(seconds) & ~np.isnan(shares)
        relative = np.where(late, limit, seconds) / fastest
        text = np.vectorize(relative_text, otypes=[object])(relative)
        said = zip((relative * fastest).flat, shares.flat, late.flat, strict=True)
        words = [
            f"median {'above ' if past else ''}{1000 * time:.3g} ms, {share:.0%} time-outs"
            for time, share, past in said
        ]
        cells = go.Heatmap(
            z=compact(np.log10(relative)),
            x=[str(n) for n in lengths],
            y=[str(n) for n in counts],
            text=np.where(late, ">" + text, text),
            texttemplate="%{text}",
            textfont_size=11,
            customdata=np.reshape(words, shape),
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
    figure.update_layout(coloraxis={"colorscale": AMOUNTS, "cmin": 0, "cmax": top, "colorbar": bar})
    axis = {"type": "category", "showgrid": False, "showline": False, "ticks": ""}
    figure.update_xaxes(title_text="formula length (tokens)", **axis)
    figure.update_yaxes(**axis)
    figure.update_yaxes(title_text="atomic propositions", col=1)
    width = 190 + len(grids) * (33 * len(lengths) + 30)
    height = 130 + 33 * max(4, len(counts)) + 35 * bool(title)
    style(figure, title=title, width=max(600, width), height=height)
    return figure.update_layout(margin_t=80 if title else 45)


def graph_svg(dot: str, alt: str = "") -> str | None:
    """A graph in Graphviz's language as SVG, `alt` as its title; None without the program `dot`.

    None also if it does not finish in 20 seconds.

    Raises:
        ValueError: `dot` is not in the language of Graphviz; it says what the program said.
    """
    program = shutil.which("dot")
    if program is None:
        return None
    try:
        done = subprocess.run(
            [program, "-Tsvg"], input=dot, capture_output=True, text=True, timeout=20
        )
    except (subprocess.TimeoutExpired, OSError):
        return None
    if done.returncode:
        raise ValueError(f"dot: {done.stderr.strip()[:500]}")
    svg = re.sub(r"<!--.*?-->\s*|<title>.*?</title>\s*", "", done.stdout, flags=re.DOTALL)
    title = f"<title>{html.escape(alt)}</title>" if alt else ""
    return re.sub(r"(<svg\b[^>]*)>", rf'\1 role="img">{title}', svg[svg.index("<svg") :], count=1)


def show_graph(dot: str, text: str, alt: str) -> None:
    """Display a graph in a notebook as one output: a drawing if there is `dot`, and the text.

    Outside IPython the text is printed instead.
    """
    from IPython import get_ipython
    from IPython.display import display

    svg = graph_svg(dot, alt)
    if get_ipython() is None or svg is None:
        print(text)
        return
    display({"image/svg+xml": svg, "text/plain": text}, raw=True)


# the explorer

MOST_ROWS = 16
LONGEST = 30  # characters of an answer that are written beside its row
KINDS = {
    "right": (COLOURS[0], "circle"),
    "wrong": (COLOURS[1], "x"),
    "invalid": (GREY, "square-open"),
}


def renaming_groups(
    groups: Sequence[tuple[str, str, Sequence[str]]], *, title: str = ""
) -> go.Figure:
    """The answers to one problem under many renamings, grouped by what they undo to.

    A row is one of the different answers U of alpha-covariance, and a mark in it is a renaming that
    gave it: a single row is alpha-covariance 1. A mark's shape and colour say what its answer is.

    Args:
        groups: (answer, what it is, a text for each renaming) of each different answer; "right",
            "wrong" and "invalid" always look the same. Those after the first 15 share a row.

    Raises:
        ValueError: no groups, or one without renamings.
    """
    if not groups or not all(texts for _, _, texts in groups):
        raise ValueError("groups: expected at least one, each with at least one renaming")
    last = min(len(groups), MOST_ROWS) - 1
    names = [answer or "(empty)" for answer, _, _ in groups[: last + 1]]
    if len(groups) > MOST_ROWS:
        names[-1] = f"{len(groups) - MOST_ROWS + 1} other answers"
    filled, marks = [0] * len(names), {}  # marks: kind -> (x, row, what the pointer shows)
    for number, (answer, kind, texts) in enumerate(groups):
        row = min(number, last)
        for text in texts:
            filled[row] += 1
            marks.setdefault(kind, []).append((filled[row], row, f"{text}<br>undone: {answer}"))
    widest, figure = max(filled), go.Figure()
    for number, (kind, places) in enumerate(marks.items()):
        other = COLOURS[(number + 2) % len(COLOURS)], SYMBOLS[number % len(SYMBOLS)] + "-open"
        colour, symbol = KINDS.get(kind, other)
        x, y, texts = zip(*places, strict=True)
        marker = {"color": colour, "symbol": symbol, "size": max(4, min(13, 520 / widest))}
        shown = {"hovertext": texts, "hoverinfo": "text", "showlegend": True}
        figure.add_scatter(x=x, y=y, mode="markers", name=kind, marker=marker, **shown)
    figure.update_xaxes(title_text="renamings", range=[0, widest + 1], rangemode="tozero")
    if widest < 10:  # no tick between two whole numbers
        figure.update_xaxes(dtick=1)
    short = [name if len(name) <= LONGEST else name[: LONGEST - 1] + "…" for name in names]
    figure.update_yaxes(
        tickmode="array",
        tickvals=[*range(len(names))],
        ticktext=short,
        tickfont_family="monospace",
        range=[len(names) - 0.4, -0.6],
        showgrid=False,
        ticks="",
    )
    figure.update_layout(legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"})
    style(figure, title=title, width=800, height=170 + 26 * len(names))
    return figure.update_layout(margin_t=90 if title else 50)


def _attention(weights: Any, targets: Sequence[str]) -> np.ndarray:
    table = floats("weights", weights, dimensions=2)
    if len(targets) != len(table):
        raise ValueError(f"targets: expected {len(table)}, one for each row, found {len(targets)}")
    return table


def attention_tree(
    weights: Any,
    targets: Sequence[str],
    labels: Sequence[str],
    paths: Sequence[Path],
    *,
    token: int = 0,
) -> go.Figure:
    """The tree of a formula, shaded by what one token of the answer pays attention to.

    A slider below goes through the tokens of the answer; it works without a kernel too.

    Args:
        weights: [T, S], 0 or more: first the weights of the nodes in prefix order, then those of
            what is no part of the tree (the end token).
        targets: what each token of the answer is called.
        labels, paths: of the nodes, as for `itekit.plots.formula_tree`.
        token: which token of the answer is shown first.

    Raises:
        ValueError: as `formula_tree`; also another number of targets or too few weights, or a
            token that is not there.
    """
    table, nodes = _attention(weights, targets), len(paths)
    if table.shape[1] < nodes:
        raise ValueError(f"weights: {table.shape[1]} for each token, but the tree has {nodes}")
    if not 0 <= token < len(targets):
        raise ValueError(f"token: expected 0 to {len(targets) - 1}, found {token}")
    titles = []
    for number, (target, row) in enumerate(zip(targets, table, strict=True), 1):
        beside = f", {row[nodes:].sum():.0%} of its attention on the end" * (len(row) > nodes)
        titles.append(f"Token {number} of {len(targets)} of the answer: “{target}”{beside}")
    figure = formula_tree(labels, paths, weights=table[token, :nodes], title=titles[token])
    top = float(table[:, :nodes].max()) or 1.0
    steps = []
    for number, target in enumerate(targets):
        shades = compact(table[number, :nodes])
        words = [f"{name}: {shade:.3g}" for name, shade in zip(labels, shades, strict=True)]
        look = {
            "marker.color": [shades.tolist()],
            "textfont.color": [shaded_labels(shades, top)],
            "hovertext": [words],
        }
        changes = [look, {"title.text": titles[number]}, [len(figure.data) - 1]]
        step = {"method": "update", "label": target, "value": str(number), "args": changes}
        steps.append(step)
    figure.data[-1].textfont.color = shaded_labels(table[token, :nodes], top)
    slider = {"active": token, "steps": steps, "pad": {"t": 30}, "ticklen": 4}
    slider["currentvalue"] = {"prefix": "token of the answer: "}
    figure.update_layout(coloraxis_cmax=top, sliders=[slider], margin_b=110)
    width = max(figure.layout.width, min(WIDEST, 180 + 26 * len(steps)))
    return figure.update_layout(width=width, height=figure.layout.height + 90)


def attention_table(weights: Any, targets: Sequence[str], sources: Sequence[str]) -> go.Figure:
    """All weights [T, S]: a row for each token of the answer, a column for each of the problem.

    Raises:
        ValueError: another number of targets or sources.
    """
    table = _attention(weights, targets)
    if len(sources) != table.shape[1]:
        found = f"{table.shape[1]}, one for each column, found {len(sources)}"
        raise ValueError(f"sources: expected {found}")
    cells = go.Heatmap(
        z=compact(table),
        customdata=[[[target, source] for source in sources] for target in targets],
        hovertemplate="%{customdata[0]} looks at %{customdata[1]}: %{z:.3f}<extra></extra>",
        colorscale=SHADES,
        zmin=0,
        colorbar=colour_bar("attention weight"),
    )
    figure, plain = go.Figure(cells), {"showgrid": False, "showline": False, "ticks": ""}
    across, down = [*range(len(sources))], [*range(len(targets))]
    figure.update_xaxes(**plain, tickvals=across, ticktext=sources, tickangle=0, side="top")
    figure.update_yaxes(**plain, tickvals=down, ticktext=targets, autorange="reversed")
    figure.update_layout(xaxis_title_text="problem", yaxis_title_text="answer")
    width, height = max(420, 180 + 24 * len(sources)), min(1000, 120 + 24 * len(targets))
    return style(figure, width=width, height=height).update_layout(margin_t=70)
