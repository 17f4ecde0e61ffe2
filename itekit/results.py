"""Results and networks by name, and the paper's figures beside them.

A result is a small JSON in data/results with its settings, command, versions and hardware; a
network is a checkpoint in data/checkpoints; the paper's figures are in data/paper.json, each with
its unit, the section it stands in and what it was measured on. A figure that belongs to one of the
kit's experiments has the experiment's name; one that stands in a table has the key ROW/COLUMN.
Nothing that a file holds is typed in here. Rates are 0 to 1.

`comparison_table` and `logic_table` print all of it, as data/results/README.md has it.
"""

import difflib
import functools
import time
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from itekit.datasets.presets import preset
from itekit.evaluation import GridEvaluation, LogicEvaluation
from itekit.experiments import (
    COPYING_NAMES,
    LOGIC_NAMES,
    SEARCHES,
    Experiment,
    LogicExperiment,
    experiment,
    from_json,
)
from itekit.files import provenance, read_json, write_json
from itekit.model import ROPE_BASE
from itekit.training import FINISHED, Network, Trainer, read_log

ROOT = Path(__file__).resolve().parent.parent
CHECKPOINTS, RESULTS = ROOT / "data" / "checkpoints", ROOT / "data" / "results"
PAPER = ROOT / "data" / "paper.json"
RUNS = ROOT / "runs"
LOG_RECORDS = 200
SCALES = ("paper", "lab")  # of results that are shown
ROPE_BASES = (int(ROPE_BASE), 2_000, 1_000_000)
EVALUATIONS = ({}, {"search": SEARCHES[1]}, *({"rope_base": base} for base in ROPE_BASES[1:]))
FEATURES = ("f_bn", "f_fn", "adacos")
COLUMNS = {  # what a row of the paper's tables on logic tells
    "correct": "correct",
    "solved": "of it: about some word",
    "exact": "exact",
    "heatmap-mean-correct": "correct over the grid",
    "beyond": "of it: more APs than in training",
    "alpha-covariance-3": "alpha-covariance, 3 APs",
}
HEAD = ("experiment", "size", *COLUMNS.values(), "seeds", "minutes", "hardware")
COPYING_HEAD = (
    *("experiment", "size", "paper", "ours", "seeds", "steps", "minutes a run", "hardware"),
)


class MissingResultError(FileNotFoundError):
    """A result or checkpoint that is neither shipped nor made yet; the message says the command."""


def checkpoint_path(made: Experiment) -> Path:
    """Where the shipped checkpoint of an experiment is."""
    return CHECKPOINTS / f"{made.slug}.safetensors"


def load_network(name: str, scale: str | None = None, seed: int = 0) -> Network:
    """The shipped network of an experiment; MissingResultError if there is none."""
    made = experiment(name, scale, seed)
    return Network.load(_there(checkpoint_path(made), made, "checkpoint", "train"))


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
    return Trainer(made, finished.parent).run(progress=progress)


