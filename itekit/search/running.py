"""Train and evaluate the settings of the copying search that are not done yet.

A training in progress has a folder with its checkpoint, so that one that was killed goes on there;
the folder is deleted when the record is written.  Several processes can work on one search: each
takes settings that no other is working on.
"""

import contextlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch

from itekit.copying import VALIDATION_SEED
from itekit.evaluation import GridEvaluation
from itekit.experiments import from_json
from itekit.files import write_json
from itekit.network import Network
from itekit.results import RESULTS, RUNS, evaluated
from itekit.scale import resolve_scale
from itekit.search.records import LOCK, BusyError, add_record, claimed, missing
from itekit.search.settings import Setting
from itekit.training import Trainer, TrainingDivergedError

FOLDER = RUNS / "search"
OTHER_BASE = 1_000_000.0  # of RoPE, at which no offset looks like another (notebook 05, part 11)
OTHER_DRAWS = 3
RECORD = "record.json"
Outcome = tuple[Setting, dict | Exception]


def evaluate_setting(network: Network) -> dict:
    """The evaluation on the validation grid, and the same weights with another base of RoPE.

    Returns:
        what `GridEvaluation.run` gives, and "other_base": the mean edit distance with
        `OTHER_BASE`, over at most `OTHER_DRAWS` draws.
    """
    found = GridEvaluation(network, VALIDATION_SEED, progress=False).run()
    other = GridEvaluation(network.with_rope_base(OTHER_BASE), VALIDATION_SEED, progress=False)
    means = [np.nanmean(other.grid(draw)) for draw in range(min(other.draws, OTHER_DRAWS))]
    return found | {"other_base": float(np.mean(means))}


def run_setting(
    setting: Setting,
    scale: str | None = None,
    folder: Path = FOLDER,
    device: str | None = None,
    threads: int | None = None,
) -> dict:
    """Train a setting, or go on with it, and evaluate it: the record.

    `folder`/SLUG then holds the record alone, in case that whoever asked for it is gone.

    Args:
        device: "cpu" or "cuda"; None takes cuda where there is one.
        threads: of the CPU; None leaves torch as it is.

    Raises:
        BusyError: another process is working on this setting.
        TrainingDivergedError: the loss became NaN or infinite.
    """
    if threads:
        torch.set_num_threads(threads)
    made = setting.experiment(scale)
    place = Path(folder) / made.slug
    with claimed(place / LOCK):
        if (record := _kept(place)) and from_json(record["experiment"]) == made:
            return record
        device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        result = evaluated(Trainer(made, place, device).run(progress=False), evaluate_setting)
        record = asdict(setting) | {"edit_distance": result["result"]["mean_edit_distance"]}
        record |= {key: result[key] for key in ("result", "experiment", "trained", "evaluated")}
        write_json(place / RECORD, record)
        for path in place.iterdir():
            if path.name not in (RECORD, LOCK):
                path.unlink()
    return record


def _kept(place: Path) -> dict | None:
    path = place / RECORD
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def here(
    settings: Iterable[Setting], scale: str, folder: Path = FOLDER, **options
) -> Iterator[Outcome]:
    """Run settings one after the other in this process; options as for `run_setting`."""
    for setting in settings:
        try:
            yield setting, run_setting(setting, scale, folder, **options)
        except (TrainingDivergedError, BusyError) as error:
            yield setting, error


def search(
    scale: str | None = None,
    only: int | None = None,
    *,
    run: Callable[..., Iterator[Outcome]] = here,
    directory: Path = RESULTS,
    folder: Path = FOLDER,
    **options,
) -> Iterator[Outcome]:
    """Run the settings without a record, and write the record of each as soon as it is done.

    Args:
        only: at most so many settings.
        run: `here`, or `ClusterRun(address)`.
        directory: of the file with the records.
        folder: of the trainings in progress.
        options: device and threads, see `run_setting`.

    Yields:
        each setting with its record, or with the error that it ended with.

    Raises:
        ValueError: as `load_search`.
    """
    scale = resolve_scale(scale)
    first = missing(scale, directory)[:only]
    settings = (setting for setting in first if setting in missing(scale, directory))
    with contextlib.closing(run(settings, scale, folder, **options)) as outcomes:
        for setting, outcome in outcomes:
            if isinstance(outcome, dict):
                add_record(outcome, scale, directory)
                shutil.rmtree(Path(folder) / setting.experiment(scale).slug, ignore_errors=True)
            yield setting, outcome
