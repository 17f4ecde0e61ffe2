"""Lesson 16: a panel, measurements, two figures and exercises on two ways to forget names."""

import time
import timeit
from collections.abc import Callable
from functools import partial

import plotly.graph_objects as go
import torch

from itekit.alpha import Renaming, used_tokens
from itekit.datasets.sets import read_set
from itekit.decoding import Solver
from itekit.evaluation import judge
from itekit.network import Network
from itekit.random_vectors import seeded
from itekit.results import shipped
from itekit.tasks.ltl import Ltl
from itekit.tasks.verdicts import count_names
from lessons.exercises import Exercise, many, random_formula, replaced
from lessons.infix import formula_from_text
from lessons.lesson_12 import scores
from lessons.panels import Panel, small_panel, typed
from lessons.plots import rates_with_intervals, style
from lessons.plots.lines import METHODS
from lessons.plots.show import BELOW, look
from lessons.rates import Counts
from lessons.runs import counts, network
from lessons.tables import html_table

NAMES = "abcdef"
SYMBOLS = (1, 2, 4, 8, 12)  # in the formulas of `costs`
READY = (6, 20, 60, 200)  # names that LTL networks are ready for


def view_panel(view: Callable[[str, str, str], str]) -> Panel:
    """A formula, a renaming of it, and the views of its streams beside their names."""

    def work(text: str, order: str) -> str:
        parsed = formula_from_text(text)
        used = [name for name in parsed.propositions if name in NAMES]
        if not used or len(used) < len(parsed.propositions):
            names = ", ".join(parsed.propositions) or "none"
            raise ValueError(f"expected a formula over a to f, found the names {names}")
        formula = "".join(parsed.tokens())
        used = used_tokens(formula, NAMES)
        needed = NAMES[: 1 + max(map(NAMES.index, used))]
        if not (len(order) >= len(needed) and len({*order} & {*NAMES}) == len(order)):
            some = f"one of a to f for each of {', '.join(needed)}"
            raise ValueError(f"expected {some}, all different; found {order!r}")
        renaming = Renaming(dict(zip(NAMES, order, strict=False)))
        rows = [("<b>view</b>", f"<b>in {formula}</b>", f"<b>in {renaming(formula)}</b>")]
        for name in used:
            seen, after = (view(r(formula), r(name), NAMES) for r in (Renaming({}), renaming))
            assert seen == after
            rows.append((f"<code>{seen}</code>", f"stream of {name}", f"of {renaming(name)}"))
        return html_table(rows)

    return small_panel(work, typed("a U (b & X c)", "formula"), typed("cab", "a, b, c are"))


def largest_difference(network: Network, formula: str, renaming: dict[str, str]) -> float:
    """Between the scores of the first token and those of the renamed formula, renamed back."""
    vocabulary, rename = network.experiment.task.vocabulary, Renaming(renaming)
    solver, U = Solver(network, 0, vocabulary), network.matrix(vocabulary, seeded(0))
    before, after = (scores(solver, text, "1", U)[0] for text in (formula, rename(formula)))
    moved = [vocabulary.tokens.index(token) for token in rename(vocabulary.tokens)]
    return (before - after[moved]).abs().max().item()


def _balanced(leaves: str) -> str:
    middle = len(leaves) // 2
    return leaves if not middle else "&" + _balanced(leaves[:middle]) + _balanced(leaves[middle:])


@torch.no_grad()
def costs(size: str, seed: int) -> dict[str, list[float]]:
    """Milliseconds of one core to read 16 formulas of 23 tokens with each of SYMBOLS."""
    vocabulary, found = Ltl(test_propositions=12).test_vocabulary, {}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    for name in ("symbol-invariant", "proposed"):
        model = network(f"ltl/{name}", size, seed)
        U, found[name] = model.matrix(vocabulary, seeded(seed)), []
        for symbols in SYMBOLS:
            leaves = "".join("abcdefghijkl"[i % symbols] for i in range(12))
            source = torch.tensor([vocabulary.encode(_balanced(leaves))] * 16)
            read = partial(model.model.encode, U, source)
            spent = timeit.repeat(read, timer=time.process_time, number=1, repeat=15)
            found[name].append(1000 * min(spent))
    torch.set_num_threads(threads)
    return found


def cost_figure(costs: dict[str, list[float]]) -> go.Figure:
    """What `costs` measured, as lines."""
    figure = go.Figure()
    for name, times in costs.items():
        colour, symbol, _ = look(METHODS.index(name))
        marker = {"color": colour, "symbol": symbol, "size": 9}
        figure.add_scatter(x=SYMBOLS, y=times, name=name, marker=marker, line={"width": 2.5})
    figure.update_xaxes(title_text="symbols in each formula", tickvals=SYMBOLS)
    figure.update_yaxes(title_text="milliseconds of one core", rangemode="tozero")
    title = "The price of a stream for each symbol"
    return style(figure, title=title, width=760, height=360, showlegend=True)


