"""Where a result comes from: command, versions, hardware, time. Stored beside every figure."""

import platform

import torch

from itekit import machine

PACKAGES = ("itekit", "torch", "numpy")


def provenance(device: torch.device | str = "cpu") -> dict:
    """JSON value: the command, versions of Python and packages, hardware, and the UTC date."""
    device = torch.device(device)
    on_gpu = device.type == "cuda"
    return {
        "command": machine.command(),
        "versions": {"python": platform.python_version()} | machine.versions(PACKAGES),
        "hardware": torch.cuda.get_device_name(device) if on_gpu else machine.processor(),
        "date": machine.today(),
    }
