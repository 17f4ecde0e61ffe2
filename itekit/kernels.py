"""Kernels that several processes can start at the same time.

A kernel's ports are chosen before it opens them; where another process takes one in between, the
kernel dies before its first answer. These kernels talk through sockets in the file system instead,
named like the connection file, which no other kernel has (Jupyter Client's transport "ipc").

As a pytest plugin (`pytest -p itekit.kernels --nbval-lax ...`) nbval starts such kernels too.
"""

import os
import uuid
from pathlib import Path

from jupyter_client import AsyncKernelManager, KernelManager
from jupyter_core.paths import jupyter_runtime_dir

LONGEST = 90  # characters of a connection file's path: a socket's may have 107 in all


def _private(manager: type[KernelManager]) -> type[KernelManager]:
    class PrivateKernelManager(manager):
        def __init__(self, **options):
            file = Path(jupyter_runtime_dir()) / f"kernel-{uuid.uuid4().hex[:16]}.json"
            if os.name == "posix" and len(str(file)) <= LONGEST:
                file.parent.mkdir(parents=True, exist_ok=True)
                options |= {"transport": "ipc", "connection_file": str(file)}
            super().__init__(**options)

    return PrivateKernelManager


PrivateKernelManager = _private(KernelManager)
AsyncPrivateKernelManager = _private(AsyncKernelManager)


def pytest_configure() -> None:
    """Let nbval start its kernels with private sockets."""
    import nbval.kernel

    nbval.kernel.KernelManager = PrivateKernelManager
