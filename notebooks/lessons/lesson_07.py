"""Lesson 07: the rounds of a fixpoint, drawn and by hand; exercises on prefix text and lassos."""

import math
from functools import partial

import ipywidgets as widgets

from itekit.logic.formulas import fold
from lessons.exercises import Exercise, many, random_formula
from lessons.infix import to_infix
from lessons.panels import Panel, small_panel
from lessons.plots import lasso_table, show
from lessons.semantics import evaluate_ltl

ALT = {
    "lasso": "A lasso: times 0 and 1, labelled {a} and {a, b}, in a row; then 2 and 3, labelled "
    "{b} and the empty set, in a loop that is run forever.",
    "tree": "The tree of &UabGFb: & on top; left of it U with a and b below, right of it G, F and "
    "b.",
    "rounds": "Three rows for a U b on our lasso. First guess: it holds at no time. Round 1: at 1 "
    "and 2. Round 2: at 0, 1 and 2.",
    "parts": "A table with a row for each part of (a U b) & XGF!a and a column for each of four "
    "times. a holds at 0 and 1, b at 1 and 2, a U b at 0, 1 and 2, GF!a everywhere, the whole at 0 "
    "to 2.",
    "status": "G(a -> F b) on the trace a;|ab;{1;b}. Row a: holds at 0, depends later. Row b: "
    "holds at 3 only, depends elsewhere. Rows F b, a -> F b and G(a -> F b): hold at all four "
    "times.",
    "automaton": "An automaton with three states: a loop at 0 under a, an edge to 1 under 1, an "
    "edge to 2 under b, and a marked loop at 2 under 1.",
}


def letter_text(letter) -> str:
    """A letter as mathematicians write a set."""
    return "{" + ", ".join(sorted(letter)) + "}" if letter else "∅"


def rounds_figure(found, prefix, cycle):
    """A row for each set of times in `found`: a first guess, and what it becomes round by round."""
    steps = [[letter_text(letter) for letter in part] for part in (prefix, cycle)]
    names = ["first guess", *(f"round {number}" for number in range(1, len(found)))]
    times = range(len(prefix) + len(cycle))
    rows = [[time in one for time in times] for one in found]
    return lasso_table(*steps, list(zip(names, rows, strict=True)))


def show_parts(formula, prefix, cycle) -> None:
    """Show where each part of a formula holds on a lasso."""
    steps = [[letter_text(letter) for letter in part] for part in (prefix, cycle)]
    rows = [(to_infix(part), on) for part, on in evaluate_ltl(formula, prefix, cycle).items()]
    show(lasso_table(*steps, rows), ALT["parts"])


def rounds_panel(rounds, prefix, cycle) -> Panel:
    """Propositions to switch on and off, a first guess, and what `rounds` makes of it for a U b."""
    letters, start = prefix + cycle, len(prefix)
    times = range(len(letters))
    rows = [
        [widgets.ToggleButton(name in letters[t], description=f"{name} at {t}") for t in times]
        for name in "ab"
    ]

    def work(*values):
        on = values[: len(times)], values[len(times) : -1]
        f, g = ({time for time in times if row[time]} for row in on)
        guess = {*times} if values[-1] == "everything" else set()
        found = rounds(f, g, [*times[1:], start], guess)
        word = [{n for n, some in (("a", f), ("b", g)) if time in some} for time in times]
        ends = sorted(found[-1]) or "no time"
        alt = f"From {values[-1]}: the rounds end at {ends}"
        figure = rounds_figure(found, word[:start], word[start:])
        return f"<p>The rounds end at {ends}.</p>", figure, alt

    guess = widgets.ToggleButtons(options=["nothing", "everything"], description="first guess")
    return small_panel(work, *rows[0], *rows[1], guess, rows=[*map(widgets.HBox, rows), guess])


def _infix(token, *parts, form="({} {} {})"):
    return form.format(parts[0], token, parts[1]) if len(parts) == 2 else token + "".join(parts)


check_infix = Exercise(
    "infix",
    lambda text: fold(text, _infix),
    many(50, lambda rng: (random_formula(rng, rng.randint(1, 9)),)),
)
check_infix.mistakes = {
    lambda text: fold(text, partial(_infix, form="{} {} {}")): "the brackets are missing: "
    "a U b & c could be read in two ways.",
}
check_infix.signs = {
    lambda answer, expected, text: answer.replace(" ", "") == expected.replace(" ", ""): "only the "
    "spaces differ: one on each side of & and U, none after ! and X.",
}


