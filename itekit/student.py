"""The student edition: the notebooks without outputs and solutions, exercises as empty functions.

Made from the lecturer's own notebooks, so that there is one set to keep. A cell tagged "exercise"
becomes its stub whatever has been written into it: the import of the checker, the functions that
are handed to it without their bodies, and the call. A cell tagged "solution" is left out.
"""

import ast
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import nbformat

from itekit import __version__
from itekit.files import write_text
from itekit.refresh import tidy

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
DEFAULT = Path("reports") / "student"
README = f"""# Notebooks of itekit {__version__}, for students

Made by `python -m itekit student`. Open them in order, in JupyterLab, with a Python that has itekit
(in the kit's own folder `make lab` starts one). Most end with exercises that check themselves.
"""


def checked_functions(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """(checker, function) of each call such as `check_f(f)` at the top level of a cell."""
    for node in tree.body:
        match node:
            case ast.Expr(ast.Call(ast.Name(checker), [ast.Name(function), *_])):
                if checker.startswith("check_"):
                    yield checker, function


def stub(source: str) -> str:
    """An exercise's cell without what has been written into it.

    Raises:
        ValueError: the cell is not Python, or does not call a checker with a function of its own.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise ValueError(f"not Python: line {error.lineno}: {error.msg}") from error
    calls = list(checked_functions(tree))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if not calls or any(name not in functions for _, name in calls):
        raise ValueError("expected a function and its check, such as check_f(f), in one cell")
    imports = [
        ast.get_source_segment(source, node)
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("itekit.exercises")
    ]
    empty = ["\n" + _without_body(source, functions[name]) for _, name in calls]
    checks = [f"{checker}({name})" for checker, name in calls]
    return "\n\n".join(["\n".join(imports), *empty, "\n" + "\n".join(checks)])


def _without_body(source: str, function: ast.FunctionDef) -> str:
    """The head and the docstring of a function, and an ellipsis."""
    first = function.body[0]
    if first.lineno == function.lineno:  # all in one line
        first = ast.parse(ast.unparse(function)).body[0]
        return ast.unparse(first).splitlines()[0] + "\n    ..."
    has_text = ast.get_docstring(function) is not None
    last = first.end_lineno if has_text else first.lineno - 1
    return "\n".join([*source.splitlines()[function.lineno - 1 : last], "    ..."])


def student_notebook(path: Path) -> nbformat.NotebookNode:
    """A notebook of the student edition.

    Raises:
        ValueError: an exercise's cell cannot be emptied; names the notebook and the cell.
    """
    notebook = nbformat.read(path, 4)
    tidy(notebook)
    tagged = [(cell, cell.metadata.get("tags", [])) for cell in notebook.cells]
    notebook.cells = [cell for cell, tags in tagged if "solution" not in tags]
    for number, cell in enumerate(notebook.cells, 1):
        if cell.cell_type != "code":
            continue
        cell.outputs, cell.execution_count = [], None
        if "exercise" in cell.metadata.get("tags", []):
            try:
                cell.source = stub(cell.source)
            except ValueError as error:
                raise ValueError(f"{path.name}, cell {number} (an exercise): {error}") from error
    return notebook


def edition(source: Path = NOTEBOOKS) -> dict[str, str]:
    """The files of the student edition: {name: text}."""
    paths = sorted(Path(source).glob("*.ipynb"))
    if not paths:
        raise FileNotFoundError(f"no notebooks in {source}")
    made = {path.name: nbformat.writes(student_notebook(path)) + "\n" for path in paths}
    return {"README.md": README, **made}


def write_edition(
    folder: str | Path = DEFAULT, overwrite: bool = False, source: Path = NOTEBOOKS
) -> Path:
    """Write the student edition to a folder, which is then complete, or not there.

    Args:
        overwrite: write into a folder that is not empty. Files of the edition are replaced one by
            one, each whole; all others stay.

    Raises:
        ValueError: the folder is not empty, or is one of the notebooks' own.
    """
    folder, source = Path(folder).absolute(), Path(source).absolute()
    if source in (folder, *folder.parents):
        raise ValueError(f"{folder} holds the notebooks themselves: give another folder")
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file: give a folder")
    there = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    if there and not overwrite:
        raise ValueError(
            f"{folder} is not empty ({', '.join(there[:3])}{', …' * (len(there) > 3)}): give "
            "another folder, or --overwrite to replace the edition's files in it"
        )
    files = edition(source)
    if there:
        _write_all(folder, files)
    else:
        _write_new(folder, files)
    return folder


def _write_new(folder: Path, files: dict[str, str]) -> None:
    """Write beside, then rename the whole folder."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    try:
        temporary.mkdir()
        _write_all(temporary, files)
        if folder.is_dir():
            folder.rmdir()  # it is empty
        os.replace(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _write_all(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        write_text(folder / name, text)
