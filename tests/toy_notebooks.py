"""Notebooks for tests, written and read again."""

from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
PARAMETERS = """scale = None  # "smoke", "lab" or "paper"
seed = 0
rate = 0.5
train: bool = False
folder = ""
values = [1]"""


def write(path: Path, *sources: str) -> Path:
    """A notebook: a heading, the parameters cell, then code cells."""
    first = new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]})
    cells = [new_markdown_cell("# A test"), first, *map(new_code_cell, sources)]
    nbformat.write(new_notebook(cells=cells, metadata=KERNEL), path)
    return path


def printed(path: Path) -> str:
    """Everything that the code cells of an executed notebook wrote to standard output."""
    cells = nbformat.read(path, 4).cells
    return "".join(output.get("text", "") for c in cells for output in c.get("outputs", []))
