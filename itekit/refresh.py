"""Execute notebooks in place at `lab` size and keep their outputs, ready to be committed.

What changes without meaning is taken out: widget state, execution times, the kernel's version.
"""

import os
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from itekit.files import write_text
from itekit.kernels import AsyncPrivateKernelManager
from itekit.notebooks import NotebookFailedError

LARGEST = 10**6  # bytes
WIDGET = "application/vnd.jupyter.widget-view+json"
PANEL = "(a panel of controls: run this cell to use it)"


def tidy(notebook) -> None:
    """Take widget state, execution times and the interpreter's version out of a notebook."""
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    for cell in notebook.cells:
        for key in ("execution", "papermill", "ExecuteTime"):
            cell.metadata.pop(key, None)
        for output in cell.get("outputs", []):
            if output.get("data", {}).pop(WIDGET, None):
                output.data["text/plain"] = PANEL


def _executed(path: Path, scale: str):
    """Return the notebook at `path` after running it in its folder; raise NotebookFailedError."""
    notebook = nbformat.read(path, 4)
    client = NotebookClient(
        notebook,
        timeout=None,
        kernel_manager_class=AsyncPrivateKernelManager,
        resources={"metadata": {"path": str(path.parent)}},
        extra_arguments=["--log-level=ERROR"],
    )
    try:
        client.execute(env={**os.environ, "ITEKIT_SCALE": scale})
    except CellExecutionError as error:
        raise NotebookFailedError(f"{path.name}: {error.ename}: {error.evalue}") from error
    except (DeadKernelError, CellTimeoutError) as error:
        raise NotebookFailedError(f"{path.name}: its kernel died") from error
    return notebook


def refresh_notebook(path: str | Path, scale: str = "lab") -> int:
    """Execute one notebook in place; return its new size in bytes.

    On any error the file keeps its old content. Raises FileNotFoundError, NotebookFailedError when
    a cell fails, ValueError when the result is larger than 1 MB.
    """
    path = Path(path).absolute()
    if not path.is_file():
        raise FileNotFoundError(f"no notebook {path}")
    notebook = _executed(path, scale)
    tidy(notebook)
    text = nbformat.writes(notebook) + "\n"
    size = len(text.encode())
    if size > LARGEST:
        raise ValueError(
            f"{path.name}: {size / 1e6:.1f} MB executed; at most {LARGEST / 1e6:.0f} MB, so that "
            f"the repository stays small: show fewer or smaller figures"
        )
    write_text(path, text)
    return size


def all_notebooks(folder: str | Path = "notebooks") -> list[Path]:
    """Return the notebooks of `folder` and of its sub-folder `solutions`, in order."""
    folder = Path(folder)
    return sorted(folder.glob("*.ipynb")) + sorted((folder / "solutions").glob("*.ipynb"))


def refresh(paths: list[str | Path] | None = None) -> None:
    """Execute notebooks in place, all of them when none is named, and print their sizes."""
    for path in paths or all_notebooks():
        print(f"{path}: running", flush=True)
        print(f"{path}: {refresh_notebook(path) / 1e3:.0f} kB", flush=True)
