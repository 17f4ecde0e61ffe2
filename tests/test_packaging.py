"""The set-up: pins, Binder's copy of them, what is checked before, its stamp, and the doctor."""

import ast
import importlib
import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import itekit
from itekit import doctor
from itekit.__main__ import main

ROOT = Path(__file__).parents[1]


def requirements(path: Path) -> dict[str, str]:
    """The requirement lines of a file by name; comments, blanks and options left out."""
    lines = (re.sub(r"(^|\s)#.*", "", line).strip() for line in path.read_text().splitlines())
    found = [Requirement(line) for line in lines if line and not line.startswith("-")]
    assert len({r.name for r in found}) == len(found), f"{path} names a package twice"
    return {r.name: str(r) for r in found}


def test_every_direct_dependency_is_pinned_exactly_and_binder_has_the_same_pins():
    ours, binder = ROOT / "requirements.txt", ROOT / "binder" / "requirements.txt"
    for requirement in requirements(ours).values():
        assert re.search(r"==[^*,;]+(;|$)", requirement), requirement
    assert requirements(binder) == requirements(ours)
    options = [line for line in binder.read_text().splitlines() if line.startswith("-")]
    assert options == ["--extra-index-url https://download.pytorch.org/whl/cpu"]


def test_python_range_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    allowed = SpecifierSet(project["requires-python"])
    inside = [minor for minor in range(6, 20) if f"3.{minor}.0" in allowed]
    assert inside == list(range(doctor.OLDEST[1], doctor.NEWEST[1] + 1))
    said = f"{doctor.OLDEST} <= sys.version_info[:2] <= {doctor.NEWEST}"
    assert said in (ROOT / "Makefile").read_text()
    runtime = (ROOT / "binder" / "runtime.txt").read_text().strip().removeprefix("python-")
    assert runtime in allowed
    assert re.fullmatch(r"\d+\.\d+\.\d+", itekit.__version__)


def test_scripts_run_what_they_should():
    assert "make test" in (ROOT / ".ci" / "run").read_text()
    for script in (".ci/run", "binder/postBuild"):
        assert os.access(ROOT / script, os.X_OK)
    for text in ("binder/postBuild", "Makefile"):
        assert "-r notebooks/llm-requirements.txt" in (ROOT / text).read_text()


def test_lessons_are_installed_beside_the_kit():
    assert Path(importlib.import_module("lessons").__file__).parent == ROOT / "notebooks/lessons"


def test_notebooks_stay_small_and_hold_no_state_of_panels():
    for path in (ROOT / "notebooks").rglob("*.ipynb"):
        text = path.read_text(encoding="utf-8")
        assert len(text.encode()) <= 1e6 and text.endswith("}\n"), path
        assert "widgets" not in json.loads(text)["metadata"], path


# before the set-up


def test_an_old_python_can_read_the_check():
    ast.parse(Path(doctor.__file__).read_text(), feature_version=(3, 6))


@pytest.mark.parametrize("version", [(2, 7, 18), (3, 10, 14), (3, 14, 0)])
def test_python_out_of_range_is_named(version):
    message = doctor.python_problem(version)
    assert f"this one is {version[0]}.{version[1]} " in message
    assert "3.11 to 3.13" in message and "PYTHON=" in message
    assert doctor.python_problem((3, 12, 0, "final", 0)) is None


@pytest.mark.parametrize(
    ("platform", "wheel"),
    [
        (("Linux", "x86_64", "glibc", "2.34"), True),
        (("Linux", "x86_64", "glibc", "2.31"), False),
        (("Linux", "x86_64", "", ""), False),
        (("Linux", "aarch64", "glibc", "2.39"), False),
        (("Darwin", "arm64", "", ""), False),
    ],
)
def test_platform_without_a_wheel_of_spot_is_named(platform, wheel):
    note = doctor.spot_note(*platform)
    assert (note is None) == wheel
    assert wheel or (f"{platform[0]} {platform[1]}" in note and "conda" in note)


