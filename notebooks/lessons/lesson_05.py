"""Lesson 05: a table, two figures; and its exercises."""

from collections.abc import Callable, Mapping, Sequence
from operator import ne

import numpy as np
import plotly.graph_objects as go
import torch
from IPython.display import Markdown
from rapidfuzz.distance import OSA, Levenshtein
from torch.nn.functional import normalize

from itekit.experiments import from_json
from itekit.network import Network
from lessons.copies import copies
from lessons.exercises import Exercise, many, random_tensor
from lessons.figures import slider
from lessons.lesson_03 import as_it_is, matrix
from lessons.paper import markdown_table, our_value, paper_figures, paper_value
from lessons.plots import COLOURS, edit_distance_heatmaps, show, style
from lessons.plots.show import BELOW, WIDEST
from lessons.runs import variant

CORNERS = ("as trained", "more characters", "longer", "both")
BASELINES = ("alpha-renaming", "plain", "full-vocabulary")
IN_A_ROW = tuple(f"copying-5-10/{one}" for one in ("proposed", *BASELINES))
AT_RANDOM = "copying-5-10/randomized-positions"
AT_RANDOM = (AT_RANDOM, *(f"{AT_RANDOM}-{one}" for one in BASELINES))


def heatmaps(results: Mapping[str, dict]) -> None:
    """Show a heatmap for each result, on one colour scale; the box is what training held."""
    panels = []
    for name, one in results.items():
        held = from_json(one["experiment"]).task.data
        grid = np.array(one["result"]["grid"], float)
        title = name.removeprefix("copying-5-10/")
        panels.append((title, grid, held.characters, (held.minimum, held.maximum)))
    axis, told = one["result"]["axis"], [f"{n} {np.nanmean(grid):.2f}" for n, grid, *_ in panels]
    figure = edit_distance_heatmaps(panels, lengths=axis, uniques=axis)
    show(figure, alt=f"Mean edit distance by unique characters and length: {', '.join(told)}.")


def corners(one: Mapping) -> list[float]:
    """Mean edit distance in the four CORNERS of a result's grid; NaN for one without a cell."""
    grid, axis = np.array(one["result"]["grid"], float), np.array(one["result"]["axis"])
    more, longer = np.meshgrid(axis > 5, axis > 10, indexing="ij")
    parts = [~more & ~longer, more & ~longer, ~more & longer, more & longer]
    cells = [grid[part & ~np.isnan(grid)] for part in parts]
    return [c.mean() if len(c) else np.nan for c in cells]


def grid_table(results: Mapping[str, dict]) -> Markdown:
    """Mean edit distances: the corners of the grid, the grid, and the paper's."""
    rows = []
    for name, one in results.items():
        ours = (f"{x:.2f}" for x in (*corners(one), our_value(one)))
        theirs = f"{paper_value(name):.2f}" if name in paper_figures() else "–"
        rows.append([variant(name), *ours, theirs])
    return Markdown(markdown_table(("run", *CORNERS, "ours", "the paper's best"), rows))


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
    figure.add_bar(x=lacking, y=bars, name=name, marker_color=COLOURS[1])
    name, look = "how much this offset looks like offset 0", {"color": COLOURS[0], "width": 2.5}
    figure.add_scatter(x=lacking, y=line, name=name, mode="lines+markers", line=look)
    shaded = {"fillcolor": "#2ECC40", "opacity": 0.12, "line_width": 0, "layer": "below"}
    note = {"annotation_text": "offsets in training", "annotation_position": "bottom left"}
    figure.add_vrect(-0.5, 10.5, **shaded, **note)
    figure.update_xaxes(title_text="offset in characters", dtick=5, range=[-0.7, lacking[-1] + 0.7])
    title = "share of copies; mean cosine"
    figure.update_yaxes(range=[-1.05, 1.1], zeroline=True, title_text=title)
    size = {"width": WIDEST, "height": 520, "margin": {"r": 45, "b": 190}, "legend": BELOW}
    alt = "Bars: at base 10,000 copies lack 0 or 19 characters. The curve is near 1 at the same "
    size["meta"] = {"alt": alt + "two. A slider sets the base; curve and bars move together."}
    return style(figure, sliders=[slider(steps, "base ", 45, first)], **size)


def _edited(rng, string):
    """The string after a few edits: swaps of neighbours among them."""
    for _ in range(rng.randint(0, 3)):
        i, new = rng.randrange(len(string) + 1), rng.choice("abcd")
        a, b = string[i : i + 1], string[i + 1 : i + 2]
        edit = rng.choice((b + a, b + a, new + b, new + a + b, b))  # swaps, other, more, fewer
        string = string[:i] + edit + string[i + 2 :]
    return string


def _mean(distance, strings, copies):
    return sum(map(distance, strings, copies)) / len(strings)


def _strings_and_copies(rng):
    strings = ["".join(rng.choices("abcd", k=rng.randint(1, 5))) for _ in range(rng.randint(1, 3))]
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
    return tuple(side[0] for side in _strings_and_copies(rng))


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
