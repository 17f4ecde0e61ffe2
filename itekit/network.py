"""Networks: what is trained, saved, loaded and evaluated together, for one experiment.

A network is a maker of U, a transformer and a loss. It is saved as safetensors: every tensor under
a dotted name ("model.encoder.0...", "embedding.learned", "loss.scale") and one metadata entry,
"itekit", with JSON that says what the run was. Nothing is ever pickled.

Shape letters: B batch, T target length, V vocabulary, D model.
"""

import json
from dataclasses import replace
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from itekit.data import Batch
from itekit.experiments import Experiment, from_json
from itekit.files import atomic_path
from itekit.losses import LOSSES
from itekit.model import Transformer
from itekit.random_vectors import seeded
from itekit.vocabulary import Vocabulary

FORMAT = 2  # of checkpoints


class CheckpointError(ValueError):
    """A checkpoint that cannot be used; the message names the file and what was expected."""


class Network(nn.Module):
    """What is trained, saved and evaluated together, untrained at first.

    Args:
        experiment: the settings from which the parts are built; its seed decides the weights.

    Attributes:
        embedding, model, loss: the maker of U; the transformer; one of `losses.LOSSES`.
        trained: what is known about the training: steps, seconds, versions, hardware, command.
    """

    def __init__(self, experiment: Experiment):
        super().__init__()
        self.experiment = experiment
        self.trained: dict = {}
        task, embedding = experiment.task, experiment.embedding
        config = experiment.model
        with torch.random.fork_rng(devices=[]):
            weights = seeded(experiment.seed, 0)
            torch.random.default_generator.manual_seed(weights.initial_seed())
            vocabularies = task.vocabulary, task.test_vocabulary
            self.embedding = embedding.maker.build(embedding, *vocabularies, config.d_model)
            transformer = embedding.maker.transformer or Transformer
            self.model = transformer(config, experiment.operands, embedding.f_fn)
        self.loss = LOSSES[experiment.loss](len(task.vocabulary))

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.model.parameters()).device

    def logits(self, U: Tensor, batch: Batch) -> Tensor:
        """Logits [B, T, V] of the tokens of a batch's target, where the weights are.

        A batch that is still on the CPU is sent there, and nothing waits.
        """
        shapes = [part.to(U.device) for part in self.model.shapes(batch.source)]
        batch = batch.to(U.device)
        return self.model(U, batch.source, batch.inputs, batch.positions, *shapes)

    @torch.no_grad()
    def matrix(self, vocabulary: Vocabulary, generator: torch.Generator) -> Tensor:
        """U [V, D] for evaluation on `vocabulary`."""
        return self.embedding.matrix(vocabulary, generator)

    def with_experiment(self, experiment: Experiment) -> "Network":
        """The same weights under other settings, in evaluation mode, on the same device."""
        other = Network(experiment).to(self.device)
        other.load_state_dict(self.state_dict())
        other.trained = self.trained
        return other.eval()

    def with_rope_base(self, base: float) -> "Network":
        """The same weights with another base of RoPE, likewise; ValueError for 1 or less."""
        model = replace(self.experiment.model, rope_base=base)
        return self.with_experiment(replace(self.experiment, model=model))

    def load_weights_from(self, other: "Network") -> None:
        """Take the weights of embedding and model from a network of the same sizes.

        A symbol-invariant network can take those of an ordinary one: the first of its
        interchangeable rows becomes *actual*, the second *placeholder*, and streams do not look at
        one another yet. ValueError names weights that differ in name or shape.
        """
        own = self.state_dict()
        weights = {  # two losses need not have the same weights
            name: weight
            for name, weight in other.state_dict().items()
            if name in own or not name.startswith("loss.")
        }
        becomes_streams = type(self.model) is not type(other.model)
        if becomes_streams:
            rows = len(self.embedding.learned)
            weights["embedding.learned"] = weights["embedding.learned"][:rows]
        try:
            self.load_state_dict(own | weights)
        except RuntimeError as error:
            names = f"{other.experiment.name} do not fit {self.experiment.name}"
            raise ValueError(f"the weights of {names}: {error}") from None
        if becomes_streams:
            self.model.init_as_identity()

    def save(self, path: Path, extra: dict | None = None, optimizer=None, dtype=None) -> None:
        """Write a checkpoint, atomically.

        Args:
            extra: further metadata.
            optimizer: its state is written too, as tensors "optimizer.NUMBER.KEY".
            dtype: what the weights are rounded to; default: nothing.
        """
        tensors = {name: x.to(dtype or x.dtype) for name, x in self.state_dict().items()}
        for i, weight in enumerate(parameters(optimizer) if optimizer else ()):
            tensors |= {f"optimizer.{i}.{key}": x for key, x in optimizer.state[weight].items()}
        tensors = {name: x.detach().cpu().contiguous() for name, x in tensors.items()}
        metadata = {
            "format": FORMAT,
            "experiment": self.experiment.to_json(),
            "trained": self.trained,
            **(extra or {}),
        }
        with atomic_path(path) as temporary:
            try:
                save_file(tensors, temporary, {"itekit": json.dumps(metadata)})
            except SafetensorError as error:
                raise OSError(f"{path} was not written (is the disk full?): {error}") from error

    @classmethod
    def load(cls, path: Path, experiment: Experiment | None = None) -> "Network":
        """Read a checkpoint, in evaluation mode.

        Args:
            experiment: what the checkpoint is expected to be of, the settings of the evaluation
                left aside. By default whatever it says, for a kind of task in `task.TASKS`.

        Raises:
            CheckpointError: missing, damaged, of other settings than expected, or with weights
                that do not fit or are not finite.
        """
        tensors, metadata = read_checkpoint(path)
        network = cls(read_settings(path, metadata, experiment))
        network._set_weights(path, tensors)
        network.trained = metadata.get("trained", {})
        return network.eval()

    def resume(self, path: Path, optimizer: torch.optim.Optimizer) -> dict:
        """Take weights and the state of the optimiser from a checkpoint; returns its metadata.

        CheckpointError as for `load`, and for a network without the state of its training.
        """
        tensors, metadata = read_checkpoint(path)
        read_settings(path, metadata, self.experiment)
        state = {name: x for name, x in tensors.items() if name.startswith("optimizer.")}
        if not state or not {"step", "seconds"} <= metadata.keys():
            raise CheckpointError(f"{path}: a network without the state of its training")
        self._set_weights(path, {name: x for name, x in tensors.items() if name not in state})
        trained = parameters(optimizer)
        for name, x in state.items():
            _, number, key = name.split(".")
            weight = trained[int(number)]
            optimizer.state[weight][key] = x.to(weight.device)
        return metadata

    def _set_weights(self, path: Path, tensors: dict[str, Tensor]) -> None:
        try:
            self.load_state_dict(tensors)
        except RuntimeError as error:  # it names each tensor that is missing or of another shape
            raise CheckpointError(f"{path}: {error}") from None
        for name, x in tensors.items():
            if not x.isfinite().all():
                raise CheckpointError(f"{path}: tensor {name}: expected finite numbers")


