"""Say what works here and how to mend what does not: `python -m itekit doctor`.

Each part is tried in a process of its own, since a broken library can end one. A required part that
is missing or broken makes the exit code 1; an optional one (a GPU, Graphviz, a browser) never does.

The Makefile runs this file before it installs anything, with whatever `python3` the machine has:
`python3 itekit/doctor.py .venv requirements.txt`. So it imports the standard library only, and is
written in what Python 3.6 reads: an old Python prints a message instead of a SyntaxError.
"""

import glob
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import textwrap
from concurrent.futures import ThreadPoolExecutor

OLDEST, NEWEST = (3, 11), (3, 13)
GLIBC = (2, 34)  # the oldest C library that Spot's wheel runs on
GB = 10**9
# Free space that the set-up needs: the environment, and what downloads take while it is made.
SPACE = {"cpu": (2.5 * GB, 1 * GB), "cuda": (8 * GB, 4 * GB)}
REINSTALL = "make setup installs it (or: python -m pip install -r requirements.txt)"
VERSIONS = """
import importlib, importlib.metadata
names = {!r}.split()
for name in names: importlib.import_module(name)
print(", ".join(name + " " + importlib.metadata.version(name) for name in names))"""
# (name, True or what an optional part is good for, code that prints what it found)
CHECKS = (
    ("torch", True, """
import torch
if not bool((torch.ones(2, 3) @ torch.ones(3, 2) == 3).all()): raise ValueError("wrong product")
print(f"{torch.__version__}, CPU with {torch.get_num_threads()} threads")"""),
    ("CUDA", """only paper-size runs need a GPU; with one, install the CUDA build of torch""", """
import sys, torch
if not torch.cuda.is_available(): sys.exit("no device that torch can use")
torch.ones(2, device="cuda").sum().item()
print(", ".join(torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())))"""),
    ("libraries", True, VERSIONS.format("numpy scipy safetensors plotly kaleido openai")),
    ("Spot", True, """
import spot
if not hasattr(spot, "translate"):
    raise ImportError("another package is named spot: pip uninstall spot, then install spottl")
print(f"{spot.version()}, G(a -> F b) becomes {spot.translate('G(a -> F b)').num_states()} states")
"""),
    ("py-aiger", True, """
import aiger, aiger_sat, importlib.metadata
a, b = aiger.atoms("a", "b")
if not aiger_sat.is_sat(a & ~b) or aiger_sat.is_sat(a & ~a): raise ValueError("a wrong verdict")
print(importlib.metadata.version("py-aiger"))"""),
    ("Jupyter", True, VERSIONS.format("jupyterlab jupyterlab_widgets ipykernel papermill nbval")),
    ("Graphviz dot", "only drawings of automata need it: apt install graphviz (brew on macOS)", """
import shutil, sys
print(shutil.which("dot") or sys.exit("not on the PATH"))"""),
    ("browser", "only PNG copies of figures need one: apt install chromium, or kaleido_get_chrome; "
     "BROWSER_PATH names one in an unusual place", """
import sys
from choreographer.browsers.chromium import Chromium
print(Chromium.find_browser(skip_local=False) or sys.exit("no Chrome or Chromium"))"""),
    ("language model", "only notebook 14 needs it: make llm",
     "from itekit.llm import offline_model\nprint(offline_model().path.name)"),
)  # fmt: skip


def python_problem(version):
    """A message when `version` (major, minor, ...) is out of range, else None."""
    if OLDEST <= tuple(version[:2]) <= NEWEST:
        return None
    return (
        f"itekit needs Python {OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}; this one is "
        f"{version[0]}.{version[1]} ({sys.executable}). Install one in that range (apt install "
        f"python3.12 python3.12-venv, pyenv, uv, conda) and name it: make run PYTHON=python3.12"
    )


