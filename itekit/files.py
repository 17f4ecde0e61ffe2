"""Files that are whole or absent, JSON that is checked by its types, folders, and sizes."""

import contextlib
import dataclasses
import difflib
import errno
import glob
import importlib.metadata
import json
import os
import platform
import re
import sys
import tempfile
import time
import typing
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import filelock
import msgspec

LOG = "log.jsonl"
SCALES = ("smoke", "lab", "paper")  # seconds; minutes on two CPU cores; the paper's own size
LOCK = ".lock"  # in a folder in which only one process may write
STALE = 3600  # seconds after which a temporary file is a killed run's
LARGEST = 2**63  # numbers of a file are smaller

# What comes with the kit is in data/ beside the package; an installed one carries it. Runs and
# results go to ITEKIT_HOME, else to the checkout, else (installed) to the working folder; they are
# read from there, and where there are none, from what comes with the kit.
_CHECKOUT = Path(__file__).resolve().parents[1]
_CARRIED = _CHECKOUT / "itekit" / "data_files"
_INSTALLED = _CARRIED.exists()
DATA = _CARRIED if _INSTALLED else _CHECKOUT / "data"
HOME = Path(os.environ.get("ITEKIT_HOME") or (Path.cwd() if _INSTALLED else _CHECKOUT)).resolve()
RUNS = HOME / "runs"
RESULTS = HOME / "data" / "results"


class MissingError(FileNotFoundError):
    """A result, network or set that does not exist yet; the message gives a command for it."""


def stored_files(folder: Path, pattern: str) -> list[Path]:
    """Files of a folder of data/: those made here, and those that come with the kit."""
    folders = [folder]
    own = HOME / "data"
    if folder.is_relative_to(own):
        folders = [DATA / folder.relative_to(own), folder]
    return list({path.name: path for one in folders for path in sorted(one.glob(pattern))}.values())


def stored(path: Path) -> Path:
    """The file made here, else the one that comes with the kit; `path` itself if there is none."""
    return next(iter(stored_files(path.parent, glob.escape(path.name))), path)


def require(path: Path, command: str) -> Path:
    """`stored`, if the file exists; else MissingError with the command."""
    if not stored(path).exists():
        hint = f"python -m itekit {command}"
        raise MissingError(f"{path.name} is not in {path.parent}; make it: {hint}")
    return stored(path)


def nearest(name: str, known: Iterable[str]) -> str:
    """The known names most like a mistyped one; if none is, the first ones."""
    near = difflib.get_close_matches(name, known, 3, 0.4)
    return ", ".join(dict.fromkeys(near or list(known)[:20]))


@contextlib.contextmanager
def naming_full_disk(path: Path):
    """Raise OSError with the path if the disk, or the quota, is full."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise OSError(error.errno, f"the disk is full: {path} was not written") from error
        raise


@contextlib.contextmanager
def atomic_path(path: Path, end: str = ".tmp"):
    """A temporary path beside `path`, renamed to it if the block ends without an error.

    Temporary names end with `end` and cannot be guessed, so that no link is followed. Those that
    killed runs left are removed.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.glob(f".{glob.escape(path.name)}.*{end}"):
        with contextlib.suppress(OSError):
            if time.time() - left.lstat().st_mtime > STALE:
                left.unlink()
    with naming_full_disk(path):
        descriptor, name = tempfile.mkstemp(end, f".{path.name}.", path.parent)
        os.close(descriptor)
        temporary = Path(name)
        try:
            yield temporary
            with open(temporary, "rb") as file:
                os.fsync(file.fileno())
            os.chmod(temporary, 0o644)  # only its owner may read a temporary file
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value) -> None:
    """Write a JSON file atomically, indented, with a final newline."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False) + "\n")


def read_json(path: Path, kind: type | tuple = (dict, list)):
    """The value of a JSON file; ValueError if it is damaged, or not an object or array (`kind`)."""
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: damaged JSON ({error})") from None
    if not isinstance(value, kind):
        raise ValueError(f"{path}: not the JSON value expected, found {type(value).__name__}")
    return value


@contextlib.contextmanager
def locked(directory: Path):
    """Lock a folder against other processes; BlockingIOError if another holds the lock."""
    Path(directory).mkdir(parents=True, exist_ok=True)
    try:
        lock = filelock.FileLock(Path(directory) / LOCK).acquire(timeout=0)
    except filelock.Timeout:
        raise BlockingIOError(f"{directory}: another process works here") from None
    with lock:
        yield


class Record(typing.TypedDict, total=False):
    """A record of a run's log; "loss" is the mean since the previous record.

    "scale" if the loss has one; "validation_..." at a validation, the edit distance for copying.
    """

    step: typing.Required[int]
    loss: float
    learning_rate: float
    tokens_per_second: float
    scale: float
    validation_loss: float
    validation_accuracy: float
    validation_edit_distance: float


def read_log(directory: Path) -> list[Record]:
    """The records of a run's log.jsonl without a half-written last line; [] if there is no file."""
    path = Path(directory) / LOG
    records = []
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.split("\n")[:-1], 1):
        try:
            records.append(rebuild(Record, json.loads(line)))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path}, line {number}: damaged record ({error})") from None
    return records


