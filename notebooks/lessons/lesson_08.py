"""Lesson 08: a network asked again and again, failures by kind; its exercises."""

import html
from collections.abc import Callable, Iterable, Mapping, Sequence

import ipywidgets as widgets
import numpy as np
import plotly.graph_objects as go

from itekit.decoding import Solver
from itekit.network import Network
from lessons.exercises import Exercise, many
from lessons.panels import Panel, look, small_panel, typed
from lessons.plots import COLOURS, style
from lessons.plots.show import WIDEST, subplots
from lessons.rates import wilson
from lessons.subjects import Judge, LogicSubject
from lessons.tables import html_table

ALT = "Loss, AdaCos scale and learning rate over 9,000 steps: all fall."


def draw_panel(network: Network, formula: str, draws: int = 30) -> Panel:
    """A formula and a slider of draws; each answer so far, its draws, and what Spot says of it."""
    subject, judge, found = LogicSubject(network), Judge(), {}

    def work(text: str, draw: int) -> str:
        problem = subject.read(text)
        vocabulary = subject.experiment.task.vocabulary  # as in the lesson's cells
        solver = Solver(network, draw, vocabulary)
        if not solver.can_read(problem):
            solver = Solver(network, draw)  # ready for more names
        if not solver.can_read(problem):
            known = ", ".join(solver.vocabulary.interchangeable[0])
            raise ValueError(f"expected a formula over {known}")
        (answer,) = solver.answers([problem])
        answers = found.setdefault(problem, {})
        answers.setdefault(answer, set()).add(draw)
        rows = [("<b>answer</b>", "<b>Spot</b>", "<b>draws</b>")]
        for one, numbers in answers.items():
            shown = f"<code>{html.escape(one) or '(nothing)'}</code>{' ←' if one == answer else ''}"
            verdict = judge.verdict("ltl", problem, one)
            rows.append((shown, verdict, ", ".join(map(str, sorted(numbers)))))
        return f"<p>prefix {html.escape(problem)}</p>{html_table(rows)}"

    slider = widgets.IntSlider(0, 0, draws - 1, continuous_update=False, **look("draw"))
    return small_panel(work, typed(formula, "formula"), slider)


def failures_figure(
    judged: Iterable[tuple], groups: Mapping[str, Mapping[str, Callable]], good: Sequence[str]
) -> go.Figure:
    """The share of problems (formula, ..., verdict) that failed, a panel for each grouping."""
    failed = {formula: kind not in good for formula, *_, kind in judged}
    figure, places = subplots(list(groups), 2, vertical_spacing=0.22, horizontal_spacing=0.12)
    for belongs, place in zip(groups.values(), places, strict=True):
        bars = {}
        for name, holds in belongs.items():
            if flags := [bad for formula, bad in failed.items() if holds(formula)]:
                rate, (low, high) = np.mean(flags), wilson(sum(flags), len(flags))
                bars[f"{name} ({len(flags):,})"] = rate, high - rate, rate - low
        rates, above, below = zip(*bars.values(), strict=True)
        ends = {"type": "data", "array": above, "arrayminus": below}
        bar = {"orientation": "h", "marker_color": COLOURS[0], "error_x": ends}
        figure.add_bar(x=rates, y=list(bars), showlegend=False, **bar, **place)
    figure.update_yaxes(autorange="reversed", type="category", ticksuffix=" ")
    figure.update_xaxes(title_text="wrong answers", tickformat=".0%", range=[0, 0.4])
    alt = "Share of wrong answers. It grows with the tokens, with the names and with the number of "
    alt += "conjunctions, and does not with the number of untils."
    margin = {"l": 90, "t": 45}
    return style(figure, width=WIDEST, height=540, margin=margin, meta={"alt": alt})


check_teacher_forcing = Exercise(
    "teacher_forcing",
    lambda tokens, start, end: ([start, *tokens], [*tokens, end]),
    many(25, lambda rng: ([rng.randint(3, 9) for _ in range(rng.randint(0, 5))], 2, 1)),
)
check_teacher_forcing.mistakes = {
    lambda said, start, end: ([start, *said, end],) * 2: "inputs and targets are the same, so the "
    "decoder is shown what it has to say. Shift them by one.",
    lambda said, start, end: ([*said, end], [start, *said]): "the shift goes the wrong way: the "
    "decoder has to say the *next* token, and is shown the ones before it.",
    lambda said, start, end: ([start, *said[:-1]], [*said]): "the end is not a target: the network "
    "never learns to stop.",
}
check_teacher_forcing.signs = {
    lambda answer, expected, *_: len(answer) == 2 and len(answer[0]) != len(answer[1]): "each "
    "input has one target: both lists have the same length.",
}


def _batches(lengths, size, pool, by=None, keep_rest=False):
    """Rows of the batches: pools in order, each sorted by length, cut into batches."""
    ordered = []
    for start in range(0, len(lengths), pool):
        rows = range(start, min(start + pool, len(lengths)))
        ordered += sorted(rows, key=by or lengths.__getitem__)
    cut = [ordered[i : i + size] for i in range(0, len(ordered), size)]
    return [batch for batch in cut if keep_rest or len(batch) == size]


def _lengths(rng):
    size = rng.randint(1, 3)
    lengths = [rng.randint(1, 9) for _ in range(rng.randint(size, 12))]
    return lengths, size, size * rng.randint(2, 3)


check_batches = Exercise("batches", _batches, many(40, _lengths))
check_batches.mistakes = {
    lambda lengths, size, pool: _batches(lengths, size, len(lengths)): "everything is sorted at "
    "once: batches would hold the same problems in every epoch. Sort within each pool.",
    lambda lengths, size, pool: _batches(lengths, size, pool, by=lambda row: row): "nothing is "
    "sorted, so that one long problem makes its whole batch long.",
    lambda *a: _batches(*a, keep_rest=True): "the last batch is not full: leave it out.",
}


def _beam_step(going, log_p, K, end, candidates=2, by_length=True):
    """One step: (finished, going)."""
    every = [
        (score + more, tokens, token)
        for (tokens, score), row in zip(going, log_p, strict=True)
        for token, more in enumerate(row)
    ]
    best = sorted(every, key=lambda one: one[0], reverse=True)[: candidates * K]
    done = [(t, s) for s, t, token in best[:K] if token == end]
    finished = [((*t, end), s / (len(t) + 1) if by_length else s) for t, s in done]
    return finished, [((*t, token), s) for s, t, token in best if token != end][:K]


def _beams(rng):
    K, V = rng.randint(1, 3), rng.randint(4, 5)
    scores = sorted(rng.sample(range(1, 300), rng.randint(1, K)))
    length = rng.randint(0, 2) if len(scores) > 1 else 0
    going = [(tuple(rng.randrange(1, V) for _ in range(length)), -s / 100) for s in scores]
    sums = iter(rng.sample(range(301, 700), V * len(going)))  # no two are alike
    return going, [[(score - next(sums)) / 100 for _ in range(V)] for score in scores], K, 0


check_beam_step = Exercise("beam_step", _beam_step, many(60, _beams))
check_beam_step.mistakes = {
    lambda *a: _beam_step(*a, candidates=1): "only K continuations are looked at. If some of them "
    "end, fewer than K beginnings go on: look at 2K.",
    lambda *a: _beam_step(*a, by_length=False): "the score of a finished answer is divided by its "
    "length, the end included; else short answers win.",
}
