"""Running notebooks: parameters are checked, nothing is half-written, pages, copies, kernels."""

import errno
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
import nbval.kernel
import papermill
import pytest
from jupyter_client import KernelManager
from jupyter_core.paths import jupyter_runtime_dir
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from itekit import notebooks
from itekit.__main__ import main
from itekit.notebooks import NotebookFailedError, check_parameters, parse_value, run_notebook

ROOT = Path(__file__).parents[1]
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
PARAMETERS = 'scale = None  # "smoke", "lab" or "paper"\nseed = 0\nrate = 0.1\ntrain: bool = False'
GUARD = "from itekit.notebooks import guard_parameters\nguard_parameters()"


def write(path, *cells: str):
    """Write a notebook: a heading, the parameters cell, then code cells."""
    first = new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]})
    code = [new_code_cell(source) for source in cells]
    notebook = new_notebook(cells=[new_markdown_cell("# A test"), first, *code], metadata=KERNEL)
    nbformat.write(notebook, path)
    return path


def printed(path) -> str:
    """Everything that the code cells of an executed notebook wrote to standard output."""
    cells = nbformat.read(path, 4).cells
    return "".join(o.get("text", "") for c in cells for o in c.get("outputs", []))


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setenv("ITEKIT_SCALE", "smoke")


# parameters

WRONG = [
    ({"sede": 1}, r"has no parameter 'sede'; did you mean 'seed'\? Known: scale, seed, rate,"),
    ({"zzz": 1}, r"no parameter 'zzz'\. Known: scale, seed, rate, train"),
    ({"seed": "many"}, r"parameter 'seed' is 'many' \(str\); expected int, as its default 0"),
    ({"seed": 1.5}, r"'seed' is 1\.5 \(float\); expected int"),
    ({"train": "false"}, r"'train' is 'false' \(str\); expected bool, as its default False"),
    ({"train": 0}, r"'train' is 0 \(int\); expected bool"),
]


@pytest.mark.parametrize(("parameters", "message"), WRONG)
def test_a_wrong_parameter_is_an_error_before_anything_runs(tmp_path, parameters, message):
    path = write(tmp_path / "n.ipynb")
    with pytest.raises(notebooks.ParameterError, match=message):
        run_notebook(path, tmp_path / "out.ipynb", parameters, progress=False)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["n.ipynb"]


@pytest.mark.parametrize(("parameters", "message"), WRONG)
def test_the_guard_says_the_same_inside_the_kernel(monkeypatch, parameters, message):
    injected = "# Parameters\n" + "".join(f"{k} = {v!r}\n" for k, v in parameters.items())
    shell = type("Shell", (), {"user_ns": {"In": ["", PARAMETERS, injected, GUARD], **parameters}})
    monkeypatch.setattr("builtins.get_ipython", lambda: shell, raising=False)
    with pytest.raises(notebooks.ParameterError, match=message):
        notebooks.guard_parameters()
    shell.user_ns["In"] = ["", PARAMETERS, GUARD]
    notebooks.guard_parameters()  # run by hand


def test_the_guard_stops_plain_papermill(tmp_path):
    path = write(tmp_path / "n.ipynb", GUARD, "print(seed, train)")
    command = [sys.executable, "-m", "papermill", str(path), str(tmp_path / "out.ipynb")]
    command += ["--no-progress-bar", "-p", "seed", "4", "-p", "train"]
    done = subprocess.run([*command, "false"], capture_output=True, text=True)
    assert done.returncode != 0
    assert "'train' is 'false' (str); expected bool, as its default False" in done.stderr
    subprocess.run([*command, "True"], check=True, capture_output=True)
    assert printed(tmp_path / "out.ipynb") == "4 True\n"


def test_right_parameters_and_scales_pass_and_wrong_scales_do_not(tmp_path, monkeypatch):
    path = write(tmp_path / "n.ipynb")
    check_parameters(path, {"seed": 3, "rate": 1, "scale": "paper", "train": True})
    with pytest.raises(ValueError, match="scale is 'huge'; expected one of"):
        check_parameters(path, {"scale": "huge"})
    monkeypatch.setenv("ITEKIT_SCALE", "big")
    with pytest.raises(ValueError, match="ITEKIT_SCALE is 'big'"):
        check_parameters(path, {})


