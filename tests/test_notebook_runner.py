"""Running notebooks: parameters are checked, nothing half-written, the page needs no network."""

import errno
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
import nbval.kernel
import papermill
import pytest
from jupyter_core.paths import jupyter_runtime_dir
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from itekit import __main__ as command_line
from itekit import doctor, kernels, refresh, report
from itekit.notebooks import (
    NotebookFailedError,
    ParameterError,
    assigned_names,
    check_parameters,
    guard_parameters,
    parse_value,
    run_notebook,
)

KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
PARAMETERS = 'scale = None  # "smoke", "lab" or "paper"\nseed = 0\nrate = 0.1  # a float'
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
def kernel_environment(monkeypatch):
    """Kernels run at smoke size and find the package, installed or not."""
    monkeypatch.setenv("ITEKIT_SCALE", "smoke")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]), prepend=os.pathsep)


# parameters


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sede": 1}, r"n\.ipynb has no parameter 'sede'; did you mean 'seed'\? Known: scale,"),
        ({"zzz": 1}, r"no parameter 'zzz'\. Known: scale, seed, rate"),
        ({"seed": "many"}, r"parameter 'seed' is 'many' \(str\); expected int, as its default 0"),
        ({"seed": 1.5}, r"'seed' is 1\.5 \(float\); expected int"),
        ({"scale": "huge"}, r"scale is 'huge'; expected one of \"smoke\", \"lab\", \"paper\""),
    ],
)
def test_wrong_parameter_is_an_error_before_anything_runs(tmp_path, parameters, message):
    path = write(tmp_path / "n.ipynb")
    with pytest.raises(ValueError, match=message):
        run_notebook(path, tmp_path / "out.ipynb", parameters, progress=False)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["n.ipynb"]


def test_right_parameters_pass(tmp_path):
    check_parameters(write(tmp_path / "n.ipynb"), {"seed": 3, "rate": 1, "scale": "paper"})


def test_wrong_scale_variable_is_found_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("ITEKIT_SCALE", "big")
    with pytest.raises(ValueError, match="ITEKIT_SCALE is 'big'"):
        check_parameters(write(tmp_path / "n.ipynb"), {})


@pytest.mark.parametrize(
    ("text", "value"),
    [("3", 3), ("-1", -1), ("1e-3", 1e-3), ("True", True), ("None", None), ("lab", "lab")],
)
def test_values_from_the_command_line(text, value):
    assert parse_value(text) == value
    assert type(parse_value(text)) is type(value)


def test_names_assigned_by_a_cell():
    source = "a = 1\nb: int = 2\nif a:\n    c = 3\nd += 1\nprint(e)"
    assert assigned_names(source) == ["a", "b", "d"]


def test_guard_compares_the_injected_cell_with_the_one_before():
    guard_parameters(["", PARAMETERS, "# Parameters\nseed = 4\n", GUARD])
    guard_parameters(["", PARAMETERS, GUARD])
    guard_parameters()  # outside IPython
    with pytest.raises(ParameterError, match="no parameter 'sede'; did you mean 'seed'"):
        guard_parameters(["", PARAMETERS, "# Parameters\nsede = 4\n", GUARD])


def test_guard_stops_plain_papermill(tmp_path):
    path = write(tmp_path / "n.ipynb", GUARD, "print(seed)")
    arguments = {"cwd": str(tmp_path), "progress_bar": False}
    out = str(tmp_path / "out.ipynb")
    with pytest.raises(papermill.PapermillExecutionError, match="did you mean 'seed'"):
        papermill.execute_notebook(str(path), out, {"sede": 4}, **arguments)
    papermill.execute_notebook(str(path), out, {"seed": 4}, **arguments)
    assert printed(out) == "4\n"


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

    path = write(tmp_path / "n.ipynb")
    monkeypatch.setattr(papermill, "execute_notebook", full)
    with pytest.raises(NotebookFailedError, match=rf"{tmp_path}: No space left on device"):
        run_notebook(path, tmp_path / "out.ipynb")
    assert not (tmp_path / "out.ipynb").exists()


