"""Networks: what is trained, saved, loaded and evaluated together, for one experiment.

A network is a maker of U, a transformer and a loss. It is saved as safetensors: every tensor under
a dotted name ("model.encoder.0...", "embedding.learned", "loss.scale") and one metadata entry,
"itekit", with JSON that says what the run was. Nothing is ever pickled.

Shape letters: B batch, T target length, V vocabulary, D model.
"""

import json
import typing
from dataclasses import replace
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from itekit.data import Batch
from itekit.experiments import Experiment, from_json
from itekit.files import atomic_path, rebuild
from itekit.losses import make_loss
from itekit.model import Transformer
from itekit.random_vectors import seeded
from itekit.tasks.names import flat as _flat
from itekit.vocabulary import Vocabulary

FORMAT = 1  # of checkpoints
OPTIMIZER = ("step", "exp_avg", "exp_avg_sq")  # what AdamW keeps for each parameter


class Network(nn.Module):
    """What is trained, saved and evaluated together, untrained at first.

    Args:
        experiment: the settings from which the parts are built; its seed decides the weights.

    Attributes:
        embedding, model, loss: the maker of U; the transformer; cross-entropy or AdaCos.
        trained: what is known about the training: steps, seconds, versions, hardware, command.
    """

    def __init__(self, experiment: Experiment):
        super().__init__()
        self.experiment, self.trained = experiment, {}
        with torch.random.fork_rng(devices=[]):
            weights = seeded(experiment.seed, 0)
            torch.random.default_generator.manual_seed(weights.initial_seed())
            self.embedding = experiment.embedding.build(
                experiment.vocabulary, experiment.test_vocabulary, experiment.model.d_model
            )
            config, operands = experiment.model, experiment.operands
            if config.aggregation:
                from itekit.invariant import SymbolInvariantTransformer

                fixed = experiment.vocabulary.learned_count
                self.model = SymbolInvariantTransformer(config, operands, fixed)
            else:
                self.model = Transformer(config, operands)
        self.loss = make_loss(experiment.loss, len(experiment.vocabulary))

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.model.parameters()).device

    def logits(self, U: Tensor, batch: Batch) -> Tensor:
        """Logits [B, T, V] of the tokens of a batch's target, where the weights are.

        A batch that is still on the CPU is sent there, and nothing waits.
        """
        streams = []
        if self.experiment.model.aggregation:
            streams.append(self.model.streams(batch.source).to(U.device))
        batch = batch.to(U.device)
        return self.model(U, batch.source, batch.inputs, batch.positions, *streams)

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

    def begin_as(self, other: "Network") -> None:
        """Take the weights of a network of the same sizes.

        A symbol-invariant network can begin as an ordinary one: the first of its interchangeable
        rows becomes *actual*, the second *placeholder*, and streams do not look at one another yet.
        """
        weights = other.state_dict()
        if self.experiment.model.aggregation and not other.experiment.model.aggregation:
            rows = len(self.embedding.learned)
            weights["embedding.learned"] = weights["embedding.learned"][:rows]
            self.load_state_dict(self.state_dict() | weights)
            self.model.keep_apart()
        else:
            self.load_state_dict(weights)

    def with_rope_base(self, base: float) -> "Network":
        """The same weights with another base of RoPE, likewise; ValueError for 1 or less."""
        model = replace(self.experiment.model, rope_base=base)
        return self.with_experiment(replace(self.experiment, model=model))

    def save(self, path: Path, extra: dict | None = None, optimizer=None, dtype=None) -> None:
        """Write a checkpoint, atomically.

        Args:
            extra: further metadata.
            optimizer: its state is written too, as tensors "optimizer.NUMBER.KEY".
            dtype: what the weights are rounded to; default: nothing.
        """
        tensors = {k: v.to(dtype or v.dtype) for k, v in self.state_dict().items()}
        for i, weight in enumerate(parameters(optimizer) if optimizer else ()):
            tensors |= {f"optimizer.{i}.{key}": x for key, x in optimizer.state[weight].items()}
        metadata = {"experiment": self.experiment.to_json(), "trained": self.trained}
        save_checkpoint(path, tensors, metadata | (extra or {}))

    @classmethod
    def load(cls, path: Path, experiment: Experiment | None = None) -> "Network":
        """Read a checkpoint, in evaluation mode.

        Args:
            experiment: what the checkpoint is expected to be of, the evaluation's settings
                left aside; by default whatever it says. For a task of your own it is needed.

        Raises:
            CheckpointError: missing, damaged, of other settings than expected, or with weights
                that are not finite.
        """
        tensors, metadata = read_checkpoint(path)
        settings = read_settings(path, metadata, experiment)
        with torch.device("meta"):  # nothing is allocated before sizes are compared
            sizes = cls(settings).state_dict()
        check_tensors(path, sizes, _weights(tensors))
        network = cls(settings)
        network.load_state_dict(_weights(tensors))
        network.trained = metadata.get("trained", {})
        return network.eval()

    def resume(self, path: Path, optimizer: torch.optim.Optimizer) -> dict:
        """Take weights and the state of the optimiser from a checkpoint; returns its metadata.

        CheckpointError as for `load`, and for a network without the state of its training.
        """
        tensors, metadata = read_checkpoint(path)
        read_settings(path, metadata, self.experiment)
        if not isinstance(metadata.get("step"), int):
            raise CheckpointError(f"{path}: a network without the state of its training")
        numbered = list(enumerate(parameters(optimizer)))
        state = {
            f"optimizer.{i}.{key}": torch.zeros(()) if key == "step" else weight
            for i, weight in numbered
            for key in OPTIMIZER
        }
        check_tensors(path, self.state_dict() | state, tensors)
        self.load_state_dict(_weights(tensors))
        for i, weight in numbered:
            kept = {key: tensors[f"optimizer.{i}.{key}"] for key in OPTIMIZER}
            optimizer.state[weight] = {key: x.to(weight.device) for key, x in kept.items()}
        return metadata


