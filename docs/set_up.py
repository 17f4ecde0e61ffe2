"""What the Makefile runs before it installs anything: `python3 docs/set_up.py auto`.

It prints pip's options for the build of torch that fits this machine, or says why there can be no
set-up. Standard library only, in what Python 3.6 reads.
"""

import os
import platform
import shutil
import sys
import urllib.request

OLDEST, NEWEST = (3, 11), (3, 13)
CPU_BUILDS = "https://download.pytorch.org/whl/cpu"  # of torch: a sixth of the size of the usual
TIMEOUT = 5  # seconds for that server to answer; pip itself would try for minutes


def python_problem(version):
    """A message if `version` (major, minor, ...) is out of range, or cannot make an environment."""
    if not OLDEST <= tuple(version[:2]) <= NEWEST:
        return (
            "itekit needs Python 3.%d to 3.%d; this one is %d.%d (%s). Install one in that range "
            "(apt install python3.12 python3.12-venv, pyenv, uv, conda) and name it: make run "
            "PYTHON=python3.12" % (OLDEST[1], NEWEST[1], version[0], version[1], sys.executable)
        )
    try:
        __import__("ensurepip"), __import__("venv")
    except ImportError as error:
        return (
            "This Python (%s) cannot make an environment: %s. On Debian and Ubuntu: apt install "
            "python3-venv. Otherwise: make run PYTHON=/path/to/another/python3"
            % (sys.executable, error)
        )


def torch_options(wanted, address=CPU_BUILDS):
    """pip's options for torch: on Linux without a GPU, its CPU builds if their server answers.

    `wanted` is "cpu", "cuda", or "auto": cpu unless there is an NVIDIA driver.
    """
    gpu = shutil.which("nvidia-smi") or os.path.exists("/proc/driver/nvidia")
    if platform.system() != "Linux" or not (wanted == "cpu" or (wanted == "auto" and not gpu)):
        return []
    try:
        urllib.request.urlopen(address + "/torch/", timeout=TIMEOUT).close()
    except (OSError, ValueError):
        message = "The CPU build of torch is not available now (%s does not answer)."
        print(message % address, "Installing the usual one.", file=sys.stderr)
        return []
    return ["--extra-index-url", address]


if __name__ == "__main__":
    problem = python_problem(sys.version_info)
    if sys.argv[1] not in ("auto", "cpu", "cuda"):
        problem = "TORCH is %r; expected auto, cpu or cuda" % sys.argv[1]
    if problem:
        sys.exit(problem)
    print(*torch_options(sys.argv[1]))
