"""A network: an embedding maker, a transformer and a loss, made for one vocabulary."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from itekit.checkpoints import CheckpointError, load_modules, read_checkpoint, save_checkpoint
from itekit.data import Batch
from itekit.devices import share
from itekit.dropout import Dropout
from itekit.experiments import Experiment, from_json
from itekit.losses import AdaCos, CrossEntropy
from itekit.model import Transformer
from itekit.task_settings import CopyingExperiment
from itekit.vocabulary import Vocabulary


def seeded(seed: int, *stream: int, device: str | torch.device = "cpu") -> torch.Generator:
    """A generator for one purpose: `stream` tells apart the uses of one seed."""
    state = np.random.SeedSequence([seed, *stream]).generate_state(1, np.uint64)[0]
    return torch.Generator(device).manual_seed(int(state >> 1))


@dataclass
class Network:
    """What is trained, saved and evaluated together.

    Attributes:
        experiment: the settings from which the parts were built.
        embedding: the maker of U.
        model: the transformer.
        loss: cross-entropy or AdaCos (which holds the scale).
        trained: what is known about the training: steps, seconds, versions, hardware, command.
    """

    experiment: Experiment
    embedding: nn.Module
    model: Transformer
    loss: nn.Module
    trained: dict

    @classmethod
    def build(cls, experiment: Experiment) -> "Network":
        """An untrained network; the experiment's seed decides the weights."""
        with torch.random.fork_rng(devices=[]):
            torch.random.default_generator.manual_seed(seeded(experiment.seed, 0).initial_seed())
            embedding = experiment.embedding.build(
                experiment.vocabulary, experiment.test_vocabulary, experiment.model.d_model
            )
            model = Transformer(experiment.model, experiment.operands)
        classes = len(experiment.vocabulary)
        loss = AdaCos(classes) if experiment.adacos else CrossEntropy()
        return cls(experiment, embedding, model, loss, {})

    @property
    def modules(self) -> dict[str, nn.Module]:
        """The parts under the names that checkpoints use."""
        return {"embedding": self.embedding, "model": self.model, "loss": self.loss}

    def train(self, mode: bool = True) -> "Network":
        """Switch to training mode (or, with False, to evaluation)."""
        for module in self.modules.values():
            module.train(mode)
        return self

    def to(self, device: torch.device | str) -> "Network":
        """Move every part to a device."""
        for module in self.modules.values():
            module.to(device)
        return self

    def batch_loss(
        self, batch: Batch, generator: torch.Generator, dropout: Dropout | None = None
    ) -> Tensor:
        """Loss of a batch over the training vocabulary, with U drawn from `generator`.

        Where several processes train together, of this process's share of the batch.
        """
        count = {"count": len(batch.source)} if self.experiment.per_sample else {}
        U = self.embedding.matrix(self.experiment.vocabulary, generator, **count)
        U = share(U) if count else U
        logits, targets = self.logits(U, batch.each(share), dropout)
        return self.loss(logits, targets)

    def logits(self, U: Tensor, batch: Batch, dropout: Dropout | None = None):
        """Logits [N, V] and targets [N] of a batch's tokens."""
        layout = self.model.layout(batch.target != 0, batch.positions)
        logits = self.model(U, batch.source, batch.inputs, layout, dropout, batch.positions)
        return logits, layout.pack(batch.target)

    @torch.no_grad()
    def matrix(self, vocabulary: Vocabulary, generator: torch.Generator) -> Tensor:
        """U [V, D] for evaluation on `vocabulary`."""
        return self.embedding.matrix(vocabulary, generator)

    def _with(self, experiment: Experiment) -> "Network":
        other = Network.build(experiment)
        for name, module in other.modules.items():
            module.load_state_dict(self.modules[name].state_dict())
        other.trained = self.trained
        return other.train(False)

    def with_rope_base(self, base: float) -> "Network":
        """The same weights with another base of RoPE, in evaluation mode."""
        return self._with(self.experiment.with_rope_base(base))

    def with_search(self, search: str) -> "Network":
        """The same weights with another search of copies (see `CopyingExperiment`), likewise.

        Raises:
            ValueError: an unknown search, or the task is not copying.
        """
        if not isinstance(self.experiment, CopyingExperiment):
            raise ValueError(f"{self.experiment.name} is not about copying: it has no other search")
        return self._with(replace(self.experiment, search=search))

    def save(
        self,
        path: Path,
        extra: dict | None = None,
        tensors: dict | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        """Write a checkpoint, atomically; see `checkpoints.save_checkpoint`."""
        metadata = {"experiment": self.experiment.to_json(), "trained": self.trained}
        save_checkpoint(path, self.modules, metadata | (extra or {}), tensors, dtype)

    @classmethod
    def load(cls, path: Path, experiment: Experiment | None = None) -> "Network":
        """Read a checkpoint, in evaluation mode.

        Args:
            experiment: what the checkpoint is expected to be of, the evaluation's settings
                left aside; by default whatever it says. For a task of your own it is needed.

        Raises:
            CheckpointError: missing, damaged, or of other settings than expected.
        """
        tensors, metadata = read_checkpoint(path)
        saved = read_settings(path, metadata, experiment)
        if experiment is not None:
            check_settings(path, saved, experiment)
        network = cls.build(experiment or saved)
        load_modules(path, network.modules, tensors)
        network.trained = metadata.get("trained", {})
        return network.train(False)


def read_settings(path: Path, metadata: dict, expected: Experiment | None = None) -> Experiment:
    """The experiment that a checkpoint's metadata holds.

    Args:
        expected: what it should be; where the settings are of its kind, so is the result, also
            for a kind of experiment that is defined outside the kit.

    Raises:
        CheckpointError: there is none, or it cannot be read.
    """
    try:
        found = metadata["experiment"]
        if expected is not None and set(found) <= set(expected.to_json()):
            return type(expected).from_json(found)
        return from_json(found)
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path}: no readable settings ({error!r})") from error


def check_settings(path: Path, saved: Experiment, expected: Experiment) -> None:
    """Compare what decides the weights of a run.

    Raises:
        CheckpointError: names the first setting that differs.
    """
    pairs = [_flat(e.to_json()) for e in (expected, saved)]
    for name in pairs[0]:
        wanted, found = (pair[name] for pair in pairs)
        if wanted != found and name.split(".")[0] not in expected.EVALUATION:
            raise CheckpointError(
                f"{path}: a run with other settings: expected {name} {wanted}, found {found}; "
                "choose another file or directory"
            )


def _flat(value: dict, prefix: str = "") -> dict:
    flat = {}
    for key, v in value.items():
        flat |= _flat(v, f"{prefix}{key}.") if isinstance(v, dict) else {prefix + key: v}
    return flat
