"""Our results on copying beside the paper's, as lines and rows: for the README and notebooks.

Paper, appendix "Copying Task Experiments". Every figure is read from data/results and
data/paper.json; nothing is typed in here.
"""

from dataclasses import dataclass, field

from itekit.copying_presets import NAMES, RANDOMIZED
from itekit.layers import ROPE_BASE
from itekit.paper import paper_value, paper_values
from itekit.results import results
from itekit.task_settings import SEARCHES

SCALES = ("paper", "lab")
HEAD = ("experiment", "size", "paper", "ours", "seeds", "steps", "minutes a run", "hardware")
PLAIN = " (up to {} unique characters)"
ROPE_BASES = (int(ROPE_BASE), 2_000, 1_000_000)
EVALUATIONS = ({}, {"search": SEARCHES[1]}, *({"rope_base": base} for base in ROPE_BASES[1:]))
OTHER_BASE = ", RoPE base {:,} at evaluation (ours)"
OTHER_SEARCH = ", the search of the published code"


def our_value(result: dict) -> float:
    """The mean edit distance of a result that the paper's figure is to be compared with.

    For ordinary embeddings that is the mean over the cells whose characters it was trained on, as
    in the paper; over the others the answer is empty and the distance is the length.
    """
    within = result["name"].endswith("plain")
    return result["result"]["mean_within_training_characters" if within else "mean_edit_distance"]


def paper_text(name: str) -> str:
    """What the paper reports for an experiment, "" for none."""
    family, variant = name.split("/")
    if found := paper_values().get(name):
        where = " (validation set)" if found.note.startswith("validation") else ""
        return f"{found.value}{where}"
    if family == "copying-3-30" and variant == "proposed":
        clean, models = (paper_value(f"{family}/models{end}") for end in ("-without-error", ""))
        return f"0.0 for {clean:g} of {models:g} models"
    return ""


def run_line(result: dict) -> str:
    """One line: which run, how long it took on what, its figure, and the paper's."""
    trained = result["trained"]
    line = f"{result['name']}, {result['scale']} size, seed {result['seed']}: "
    line += f"{trained['steps']:,} steps" + (" (unfinished)" if trained.get("partial") else "")
    if "seconds" in trained:
        line += f", {trained['seconds'] / 60:.0f} minutes on {trained.get('hardware', '?')}"
    line += f"; mean edit distance {our_value(result):.2f}"
    if result["name"].endswith("plain"):
        line += PLAIN.format(result["experiment"]["data"]["characters"])
    paper = paper_text(result["name"])
    return f"{line}; paper {paper}" if paper else line


@dataclass(frozen=True)
class Row:
    """Our runs of one experiment at one size, and the paper's figure for its own RoPE base.

    Attributes:
        evaluated: what the evaluation changed, as in `results.load_result`.
    """

    name: str
    scale: str
    runs: tuple[dict, ...]
    evaluated: dict = field(default_factory=dict)

    def cells(self) -> list[str]:
        """Text under each word of `HEAD`."""
        if not self.runs:
            return [self.name, "", paper_text(self.name), "not run"] + [""] * 4
        first = self.runs[0]
        name, paper = self.name, paper_text(self.name)
        if name.endswith("plain"):
            name += PLAIN.format(first["experiment"]["data"]["characters"])
        if RANDOMIZED in name:
            name += " (ours)"
        if "search" in self.evaluated:
            name += OTHER_SEARCH
        if "rope_base" in self.evaluated:
            name, paper = name + OTHER_BASE.format(self.evaluated["rope_base"]), ""
        trained = [run["trained"] for run in self.runs]
        hardware = dict.fromkeys(t["hardware"] for t in trained if "hardware" in t)
        return [
            name,
            self.scale,
            paper,
            ", ".join(f"{our_value(run):.2f}" for run in self.runs),
            ", ".join(str(run["seed"]) for run in self.runs),
            _span([t["steps"] for t in trained]),
            _span([t["seconds"] / 60 for t in trained if "seconds" in t]),
            "; ".join(hardware),
        ]


def _span(values: list[float]) -> str:
    """The values as a number or as "lowest to highest", rounded to whole ones."""
    texts = [f"{value:,.0f}" for value in sorted(values)]
    return " to ".join(dict.fromkeys(texts[:1] + texts[-1:]))


def comparison() -> list[Row]:
    """A row for each experiment and size with results, and for each that the paper reports."""
    rows = []
    for name in NAMES:
        found = [
            Row(name, scale, tuple(results(name, scale, **evaluated)), evaluated)
            for scale in SCALES
            for evaluated in EVALUATIONS
        ]
        found = [row for row in found if row.runs]
        rows += found or ([Row(name, "", ())] if paper_text(name) else [])
    return rows


def markdown_table(head: tuple[str, ...], rows: list[list[str]]) -> str:
    """A Markdown table; a vertical bar inside a cell is escaped."""
    lines = [list(head), ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
    )


def comparison_table() -> str:
    """The rows of `comparison` as a Markdown table."""
    return markdown_table(HEAD, [row.cells() for row in comparison()])
