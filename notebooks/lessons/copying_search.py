"""The copying search: which embedding settings copy best.

Paper, appendices "Hyperparameter Search" and "Sensitivity to randomness in embeddings": method of
random vectors × d_beta × which of f_bn, f_fn and AdaCos are on, and two baselines; each with at
least three seeds. `lab` is a part of that table with shorter trainings; `smoke` is what tests run.

data/results/copying-search-SCALE.json has a record for each finished setting: the fields of
`Setting`, "edit_distance" (the mean over the validation grid and all draws), and what other result
files have. A training in progress has a folder, so that one that was killed goes on there.
"""

import shutil
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch

from itekit.evaluation import Evaluation
from itekit.experiments import Experiment, from_json
from itekit.files import locked, read_json, resolve_scale, stored, write_json
from itekit.names import experiment, inside, run_name
from itekit.network import Network
from itekit.random_vectors import METHODS
from itekit.results import RESULTS, RUNS, evaluated
from itekit.tasks.task import VALIDATION_SEED
from itekit.training import Trainer
from itekit.workers import Pool, TaskError
from lessons.measured import command

NAME, NOTEBOOK = "copying-search", "06_copying_search"
FOLDER = RUNS / "search"
BASELINES = ("full-vocabulary", "alpha-renaming")
FEATURES = ("f_bn", "f_fn", "adacos")
OTHER_BASE = 1_000_000.0  # of RoPE, at which no offset looks like another (notebook 05, part 7)
OTHER_DRAWS = 3
ALL, NONE = (True, True, True), (False, False, False)
SOME = (False, True, True), (True, True, False), (False, True, False), (True, False, False)
ROWS = (ALL, *SOME, NONE)  # f_bn, f_fn, AdaCos, as in the paper's tables from top to bottom
BASELINE_ROWS = ((False, True, True), (False, True, False), NONE)
SMALL = {"normal": (2, 4), "neighboring_points": (4, 6), "hypercube_vertices": (5, 6)}
D_BETA = {method: (*small, 8, 16, 32) for method, small in SMALL.items()}  # the paper's columns
SIZES = {  # what differs from copying-5-10/proposed of that scale
    "lab": inside("training", batch_size=64, checkpoint_every=250)
    | inside("task.grid", samples=5, stride=3)
    | {"task.draws": 10}
}


@dataclass(frozen=True)
class Setting:
    """One training: a method of METHODS, or one of BASELINES with `d_beta` 0 and no `f_bn`."""

    method: str
    d_beta: int
    f_bn: bool
    f_fn: bool
    adacos: bool
    seed: int = 0

    @classmethod
    def of(cls, record: Mapping) -> "Setting":
        """The setting that a record is about."""
        return cls(**{f.name: record[f.name] for f in fields(cls) if f.name in record})

    @property
    def is_baseline(self) -> bool:
        """Whether there is no random part."""
        return self.method in BASELINES

    @property
    def on(self) -> str:
        """What is on, as in the keys of the paper's table: "f_bn+f_fn+adacos", or "none"."""
        return "+".join(name for name in FEATURES if getattr(self, name)) or "none"

    @property
    def column(self) -> str:
        """The column of the paper's table: "hypercube_vertices-6", or the baseline."""
        return self.method if self.is_baseline else f"{self.method}-{self.d_beta}"

    def experiment(self, scale: str | None = None) -> Experiment:
        """The experiment copying-5-10/search-COLUMN-ON; ValueError for what makes no sense."""
        variant = self.method if self.is_baseline else "proposed"
        changes = {"loss": "adacos" if self.adacos else "cross_entropy", "f_fn": self.f_fn}
        if not self.is_baseline:
            changes |= {"method": self.method, "d_beta": self.d_beta, "f_bn": self.f_bn}
        changes |= SIZES.get(resolve_scale(scale), {})
        settings = experiment(f"copying-5-10/{variant}", scale, self.seed, **changes)
        return replace(settings, name=f"copying-5-10/search-{self.column}-{self.on}")