def test_output_must_be_another_notebook_file(tmp_path):
    path = write(tmp_path / "n.ipynb")
    with pytest.raises(ValueError, match="overwrite the notebook itself"):
        run_notebook(path, path)
    with pytest.raises(ValueError, match="end in .ipynb"):
        run_notebook(path, tmp_path / "out.html")
    with pytest.raises(FileNotFoundError, match=r"no\.ipynb"):
        run_notebook(tmp_path / "no.ipynb", tmp_path / "out.ipynb")


# the page


def executed(path, *outputs: dict, text: str = "# Title"):
    """Write a notebook whose one code cell shows `outputs` (data by type)."""
    shown = [new_output("display_data", data=data) for data in outputs]
    cell = new_code_cell("show()", outputs=shown, execution_count=1)
    nbformat.write(new_notebook(cells=[new_markdown_cell(text), cell], metadata=KERNEL), path)
    return path


def figure(alt: str = "a falling line") -> dict:
    """The output of a plotly figure, as a notebook stores it."""
    data = [{"type": "scatter", "y": [3, 2, 1], "name": "the-trace"}]
    layout = {"meta": {"alt": alt}}
    return {report.PLOTLY: {"data": data, "layout": layout}, "text/plain": alt}


def test_page_loads_nothing_and_holds_plotly_once(tmp_path):
    path = executed(tmp_path / "n.ipynb", figure(), figure('a "rising" line'))
    page = report.report_html(path, tmp_path / "deep" / "n.html").read_text()
    assert report.external_sources(page) == []
    assert page.count("the-trace") == 2
    assert page.count("plotly.js v") == 1
    assert page.index("plotly.js v") < page.index("Plotly.newPlot(")
    assert 'aria-label="a falling line"' in page
    assert "cdnjs" not in page
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["n.html"]


def test_page_without_figures_is_small(tmp_path):
    path = executed(tmp_path / "n.ipynb", {"text/plain": "5"})
    assert report.report_html(path, tmp_path / "n.html").stat().st_size < 10**6


def test_page_shows_formulas_as_mathml_and_keeps_what_it_cannot_read(tmp_path):
    text = "$U \\in \\mathbb{R}^{V}$\n\n$$\\frac{a}{b}$$\n\n$\\nosuchthing{x}$ and `$code$`"
    page = report.report_html(executed(tmp_path / "n.ipynb", text=text), tmp_path / "n.html")
    page = page.read_text()
    assert page.count("<math") == 2
    assert "<mfrac>" in page
    assert r"$\nosuchthing{x}$" in page
    assert "<code>$code$</code>" in page


def test_page_says_where_a_panel_of_widgets_was(tmp_path):
    widget = {report.WIDGET: {"model_id": "1"}, "text/plain": "VBox(children=())"}
    page = report.report_html(executed(tmp_path / "n.ipynb", widget), tmp_path / "n.html")
    assert report.PANEL in page.read_text()
    assert "VBox" not in page.read_text()


def test_page_that_would_load_a_picture_is_refused(tmp_path):
    path = executed(tmp_path / "n.ipynb", text="![x](https://example.org/x.png)")
    with pytest.raises(ValueError, match=r"load https://example\.org/x\.png"):
        report.report_html(path, tmp_path / "n.html")
    assert not (tmp_path / "n.html").exists()


# refresh


def test_refresh_keeps_outputs_and_drops_what_changes_without_meaning(tmp_path):
    path = write(tmp_path / "n.ipynb", "import os\nprint(os.environ['ITEKIT_SCALE'])")
    size = refresh.refresh_notebook(path)
    notebook = nbformat.read(path, 4)
    assert printed(path) == "lab\n"
    assert size == path.stat().st_size
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert all(not set(cell.metadata) - {"tags"} for cell in notebook.cells)
    first = path.read_bytes()
    refresh.refresh_notebook(path)
    assert path.read_bytes() == first


