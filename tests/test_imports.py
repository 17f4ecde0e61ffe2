"""Imports go one way, few modules load at a time, and logic never needs torch.

LEVELS is the order: a module imports at its top level only from lines above its own, or from its
own line. `itekit` never imports `lessons`, nor the library of widgets.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LEVELS = """
doctor files vocabulary
alpha logic notebooks random_vectors
tasks embeddings losses
workers fast model
datasets experiments
checkpoints data decoding
training
evaluation
results redraw
search efficiency llm batch plots
__main__
""".strip().splitlines()
WITHOUT_TORCH = ("alpha", "datasets", "doctor", "files", "logic", "notebooks", "tasks",
                 "vocabulary", "workers")  # fmt: skip
# (module, how many other modules of the kit it may load)
CLOSURES = (("itekit.model", 4), ("itekit.training", 16))
LONGEST = 10  # modules in a chain of imports
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((ROOT / "itekit").rglob("*.py"))
}


def imported(source: str, everywhere: bool = True) -> set[str]:
    """Full names that `source` imports, in functions too, or at the top level only."""
    tree, found = ast.parse(source), set()
    for node in ast.walk(tree) if everywhere else tree.body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "write imports with their full names"
            below = {f"{node.module}.{alias.name}" for alias in node.names} & set(MODULES)
            found |= below or {node.module}
    return found


EDGES = {
    module: (imported(path.read_text("utf-8"), everywhere=False) & set(MODULES)) - {module}
    for module, path in MODULES.items()
}


def level(module: str) -> int:
    name = (module.split(".") + ["itekit"])[1]
    return next((i for i, line in enumerate(LEVELS) if name in line.split()), -1)


@pytest.mark.parametrize("module", [name for name in MODULES if name != "itekit"])
def test_a_module_imports_from_above(module):
    assert level(module) >= 0, f"{module} has no level: add it to LEVELS"
    wrong = [name for name in EDGES[module] if level(name) > level(module)]
    assert not wrong, f"{module} imports {wrong}, which stand below it in LEVELS"


@pytest.mark.parametrize("module", MODULES)
def test_the_kit_imports_neither_lessons_nor_widgets(module):
    text = MODULES[module].read_text("utf-8")
    assert "ipy" + "widgets" not in text
    assert not {name for name in imported(text) if name.split(".")[0] == "lessons"}


def closure(module: str) -> set[str]:
    """The modules of the kit that importing `module` loads, without itself."""
    found, new = set(), {module}
    while new:
        new = set().union(*(EDGES[name] for name in new)) - found
        found |= new
    return found - {module}


@pytest.mark.parametrize(("module", "most"), CLOSURES)
def test_few_modules_are_loaded(module, most):
    assert len(closure(module)) <= most, sorted(closure(module))


def test_chains_of_imports_are_short():
    def longest(module: str, on: tuple = ()) -> list[str]:
        assert module not in on, f"a circle of imports: {on}"
        rest = [longest(name, (*on, module)) for name in EDGES[module]]
        return [module, *max(rest, key=len, default=[])]

    chain = max(map(longest, MODULES), key=len)
    assert len(chain) <= LONGEST, chain


def test_modules_without_torch_do_not_load_it():
    names = [name for name in MODULES if (name.split(".") + [""])[1] in WITHOUT_TORCH]
    code = f"import {', '.join(names)}, sys; sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr or f"one of {names} loads torch"


def test_imports_are_found_wherever_they_stand():
    source = "import torch.nn as nn\ndef f():\n    from itekit import alpha\n    from a.b import c"
    assert imported(source) == {"torch.nn", "itekit.alpha", "a.b"}
    assert imported(source, everywhere=False) == {"torch.nn"}