def rebuild(kind: type, value):
    """A dataclass from its JSON; JSON of another kind (list, dict, TypedDict) is checked and kept.

    ValueError names the place: "Expected `int`, got `bool` - at `$.model.layers`".
    """
    result = msgspec.convert(value, kind)  # its errors are ValueErrors
    _check(value, result, "$")
    return result if dataclasses.is_dataclass(result) else value


def _check(value, result, place: str) -> None:
    """What msgspec lets pass: unknown keys of a dataclass, NaN, and numbers of 30 digits."""
    if dataclasses.is_dataclass(value):  # built before
        return
    if dataclasses.is_dataclass(result):
        result = vars(result)
        if unknown := sorted(set(value) - set(result), key=repr):
            raise ValueError(f"Object contains unknown field `{unknown[0]}` - at `{place}`")
    if isinstance(value, dict):
        for key in value.keys() & result.keys():
            _check(value[key], result[key], f"{place}.{key}")
    elif isinstance(value, list | tuple):
        for number, (item, part) in enumerate(zip(value, result, strict=True)):
            _check(item, part, f"{place}[{number}]")
    elif isinstance(value, int | float) and not abs(value) < LARGEST:
        raise ValueError(f"Expected a number below {LARGEST:g}, got {value} - at `{place}`")


def provenance(device="cpu", packages: Iterable[str] = ("itekit", "torch", "numpy")) -> dict:
    """JSON value: the command, versions of Python and packages, hardware, and the UTC date."""
    if str(device).startswith("cuda"):
        import torch

        hardware = torch.cuda.get_device_name(device)
    else:
        facts = Path("/proc/cpuinfo")  # Linux
        model = re.search(r"model name\s*: (.*)", facts.read_text() if facts.exists() else "")
        hardware = f"{model[1] if model else platform.machine()}, {os.cpu_count()} cores"
    return {
        "command": command(),
        "versions": {"python": platform.python_version()} | versions(packages),
        "hardware": hardware,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def command() -> str:
    """The command line, as a reader would type it."""
    program = Path(sys.argv[0]).name
    return " ".join(["python -m itekit" if program == "__main__.py" else program, *sys.argv[1:]])


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Package -> its version."""
    versions = dict.fromkeys(packages, "not installed as a package")
    for name in versions:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions


def resolve_scale(scale: str | None = None) -> str:
    """The size to use: `scale`, else the variable ITEKIT_SCALE, else "lab"; or ValueError."""
    source = "scale" if scale is not None else "the environment variable ITEKIT_SCALE"
    scale = scale if scale is not None else os.environ.get("ITEKIT_SCALE") or "lab"
    if scale not in SCALES:
        raise ValueError(f"{source} is {scale!r}; expected one of {', '.join(SCALES)}")
    return scale
