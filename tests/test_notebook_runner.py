"""Running notebooks: parameters are checked, nothing is half-written; pages, copies, kernels."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
import pytest
from nbformat.v4 import new_output
from toy_notebooks import printed, write
from traitlets.config import Config

from itekit import notebooks
from itekit.__main__ import main
from itekit.notebooks import check_parameters, run_notebook

ROOT = Path(__file__).parents[1]
PAGES = runpy.run_path(str(ROOT / "docs" / "pages.py"))
CONFIG = runpy.run_path(str(ROOT / "docs" / "jupyter_config.py"), {"c": Config()})
TRANSPORT = "import ipykernel\nprint(ipykernel.get_connection_info(unpack=True)['transport'])"
GUARD = "from itekit.notebooks import guard_parameters\nguard_parameters()"


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setenv("ITEKIT_SCALE", "smoke")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sede": 1}, r"has no parameter 'sede'; known: scale, seed, rate, train,"),
        ({"seed": "many"}, r"parameter 'seed' is 'many' \(str\); expected int, as its default 0"),
        ({"scale": "huge"}, r"scale is 'huge'; expected one of"),
    ],
)
def test_a_wrong_parameter_is_an_error_before_the_run(tmp_path, parameters, message):
    path = write(tmp_path / "n.ipynb")
    with pytest.raises(ValueError, match=message):
        run_notebook(path, tmp_path / "out.ipynb", parameters)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["n.ipynb"]
    check_parameters(path, {"seed": 3, "rate": 1, "scale": "paper", "train": True})


def test_the_guard_stops_plain_papermill(tmp_path):
    """What is right runs on: `test_a_run_works_in_the_notebooks_folder`."""
    path = write(tmp_path / "n.ipynb", GUARD)
    command = [sys.executable, "-m", "papermill", str(path), str(tmp_path / "out.ipynb")]
    command += ["--no-progress-bar", "-p", "seed", "4", "-p", "train", "false"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0
    assert "'train' is 'false' (str); expected bool, as its default False" in done.stderr


def test_a_run_works_in_the_notebooks_folder_and_leaves_one_complete_file(
    tmp_path, monkeypatch, capsys
):
    """It prints what the notebook prints."""
    folder, output = tmp_path / "in", tmp_path / "new" / "out.ipynb"
    folder.mkdir()
    path = write(folder / "n.ipynb", GUARD, f"import os\nprint(os.getcwd(), seed)\n{TRANSPORT}")
    before = path.read_bytes()
    with TemporaryDirectory() as short:
        monkeypatch.setenv("JUPYTER_RUNTIME_DIR", short)
        assert main(["run", str(path), "--output", str(output), "-p", "seed", "7"]) == 0
        assert not list(Path(short).glob("kernel-*")), "no connection file, no socket is left"
    said = f"{folder} 7\nipc\n"
    assert printed(output) == said and capsys.readouterr().out == f"{said}notebook  {output}\n"
    assert list(output.parent.iterdir()) == [output] and output.stat().st_mode & 0o777 == 0o644
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("{}['key']", "KeyError: 'key'"),
        ("import os; os.kill(os.getpid(), 9)", "Kernel died"),
        ("while True: pass", "timed out .* after 4 seconds"),
    ],
)
def test_a_failing_cell_is_named_and_an_older_result_stays(tmp_path, source, cause):
    path, output = write(tmp_path / "n.ipynb", "print('before')", source), tmp_path / "out.ipynb"
    output.write_text("an older result")
    with pytest.raises(RuntimeError, match=rf"n\.ipynb: code cell \[3\] failed with .*{cause}"):
        run_notebook(path, output, cell_timeout=4)
    assert output.read_text() == "an older result"
    assert "before" in printed(tmp_path / "out.failed.ipynb")
    names = sorted(p.name for p in tmp_path.iterdir())
    assert names == ["n.ipynb", "out.failed.ipynb", "out.ipynb"]


def test_files_that_cannot_be_run_are_named(tmp_path, capsys):
    path, output = write(tmp_path / "n.ipynb"), tmp_path / "out.ipynb"
    for wrong in (path, tmp_path / "out.html"):
        with pytest.raises(ValueError, match="expected two files that end in .ipynb"):
            run_notebook(path, wrong)
    notebook = nbformat.read(path, 4)
    notebook.metadata["kernelspec"]["name"] = "fortran"
    nbformat.write(notebook, path)
    assert main(["run", str(path), "--output", str(output)]) == 2
    assert "n.ipynb: its kernel 'fortran' is not installed" in capsys.readouterr().err
    for text in ("", "[]", '{"cells": 3}', '{"cells": [3]}'):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"n\.ipynb: "):
            run_notebook(path, output)
    assert [p.name for p in tmp_path.iterdir()] == ["n.ipynb"]


@pytest.fixture
def executed(tmp_path):
    """A notebook whose cell shows a figure, twice, and two panels; and a cell with a solution.

    The second panel needs no kernel.
    """
    figure = {PAGES["FIGURE"]: {"data": [{"y": [3, 2, 1], "name": "the-trace"}], "layout": {}}}
    panel = {notebooks.PANEL: {"model_id": "1"}, "text/plain": "VBox(children=())"}
    alive = {"text/html": "<p>alive</p>", "text/plain": notebooks.NO_PANEL}
    outputs = [new_output("display_data", data=data) for data in (figure, figure, panel, alive)]
    path = write(tmp_path / "n.ipynb", "1 + 1", "secret = 42")
    notebook = nbformat.read(path, 4)
    notebook.cells[2].update(outputs=outputs, execution_count=1, metadata={"execution": {"a": "b"}})
    notebook.cells[3].metadata["tags"] = ["solution"]
    notebook.metadata["widgets"] = {"state": {}}
    nbformat.write(notebook, path)
    return path


def test_a_page_holds_figures_formulas_and_panels_and_loads_nothing(executed, tmp_path):
    notebook = nbformat.read(executed, 4)
    notebook.cells[0].source += "\n\nHalf is $\\frac12 \\mathbf U$."
    nbformat.write(notebook, executed)
    page = PAGES["write_page"](executed, tmp_path / "deep" / "n.html").read_text()
    assert page.count("the-trace") == 2 and page.count("plotly.js v") == 1
    assert page.index("plotly.js v") < page.index("Plotly.newPlot(")
    assert notebooks.NO_PANEL in page and "VBox" not in page and "<p>alive</p>" in page
    assert "<mfrac>" in page and "\N{MATHEMATICAL BOLD CAPITAL U}" in page and "$\\frac" not in page
    assert not re.findall(r'<(?:script|img|iframe)[^>]* src="(?!data:)|<link', page)


def test_student_copies_have_no_outputs_no_solutions_and_links_that_lead_somewhere(tmp_path):
    folder = tmp_path / "class"
    subprocess.run([sys.executable, ROOT / "docs" / "handout.py", folder], check=True)
    notebooks = sorted(folder.rglob("*.ipynb"))
    assert len(notebooks) > 30 and not any("solutions" in path.parts for path in notebooks)
    for path in notebooks:
        notebook = nbformat.read(path, 4)
        for cell in notebook.cells:
            assert not cell.get("outputs") and "solution" not in cell.metadata.get("tags", [])
            if cell.cell_type == "markdown":
                for link in re.findall(r"\]\(([^)#\s]+)", cell.source):
                    beside = ROOT / "class" / path.relative_to(folder).parent / link
                    places = path.parent / link, Path(os.path.normpath(beside))
                    assert ":" in link or any(place.exists() for place in places), (path, link)


@pytest.mark.parametrize("path", sorted(ROOT.glob("notebooks/**/*.ipynb")), ids=lambda p: p.stem)
def test_a_notebook_is_small_and_as_jupyterlab_writes_it(path):
    """So that to open and to save it changes nothing: its numbers, its layout, its metadata."""
    text = path.read_text(encoding="utf-8")
    assert len(text.encode()) <= 1e6
    notebook, _ = CONFIG["tidy"](nbformat.reads(text, 4), {})
    assert nbformat.writes(notebook) + "\n" == text, "make refresh, or JupyterLab, would change it"
    assert repr(CONFIG["as_javascript"]([1.0, -0.0, 0.5, 1e21])) == "[1, 0, 0.5, 1e+21]"
