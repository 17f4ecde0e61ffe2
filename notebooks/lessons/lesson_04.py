"""Notebook 04: its exercises on attention, the order of a text and trees; the echoes of RoPE."""

from collections.abc import Callable

import ipywidgets as widgets
import numpy as np
import plotly.graph_objects as go
import torch
from plotly.subplots import make_subplots
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from itekit.logic.formulas import parse_prefix
from itekit.model import rope_factors, rotate
from lessons.exercises import Exercise, many, random_formula, random_tensor
from lessons.panels import Panel, look, small_panel
from lessons.plots import AMOUNTS, COLOURS, colour_bar, style

BASES = (500, 1000, 2000, 5000, *range(10_000, 61_000, 5000), 100_000, 200_000, 500_000, 10**6)
ALT = "The tree of &UabXUab. Branches: 0 U, 00 a, 10 b, 1 X, 01 U, 001 a, 101 b."


def by_distance(weights: Tensor) -> list[float]:
    """The mean weight between positions that are n apart, for all distances n."""
    both = [(weights.diagonal(n), weights.diagonal(-n)) for n in range(len(weights))]
    return [torch.cat(pair).mean().item() for pair in both]


def echo_figure(alike: np.ndarray, weights: Tensor, base: float, trained: int = 10) -> go.Figure:
    """How much each distance is like 0, what a network pays to it, and all its weights [T, S]."""
    titles = ["predicted: is this distance like 0?", "the network's attention", "measured"]
    shape = {"specs": [[{}, {"rowspan": 2}], [{}, None]], "column_widths": [0.52, 0.48]}
    space = {"vertical_spacing": 0.16, "horizontal_spacing": 0.14, "subplot_titles": titles}
    figure = make_subplots(2, 2, **shape, **space).update_layout(showlegend=False)
    figure.add_scatter(y=alike.round(3), mode="lines+markers", row=1, col=1, line_color=COLOURS[0])
    figure.add_bar(y=np.round(by_distance(weights), 3), row=2, col=1, marker_color=COLOURS[1])
    z = weights.numpy().round(3)
    bar = {"zmin": 0, "zmax": 1, "colorbar": colour_bar("weight")}
    figure.add_heatmap(z=z, colorscale=AMOUNTS, **bar, row=1, col=2)
    echo = trained + 1 + int(alike[trained + 1 :].argmax())
    green = {"fillcolor": COLOURS[2], "opacity": 0.12, "line_width": 0}
    for place in ({"row": 1, "col": 1}, {"row": 2, "col": 1}):
        figure.add_vrect(0, trained, **green, **place)
        figure.add_vline(echo, line={"dash": "dot", "color": "black"}, **place)
    figure.update_xaxes(range=[-0.6, len(alike) - 0.4], col=1)
    figure.update_xaxes(title_text="distance", row=2, col=1)
    figure.update_yaxes(title_text="mean cosine", range=[-1.05, 1.05], row=1, col=1)
    figure.update_yaxes(title_text="weight", range=[0, 1], row=2, col=1)
    figure.update_xaxes(title_text="position read", row=1, col=2)
    figure.update_yaxes(title_text="position written", autorange="reversed", row=1, col=2)
    return style(figure, title=f"base {base:,.0f}", width=840, height=440, margin_t=80)


def echo_panel(figure: Callable[[float], go.Figure]) -> Panel:
    """Move RoPE's base; `figure` draws what it predicts and what a trained network then does."""

    def work(base: int) -> tuple[str, go.Figure, str]:
        second = 2 * np.pi * base ** (1 / 8)
        told = f"The first hand is back after 6.28 positions, the second after {second:.2f}."
        return f"<p>{told}</p>", figure(base), f"Echoes for the base {base:,.0f}"

    shape = {"value": 10_000, "continuous_update": False, **look("base", "34em")}
    options = [(f"{base:,}", base) for base in BASES]
    return small_panel(work, widgets.SelectionSlider(options=options, **shape))


def _scores(query, key, mask, power=0.5):
    return (query @ key.T / query.shape[1] ** power).masked_fill(~mask, -torch.inf)


def _attention(rng):
    T, S, d = rng.randint(1, 3), rng.randint(2, 3), rng.randint(2, 4)
    mask = torch.tensor([[rng.random() < 0.6 for _ in range(S)] for _ in range(T)])
    mask[:, 0] = True  # nobody looks at nothing
    mask[0, 1] = False
    return random_tensor(rng, T, d), random_tensor(rng, S, d), random_tensor(rng, S, d), mask


