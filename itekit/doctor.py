"""Say what works on this machine, and how to mend what does not: `python -m itekit doctor`.

Each check returns a Row. A required part that is missing or broken makes the exit code 1; optional
parts (a GPU, Graphviz, a browser for PNG figures) never do.
"""

import importlib
import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass

from itekit import __version__, setup_check

REINSTALL = "make setup installs it (or: python -m pip install -r requirements.txt)"


@dataclass(frozen=True)
class Row:
    """One line of the table: what was checked, its state, what was found, how to mend it."""

    name: str
    state: str  # "ok", "missing" or "broken"
    found: str
    mend: str = ""
    required: bool = True


def check_python() -> Row:
    """Python's version is in range."""
    found = f"{platform.python_version()} at {sys.executable}"
    problem = setup_check.python_problem(sys.version_info)
    return Row("Python", "broken" if problem else "ok", found, problem or "")


def check_machine() -> Row:
    """The platform, its cores, memory and free disk: for information."""
    import psutil

    memory = psutil.virtual_memory()
    found = (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, "
        f"{memory.total / 1e9:.1f} GB memory ({memory.available / 1e9:.1f} free), "
        f"{shutil.disk_usage('.').free / 1e9:.0f} GB disk free"
    )
    return Row("machine", "ok", found)


def check_torch() -> Row:
    """torch multiplies matrices on the CPU."""
    import torch

    product = torch.ones(2, 3) @ torch.ones(3, 2)
    if not bool((product == 3).all()):
        return Row("torch", "broken", f"{torch.__version__}: wrong product", REINSTALL)
    return Row("torch", "ok", f"{torch.__version__}, CPU with {torch.get_num_threads()} threads")


def check_cuda() -> Row:
    """torch sees a CUDA device and can use it."""
    import torch

    if not torch.cuda.is_available():
        mend = "only paper-size runs need a GPU; with one, install the CUDA build of torch"
        return Row("CUDA", "missing", "no device that torch can use", mend, required=False)
    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    torch.ones(2, device="cuda").sum().item()
    return Row("CUDA", "ok", ", ".join(names), required=False)


SPOT_CODE = """
import spot
if not hasattr(spot, "translate"):
    raise SystemExit(3)
print(spot.version(), spot.translate("G(a -> F b)").num_states())
"""


def check_spot() -> Row:
    """Spot's Python bindings translate a formula; in a process of its own, as C++ can crash it."""
    done = subprocess.run([sys.executable, "-c", SPOT_CODE], capture_output=True, text=True)
    if done.returncode == 0:
        version, states = done.stdout.split()
        return Row("Spot", "ok", f"{version}, G(a -> F b) becomes {states} states")
    if done.returncode == 3:
        mend = "another package named spot is installed: pip uninstall spot, then install spottl"
        return Row("Spot", "broken", "spot.translate is missing", mend)
    note = setup_check.spot_note(platform.system(), platform.machine(), *platform.libc_ver())
    mend = note or f"{REINSTALL}; the package is named spottl"
    lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
    state = "missing" if "ModuleNotFoundError" in lines[-1] else "broken"
    return Row("Spot", state, lines[-1], mend, required=note is None)


def check_aiger() -> Row:
    """py-aiger and its solver decide a formula."""
    import aiger
    import aiger_sat

    a, b = aiger.atoms("a", "b")
    if not aiger_sat.is_sat(a & ~b) or aiger_sat.is_sat(a & ~a):
        return Row("py-aiger", "broken", "a wrong verdict", REINSTALL)
    versions = [importlib.metadata.version(name) for name in ("py-aiger", "py-aiger-sat")]
    return Row("py-aiger", "ok", f"{versions[0]}, py-aiger-sat {versions[1]}")