def parameters(optimizer: torch.optim.Optimizer) -> list[nn.Parameter]:
    """All trained parameters, in the order of the optimiser."""
    return [weight for group in optimizer.param_groups for weight in group["params"]]


def _weights(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: x for name, x in tensors.items() if not name.startswith("optimizer.")}


class CheckpointError(ValueError):
    """A checkpoint that cannot be used; the message names the file and what was expected."""


def save_checkpoint(path: Path, tensors: dict, metadata: dict) -> None:
    """Write tensors by name and JSON metadata to `path`, atomically."""
    tensors = {name: x.detach().cpu().contiguous() for name, x in tensors.items()}
    with atomic_path(path) as temporary:
        try:
            save_file(tensors, temporary, {"itekit": json.dumps({"format": FORMAT, **metadata})})
        except SafetensorError as error:
            raise OSError(f"{path} was not written (is the disk full?): {error}") from error


def read_checkpoint(path: Path) -> tuple[dict, dict]:
    """All tensors of a checkpoint by name, and its metadata; CheckpointError if it is none."""
    if not Path(path).is_file():
        raise CheckpointError(f"{path}: no such checkpoint")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = json.loads((file.metadata() or {}).get("itekit", "null"))
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (SafetensorError, ValueError, RecursionError, OSError) as error:
        raise CheckpointError(f"{path}: damaged or truncated checkpoint ({error})") from None
    if not isinstance(metadata, dict):
        raise CheckpointError(f"{path}: a safetensors file, but not a checkpoint of itekit")
    if (found := metadata.pop("format", None)) != FORMAT:
        raise CheckpointError(f"{path}: expected checkpoint format {FORMAT}, found {found}")
    return tensors, metadata


def check_tensors(path: Path, expected: dict, found: dict) -> None:
    """Raise CheckpointError unless both hold the same names and shapes, and `found` no NaN."""
    for name in sorted(expected.keys() | found.keys()):
        shapes = [list(d[name].shape) if name in d else "none" for d in (expected, found)]
        if shapes[0] != shapes[1]:
            raise CheckpointError(
                f"{path}: tensor {name}: expected shape {shapes[0]}, found {shapes[1]}"
            )
        if not found[name].isfinite().all():
            raise CheckpointError(f"{path}: tensor {name}: expected finite numbers, found others")


class Trained(typing.TypedDict, total=False):
    """What is known of a training."""

    steps: int
    seconds: float
    hardware: str
    partial: bool


class Interval(typing.TypedDict):
    """What the next record of the log is about."""

    loss: float
    tokens: float
    seconds: float


class Metadata(typing.TypedDict, total=False):
    """What a checkpoint says: of a finished run `trained`, of one in progress where it stands."""

    experiment: typing.Required[dict]
    trained: Trained
    step: int
    seconds: float
    executed: list[dict]
    interval: Interval


def read_settings(path: Path, metadata: dict, expected: Experiment | None) -> Experiment:
    """The experiment to rebuild a checkpoint by: `expected` if the weights are of such a run.

    CheckpointError names what else the metadata say that cannot be.
    """
    try:
        found = rebuild(Metadata, metadata)["experiment"]
        of_its_kind = expected and set(found) <= set(expected.to_json())
        saved = type(expected).from_json(found) if of_its_kind else from_json(found)
        steps = saved.training.steps
        step = metadata.get("step", 0)
        if not 0 <= step <= steps or ("step" in metadata and "seconds" not in metadata):
            raise ValueError(f"expected a step of 0 to {steps}, and seconds, found step {step}")
    except ValueError as error:
        raise CheckpointError(f"{path}: no readable settings ({error})") from error
    if expected is None:
        return saved
    wanted, saved = _flat(expected.to_json()), _flat(saved.to_json())
    for name in wanted:
        if wanted[name] != saved.get(name) and name.split(".")[0] not in expected.EVALUATION:
            raise CheckpointError(
                f"{path}: a run with other settings: expected {name} {wanted[name]}, "
                f"found {saved.get(name)}; choose another file or directory"
            )
    return expected
