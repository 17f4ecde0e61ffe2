"""The student edition: emptied exercises, no outputs, whole folders, nothing of others replaced."""

import ast
import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from itekit import student
from itekit.__main__ import main
from itekit.student import NOTEBOOKS, edition, stub, student_notebook, write_edition

STUB = '''from itekit.exercises.lesson_01 import check_complete


def complete(mapping, alphabet):
    """A new name for each."""
    ...


check_complete(complete)'''
SOLVED = '''from itekit.exercises.lesson_01 import check_complete
import math


def helper(x):
    return x + 1


def complete(mapping, alphabet):
    """A new name for each."""
    secret = helper(3)
    return secret


check_complete(complete, must=True)'''


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.fixture
def lecture(tmp_path):
    """A folder with one notebook: a solved exercise, an output, a cell with a solution."""
    output = new_output("stream", text="seen\n")
    cells = [
        new_markdown_cell("# A lesson"),
        new_code_cell("print('seen')", outputs=[output], execution_count=7),
        new_code_cell(SOLVED, metadata={"tags": ["exercise"]}, outputs=[output]),
        new_code_cell("secret = 42", metadata={"tags": ["solution"]}),
    ]
    folder = tmp_path / "notebooks"
    (folder / "solutions").mkdir(parents=True)
    for path in (folder / "01_lesson.ipynb", folder / "solutions" / "01_lesson.ipynb"):
        nbformat.write(new_notebook(cells=cells), path)
    return folder


def test_what_was_written_into_an_exercise_goes_and_a_stub_stays_as_it_is():
    assert stub(SOLVED) == STUB
    assert stub(STUB) == STUB
    assert stub(STUB.replace('    """A new name for each."""\n', "")).count("...") == 1
    short = STUB.split("def complete")[0] + "def complete(mapping, alphabet): return 1"
    short += "\n\n\ncheck_complete(complete)"
    assert "return" not in stub(short)
    ast.parse(stub(short))


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def f(:", "not Python: line 1"),
        ("x = 1", "expected a function and its check"),
        ("check_complete(complete)", "expected a function and its check"),
    ],
)
def test_an_exercise_that_cannot_be_emptied_is_named(lecture, source, words):
    path = lecture / "01_lesson.ipynb"
    cells = [new_code_cell(source, metadata={"tags": ["exercise"]})]
    nbformat.write(new_notebook(cells=cells), path)
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        student_notebook(path)
    assert "01_lesson.ipynb, cell 1" in str(caught.value)


def test_outputs_and_solutions_are_gone_and_the_rest_is_there(lecture):
    made = student_notebook(lecture / "01_lesson.ipynb")
    assert [cell.source for cell in made.cells] == ["# A lesson", "print('seen')", STUB]
    assert all(not cell.outputs and cell.execution_count is None for cell in code_cells(made))
    assert set(edition(lecture)) == {"README.md", "01_lesson.ipynb"}


def test_the_kits_own_notebooks_become_an_edition_that_keeps_their_stubs():
    files = edition()
    assert set(files) == {"README.md", *(path.name for path in NOTEBOOKS.glob("*.ipynb"))}
    exercises = 0
    for path in NOTEBOOKS.glob("*.ipynb"):
        theirs = nbformat.reads(files[path.name], 4)
        before = [c.source for c in nbformat.read(path, 4).cells
                  if "solution" not in c.metadata.get("tags", [])]  # fmt: skip
        assert [cell.source for cell in theirs.cells] == before
        assert not any(cell.outputs for cell in code_cells(theirs))
        exercises += sum("exercise" in c.metadata.get("tags", []) for c in theirs.cells)
    assert exercises >= 3 * 13


def test_a_new_folder_is_whole_or_not_there(lecture, tmp_path, monkeypatch):
    folder = tmp_path / "out" / "student"
    broken = list(edition(lecture).items())

    def stops(where, files):
        (where / broken[0][0]).write_text(broken[0][1])
        raise OSError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(student, "_write_all", stops)
        with pytest.raises(OSError, match="full"):
            write_edition(folder, source=lecture)
    assert list(folder.parent.iterdir()) == []

    assert write_edition(folder, source=lecture) == folder
    assert {path.name for path in folder.iterdir()} == {"README.md", "01_lesson.ipynb"}
    assert [path.name for path in folder.parent.iterdir()] == ["student"]


def test_a_folder_with_files_is_left_alone_unless_told(lecture, tmp_path):
    folder = tmp_path / "student"
    folder.mkdir()
    write_edition(folder, source=lecture)  # an empty folder is no obstacle
    mine = folder / "notes.txt"
    mine.write_text("mine")
    (folder / "01_lesson.ipynb").write_text("my work")
    with pytest.raises(ValueError, match="not empty .*--overwrite"):
        write_edition(folder, source=lecture)
    assert (folder / "01_lesson.ipynb").read_text() == "my work"
    write_edition(folder, overwrite=True, source=lecture)
    assert STUB in "".join(c.source for c in nbformat.read(folder / "01_lesson.ipynb", 4).cells)
    assert mine.read_text() == "mine"


@pytest.mark.parametrize("inside", [".", "solutions", "new"])
def test_the_notebooks_themselves_are_never_the_target(lecture, inside):
    with pytest.raises(ValueError, match="holds the notebooks themselves"):
        write_edition(lecture / inside, overwrite=True, source=lecture)


def test_a_file_is_not_a_folder_and_no_notebooks_are_an_error(lecture, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="is a file"):
        write_edition(tmp_path / "file", source=lecture)
    with pytest.raises(FileNotFoundError, match="no notebooks"):
        write_edition(tmp_path / "student", source=tmp_path / "nowhere")
    assert not (tmp_path / "student").exists()


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["student"]) == 0
    assert str(tmp_path / "reports" / "student") in capsys.readouterr().out
    assert main(["student"]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert main(["student", "--overwrite"]) == 0
    assert main(["student", "mine"]) == 0
    assert (tmp_path / "mine" / "01_alpha_equivalence.ipynb").is_file()
