"""A GPU that is not there: tensors of some device that have shapes and no values.

Under torch's FakeTensorMode every operation checks shapes and devices, and whatever would make the
host wait for a value (`.item()`, `nonzero`, a condition) raises an error. torch without CUDA cannot
differentiate on a fake "cuda", so the device is "meta" there: for the kit one more that is no CPU.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

DEVICE = torch.device("cuda" if torch.backends.cuda.is_built() else "meta")
autocast = torch.autocast


def _autocast(device: str, *settings, **named):
    """`torch.autocast`, which does not know "meta"."""
    if device == "meta":
        return autocast("cpu", enabled=False)
    return autocast(device, *settings, **named)


@contextmanager
def fake_gpu() -> Iterator[torch.device]:
    """A fake device, for code that runs within."""
    with FakeTensorMode(allow_non_fake_inputs=True), mock.patch("torch.autocast", _autocast):
        yield DEVICE


def moved(module: torch.nn.Module, device: torch.device) -> torch.nn.Module:
    """The module with fake weights on a device; `Module.to` cannot do that."""
    for part in module.modules():
        for name, weight in part._parameters.items():
            part._parameters[name] = torch.nn.Parameter(weight.detach().to(device))
        for name, buffer in part._buffers.items():
            part._buffers[name] = buffer.to(device)
    return module
