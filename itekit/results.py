"""Results: small JSON files in data/results, each with its settings, command and hardware."""

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from itekit.evaluation import GridEvaluation
from itekit.experiments import experiment, from_json
from itekit.files import write_json
from itekit.layers import ROPE_BASE
from itekit.logic_evaluation import LogicEvaluation
from itekit.network import Network
from itekit.provenance import provenance
from itekit.runlog import read_log
from itekit.settings import Experiment
from itekit.task_settings import SEARCHES, LogicExperiment
from itekit.training import FINISHED, Trainer

ROOT = Path(__file__).resolve().parent.parent
CHECKPOINTS, RESULTS = ROOT / "data" / "checkpoints", ROOT / "data" / "results"
RUNS = ROOT / "runs"
LOG_RECORDS = 200


class MissingResultError(FileNotFoundError):
    """A result or checkpoint that is neither shipped nor made yet; the message says the command."""


def checkpoint_path(made: Experiment) -> Path:
    """Where the shipped checkpoint of an experiment is."""
    return CHECKPOINTS / f"{made.slug}.safetensors"


def load_network(name: str, scale: str | None = None, seed: int = 0) -> Network:
    """The shipped network of an experiment.

    Raises:
        MissingResultError: no checkpoint is shipped at this scale and seed.
    """
    made = experiment(name, scale, seed)
    path = checkpoint_path(made)
    if not path.exists():
        raise MissingResultError(
            f"no checkpoint {path.name} in {path.parent}; train one: "
            f"python -m itekit train {name} --scale {made.scale} --seed {seed}"
        )
    return Network.load(path)


def load_or_train(
    name: str,
    scale: str | None = None,
    seed: int = 0,
    train: bool = False,
    directory: Path = RUNS,
    progress: bool = True,
) -> Network:
    """The shipped network if there is one, else one trained here (and kept in `directory`).

    Args:
        train: train even if a checkpoint is shipped.
    """
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


def load_log(name: str, scale: str | None = None, seed: int = 0) -> list[dict]:
    """The thinned training log of a shipped run, for `plots.training_curves`.

    Raises:
        MissingResultError: none is shipped at this scale and seed.
    """
    made = experiment(name, scale, seed)
    return _shipped(made, "training log", ".log", f"train {name}", " --publish")


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
    return {
        "name": network.experiment.name,
        "scale": network.experiment.scale,
        "seed": network.experiment.seed,
        "result": result,
        "experiment": network.experiment.to_json(),
        "trained": network.trained,
        "evaluated": provenance() | {"seconds": round(time.perf_counter() - started, 1)},
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
    """Write a result as NAME-SCALE-sSEED.json (see `slug`), atomically; returns the path.

    Args:
        suffix: tells apart several results of one network, such as "-redraw".
    """
    path = Path(directory) / f"{from_json(result['experiment']).slug}{suffix}.json"
    write_json(path, result)
    return path


def load_redraw(name: str, scale: str | None = None, seed: int = 0) -> dict:
    """The shipped result of `redraw` for an experiment.

    Raises:
        MissingResultError: there is none at this scale and seed.
    """
    return _shipped(experiment(name, scale, seed), "result", "-redraw", f"redraw {name}")


def load_result(name: str, scale: str | None = None, seed: int = 0, **evaluated) -> dict:
    """A shipped result, its grid (copying) as a float array with NaN for impossible cells.

    Args:
        evaluated: what the evaluation changed, the base of RoPE (`rope_base`) or the `search` of
            copies (see `CopyingExperiment`).

    Raises:
        MissingResultError: there is none at this scale and seed that was evaluated so.
    """
    made, options = _evaluated(experiment(name, scale, seed), **evaluated)
    result = _shipped(made, "result", "", f"evaluate {name}", options)
    if "grid" in result["result"]:
        result["result"]["grid"] = np.array(result["result"]["grid"], dtype=float)
    return result


def _shipped(made: Experiment, what: str, suffix: str, command: str, options: str = ""):
    """The JSON value of the file SLUG + suffix in data/results; `command` makes it."""
    path = RESULTS / f"{made.slug}{suffix}.json"
    if not path.exists():
        raise MissingResultError(
            f"no {what} {path.name} in {path.parent}; make it: "
            f"python -m itekit {command} --scale {made.scale} --seed {made.seed}{options}"
        )
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: damaged JSON ({error})") from error


def _evaluated(
    made: Experiment, rope_base: float = ROPE_BASE, search: str = SEARCHES[0]
) -> tuple[Experiment, str]:
    """The experiment with these settings, and the options of `evaluate` that ask for them."""
    options = "" if rope_base == ROPE_BASE else f" --rope-base {rope_base:.15g}"
    if search != SEARCHES[0]:  # logic has no such setting
        made, options = replace(made, search=search), f"{options} --search {search}"
    return made.with_rope_base(rope_base), options


def results(name: str, scale: str | None = None, **evaluated) -> list[dict]:
    """All shipped results of an experiment at a scale, one for each seed, in order of seed.

    Args:
        evaluated: as in `load_result`.
    """
    before, after = _evaluated(experiment(name, scale), **evaluated)[0].slug.rsplit("-s0", 1)
    files = RESULTS.glob(f"{before}-s*{after}.json")
    found = (p.stem.removeprefix(f"{before}-s").removesuffix(after) for p in files)
    seeds = sorted(int(number) for number in found if number.isdigit())  # not "0.log"
    return [load_result(name, scale, seed, **evaluated) for seed in seeds]
