"""Notebooks run headless by papermill, with clear words about what went wrong.

papermill takes a mistyped parameter without a word, and `-p train false` as a text, which is true.
`run_notebook` compares names and types with the notebook's `parameters` cell before it starts;
`guard_parameters`, called by the cell after that one, does the same inside the kernel for people
who call papermill themselves.

As a pytest plugin (`pytest -p itekit.notebooks --nbval-lax ...`) this module gives nbval kernels
that several processes can start at the same time.
"""

import ast
import contextlib
import difflib
import os
import uuid
from pathlib import Path

from itekit.files import read_json, write_text

FIGURE = "application/vnd.plotly.v1+json"
PANEL = "application/vnd.jupyter.widget-view+json"
NO_PANEL = "(a panel of controls: run this cell in JupyterLab to use it)"


class ParameterError(ValueError):
    """A parameter that the notebook does not have, or a value of the wrong type."""


class NotebookFailedError(RuntimeError):
    """A cell raised an error, took too long, or its kernel died."""


def parse_value(text: str):
    """The value that `text` names on a command line: a number, True, False, None or the text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def assigned(source: str) -> dict:
    """Name -> value of what a cell's top level assigns; None stands for what is no literal."""
    found = {}
    for node in ast.parse(source).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in (target for target in targets if isinstance(target, ast.Name)):
            found[target.id] = None
            with contextlib.suppress(ValueError):
                found[target.id] = ast.literal_eval(node.value)
    return found


def known_parameters(path: str | Path) -> dict:
    """Name -> default of a notebook's `parameters` cell, as `assigned` gives them.

    Raises:
        FileNotFoundError: no such file.
        ValueError: it is no notebook.
    """
    try:
        cells = read_json(path, dict)["cells"]
        tagged = [cell for cell in cells if "parameters" in cell["metadata"].get("tags", [])]
        return assigned("".join(tagged[0]["source"])) if tagged else {}
    except (AttributeError, KeyError, TypeError, SyntaxError) as error:
        raise ValueError(f"{path}: not a notebook: {type(error).__name__}: {error}") from error


def check_values(known: dict, given: dict, where: str) -> None:
    """Raise ParameterError unless each name in `given` is known and fits its default's type.

    A default of None takes any value; an int is accepted where the default is a float.
    """
    for name, value in given.items():
        if name not in known:
            close = difflib.get_close_matches(name, known, 1, 0.5)
            hint = f"; did you mean {close[0]!r}?" if close else "."
            names = ", ".join(known) or "none"
            raise ParameterError(f"{where} has no parameter {name!r}{hint} Known: {names}")
        default, kind = known[name], type(known[name])
        fits = type(value) is kind or (kind is float and type(value) is int)
        if default is not None and not fits:
            raise ParameterError(
                f"{where}: parameter {name!r} is {value!r} ({type(value).__name__}); expected "
                f"{kind.__name__}, as its default {default!r}"
            )


def check_parameters(path: str | Path, parameters: dict) -> None:
    """Raise ParameterError for parameters that the notebook does not take, ValueError for a scale.

    The value of `scale`, or of ITEKIT_SCALE when it is not given, must be a scale.
    """
    from itekit.experiments import resolve_scale

    check_values(known_parameters(path), parameters, Path(path).name)
    resolve_scale(parameters.get("scale"))


def guard_parameters() -> None:
    """Raise ParameterError when papermill injected what the `parameters` cell does not take.

    papermill's injected cell begins with "# Parameters" and runs just after the `parameters` cell,
    this function's caller next. Outside papermill there is nothing to check.
    """
    import builtins

    shell = getattr(builtins, "get_ipython", lambda: None)()
    cells = shell.user_ns.get("In", []) if shell is not None else []
    places = [i for i, source in enumerate(cells) if source.startswith("# Parameters\n")]
    if places:
        known = assigned(cells[places[-1] - 1])
        given = {name: shell.user_ns[name] for name in assigned(cells[places[-1]])}
        check_values(known, given, "this notebook")


