"""Where and how the current process runs: its command, versions of packages, processor, and date.

What `provenance` and the manifests of data sets record; without torch.
"""

import importlib.metadata
import os
import platform
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path


def command() -> str:
    """The command line, as a reader would type it."""
    program = Path(sys.argv[0]).name
    return " ".join(["python -m itekit" if program == "__main__.py" else program, *sys.argv[1:]])


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Package -> its version, for those that are installed and those that are not."""
    found = {}
    for name in packages:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed as a package"
    return found


def processor() -> str:
    """The processor and its number of cores."""
    model = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    return f"{model}, {os.cpu_count()} cores"


def today() -> str:
    """The date in UTC, YYYY-MM-DD."""
    return datetime.now(UTC).strftime("%Y-%m-%d")
