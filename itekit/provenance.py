"""Where a result comes from: command, versions, hardware, time. Stored beside every figure."""

import importlib.metadata
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

import torch

PACKAGES = ("itekit", "torch", "numpy")


def provenance(device: torch.device | str = "cpu") -> dict:
    """JSON value: the command, versions of Python and packages, hardware, and the UTC date."""
    device = torch.device(device)
    versions = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed as a package"
    program = Path(sys.argv[0]).name
    return {
        "command": " ".join(
            ["python -m itekit" if program == "__main__.py" else program, *sys.argv[1:]]
        ),
        "versions": versions,
        "hardware": _hardware(device),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def _hardware(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    model = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    return f"{model}, {os.cpu_count()} cores"
