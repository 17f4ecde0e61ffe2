"""Checkpoints: safetensors with the configuration as JSON metadata; atomic, never pickled.

A file holds every tensor under a dotted name ("model.encoder.0...", "embedding.learned",
"loss.scale", "optimizer.0.exp_avg") and one metadata entry, "itekit", that says what the run was.
"""

import json
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import nn

from itekit.files import atomic_path

FORMAT = 1


class CheckpointError(ValueError):
    """A checkpoint that cannot be used; the message names the file and what was expected."""


def save_checkpoint(
    path: Path,
    modules: dict[str, nn.Module],
    metadata: dict,
    tensors: dict[str, torch.Tensor] | None = None,
    dtype: torch.dtype | None = None,
) -> None:
    """Write modules, further tensors and JSON metadata to `path`, atomically.

    Args:
        dtype: what the modules' floating-point tensors are rounded to; default: nothing.

    Raises:
        OSError: the file cannot be written, the disk is full.
    """
    state = {
        f"{name}.{key}": value.detach().to("cpu", dtype if value.is_floating_point() else None)
        for name, module in modules.items()
        for key, value in module.state_dict().items()
    }
    state |= {key: value.detach().to("cpu") for key, value in (tensors or {}).items()}
    state = {key: value.contiguous() for key, value in state.items()}
    entry = json.dumps({"format": FORMAT, **metadata})
    with atomic_path(path) as temporary:
        try:
            save_file(state, temporary, {"itekit": entry})
        except SafetensorError as error:
            raise OSError(f"{path} was not written (is the disk full?): {error}") from error


def read_checkpoint(path: Path) -> tuple[dict[str, torch.Tensor], dict]:
    """All tensors of a checkpoint and its metadata.

    Raises:
        CheckpointError: no such file, truncated, not a checkpoint of this kit, or a newer format.
    """
    path = Path(path)
    if not path.is_file():
        raise CheckpointError(f"{path}: no such checkpoint")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = json.loads((file.metadata() or {}).get("itekit", "null"))
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (SafetensorError, json.JSONDecodeError, OSError) as error:
        raise CheckpointError(f"{path}: damaged or truncated checkpoint ({error})") from error
    if not isinstance(metadata, dict):
        raise CheckpointError(f"{path}: a safetensors file, but not a checkpoint of itekit")
    if (found := metadata.pop("format", None)) != FORMAT:
        raise CheckpointError(f"{path}: expected checkpoint format {FORMAT}, found {found}")
    return tensors, metadata


def load_modules(path: Path, modules: dict[str, nn.Module], tensors: dict) -> None:
    """Load the tensors named "NAME.*" into each module NAME; shapes and names must agree.

    Raises:
        CheckpointError: a tensor is missing, unexpected or of another shape.
    """
    for name, module in modules.items():
        found = {k[len(name) + 1 :]: v for k, v in tensors.items() if k.startswith(name + ".")}
        expected = module.state_dict()
        for key in sorted(set(expected) | set(found)):
            shapes = [tuple(d[key].shape) if key in d else None for d in (expected, found)]
            if shapes[0] != shapes[1]:
                raise CheckpointError(
                    f"{path}: tensor {name}.{key}: expected {_shape(shapes[0])}, "
                    f"found {_shape(shapes[1])}"
                )
        module.load_state_dict(found)


def _shape(shape: tuple | None) -> str:
    return "none" if shape is None else f"shape {list(shape)}"
