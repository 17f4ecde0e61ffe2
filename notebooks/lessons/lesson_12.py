"""Lesson 12: a panel, a figure, a table and exercises on alpha-covariance."""

from collections.abc import Callable, Sequence
from itertools import permutations
from string import ascii_uppercase

import ipywidgets as widgets
import numpy as np
import plotly.graph_objects as go
import torch
from IPython.display import Markdown

from itekit.alpha import Renaming, alpha_covariance, used_tokens
from itekit.data import Batch
from itekit.datasets.sets import read_set
from itekit.decoding import Solver
from itekit.names import TASKS
from itekit.results import load_result, shipped
from lessons.exercises import Exercise, many, one_by_one, replaced
from lessons.panels import Panel, look, small_panel
from lessons.paper import markdown_table, our_rate, paper_cell
from lessons.plots import COLOURS, SYMBOLS, show, style
from lessons.plots.show import GREY, GRID
from lessons.rates import wilson
from lessons.runs import network

NAMES = "abcd"
MOST_FORMS = 720


def paper_alpha_covariance(task: str) -> dict[str, dict[int, float]]:
    """Alpha-covariance, 0 to 1, by variant and number of APs out of 10; `task` "ltl" or "prop"."""
    key, counts = f"{task}/{{}}/alpha-covariance-{{}}-of-10", range(3, 11)
    variants = "full-vocabulary", "alpha-renaming", "proposed"
    return {v: {k: paper_cell(*key.format(v, k).rsplit("/", 1)) for k in counts} for v in variants}


class Rule:
    """A function that answers one formula, with what `itekit.evaluation.covariance` asks for."""

    def __init__(self, answer: Callable[[str], str], task: str = "propositional"):
        self.answer, self.task = answer, TASKS[task]()

    def answers(self, formulas: Sequence[str]) -> list[str]:
        return [self.answer(formula) for formula in formulas]


def trained(name: str, size: str, seed: int) -> Solver:
    """The shipped lab network with its median draw; at smoke size an untrained one."""
    draw = 0 if size == "smoke" else load_result(name, "lab", seed)["result"]["median_draw"]
    return Solver(network(name, size, seed), draw)


def with_aps(name: str, size: str, names: Sequence[str], k: int, most: int) -> list[tuple]:
    """The first test problems of a set that have k APs."""
    pairs = read_set(name, size)["test"]
    return [pair for pair in pairs if len(used_tokens(pair[0], names)) == k][:most]


@torch.no_grad()
def scores(solver: Solver, formula: str, label: str, U: torch.Tensor) -> torch.Tensor:
    """The score of each next token while the network writes a label, with the matrix U: [T, V]."""
    packed = solver.task.pack([(formula, label)], solver.vocabulary)
    (logits,) = solver.network.logits(U, Batch.of(packed.batch(np.array([0]))))
    return logits.nan_to_num(neginf=0)  # of tokens that never come


def forms_panel(agreement: Callable[[Sequence[str]], float]) -> Panel:
    """Made-up networks: a letter for each form's answer, and two measures of the letters."""

    def work(forms: int, strays: int, others: int) -> str:
        rng = np.random.default_rng(1)
        stray = rng.random(MOST_FORMS) < strays / 100
        numbers = stray * (1 + (others * rng.random(MOST_FORMS)).astype(int))
        answers = [ascii_uppercase[number] for number in numbers[:forms]]
        colours = [GRID, *(f"{colour}66" for colour in COLOURS[:-1] * 5)]  # pale, A grey
        shade = dict(zip(ascii_uppercase, colours, strict=False))
        box = "display:inline-block;width:1.2em;text-align:center;color:#222;background:"
        squares = "".join(f'<span style="{box}{shade[one]}">{one}</span>' for one in answers)
        line = f"{len(set(answers))} different answers to {len(answers)} forms: "
        line += f"<b>alpha-covariance {alpha_covariance(answers):.3f}</b>, "
        line += f"agreement {agreement(answers):.3f}"
        return f'<p>{line}</p><p style="line-height:1.5;word-break:break-all">{squares}</p>'

    sliders = {"forms asked": (6, 2, MOST_FORMS), "strays, in %": (50, 0, 100)}
    sliders["other answers"] = 5, 1, 25
    shape = "34em", "12em"
    controls = (widgets.IntSlider(*r, **look(name, *shape)) for name, r in sliders.items())
    return small_panel(work, *controls)


