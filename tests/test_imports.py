"""Imports go one way, few modules load at a time, and logic never needs torch.

LEVELS is the order: a module imports at its top level only from lines above its own, or from its
own line. `itekit` never imports `lessons`, nor the library of widgets.
"""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LEVELS = """
doctor files vocabulary
alpha logic notebooks random_vectors
tasks embeddings losses
workers fast model
datasets experiments
data decoding
training
evaluation
results redraw
search efficiency llm batch plots
__main__
""".strip().splitlines()
WITHOUT_TORCH = {"alpha", "datasets", "doctor", "files", "logic", "notebooks", "tasks"}
WITHOUT_TORCH |= {"vocabulary", "workers"}
LONGEST = 10  # modules in a chain of imports
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((ROOT / "itekit").rglob("*.py"))
}


def imported(nodes) -> set[str]:
    """Full names that some nodes of a syntax tree import."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names & set(MODULES) or {node.module}
    return found


TREES = {module: ast.parse(path.read_text("utf-8")) for module, path in MODULES.items()}
EDGES = {
    name: imported(tree.body) & set(MODULES) - {name, "itekit"} for name, tree in TREES.items()
}


def test_modules_import_from_above():
    level = {name: i for i, line in enumerate(LEVELS) for name in line.split()}
    for module in set(MODULES) - {"itekit"}:
        below = [e for e in EDGES[module] if level[e.split(".")[1]] > level[module.split(".")[1]]]
        assert not below, f"{module} imports {below}, which stand below it in LEVELS"


def test_the_kit_imports_neither_lessons_nor_widgets():
    for module, tree in TREES.items():
        assert "ipy" + "widgets" not in MODULES[module].read_text("utf-8")
        assert not {n for n in imported(ast.walk(tree)) if n.split(".")[0] == "lessons"}, module


@cache
def closure(module: str) -> frozenset[str]:
    """A module and those of the kit that importing it loads."""
    return frozenset({module}).union(*map(closure, EDGES[module]))


@cache
def depth(module: str) -> int:
    return 1 + max(map(depth, EDGES[module]), default=0)


@pytest.mark.parametrize(("module", "most"), [("itekit.model", 4), ("itekit.training", 16)])
def test_few_modules_are_loaded_and_chains_of_imports_are_short(module, most):
    assert len(closure(module)) <= most + 1, sorted(closure(module))
    assert max(map(depth, MODULES)) <= LONGEST


def test_modules_without_torch_do_not_load_it():
    names = [name for name in MODULES if (name.split(".") + [""])[1] in WITHOUT_TORCH]
    code = f"import {', '.join(names)}, sys; sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr or f"one of {names} loads torch"


UNPICKLES = {"pickle", "dill", "joblib", "shelve", "marshal", "cloudpickle"}
CALLS = {"torch.load", "torch.save", "np.load", "numpy.load", "allow_pickle"}


@pytest.mark.parametrize("name", MODULES)
def test_nothing_is_ever_unpickled(name):
    nodes = list(ast.walk(ast.parse(MODULES[name].read_text("utf-8"))))
    assert not {module.split(".")[0] for module in imported(nodes)} & UNPICKLES
    calls = {ast.unparse(node) for node in nodes if isinstance(node, ast.Attribute)}
    calls |= {node.arg for node in nodes if isinstance(node, ast.keyword)}
    assert not calls & CALLS