check_attention = Exercise(
    "attention",
    lambda query, key, value, mask: scaled_dot_product_attention(
        query[None], key[None], value[None], mask[None]
    )[0],
    many(30, _attention),
)
check_attention.mistakes = {
    lambda q, k, v, mask: _scores(q, k, mask).softmax(0) @ v: "softmax is taken over the queries. "
    "The weights of one query, over all keys, have to add up to 1.",
    lambda q, k, v, mask: _scores(q, k, mask, 0).softmax(1) @ v: "the scores are not divided by √d "
    "(part 1 says what that is for).",
    lambda q, k, v, mask: _scores(q, k, mask | True).softmax(1) * mask @ v: "the mask comes after "
    "the softmax: the weights that are left do not add up to 1. Minus infinity comes before it.",
    lambda q, k, v, mask: _scores(q, k, mask | True).softmax(1) @ v: "the mask is not used.",
    lambda q, k, v, mask: _scores(q, k, ~mask).softmax(1) @ v: "the mask is turned round: it is "
    "true where a query may look.",
}
check_attention.signs = {
    lambda answer, *_: np.isnan(answer).any(): "nan comes from 0 times infinity. Do not multiply "
    "by the mask: masked_fill puts minus infinity just where it belongs.",
}


def _halves_to_neighbours(d):
    """The order of columns that puts x_j and x_(j + d/2) beside each other."""
    return [i for j in range(d // 2) for i in (j, j + d // 2)]


def _rope(x, base, sign=1):
    return rotate(x, rope_factors(sign * torch.arange(len(x)), x.shape[1], base))


def _rope_halves(x, base, sign=1, start=0):
    order = _halves_to_neighbours(x.shape[1])
    padded = torch.cat([x[:1]] * start + [x])
    turned, back = _rope(padded[:, order], base, sign)[start:], torch.empty_like(x)
    back[:, order] = turned
    return back


def _rows(rng):
    x = random_tensor(rng, rng.randint(2, 4), rng.choice((2, 4, 6)))
    return x, float(rng.choice((10, 100)))


check_rope_halves = Exercise("rope_halves", _rope_halves, many(25, _rows))
check_rope_halves.mistakes = {
    _rope: "neighbouring columns are turned together, as in part 4. Here column j goes with column "
    "j + d/2.",
    lambda x, base: _rope_halves(x, base, sign=-1): "the pairs turn the other way round.",
    lambda x, b: _rope_halves(x, b**0.5): "pair j turns by p times b^(-2j/d). A 2 is missing.",
    lambda x, base: _rope_halves(x, 1 / base): "later pairs turn faster. They should be slower.",
    lambda x, base: _rope_halves(x, base, start=1): "the first row, at position 0, does not turn.",
    lambda x, base: _rope_halves(x, base)[:, _halves_to_neighbours(x.shape[1])]: "the columns have "
    "moved: the pairs stand beside each other. Put column j back at j.",
}
check_rope_halves.signs = {
    lambda answer, expected, x, base: (
        not torch.allclose(torch.tensor(answer).norm(dim=1), x.norm(dim=1), atol=1e-3)
    ): "turning keeps the length of a row, and yours does not.",
}


def _branches(text, i):
    return "".join("LR"[side] for side in reversed(parse_prefix(text).tree_paths()[i]))


def _without_unary(text, i):
    """Branches upwards, those below ! and X left out."""
    paths = parse_prefix(text).tree_paths()
    above = [paths.index(paths[i][:depth]) for depth in range(len(paths[i]))]
    return "".join("LR"[s] for s, j in zip(paths[i], above, strict=True) if text[j] in "&U")[::-1]


def _token(rng):
    text = random_formula(rng, rng.randint(2, 9))
    return text, rng.randrange(len(text))


check_branches = Exercise("branches", _branches, many(60, _token))
check_branches.mistakes = {
    lambda text, i: _branches(text, i)[::-1]: "these are the branches from the root down. Tree "
    "positions put the branch next to the token first.",
    _without_unary: "! and X have one operand, and that is a branch too: a left one.",
}
check_branches.signs = {
    lambda answer, expected, *_: len(answer) > len(expected): "this is deeper than the token "
    "stands: a subformula that is complete is above nothing that comes after it.",
}
