"""Correlations of factors with a result, as bars, beside the paper's.

Paper, appendix "Hyperparameter Search": correlation coefficients between hyperparameters and edit
distance over all models of the search, and their p-values.
"""

from collections.abc import Mapping

import plotly.graph_objects as go

from itekit.plots.style import COLOURS, style

SIGNIFICANT = 0.05
HATCHED = {"shape": "/", "fgcolor": COLOURS[0], "bgcolor": "white", "size": 7, "solidity": 0.25}


def p_text(p: float) -> str:
    """A p-value in few characters: "p 0.04", "p < 0.001"."""
    return "p < 0.001" if p < 0.001 else f"p {p:.3f}" if p < 0.01 else f"p {p:.2f}"


def _checked(correlations: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    if not correlations:
        raise ValueError("correlations: expected at least one factor, found none")
    found = {}
    for name, both in correlations.items():
        try:
            r, p = (float(value) for value in both)
        except (TypeError, ValueError):
            raise ValueError(f"{name!r}: expected (r, p), found {both!r}") from None
        if not -1 <= r <= 1 or not 0 <= p <= 1:
            wanted = "r from -1 to 1 and p from 0 to 1"
            raise ValueError(f"{name!r}: expected {wanted}, found {r:g} and {p:g}")
        found[name] = (r, p)
    return found


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
        ValueError: no factors, a coefficient outside -1 to 1, a p-value outside 0 to 1, or a
            factor of the paper that is not among ours.
    """
    ours = _checked(correlations)
    paper = dict(paper or {})
    for name, r in paper.items():
        if name not in ours:
            raise ValueError(f"paper: {name!r} is not one of {', '.join(ours)}")
        if not -1 <= r <= 1:
            raise ValueError(f"paper, {name!r}: expected r from -1 to 1, found {r:g}")
    figure = go.Figure()
    _bars(figure, {name: both for name, both in ours.items() if both[1] < SIGNIFICANT}, True)
    _bars(figure, {name: both for name, both in ours.items() if both[1] >= SIGNIFICANT}, False)
    if paper:
        _diamonds(figure, paper)
    for name, (r, p) in ours.items():
        beside = {"xref": "paper", "x": 1.01, "xanchor": "left", "showarrow": False}
        figure.add_annotation(text=f"r {r:+.2f}, {p_text(p)}".replace("-", "−"), y=name, **beside)
    reach = 1.15 * max([0.1, *(abs(r) for r, _ in ours.values()), *map(abs, paper.values())])
    figure.update_xaxes(range=[-reach, reach], title_text="correlation coefficient r")
    figure.update_xaxes(zeroline=True, zerolinecolor="#444444", zerolinewidth=1)
    names = list(ours)[::-1]
    figure.update_yaxes(type="category", categoryorder="array", categoryarray=names, showgrid=False)
    below = {"orientation": "h", "x": 0.5, "xanchor": "center", "yref": "container", "y": 0.01}
    figure.update_layout(legend=below, showlegend=True, bargap=0.35, barmode="overlay")
    style(figure, title=title, width=820, height=190 + 42 * len(ours))
    return figure.update_layout(margin={"r": 160, "b": 100})


def _bars(figure: go.Figure, some: Mapping[str, tuple[float, float]], sure: bool) -> None:
    if some:
        figure.add_bar(
            x=[r for r, _ in some.values()],
            y=list(some),
            customdata=[p for _, p in some.values()],
            orientation="h",
            name=f"ours, p {'<' if sure else '≥'} {SIGNIFICANT}",
            marker={"color": COLOURS[0], "line": {"color": COLOURS[0], "width": 1.5}}
            | ({} if sure else {"pattern": HATCHED}),
            hovertemplate="%{y}: r %{x:.3f}, p %{customdata:.2g}<extra></extra>",
        )


def _diamonds(figure: go.Figure, paper: Mapping[str, float]) -> None:
    diamond = {"symbol": "diamond", "size": 12, "color": COLOURS[1]}
    figure.add_scatter(
        x=list(paper.values()),
        y=list(paper),
        mode="markers",
        marker=diamond | {"line": {"color": "white", "width": 1.5}},
        name="paper",
        hovertemplate="%{y}: r %{x:.2f} (paper)<extra></extra>",
    )
