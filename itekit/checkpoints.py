"""Checkpoints: weights with what the run was, and the optimiser's state beside them.

A checkpoint is safetensors: every tensor under a dotted name ("model.encoder.0...",
"embedding.learned", "loss.scale", "optimizer.0.exp_avg") and one metadata entry, "itekit", with
JSON that says what the run was. Nothing is ever pickled.
"""

import json
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from itekit.experiments import Experiment, from_json
from itekit.files import atomic_path

FORMAT = 1
STATE = ("step", "exp_avg", "exp_avg_sq")  # what AdamW keeps for each parameter


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


def read_settings(path: Path, metadata: dict, expected: Experiment | None) -> Experiment:
    """The experiment to rebuild a checkpoint by: `expected` if the weights are of such a run."""
    try:
        found = metadata["experiment"]
        if expected is None:
            return from_json(found)
        of_its_kind = set(found) <= set(expected.to_json())
        saved = type(expected).from_json(found) if of_its_kind else from_json(found)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CheckpointError(f"{path}: no readable settings ({error!r})") from error
    wanted, saved = _flat(expected.to_json()), _flat(saved.to_json())
    for name in wanted:
        if wanted[name] != saved.get(name) and name.split(".")[0] not in expected.EVALUATION:
            raise CheckpointError(
                f"{path}: a run with other settings: expected {name} {wanted[name]}, "
                f"found {saved.get(name)}; choose another file or directory"
            )
    return expected


def _flat(value: dict, prefix: str = "") -> dict:
    flat = {}
    for key, v in value.items():
        flat |= _flat(v, f"{prefix}{key}.") if isinstance(v, dict) else {prefix + key: v}
    return flat


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's state as tensors under the names "optimizer.NUMBER.KEY"."""
    return {
        f"optimizer.{i}.{key}": optimizer.state[p][key]
        for i, p in enumerate(parameters(optimizer))
        for key in STATE
    }


def load_optimizer(path: Path, optimizer: torch.optim.Optimizer, tensors: dict) -> None:
    """Put back what `optimizer_tensors` gave; CheckpointError names a tensor that is wrong."""
    found = {name: x for name, x in tensors.items() if name.startswith("optimizer.")}
    expected = {
        f"optimizer.{i}.{key}": torch.zeros(()) if key == "step" else p
        for i, p in enumerate(parameters(optimizer))
        for key in STATE
    }
    check_tensors(path, expected, found)
    for i, p in enumerate(parameters(optimizer)):
        optimizer.state[p] = {k: found[f"optimizer.{i}.{k}"].to(p.device) for k in STATE}


def parameters(optimizer: torch.optim.Optimizer) -> list[nn.Parameter]:
    """All trained parameters, in the order of the optimiser."""
    return [p for group in optimizer.param_groups for p in group["params"]]
