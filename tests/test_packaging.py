"""The check before a set-up; pins and bounds; the wheel by itself; the doctor."""

import ast
import json
import os
import platform
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from itekit import doctor
from lessons import registers

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = SETTINGS["project"]
EXTRAS = PROJECT["optional-dependencies"]
SET_UP = runpy.run_path(str(ROOT / "docs" / "set_up.py"))
WAYS = ("plain", "proposed", "alpha-renaming", "symbol-invariant", "converted")


def requirements(lines: list[str]) -> dict[str, Requirement]:
    """Requirements by name; comments, blanks and the package's own extras left out."""
    lines = (re.sub(r"(^|\s)#.*", "", line).strip() for line in lines)
    found = [Requirement(line) for line in lines if line and not line.startswith("itekit")]
    assert len({r.name for r in found}) == len(found), "a package is named twice"
    return {r.name: r for r in found}


def test_every_direct_dependency_has_one_pin_that_its_bound_allows():
    pins = requirements((ROOT / "requirements.txt").read_text().splitlines())
    bounds = requirements([*PROJECT["dependencies"], *sum(EXTRAS.values(), [])])
    assert pins.keys() == bounds.keys()
    for name, pin in pins.items():
        ((operator, version),) = ((one.operator, one.version) for one in pin.specifier)
        assert operator == "==" and "*" not in version, name
        assert bounds[name].specifier.contains(version, prereleases=True), name
        assert str(bounds[name].marker) == str(pin.marker), name
    binder = (ROOT / "binder" / "requirements.txt").read_text()
    assert binder.endswith(f"--extra-index-url {SET_UP['CPU_BUILDS']}\n-r ../requirements.txt\n")


def test_python_range_is_the_same_everywhere():
    allowed = SpecifierSet(PROJECT["requires-python"])
    inside = [minor for minor in range(6, 20) if f"3.{minor}.0" in allowed]
    oldest, newest = SET_UP["OLDEST"], SET_UP["NEWEST"]
    assert inside == list(range(oldest[1], newest[1] + 1))
    assert f"{oldest} <= sys.version_info[:2] <= {newest}" in (ROOT / "Makefile").read_text()
    assert (ROOT / "binder/runtime.txt").read_text().strip().removeprefix("python-") in allowed


def test_an_old_python_can_read_the_set_up_and_is_named():
    ast.parse((ROOT / "docs" / "set_up.py").read_text(), feature_version=(3, 6))
    for version in ((2, 7, 18), (3, 10, 14), (3, 14, 0)):
        assert f"this one is {version[0]}.{version[1]} " in SET_UP["python_problem"](version)
    assert SET_UP["python_problem"]((3, 12, 0, "final", 0)) is None


@pytest.mark.skipif(platform.system() != "Linux", reason="elsewhere there is one build")
def test_the_cpu_build_of_torch_is_taken_without_a_gpu_if_its_server_answers(monkeypatch, capsys):
    server, torch_options = "data:,", SET_UP["torch_options"]  # an address that always answers
    monkeypatch.setattr("os.path.exists", lambda path: False)
    for gpu, wanted, taken in (("", "auto", True), ("x", "auto", False), ("x", "cpu", True)):
        monkeypatch.setattr("shutil.which", lambda name, gpu=gpu: gpu)
        assert torch_options(wanted, server) == ["--extra-index-url", server] * taken
    assert torch_options("cuda", server) == [] and not capsys.readouterr().err
    assert torch_options("cpu", "file:///nothing") == []
    assert "CPU build of torch is not available now (file:///nothing" in capsys.readouterr().err


# The wheel, installed where there is nothing but what it asks for, in an empty folder


def needed(name: str, found: set[str]) -> set[str]:
    """The names of a distribution here and of all that it requires."""
    if name not in found:
        found.add(name)
        for line in distribution(name).requires or ():
            other = Requirement(line)
            if not other.marker or other.marker.evaluate({"extra": ""}):
                needed(other.name, found)
    return found


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A function that runs a command of an installed wheel in an empty folder, and that folder."""
    folder = tmp_path_factory.mktemp("wheel")
    source, site, empty = folder / "source", folder / "site", folder / "empty"
    empty.mkdir()
    for name in ("itekit", "data", "notebooks"):  # a build writes beside what it builds
        shutil.copytree(ROOT / name, source / name)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip = [sys.executable, "-m", "pip", "-q", "install", "--disable-pip-version-check"]
    pip += ["--no-index", "--no-deps", "--no-build-isolation", "--target", site, source]
    subprocess.run(pip, check=True)
    names = set()
    for line in PROJECT["dependencies"]:
        needed(Requirement(line).name, names)
    for one in map(distribution, names):
        for top in {file.parts[0] for file in one.files} - {"..", "__pycache__"}:
            if not (site / top).exists():
                (site / top).symlink_to(one.locate_file(top))

    def run(*words: str, **variables) -> tuple[int, str]:
        env = {k: v for k, v in os.environ.items() if k != "ITEKIT_HOME"}
        env |= {"PYTHONPATH": str(site), "ITEKIT_SCALE": "smoke"} | variables
        command = [sys.executable, "-S", *words]  # -S: nothing of this environment
        done = subprocess.run(command, cwd=empty, env=env, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    return run, empty, site


TRAIN_AND_JUDGE = """
import sys
from itekit.__main__ import main
for command in ("train", "evaluate"):
    assert main([command, "copying-5-10/proposed", "--threads", "1"]) == 0
