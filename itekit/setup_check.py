"""Check that an environment can be made here, before anything is installed.

Run by the Makefile with whatever `python3` the machine has, so it uses the standard library only
and syntax that Python 3.6 reads: an old Python prints a message instead of a SyntaxError.

    python3 itekit/setup_check.py .venv
"""

import os
import platform
import shutil
import sys
import tempfile
import textwrap

OLDEST = (3, 11)
NEWEST = (3, 13)
GLIBC = (2, 34)  # the oldest C library that Spot's wheel runs on
GB = 10**9
# Free space: what a finished environment takes, and what downloads take while it is made.
ENVIRONMENT_BYTES = {"cpu": 2.5 * GB, "cuda": 8 * GB}
DOWNLOAD_BYTES = {"cpu": 1 * GB, "cuda": 4 * GB}


def python_problem(version):
    """Return a message when `version` (major, minor, ...) is out of range, else None."""
    if OLDEST <= tuple(version[:2]) <= NEWEST:
        return None
    return (
        f"itekit needs Python {OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}; this one is "
        f"{version[0]}.{version[1]} ({sys.executable}). Install one in that range (Debian and "
        f"Ubuntu: apt install python3.12 python3.12-venv; any system: pyenv, uv or conda) and "
        f"name it: make run PYTHON=python3.12"
    )


def missing_modules():
    """Return the names among venv and ensurepip that this Python cannot import."""
    missing = []
    for name in ("venv", "ensurepip"):
        try:
            __import__(name)
        except ImportError:
            missing.append(name)
    return missing


def venv_problem(missing):
    """Return a message when modules needed to make an environment are missing, else None."""
    if not missing:
        return None
    name = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    return (
        f"This Python ({sys.executable}) cannot make an environment: it lacks the standard module "
        f"{' and '.join(missing)}. On Debian and Ubuntu: apt install {name}-venv. Otherwise use a "
        f"Python that has it: make run PYTHON=/path/to/{name}"
    )


def spot_note(system, machine, libc="glibc", version="2.36"):
    """Return a message when there is no ready-made wheel of Spot for this platform, else None."""
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if system == "Linux" and machine == "x86_64" and libc == "glibc" and numbers >= GLIBC:
        return None
    here = f"{system} {machine}"
    if system == "Linux":
        here += f", {libc or 'unknown C library'} {version}"
    return (
        f"Spot (the LTL library) has no ready-made wheel for this machine ({here.strip()}): only "
        f"for Linux x86_64 with glibc {GLIBC[0]}.{GLIBC[1]} or newer. The copying notebooks work "
        f"without it. For the LTL notebooks, make a conda environment with the package `spot` of "
        f"conda-forge, or work on another machine, in a container, or on Binder."
    )


def spot_problem(note, system, machine, requirements):
    """Return a message when pip would try to compile Spot from source here, else None."""
    if note is None or (system, machine) != ("Linux", "x86_64"):
        return None  # the requirement's own marker leaves Spot out on other platforms
    with open(requirements, encoding="utf-8") as lines:
        if not any(line.startswith("spottl") for line in lines):
            return None
    return (
        f"{note} To go on without Spot: grep -v ^spottl {requirements} > without-spot.txt; "
        f"make run REQUIREMENTS=without-spot.txt"
    )


def torch_build(system, machine, requirements="requirements.txt"):
    """Return "cuda" where the standard torch wheel brings the CUDA libraries, else "cpu"."""
    on_cuda = system == "Linux" and machine in ("x86_64", "aarch64")
    return "cuda" if on_cuda and not requirements.startswith("binder") else "cpu"


def existing_folder(path):
    """Return `path` or its nearest parent that exists."""
    path = os.path.abspath(path)
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    return path


def disk_problem(folder, free, needed):
    """Return a message when `free` bytes in `folder` are fewer than `needed`, else None."""
    if free >= needed:
        return None
    return (
        f"Not enough disk space in {folder}: {needed / GB:.1f} GB needed, {free / GB:.1f} GB free. "
        f"On Linux the standard torch brings the CUDA libraries, which are most of it. Without a "
        f"GPU, the CPU build needs less: make run REQUIREMENTS=binder/requirements.txt. Or free "
        f"some space, or point TMPDIR at a larger disk if the folder is the temporary one."
    )


def disk_problems(environment, build):
    """Return messages for the environment's disk and the temporary folder's disk."""
    places = [(existing_folder(environment), ENVIRONMENT_BYTES[build])]
    temporary = (existing_folder(tempfile.gettempdir()), DOWNLOAD_BYTES[build])
    if os.stat(places[0][0]).st_dev == os.stat(temporary[0]).st_dev:
        places = [(places[0][0], places[0][1] + temporary[1])]
    else:
        places.append(temporary)
    found = [disk_problem(path, shutil.disk_usage(path).free, size) for path, size in places]
    return [message for message in found if message]


def has_torch(environment):
    """Say whether torch is already in the environment, so that little is left to install."""
    library = os.path.join(environment, "lib")
    names = os.listdir(library) if os.path.isdir(library) else []
    return any(os.path.isdir(os.path.join(library, n, "site-packages", "torch")) for n in names)


def main(arguments):
    """Print every problem in one paragraph each; return 1 when the set-up cannot go on."""
    environment = arguments[0] if arguments else ".venv"
    requirements = arguments[1] if len(arguments) > 1 else "requirements.txt"
    system, machine = platform.system(), platform.machine()
    note = spot_note(system, machine, *platform.libc_ver())
    problems = [python_problem(sys.version_info), venv_problem(missing_modules())]
    problems.append(spot_problem(note, system, machine, requirements))
    if not has_torch(environment):
        problems += disk_problems(environment, torch_build(system, machine, requirements))
    problems = [message for message in problems if message]
    for message in problems or ([note] if note else []):
        print("\n" + textwrap.fill(message, 96, break_on_hyphens=False), file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