def run_notebook(
    path: str | Path,
    output: str | Path,
    parameters: dict | None = None,
    *,
    cell_timeout: float | None = None,
    progress: bool = True,
) -> Path:
    """Execute a notebook in its own folder and write the executed copy to `output`.

    Under its final name the copy is always complete: it grows under a temporary name beside it. A
    run that fails or is interrupted leaves what it had as `NAME.failed.ipynb`.

    Raises:
        ValueError: before the start: a wrong parameter or scale; files that are no notebooks.
        FileNotFoundError: no such notebook.
        NotebookFailedError: names the cell that failed.
    """
    import papermill
    from jupyter_client import AsyncKernelManager
    from nbclient.exceptions import CellTimeoutError, DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    path, output = Path(path).absolute(), Path(output).absolute()
    if path.suffix != ".ipynb" or output.suffix != ".ipynb":
        raise ValueError(f"expected files that end in .ipynb; found {path.name} and {output.name}")
    if path.resolve() == output.resolve():
        raise ValueError(f"the output would overwrite the notebook itself: {output}")
    check_parameters(path, parameters or {})
    output.parent.mkdir(parents=True, exist_ok=True)
    partial = output.with_name(f".{output.stem}.{os.getpid()}.partial.ipynb")
    failed = output.with_name(f"{output.stem}.failed.ipynb")
    end = f". What ran is in {failed}"
    try:
        papermill.execute_notebook(
            str(path),
            str(partial),
            parameters or {},
            cwd=str(path.parent),
            progress_bar=progress,
            execution_timeout=cell_timeout,
            kernel_manager_class=private(AsyncKernelManager),
            extra_arguments=["--log-level=ERROR"],
        )
        os.replace(partial, output)
    except PapermillExecutionError as error:
        said = f"code cell [{error.exec_count}] failed with {error.ename}: {error.evalue}".strip()
        raise NotebookFailedError(f"{path.name}: {said}{end}") from error
    except (DeadKernelError, CellTimeoutError) as error:
        said = "its kernel died (killed, or out of memory)"
        if isinstance(error, CellTimeoutError):
            said = f"no answer within {cell_timeout} seconds"
        said = f"{unfinished_cell(partial)}: {said}"
        raise NotebookFailedError(f"{path.name}: {said}{end}") from error
    except OSError as error:
        raise NotebookFailedError(f"{path.name}: {output.parent}: {error.strerror}") from error
    finally:
        if partial.exists():
            os.replace(partial, failed)
    failed.unlink(missing_ok=True)
    return output


def unfinished_cell(path: Path) -> str:
    """Say which code cell of a partly executed notebook was the last to start."""
    import nbformat

    code = [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    starts = [cell.metadata.get("papermill", {}).get("start_time") for cell in code]
    started = [number for number, start in enumerate(starts, 1) if start]
    return f"code cell [{started[-1]}]" if started else "the kernel did not start"


def tidy(notebook, resources):
    """A preprocessor of nbconvert: take out what changes from run to run without a meaning.

    That is execution times, the interpreter's version, and the views of panels, which no page or
    viewer can show without a kernel.
    """
    notebook.metadata = type(notebook)(
        kernelspec={"display_name": "Python 3", "language": "python", "name": "python3"},
        language_info={"name": "python"},
    )
    for cell in notebook.cells:
        for key in ("execution", "papermill", "ExecuteTime"):
            cell.metadata.pop(key, None)
        for output in cell.get("outputs", []):
            if output.get("data", {}).pop(PANEL, None):
                output.data["text/plain"] = NO_PANEL
    return notebook, resources


def write_page(executed: str | Path, page: str | Path) -> Path:
    """Write an executed notebook as one HTML file by nbconvert; plotly figures stay interactive.

    Only formulas need a network (MathJax); without one they stand there as LaTeX.
    """
    import nbformat
    from nbconvert.exporters import HTMLExporter
    from plotly.io import to_html

    notebook, _ = tidy(nbformat.read(executed, 4), {})
    library = True  # plotly.js stands in the page once
    for output in (o for cell in notebook.cells for o in cell.get("outputs", [])):
        if figure := output.get("data", {}).get(FIGURE):
            figure = {key: figure[key] for key in ("data", "layout") if key in figure}
            text = to_html(figure, include_plotlyjs=library, full_html=False, validate=False)
            output.data, library = {"text/html": text}, False
    exporter = HTMLExporter(embed_images=True, require_js_url="")  # it hides plotly.js from figures
    resources = {"metadata": {"name": Path(executed).stem, "path": str(Path(executed).parent)}}
    write_text(page, exporter.from_notebook_node(notebook, resources)[0])
    return Path(page).absolute()


def private(manager: type) -> type:
    """A class of kernel managers whose kernels talk through sockets in the file system.

    A kernel's ports are chosen before it opens them; where another process takes one in between,
    the kernel dies before its first answer.
    """
    from jupyter_core.paths import jupyter_runtime_dir

    class Private(manager):
        def __init__(self, **options):
            file = Path(jupyter_runtime_dir()) / f"kernel-{uuid.uuid4().hex[:16]}.json"
            if os.name == "posix" and len(str(file)) <= 90:  # a socket's path may have 107
                file.parent.mkdir(parents=True, exist_ok=True)
                options |= {"transport": "ipc", "connection_file": str(file)}
            super().__init__(**options)

    return Private


def pytest_configure() -> None:
    """Let nbval start its kernels with sockets of their own."""
    import nbval.kernel
    from jupyter_client import KernelManager

    nbval.kernel.KernelManager = private(KernelManager)
