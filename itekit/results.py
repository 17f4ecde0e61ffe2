"""Results and networks by name, and the paper's figures beside them.

A result is a JSON file in data/results, a network a checkpoint in data/checkpoints. The paper's
figures are in data/paper.json: one that belongs to an experiment of the kit has its name, one that
stands in a table the key ROW/COLUMN. Rates are 0 to 1.
"""

import difflib
import functools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from itekit.datasets.presets import preset
from itekit.evaluation import GridEvaluation, evaluate_logic
from itekit.experiments import LOGIC_NAMES, Experiment, LogicExperiment, experiment, from_json
from itekit.files import DATA, RESULTS, RUNS, provenance, read_json, write_json
from itekit.model import ROPE_BASE
from itekit.training import FINISHED, Network, Trainer, read_log

CHECKPOINTS, PAPER = RESULTS.parent / "checkpoints", DATA / "paper.json"
LOG_RECORDS = 200
COLUMNS = {  # what a row of the paper's tables on logic tells
    "correct": "correct",
    "solved": "of it: about some word",
    "exact": "exact",
    "heatmap-mean-correct": "correct over the grid",
    "beyond": "of it: more APs than in training",
    "alpha-covariance-3": "alpha-covariance, 3 APs",
}
HEAD = ("experiment", "size", *COLUMNS.values(), "seeds", "minutes", "hardware")


class MissingResultError(FileNotFoundError):
    """A result or checkpoint that is neither shipped nor made yet; the message says the command."""


def checkpoint_path(made: Experiment) -> Path:
    """Where the shipped checkpoint of an experiment is."""
    return CHECKPOINTS / f"{made.slug}.safetensors"


def load_network(name: str, scale: str | None = None, seed: int = 0) -> Network:
    """The shipped network of an experiment; MissingResultError if there is none."""
    made = experiment(name, scale, seed)
    return Network.load(_there(checkpoint_path(made), made, "train --publish"))


def load_or_train(
    name: str,
    scale: str | None = None,
    seed: int = 0,
    train: bool = False,
    directory: Path = RUNS,
    progress: bool = True,
) -> Network:
    """The shipped network, unless `train`, else one trained here and kept in `directory`."""
    made = experiment(name, scale, seed)
    if not train and checkpoint_path(made).exists():
        return Network.load(checkpoint_path(made))
    finished = Path(directory) / made.slug / FINISHED
    if finished.exists():
        return Network.load(finished, made)
    return trainer(made, finished.parent).run(progress=progress)


def trainer(made: Experiment, directory: Path, *how) -> Trainer:
    """A `Trainer`; where it begins with another experiment's weights, with the shipped ones.

    If there are none they are trained first, in a folder beside its own.
    """
    where = {"directory": Path(directory).parent}
    start = load_or_train(made.start, made.scale, made.seed, **where) if made.start else None
    return Trainer(made, directory, *how, start=start)


