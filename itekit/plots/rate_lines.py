"""Rates of one or more models as lines: by number of atomic propositions, and by number of draws.

Paper, section "Alpha-Covariance": its table of alpha-covariance by number of atomic propositions
(APs), drawn; and correct answers by number of APs, and by how often the random embeddings were
drawn anew and the answers checked.
"""

from collections.abc import Mapping

import plotly.graph_objects as go

from itekit.plots.style import COLOURS, DASHES, GREY, SYMBOLS, style

Rates = Mapping[str, Mapping[int | str, float]]
PAPER = " (paper)"


def rate_points(name: str, rates: Mapping[int | str, float]) -> dict[int, float]:
    """The rates in increasing order of their numbers, which may be text as in JSON.

    Raises:
        ValueError: none, a number that is not whole or is below 1, or a rate outside 0 to 1.
    """
    points = {}
    for key, rate in rates.items():
        if not str(key).isascii() or not str(key).isdigit() or int(key) < 1:
            raise ValueError(f"{name!r}: expected whole numbers of 1 or more, found {key!r}")
        if isinstance(rate, str | bool) or rate is None or not 0 <= rate <= 1:
            raise ValueError(f"{name!r}, {key}: expected a rate from 0 to 1, found {rate!r}")
        points[int(key)] = float(rate)
    if not points:
        raise ValueError(f"{name!r}: no rates")
    return dict(sorted(points.items()))


def _line(name: str, points: dict[int, float], look: int, of_paper: bool, words: str) -> go.Scatter:
    """A model's line: solid with full markers, or the paper's: dashed with open ones."""
    colour, symbol = COLOURS[look % len(COLOURS)], SYMBOLS[look % len(SYMBOLS)]
    if of_paper:
        marker = {"symbol": f"{symbol}-open", "size": 8, "line": {"width": 2}}
    else:
        marker = {"symbol": symbol, "size": 9}
    return go.Scatter(
        x=list(points),
        y=list(points.values()),
        name=name + PAPER * of_paper,
        mode="lines+markers",
        line={
            "color": colour,
            "width": 1.5 if of_paper else 2.5,
            "dash": "dash" if of_paper else "solid",
        },
        marker=marker | {"color": colour},
        hovertemplate=f"{name}{PAPER * of_paper}, {words}: %{{y:.1%}}<extra></extra>",
    )


def _lines(ours: Rates, paper: Rates | None, words: str) -> go.Figure:
    """All lines; a model has one colour and one symbol, whether ours or the paper's."""
    if not ours and not paper:
        raise ValueError("rates: expected those of at least one model, found none")
    looks = {name: i for i, name in enumerate({**ours, **(paper or {})})}
    figure = go.Figure()
    for name, rates in ours.items():
        figure.add_trace(_line(name, rate_points(name, rates), looks[name], False, words))
    for name in looks if paper else ():
        if name in paper:
            points = rate_points(name, paper[name])
            figure.add_trace(_line(name, points, looks[name], True, words))
    figure.update_xaxes(tickvals=sorted({x for trace in figure.data for x in trace.x}))
    figure.update_yaxes(range=[-0.02, 1.03], tickformat=".0%", dtick=0.2)
    figure.update_layout(showlegend=True)
    return figure


def _boundary(figure: go.Figure, training: int | None) -> None:
    """A dashed line behind the largest number of APs in training, named on both sides."""
    if training is None:
        return
    line = {"color": GREY, "width": 2, "dash": "dash"}
    figure.add_vline(x=training + 0.5, line=line, layer="below")
    text = {"yref": "paper", "y": 1.0, "yanchor": "bottom", "showarrow": False, "x": training + 0.5}
    text["font"] = {"size": 13, "color": "#555555"}
    figure.add_annotation(text="in training ←", xanchor="right", xshift=-6, **text)
    figure.add_annotation(text="→ more APs than in training", xanchor="left", xshift=6, **text)


def _by_propositions(
    ours: Rates, paper: Rates | None, training: int | None, what: str, title: str
) -> go.Figure:
    figure = _lines(ours, paper, "%{x} APs")
    figure.update_xaxes(title_text="atomic propositions in the formula")
    figure.update_yaxes(title_text=what)
    _boundary(figure, training)
    return style(figure, title=title, width=860, height=460)


def alpha_covariance_lines(
    ours: Rates,
    *,
    paper: Rates | None = None,
    training: int | None = None,
    title: str = "Alpha-covariance by number of atomic propositions",
) -> go.Figure:
    """Mean alpha-covariance of each model: {"model": {3: 0.54, 4: ...}}.

    Args:
        ours: drawn solid, with full markers.
        paper: drawn dashed, with open markers, in the colour of the model of the same name
            (`itekit.paper.paper_alpha_covariance`).
        training: the most APs in training; a dashed line stands behind them.

    Raises:
        ValueError: no models, a model without values, or a value outside 0 to 1.
    """
    return _by_propositions(ours, paper, training, "mean alpha-covariance", title)


def rates_by_propositions(
    rates: Rates,
    *,
    training: int | None = None,
    title: str = "Correct answers by number of atomic propositions",
) -> go.Figure:
    """Rates of correct answers of each model: {"model": {1: 0.99, 2: ...}}.

    Args:
        rates: from 0 to 1, by number of APs.
        training: the most APs in training; a dashed line stands behind them.

    Raises:
        ValueError: no models, a model without values, or a value outside 0 to 1.
    """
    return _by_propositions(rates, None, training, "correct answers", title)


def solved_against_draws(
    rates: Rates, *, title: str = "Formulas solved by redrawing the random embeddings"
) -> go.Figure:
    """Rates of formulas with a verified answer after k tries: {"model": {1: 0.9, 3: ...}}.

    A try is a draw of the random embeddings or, for a model without them, a random renaming.

    Raises:
        ValueError: no lines, a line without values, or a value outside 0 to 1.
    """
    figure = _lines(rates, None, "%{x} draws")
    for i, trace in enumerate(figure.data):
        trace.line.dash = DASHES[i % len(DASHES)]
    figure.update_xaxes(type="log", title_text="draws, or renamings, tried (k)", minor_ticks="")
    figure.update_yaxes(title_text="formulas solved")
    return style(figure, title=title, width=860, height=460)
