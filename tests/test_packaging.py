"""The set-up, its checks and its stamp; pins and bounds; the wheel by itself; the doctor."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from http.server import HTTPServer, SimpleHTTPRequestHandler
from importlib.metadata import distribution
from pathlib import Path
from threading import Thread

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from itekit import doctor
from itekit.__main__ import main
from lessons import registers

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = SETTINGS["project"]
EXTRAS = PROJECT["optional-dependencies"]


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
    assert binder.endswith(f"--extra-index-url {doctor.CPU_BUILDS}\n-r ../requirements.txt\n")


def test_python_range_is_the_same_everywhere():
    allowed = SpecifierSet(PROJECT["requires-python"])
    inside = [minor for minor in range(6, 20) if f"3.{minor}.0" in allowed]
    assert inside == list(range(doctor.OLDEST[1], doctor.NEWEST[1] + 1))
    said = f"{doctor.OLDEST} <= sys.version_info[:2] <= {doctor.NEWEST}"
    assert said in (ROOT / "Makefile").read_text()
    assert (ROOT / "binder/runtime.txt").read_text().strip().removeprefix("python-") in allowed


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


@pytest.mark.skipif(doctor.platform.system() != "Linux", reason="elsewhere there is one build")
def test_the_small_torch_is_taken_without_a_gpu_where_its_server_answers(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor, "PATIENCE", 0.2)
    monkeypatch.setattr(doctor, "has_gpu", lambda: False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "torch").mkdir()
    with HTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as server:  # listens, but is mute
        address = f"http://127.0.0.1:{server.server_port}"
        started = time.monotonic()
        options, note = doctor.torch_options("auto", address)
        assert not options and "is installed" in note and time.monotonic() - started < 5
        monkeypatch.setattr(doctor, "PATIENCE", 10)
        Thread(target=server.serve_forever, daemon=True).start()
        assert doctor.torch_options("auto", address) == (["--extra-index-url", address], None)
        assert not doctor.torch_options("auto", f"{address}/nothing")[0]
        monkeypatch.setattr(doctor, "has_gpu", lambda: True)
        assert doctor.torch_options("auto", address) == ([], None)
        assert doctor.torch_options("cpu", address)[0] and not doctor.torch_options("cuda")[0]
        server.shutdown()


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
    shutil.copytree(ROOT / "docs", checkout / "docs")
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
        env = os.environ | {"PYTHONPATH": str(site), "ITEKIT_SCALE": "smoke"} | variables
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
    """In under 120 lines, with the installed wheel and nothing else, in all ways."""
    text = Path(registers.__file__).read_text("utf-8")
    assert len(text.splitlines()) < 120
    nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Import | ast.ImportFrom)]
    named = {n.module if isinstance(n, ast.ImportFrom) else n.names[0].name for n in nodes}
    assert {name.split(".")[0] for name in named} - sys.stdlib_module_names == {"itekit"}
    run, empty, _ = installed
    (empty / "registers.py").write_text(text, "utf-8")
    code, said = run("registers.py", "smoke", OMP_NUM_THREADS="1")
    assert code == 0, said
    rows = json.loads((empty / "registers-smoke-s0-learned_scale.json").read_text())
    assert list(rows) == list(registers.WAYS) and len(said.splitlines()) == len(rows)
    for way, row in rows.items():
        assert list(row["right"]) == list("345678") and row["trained"]["threads"] == 1
        assert 0 <= row["redraw"][0] <= row["redraw"][1] <= row["redraw"][2] <= 1
        exactly = row["covariance"] == 1
        assert exactly if way in ("symbol-invariant", "converted") else row["covariance"] <= 1
    assert (rows["converted"]["trained"]["steps"], rows["plain"]["trained"]["steps"]) == (4, 40)
    assert {rows["plain"]["right"][n] for n in "678"} == {0}


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


def test_doctor_finds_the_required_parts(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "CHECKS", [check for check in doctor.CHECKS if not check[1]])
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