def check_dot() -> Row:
    """Graphviz's dot, which draws automata."""
    path = shutil.which("dot")
    if path:
        return Row("Graphviz dot", "ok", path, required=False)
    mend = "only drawings of automata need it: apt install graphviz, or brew install graphviz"
    return Row("Graphviz dot", "missing", "not on the PATH", mend, required=False)


def check_browser() -> Row:
    """A Chrome or Chromium that kaleido can use for PNG copies of figures."""
    from choreographer.browsers.chromium import Chromium

    path = Chromium.find_browser(skip_local=False)
    if path:
        return Row("browser", "ok", str(path), required=False)
    mend = (
        "only PNG copies of figures need one: apt install chromium, or kaleido_get_chrome; "
        "BROWSER_PATH names one in an unusual place"
    )
    return Row("browser", "missing", "no Chrome or Chromium for PNG figures", mend, required=False)


def check_language_model() -> Row:
    """The offline language model of notebook 14."""
    from itekit.llm.offline import MissingModelError, offline_model

    try:
        found = offline_model().path.name
    except MissingModelError as error:
        found, _, mend = str(error).partition("; ")
        return Row("language model", "missing", found, f"only notebook 14: {mend}", required=False)
    return Row("language model", "ok", found, required=False)


def check_packages(name: str, packages: str) -> Callable[[], Row]:
    """Return a check that imports packages (names between blanks) and lists their versions."""

    def check() -> Row:
        for package in packages.split():
            importlib.import_module(package)
        versions = [f"{p} {importlib.metadata.version(p)}" for p in packages.split()]
        return Row(name, "ok", ", ".join(versions))

    return check


CHECKS: tuple[tuple[str, bool, Callable[[], Row]], ...] = (
    ("Python", True, check_python),
    ("machine", True, check_machine),
    ("torch", True, check_torch),
    ("CUDA", False, check_cuda),
    ("numbers", True, check_packages("numbers", "numpy scipy safetensors rapidfuzz")),
    ("Spot", True, check_spot),
    ("py-aiger", True, check_aiger),
    ("Jupyter", True, check_packages("Jupyter", "jupyterlab ipykernel papermill nbval nbconvert")),
    ("widgets", True, check_packages("widgets", "ipywidgets")),
    ("figures", True, check_packages("figures", "plotly kaleido latex2mathml")),
    ("Graphviz dot", False, check_dot),
    ("browser", False, check_browser),
    ("OpenAI's client", True, check_packages("OpenAI's client", "openai")),
    ("language model", False, check_language_model),
)


def run_check(name: str, required: bool, check: Callable[[], Row]) -> Row:
    """Return the check's Row; an ImportError becomes "missing", any other error "broken"."""
    try:
        return check()
    except ImportError as error:
        found = f"{type(error).__name__}: {error}"
        return Row(name, "missing", found, REINSTALL, required)
    except Exception as error:  # a doctor reports every illness instead of catching it
        return Row(name, "broken", f"{type(error).__name__}: {error}", REINSTALL, required)


def table(rows: list[Row]) -> str:
    """Return the rows as aligned text, with the way to mend under each row that needs it."""
    width = max(len(row.name) for row in rows)
    indent = " " * (width + 22)
    lines = []
    for row in rows:
        state = row.state if row.state == "ok" or row.required else f"{row.state} (optional)"
        lines.append(f"{row.name:<{width}}  {state:<18}  {row.found}")
        if row.state != "ok" and row.mend:
            wrapped = textwrap.wrap(row.mend, 75, break_on_hyphens=False)
            lines.append(f"{indent}-> " + f"\n{indent}   ".join(wrapped))
    return "\n".join(lines)


def main() -> int:
    """Print the table; return 0 when every required part works, 1 otherwise."""
    print(f"itekit {__version__}\n")
    rows = [run_check(*check) for check in CHECKS]
    print(table(rows))
    ill = [row.name for row in rows if row.required and row.state != "ok"]
    print(f"\nTo mend: {', '.join(ill)}" if ill else "\nEverything that is required works.")
    return 1 if ill else 0
