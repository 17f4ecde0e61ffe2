"""Lesson 09: a panel of names, two figures; its exercises."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import permutations, product

import ipywidgets as widgets
import plotly.graph_objects as go

from itekit.alpha import Renaming, used_tokens
from itekit.decoding import Solver
from itekit.logic import truth_tables
from itekit.logic.formulas import PROPOSITIONAL, to_prefix
from itekit.network import Network
from itekit.results import load_log
from itekit.tasks.propositional import by_name, check, solve
from itekit.tasks.streams import Pair
from itekit.tasks.verdicts import GOOD
from lessons.exercises import Exercise, many, random_formula
from lessons.infix import formula_from_text
from lessons.panels import Panel, look, small_panel, typed
from lessons.plots import COLOURS, rates_with_intervals, style
from lessons.plots.lines import METHODS
from lessons.plots.show import look as look_of
from lessons.tables import html_table

NAMES, MARKS = "abc", "●▲■"
ALT = (
    "The tree of (a and not b) or (b and c) under a1c1. True: the root, a and c. "
    "Open: both operands of the root, b and its negation."
)


def solver(network: Network) -> Solver:
    """Answers by the first random draw, over the names of the training."""
    return Solver(network, 0, network.experiment.task.vocabulary)


def _marks(formula):
    """The renaming that gives a formula marks for names, by first appearance."""
    return Renaming(dict(zip(used_tokens(formula, NAMES), MARKS, strict=False)))


def names_panel(networks: Mapping[str, Network], by_name: Callable, formula: str) -> Panel:
    """A formula over a, b and c, and an order of names for its propositions.

    It shows the problem, both labels, and the answers of networks, with and without names.
    `by_name` sorts the literals of a label.
    """
    askers = {f"network {name}": solver(one) for name, one in networks.items()}

    def work(text: str, order: tuple[str, ...]) -> str:
        tree = formula_from_text(text.strip(), PROPOSITIONAL)
        used = tree.propositions
        if len(used) > len(NAMES) or max(map(len, used), default=0) > 1:
            raise ValueError(f"expected up to {len(NAMES)} names of one letter each")
        formula = Renaming(dict(zip(used, order, strict=False)))(to_prefix(tree))
        marks, label = _marks(formula), solve(formula)
        if label is None:
            raise ValueError("always true or always false: there is no label")
        head = "<b>with names</b>", "<b>without names</b>", "<b>says py-aiger</b>"
        rows = [("", *head), ("formula", formula, marks(formula), "")]
        answers = {"label, by appearance": label, "label, by name": by_name(label)}
        answers |= {name: one.answers([formula])[0] for name, one in askers.items()}
        for name, answer in answers.items():
            verdict = check(formula, answer, method="aiger")
            rows.append((name, answer, f"<b>{marks(answer)}</b>", verdict))
        return html_table(rows, "th")

    orders = {" ".join(order): order for order in permutations(NAMES)}
    chosen = widgets.ToggleButtons(options=orders, **look(f"{' '.join(MARKS)} are"))
    chosen.style.button_width = "4.5em"
    return small_panel(work, typed(formula, "formula", "32em"), chosen)


def curves_figure() -> go.Figure:
    """Held-out tokens right against steps; a colour for each method, dotted with labels by name."""
    figure = go.Figure()
    for variant in (*METHODS[:3], "by-name"):
        method = "proposed" if variant == "by-name" else variant
        records = load_log(f"prop/{variant}", "lab")
        points = {r["step"]: r["validation_accuracy"] for r in records if "validation_loss" in r}
        dash = "solid" if variant == method else "dot"
        line = {"color": look_of(METHODS.index(method))[0], "dash": dash, "width": 2.5}
        (*x,), (*y,) = points, points.values()
        figure.add_scatter(x=x, y=y, name=variant, mode="lines+markers", line=line)
    figure.update_xaxes(title_text="step")
    figure.update_yaxes(title_text="held-out tokens right", tickformat=".0%")
    title = "Learning with labels by appearance and by name"
    return style(figure, title=title, width=860, height=400)


def literals_figure(test: Sequence[Pair], judged: Mapping[str, Sequence[str]]) -> go.Figure:
    """Correct answers by the literals of the label, with 95 % intervals; a line for each run."""
    lengths, counts = [len(label) // 2 for _, label in test], {}
    for order, verdicts in judged.items():
        good = Counter(n for n, v in zip(lengths, verdicts, strict=True) if v in GOOD)
        counts[order] = {n: (good[n], count) for n, count in sorted(Counter(lengths).items())}
    title = "Correct answers, labels by appearance and labels by name"
    figure = rates_with_intervals(counts, title=title, x="literals in the label")
    looks = {"solid": "circle", "dot": "circle-open"}
    for trace, (dash, symbol) in zip(figure.data, looks.items(), strict=False):
        trace.update(line={"color": COLOURS[0], "dash": dash})
        trace.marker.update(color=COLOURS[0], symbol=symbol)
    alt = "Correct answers by the literals of the label, 1 to 3. They fall, and by-name falls "
    return figure.update_layout(meta={"alt": alt + "faster."})


def _names(formula):
    return sorted(set(formula) & set(NAMES))


def _free(formula, given):
    return [name for name in _names(formula) if name not in given]


def _is_right(formula, given):
    return truth_tables.implied_by(formula, _free(formula, given), given)


def _formula(rng, largest=9):
    return random_formula(rng, rng.randint(1, largest), "!", "&&||=^", NAMES)


def _formula_and_values(rng):
    formula = _formula(rng)
    return formula, {name: rng.randint(0, 1) for name in _names(formula) if rng.random() < 0.5}


check_is_right = Exercise(
    "is_right",
    _is_right,
    many(100, _formula_and_values, ("|a!a", {}), ("|&a!b&bc", {"a": 1, "c": 1})),
)
check_is_right.mistakes = {
    lambda formula, given: _is_right(formula, dict.fromkeys(NAMES, 0) | given): "a name without a "
    "value is taken for false. It is free: the formula has to be true for both of its values.",
    lambda formula, given: truth_tables.table(formula, _free(formula, given), given) != 0: "one "
    "completion that makes it true is not enough: all of them have to.",
}
check_is_right.signs = {
    lambda answer, expected, *_: expected: "three values forget that all occurrences of a name "
    "have the same value (part 1): go through the completions.",
}


def _implicants(formula):
    """All right partial assignments, as frozensets of literals such as "a1"."""
    found = set()
    for values in product((None, 0, 1), repeat=len(_names(formula))):
        pairs = zip(_names(formula), values, strict=True)
        given = {name: value for name, value in pairs if value is not None}
        if _is_right(formula, given):
            found.add(frozenset(f"{name}{value}" for name, value in given.items()))
    return found


def _texts(assignments):
    return {"".join(sorted(one)) for one in assignments}


def _primes(formula):
    right = _implicants(formula)
    return _texts(one for one in right if not any(one - {literal} in right for literal in one))


def _shortest(formula):
    right = _implicants(formula)
    return _texts(one for one in right if len(one) == min(map(len, right)))


check_prime_implicants = Exercise(
    "prime_implicants", _primes, many(25, lambda rng: (_formula(rng),), ("|&a!b&bc",), ("|a&bc",))
)
check_prime_implicants.mistakes = {
    lambda formula: _texts(_implicants(formula)): "all right assignments are listed. Minimal are "
    "those of which no literal can be left out.",
    _shortest: "a minimal assignment need not be a shortest one: in a ∨ (b ∧ c) both a1 and b1c1 "
    "are minimal.",
    lambda f: {solve(f) or ""} if _primes(f) else set(): "that is one of them. Which literals can "
    "be dropped hangs on where you start: try all partial assignments.",
}


def _nameless(formula, label):
    return _marks(formula).apply_pair(formula, label)


def _at_best(pairs, seen=_nameless):
    """The most labels that an answer to each form, as `seen` gives it, can match."""
    labels = {}
    for formula, label in (seen(*pair) for pair in pairs):
        labels.setdefault(formula, Counter())[label] += 1
    return sum(max(found.values()) for found in labels.values())


def _problems(rng):
    """A few problems, each under several names."""
    pairs = []
    for _ in range(rng.randint(1, 3)):
        formula = _formula(rng, 5)
        for names in rng.sample([*permutations(NAMES)], rng.randint(1, 4)):
            renamed = Renaming(dict(zip(NAMES, names, strict=True)))(formula)
            pairs += [(renamed, solve(renamed))]
    return ([by_name(pair) for pair in pairs],) if all(label for _, label in pairs) else None


# Labels by name.
EXAMPLE = [("^a^bc", "a0b0c1"), ("^b^ac", "a0b0c1"), ("^c^ab", "a0b1c0"), ("&ab", "a1b1")]
check_at_best = Exercise("at_best", _at_best, many(60, _problems, (EXAMPLE,)))
check_at_best.mistakes = {
    lambda pairs: _at_best(pairs, lambda *pair: pair): "with names, no two formulas "
    "are the same question, and all labels can be matched. Without names, ^ab and ^bc are one.",
    lambda pairs: _at_best(pairs, lambda f, y: (_nameless(f, y)[0], y)): "the answer has no names "
    "either: rename the label as you rename its formula.",
    lambda pairs: len({_nameless(*pair)[0] for pair in pairs}): "that counts the questions. A "
    "question may come several times with the same label, and then all of them can be matched.",
}
