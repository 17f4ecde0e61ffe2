"""Lesson 11: a table, two figures of bars with intervals; exercises."""

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import plotly.graph_objects as go
from IPython.display import Markdown
from plotly.subplots import make_subplots

from itekit.alpha import alpha_covariance
from itekit.datasets.presets import perturb
from lessons.exercises import Exercise, many, random_formula
from lessons.figures import slider
from lessons.paper import markdown_table, our_rate, paper_cell
from lessons.perturbation import published_perturbation
from lessons.plots import show, style
from lessons.plots.lines import METHODS
from lessons.plots.show import look
from lessons.rates import newcombe, wilson
from lessons.runs import Runs, counts

NAMES = "abc"
TASKS = {"ltl": "LTL", "prop": "propositional"}


def falls_table(runs: Runs, methods: Sequence[str]) -> Markdown:
    """What each method loses by perturbed data, with a 95 % interval; and the paper's."""
    rows = []
    for task, method in product(TASKS, methods):
        names, cells = (f"{task}/{method}", f"{task}-perturbed/{method}"), []
        before, after = (runs.results(name)[name] for name in names)
        for column, form in ("correct", ".1%"), ("alpha-covariance-3", ".3f"):
            ours = our_rate(before, column), our_rate(after, column)
            for rates in ours, [paper_cell(name, column) for name in names]:
                cells.append(" → ".join("–" if r is None else format(r, form) for r in rates))
        change = np.array(newcombe(*counts(after)["test"], *counts(before)["test"]))
        cells.insert(1, "{:+.1f} ({:+.1f} to {:+.1f})".format(*100 * change).replace("-", "−"))
        rows.append([names[0], *cells])
    head = "right answers", "change in points", "the paper's", "alpha-covariance", "the paper's"
    return Markdown(markdown_table(("drawn → perturbed", *head), rows))


def _bar(names: Sequence[str], counts: Sequence[tuple[float, int]]) -> go.Bar:
    """A bar for each (k of n) in the colour of the method, with Wilson's interval of 95 %.

    Those trained on data as drawn are open. Where n is 0, k is a rate without an interval.
    """
    kinds, methods = zip(*(name.split("/") for name in names), strict=True)
    colours = [look(METHODS.index(method))[0] for method in methods]
    inside = [c if "-" in kind else "white" for kind, c in zip(kinds, colours, strict=True)]
    text = ["white" if "-" in kind else "#222222" for kind in kinds]
    data = [kind.partition("-")[2] or "as drawn" for kind in kinds]
    rates = np.array([k / (n or 1) for k, n in counts])
    low, high = np.transpose([wilson(k, n) if n else (k, k) for k, n in counts])
    ends = {"array": high - rates, "arrayminus": rates - low, "visible": counts[0][1] > 0}
    said = {"text": [f"{rate:.0%}" for rate in rates], "insidetextfont": {"color": text}}
    said |= {"insidetextanchor": "start", "textposition": "inside", "textangle": 0}
    shape = {"marker": {"color": inside, "line": {"color": colours, "width": 3}}, **said}
    words = list(map("{}<br>{}".format, methods, data))
    return go.Bar(x=words, y=rates, error_y=ends, showlegend=False, **shape)


def show_falls(runs: Runs) -> None:
    """Show right answers of plain on data as drawn, and of three methods on perturbed data."""
    methods = "plain", "alpha-renaming", "proposed"
    titles = [f"{task}, {whose}" for task in TASKS.values() for whose in ("ours", "the paper")]
    figure, told = make_subplots(2, 2, subplot_titles=titles, vertical_spacing=0.2), []
    for row, task in enumerate(TASKS, 1):
        names = [f"{task}/plain", *(f"{task}-perturbed/{method}" for method in methods)]
        ours = [counts(one)["test"] for one in runs.results(*names).values()]
        paper = [(paper_cell(name, "correct"), 0) for name in names]
        for column, shown in enumerate((ours, paper), 1):
            figure.add_trace(bars := _bar(names, shown), row=row, col=column)
            told.append(f"{titles[2 * row + column - 3]}: {', '.join(bars.text)}")
    figure.update_yaxes(range=[0, 1.05], tickformat=".0%", dtick=0.25)
    figure.update_xaxes(tickfont_size=13)
    title = "Trained on perturbed data, tested on problems as drawn"
    style(figure, title=title, width=840, height=580).update_layout(margin_t=90)
    trained = f"plain trained on data as drawn, then of {', '.join(methods)} on perturbed data"
    show(figure, alt=f"Right answers of {trained}. {'; '.join(told)}.")