def show_forms(
    value: Callable[[int, Callable], float], counts: Sequence[int], measures: Sequence[Callable]
) -> None:
    """Show one network's measures, `value(count, measure)`, against the number of forms asked."""
    figure, title, spoken = go.Figure(), "One network, one set of problems", []
    for colour, symbol, measure in zip(("#000000", GREY), SYMBOLS, measures, strict=False):
        name, y = measure.__name__.replace("_", "-"), [value(count, measure) for count in counts]
        marker = {"color": colour, "symbol": symbol, "size": 9}
        figure.add_scatter(x=counts, y=y, name=name, marker=marker, line={"width": 2.5})
        spoken.append(f"{name} from {y[0]:.2f} to {y[-1]:.2f}")
    figure.update_xaxes(title_text="forms asked", type="log", tickvals=counts, minor_ticks="")
    figure.update_yaxes(title_text="mean over the problems", range=[0.7, 1.01])
    style(figure, title=title, width=760, height=360, showlegend=True)
    show(figure, alt=f"{title}, {counts[0]} to {counts[-1]} forms: {'; '.join(spoken)}.")


def _mean_text(found: dict | None, names: int, counts: str) -> str:
    """Alpha-covariance with so many names, the mean over these numbers of APs, and its interval."""
    there = found["by_propositions"].items() if found and found["vocabulary"] == names else ()
    if not (rows := [row for n, row in there if n in counts]):
        return "–"
    mean, count = sum(row["mean"] for row in rows) / len(rows), sum(row["samples"] for row in rows)
    return "{:.3f} ({:.2f} to {:.2f})".format(mean, *wilson(mean * count, count))


def covariance_table(*names: str) -> Markdown:
    """A row for each experiment that has a result, beside the paper's figures."""
    rows = []
    for name in names:
        if one := shipped(name):
            correct, same = (paper_cell(name, key) for key in ("correct", "alpha-covariance-3"))
            paper = ["", ""] if correct is None else [f"{correct:.1%}", f"{same:.3f}"]
            inside, beyond = (one["result"][f"alpha_covariance{end}"] for end in ("_training", ""))
            cells = _mean_text(inside, 3, "3"), _mean_text(beyond, 6, "123456")
            rows.append([name, f"{our_rate(one, 'correct'):.1%}", *cells, *paper])
    head = "", "correct", "3 names", "6 names", "paper: correct", "paper: 5 names"
    return Markdown(markdown_table(head, rows))


def _undo(answer, renaming):
    return Renaming(renaming).inverse()(answer)


def _answer_and_renaming(rng):
    answer = "".join(f"{n}{rng.randint(0, 1)}" for n in rng.sample(NAMES, 2))
    return answer, dict(zip(NAMES, rng.sample(NAMES, 4), strict=True))


check_undo = Exercise("undo", _undo, many(40, _answer_and_renaming, ("a1b0", {"a": "b", "b": "a"})))
check_undo.mistakes = {
    replaced: "that renames once more. Undoing needs the arrows turned round.",
    lambda answer, r: one_by_one([(new, old) for old, new in r.items()], answer)[0]: "names are "
    "replaced one after the other, so that one that has just been restored is changed again.",
}

# the solvers of the cases


def first_in_the_formula(formula):
    return next(token for token in formula if token in NAMES) + "1"


def first_in_the_alphabet(formula):
    return min(token for token in formula if token in NAMES) + "1"


def two_in_the_alphabet(formula):
    return "1".join(sorted(token for token in formula if token in NAMES)[:2]) + "1"


SOLVERS = first_in_the_formula, first_in_the_alphabet, two_in_the_alphabet


def _answers(solver, formula, renamings, undo=_undo):
    return [undo(solver(replaced(formula, r)), r) for r in renamings]


def _solver_and_renamings(rng):
    formula = "||" + "".join(rng.sample(NAMES, 3))
    orders = rng.sample(list(permutations(NAMES)), rng.randint(2, 5))
    return rng.choice(SOLVERS), formula, [dict(zip(NAMES, o, strict=True)) for o in orders]


check_covariance_of = Exercise(
    "covariance_of", lambda *a: alpha_covariance(_answers(*a)), many(40, _solver_and_renamings)
)
check_covariance_of.mistakes = {
    lambda *a: alpha_covariance(_answers(*a, undo=lambda answer, r: answer)): "the renamings are "
    "not undone before the answers are compared: a1 and b1 may be one answer.",
    lambda *a: alpha_covariance(_answers(*a, undo=replaced)): "the answer is renamed a second "
    "time: undoing takes the inverse.",
    lambda *a: 1 - len(set(_answers(*a))) / len(a[2]): "the equation has |U| - 1 over n - 1, so "
    "that one answer to all forms gives 1.",
    lambda f, x, r: alpha_covariance([_undo(f(x), one) for one in r]): "the solver is asked about "
    "the formula as it is: rename the formula first.",
}


def _values(forms):
    return [round(1 - u / (forms - 1), 12) for u in range(forms)][::-1]


check_possible_values = Exercise(
    "possible_values", _values, many(8, lambda rng: (rng.randint(3, 12),), (2,), (6,))
)
check_possible_values.mistakes = {
    lambda n: [i / n for i in range(n + 1)]: "|U| is 1 to n: the equation divides by n - 1.",
    lambda n: _values(n)[::-1]: "the smallest value comes first.",
}
