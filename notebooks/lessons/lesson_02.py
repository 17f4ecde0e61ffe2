"""Exercises and figures of notebook 02: integers and vectors, unique draws, cosines."""

import math
import random
from collections.abc import Sequence
from itertools import count as count_up

import plotly.graph_objects as go
import torch

from itekit.random_vectors import METHODS, integers_to_vectors, random_vectors, sampling_set_size
from lessons.exercises import Exercise, many
from lessons.plots import COLOURS, GREY, SIGNED, colour_bar, style
from lessons.plots.show import PLAIN, arrow, colours, subplots

POINTS, CORNERS = "neighboring_points", "hypercube_vertices"
LETTERS = list("abcdefghijklmnopqrstuvwxyz")


def plane_figure(names: Sequence[str], seed: int) -> go.Figure:
    """A vector of the plane for each name by each method, in front of all that can be drawn."""
    figure, places = subplots([method.replace("_", " ") for method in METHODS], 3)
    for method, place in zip(METHODS, places, strict=True):
        if size := sampling_set_size(method, 2):
            x, y = integers_to_vectors(method, torch.arange(size), 2).T.tolist()
            dots = {"color": GREY, "opacity": 0.6, "size": 9, "symbol": "circle-open"}
            figure.add_scatter(x=x, y=y, mode="markers", marker=dots, hoverinfo="skip", **place)
        vectors = random_vectors(method, len(names), 2, torch.Generator().manual_seed(seed))
        for name, (x, y) in zip(names, vectors.tolist(), strict=True):
            figure.add_scatter(x=[0, x], y=[0, y], **arrow(COLOURS[0], [0, 13]), **place)
            side = "right" if x > 0 else "left" if x < 0 else "center"
            outside = f"{'top' if y >= 0 else 'bottom'} {side}"
            end = {"mode": "text", "text": [name], "textposition": outside, "hoverinfo": "x+y"}
            figure.add_scatter(x=[x], y=[y], **end, **place)
    figure.update_xaxes(range=[-3, 3], title_text="dimension 1").update_yaxes(range=[-3, 3])
    figure.update_yaxes(title_text="dimension 2", col=1)
    alt = "Three random vectors in the plane by each of the three methods, as arrows."
    return style(figure, width=820, height=320, showlegend=False, meta={"alt": alt})


def cosines_figure(dimensions: Sequence[int], seed: int) -> go.Figure:
    """The cosines between vectors of 26 letters, drawn from N(0, 1) in so many dimensions."""
    sizes = {}
    titles = ["1 dimension" if d == 1 else f"{d} dimensions" for d in dimensions]
    figure, places = subplots(titles, len(dimensions), shared_yaxes=True)
    for d, place in zip(dimensions, places, strict=True):
        rows = random_vectors("normal", 26, d, torch.Generator().manual_seed(seed))
        rows = torch.nn.functional.normalize(rows)
        sizes[d] = (rows @ rows.T)[*torch.triu_indices(26, 26, 1)].abs().mean()
        heat = {"z": (rows @ rows.T).numpy().round(2), "x": LETTERS, "y": LETTERS}
        figure.add_heatmap(**heat, coloraxis="coloraxis", **place)
    figure.update_xaxes(**PLAIN, showticklabels=False, title_text="letters a to z")
    figure.update_yaxes(**PLAIN, showticklabels=False, autorange="reversed")
    figure.update_yaxes(title_text="letters a to z", col=1)
    scale = colours(SIGNED, -1, 1, colour_bar("cosine", side="top"))
    means = ", ".join(f"{size:.2f} in {d}" for d, size in sizes.items())
    alt = {"alt": f"Mean size of the cosines of two letters, by dimensions: {means}"}
    size = {"width": 110 + 240 * len(dimensions), "height": 320}
    return style(figure, **size, coloraxis=scale, meta=alt)


def _base_three(vector):
    return sum((component + 1) * 3**k for k, component in enumerate(reversed(vector)))


