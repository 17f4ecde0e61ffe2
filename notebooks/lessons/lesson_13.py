"""Lesson 13: weights against tokens, a step of which one part is made faster; and its exercises."""

import math
from collections.abc import Mapping

import plotly.graph_objects as go

from itekit.data import Batch
from itekit.experiments import Experiment
from itekit.tasks.streams import PairStream, Problems
from lessons.exercises import Exercise, many
from lessons.figures import slider
from lessons.plots import COLOURS, GREY, runtime_figure, show, style
from lessons.plots.lines import METHODS


def formulas(experiment: Experiment) -> tuple[Problems, list[Batch]]:
    """Training problems for 24 batches, and these batches."""
    size, task = experiment.training.batch_size, experiment.task
    problems = task.pack(task.sides(experiment.seed)[0][: 24 * size], task.vocabulary)
    stream = PairStream(problems, problems, size, experiment.seed)
    return problems, [Batch.of(stream.batch(step)) for step in range(len(problems) // size)]


def show_against_tokens(costs: Mapping, values: Mapping, title: str, unit: str) -> None:
    """A quantity of each method against the number of interchangeable tokens, both logarithmic."""
    lines = {name: (costs["sizes"], values[name]) for name in METHODS if name in values}
    figure = runtime_figure(lines, title=title).update_traces(hovertemplate="%{x} tokens: %{y:.3g}")
    figure.update_xaxes(title_text="interchangeable tokens").update_yaxes(title_text=unit)
    alt = "; ".join(f"{m} {v[0]:,.3g} to {v[-1]:,.3g}" for m, v in values.items())
    show(figure, f"{title}: {unit} against interchangeable tokens, both logarithmic. {alt}.")


def show_faster_parts(seconds: Mapping[str, float], factors=(1, 2, 4, 16, math.inf)) -> None:
    """What a step takes if one part alone is made faster; a slider says how many times."""
    shares = {part: value / sum(seconds.values()) for part, value in seconds.items()}
    left = {k: [1 - share + share / k for share in shares.values()] for k in factors}
    text = {k: [f"{value:.1%}" for value in values] for k, values in left.items()}
    figure = go.Figure()
    figure.add_bar(y=list(shares), x=left[factors[-1]], text=text[factors[-1]], orientation="h")
    figure.update_traces(marker_color=COLOURS[0], textposition="inside", insidetextanchor="end")
    figure.add_vline(x=1, line={"color": GREY, "dash": "dot"})
    labels = [f"{k:g} times" if k < math.inf else "∞" for k in factors]
    changes = [{"x": [left[k]], "text": [text[k]]} for k in factors]
    pairs = zip(labels, changes, strict=True)
    steps = [{"method": "restyle", "label": label, "args": [change]} for label, change in pairs]
    below = slider(steps, "this part faster: ", 50, len(factors) - 1)
    figure.update_xaxes(tickformat=".0%", range=[0, 1.02], title_text="time of the whole step")
    figure.update_yaxes(autorange="reversed", ticks="", showgrid=False)
    style(figure, title="If one part alone were faster", width=800, height=500, sliders=[below])
    alt = ", ".join(f"{part} {share:.1%}" for part, share in shares.items())
    show(figure.update_layout(margin_b=140), alt=f"Shares of a training step: {alt}.")


def _vocabulary(rng):
    D = rng.choice((64, 128, 132))
    return rng.randint(3, 14), rng.choice((5, 10, 100, 1000)), D, rng.randint(3, 16)


check_weights = Exercise(
    "weights",
    lambda n, m, D, d: {"plain": (n + m) * D, "proposed": (n + 1) * (D - d)},
    many(30, _vocabulary),
)
check_weights.mistakes = {
    lambda n, m, D, d: {"plain": (n + m) * D, "proposed": (n + 1) * D}: "the random part is drawn "
    "and not learned: learned rows have D - d_beta numbers.",
    lambda n, m, D, d: {"plain": (n + m) * D, "proposed": (n + m) * (D - d)}: "all interchangeable "
    "tokens share one learned row: their number does not come in.",
    lambda n, m, D, d: {"plain": (n + m) * D, "proposed": n * (D - d)}: "the row that the "
    "interchangeable tokens share is learned too.",
}


def _model(rng):
    D = rng.choice((64, 128, 132))
    return D * rng.randint(20, 5000) + rng.choice((0, 0, 1, D // 2)), rng.randint(3, 14), D


check_half = Exercise(
    "half",
    lambda elsewhere, n, D: max(0, math.ceil(elsewhere / D) - n),
    many(30, _model, (640, 3, 64)),
)
check_half.mistakes = {
    lambda elsewhere, n, D: math.ceil(elsewhere / D): "the other tokens have rows too.",
    lambda elsewhere, n, D: elsewhere // D - n: "rounded down: with so many tokens the embedding "
    "is still a little smaller than the rest.",
    lambda elsewhere, n, D: math.ceil(elsewhere / 2 / D) - n: "half of *all* weights, and the "
    "embedding is a part of them: it has to hold as many as the rest does.",
}


def _tokens(lengths, cached, together=False):
    steps = [max(lengths)] * len(lengths) if together else lengths
    return sum(T if cached else T * (T + 1) // 2 for T in steps)


check_tokens_decoded = Exercise(
    "tokens_decoded",
    _tokens,
    many(
        30, lambda rng: ([rng.randint(1, 40) for _ in range(rng.randint(1, 4))], rng.random() < 0.5)
    ),
)
check_tokens_decoded.mistakes = {
    lambda lengths, cached: _tokens(lengths, True): "without a cache step t runs t tokens through "
    "the layer: 1 + 2 + ... + T.",
    lambda lengths, cached: sum(T if cached else T * T for T in lengths): "step t runs t tokens "
    "through the layer, not T: early steps are short.",
    lambda lengths, cached: _tokens(lengths, cached, together=True): "every answer is run as long "
    "as the longest one. A row that has ended is dropped.",
    lambda lengths, cached: sum(T if cached else T * (T - 1) // 2 for T in lengths): "step t runs "
    "t tokens through the layer, the newest one included.",
}
