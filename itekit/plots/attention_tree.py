"""Cross-attention of an answer on a problem: over the formula's tree, or as a table.

Vaswani et al. 2017, section 3.2; paper, section "Experiments" (tree positions). A slider below the
tree goes through the tokens of the answer; it belongs to the figure, so that it works without a
kernel too.

Shape letters: T tokens of the answer, S tokens of the problem, N nodes of its tree.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from itekit.plots.style import colour_bar, compact, floats, style
from itekit.plots.tree_places import Path
from itekit.plots.trees import DARK, SHADES, formula_tree

TITLE = "attention weight"


def attention_tree(
    weights: Any,
    targets: Sequence[str],
    labels: Sequence[str],
    paths: Sequence[Path],
    *,
    token: int = 0,
) -> go.Figure:
    """The tree of a formula, shaded by what one token of the answer pays attention to.

    Args:
        weights: [T, S] with S ≥ N, 0 or more: first the weights of the nodes in prefix order, then
            those of what is no part of the tree (the end token).
        targets: what each token of the answer is called.
        labels, paths: of the N nodes, as for `formula_tree`.
        token: which token of the answer is shown first.

    Raises:
        ValueError: as `formula_tree`; also another number of targets or too few weights, or a
            token that is not there.
    """
    table = _checked(weights, targets)
    nodes = len(paths)
    if table.shape[1] < nodes:
        raise ValueError(f"weights: {table.shape[1]} for each token, but the tree has {nodes}")
    if not 0 <= token < len(targets):
        raise ValueError(f"token: expected 0 to {len(targets) - 1}, found {token}")
    figure = formula_tree(
        labels, paths, weights=table[token, :nodes], title=_title(table, targets, token, nodes)
    )
    top = float(table[:, :nodes].max()) or 1.0
    steps = [
        _step(table, targets, number, labels, top, nodes, len(figure.data) - 1)
        for number in range(len(targets))
    ]
    figure.data[-1].textfont.color = steps[token]["args"][0]["textfont.color"][0]
    figure.update_layout(coloraxis_cmax=top)
    _add_slider(figure, steps, token)
    return figure


def _add_slider(figure: go.Figure, steps: list[dict], active: int) -> None:
    """Put a slider with these steps below the tree."""
    slider = {
        "active": active,
        "steps": steps,
        "currentvalue": {"prefix": "token of the answer: "},
        "pad": {"t": 30},
        "ticklen": 4,
    }
    figure.update_layout(sliders=[slider], margin_b=110, height=figure.layout.height + 90)
    figure.update_layout(width=max(figure.layout.width, min(1100, 180 + 26 * len(steps))))


def _checked(weights: Any, targets: Sequence[str]) -> np.ndarray:
    table = floats("weights", weights, dimensions=2)
    if len(targets) != len(table):
        raise ValueError(f"targets: expected {len(table)}, one for each row, found {len(targets)}")
    return table


def _title(table: np.ndarray, targets: Sequence[str], token: int, nodes: int) -> str:
    rest = table[token, nodes:].sum()
    beside = f", {rest:.0%} of its attention on the end" if table.shape[1] > nodes else ""
    return f"Token {token + 1} of {len(targets)} of the answer: “{targets[token]}”{beside}"


def _step(
    table: np.ndarray,
    targets: Sequence[str],
    number: int,
    labels: Sequence[str],
    top: float,
    nodes: int,
    trace: int,
) -> dict:
    """What the slider changes when it comes to a token."""
    shades = compact(table[number, :nodes])
    nodes_look = {
        "marker.color": [shades.tolist()],
        "textfont.color": [["white" if shade > 0.55 * top else DARK for shade in shades]],
        "hovertext": [
            [f"{label}: {shade:.3g}" for label, shade in zip(labels, shades, strict=True)]
        ],
    }
    title = {"title.text": _title(table, targets, number, nodes)}
    changes = [nodes_look, title, [trace]]
    return {"method": "update", "label": targets[number], "value": str(number), "args": changes}


def attention_table(weights: Any, targets: Sequence[str], sources: Sequence[str]) -> go.Figure:
    """All weights: a row for each token of the answer, a column for each of the problem.

    Args:
        weights: [T, S]; targets, sources: what the tokens are called, repeated or not.

    Raises:
        ValueError: another number of targets or sources.
    """
    table = _checked(weights, targets)
    if len(sources) != table.shape[1]:
        raise ValueError(
            f"sources: expected {table.shape[1]}, one for each column, found {len(sources)}"
        )
    figure = go.Figure(
        go.Heatmap(
            z=compact(table),
            customdata=[[[t, s] for s in sources] for t in targets],
            hovertemplate="%{customdata[0]} looks at %{customdata[1]}: %{z:.3f}<extra></extra>",
            colorscale=SHADES,
            zmin=0,
            colorbar=colour_bar(TITLE),
        )
    )
    shared = {"showgrid": False, "showline": False, "ticks": "", "tickmode": "array"}
    figure.update_xaxes(
        **shared, tickvals=[*range(len(sources))], ticktext=sources, tickangle=0, side="top"
    )
    figure.update_yaxes(
        **shared, tickvals=[*range(len(targets))], ticktext=targets, autorange="reversed"
    )
    figure.update_layout(xaxis_title_text="problem", yaxis_title_text="answer")
    width, height = 180 + 24 * len(sources), 120 + 24 * len(targets)
    return style(figure, width=max(420, min(1100, width)), height=min(1000, height)).update_layout(
        margin_t=70
    )