def _integer_of(vector):
    return _base_three(vector) - (_base_three(vector) > 3 ** len(vector) // 2)


def _vector(rng):
    d = rng.randint(1, 5)
    integer = torch.tensor([rng.randrange(3**d - 1)])
    return (integers_to_vectors(POINTS, integer, d)[0].int().tolist(),)


check_integer_of = Exercise("integer_of", _integer_of, many(40, _vector))
check_integer_of.mistakes = {
    lambda vector: sum((x + 1) * 3**k for k, x in enumerate(vector[::-1])): "the digits are read "
    "right, but the integers step over the zero vector: beyond its place each vector has an "
    "integer that is one smaller.",
    lambda vector: _integer_of(vector[::-1]): "the first component is the most significant digit.",
}


class _Seeded(random.Random):
    """A random.Random that shows its seed, so that a case can be tried by hand."""

    def __init__(self, seed=0):
        super().__init__(seed)
        self.start = seed

    def __reduce__(self):
        return _Seeded, (self.start,), self.getstate()

    def __repr__(self):
        return f"random.Random({self.start})"


def _draw(count, d, rng):
    generator = torch.Generator().manual_seed(rng.randrange(2**31))
    return random_vectors(POINTS, count, d, generator).int()


def _judge_draw(answer, count, d, rng):
    if not isinstance(answer, list):
        return f"expected a list of {count} lists, found a value of type {type(answer).__name__}"
    if len(answer) != count:
        return f"expected {count} vectors, found {len(answer)}"
    for i, vector in enumerate(answer):
        if len(vector) != d or set(vector) - {-1, 0, 1}:
            return f"vector {i} should have {d} components -1, 0 or 1, and is {vector}"
        if not any(vector):
            return f"vector {i} is the zero vector, which has no direction"
        if (first := answer.index(vector)) < i:
            return f"vectors {first} and {i} are the same: two tokens look alike"
    if count > 1 and rng.getstate() == random.Random(rng.start).getstate():
        return "rng was not asked for anything: the vectors have to be drawn with it"
    return None


def _size(rng):
    d = rng.randint(1, 4)
    return rng.randint(1, min(30, 3**d - 1)), d, _Seeded(rng.randrange(1000))


def _nothing_stepped_over(count, d, rng):
    integers = rng.sample(range(3**d - 1), count)
    return [[i // 3**k % 3 - 1 for k in reversed(range(d))] for i in integers]


check_draw = Exercise("draw", _draw, many(60, _size), judge=_judge_draw)
check_draw.mistakes = {
    lambda count, d, rng: [[rng.choice((-1, 0, 1)) for _ in range(d)] for _ in range(count)]: (
        "every component is drawn by itself. Draw integers without replacement, and turn them "
        "into vectors."
    ),
    _nothing_stepped_over: "the integers are different, but nothing steps over the one whose "
    "digits are all 1.",
}


def _logarithm(count, base, rounded=math.ceil):
    return max(1, rounded(math.log(count, base) - 1e-9))


EDGES = [(POINTS, 3**d - 1 + k) for d in (1, 2, 3, 5) for k in (0, 1)]
EDGES += [(CORNERS, 2**d + k) for d in (1, 2, 5) for k in (0, 1)]

check_dimensions = Exercise(
    "dimensions",
    lambda method, count: next(d for d in count_up(1) if sampling_set_size(method, d) >= count),
    many(30, lambda rng: (rng.choice((POINTS, CORNERS)), rng.randint(2, 2000)), *EDGES),
)
check_dimensions.mistakes = {
    lambda method, count: _logarithm(count, 3 if method == POINTS else 2, math.floor): "the "
    "logarithm is rounded down, and the set is too small: round up.",
    lambda method, count: _logarithm(count, 3 if method == POINTS else 2): "neighboring points "
    "lack the zero vector: d dimensions hold 3^d - 1 of them.",
}
