"""Run a notebook headless with papermill, and say clearly what went wrong when it does.

papermill takes a mistyped parameter without a word; `run_notebook` compares names and types with
the notebook's `parameters` cell before it starts, and `guard_parameters`, called by the cell after
that one, does the same inside the kernel for people who call papermill themselves.
"""

import ast
import difflib
import os
from pathlib import Path

from itekit.scale import resolve_scale


class ParameterError(ValueError):
    """A parameter that the notebook does not have, or a value of the wrong type."""


class NotebookFailedError(RuntimeError):
    """A cell raised an error, took too long, or its kernel died."""


def parse_value(text: str):
    """Return the value that `text` names on a command line: a number, True, False, None or text."""
    constants = {"True": True, "False": False, "None": None}
    if text in constants:
        return constants[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def known_parameters(path: str | Path) -> dict[str, str]:
    """Return the names in the notebook's `parameters` cell with the source of their defaults."""
    from papermill import inspect_notebook

    return {name: found["default"] for name, found in inspect_notebook(str(path)).items()}


def unknown_parameter_message(name: str, known: list[str], where: str) -> str:
    """Return the message for a parameter that `where` does not have, with the closest known."""
    close = difflib.get_close_matches(name, known, 1, 0.5)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    return f"{where} has no parameter {name!r}{hint} Known: {', '.join(known) or 'none'}"


def check_parameters(path: str | Path, parameters: dict) -> None:
    """Raise ParameterError unless every parameter is in the notebook and fits its default's type.

    A default of None takes any value; an int is accepted where the default is a float. The value
    of `scale`, or of ITEKIT_SCALE when it is not given, must be a scale (ValueError).
    """
    known = known_parameters(path)
    name = Path(path).name
    for key, value in parameters.items():
        if key not in known:
            raise ParameterError(unknown_parameter_message(key, list(known), name))
        try:
            default = ast.literal_eval(known[key])
        except (ValueError, SyntaxError):
            continue
        kind = type(default)
        fits = type(value) is kind or (kind is float and type(value) is int)
        if default is not None and not fits:
            raise ParameterError(
                f"{name}: parameter {key!r} is {value!r} ({type(value).__name__}); expected "
                f"{kind.__name__}, as its default {known[key]}"
            )
    resolve_scale(parameters.get("scale"))


def assigned_names(source: str) -> list[str]:
    """Return the names that the top-level statements of `source` assign, in order."""
    names = []
    for node in ast.parse(source).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names += [target.id for target in targets if isinstance(target, ast.Name)]
    return names


def guard_parameters(cells: list[str] | None = None) -> None:
    """Raise ParameterError when papermill injected a name that the `parameters` cell lacks.

    Called with nothing by the cell after the `parameters` cell: `cells` is then IPython's list of
    the sources run so far. papermill's injected cell begins with "# Parameters" and runs just
    after the `parameters` cell. Outside papermill, or outside IPython, there is nothing to check.
    """
    if cells is None:
        import builtins

        shell = getattr(builtins, "get_ipython", lambda: None)()
        cells = shell.user_ns.get("In", []) if shell is not None else []
    places = [i for i, source in enumerate(cells) if source.startswith("# Parameters\n")]
    if not places:
        return
    at = places[-1]
    known = assigned_names(cells[at - 1]) if at else []
    for name in assigned_names(cells[at]):
        if name not in known:
            raise ParameterError(unknown_parameter_message(name, known, "this notebook"))


def check_paths(path: Path, output: Path) -> None:
    """Raise FileNotFoundError or ValueError unless `path` can be run into `output`."""
    if not path.is_file():
        raise FileNotFoundError(f"no notebook {path}")
    if path.suffix != ".ipynb" or output.suffix != ".ipynb":
        raise ValueError(f"expected files that end in .ipynb; found {path.name} and {output.name}")
    if path.resolve() == output.resolve():
        raise ValueError(f"the output would overwrite the notebook itself: {output}")


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

    Raises ParameterError or ValueError before the start for a wrong parameter or scale,
    FileNotFoundError for a missing notebook, NotebookFailedError naming the cell that failed.
    """
    path, output = Path(path).absolute(), Path(output).absolute()
    check_paths(path, output)
    check_parameters(path, parameters or {})
    output.parent.mkdir(parents=True, exist_ok=True)
    partial = output.with_name(f".{output.stem}.{os.getpid()}.partial.ipynb")
    failed = output.with_name(f"{output.stem}.failed.ipynb")
    try:
        _execute(path, partial, parameters or {}, cell_timeout, progress)
        os.replace(partial, output)
    except NotebookFailedError as error:
        raise NotebookFailedError(f"{error}. What ran is in {failed}") from error.__cause__
    finally:
        if partial.exists():
            os.replace(partial, failed)
    failed.unlink(missing_ok=True)
    return output


def _execute(path: Path, partial: Path, parameters: dict, timeout, progress: bool) -> None:
    """Run papermill, with its ways of failing turned into NotebookFailedError."""
    import papermill
    from nbclient.exceptions import CellTimeoutError, DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    from itekit.kernels import AsyncPrivateKernelManager

    try:
        papermill.execute_notebook(
            str(path),
            str(partial),
            parameters,
            cwd=str(path.parent),
            progress_bar=progress,
            execution_timeout=timeout,
            kernel_manager_class=AsyncPrivateKernelManager,
            extra_arguments=["--log-level=ERROR"],
        )
    except PapermillExecutionError as error:
        text = f"{error.ename}: {error.evalue}".strip()
        raise NotebookFailedError(
            f"{path.name}: code cell [{error.exec_count}] failed with {text}"
        ) from error
    except (DeadKernelError, CellTimeoutError) as error:
        cause = "its kernel died (killed, or out of memory)"
        if isinstance(error, CellTimeoutError):
            cause = f"no answer within {timeout} seconds"
        where = unfinished_cell(partial)
        raise NotebookFailedError(f"{path.name}: {where}: {cause}") from error
    except OSError as error:
        raise NotebookFailedError(f"{path.name}: {partial.parent}: {error.strerror}") from error


def unfinished_cell(path: Path) -> str:
    """Say which code cell of a partly executed notebook was the last to start."""
    import nbformat

    code = [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    starts = [cell.metadata.get("papermill", {}).get("start_time") for cell in code]
    started = [number for number, start in enumerate(starts, 1) if start]
    return f"code cell [{started[-1]}]" if started else "the kernel did not start"