def spent(one: dict) -> tuple[int, float]:
    """Problems and seconds of a run's training, that of the weights that it began with included."""
    settings, trained = one["experiment"], one["trained"]
    start = shipped(settings["start"], seed=one["seed"]) if settings["start"] else None
    before = spent(start) if start else (0, 0.0)
    problems = trained["steps"] * settings["training"]["batch_size"]
    return before[0] + problems, before[1] + trained["seconds"]


def right_by_symbols(networks: dict[str, Network], size: str) -> dict[str, dict[str, Counts]]:
    """For `show_rates`: right answers of the test split by number of symbols, draw 0."""
    pairs = read_set("ltl35", size)["test"][: {"smoke": 20}.get(size, 2000)]
    symbols, found = count_names(pairs, NAMES), {}
    for name, one in networks.items():
        answers = Solver(one, 0).answers([formula for formula, _ in pairs])
        good = judge(one.experiment.task.check, pairs, answers).good
        parts = {f"{n} symbol{'s' * (n > 1)}": good[symbols == n] for n in (1, 2, 3)}
        found[name] = {text: (sum(part), len(part)) for text, part in parts.items()}
    return found


def names_figure() -> go.Figure:
    """Right answers over the whole LTL grid against the number of names."""
    runs = {
        "smallest-set": {n: f"names-{n}" for n in READY} | {6: "smallest-set"},
        "alpha-renaming": {n: f"names-{n}-alpha-renaming" for n in READY} | {6: "alpha-renaming"},
        "converted": dict.fromkeys(READY, "converted"),  # its answers do not depend on them
    }
    rates = {
        method: {n: counts(shipped(f"ltl/{run}"))["grid"] for n, run in some.items()}
        for method, some in runs.items()
    }
    title, x = "LTL: right answers over the whole grid", "N, the names that a network is ready for"
    figure = rates_with_intervals(rates, title=title, x=x, log=True)
    figure.data[0].name = "smallest-set, then names-N"
    figure.data[1].name = "alpha-renaming, then names-N-alpha-renaming"
    figure.update_yaxes(range=[0.6, 0.9], dtick=0.1)
    return figure.update_layout(legend=BELOW, margin_b=110)


def _views(formula):
    return [
        "".join("●" if t == name else "○" if t in NAMES else t for t in formula)
        for name in used_tokens(formula, NAMES)
    ]


check_views = Exercise(
    "views", _views, many(40, lambda rng: (random_formula(rng, rng.randint(1, 7)),))
)
check_views.mistakes = {
    lambda formula: sorted(_views(formula)): "the views are right, and sorted: asked is the order "
    "in which the formula names its symbols.",
    lambda formula: [
        "".join("●" if t == name else t for t in formula) for name in used_tokens(formula, NAMES)
    ]: "the other symbols still have their names: a stream reads each of them as ○.",
}


def _sum(streams, token):
    return sum(scores[token] for scores in streams.values())


def _scores(streams):
    mean = {token: _sum(streams, token) / len(streams) for token in ";!"}
    return mean | {symbol: scores["●"] for symbol, scores in streams.items()}


def _some_streams(rng):
    symbols = rng.sample("abc", rng.randint(1, 3))
    return ({s: {token: rng.randint(-9, 9) / 10 for token in ";!●"} for s in symbols},)


check_scores = Exercise("scores", _scores, many(40, _some_streams))
check_scores.mistakes = {
    lambda streams: _scores(streams) | {t: _sum(streams, t) for t in ";!"}: "the fixed tokens have "
    "the sum of the streams' scores. Asked is the mean.",
    lambda streams: _scores(streams) | dict.fromkeys(streams, _sum(streams, "●") / len(streams)): (
        "a symbol has the score of its own stream, not the mean."
    ),
}


def _two_formulas(rng):
    first = random_formula(rng, rng.randint(3, 6))
    second = replaced(first, dict(zip("abc", rng.sample("abc", 3), strict=True)))
    if rng.random() < 0.5:
        place = rng.randrange(len(second))
        if second[place] in "abc":
            second = second[:place] + rng.choice("abc") + second[place + 1 :]
    return first, second


PAIRS = [("&ab", "&aa"), ("&ab", "Uab"), ("&ab", "&ba"), ("&aX&b!c", "&aX&b!b")]
check_same_up_to_names = Exercise(
    "same_up_to_names",
    lambda first, second: sorted(_views(first)) == sorted(_views(second)),
    many(60, _two_formulas, *PAIRS),
)
check_same_up_to_names.mistakes = {
    lambda f, g: _views(f)[:1] == _views(g)[:1]: "one stream does not see which of the others are "
    "the same: compare all views.",
    lambda f, g: len(_views(f)) == len(_views(g)): "as many symbols is not enough.",
    lambda f, g: f == g: "that asks for the same formula. Renamed ones count too.",
}
