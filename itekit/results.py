"""Results and networks by name: made, published, and read again.

A result is a JSON file in data/results, a network a checkpoint in data/checkpoints; `names` has
their file names. Rates are 0 to 1.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

from itekit.evaluation import evaluate_pairs, evaluate_task
from itekit.experiments import Experiment, from_json
from itekit.files import (
    RESULTS,
    RUNS,
    MissingError,
    Record,
    provenance,
    read_json,
    read_log,
    require,
    stored,
    stored_files,
    write_json,
)
from itekit.names import changes, experiment, result_name, run_name
from itekit.network import Network
from itekit.tasks.streams import Pair
from itekit.training import CHECKPOINT, FINISHED, Trainer

CHECKPOINTS = RESULTS.parent / "checkpoints"
LOG_RECORDS = 200


# Networks


def checkpoint_path(experiment: Experiment) -> Path:
    """Where the checkpoint of an experiment is: one published here, else the shipped one."""
    return stored(CHECKPOINTS / f"{run_name(experiment)}.safetensors")


def load_network(name: str, scale: str | None = None, seed: int = 0, **changes) -> Network:
    """The shipped network of an experiment; MissingError if there is none."""
    settings = experiment(name, scale, seed, **changes)
    path = _require(checkpoint_path(settings), settings, "train", "--publish")
    return Network.load(path, settings)


def load_or_train(
    settings: Experiment, directory: Path = RUNS, train: bool = False, progress: bool = True
) -> Network:
    """The shipped network, unless `train`; else one trained here and kept in `directory`."""
    shipped = checkpoint_path(settings)
    if shipped.exists() and not train:
        return Network.load(shipped, settings)
    finished = Path(directory) / run_name(settings) / FINISHED
    if finished.exists():
        return Network.load(finished, settings)
    return trainer(settings, finished.parent).run(progress=progress)


def trainer(settings: Experiment, directory: Path, *options) -> Trainer:
    """A `Trainer`; where it begins with another experiment's weights, with the shipped ones.

    That experiment has the same changed settings of task and model. If it has no network, it is
    trained first, in a folder beside this one's.
    """
    directory = Path(directory)
    start = None
    if settings.start and not (directory / CHECKPOINT).exists():
        changed = settings.differences(experiment(settings.name, settings.scale, settings.seed))
        shared = {k: v for k, v in changed.items() if k.startswith(("task.", "model."))}
        first = experiment(settings.start, settings.scale, settings.seed, **shared)
        start = load_or_train(first, directory.parent)
    return Trainer(settings, directory, *options, start=start)


def publish(settings: Experiment, directory: Path) -> list[Path]:
    """Copy a finished run to data/: its network, rounded to float16, and its log, thinned."""
    network = Network.load(Path(directory) / FINISHED, settings)
    checkpoint = CHECKPOINTS / f"{run_name(settings)}.safetensors"
    network.save(checkpoint, dtype=torch.float16)
    records = read_log(directory)
    every = max(1, len(records) // LOG_RECORDS)
    thinned = [r for i, r in enumerate(records) if i % every == every - 1 or "validation_loss" in r]
    log = RESULTS / f"{run_name(settings)}.log.json"
    write_json(log, thinned)
    return [checkpoint, log]


# Results


def evaluate(
    network: Network,
    progress: bool = True,
    folder: Path | None = None,
    pairs: Sequence[Pair] | None = None,
) -> dict:
    """Evaluate a network as its task asks, or on `pairs` of a problem and its label.

    `folder`: where finished parts are saved, from which an interrupted evaluation resumes.
    """
    if pairs is not None:
        return evaluated(network, lambda n: evaluate_pairs(n, pairs, progress))
    return evaluated(network, lambda n: evaluate_task(n, folder, progress))


def evaluated(network: Network, measure: Callable[[Network], dict]) -> dict:
    """What `measure` gives for a network, with the settings and the provenance of both, as JSON."""
    started = time.perf_counter()
    result = measure(network)
    settings = network.experiment
    seconds = round(time.perf_counter() - started, 1)
    return {
        "name": settings.name,
        "scale": settings.scale,
        "seed": settings.seed,
        "result": result,
        "experiment": settings.to_json(),
        "trained": network.trained,
        "evaluated": provenance(network.device) | {"seconds": seconds},
    }


def save_result(result: dict, directory: Path = RESULTS, suffix: str = "") -> Path:
    """Write a result as NAME + suffix, such as "-redraw", atomically; returns the path."""
    path = Path(directory) / f"{result_name(from_json(result['experiment']))}{suffix}.json"
    write_json(path, result)
    return path


def load_result(name: str, scale: str | None = None, seed: int = 0, **evaluated) -> dict:
    """A shipped result, its grid (copying) as a float array with NaN for impossible cells.

    `evaluated` is what the evaluation changed, such as `rope_base` or `search`.
    MissingError if there is none, ValueError if the file is damaged or of another run.
    """
    settings = experiment(name, scale, seed, **evaluated)
    path = _require(RESULTS / f"{result_name(settings)}.json", settings, "evaluate")
    result = read_json(path, dict)
    try:
        if (other := from_json(result["experiment"])) != settings:
            different = ", ".join(other.differences(settings))
            raise ValueError(f"expected settings of {settings.name}, found others: {different}")
        if "grid" in (values := result["result"]):
            values["grid"] = np.array(values["grid"], dtype=float)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: not a result of itekit: {error}") from None
    return result


def load_log(name: str, scale: str | None = None, seed: int = 0) -> list[Record]:
    """The thinned training log of a shipped run; errors as in `load_result`."""
    settings = experiment(name, scale, seed)
    path = RESULTS / f"{run_name(settings)}.log.json"
    return read_json(_require(path, settings, "train", "--publish"), list)


def load_redraw(name: str, scale: str | None = None, seed: int = 0, suffix: str = "redraw") -> dict:
    """The shipped result of `redraw`, or of its "patterns"; errors as in `load_result`."""
    settings = experiment(name, scale, seed)
    path = RESULTS / f"{result_name(settings)}-{suffix}.json"
    about = {"name": name, "scale": settings.scale, "seed": seed, "do": f"'[\"{suffix}\"]'"}
    options = " ".join(f"-p {key} {value}" for key, value in about.items())
    return read_json(require(path, f"run notebooks/run.ipynb {options}"), dict)


def results(name: str, scale: str | None = None, **evaluated) -> list[dict]:
    """All shipped results of an experiment at a scale, by seed; `evaluated` as in `load_result`."""
    before, after = result_name(experiment(name, scale, **evaluated)).rsplit("-s0", 1)
    files = stored_files(RESULTS, f"{before}-s*{after}.json")
    ends = (p.stem.removeprefix(f"{before}-s").removesuffix(after) for p in files)
    seeds = sorted(int(number) for number in ends if number.isdigit())  # not "0.log"
    return [load_result(name, scale, seed, **evaluated) for seed in seeds]


def shipped(name: str, scale: str = "lab", seed: int = 0) -> dict | None:
    """The result of an experiment that comes with the kit or was made here; None if none is."""
    try:
        return load_result(name, scale, seed)
    except MissingError:
        return None


def _require(path: Path, settings: Experiment, command: str, *options: str) -> Path:
    """The path if the file is there; else MissingError with the command that makes it."""
    written = " ".join(changes(settings).values())
    if command == "evaluate":  # of weights trained with the usual one
        written = written.replace("model.rope_base=", "--rope-base ")
    about = f"--scale {settings.scale} --seed {settings.seed}"
    return require(path, " ".join(filter(None, (command, settings.name, written, about, *options))))
