"""The models that the explorer offers: every checkpoint in data/checkpoints that has a known name.

They are found by their file names, so that whatever is trained and published is offered, and loaded
when they are chosen.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from itekit.experiments import NAMES
from lessons.explorer_logic_subjects import LogicSubject
from lessons.explorer_subjects import CopyingSubject, Subject
from itekit.network import Network
from itekit.results import CHECKPOINTS
from itekit.scale import SCALES

TASK_NAMES = {"copying": "copying", "ltl": "LTL", "propositional": "propositional logic"}
_TASK_OF = {"copying": "copying", "ltl": "ltl", "prop": "propositional"}


@dataclass(frozen=True, eq=False)
class Model:
    """A model to choose.

    Attributes:
        label: what the reader sees.
        task: one of TASK_NAMES.
        source: the network, or the file that it is loaded from.
    """

    label: str
    task: str
    source: Network | Path

    @cached_property
    def subject(self) -> Subject:
        """The network on its task; loaded when it is first asked for.

        Raises:
            CheckpointError: the file is missing or damaged.
        """
        network = Network.load(self.source) if isinstance(self.source, Path) else self.source
        return (CopyingSubject if self.task == "copying" else LogicSubject)(network)


def shipped_models(folder: Path = CHECKPOINTS) -> list[Model]:
    """All models of a folder: the order is that of the experiments' names, then scale and seed."""
    found = []
    for name in NAMES:
        for scale in SCALES[::-1]:
            start = f"{name.replace('/', '-')}-{scale}-s"
            files = {path.stem.removeprefix(start): path for path in folder.glob(f"{start}*")}
            for seed in sorted(int(text) for text in files if text.isdigit()):
                label = f"{name}, {scale} size" + f", seed {seed}" * (seed > 0)
                task = _TASK_OF[name.split("/")[0].split("-")[0]]
                found.append(Model(label, task, files[str(seed)]))
    return found


def given_models(networks: Mapping[str, Network]) -> list[Model]:
    """Networks that are in memory, by the name to show."""
    return [
        Model(label, getattr(network.experiment, "task", "copying"), network)
        for label, network in networks.items()
    ]
