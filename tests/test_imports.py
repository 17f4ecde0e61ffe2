"""Imports go one way: logic -> tasks -> data -> training -> evaluation; logic never needs torch.

The table says which groups a group may import from; every module of the package is in one group.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "itekit"

GROUPS = {
    "base": "itekit scale files machine cluster setup_check paper",
    "logic": "vocabulary renamings alpha logic",
    "tasks": "tasks",
    "datasets": "datasets",
    "data": "data pairs",
    "parts": "devices linear random_vectors positions dropout layout heads attention layers losses "
    "embeddings model",
    "experiments": "settings task_settings copying_presets logic_presets experiments",
    "training": "runlog provenance schedule checkpoints network execution validation training "
    "stepping decoding copying",
    "evaluation": "evaluation search solving covariance logic_evaluation redraw results "
    "reference copies summary logic_summary timing step_parts embedding_costs efficiency llm",
    "plots": "plots",
    "shell": "panels satisfaction assignment_widgets status_tables kernels "
    "logic_widgets widgets readme notebooks batch report refresh doctor exercises student explorer "
    "llm_widgets commands __main__",
}
MAY_IMPORT = {
    "base": "base",
    "logic": "base logic",
    "tasks": "base logic tasks",
    "datasets": "base logic tasks datasets",
    "data": "base logic tasks datasets data",
    "parts": "base logic parts",
    "experiments": "base logic tasks datasets data parts experiments",
    "training": "base logic data parts experiments training",
    "evaluation": "base logic tasks datasets data parts experiments training evaluation",
    "plots": "base plots",
    "shell": " ".join(GROUPS),
}
WITHOUT_TORCH = ("base", "logic", "tasks", "datasets", "plots")

MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}


def group_of(module: str) -> str | None:
    """The group of a module: that of its first name below the package."""
    name = (module.split(".") + ["itekit"])[1] if module != "itekit" else "itekit"
    return next((group for group, names in GROUPS.items() if name in names.split()), None)


def imported(source: str, module: str, is_package: bool = False) -> set[str]:
    """Full names that `source` imports anywhere, functions included; relative ones resolved."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parts = module.split(".") if is_package else module.split(".")[:-1]
            start = parts[: len(parts) - node.level + 1] if node.level else []
            base = ".".join(start + ([node.module] if node.module else []))
            below = {f"{base}.{alias.name}" for alias in node.names}
            if base == "itekit":
                below = {name for name in below if group_of(name)}
            else:
                below &= set(MODULES)
            found |= below or {base}
    return found


def problems(source: str, module: str, is_package: bool = False) -> list[str]:
    """What `module` imports against the table."""
    group = group_of(module)
    if group is None:
        return [f"{module} is in no group: add it to GROUPS in tests/{Path(__file__).name}"]
    found = []
    for name in sorted(imported(source, module, is_package)):
        top = name.split(".")[0]
        if top == "itekit" and group_of(name) not in MAY_IMPORT[group].split():
            found.append(f"{module} ({group}) imports {name} ({group_of(name)})")
        if top == "torch" and group in WITHOUT_TORCH:
            found.append(f"{module} ({group}) imports {name}")
    return found


@pytest.mark.parametrize("module", MODULES)
def test_module_imports_only_what_its_group_may(module):
    path = MODULES[module]
    assert problems(path.read_text("utf-8"), module, path.name == "__init__.py") == []


def test_the_table_names_known_groups_and_has_no_circle():
    order = list(GROUPS)
    for group, allowed in MAY_IMPORT.items():
        later = [name for name in allowed.split() if order.index(name) > order.index(group)]
        assert later == [], f"{group} may import a later group"


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("itekit.alpha", "import torch"),
        ("itekit.alpha", "def f():\n    from torch.nn import functional"),
        ("itekit.tasks.copying", "import torch.nn as nn"),
        ("itekit.model", "from itekit.tasks import copying"),
        ("itekit.model", "from .tasks.copying import grid"),
        ("itekit.vocabulary", "from itekit import training"),
        ("itekit.plots.style", "from itekit.evaluation import grid"),
        ("itekit.nowhere", ""),
    ],
)
def test_a_wrong_import_is_found(module, source):
    assert problems(source, module)


def test_logic_modules_do_not_load_torch():
    names = [name for name in MODULES if group_of(name) in WITHOUT_TORCH]
    code = f"import {', '.join(names)}, sys; sys.exit('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PACKAGE.parent, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr or f"one of {names} loads torch"