def parameters(optimizer: torch.optim.Optimizer) -> list[nn.Parameter]:
    """All trained parameters, in the order of the optimiser."""
    return [weight for group in optimizer.param_groups for weight in group["params"]]


def read_checkpoint(path: Path) -> tuple[dict[str, Tensor], dict]:
    """All tensors of a checkpoint by name, and its metadata; CheckpointError if it is none."""
    if not Path(path).is_file():
        raise CheckpointError(f"{path}: no such checkpoint")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = json.loads((file.metadata() or {}).get("itekit", "null"))
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (SafetensorError, ValueError, OSError) as error:
        raise CheckpointError(f"{path}: damaged or truncated checkpoint ({error})") from None
    if not isinstance(metadata, dict):
        raise CheckpointError(f"{path}: a safetensors file, but not a checkpoint of itekit")
    if (number := metadata.get("format")) != FORMAT:
        raise CheckpointError(f"{path}: expected checkpoint format {FORMAT}, found {number}")
    return tensors, metadata


def read_settings(path: Path, metadata: dict, expected: Experiment | None) -> Experiment:
    """The experiment to rebuild a checkpoint by: `expected` if the weights are of such a run."""
    try:
        saved = from_json(metadata.get("experiment"), expected and type(expected.task))
    except ValueError as error:
        hint = "" if expected else "; for a task of your own give its experiment"
        raise CheckpointError(f"{path}: no readable settings ({error}){hint}") from error
    if expected is None:
        return saved
    settings = expected.settings()
    for name, value in saved.differences(expected).items():
        if expected.of_training(name):
            raise CheckpointError(
                f"{path}: a run with other settings: expected {name} {settings[name]}, "
                f"found {value}; choose another file or directory"
            )
    return expected