def test_the_set_up_names_all_that_stands_in_its_way(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor.platform, "libc_ver", lambda: ("glibc", "2.31"))
    monkeypatch.setattr(doctor.platform, "system", lambda: "Linux")
    monkeypatch.setattr(doctor.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 3}))
    monkeypatch.setitem(__import__("sys").modules, "ensurepip", None)
    wanted = tmp_path / "r.txt"
    wanted.write_text("numpy==1\nspottl==2; platform_machine == 'x86_64'\n")
    found = doctor.setup_problems(str(tmp_path / ".venv"), str(wanted))
    for words in ("ensurepip", "without-spot.txt", "0.0 GB free"):
        assert any(words in message for message in found), words
    (tmp_path / ".venv/lib/python3.12/site-packages/torch").mkdir(parents=True)
    wanted.write_text("numpy==1\n")
    assert len(doctor.setup_problems(str(tmp_path / ".venv"), str(wanted))) == 1  # ensurepip


# the Makefile's stamp, with a stand-in for Python

FAKE_PYTHON = """#!/bin/sh
echo "$*" >> "{log}"
case "$*" in
  *-m\\ venv*) mkdir -p .venv/bin; cp "$0" .venv/bin/python ;;
  *pip\\ install*) test ! -e "{fail}" ;;
esac
"""


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_half_finished_setup_is_taken_up_again_and_a_finished_one_reused(tmp_path):
    checkout = tmp_path / "a folder"
    checkout.mkdir()
    for name in ("Makefile", "requirements.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, checkout)
    log, fail, fake = tmp_path / "log", tmp_path / "fail", tmp_path / "python3"
    fake.write_text(FAKE_PYTHON.format(log=log, fail=fail))
    fake.chmod(0o755)

    def setup() -> tuple[int, str, str]:
        log.write_text("")
        command = ["make", "setup", f"PYTHON={fake}"]
        done = subprocess.run(command, cwd=checkout, capture_output=True, text=True)
        return done.returncode, log.read_text(), done.stdout + done.stderr

    fail.touch()
    code, calls, printed = setup()
    assert code != 0 and "The set-up stopped" in printed
    assert "doctor.py .venv requirements.txt" in calls
    fail.unlink()
    code, calls, _ = setup()
    assert code == 0 and "pip install" in calls
    assert "-m venv" not in calls, "the environment made before is taken up again"
    assert setup()[:2] == (0, ""), "a finished set-up does nothing"
    later = (checkout / ".venv" / "itekit-ready").stat().st_mtime + 10
    os.utime(checkout / "requirements.txt", (later, later))
    code, calls, _ = setup()
    assert code == 0 and "pip install" in calls, "changed requirements are installed"


# the doctor


def test_doctor_names_every_part_and_finds_the_required_ones(capsys):
    code = main(["doctor"])
    said = capsys.readouterr().out
    assert all(name in said for name, *_ in doctor.CHECKS)
    assert code == 0, said


def test_doctor_tells_missing_from_broken_and_fails_only_for_required_parts(monkeypatch, capsys):
    missing, crash = "import nosuchthing", "import os; os.kill(os.getpid(), 11)"
    assert doctor.examine(("thing", True, missing))[1:] == (
        "missing", "ModuleNotFoundError: No module named 'nosuchthing'", doctor.REINSTALL, True
    )  # fmt: skip
    assert doctor.examine(("thing", True, crash))[1:3] == ("broken", "exit code -11")
    monkeypatch.setattr(doctor, "CHECKS", (("thing", "only drawings", missing),))
    assert doctor.main() == 0
    assert "missing (optional)" in capsys.readouterr().out
    monkeypatch.setattr(doctor, "CHECKS", (("thing", True, crash),))
    assert doctor.main() == 1
    assert "To mend: thing" in capsys.readouterr().out


def test_doctor_knows_another_package_named_spot(tmp_path, monkeypatch):
    (tmp_path / "spot.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (check,) = (check for check in doctor.CHECKS if check[0] == "Spot")
    name, state, said, *_ = doctor.examine(check)
    assert state == "broken" and "pip uninstall spot" in said
