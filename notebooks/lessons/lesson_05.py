"""Lesson 05: its networks and results, a table, two figures; and its exercises."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import ne

import numpy as np
import plotly.graph_objects as go
import torch
from IPython.display import Markdown
from rapidfuzz.distance import OSA, Levenshtein
from torch.nn.functional import normalize

from itekit.experiments import from_json
from itekit.network import Network
from itekit.plots import COLOURS, edit_distance_heatmaps, show, style
from itekit.plots.show import BELOW, WIDEST
from itekit.results import (
    evaluate,
    load_network,
    load_or_train,
    load_result,
    markdown_table,
    our_value,
    paper_value,
)
from lessons.copies import copies
from lessons.exercises import Exercise, many, random_tensor
from lessons.lesson_03 import as_it_is, matrix

FAMILY = "copying-5-10"
CORNERS = ("as trained", "more characters", "longer", "both")
METHODS = ("proposed", "alpha-renaming", "plain", "full-vocabulary")


@dataclass(frozen=True)
class Runs:
    """Networks of copying-5-10: those of the paper's size that are shipped, or made here."""

    scale: str
    seed: int
    train: bool

    def network(self, variant: str) -> Network:
        if self.train:
            return load_or_train(f"{FAMILY}/{variant}", self.scale, self.seed, train=True)
        return load_network(f"{FAMILY}/{variant}", "paper", self.seed)

    def results(self, prefix: str = "") -> dict[str, dict]:
        """The evaluations of the four methods; `prefix` is how their training differed."""
        return {method: self._result(f"{prefix}{method}") for method in METHODS}

    def _result(self, variant: str) -> dict:
        variant = variant.removesuffix("-proposed")
        if not self.train:
            return load_result(f"{FAMILY}/{variant}", "paper", self.seed)
        made = evaluate(self.network(variant))
        made["result"]["grid"] = np.array(made["result"]["grid"], float)
        return made


def heatmaps(results: Mapping[str, dict]) -> None:
    """Show a heatmap for each result, on one colour scale; the box is what training held."""
    panels = []
    for name, one in results.items():
        held = from_json(one["experiment"]).data
        grid = np.array(one["result"]["grid"], float)
        panels.append((name, grid, held.characters, (held.minimum, held.maximum)))
    axis, told = one["result"]["axis"], [f"{n} {np.nanmean(grid):.2f}" for n, grid, *_ in panels]
    figure = edit_distance_heatmaps(panels, lengths=axis, uniques=axis)
    show(figure, alt=f"Mean edit distance by unique characters and length: {', '.join(told)}.")


def corners(one: Mapping, known: int = 5, longest: int = 10) -> list[float]:
    """Mean edit distance in the four CORNERS of a result's grid; NaN for one without a cell."""
    grid, axis = np.array(one["result"]["grid"], float), np.array(one["result"]["axis"])
    more, longer = np.meshgrid(axis > known, axis > longest, indexing="ij")
    parts = [~more & ~longer, more & ~longer, ~more & longer, more & longer]
    cells = [grid[part & ~np.isnan(grid)] for part in parts]
    return [c.mean() if len(c) else np.nan for c in cells]


def grid_table(results: Mapping[str, dict]) -> Markdown:
    """Mean edit distances: the corners of the grid, the grid, and the paper's."""
    rows = [
        [
            name,
            *(f"{x:.2f}" for x in (*corners(one), our_value(one), paper_value(f"{FAMILY}/{name}"))),
        ]
        for name, one in results.items()
    ]
    return Markdown(markdown_table(("network", *CORNERS, "ours", "the paper's best"), rows))


def bases_figure(
    network: Network, strings: Sequence[str], bases: Sequence[int], likeness: Callable
) -> go.Figure:
    """How much an offset looks like 0, and how many characters copies lack; a slider of the base.

    `likeness` takes offsets and a base. The strings have one length.
    """
    lacking, figure, steps = np.arange(len(strings[0]) + 1), go.Figure(), []
    for base in bases:
        made = copies(network.with_rope_base(base), strings)
        ends = [max(0, len(one.source) - len(one.answer)) for one in made]
        shares = np.bincount(ends, minlength=len(lacking)) / len(made)
        values = [shares.tolist(), likeness(lacking, base).round(4).tolist()]
        steps.append({"method": "restyle", "label": f"{base:,}", "args": [{"y": values}, [0, 1]]})
    first = bases.index(10_000)
    bars, line = steps[first]["args"][0]["y"]
    name = "share of the copies that lack so many characters"
    figure.add_bar(x=lacking, y=bars, name=name, marker_color=COLOURS[0])
    name, look = "how much this offset looks like offset 0", {"color": COLOURS[1], "width": 2.5}
    figure.add_scatter(x=lacking, y=line, name=name, mode="lines+markers", line=look)
    shaded = {"fillcolor": "#2ECC40", "opacity": 0.12, "line_width": 0, "layer": "below"}
    note = {"annotation_text": "offsets in training", "annotation_position": "bottom left"}
    figure.add_vrect(-0.5, 10.5, **shaded, **note)
    figure.update_xaxes(title_text="offset in characters", dtick=5, range=[-0.7, lacking[-1] + 0.7])
    figure.update_yaxes(range=[-1.05, 1.1], zeroline=True)
    slider = {
        "steps": steps,
        "active": first,
        "pad": {"t": 45},
        "currentvalue": {"prefix": "base "},
    }
    size = {"width": WIDEST, "height": 520, "margin": {"r": 45, "b": 190}, "legend": BELOW}
    return style(figure, sliders=[slider], **size)