@pytest.mark.parametrize(
    ("source", "error"), [("1 / 0", NotebookFailedError), ("print('x' * 2_000_000)", ValueError)]
)
def test_refresh_that_fails_changes_nothing(tmp_path, source, error):
    path = write(tmp_path / "n.ipynb", source)
    before = path.read_bytes()
    with pytest.raises(error, match=r"n\.ipynb: (ZeroDivisionError|2\.0 MB)"):
        refresh.refresh_notebook(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["n.ipynb"]


def test_tidy_takes_widget_views_out():
    data = {refresh.WIDGET: {"model_id": "1"}, "text/plain": "VBox(children=())"}
    cell = new_code_cell("panel()", outputs=[new_output("display_data", data=data)])
    notebook = new_notebook(cells=[cell], metadata={"widgets": {"state": {}}})
    refresh.tidy(notebook)
    assert cell.outputs[0].data == {"text/plain": refresh.PANEL}
    assert "widgets" not in notebook.metadata


# the command line


def test_run_command_writes_both_files_and_says_where(tmp_path, capsys):
    path = write(tmp_path / "n.ipynb", GUARD, "print(scale, seed)")
    out, page = tmp_path / "r" / "n.ipynb", tmp_path / "r" / "n.html"
    arguments = ["run", str(path), "-p", "seed", "5", "--output", str(out), "--html", str(page)]
    assert command_line.main(arguments) == 0
    said = capsys.readouterr().out
    assert str(out) in said
    assert str(page) in said
    assert "None 5" in page.read_text()


def test_run_command_ends_with_one_message(tmp_path, capsys):
    path = str(write(tmp_path / "n.ipynb", "1 / 0"))
    out = str(tmp_path / "out.ipynb")
    assert command_line.main(["run", path, "-p", "sede", "5", "--output", out]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert "did you mean 'seed'" in message
    assert command_line.main(["run", path, "--output", out]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().err.splitlines()[-1]


# the doctor


def test_doctor_names_every_part_and_finds_the_required_ones(capsys):
    code = command_line.main(["doctor"])
    said = capsys.readouterr().out
    for name, *_ in doctor.CHECKS:
        assert name in said
    assert code == 0, said


def test_doctor_tells_missing_from_broken_and_fails_only_for_required_parts(monkeypatch, capsys):
    def missing():
        raise ImportError("no such thing")

    def broken():
        raise OSError("no libstdc++")

    row = doctor.run_check("thing", True, missing)
    assert (row.state, row.mend) == ("missing", doctor.REINSTALL)
    assert doctor.run_check("thing", True, broken).state == "broken"
    monkeypatch.setattr(doctor, "CHECKS", (("thing", False, missing),))
    assert doctor.main() == 0
    assert "missing (optional)" in capsys.readouterr().out
    monkeypatch.setattr(doctor, "CHECKS", (("thing", True, broken),))
    assert doctor.main() == 1
    assert "To mend: thing" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("source", "state", "said"),
    [
        ("", "broken", "pip uninstall spot"),
        ("raise ModuleNotFoundError('no spot')", "missing", "spottl"),
        ("import os; os.kill(os.getpid(), 11)", "broken", "exit code -11"),
    ],
)
def test_doctor_survives_a_spot_that_is_absent_or_crashes(
    tmp_path, monkeypatch, source, state, said
):
    (tmp_path / "spot.py").write_text(source)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    row = doctor.check_spot()
    assert row.state == state
    assert said in f"{row.found} {row.mend}"


def test_doctor_says_how_to_get_what_is_optional(monkeypatch):
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    row = doctor.check_dot()
    assert (row.state, row.required) == ("missing", False)
    assert "apt install graphviz" in row.mend


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


def test_a_path_too_long_for_a_socket_leaves_ports(monkeypatch):
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", "/" + "long" * 20)
    assert kernels.PrivateKernelManager().transport == "tcp"


def test_nbval_starts_kernels_with_sockets_of_their_own(monkeypatch):
    monkeypatch.setattr(nbval.kernel, "KernelManager", None)
    kernels.pytest_configure()
    manager = nbval.kernel.KernelManager()
    assert manager.transport == "ipc" and manager.ip.startswith(jupyter_runtime_dir())