def spot_note(system, machine, libc="glibc", version="2.36"):
    """A message when there is no ready-made wheel of Spot for this platform, else None."""
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if (system, machine, libc) == ("Linux", "x86_64", "glibc") and numbers >= GLIBC:
        return None
    return (
        f"Spot (the LTL library) has no ready-made wheel for this machine ({system} {machine} "
        f"{libc} {version}): only for Linux x86_64 with glibc {GLIBC[0]}.{GLIBC[1]} or newer. The "
        f"copying notebooks work without it. For the LTL notebooks use conda-forge's package "
        f"`spot`, a container, or Binder."
    )


def setup_problems(environment, requirements):
    """What stands in the way of making `environment` from a requirements file, a message each."""
    found = [python_problem(sys.version_info)]
    try:
        __import__("ensurepip"), __import__("venv")
    except ImportError as error:
        found.append(
            f"This Python ({sys.executable}) cannot make an environment: {error}. On Debian and "
            f"Ubuntu: apt install python3-venv. Otherwise: make run PYTHON=/path/to/another/python3"
        )
    system, machine = platform.system(), platform.machine()
    note = spot_note(system, machine, *platform.libc_ver())
    with open(requirements, encoding="utf-8") as lines:
        wanted = any(line.startswith("spottl") for line in lines)
    if note and wanted and (system, machine) == ("Linux", "x86_64"):  # pip would compile it
        found.append(
            f"{note} To go on without Spot: grep -v ^spottl {requirements} > without-spot.txt; "
            f"make run REQUIREMENTS=without-spot.txt"
        )
    if not glob.glob(os.path.join(environment, "lib", "*", "site-packages", "torch")):
        cuda = system == "Linux" and not requirements.startswith("binder")
        folder, temporary = os.path.dirname(os.path.abspath(environment)), tempfile.gettempdir()
        needed, download = SPACE["cuda" if cuda else "cpu"]
        if os.stat(folder).st_dev == os.stat(temporary).st_dev:
            needed, download = needed + download, 0
        for place, size in ((folder, needed), (temporary, download)):
            free = shutil.disk_usage(place).free
            found.append(
                f"Not enough disk space in {place}: {size / GB:.1f} GB needed, {free / GB:.1f} GB "
                f"free. Most of it are torch's CUDA libraries. Without a GPU, the CPU build needs "
                f"less: make run REQUIREMENTS=binder/requirements.txt. TMPDIR names another folder "
                f"for temporary files." * (free < size)
            )
    return [message for message in found if message]


def examine(check):
    """Run one of CHECKS; return (name, state, what was found, how to mend it, required)."""
    name, need, code = check
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    if done.returncode == 0:
        return name, "ok", done.stdout.strip(), "", need is True
    said = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    missing = "ModuleNotFoundError" in said or "Missing" in said or "Traceback" not in done.stderr
    mend, note = (REINSTALL if need is True else need), None
    if name == "Spot":
        note = spot_note(platform.system(), platform.machine(), *platform.libc_ver())
    state = "missing" if missing and done.returncode == 1 else "broken"
    return name, state, said, note or mend, need is True and not note


def main(_=None):
    """Print a table of what works; return 0 when every required part does, else 1."""
    print(f"Python {platform.python_version()} at {sys.executable}")
    print(f"{platform.platform()}, {os.cpu_count()} CPUs\n")
    with ThreadPoolExecutor(2) as pool:
        rows = list(pool.map(examine, CHECKS))
    for name, state, found, mend, required in rows:
        state += "" if state == "ok" or required else " (optional)"
        print(f"{name:<16}{state:<20}{found}")
        if mend:
            lines = textwrap.wrap(mend, 75, break_on_hyphens=False)
            print(" " * 36 + "-> " + ("\n" + " " * 39).join(lines))
    ill = [name for name, state, _, _, required in rows if required and state != "ok"]
    print(f"\nTo mend: {', '.join(ill)}" if ill else "\nEverything that is required works.")
    return 1 if ill else 0


if __name__ == "__main__":
    problems = setup_problems(sys.argv[1], sys.argv[2])
    note = spot_note(platform.system(), platform.machine(), *platform.libc_ver())
    for message in problems or ([note] if note else []):
        print("\n" + textwrap.fill(message, 96, break_on_hyphens=False), file=sys.stderr)
    sys.exit(1 if problems else 0)
