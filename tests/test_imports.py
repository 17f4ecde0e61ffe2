"""Imports go one way, few modules load at a time, logic needs no torch, nothing is unpickled."""

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# The method is read in this order.
METHOD = "vocabulary alpha random_vectors embeddings model losses"
METHOD += " experiments data network decoding training evaluation"
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((ROOT / "itekit").rglob("*.py"))
}
WITHOUT_TORCH = ("alpha", "datasets", "doctor", "files", "logic", "notebooks", "vocabulary")
WITHOUT_TORCH += ("workers", "tasks.copying", "tasks.logic", "tasks.ltl", "tasks.propositional")
WITHOUT_TORCH += ("tasks.streams", "tasks.task", "tasks.verdicts")
UNPICKLES = {"pickle", "dill", "joblib", "shelve", "marshal", "cloudpickle"}
CALLS = {"torch.load", "torch.save", "np.load", "numpy.load", "allow_pickle"}


def imported(nodes) -> set[str]:
    """Full names that nodes of a syntax tree import."""
    names = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parts = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= parts & set(MODULES) or {node.module}
    return names


TREES = {module: ast.parse(path.read_text("utf-8")) for module, path in MODULES.items()}


def edges(nodes_of) -> dict[str, set[str]]:
    """The modules of the kit that each module imports in some nodes of its tree."""
    known = set(MODULES) - {"itekit"}
    return {name: imported(nodes_of(tree)) & known - {name} for name, tree in TREES.items()}


ANYWHERE = edges(ast.walk)  # inside functions too


def test_imports_go_one_way_in_short_chains_and_few_modules_are_loaded():
    tuple(TopologicalSorter(ANYWHERE).static_order())  # CycleError: not one way
    at_top, loaded, depth = edges(lambda tree: tree.body), {}, {}
    for module in TopologicalSorter(at_top).static_order():
        loaded[module] = {module}.union(*(loaded[other] for other in at_top[module]))
        depth[module] = 1 + max((depth[other] for other in at_top[module]), default=0)
    assert max(depth.values()) <= 10
    for module, most in (("itekit.model", 4), ("itekit.training", 16)):
        assert len(loaded[module]) <= most + 1, sorted(loaded[module])
    assert not any("tasks" in module for module in loaded["itekit.model"])


def test_each_file_of_the_method_imports_only_those_before():
    order = [f"itekit.{name}" for name in METHOD.split()]
    for place, module in enumerate(order):
        assert not ANYWHERE[module] & set(order[place + 1 :]), module


@pytest.mark.parametrize(
    ("names", "absent"),
    [(WITHOUT_TORCH, ("torch",)), (["results"], ("spot", "aiger"))],
)
def test_what_is_not_needed_is_not_loaded(names, absent):
    starts = tuple(f"itekit.{name}" for name in names)
    modules = [m for m in MODULES if any(m == s or m.startswith(f"{s}.") for s in starts)]
    assert len(modules) >= len(starts)
    code = f"import {', '.join(modules)}, sys; print(*sys.modules.keys() & {set(absent)})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr


def test_nothing_imports_lessons_or_widgets_or_unpickles():
    for module, tree in TREES.items():
        nodes = list(ast.walk(tree))
        outside = UNPICKLES | {"lessons", "ipywidgets"}
        assert not {name.split(".")[0] for name in imported(nodes)} & outside, module
        calls = {ast.unparse(node) for node in nodes if isinstance(node, ast.Attribute)}
        calls |= {node.arg for node in nodes if isinstance(node, ast.keyword)}
        assert not calls & CALLS, module