@pytest.mark.parametrize(
    ("text", "value"),
    [("3", 3), ("-1", -1), ("1e-3", 1e-3), ("True", True), ("None", None), ("lab", "lab")],
)
def test_values_from_the_command_line(text, value):
    assert parse_value(text) == value and type(parse_value(text)) is type(value)


def test_names_and_values_assigned_by_a_cell():
    source = "a = -1\nb: int = 2\nif a:\n    c = 3\nd = float('nan')\nprint(e)\nf: int"
    assert notebooks.assigned(source) == {"a": -1, "b": 2, "d": None, "f": None}


# running


def test_run_works_in_the_notebooks_folder_and_leaves_one_complete_file(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    path = write(folder / "n.ipynb", GUARD, "import os\nprint(os.getcwd(), seed)")
    before = path.read_bytes()
    output = run_notebook(path, tmp_path / "new" / "out.ipynb", {"seed": 7}, progress=False)
    assert printed(output) == f"{folder} 7\n"
    assert [p.name for p in output.parent.iterdir()] == ["out.ipynb"]
    assert path.read_bytes() == before


def test_failing_cell_is_named_and_an_older_result_stays(tmp_path):
    path = write(tmp_path / "n.ipynb", "print('before')", "{}['key']")
    output = tmp_path / "out.ipynb"
    output.write_text("an older result")
    with pytest.raises(NotebookFailedError, match=r"n\.ipynb: code cell \[3\] .* KeyError"):
        run_notebook(path, output, progress=False)
    assert output.read_text() == "an older result"
    assert "before" in printed(tmp_path / "out.failed.ipynb")
    names = sorted(p.name for p in tmp_path.iterdir())
    assert names == ["n.ipynb", "out.failed.ipynb", "out.ipynb"]


@pytest.mark.parametrize(
    ("source", "cause"),
    [("import os; os.kill(os.getpid(), 9)", "kernel died"), ("while True: pass", "within 4 sec")],
)
def test_dead_kernel_and_time_out_are_failures(tmp_path, source, cause):
    path = write(tmp_path / "n.ipynb", source, "print('after')")
    with pytest.raises(NotebookFailedError, match=rf"code cell \[2\]: .*{cause}"):
        run_notebook(path, tmp_path / "out.ipynb", progress=False, cell_timeout=4)
    assert not (tmp_path / "out.ipynb").exists()


def test_full_disk_is_named_with_the_folder(tmp_path, monkeypatch):
    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(papermill, "execute_notebook", full)
    with pytest.raises(NotebookFailedError, match=rf"{tmp_path}: No space left on device"):
        run_notebook(write(tmp_path / "n.ipynb"), tmp_path / "out.ipynb")


def test_output_must_be_another_notebook_file(tmp_path):
    path = write(tmp_path / "n.ipynb")
    with pytest.raises(ValueError, match="overwrite the notebook itself"):
        run_notebook(path, path)
    with pytest.raises(ValueError, match="end in .ipynb"):
        run_notebook(path, tmp_path / "out.html")
    with pytest.raises(FileNotFoundError, match=r"no\.ipynb"):
        run_notebook(tmp_path / "no.ipynb", tmp_path / "out.ipynb")
    for text in ("", "[[[", "[]", '{"cells": 3}', "\x00"):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"n\.ipynb: "):
            run_notebook(path, tmp_path / "out.ipynb")


# pages, refreshed notebooks, and copies for students


def recipe(target: str, **variables: str) -> list[str]:
    """The last command that the Makefile runs for a target."""
    words = [f"{name}={value}" for name, value in variables.items()]
    make = ["make", "-n", target, "BIN=" + str(Path(sys.executable).parent), *words]
    done = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=True)
    return shlex.split(done.stdout.replace("\\\n", " ").strip().splitlines()[-1])


@pytest.fixture
def executed(tmp_path):
    """A notebook whose cell shows a figure, twice, and a panel; and a cell with a solution."""
    figure = {"data": [{"type": "scatter", "y": [3, 2, 1], "name": "the-trace"}], "layout": {}}
    panel = {notebooks.PANEL: {"model_id": "1"}, "text/plain": "VBox(children=())"}
    shown = [{notebooks.FIGURE: figure, "text/plain": "a line"}] * 2 + [panel]
    outputs = [new_output("display_data", data=data) for data in shown]
    timed = {"execution": {"iopub.execute_input": "now"}}
    cells = [
        new_markdown_cell("# Title"),
        new_code_cell("1 + 1", outputs=outputs, execution_count=1, metadata=timed),
        new_code_cell("secret = 42", metadata={"tags": ["solution"]}),
    ]
    path = tmp_path / "n.ipynb"
    nbformat.write(new_notebook(cells=cells, metadata=KERNEL | {"widgets": {"state": {}}}), path)
    return path


