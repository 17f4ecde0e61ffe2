"""The two commands' machinery: pins, Binder's copy of them, the set-up's checks and its stamp."""

import ast
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
from itekit import setup_check
from itekit.scale import SCALES, resolve_scale

ROOT = Path(__file__).parents[1]


def requirements(path: Path) -> dict[str, Requirement]:
    """The requirement lines of a file by name; comments, blanks and options left out."""
    lines = (re.sub(r"(^|\s)#.*", "", line).strip() for line in path.read_text().splitlines())
    found = [Requirement(line) for line in lines if line and not line.startswith("-")]
    assert len({r.name for r in found}) == len(found), f"{path} names a package twice"
    return {r.name: r for r in found}


def test_every_direct_dependency_is_pinned_exactly():
    for requirement in requirements(ROOT / "requirements.txt").values():
        assert re.fullmatch(r"==[^*,]+", str(requirement.specifier)), str(requirement)


def test_binder_has_the_same_pins_and_takes_torch_for_the_cpu():
    binder = ROOT / "binder" / "requirements.txt"
    ours = {name: str(r) for name, r in requirements(ROOT / "requirements.txt").items()}
    assert {name: str(r) for name, r in requirements(binder).items()} == ours
    options = [line for line in binder.read_text().splitlines() if line.startswith("-")]
    assert options == ["--extra-index-url https://download.pytorch.org/whl/cpu"]


def test_python_range_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    oldest, newest = setup_check.OLDEST, setup_check.NEWEST
    allowed = SpecifierSet(project["requires-python"])
    inside = [minor for minor in range(6, 20) if f"3.{minor}.0" in allowed]
    assert inside == list(range(oldest[1], newest[1] + 1))
    assert f"{oldest} <= sys.version_info[:2] <= {newest}" in (ROOT / "Makefile").read_text()
    runtime = (ROOT / "binder" / "runtime.txt").read_text().strip().removeprefix("python-")
    assert runtime in allowed


def test_version_is_a_release():
    assert re.fullmatch(r"\d+\.\d+\.\d+", itekit.__version__)


def test_ci_runs_the_test_command():
    script = ROOT / ".ci" / "run"
    assert "make test" in script.read_text()
    assert os.access(script, os.X_OK)
    assert os.access(ROOT / "binder" / "postBuild", os.X_OK)


# the set-up's checks


def test_an_old_python_can_read_the_check():
    ast.parse(Path(setup_check.__file__).read_text(), feature_version=(3, 6))


@pytest.mark.parametrize("version", [(2, 7, 18), (3, 6, 1), (3, 10, 14), (3, 14, 0), (4, 0, 0)])
def test_python_out_of_range_is_named(version):
    message = setup_check.python_problem(version)
    assert f"this one is {version[0]}.{version[1]} " in message
    assert "3.11 to 3.13" in message
    assert "PYTHON=" in message


@pytest.mark.parametrize("minor", [11, 12, 13])
def test_python_in_range_passes(minor):
    assert setup_check.python_problem((3, minor, 0, "final", 0)) is None


def test_missing_ensurepip_is_named_with_the_package_to_install():
    message = setup_check.venv_problem(["ensurepip"])
    assert "ensurepip" in message
    assert "-venv" in message
    assert setup_check.venv_problem([]) is None


def test_missing_modules_finds_what_cannot_be_imported(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ensurepip", None)
    assert setup_check.missing_modules() == ["ensurepip"]


@pytest.mark.parametrize(
    ("platform", "wheel"),
    [
        (("Linux", "x86_64", "glibc", "2.36"), True),
        (("Linux", "x86_64", "glibc", "2.34"), True),
        (("Linux", "x86_64", "glibc", "2.31"), False),
        (("Linux", "x86_64", "", ""), False),
        (("Linux", "aarch64", "glibc", "2.39"), False),
        (("Darwin", "arm64", "", ""), False),
        (("Windows", "AMD64", "", ""), False),
    ],
)
def test_platform_without_a_wheel_of_spot_is_named(platform, wheel):
    note = setup_check.spot_note(*platform)
    assert (note is None) == wheel
    if note:
        assert f"{platform[0]} {platform[1]}" in note
        assert "conda" in note


def test_spot_is_never_compiled_by_surprise(tmp_path):
    path = tmp_path / "r.txt"
    path.write_text("numpy==1\nspottl==2; platform_machine == 'x86_64'\n")
    assert "without-spot" in setup_check.spot_problem("No wheel.", "Linux", "x86_64", path)
    assert setup_check.spot_problem("No wheel.", "Darwin", "arm64", path) is None
    assert setup_check.spot_problem(None, "Linux", "x86_64", path) is None
    path.write_text("numpy==1\n")
    assert setup_check.spot_problem("No wheel.", "Linux", "x86_64", path) is None


def test_full_disk_says_how_much_is_needed_and_how_much_is_there():
    message = setup_check.disk_problem("/data", 1.5e9, 8e9)
    assert "/data" in message
    assert "8.0 GB needed, 1.5 GB free" in message
    assert setup_check.disk_problem("/data", 8e9, 8e9) is None


def test_main_stops_on_a_full_disk_unless_torch_is_there(tmp_path, monkeypatch, capsys):
    usage = type("Usage", (), {"free": 3})()
    monkeypatch.setattr(setup_check.shutil, "disk_usage", lambda path: usage)
    arguments = [str(tmp_path / ".venv"), str(ROOT / "requirements.txt")]
    assert setup_check.main(arguments) == 1
    assert "Not enough disk space" in capsys.readouterr().err
    (tmp_path / ".venv/lib/python3.12/site-packages/torch").mkdir(parents=True)
    assert setup_check.main(arguments) == 0


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
    assert code != 0
    assert "The set-up stopped" in printed
    fail.unlink()
    code, calls, _ = setup()
    assert code == 0
    assert "-m venv" not in calls, "the environment made before is taken up again"
    assert "pip install" in calls
    assert setup()[:2] == (0, ""), "a finished set-up does nothing"
    stamp = checkout / ".venv" / "itekit-ready"
    later = stamp.stat().st_mtime + 10
    os.utime(checkout / "requirements.txt", (later, later))
    code, calls, _ = setup()
    assert code == 0
    assert "pip install" in calls, "changed requirements are installed"


# the one switch of size


def test_scale_comes_from_the_argument_then_the_variable_then_lab(monkeypatch):
    monkeypatch.delenv("ITEKIT_SCALE", raising=False)
    assert resolve_scale() == "lab"
    monkeypatch.setenv("ITEKIT_SCALE", "")
    assert resolve_scale() == "lab"
    monkeypatch.setenv("ITEKIT_SCALE", "smoke")
    assert resolve_scale() == "smoke"
    assert [resolve_scale(scale) for scale in SCALES] == list(SCALES)


@pytest.mark.parametrize("wrong", ["Lab", "small", "", 3, ["lab"]])
def test_a_wrong_scale_is_named(wrong, monkeypatch):
    with pytest.raises(ValueError, match=re.escape(repr(wrong))):
        resolve_scale(wrong)
    monkeypatch.setenv("ITEKIT_SCALE", "huge")
    with pytest.raises(ValueError, match="ITEKIT_SCALE is 'huge'"):
        resolve_scale()
