"""Results on LTL and propositional problems beside the paper's, as rows and as plain figures.

Paper, sections "LTL Solving" and "Assignment Prediction for Propositional Logic", their tables and
heatmaps. Every figure is read from data/results and data/paper.json; nothing is typed in here.
Rates are 0 to 1.
"""

from itekit.datasets.presets import preset
from itekit.datasets.recipes import Derivation
from itekit.logic_presets import NAMES
from itekit.paper import paper_rate, paper_values
from itekit.results import MissingResultError, load_result, results
from itekit.summary import SCALES, markdown_table

# What a row of the paper's tables tells, and where it is in a result.
COLUMNS = {
    "correct": "correct",
    "solved": "of it: about some word",
    "exact": "exact",
    "heatmap-mean-correct": "correct over the grid",
    "beyond": "of it: more APs than in training",
    "alpha-covariance-3": "alpha-covariance, 3 APs",
}
HEAD = ("experiment", "size", *COLUMNS.values(), "seeds", "minutes", "hardware")


def shipped(name: str, scale: str = "lab", seed: int = 0) -> dict | None:
    """The result of an experiment that comes with the kit or was made here; None if there is none.

    Raises:
        ValueError: an unknown name or scale.
    """
    try:
        return load_result(name, scale, seed)
    except MissingResultError:
        return None


def to_make(name: str, scale: str = "lab", seed: int = 0) -> str:
    """The commands that make a result that is not there."""
    options = f"{name} --scale {scale} --seed {seed}"
    return f"python -m itekit train {options} --publish && python -m itekit evaluate {options}"


def run_line(result: dict) -> str:
    """One line: which run it is, and how long it took on what."""
    trained = result["trained"]
    line = f"{result['name']}, {result['scale']} size, seed {result['seed']}: "
    line += f"{trained['steps']:,} steps"
    if "seconds" in trained:
        line += f" in {trained['seconds'] / 60:.0f} minutes on {trained.get('hardware', '?')}"
    return line


def heatmap_panel(result: dict, title: str = "") -> tuple:
    """A panel for `plots.rate_heatmaps`: the counts over the grid, and what training held."""
    grid, made = result["result"]["generalization"], result["experiment"]
    recipe = preset(made["set"], made["scale"])
    while isinstance(recipe, Derivation):
        recipe = recipe.source
    longest = max(stratum.high for stratum in recipe.strata)
    title = title or result["name"].partition("/")[2]
    return title, grid["samples"], grid["correct"], made["propositions"], longest


def our_rate(result: dict, column: str) -> float | None:
    """A figure of a result; None if the evaluation has none.

    Args:
        column: a key of COLUMNS. The mean over the grid weighs every cell alike, as the paper's;
            "beyond" is the rate over the problems of its rows past the training APs; "solved" is
            the rate of correct answers that stand for some word (ours, see `datasets.checking`).
    """
    found = result["result"]
    if column in ("correct", "solved", "exact"):
        return found["test"].get(column)
    grid = found["generalization"]
    if column == "heatmap-mean-correct":
        return grid["mean_correct_cells"]
    if column == "beyond":
        known = result["experiment"]["propositions"]
        samples, correct = (sum(map(sum, grid[key][known:])) for key in ("samples", "correct"))
        return correct / samples if samples else None
    cells = found["alpha_covariance_training"]["by_propositions"]
    return cells[column[-1]]["mean"] if column[-1] in cells else None


def paper_cell(name: str, column: str) -> float | None:
    """The paper's figure for an experiment; None if it reports none."""
    key = f"{name}/{column}"
    return paper_rate(key) if key in paper_values() else None


def _cell(name: str, runs: list[dict], column: str) -> str:
    ours = [our_rate(run, column) for run in runs]
    text = ", ".join(f"{100 * rate:.1f}" for rate in ours if rate is not None) or "–"
    paper = paper_cell(name, column)
    return text if paper is None else f"{text} (paper {100 * paper:.1f})"


def logic_rows(scales: tuple[str, ...] = SCALES) -> list[list[str]]:
    """A row for each experiment and size with results, and for each of which the paper tells."""
    rows = []
    for name in NAMES:
        found = [(scale, runs) for scale in scales if (runs := results(name, scale))]
        if not found and any(paper_cell(name, column) is not None for column in COLUMNS):
            found = [("", [])]
        for scale, runs in found:
            trained = [run["trained"] for run in runs]
            minutes = sorted({round(t["seconds"] / 60) for t in trained if "seconds" in t})
            rows.append(
                [
                    name,
                    scale or "not run",
                    *(_cell(name, runs, column) for column in COLUMNS),
                    ", ".join(str(run["seed"]) for run in runs),
                    ", ".join(map(str, minutes)),
                    "; ".join(dict.fromkeys(t["hardware"] for t in trained if "hardware" in t)),
                ]
            )
    return rows


def logic_table() -> str:
    """The rows of `logic_rows` as a Markdown table, rates in per cent."""
    return markdown_table(HEAD, logic_rows())
