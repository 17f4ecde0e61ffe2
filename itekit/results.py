"""Results and networks by name, and the paper's figures beside them.

A result is a JSON file in data/results, a network a checkpoint in data/checkpoints. The paper's
figures are in data/paper.json: one that belongs to an experiment of the kit has its name, one that
stands in a table the key ROW/COLUMN. Rates are 0 to 1.
"""

import functools
import time
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from itekit.data import Pair
from itekit.evaluation import GridEvaluation, evaluate_logic, evaluate_pairs
from itekit.experiments import (
    CopyingExperiment,
    Experiment,
    LogicExperiment,
    experiment,
    from_json,
)
from itekit.files import (
    DATA,
    RESULTS,
    RUNS,
    MissingError,
    Record,
    nearest,
    provenance,
    read_json,
    rebuild,
    require,
    write_json,
)
from itekit.network import Trained
from itekit.training import FINISHED, Network, Trainer, read_log

CHECKPOINTS, PAPER = RESULTS.parent / "checkpoints", DATA / "paper.json"
LOG_RECORDS = 200


class Result(typing.TypedDict):
    """What a file of results has; "result" is as `evaluate` gives it."""

    name: str
    scale: str
    seed: int
    result: dict
    experiment: dict
    trained: Trained
    evaluated: dict


# What is read of "result", by task.


class _Copying(typing.TypedDict):
    axis: list[int]
    grid: list[list[float | None]]
    mean_edit_distance: float
    mean_within_training_characters: float | None


class _Rates(typing.TypedDict):
    samples: int
    correct: float
    exact: float
    solved: typing.NotRequired[float]


class _Grid(typing.TypedDict):  # a row for each number of propositions
    propositions: list[int]
    lengths: list[int]
    samples: list[list[int]]
    correct: list[list[int]]
    mean_correct_cells: float


class _Mean(typing.TypedDict):
    mean: float


class _Covariances(typing.TypedDict):
    by_propositions: dict[str, _Mean]


class _Logic(typing.TypedDict):
    test: _Rates
    generalization: _Grid
    alpha_covariance_training: _Covariances
    alpha_covariance: _Covariances | None


def checkpoint_path(made: Experiment) -> Path:
    """Where the shipped checkpoint of an experiment is."""
    return CHECKPOINTS / f"{made.run}.safetensors"


