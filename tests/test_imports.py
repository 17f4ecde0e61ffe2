"""Imports go one way, few modules load at a time, logic needs no torch, nothing is unpickled."""

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
WITHOUT_TORCH = {"alpha", "datasets", "doctor", "files", "logic", "notebooks", "tasks"}
WITHOUT_TORCH |= {"vocabulary", "workers"}
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((ROOT / "itekit").rglob("*.py"))
}
UNPICKLES = {"pickle", "dill", "joblib", "shelve", "marshal", "cloudpickle"}
CALLS = {"torch.load", "torch.save", "np.load", "numpy.load", "allow_pickle"}


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


def test_imports_go_one_way_in_short_chains_and_few_modules_are_loaded():
    loaded, depth = {}, {}
    for module in TopologicalSorter(EDGES).static_order():  # CycleError: not one way
        loaded[module] = {module}.union(*(loaded[other] for other in EDGES[module]))
        depth[module] = 1 + max((depth[other] for other in EDGES[module]), default=0)
    assert max(depth.values()) <= 10
    for module, most in (("itekit.model", 4), ("itekit.training", 16)):
        assert len(loaded[module]) <= most + 1, sorted(loaded[module])
    assert not any("tasks" in module for module in loaded["itekit.model"])


def test_modules_without_torch_do_not_load_it():
    names = [name for name in MODULES if (name.split(".") + [""])[1] in WITHOUT_TORCH]
    code = f"import {', '.join(names)}, sys; sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr or f"one of {names} loads torch"


def test_nothing_imports_lessons_or_widgets_or_unpickles():
    for module, tree in TREES.items():
        nodes = list(ast.walk(tree))
        assert "ipy" + "widgets" not in MODULES[module].read_text("utf-8")
        assert not {n.split(".")[0] for n in imported(nodes)} & (UNPICKLES | {"lessons"}), module
        calls = {ast.unparse(node) for node in nodes if isinstance(node, ast.Attribute)}
        calls |= {node.arg for node in nodes if isinstance(node, ast.keyword)}
        assert not calls & CALLS, module
