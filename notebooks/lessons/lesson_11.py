"""Lesson 11: a table, two figures of bars with intervals; exercises."""

from collections.abc import Mapping, Sequence
from itertools import product

import plotly.graph_objects as go
from IPython.display import Markdown
from plotly.subplots import make_subplots

from itekit.alpha import alpha_covariance
from itekit.logic.perturbation import perturb, published_perturbation
from itekit.plots import show, style
from itekit.plots.lines import METHODS
from itekit.plots.show import look
from itekit.results import markdown_table, our_rate, paper_cell
from lessons.exercises import Exercise, many, random_formula
from lessons.figures import slider
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
        change = [
            100 * points for points in newcombe(*counts(after)["test"], *counts(before)["test"])
        ]
        cells.insert(1, "{:+.1f} ({:+.1f} to {:+.1f})".format(*change).replace("-", "−"))
        rows.append([names[0], *cells])
    head = "right answers", "change in points", "the paper's", "alpha-covariance", "the paper's"
    return Markdown(markdown_table(("drawn → perturbed", *head), rows))


def bars(counts: Sequence[tuple[float, int]]) -> dict:
    """What a trace of bars shows, a bar for (k of n): rates and Wilson's intervals of 95 %."""
    rates, ends = [k / n for k, n in counts], [wilson(k, n) for k, n in counts]
    above = [high - rate for (_, high), rate in zip(ends, rates, strict=True)]
    below = [rate - low for (low, _), rate in zip(ends, rates, strict=True)]
    return {"y": rates, "text": [f"{rate:.0%}" for rate in rates], "above": above, "below": below}


def _bar(names: Sequence[str], shown: Mapping) -> go.Bar:
    """Bars in the colours of the methods; those trained on data as drawn are open."""
    kinds, methods = zip(*(name.split("/") for name in names), strict=True)
    colours = [look(METHODS.index(method))[0] for method in methods]
    inside = [c if "-" in kind else "white" for kind, c in zip(kinds, colours, strict=True)]
    text = ["white" if "-" in kind else "#222222" for kind in kinds]
    words = [
        f"{m}<br>{k.partition('-')[2] or 'as drawn'}" for k, m in zip(kinds, methods, strict=True)
    ]
    ends = {"array": shown.get("above"), "arrayminus": shown.get("below")}
    return go.Bar(x=words, y=shown["y"], text=shown["text"], showlegend=False,
                  marker={"color": inside, "line": {"color": colours, "width": 3}},
                  insidetextanchor="start", textposition="inside", insidetextfont={"color": text},
                  textangle=0, error_y=ends if "above" in shown else None)  # fmt: skip


def show_falls(runs: Runs) -> None:
    """Show right answers of plain on data as drawn, and of three methods on perturbed data."""
    methods = "plain", "alpha-renaming", "proposed"
    titles = [f"{task}, {whose}" for task in TASKS.values() for whose in ("ours", "the paper")]
    figure, told = make_subplots(2, 2, subplot_titles=titles, vertical_spacing=0.2), []
    for row, task in enumerate(TASKS, 1):
        names = [f"{task}/plain", *(f"{task}-perturbed/{method}" for method in methods)]
        theirs = [paper_cell(name, "correct") for name in names]
        paper = {"y": theirs, "text": [f"{rate:.0%}" for rate in theirs]}
        ours = bars([counts(runs.results(name)[name])["test"] for name in names])
        for column, shown in enumerate((ours, paper), 1):
            figure.add_trace(_bar(names, shown), row=row, col=column)
            told.append(f"{titles[2 * row + column - 3]}: {', '.join(shown['text'])}")
    figure.update_yaxes(range=[0, 1.05], tickformat=".0%", dtick=0.25)
    figure.update_xaxes(tickfont_size=13)
    title = "Trained on perturbed data, tested on problems as drawn"
    style(figure, title=title, width=840, height=580).update_layout(margin_t=90)
    trained = f"plain trained on data as drawn, then of {', '.join(methods)} on perturbed data"
    show(figure, alt=f"Right answers of {trained}. {'; '.join(told)}.")


def show_orders(counts: Mapping[str, Mapping[str, int]], n: int) -> None:
    """Show right answers of n test problems under names in each order, which a slider chooses."""
    steps, names = [], list(next(iter(counts.values())))
    for order, found in counts.items():
        shown = bars([(found[name], n) for name in names])
        keys = ("y", "text", "error_y.array", "error_y.arrayminus")
        args = {key: [value] for key, value in zip(keys, shown.values(), strict=True)}
        steps.append({"method": "restyle", "label": ", ".join(order), "args": [args]})
        if len(steps) == 1:
            figure = go.Figure(_bar(names, shown))
    below = slider(steps, "the APs of the label first appear in the order ", 60)
    figure.update_yaxes(range=[0, 1], tickformat=".0%", dtick=0.25, title_text="right answers")
    style(figure, width=760, height=480, sliders=[below]).update_layout(margin_b=130)
    texts = {order: [f"{k / n:.0%}" for k in found.values()] for order, found in counts.items()}
    told = "; ".join(f"{order} {', '.join(rates)}" for order, rates in texts.items())
    alt = f"A slider of the order of names. Right answers of {', '.join(names)}: {told}."
    show(figure, alt=alt)


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