def test_a_page_holds_interactive_figures_and_plotly_once(executed, tmp_path):
    page = notebooks.write_page(executed, tmp_path / "deep" / "n.html").read_text()
    assert page.count("the-trace") == 2 and page.count("plotly.js v") == 1
    assert page.index("plotly.js v") < page.index("Plotly.newPlot(")
    assert notebooks.NO_PANEL in page and "VBox" not in page
    loaded = re.findall(r'<script[^>]* src="([^"]+)"', page)
    assert all("/mathjax/" in address for address in loaded), "a network is for formulas only"


def test_student_copies_have_no_outputs_and_no_solutions(executed, tmp_path):
    folder = tmp_path / "class"
    subprocess.run(recipe("student", STUDENT=folder, LESSONS=executed), cwd=ROOT, check=True)
    made = nbformat.read(folder / "n.ipynb", 4)
    assert [cell.source for cell in made.cells] == ["# Title", "1 + 1"]
    assert made.cells[1].outputs == [] and made.cells[1].execution_count is None
    assert set(made.metadata) == {"kernelspec", "language_info"}


def test_refresh_keeps_outputs_and_drops_what_changes_without_meaning(tmp_path):
    path = write(tmp_path / "n.ipynb", "import os\nprint(os.environ['ITEKIT_SCALE'])")
    first = None
    for _ in range(2):
        subprocess.run(recipe("refresh", NOTEBOOKS=path), cwd=ROOT, check=True)
        assert first in (None, path.read_bytes()), "the second time changes nothing"
        first = path.read_bytes()
    notebook = nbformat.read(path, 4)
    assert printed(path) == "smoke\n"  # the variable is set for make's recipe alone
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert all(not set(cell.metadata) - {"tags"} for cell in notebook.cells)
    path = write(path, "1 / 0")
    before = path.read_bytes()
    assert subprocess.run(recipe("refresh", NOTEBOOKS=path), cwd=ROOT).returncode
    assert path.read_bytes() == before


# kernels

TRANSPORT = (
    "from ipykernel.connect import get_connection_info\n"
    "print(get_connection_info(unpack=True)['transport'])"
)


def test_kernels_have_sockets_of_their_own(tmp_path, monkeypatch):
    with TemporaryDirectory() as short:
        monkeypatch.setenv("JUPYTER_RUNTIME_DIR", short)
        output = run_notebook(write(tmp_path / "n.ipynb", TRANSPORT), tmp_path / "out.ipynb")
        assert "ipc" in printed(output)
        assert not list(Path(short).glob("kernel-*")), "no connection file, no socket is left"


def test_nbval_starts_such_kernels_too_unless_the_path_is_too_long(monkeypatch):
    monkeypatch.setattr(nbval.kernel, "KernelManager", None)
    notebooks.pytest_configure()
    manager = nbval.kernel.KernelManager()
    assert isinstance(manager, KernelManager)
    assert manager.transport == "ipc" and manager.ip.startswith(jupyter_runtime_dir())
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", "/" + "long" * 20)
    assert nbval.kernel.KernelManager().transport == "tcp"


# the command


def test_run_command_writes_both_files_and_says_where(tmp_path, capsys):
    path = write(tmp_path / "n.ipynb", GUARD, "print(scale, seed)")
    out, page = tmp_path / "r" / "n.ipynb", tmp_path / "r" / "n.html"
    arguments = ["run", str(path), "-p", "seed", "5", "--output", str(out), "--html", str(page)]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert str(out) in said and str(page) in said
    assert "None 5" in page.read_text()


def test_run_command_ends_with_one_line(tmp_path, capsys):
    path = str(write(tmp_path / "n.ipynb", "1 / 0"))
    out = ["--output", str(tmp_path / "out.ipynb")]
    assert main(["run", path, "-p", "train", "false", *out]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1 and "'train' is 'false'" in message
    assert main(["run", path, *out]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().err.splitlines()[-1]