def _edited(rng, string):
    """The string after a few edits: swaps of neighbours among them."""
    for _ in range(rng.randint(0, 3)):
        i, new = rng.randrange(len(string) + 1), rng.choice("abcd")
        a, b = string[i : i + 1], string[i + 1 : i + 2]
        edit = rng.choice((b + a, b + a, new + b, new + a + b, b))  # swaps, other, more, fewer
        string = string[:i] + edit + string[i + 2 :]
    return string


def _string(rng, longest=5):
    return "".join(rng.choices("abcd", k=rng.randint(1, longest)))


def _mean(distance, strings, copies):
    return sum(map(distance, strings, copies)) / len(strings)


def _strings_and_copies(rng):
    strings = [_string(rng) for _ in range(rng.randint(1, 3))]
    return strings, [_edited(rng, string) for string in strings]


check_cell_mean = Exercise(
    "cell_mean",
    lambda strings, copies: _mean(Levenshtein.distance, strings, copies),
    many(40, _strings_and_copies, (["ab"], ["a"])),
)
check_cell_mean.mistakes = {
    lambda s, c: _mean(ne, s, c): "that is the share of wrong copies. The cell says how *many* "
    "edits a copy is away from its string.",
    lambda s, c: _mean(lambda a, b: sum(map(ne, a, b)), s, c): "positions are compared one by one. "
    "A letter left out moves all that follow, and letters at the end have no partner.",
}


def _two_strings(rng):
    string = _string(rng)
    return string, _edited(rng, string)


check_distance_with_swaps = Exercise(
    "distance_with_swaps",
    OSA.distance,
    many(60, _two_strings, ("ab", "ba"), ("ab", "bc"), ("ab", "ca"), ("a", "aaa")),
)
check_distance_with_swaps.mistakes = {
    Levenshtein.distance: "a swap of two neighbours still counts as two edits.",
}
check_distance_with_swaps.signs = {
    lambda answer, expected, a, b: answer < expected and min(len(a), len(b)) == 1: "one letter has "
    "no neighbour to be swapped with. Does an index of -1 take the last letter?",
    lambda answer, expected, a, b: answer < expected: "a swap may be used only where it makes both "
    "letters right: where each is the other's.",
}


class Writer:
    """A model for `decode`: writes its strings, token by token, and notes what it was asked."""

    def __init__(self, plans):
        self.plans, self.asked_again, self.calls, self.ended = plans, None, 0, set()

    def __call__(self, prefixes):
        self.calls, tokens = self.calls + 1, {}
        for row, prefix in prefixes.items():
            written, plan = "".join(prefix), self.plans[row] + "."
            if row in self.ended or not plan.startswith(written):
                self.asked_again = row
            tokens[row] = (plan + "?" * len(written))[len(written)]
        self.ended |= {row for row, token in tokens.items() if token == "."}
        return tokens

    def __repr__(self):
        return f"a model that writes {self.plans}"


def _decode(model, rows, limit):
    done, going = {}, {row: "" for row in range(rows)}
    while going and limit:
        limit -= 1
        for row, token in model(going).items():
            if token == ".":
                done[row] = going.pop(row)
            else:
                going[row] += token
    return [(done | going)[row] for row in range(rows)]


def _judge_decode(answer, model, rows, limit):
    expected = [plan[:limit] for plan in model.plans]
    if [*map("".join, answer)] != expected:
        return f"the strings should be {expected}"
    if model.asked_again is not None:
        return f"row {model.asked_again} had ended and was asked again: drop rows that are done"
    if model.calls > limit:
        return f"the model was asked {model.calls} times, the limit is {limit}: ask for all at once"
    return None


def _plans(rng):
    plans = [_string(rng, 4)[rng.randint(0, 1) :] for _ in range(rng.randint(1, 3))]
    return Writer(plans), len(plans), rng.randint(2, 6)


check_decode = Exercise("decode", _decode, many(30, _plans), judge=_judge_decode)
check_decode.mistakes = {
    lambda model, rows, limit: [(p + ".")[:limit] for p in model.plans]: "the end token is kept: "
    "it says that the copy is complete, it is not a part of it.",
    lambda model, rows, limit: [p[: min(limit, *map(len, model.plans))] for p in model.plans]: (
        "all rows stop as soon as one has ended."
    ),
}


def _extend(U, special, d_beta, betas, shared=normalize, random=normalize):
    """U with more rows; what is done to their shared part and to their random part."""
    alpha = shared(U[special : special + 1, :-d_beta]).expand(len(betas), -1)
    return torch.cat([U, normalize(torch.cat([alpha, random(betas)], dim=1))])


def _matrix_and_more(rng):
    special, d_alpha, d_beta = rng.randint(1, 2), rng.randint(2, 3), rng.randint(1, 3)
    L, alpha = random_tensor(rng, special, d_alpha), random_tensor(rng, d_alpha)
    betas, more = (random_tensor(rng, rng.randint(1, 2), d_beta) for _ in range(2))
    return matrix(L, [alpha], [betas]), special, d_beta, more


check_extend = Exercise("extend", _extend, many(25, _matrix_and_more))
check_extend.mistakes = {
    lambda *a: _extend(*a, random=as_it_is): "the random parts are not normalised before they are "
    "put beside the shared part (f_bn).",
    lambda *a: _extend(*a, shared=as_it_is): "in U the shared part has length 1/√2: normalise it "
    "again, and the whole row.",
    lambda U, *a: _extend(U, *a)[len(U) :]: "these are the new rows only; the old ones stay above.",
}
