"""The set-up: pins, Binder's copy of them, what is checked before, its stamp, and the doctor."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

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
    assert all(re.search(r"==[^*,;]+(;|$)", line) for line in requirements(ours).values())
    assert requirements(binder) == requirements(ours)


def test_python_range_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    allowed = SpecifierSet(project["requires-python"])
    inside = [minor for minor in range(6, 20) if f"3.{minor}.0" in allowed]
    assert inside == list(range(doctor.OLDEST[1], doctor.NEWEST[1] + 1))
    said = f"{doctor.OLDEST} <= sys.version_info[:2] <= {doctor.NEWEST}"
    assert said in (ROOT / "Makefile").read_text()
    assert (ROOT / "binder/runtime.txt").read_text().strip().removeprefix("python-") in allowed


def test_notebooks_stay_small_and_hold_no_state_of_panels():
    for path in (ROOT / "notebooks").rglob("*.ipynb"):
        text = path.read_text(encoding="utf-8")
        assert len(text.encode()) <= 1e6 and "widgets" not in json.loads(text)["metadata"], path


def test_an_old_python_can_read_the_check_and_is_named():
    ast.parse(Path(doctor.__file__).read_text(), feature_version=(3, 6))
    for version in ((2, 7, 18), (3, 10, 14), (3, 14, 0)):
        assert f"this one is {version[0]}.{version[1]} " in doctor.python_problem(version)
    assert doctor.python_problem((3, 12, 0, "final", 0)) is None


def on(monkeypatch, words: str):
    """Let the doctor see a platform."""
    system, machine, *libc = words.split(" ")
    monkeypatch.setattr(doctor.platform, "system", lambda: system)
    monkeypatch.setattr(doctor.platform, "machine", lambda: machine)
    monkeypatch.setattr(doctor.platform, "libc_ver", lambda: libc or ["", ""])


def test_platform_without_a_wheel_of_spot_is_named(monkeypatch):
    for words in ("Linux x86_64 glibc 2.31", "Linux aarch64 glibc 2.39", "Darwin arm64"):
        on(monkeypatch, words)
        assert f"({words})" in doctor.spot_note()
    on(monkeypatch, "Linux x86_64 glibc 2.34")
    assert doctor.spot_note() is None


def test_the_set_up_names_all_that_stands_in_its_way(tmp_path, monkeypatch):
    on(monkeypatch, "Linux x86_64 glibc 2.31")
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 3}))
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    wanted = tmp_path / "r.txt"
    wanted.write_text("numpy==1\nspottl==2; platform_machine == 'x86_64'\n")
    found = " ".join(doctor.setup_problems(str(tmp_path / ".venv"), str(wanted)))
    assert all(words in found for words in ("ensurepip", "without-spot.txt", "0.0 GB free"))
    (tmp_path / ".venv/lib/python3.12/site-packages/torch").mkdir(parents=True)
    wanted.write_text("numpy==1\n")
    assert len(doctor.setup_problems(str(tmp_path / ".venv"), str(wanted))) == 1  # ensurepip


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
    later = time.time() + 10
    os.utime(checkout / "requirements.txt", (later, later))
    assert "pip install" in setup()[1], "changed requirements are installed"


def test_doctor_finds_the_required_parts(capsys):
    assert main(["doctor"]) == 0, capsys.readouterr().out


def test_doctor_fails_only_for_required_parts(monkeypatch, capsys):
    missing, crash = "import nosuchthing", "import os; os.kill(os.getpid(), 11)"
    monkeypatch.setattr(doctor, "CHECKS", (("thing", "only drawings", missing),))
    assert doctor.main() == 0
    assert "optional  ModuleNotFoundError" in capsys.readouterr().out
    monkeypatch.setattr(doctor, "CHECKS", (("thing", "", crash), ("other", "", "print(3)")))
    assert doctor.main() == 1
    said = capsys.readouterr().out
    assert "fails     exit code -11" in said and "ok        3" in said and "mend: thing" in said


def test_doctor_knows_another_package_named_spot(tmp_path, monkeypatch):
    (tmp_path / "spot.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (check,) = (check for check in doctor.CHECKS if check[0] == "Spot")
    works, said = doctor.examine(check)
    assert not works and "pip uninstall spot" in said