def publish(made: Experiment, directory: Path) -> list[Path]:
    """Copy a finished run to data/: its network, and its log thinned to some 200 records.

    Weights are rounded to float16, half the size. What an evaluation of the run itself gives may
    differ in the last digits.

    Raises:
        CheckpointError: the run in `directory` is not finished, or is of another experiment.
    """
    network = Network.load(Path(directory) / FINISHED, made)
    network.save(checkpoint_path(made), dtype=torch.float16)
    records = read_log(directory)
    every = max(1, len(records) // LOG_RECORDS)
    thinned = [r for i, r in enumerate(records) if i % every == every - 1 or "validation_loss" in r]
    log = RESULTS / f"{made.slug}.log.json"
    write_json(log, thinned)
    return [checkpoint_path(made), log]


def evaluate(network: Network, progress: bool = True, keep: Path | None = None) -> dict:
    """Evaluate a network as its task asks; the result with its provenance, as JSON.

    Args:
        keep: a folder for what is finished, so that an interrupted evaluation goes on (logic).
    """
    if isinstance(network.experiment, LogicExperiment):
        return evaluated(network, lambda n: LogicEvaluation(n, keep, progress).run())
    return evaluated(network, lambda n: GridEvaluation(n, progress=progress).run())


def evaluated(network: Network, measure: Callable[[Network], dict]) -> dict:
    """What `measure` gives for a network, with the settings and the provenance of both, as JSON."""
    started = time.perf_counter()
    result = measure(network)
    seconds = round(time.perf_counter() - started, 1)
    return {
        "name": network.experiment.name,
        "scale": network.experiment.scale,
        "seed": network.experiment.seed,
        "result": result,
        "experiment": network.experiment.to_json(),
        "trained": network.trained,
        "evaluated": provenance(network.device) | {"seconds": seconds},
    }


def headline(result: dict) -> str:
    """The figures of a result that matter most, on one line."""
    found = result["result"]
    if "test" not in found:
        return f"mean edit distance {found['mean_edit_distance']:.3f}"
    test, grid = found["test"], found["generalization"]
    return (
        f"{test['correct']:.1%} of {test['samples']} test problems correct, "
        f"{test['exact']:.1%} exact; over the grid {grid['mean_correct_cells']:.1%}"
    )


def save_result(result: dict, directory: Path = RESULTS, suffix: str = "") -> Path:
    """Write a result as SLUG + suffix, such as "-redraw", atomically; returns the path."""
    path = Path(directory) / f"{from_json(result['experiment']).slug}{suffix}.json"
    write_json(path, result)
    return path


def load_log(name: str, scale: str | None = None, seed: int = 0) -> list[dict]:
    """The thinned training log of a shipped run; errors as in `load_result`."""
    made = experiment(name, scale, seed)
    path = RESULTS / f"{made.slug}.log.json"
    return read_json(_there(path, made, "training log", "train", " --publish"), list)


def load_redraw(name: str, scale: str | None = None, seed: int = 0) -> dict:
    """The shipped result of `redraw` for an experiment; errors as in `load_result`."""
    made = experiment(name, scale, seed)
    return _read(_there(RESULTS / f"{made.slug}-redraw.json", made, "result", "redraw"))


def load_result(name: str, scale: str | None = None, seed: int = 0, **evaluated) -> dict:
    """A shipped result, its grid (copying) as a float array with NaN for impossible cells.

    Args:
        evaluated: what the evaluation changed, the base of RoPE (`rope_base`) or the `search` of
            copies (see `CopyingExperiment`).

    Raises:
        MissingResultError: there is none at this scale and seed that was evaluated so.
        ValueError: the file is damaged.
    """
    made, options = _evaluated(experiment(name, scale, seed), **evaluated)
    return _read(_there(RESULTS / f"{made.slug}.json", made, "result", "evaluate", options))


def _there(path: Path, made: Experiment, what: str, command: str, options: str = "") -> Path:
    """The path itself if the file is there; `command` makes it."""
    if path.exists():
        return path
    raise MissingResultError(
        f"no {what} {path.name} in {path.parent}; make it: python -m itekit {command} "
        f"{made.name} --scale {made.scale} --seed {made.seed}{options}"
    )


def _read(path: Path) -> dict:
    """A result, with its grid as an array."""
    result = read_json(path, dict)
    try:
        if "grid" in result["result"]:
            result["result"]["grid"] = np.array(result["result"]["grid"], dtype=float)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: expected a result of itekit ({error!r})") from None
    return result


def _evaluated(
    made: Experiment, rope_base: float = ROPE_BASE, search: str = SEARCHES[0]
) -> tuple[Experiment, str]:
    """The experiment with these settings, and the options of `evaluate` that ask for them."""
    options = "" if rope_base == ROPE_BASE else f" --rope-base {rope_base:.15g}"
    if search != SEARCHES[0]:  # logic has no such setting
        made, options = replace(made, search=search), f"{options} --search {search}"
    return made.with_rope_base(rope_base), options


def results(name: str, scale: str | None = None, **evaluated) -> list[dict]:
    """All shipped results of an experiment at a scale, by seed; `evaluated` as in `load_result`."""
    before, after = _evaluated(experiment(name, scale), **evaluated)[0].slug.rsplit("-s0", 1)
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


def to_make(name: str, scale: str = "lab", seed: int = 0) -> str:
    """The commands that make a result that is not there."""
    options = f"{name} --scale {scale} --seed {seed}"
    return f"python -m itekit train {options} --publish && python -m itekit evaluate {options}"


# The paper's figures


@dataclass(frozen=True)
class PaperValue:
    """One figure of the paper: as printed, its unit, section, and what it was measured on."""

    value: float
    unit: str
    section: str
    note: str


@dataclass(frozen=True)
class PaperTable:
    """One table of the paper: the figures of each row, in the order of the columns."""

    unit: str
    section: str
    note: str
    columns: tuple[str, ...]
    rows: Mapping[str, tuple[float, ...]]

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
    tables = {}
    for name, entry in read_json(PAPER, dict)["tables"].items():
        rows = types.MappingProxyType({row: tuple(line) for row, line in entry["rows"].items()})
        tables[name] = PaperTable(**entry | {"columns": tuple(entry["columns"]), "rows": rows})
    return types.MappingProxyType(tables)


@functools.cache
def paper_values() -> Mapping[str, PaperValue]:
    """All figures by key, those in tables as ROW/COLUMN."""
    entries = read_json(PAPER, dict)["values"].items()
    values = {key: PaperValue(**entry) for key, entry in entries}
    for table in paper_tables().values():
        about = table.unit, table.section, table.note
        for row in table.rows:
            for column, figure in table.row(row).items():
                values[f"{row}/{column}"] = PaperValue(figure, *about)
    return types.MappingProxyType(values)


def paper_value(key: str) -> float:
    """A figure as printed, as "ltl-perturbed/proposed/correct"; ValueError lists the nearest."""
    return _entry(paper_values(), key, "figure").value


def paper_rate(key: str) -> float:
    """The same as a rate from 0 to 1; ValueError also for a figure that is not in per cent."""
    found = _entry(paper_values(), key, "figure")
    if found.unit != "per cent":
        raise ValueError(f"the paper's figure {key!r} is in {found.unit}, not in per cent")
    return found.value / 100


def paper_table(name: str) -> PaperTable:
    """The table `name`, for example "ltl-perturbation"; ValueError lists the nearest names."""
    return _entry(paper_tables(), name, "table")


def paper_alpha_covariance(task: str) -> dict[str, dict[int, float]]:
    """Alpha-covariance, 0 to 1, by variant and number of APs out of 10; `task` "ltl" or "prop".

    Paper, section "Alpha-Covariance"; see the note of the table "alpha-covariance".
    """
    if task not in ("ltl", "prop"):
        raise ValueError(f"task: expected 'ltl' or 'prop', found {task!r}")
    table = paper_table("alpha-covariance")
    counts = [int(column.split("-")[2]) for column in table.columns]
    return {
        row.split("/")[1]: {k: figure / 100 for k, figure in zip(counts, figures, strict=True)}
        for row, figures in table.rows.items()
        if row.split("/")[0] == task
    }


def paper_search() -> list[dict]:
    """The copying search: a record for each of 90 settings, in the order of the paper's table.

    Each has "method" (as in `itekit.random_vectors.METHODS`), "d_beta", "f_bn", "f_fn", "adacos"
    and "edit_distance". Paper, appendix "Hyperparameter Search".
    """
    table, records = paper_table("copying-search"), []
    for row in table.rows:
        on = row.removeprefix("copying-5-10/search/").split("+")
        for column, figure in table.row(row).items():
            method, d_beta = column.rsplit("-", 1)
            setting = {"method": method, "d_beta": int(d_beta)}
            setting |= {feature: feature in on for feature in FEATURES}
            records.append(setting | {"edit_distance": figure})
    return records


def citation() -> str:
    """The paper, on one line."""
    source = read_json(PAPER, dict)["source"]
    authors = ", ".join(source["authors"])
    return f"{authors}: {source['title']}. {source['venue']}, {source['year']}."


def paper_cell(name: str, column: str) -> float | None:
    """The paper's rate for an experiment; None if it reports none."""
    key = f"{name}/{column}"
    return paper_rate(key) if key in paper_values() else None


# Ours beside the paper's


def our_value(result: dict) -> float:
    """The mean edit distance of a result that the paper's figure is to be compared with.

    For ordinary embeddings that is the mean over the cells whose characters it was trained on, as
    in the paper; over the others the answer is empty and the distance is the length.
    """
    within = result["experiment"]["embedding"]["kind"] == "learned"
    return result["result"]["mean_within_training_characters" if within else "mean_edit_distance"]


def our_rate(result: dict, column: str) -> float | None:
    """A figure of a result on logic; None if the evaluation has none.

    Args:
        column: a key of COLUMNS. The mean over the grid weighs every cell alike, as the paper's;
            "beyond" is the rate over the problems of its rows past the training APs; "solved" is
            the rate of correct answers that stand for some word (ours, see `evaluation.Judged`).
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


def _up_to(result: dict) -> str:
    """Over which characters the figure of a copying result is, where not over all."""
    made = result["experiment"]
    known, all_of_them = made["data"]["characters"], result["result"]["axis"][-1]
    learned = made["embedding"]["kind"] == "learned" and known < all_of_them
    return f" (up to {known} unique characters)" if learned else ""


def _paper_text(name: str) -> str:
    """What the paper reports for a copying experiment, "" for none."""
    if found := paper_values().get(name):
        where = " (validation set)" if found.note.startswith("validation") else ""
        return f"{found.value}{where}"
    if f"{name.removesuffix('proposed')}models" in paper_values():
        clean, models = (paper_value(f"copying-3-30/models{end}") for end in ("-without-error", ""))
        return f"0.0 for {clean:g} of {models:g} models"
    return ""


def run_line(result: dict) -> str:
    """One line: which run it is and how long it took; for copying its figure and the paper's."""
    trained, name = result["trained"], result["name"]
    line = f"{name}, {result['scale']} size, seed {result['seed']}: {trained['steps']:,} steps"
    line += " (unfinished)" if trained.get("partial") else ""
    if "seconds" in trained:
        line += f" in {trained['seconds'] / 60:.0f} minutes on {trained.get('hardware', '?')}"
    if "mean_edit_distance" not in result["result"]:
        return line
    line += f"; mean edit distance {our_value(result):.2f}{_up_to(result)}"
    return f"{line}; paper {paper}" if (paper := _paper_text(name)) else line


def _runs(runs: list[dict]) -> dict[str, str]:
    """What cells say about the trainings of some results."""
    trained = [run["trained"] for run in runs]
    spans = {
        "steps": [t["steps"] for t in trained],
        "minutes": [t["seconds"] / 60 for t in trained if "seconds" in t],
    }
    texts = {key: [f"{value:,.0f}" for value in sorted(values)] for key, values in spans.items()}
    found = {key: " to ".join(dict.fromkeys(some[:1] + some[-1:])) for key, some in texts.items()}
    hardware = dict.fromkeys(t["hardware"] for t in trained if "hardware" in t)
    seeds = ", ".join(str(run["seed"]) for run in runs)
    return found | {"hardware": "; ".join(hardware), "seeds": seeds}


def copying_rows(scales: tuple[str, ...] = SCALES) -> list[list[str]]:
    """A row for each copying experiment, size and way to evaluate, and for each in the paper."""
    rows = []
    for name in COPYING_NAMES:
        paper, before = _paper_text(name), len(rows)
        for scale, changed in ((scale, changed) for scale in scales for changed in EVALUATIONS):
            if not (runs := results(name, scale, **changed)):
                continue
            words = f"{name}{_up_to(runs[0])}"
            words += " (ours)" * bool(runs[0]["experiment"]["training"].get("positions"))
            if "search" in changed:
                words += ", the search of the published code"
            if "rope_base" in changed:
                words += f", RoPE base {changed['rope_base']:,} at evaluation (ours)"
            ours = ", ".join(f"{our_value(run):.2f}" for run in runs)
            said, found = "" if "rope_base" in changed else paper, _runs(runs)
            last = (found[key] for key in ("seeds", "steps", "minutes", "hardware"))
            rows.append([words, scale, said, ours, *last])
        if paper and len(rows) == before:
            rows.append([name, "", paper, "not run", "", "", "", ""])
    return rows


def logic_rows(scales: tuple[str, ...] = SCALES) -> list[list[str]]:
    """A row for each experiment and size with results, and for each of which the paper tells."""
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
            said = _runs(runs)
            rows.append([name, scale, *cells, *(said[k] for k in ("seeds", "minutes", "hardware"))])
    return rows


def markdown_table(head: tuple[str, ...], rows: list[list[str]]) -> str:
    """A Markdown table; a vertical bar inside a cell is escaped."""
    lines = [list(head), ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
    )


def comparison_table() -> str:
    """The rows of `copying_rows` as a Markdown table."""
    return markdown_table(COPYING_HEAD, copying_rows())


def logic_table() -> str:
    """The rows of `logic_rows` as a Markdown table, rates in per cent."""
    return markdown_table(HEAD, logic_rows())