def search_settings(scale: str | None = None) -> tuple[Setting, ...]:
    """All settings of the search at a scale: those with random parts first, then the baselines.

    Paper size: 15 columns × 6 rows × 3 seeds = 270 (the paper has 277), and 18 of baselines.
    """
    scale = resolve_scale(scale)
    if scale == "smoke":
        some = [Setting(m, d, *on) for m in METHODS for d, on in ((8, ALL), (16, NONE))]
        return (*some, Setting("alpha-renaming", 0, *BASELINE_ROWS[0]))
    lab = scale == "lab"
    seeds, columns = ((0,), dict.fromkeys(METHODS, (8, 32))) if lab else ((0, 1, 2), D_BETA)
    places = [(method, d_beta) for method, widths in columns.items() for d_beta in widths]
    own = [Setting(*place, *on, seed) for seed in seeds for on in ROWS for place in places]
    baselines = [Setting(b, 0, *on, s) for s in seeds for b in BASELINES for on in BASELINE_ROWS]
    return (*own, *baselines)


def load_search(scale: str | None = None) -> list[dict]:
    """The records of a search that are there, in the order of `search_settings`; [] if none.

    ValueError: a damaged file, or a record that was made with other settings than today's.
    """
    scale = resolve_scale(scale)
    path = stored(RESULTS / f"{NAME}-{scale}.json")
    records = read_json(path, list) if path.exists() else []
    for record in records:
        if from_json(record["experiment"]) != (setting := Setting.of(record)).experiment(scale):
            raise ValueError(f"{path}: {setting} was made with other settings; move the file away")
    order = {setting: place for place, setting in enumerate(search_settings(scale))}
    return sorted(records, key=lambda record: order.get(Setting.of(record), len(order)))


def missing(scale: str | None = None) -> list[Setting]:
    """The settings of a search without a record."""
    done = {Setting.of(record) for record in load_search(scale)}
    return [setting for setting in search_settings(scale) if setting not in done]


def evaluate_setting(network: Network) -> dict:
    """The evaluation on the validation grid; "other_base": a mean at OTHER_BASE."""
    task, how = network.experiment.task, {"progress": False, "seed": VALIDATION_SEED}
    result = task.evaluate(Evaluation(network, **how), "validation")
    solvers = Evaluation(network.with_rope_base(OTHER_BASE), **how).solvers()[:OTHER_DRAWS]
    means = [np.nanmean(task.distances(solver, "validation")) for solver in solvers]
    return result | {"other_base": float(np.mean(means))}


def run_setting(setting: Setting, scale: str | None = None, folder: Path = FOLDER) -> dict:
    """Train a setting in a folder of `folder`, or go on with it, and evaluate it: the record."""
    settings = setting.experiment(scale)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    network = Trainer(settings, Path(folder) / run_name(settings), device).run(progress=False)
    result = evaluated(network, evaluate_setting)
    record = asdict(setting) | {"edit_distance": result["result"]["mean_edit_distance"]}
    words = {"command": f"python -m itekit {command(NOTEBOOK, settings.scale, 'train')}"}
    record |= {"result": result["result"], "experiment": result["experiment"]}
    return record | {part: result[part] | words for part in ("trained", "evaluated")}


def search(scale: str | None = None, pool: Pool | None = None) -> None:
    """Run the settings without a record, one at a time or in a pool; prints each and keeps it.

    RuntimeError at the end if some failed.
    """
    scale, folder, failed = resolve_scale(scale), FOLDER.absolute(), 0
    with locked(folder):
        todo = missing(scale)
        job = partial(run_setting, scale=scale, folder=folder)
        with pool or Pool(1) as workers, closing(workers.run(job, todo, keep_errors=True)) as found:
            for number, (setting, record) in enumerate(zip(todo, found, strict=True), 1):
                words = f"{number}/{len(todo)}  {setting.column} {setting.on} seed {setting.seed}"
                if isinstance(record, TaskError):
                    failed += 1
                    print(f"{words}  failed: {record}", flush=True)
                    continue
                write_json(RESULTS / f"{NAME}-{scale}.json", [*load_search(scale), record])
                shutil.rmtree(folder / run_name(setting.experiment(scale)), ignore_errors=True)
                print(f"{words}  {record['edit_distance']:.2f}", flush=True)
    if failed:
        raise RuntimeError(f"{failed} of {len(todo)} settings failed")