def publish(made: Experiment, directory: Path) -> list[Path]:
    """Copy a finished run to data/: its network, rounded to float16, and its log, thinned."""
    network = Network.load(Path(directory) / FINISHED, made)
    network.save(checkpoint_path(made), dtype=torch.float16)
    records = read_log(directory)
    every = max(1, len(records) // LOG_RECORDS)
    thinned = [r for i, r in enumerate(records) if i % every == every - 1 or "validation_loss" in r]
    log = RESULTS / f"{made.slug}.log.json"
    write_json(log, thinned)
    return [checkpoint_path(made), log]


def evaluate(network: Network, progress: bool = True, keep: Path | None = None) -> dict:
    """Evaluate a network as its task asks; `keep` is a folder from which a run on logic goes on."""
    if isinstance(network.experiment, LogicExperiment):
        return evaluated(network, lambda n: evaluate_logic(n, keep, progress))
    return evaluated(network, lambda n: GridEvaluation(n, progress=progress).run())


def evaluated(network: Network, measure: Callable[[Network], dict]) -> dict:
    """What `measure` gives for a network, with the settings and the provenance of both, as JSON."""
    started = time.perf_counter()
    result, made = measure(network), network.experiment
    seconds = round(time.perf_counter() - started, 1)
    return {
        "name": made.name,
        "scale": made.scale,
        "seed": made.seed,
        "result": result,
        "experiment": made.to_json(),
        "trained": network.trained,
        "evaluated": provenance(network.device) | {"seconds": seconds},
    }


def save_result(result: dict, directory: Path = RESULTS, suffix: str = "") -> Path:
    """Write a result as SLUG + suffix, such as "-redraw", atomically; returns the path."""
    path = Path(directory) / f"{from_json(result['experiment']).slug}{suffix}.json"
    write_json(path, result)
    return path


def load_log(name: str, scale: str | None = None, seed: int = 0) -> list[dict]:
    """The thinned training log of a shipped run; errors as in `load_result`."""
    made = experiment(name, scale, seed)
    return read_json(_there(RESULTS / f"{made.slug}.log.json", made, "train --publish"), list)


def load_redraw(name: str, scale: str | None = None, seed: int = 0, suffix: str = "redraw") -> dict:
    """The shipped result of `redraw`, or of its "patterns"; errors as in `load_result`."""
    made = experiment(name, scale, seed)
    return read_json(_there(RESULTS / f"{made.slug}-{suffix}.json", made, "redraw"), dict)


def load_result(name: str, scale: str | None = None, seed: int = 0, **evaluated) -> dict:
    """A shipped result, its grid (copying) as a float array with NaN for impossible cells.

    `evaluated` is what the evaluation changed, `rope_base` or `search` (see `CopyingExperiment`).
    MissingResultError if there is none, ValueError if the file is damaged.
    """
    made = _evaluated(experiment(name, scale, seed), **evaluated)
    result = read_json(path := _there(RESULTS / f"{made.slug}.json", made, "evaluate"), dict)
    try:
        if "grid" in result["result"]:
            result["result"]["grid"] = np.array(result["result"]["grid"], dtype=float)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: expected a result of itekit ({error!r})") from None
    return result


def _evaluated(made: Experiment, rope_base: float = ROPE_BASE, **search) -> Experiment:
    return replace(made, **search).with_rope_base(rope_base)


def _there(path: Path, made: Experiment, command: str) -> Path:
    options = f"{made.name} --scale {made.scale} --seed {made.seed}"
    if made.model.rope_base != ROPE_BASE:
        options += f" --rope-base {made.model.rope_base:.15g}"
    if (search := getattr(made, "search", "greedy")) != "greedy":  # logic has no such setting
        options += f" --search {search}"
    return made_by(f"{command} {options}", path)


def made_by(command: str, path: Path) -> Path:
    """The path itself if the file is there; else MissingResultError with the command."""
    if not path.exists():
        make = f"python -m itekit {command}"
        raise MissingResultError(f"{path.name} is not in {path.parent}; make it: {make}")
    return path


def results(name: str, scale: str | None = None, **evaluated) -> list[dict]:
    """All shipped results of an experiment at a scale, by seed; `evaluated` as in `load_result`."""
    before, after = _evaluated(experiment(name, scale), **evaluated).slug.rsplit("-s0", 1)
    files = RESULTS.glob(f"{before}-s*{after}.json")
    found = (p.stem.removeprefix(f"{before}-s").removesuffix(after) for p in files)
    seeds = sorted(int(number) for number in found if number.isdigit())  # not "0.log"
    return [load_result(name, scale, seed, **evaluated) for seed in seeds]


def shipped(name: str, scale: str = "lab", seed: int = 0) -> dict | None:
    """The result of an experiment that comes with the kit or was made here; None if none is."""
    try:
        return load_result(name, scale, seed)
    except MissingResultError:
        return None


# The paper's figures


@dataclass(frozen=True)
class PaperTable:
    """One table of the paper: the figures of each row, in the order of the columns."""

    unit: str
    section: str
    note: str
    columns: list[str]
    rows: dict[str, list[float]]

    def row(self, name: str) -> dict[str, float]:
        """The figures of a row by column; ValueError lists the nearest names."""
        return dict(zip(self.columns, _entry(self.rows, name, "row"), strict=True))


def _entry(found: Mapping, key: str, what: str):
    if key in found:
        return found[key]
    near = ", ".join(difflib.get_close_matches(key, found, 3, 0.4) or list(found)[:20])
    raise ValueError(f"the paper's {what} {key!r} is not in {PAPER.name}: try {near}")


@functools.cache
def paper_tables() -> Mapping[str, PaperTable]:
    """All tables by name."""
    return {name: PaperTable(**entry) for name, entry in read_json(PAPER, dict)["tables"].items()}


@functools.cache
def paper_values() -> Mapping[str, dict]:
    """All figures by key, those in tables as ROW/COLUMN: "value", "unit", "section", "note"."""
    values = read_json(PAPER, dict)["values"]
    for table in paper_tables().values():
        about = {"unit": table.unit, "section": table.section, "note": table.note}
        for row in table.rows:
            for column, figure in table.row(row).items():
                values[f"{row}/{column}"] = {"value": figure} | about
    return values


def paper_value(key: str) -> float:
    """A figure as printed, such as "ltl-perturbed/proposed/correct"."""
    return _entry(paper_values(), key, "figure")["value"]


def paper_rate(key: str) -> float:
    """The same as a rate from 0 to 1; ValueError for a figure that is not in per cent."""
    found = _entry(paper_values(), key, "figure")
    if found["unit"] != "per cent":
        raise ValueError(f"the paper's figure {key!r} is in {found['unit']}, not in per cent")
    return found["value"] / 100


def paper_cell(name: str, column: str) -> float | None:
    """The paper's rate for an experiment; None if it reports none."""
    key = f"{name}/{column}"
    return paper_rate(key) if key in paper_values() else None


def paper_table(name: str) -> PaperTable:
    """The table `name`, for example "ltl-perturbation"; ValueError lists the nearest names."""
    return _entry(paper_tables(), name, "table")


def paper_alpha_covariance(task: str) -> dict[str, dict[int, float]]:
    """Alpha-covariance, 0 to 1, by variant and number of APs out of 10; `task` "ltl" or "prop"."""
    key, counts = f"{task}/{{}}/alpha-covariance-{{}}-of-10", range(3, 11)
    variants = "full-vocabulary", "alpha-renaming", "proposed"
    return {v: {k: paper_rate(key.format(v, k)) for k in counts} for v in variants}


def paper_search() -> list[dict]:
    """The paper's copying search: a record for each of 90 settings, in the order of its table.

    Each has "method", "d_beta", "f_bn", "f_fn", "adacos" and "edit_distance".
    """
    table, records = paper_table("copying-search"), []
    for row in table.rows:
        on = row.removeprefix("copying-5-10/search/").split("+")
        features = {name: name in on for name in ("f_bn", "f_fn", "adacos")}
        for column, figure in table.row(row).items():
            method, d_beta = column.rsplit("-", 1)
            setting = {"method": method, "d_beta": int(d_beta), **features}
            records.append(setting | {"edit_distance": figure})
    return records


# Ours beside the paper's


def our_value(result: dict) -> float:
    """The mean edit distance to compare with the paper's: for ordinary embeddings over the cells
    whose characters it was trained on; over the others its answer is empty.
    """
    within = result["experiment"]["embedding"]["kind"] == "learned"
    return result["result"]["mean_within_training_characters" if within else "mean_edit_distance"]


def our_rate(result: dict, column: str) -> float | None:
    """A figure of a result on logic, by a key of COLUMNS; None if the evaluation has none.

    The mean over the grid weighs every cell alike, as the paper's; "beyond" is over its problems
    with more APs than in training; "solved" over answers that stand for some word (ours).
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


def heatmap_panel(result: dict, title: str = "") -> tuple:
    """A panel for `plots.rate_heatmaps`: the counts over the grid, and what training held."""
    grid, made = result["result"]["generalization"], result["experiment"]
    title = title or result["name"].partition("/")[2]
    recipe = preset(made["set"], made["scale"])
    while hasattr(recipe, "source"):  # of a set that is derived from another
        recipe = recipe.source
    longest = max(stratum.high for stratum in recipe.strata)
    return title, grid["samples"], grid["correct"], made["propositions"], longest


def run_line(result: dict) -> str:
    """One line: which run it is and how long it took; for copying its figure and the paper's."""
    trained, name, made = result["trained"], result["name"], result["experiment"]
    line = f"{name}, {result['scale']} size, seed {result['seed']}: {trained['steps']:,} steps"
    line += " (unfinished)" if trained.get("partial") else ""
    if "seconds" in trained:
        line += f" in {trained['seconds'] / 60:.0f} minutes on {trained.get('hardware', '?')}"
    if "mean_edit_distance" not in result["result"]:
        return line
    line += f"; mean edit distance {our_value(result):.2f}"
    known = made["data"]["characters"]
    if made["embedding"]["kind"] == "learned" and known < result["result"]["axis"][-1]:
        line += f" (up to {known} unique characters)"
    if found := paper_values().get(name):
        where = " (validation set)" if found["note"].startswith("validation") else ""
        line += f"; paper {found['value']}{where}"
    elif name == "copying-3-30/proposed":
        clean, models = (paper_value(f"copying-3-30/models{end}") for end in ("-without-error", ""))
        line += f"; paper 0.0 for {clean:g} of {models:g} models"
    return line


def logic_rows(scales: tuple[str, ...] = ("paper", "lab")) -> list[list[str]]:
    """A row for each experiment and size with results, and for each of which the paper tells:
    text in the order of HEAD, rates in per cent, one for each seed.
    """
    rows = []
    for name in LOGIC_NAMES:
        paper = {column: paper_cell(name, column) for column in COLUMNS}
        found = [(scale, runs) for scale in scales if (runs := results(name, scale))]
        if not found and any(figure is not None for figure in paper.values()):
            found = [("not run", [])]
        for scale, runs in found:
            cells = []
            for column, figure in paper.items():
                ours = [rate for run in runs if (rate := our_rate(run, column)) is not None]
                text = ", ".join(f"{100 * rate:.1f}" for rate in ours) or "–"
                cells.append(text if figure is None else f"{text} (paper {100 * figure:.1f})")
            trained = [run["trained"] for run in runs]
            minutes = sorted(t["seconds"] / 60 for t in trained if "seconds" in t)
            span = dict.fromkeys(f"{value:.0f}" for value in minutes[:1] + minutes[-1:])
            hardware = dict.fromkeys(t["hardware"] for t in trained if "hardware" in t)
            seeds = ", ".join(str(run["seed"]) for run in runs)
            rows.append([name, scale, *cells, seeds, " to ".join(span), "; ".join(hardware)])
    return rows


def markdown_table(head: tuple[str, ...], rows: list[list[str]]) -> str:
    """A Markdown table; a vertical bar inside a cell is escaped."""
    lines = [[cell.replace("|", "\\|") for cell in line] for line in (head, *rows)]
    return "\n".join(
        f"| {' | '.join(line)} |" for line in (lines[0], ["---"] * len(head), *lines[1:])
    )
