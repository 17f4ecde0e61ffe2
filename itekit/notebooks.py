"""Notebooks run headless by papermill, with parameters that are checked.

papermill takes a mistyped parameter without a word, and `-p train false` as a text, which is true.
`run_notebook` compares names and types with the notebook's `parameters` cell before it starts;
`guard_parameters`, called by the cell after that one, does the same when papermill itself is used.
As a pytest plugin (`pytest -p itekit.notebooks --nbval-lax ...`) this module lets nbval start
several kernels at the same time.
"""

import ast
import contextlib
import os
import uuid
from pathlib import Path

from itekit.files import naming_full_disk, read_json, resolve_scale, write_text

FIGURE = "application/vnd.plotly.v1+json"
PANEL = "application/vnd.jupyter.widget-view+json"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
NO_PANEL = "(a panel of controls: run this cell in JupyterLab to use it)"


def parse_value(text: str):
    """The number, True, False or None that `text` names, else the text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def assigned(source: str) -> dict:
    """Name -> value of what a cell's top level assigns; None stands for what is no literal."""
    found = {}
    for node in ast.parse(source).body:
        for target in getattr(node, "targets", [getattr(node, "target", None)]):
            if isinstance(target, ast.Name):
                found[target.id] = None
                with contextlib.suppress(ValueError):
                    found[target.id] = ast.literal_eval(node.value)
    return found


def known_parameters(path: str | Path) -> dict:
    """Name -> default of a notebook's `parameters` cell; ValueError if it is no notebook."""
    try:
        for cell in read_json(path, dict)["cells"]:
            if "parameters" in cell["metadata"].get("tags", []):
                return assigned("".join(cell["source"]))
        return {}
    except (AttributeError, KeyError, TypeError, SyntaxError) as error:
        raise ValueError(f"{path}: not a notebook: {type(error).__name__}: {error}") from error


def check_values(known: dict, given: dict, where: str) -> None:
    """Raise ValueError unless each name in `given` is known and fits its default's type."""
    for name, value in given.items():
        if name not in known:
            raise ValueError(f"{where} has no parameter {name!r}; known: {', '.join(known)}")
        found, default = type(value), known[name]
        same = found is type(default) or (found is int and isinstance(default, float))
        if not same and default is not None:
            said = f"{where}: parameter {name!r} is {value!r} ({found.__name__}); expected "
            raise ValueError(f"{said}{type(default).__name__}, as its default {default!r}")


def check_parameters(path: str | Path, parameters: dict) -> None:
    """Raise ValueError for what a notebook does not take, and for a scale that there is not."""
    check_values(known_parameters(path), parameters, Path(path).name)
    resolve_scale(parameters.get("scale"))


def guard_parameters() -> None:
    """Raise ValueError when papermill injected what the `parameters` cell does not take.

    Its injected cell begins with "# Parameters" and runs just after the `parameters` cell.
    """
    from IPython import get_ipython

    names = get_ipython().user_ns if get_ipython() else {}
    cells = names.get("In", [])
    for before, source in zip(cells, cells[1:], strict=False):
        if source.startswith("# Parameters\n"):
            check_values(assigned(before), {n: names[n] for n in assigned(source)}, "this notebook")


def private_sockets() -> dict:
    """Options for a kernel manager whose kernel talks through sockets in the file system: a port
    that is chosen for a kernel may be taken by another process before it opens it.
    """
    from jupyter_core.paths import jupyter_runtime_dir

    file = Path(jupyter_runtime_dir()) / f"kernel-{uuid.uuid4().hex[:16]}.json"
    if os.name != "posix" or len(str(file)) > 90:  # a socket's path may have 107
        return {}
    file.parent.mkdir(parents=True, exist_ok=True)
    return {"transport": "ipc", "connection_file": str(file)}


def pytest_configure() -> None:
    """Let nbval start its kernels with sockets of their own."""
    import nbval.kernel
    from jupyter_client import KernelManager

    nbval.kernel.KernelManager = lambda **options: KernelManager(**options, **private_sockets())


def run_notebook(
    path: str | Path,
    output: str | Path,
    parameters: dict | None = None,
    cell_timeout: float | None = None,
    progress: bool = True,
) -> Path:
    """Execute a notebook in its own folder and write the executed copy to `output`.

    A run that fails or is interrupted leaves what it had as `NAME.failed.ipynb`; RuntimeError names
    the cell. ValueError before the start: a wrong parameter or scale; a file that is no notebook.
    """
    import papermill
    from nbclient.exceptions import CellTimeoutError, DeadKernelError
    from papermill.exceptions import PapermillExecutionError
    from traitlets.config import Config

    path, output = Path(path).absolute(), Path(output).absolute()
    if not path.suffix == output.suffix == ".ipynb" or path.resolve() == output.resolve():
        raise ValueError(f"expected two files that end in .ipynb, found {path} and {output}")
    check_parameters(path, parameters or {})
    output.parent.mkdir(parents=True, exist_ok=True)
    partial = output.with_name(f".{output.stem}.{os.getpid()}.partial.ipynb")
    failed = output.with_name(f"{output.stem}.failed.ipynb")
    options = {"execution_timeout": cell_timeout, "progress_bar": progress, "cwd": path.parent}
    options |= {"config": Config(KernelManager=private_sockets())}
    options |= {"extra_arguments": ["--log-level=ERROR"]}
    try:
        with naming_full_disk(output):
            papermill.execute_notebook(path, partial, parameters or {}, **options)
        os.replace(partial, output)
        failed.unlink(missing_ok=True)
        return output
    except (PapermillExecutionError, CellTimeoutError, DeadKernelError) as error:
        said = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        if isinstance(error, PapermillExecutionError):
            said = f"{error.ename}: {error.evalue}"
        code = [cell for cell in read_json(partial)["cells"] if cell["cell_type"] == "code"]
        started = sum("start_time" in cell["metadata"].get("papermill", {}) for cell in code)
        said = f"code cell [{started}] failed with {said}. What ran is in {failed}"
        raise RuntimeError(f"{path.name}: {said}") from error
    finally:
        if partial.exists():
            os.replace(partial, failed)


def tidy(notebook, resources):
    """A preprocessor of nbconvert: take out times, versions and panels, which need a kernel."""
    notebook.metadata = type(notebook)(kernelspec=KERNEL, language_info={"name": "python"})
    for cell in notebook.cells:
        for key in ("execution", "papermill", "ExecuteTime"):
            cell.metadata.pop(key, None)
        for output in cell.get("outputs", []):
            if output.get("data", {}).pop(PANEL, None):
                output.data["text/plain"] = NO_PANEL
    return notebook, resources


def draw(notebook, resources):
    """A preprocessor of nbconvert: plotly's figures as HTML; plotly.js stands in the page once."""
    from plotly.io import to_html

    library = True
    for output in (o for cell in notebook.cells for o in cell.get("outputs", [])):
        if figure := output.get("data", {}).get(FIGURE):
            text = to_html(figure, include_plotlyjs=library, full_html=False, validate=False)
            output.data, library = {"text/html": text}, False
    return notebook, resources


def write_page(executed: str | Path, page: str | Path) -> Path:
    """Write an executed notebook as one HTML file by nbconvert; plotly figures stay interactive."""
    from nbconvert.exporters import HTMLExporter

    # require.js would hide plotly.js from figures
    exporter = HTMLExporter(embed_images=True, require_js_url="", preprocessors=[tidy, draw])
    write_text(page, exporter.from_filename(str(executed))[0])
    return Path(page).absolute()