def load_network(name: str, scale: str | None = None, seed: int = 0, **changes) -> Network:
    """The shipped network of an experiment; MissingError if there is none."""
    made = experiment(name, scale, seed, **changes)
    return Network.load(_there(checkpoint_path(made), made, "train --publish"), made)


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
    finished = Path(directory) / made.run / FINISHED
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
    """Copy a finished run to data/: its network, rounded to float16, and its log, thinned.

    ValueError for a task that is not the kit's: its results are kept beside it.
    """
    if not isinstance(made, LogicExperiment | CopyingExperiment):
        raise ValueError(f"{made.name} is of another task: keep its network with Network.save")
    network = Network.load(Path(directory) / FINISHED, made)
    network.save(checkpoint_path(made), dtype=torch.float16)
    records = read_log(directory)
    every = max(1, len(records) // LOG_RECORDS)
    thinned = [r for i, r in enumerate(records) if i % every == every - 1 or "validation_loss" in r]
    log = RESULTS / f"{made.run}.log.json"
    write_json(log, thinned)
    return [checkpoint_path(made), log]


def evaluate(
    network: Network,
    progress: bool = True,
    keep: Path | None = None,
    pairs: Sequence[Pair] | None = None,
) -> dict:
    """Evaluate a network as its task asks, or on `pairs` of a problem and its label.

    `keep`: a folder from which a run on logic goes on. ValueError: a task of your own needs pairs.
    """
    made = network.experiment
    if pairs is not None:
        return evaluated(network, lambda n: evaluate_pairs(n, pairs, progress=progress))
    if isinstance(made, LogicExperiment):
        return evaluated(network, lambda n: evaluate_logic(n, keep, progress))
    if isinstance(made, CopyingExperiment):
        return evaluated(network, lambda n: GridEvaluation(n, progress=progress).run())
    raise ValueError(f"{made.name} is of another task: give pairs of a problem and its label")


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
    """Write a result as SLUG + suffix, such as "-redraw", atomically; returns the path.

    ValueError: it is of a task that is not the kit's.
    """
    path = Path(directory) / f"{from_json(result['experiment']).slug}{suffix}.json"
    write_json(path, result)
    return path


def load_log(name: str, scale: str | None = None, seed: int = 0) -> list[Record]:
    """The thinned training log of a shipped run; errors as in `load_result`."""
    made = experiment(name, scale, seed)
    path = _there(RESULTS / f"{made.run}.log.json", made, "train --publish")
    return rebuild(list[Record], read_json(path, list))


def load_redraw(name: str, scale: str | None = None, seed: int = 0, suffix: str = "redraw") -> dict:
    """The shipped result of `redraw`, or of its "patterns"; errors as in `load_result`."""
    made = experiment(name, scale, seed)
    return read_json(_there(RESULTS / f"{made.slug}-{suffix}.json", made, "redraw"), dict)


def load_result(name: str, scale: str | None = None, seed: int = 0, **evaluated) -> dict:
    """A shipped result, its grid (copying) as a float array with NaN for impossible cells.

    `evaluated` is what the evaluation changed, such as `rope_base` or `search`.
    MissingError if there is none, ValueError if the file is damaged.
    """
    made = experiment(name, scale, seed, **evaluated)
    path = _there(RESULTS / f"{made.slug}.json", made, "evaluate")
    try:
        result = rebuild(Result, read_json(path, dict))
        if (found := from_json(result["experiment"]).slug) != made.slug:
            raise ValueError(f"expected settings of {made.slug}, found those of {found}")
        logic = isinstance(made, LogicExperiment)
        found = rebuild(_Logic if logic else _Copying, result["result"])
        if logic:
            grid = found["generalization"]
            shape, tables = (grid["propositions"], grid["lengths"]), ("samples", "correct")
        else:
            grid, shape, tables = found, (found["axis"], made.grid.axis), ("grid",)
            found["grid"] = np.array(found["grid"], dtype=float)
        if {np.shape(grid[name]) for name in tables} - {tuple(map(len, shape))}:
            raise ValueError(f"expected {len(shape[0])} rows of {len(shape[1])} numbers")
        result["result"] = found
    except ValueError as error:
        raise ValueError(f"{path}: not a result of itekit: {error}") from None
    return result


def _there(path: Path, made: Experiment, command: str) -> Path:
    changes = " ".join(made.changes.values()).replace("model.rope_base=", "--rope-base ")
    words = command, made.name, changes, f"--scale {made.scale} --seed {made.seed}"
    return require(path, " ".join(filter(None, words)))


def results(name: str, scale: str | None = None, **evaluated) -> list[dict]:
    """All shipped results of an experiment at a scale, by seed; `evaluated` as in `load_result`."""
    before, after = experiment(name, scale, **evaluated).slug.rsplit("-s0", 1)
    files = RESULTS.glob(f"{before}-s*{after}.json")
    ends = (p.stem.removeprefix(f"{before}-s").removesuffix(after) for p in files)
    seeds = sorted(int(number) for number in ends if number.isdigit())  # not "0.log"
    return [load_result(name, scale, seed, **evaluated) for seed in seeds]


def shipped(name: str, scale: str = "lab", seed: int = 0) -> dict | None:
    """The result of an experiment that comes with the kit or was made here; None if none is."""
    try:
        return load_result(name, scale, seed)
    except MissingError:
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
    raise ValueError(
        f"the paper's {what} {key!r} is not in {PAPER.name}: try {nearest(key, found)}"
    )


@functools.cache
def _tables() -> Mapping[str, PaperTable]:
    return {name: PaperTable(**one) for name, one in read_json(PAPER, dict)["tables"].items()}


@functools.cache
def paper_figures() -> Mapping[str, dict]:
    """All of the paper's figures by their keys: "value", "unit", "section", "note"."""
    figures = read_json(PAPER, dict)["values"]
    for table in _tables().values():
        about = {"unit": table.unit, "section": table.section, "note": table.note}
        for row in table.rows:
            for column, figure in table.row(row).items():
                figures[f"{row}/{column}"] = {"value": figure} | about
    return figures


def paper_value(key: str) -> float:
    """A figure as printed, such as "ltl-perturbed/proposed/correct"."""
    return _entry(paper_figures(), key, "figure")["value"]


def paper_cell(name: str, column: str) -> float | None:
    """The same of an experiment as a rate from 0 to 1; None if the paper reports none."""
    figure = paper_figures().get(f"{name}/{column}")
    if figure and figure["unit"] != "per cent":
        raise ValueError(f"the paper's figure {name}/{column} is in {figure['unit']}")
    return figure and figure["value"] / 100


def paper_table(name: str) -> PaperTable:
    """The table `name`, for example "ltl-perturbation"; ValueError lists the nearest names."""
    return _entry(_tables(), name, "table")


# Ours beside the paper's


def our_value(result: dict) -> float:
    """The mean edit distance to compare with the paper's: for ordinary embeddings over the cells
    whose characters it was trained on; over the others its answer is empty.
    """
    found = result["result"]
    within = found["mean_within_training_characters"]
    learned = result["experiment"]["embedding"]["kind"] == "learned"
    return within if learned and within is not None else found["mean_edit_distance"]


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
    if not column.startswith("alpha-covariance-"):
        return None
    count, _, more = column.removeprefix("alpha-covariance-").partition("-of-")
    cells = found["alpha_covariance" if more else "alpha_covariance_training"] or {}
    return cells.get("by_propositions", {}).get(count, {}).get("mean")


def run_line(result: dict) -> str:
    """One line: which run it is and how long it took; for copying its figure and the paper's."""
    trained, name, made = result["trained"], result["name"], result["experiment"]
    line = f"{name}, {result['scale']} size, seed {result['seed']}: "
    line += f"{trained.get('steps', 0):,} steps"
    line += " (unfinished)" if trained.get("partial") else ""
    if "seconds" in trained:
        line += f" in {trained['seconds'] / 60:.0f} minutes on {trained.get('hardware', '?')}"
    if "mean_edit_distance" not in result["result"]:
        return line
    line += f"; mean edit distance {our_value(result):.2f}"
    known = made["data"]["characters"]
    if made["embedding"]["kind"] == "learned" and known < result["result"]["axis"][-1]:
        line += f" (up to {known} unique characters)"
    if found := paper_figures().get(name):
        where = " (validation set)" if found["note"].startswith("validation") else ""
        line += f"; paper {found['value']}{where}"
    elif name == "copying-3-30/proposed":
        clean, models = (paper_value(f"copying-3-30/models{end}") for end in ("-without-error", ""))
        line += f"; paper 0.0 for {clean:g} of {models:g} models"
    return line


def markdown_table(head: tuple[str, ...], rows: list[list[str]]) -> str:
    """A Markdown table; a vertical bar inside a cell is escaped."""
    lines = [[cell.replace("|", "\\|") for cell in line] for line in (head, *rows)]
    return "\n".join(
        f"| {' | '.join(line)} |" for line in (lines[0], ["---"] * len(head), *lines[1:])
    )
