"""Lesson 17: what the paper and we measured side by side, and a panel that chooses a method."""

from math import inf

import ipywidgets as widgets
from IPython.display import HTML, Markdown

from itekit.names import LOGIC_NAMES
from itekit.results import markdown_table, our_rate, paper_cell, shipped
from lessons.lesson_16 import spent
from lessons.panels import Panel
from lessons.tables import html_table

COLUMNS = {"test": "correct", "grid": "heatmap-mean-correct", "more": "beyond"}
KNOWN = 3  # propositions of the training at lab size
WAYS = {"learned": "learned rows", "alpha_renaming": "learned rows, dealt anew at each step"}
WAYS |= {"dual_part": "a random part", "invariant": "a stream for each symbol"}
ASIDE = ("without", "short", "continued")  # ablations, short trainings and controls


def rate(one: dict, part: str) -> tuple[float, float]:
    """Right answers and their variance: of the test split, of the grid, or with more names."""
    grid, first = one["result"]["generalization"], KNOWN if part == "more" else 0
    k, n = (sum(map(sum, grid[key][first:])) for key in ("correct", "samples"))
    n = one["result"]["test"]["samples"] if part == "test" else n
    p = k / n if part == "more" else our_rate(one, COLUMNS[part])
    return p, p * (1 - p) / n


def beside(*rows: tuple[str, str, str, str]) -> Markdown:
    """For each claim two runs and a part: the paper's rates, ours, and our difference in points."""
    table = []
    for claim, first, second, part in rows:
        theirs = [paper_cell(name, COLUMNS[part]) for name in (first, second)]
        paper, ours, change = "–", "not run yet", "–"
        if None not in theirs:
            paper = "{:.1%} → {:.1%}".format(*theirs)
        if (one := shipped(first)) and (other := shipped(second)):
            (p, v), (q, w) = rate(one, part), rate(other, part)
            ours, change = f"{p:.1%} → {q:.1%}", f"{100 * (q - p):+.1f} ±{196 * (v + w) ** 0.5:.1f}"
        table.append([claim, paper, ours, change.replace("-", "−")])
    head = ("claim", "the paper", "ours", "our difference, points")
    return Markdown(markdown_table(head, table))


def objections(one: dict, names: float, exact: bool, data: bool, once: bool) -> list[str]:
    """What speaks against a run."""
    made = one["experiment"]
    kind, known = made["embedding"]["kind"], made["propositions"]
    ready = known if kind == "learned" else made["test_propositions"]
    against = {
        f"ready for {ready} names": names > ready and kind != "invariant",
        "answers can depend on names": exact and kind != "invariant" and not made["canonical"],
        "an answer may use a name that its problem lacks": exact and made["canonical"],
        "needs training data with all names": known > KNOWN and not data,
        "reads a problem once for each symbol": once and kind == "invariant",
    }
    return [text for text, holds in against.items() if holds]


def ways(names: float, exact: bool, data: bool, once: bool) -> tuple[list, list]:
    """The best run of each way that fits, the best way first; and why the others do not."""
    fits, others, part = {}, {}, "test" if names <= KNOWN else "more"
    for name in [n for n in LOGIC_NAMES if n.startswith("ltl/") and not any(a in n for a in ASIDE)]:
        if one := shipped(name):
            made, (p, v) = one["experiment"], rate(one, part)
            way = "canonical form, " * made["canonical"] + WAYS[made["embedding"]["kind"]]
            way += ", data with all names" * (made["propositions"] > KNOWN)
            if against := objections(one, names, exact, data, once):
                others[way] = min(others.get(way, against), against, key=len)
                continue
            same = one["result"]["alpha_covariance"] or one["result"]["alpha_covariance_training"]
            same = [row["mean"] for row in same["by_propositions"].values()]
            cells = f"{p:.1%} ±{196 * v**0.5:.1f}", f"{sum(same) / len(same):.3f}"
            cells += f"{spent(one)[1] / 60:.0f} minutes", f"<code>{name}</code>"
            fits[way] = max(fits.get(way, (0,)), (p, f"<b>{way}</b>", *cells))
    rows = [row[1:] for row in sorted(fits.values(), reverse=True)] or [("<b>nothing fits</b>",)]
    return rows, [(way, "; ".join(why)) for way, why in others.items() if way not in fits]


def choices(*wishes) -> str:
    """HTML: `ways`."""
    rows, against = ways(*wishes)
    head = ("", "right answers", "alpha-covariance", "training", "run")
    return html_table([head, *rows]) + html_table([("", "what speaks against it"), *against])


def winners(*settings: tuple[int, bool, bool, bool]) -> HTML:
    """For each setting of `ways` the one that comes first."""
    table = [("names", "wishes", "comes first", "right answers", "alpha-covariance")]
    for names, exact, data, once in settings:
        wishes = ["same answers"] * exact + ["data with all names"] * data + ["one reading"] * once
        table.append((str(names), ", ".join(wishes), *ways(names, exact, data, once)[0][0][:3]))
    return HTML(html_table(table))


class ChoicePanel(Panel):
    """Four questions about a task, and the ways that fit, with what was measured."""

    def __init__(self):
        look = {"style": {"description_width": "10em"}, "layout": {"width": "36em"}}
        names = [
            ("3, those of training", 3),
            ("6", 6),
            ("20", 20),
            ("200", 200),
            ("any number", inf),
        ]
        self.controls = [
            widgets.Dropdown(options=names, description="names at test time", **look),
            widgets.Checkbox(description="the same answer under all names", **look),
            widgets.Checkbox(description="training data with all names", **look),
            widgets.Checkbox(description="each problem read once", **look),
        ]
        super().__init__(self.controls)
        self.watch(*self.controls)

    def work(self) -> str:
        return choices(*(control.value for control in self.controls))