def _fixpoint(f, g, after, greatest=True, until=False):
    """The times of f R g, or of the equation of f U g; its greatest fixpoint or the least."""
    times = range(len(after))
    found = set(times) if greatest else set()
    for _ in times:
        later = {t for t in times if after[t] in found}
        found = g | (f & later) if until else g & (f | later)
    return found


def _lasso(rng, *shares):
    """For each share a set of so many times of a random lasso; the successors of all times."""
    after = [*range(1, length := rng.randint(1, 5)), rng.randrange(length)]
    return *({time for time in range(length) if rng.random() < share} for share in shares), after


LASSOS = ({0, 1, 3, 4}, [1, 2, 3, 4, 3]), ({1, 2}, [1, 2, 0]), ({2}, [1, 2, 1])

check_globally = Exercise(
    "globally",
    lambda f, after: _fixpoint(set(), f, after),
    many(50, lambda rng: _lasso(rng, 0.8), *LASSOS),
)
check_globally.mistakes = {
    lambda f, after: set(f): "that says where f holds now. G f asks for it at all later times.",
    lambda f, after: {t for t in f if f >= {*range(t, len(after))}}: "the word does not end at the "
    "last letter: the cycle comes again, so its earlier times are later times too.",
    lambda f, after: set(): "from nothing comes nothing: this is the least solution, as for U. G f "
    "is the greatest one. Start with all times, and take away.",
    lambda f, after: {t for t in f if after[t] in f}: "that looks one time ahead only: f has to "
    "hold at all later times. Take away again, until nothing changes.",
}


check_release = Exercise(
    "release",
    _fixpoint,
    many(60, lambda rng: _lasso(rng, 0.6, 0.6), (set(), {0}, [0]), ({0}, {0}, [1, 1])),
)
check_release.mistakes = {
    lambda *a: _fixpoint(*a, greatest=False, until=True): "that is f U g. In f R g it is g that "
    "holds, up to and with the time when f does.",
    lambda *a: _fixpoint(*a, greatest=False): "f need never come, as long as g holds forever: "
    "that is the greatest fixpoint. Start with all times.",
    lambda f, g, after: _fixpoint(g, f, after, until=True): "g has to hold at the time of f too: "
    "yours is g W f, which asks for g only before it.",
}


def _all_allowed(steps, letters):
    pairs = zip(steps, letters, strict=False)
    return all((name in letter) == value for step, letter in pairs for name, value in step.items())


def _times(prefix, cycle, count):
    return [*prefix, *cycle * count][:count]


def _allows(steps, loop, prefix, cycle, count=None):
    if count is None:
        count = max(len(prefix), len(steps)) + math.lcm(len(cycle), len(loop))
    return _all_allowed(_times(steps, loop, count), _times(prefix, cycle, count))


def _random_steps(rng, least):
    count = rng.randint(least, 2)
    return [{n: rng.random() < 0.5 for n in "ab" if rng.random() < 0.4} for _ in range(count)]


def _trace_and_word(rng):
    steps, loop = _random_steps(rng, 0), _random_steps(rng, 1)
    turned = _times(steps, loop, 6)
    letters = [{n for n in "ab" if s.get(n, rng.random() < 0.5)} for s in turned]
    start = rng.randint(0, 2)
    return steps, loop, letters[:start], letters[start : start + rng.randint(1, 3)]


check_allows = Exercise(
    "allows",
    _allows,
    many(120, _trace_and_word, ([], [{"a": True}, {}], [], [{"a"}, set(), set()])),
)
check_allows.mistakes = {
    lambda s, o, p, c: _allows(s, o, p, c, max(len(s + o), len(p + c))): "the cycles have "
    "different lengths. Go on until both are back where they were together.",
    lambda s, o, p, c: _all_allowed(s + o, p + c): "zip stops at the end of the shorter one, but "
    "neither ends: both cycles go on.",
    lambda s, o, p, c: _allows(*([{"a": 0, "b": 0} | x for x in y] for y in (s, o)), p, c): (
        "what a step does not mention is free, and not false."
    ),
}
