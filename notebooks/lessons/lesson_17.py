"""Lesson 17: the claims side by side, redraw and verify, and a panel that chooses a method."""

from collections.abc import Iterable
from math import inf

import ipywidgets as widgets
from IPython.display import HTML

from itekit.results import shipped
from lessons.lesson_16 import READY, spent
from lessons.panels import Panel, look, small_panel
from lessons.paper import paper_cell
from lessons.rates import Counts, rate_text, show_differences
from lessons.runs import Runs, ahead, ahead_over_draws, counts, variant
from lessons.tables import html_table

COLUMNS = {"test": "correct", "more": "beyond"}  # of the paper; for the others the mean over cells
KNOWN = 3  # propositions of the training at lab size
WAYS = {"learned": "learned rows", "alpha_renaming": "learned rows, dealt anew at each step"}
WAYS |= {"dual_part": "a random part", "invariant": "a stream for each symbol"}
CLAIMS = {  # heading: claim: the second run is ahead of the first one, in a part
    "reproduced": {
        "LTL: plain, unbiased − biased names (test split)": "ltl-perturbed/plain ltl/plain test",
        "LTL, biased names: proposed − plain (test split)": (
            "ltl-perturbed/plain ltl-perturbed/proposed test"
        ),
        "propositional, biased names: proposed − plain (test split)": (
            "prop-perturbed/plain prop-perturbed/proposed test"
        ),
        "propositional: f_bn (cells)": "prop/without-f_bn prop/proposed cells",
    },
    "reproduced in direction": {
        "LTL: f_bn (grid, mean of ten draws)": "ltl/without-f_bn ltl/proposed draws",
    },
    "not reproduced": {
        "LTL: proposed − alpha-renaming (cells)": "ltl/alpha-renaming ltl/proposed cells",
        "LTL: AdaCos and f_fn (cells)": "ltl/without-adacos-f_fn ltl/proposed cells",
    },
    "found on the way": {
        "propositional: labels' order (test split)": "prop/by-name prop/proposed test",
        "LTL: converted − alpha-renaming (new APs)": "ltl/alpha-renaming ltl/converted more",
        "propositional: converted − alpha-renaming (new APs)": (
            "prop/alpha-renaming prop/converted more"
        ),
        "LTL: smallest-set − alpha-renaming (new APs)": "ltl/alpha-renaming ltl/smallest-set more",
        "LTL: names-200 − names-200-alpha-renaming (new APs)": (
            "ltl/names-200-alpha-renaming ltl/names-200 more"
        ),
    },
}
CHOICES = ["plain", "full-vocabulary", "proposed", "smallest-set", "alpha-renaming"]
CHOICES += [f"names-{n}{end}" for n in READY[1:] for end in ("", "-alpha-renaming")]
CHOICES += ["canonical-proposed", "symbol-invariant", "converted"]


def show_claims() -> None:
    """Show ours and the paper's difference for CLAIMS."""
    rows, paper = {}, {}
    for heading, claims in CLAIMS.items():
        rows[heading] = None
        for claim, (first, second, part) in ((c, runs.split()) for c, runs in claims.items()):
            both = shipped(second), shipped(first)
            rows[claim] = ahead_over_draws(*both) if part == "draws" else ahead(*both, part)
            column = COLUMNS.get(part, "heatmap-mean-correct")
            theirs = [paper_cell(name, column) for name in (second, first)]
            if None not in theirs:
                paper[claim] = theirs[0] - theirs[1]
    show_differences(rows, "What the claims came to", paper)


def redraw_rates(runs: Runs, names: Iterable[str]) -> dict[str, dict[str, Counts]]:
    """For `show_rates`: problems of the test split solved by one answer and by 30 tries."""
    found = {}
    for name in names:
        if one := runs.redraw(name):
            part, n = one["test"], one["test"]["samples"]["all"]
            first, last = part["solved"]["all"][0] * n, part["solved_beams"]["all"][-1] * n
            row = {"one answer": (round(first), n), "30 tries, three beams each": (round(last), n)}
            found[variant(name)] = row
    return found


def ways(names: float, exact: bool, data: bool, once: bool) -> tuple[list, list]:
    """The best run of each way that fits, the best way first; and why the others do not."""
    fits, others, part = {}, {}, "test" if names <= KNOWN else "more"
    for one in filter(None, (shipped(f"ltl/{name}") for name in CHOICES)):
        task, (k, n) = one["experiment"]["task"], counts(one)[part]
        kind = one["experiment"]["embedding"]["kind"]
        way = "canonical form, " * task["canonical"] + WAYS[kind]
        way += ", data with all names" * (task["propositions"] > KNOWN)
        ready = {"learned": task["propositions"], "invariant": inf}
        ready = ready.get(kind, task["test_propositions"])  # names that it can read
        objections = {
            f"ready for {ready:g} names": names > ready,
            "answers can depend on names": exact and kind != "invariant" and not task["canonical"],
            "an answer may use a name that its problem lacks": exact and task["canonical"],
            "needs training data with all names": task["propositions"] > KNOWN and not data,
            "reads a problem once for each symbol": once and kind == "invariant",
        }
        if against := [text for text, holds in objections.items() if holds]:
            reason = len(against), -ready, against  # of the run that is nearest
            others[way] = min(others.get(way, reason), reason)
            continue
        same = one["result"]["alpha_covariance"] or one["result"]["alpha_covariance_training"]
        same = [row["mean"] for row in same["by_propositions"].values()]
        solved = rate_text(k, n).replace(" ", "\u00a0")  # which does not break
        cells = solved, f"{sum(same) / len(same):.3f}", f"{spent(one)[1] / 60:.0f}\u00a0minutes"
        cells += (f"<code>{one['name']}</code>",)
        fits[way] = max(fits.get(way, (0,)), (k / n, f"<b>{way}</b>", *cells))
    rows = [row[1:] for row in sorted(fits.values(), reverse=True)] or [("<b>nothing fits</b>",)]
    return rows, [(w, "; ".join(why)) for w, (*_, why) in others.items() if w not in fits]


def winners_table(*settings: tuple[int, bool, bool, bool]) -> HTML:
    """For each setting of `ways` the one that comes first."""
    table = [("names", "wishes", "comes first", "right answers", "alpha-covariance", "run")]
    for names, exact, data, once in settings:
        wishes = ["same answers"] * exact + ["data with all names"] * data + ["one reading"] * once
        way, right, same, _, run = ways(names, exact, data, once)[0][0]
        table.append((str(names), ", ".join(wishes), way, right, same, run))
    return HTML(html_table(table))


def choice_panel() -> Panel:
    """Four questions about a task, and the ways that fit, with what was measured."""

    def work(*wishes) -> str:
        rows, against = ways(*wishes)
        head = ("", "right answers", "alpha-covariance", "training", "run")
        return html_table([head, *rows]) + html_table([("", "what speaks against it"), *against])

    shape, wishes = ("36em", "10em"), ["the same answer under all names"]
    wishes += ["training data with all names", "each problem read once"]
    names = [("3, those of training", 3), ("6", 6), ("20", 20), ("200", 200), ("any number", inf)]
    number = widgets.Dropdown(options=names, **look("names at test time", *shape))
    return small_panel(work, number, *(widgets.Checkbox(**look(wish, *shape)) for wish in wishes))