def show_orders(counts: Mapping[str, Mapping[str, int]], n: int) -> None:
    """Show right answers of n test problems under names in each order, which a slider chooses."""
    steps, names = [], list(next(iter(counts.values())))
    made = {order: _bar(names, [(k, n) for k in one.values()]) for order, one in counts.items()}
    for order, bars in made.items():
        keys = ("y", "text", "error_y.array", "error_y.arrayminus")
        args = {key: [list(bars[key])] for key in keys}
        steps.append({"method": "restyle", "label": ", ".join(order), "args": [args]})
    figure = go.Figure(next(iter(made.values())))
    below = slider(steps, "the APs of the label first appear in the order ", 60)
    figure.update_yaxes(range=[0, 1], tickformat=".0%", dtick=0.25, title_text="right answers")
    style(figure, width=760, height=480, sliders=[below]).update_layout(margin_b=130)
    texts = {order: [f"{k / n:.0%}" for k in found.values()] for order, found in counts.items()}
    told = "; ".join(f"{order} {', '.join(rates)}" for order, rates in texts.items())
    alt = f"A slider of the order of names. Right answers of {', '.join(names)}: {told}."
    show(figure, alt=alt)


def _first(label):
    return next((token for token in label if token in NAMES), None)


def _first_shares(labels):
    firsts = [first for label in labels if (first := _first(label))]
    return {name: firsts.count(name) / len(firsts) for name in NAMES}


def _anywhere(labels):
    having = [label for label in labels if _first(label)]
    return {name: sum(name in label for label in having) / len(having) for name in NAMES}


def _labels(rng):
    without = ["{1}"] * rng.randint(0, 1)
    return (without + ["b;{a}"] + [_trace(rng) for _ in range(rng.randint(1, 4))],)


check_first_shares = Exercise("first_shares", _first_shares, many(40, _labels))
check_first_shares.mistakes = {
    lambda labels: {n: sum(_first(y) == n for y in labels) / len(labels) for n in NAMES}: "labels "
    "without any AP are counted in the total. Shares of the labels that have one add up to 1.",
    _anywhere: "that counts in how many labels a name occurs; asked is which comes first.",
}


def _last_first(formula, label):
    return perturb(formula, label, NAMES[::-1])


def _trace(rng):
    steps = [rng.choice(("1", "a", "b", "c", "!b", "&ac", "&bc", "!c")) for _ in range(3)]
    return "".join(step + ";" for step in steps[: rng.randint(0, 2)]) + "{" + steps[2] + "}"


check_perturb_backwards = Exercise(
    "perturb_backwards",
    _last_first,
    many(60, lambda rng: (random_formula(rng, rng.randint(1, 8)), _trace(rng))),
)
check_perturb_backwards.mistakes = {
    lambda f, y: published_perturbation(f, y, NAMES[::-1]): "only the label's APs are renamed, and "
    "one that the formula alone has may merge with them: give it a name that is left.",
    lambda f, y: (f, _last_first(f, y)[1]): "the formula has to get the new names too.",
    lambda f, y: _last_first(y, f)[::-1]: "the order is that of the formula. It has to be that of "
    "the label; what only the formula has comes after.",
}


def _drop(before, after):
    pairs = [(x, y) for x, y in zip(before, after, strict=True) if len(x) > 1 and len(y) > 1]
    return sum(alpha_covariance(x) - alpha_covariance(y) for x, y in pairs) / len(pairs)


def _pooled(before, after):
    x, y = (alpha_covariance([a for one in side for a in one]) for side in (before, after))
    return x - y


def _answers(rng):
    sizes = [rng.choice((3, 6)) for _ in range(rng.randint(1, 3))] + [1] * rng.randint(0, 1)
    said = ("{a}", "{b}", "b;{1}")
    return tuple([[rng.choice(said[:k]) for _ in range(n)] for n in sizes] for k in (2, 3))


check_covariance_drop = Exercise("covariance_drop", _drop, many(40, _answers))
check_covariance_drop.mistakes = {
    _pooled: "all answers are thrown into one set. Alpha-covariance is of *one* problem's forms; "
    "take the mean over problems.",
    lambda before, after: _drop(after, before): "a drop is positive if the value falls.",
    lambda before, after: _drop(before, after) * sum(len(x) > 1 for x in before) / len(before): "a "
    "problem with a single form has no alpha-covariance (0/0): leave it out.",
}