here = {name.split(".")[0] for name in sys.modules}
assert not here & {"lessons", "pytest", "IPython", "jupyter_client", "plotly", "scipy", "spot"}
"""
SETS = "from itekit.datasets.sets import read_set; print(len(read_set('ltl35', 'lab')['test']))"
PLACES = "from itekit.files import RESULTS, RUNS; print(RUNS, RESULTS)"


def test_an_installed_wheel_trains_and_judges_in_an_empty_folder(installed, tmp_path):
    run, empty, site = installed
    carried = {path.name for path in (site / "itekit").rglob("*") if path.suffix != ".py"}
    assert {"py.typed", "paper.json", "ltl.txt", "propositional.txt"} <= carried
    assert not any(name.endswith(".png") for name in carried)
    assert run("-c", SETS) == (0, "10000\n")
    assert "make " not in run("-m", "itekit", "doctor")[1]
    assert not (site / "lessons").exists()
    code, said = run("-c", TRAIN_AND_JUDGE)
    assert code == 0, said
    run_name = "copying-5-10-proposed-smoke-s0"
    assert (empty / "runs" / run_name / "model.safetensors").exists()
    result = json.loads((empty / "data" / "results" / f"{run_name}.json").read_text())
    assert result["result"]["mean_edit_distance"] >= 0
    assert [path.name for path in sorted(empty.iterdir())] == ["data", "runs"]
    for root, variables in ((empty, {}), (tmp_path, {"ITEKIT_HOME": str(tmp_path)})):
        assert run("-c", PLACES, **variables) == (0, f"{root}/runs {root}/data/results\n")


def test_a_checkout_writes_where_itekit_home_says_and_finds_what_comes_with_it(tmp_path):
    code = f"{PLACES}; from itekit.results import *; assert shipped('ltl/plain') and load_network("
    code += "'ltl/plain', 'lab')"
    env = os.environ | {"PYTHONPATH": str(ROOT), "ITEKIT_HOME": str(tmp_path)}
    said = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert said.stdout == f"{tmp_path}/runs {tmp_path}/data/results\n", said.stderr


def test_a_task_in_a_folder_of_its_own_goes_from_data_to_a_verdict(installed):
    """In under 100 lines, with the installed wheel and nothing else, in all ways."""
    text = Path(registers.__file__).read_text("utf-8")
    assert len(text.splitlines()) < 100
    nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Import | ast.ImportFrom)]
    named = {n.module if isinstance(n, ast.ImportFrom) else n.names[0].name for n in nodes}
    assert {name.split(".")[0] for name in named} - sys.stdlib_module_names == {"itekit"}
    run, empty, _ = installed
    (empty / "registers.py").write_text(text, "utf-8")
    code, said = run("registers.py", "smoke", OMP_NUM_THREADS="1")
    assert code == 0, said
    rows = json.loads((empty / "registers-smoke-s0.json").read_text())
    assert list(rows) == list(WAYS) and len(said.splitlines()) == len(rows)
    for way, row in rows.items():
        assert list(row["right"]) == [*"345678", "new"] and row["trained"]["threads"] == 1
        assert 0 <= row["redraw"][0] <= row["redraw"][1] <= row["redraw"][2] <= 1
        exactly = row["covariance"] == 1
        assert exactly if way in ("symbol-invariant", "converted") else row["covariance"] <= 1
    assert (rows["converted"]["trained"]["steps"], rows["plain"]["trained"]["steps"]) == (2, 20)
    assert {rows["plain"]["right"][n] for n in ("6", "7", "8", "new")} == {0}


MISSING = {
    "evaluate ltl/proposed": "logic",
    "generate ltl35": "logic",
    "run lesson.ipynb": "notebooks",
}
EACH = """
import sys
from itekit.__main__ import main
for command in sys.argv[1:]:
    print(main(command.split()), file=sys.stderr)
"""


def test_what_an_extra_is_missing_for_says_so(installed):
    code, said = installed[0]("-c", EACH, *MISSING)
    lines = said.splitlines()
    assert code == 0 and lines[1::2] == ["2"] * len(MISSING), said
    for line, extra in zip(lines[::2], MISSING.values(), strict=True):
        assert f"pip install 'itekit[{extra}]'" in line


def test_doctor_fails_only_for_required_parts(monkeypatch, capsys):
    missing, crash = "import nosuchthing", "import os; os.kill(os.getpid(), 11)"
    monkeypatch.setattr(doctor, "CHECKS", (("thing", "only drawings", missing),))
    assert doctor.main() == 0
    assert "optional  ModuleNotFoundError" in capsys.readouterr().out
    monkeypatch.setattr(doctor, "CHECKS", (("thing", "", crash), ("other", "", "print(3)")))
    assert doctor.main() == 1
    said = capsys.readouterr().out
    assert "fails     exit code -11" in said and "ok        3" in said and "fix: thing" in said


def test_doctor_knows_another_package_named_spot(tmp_path, monkeypatch):
    (tmp_path / "spot.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (check,) = (check for check in doctor.CHECKS if check[0] == "Spot")
    works, message = doctor.examine(check)
    assert not works and "pip uninstall spot" in message
