"""All experiments by name: `experiment("ltl/proposed", "lab", seed=0)`.

The names are FAMILY/VARIANT; `copying_presets` and `logic_presets` say what they mean.
"""

from itekit import copying_presets, logic_presets
from itekit.copying_presets import copying_experiment
from itekit.logic_presets import logic_experiment
from itekit.scale import resolve_scale
from itekit.settings import Experiment
from itekit.task_settings import CopyingExperiment, LogicExperiment

NAMES = copying_presets.NAMES + logic_presets.NAMES


def experiment(
    name: str, scale: str | None = None, seed: int = 0
) -> CopyingExperiment | LogicExperiment:
    """The preset FAMILY/VARIANT at a scale.

    Raises:
        ValueError: an unknown name or scale.
    """
    if name not in NAMES:
        raise ValueError(f"unknown experiment {name!r}: expected one of {', '.join(NAMES)}")
    make = copying_experiment if name in copying_presets.NAMES else logic_experiment
    return make(name, resolve_scale(scale), seed)


def from_json(value: dict) -> Experiment:
    """Rebuild an experiment of any task from its `to_json`.

    Raises:
        ValueError: an unknown or missing setting.
    """
    return (LogicExperiment if "task" in value else CopyingExperiment).from_json(value)
