"""Files that are whole or not there, what they hold by its types, where things are, and sizes.

Everything is written beside its final name, synced, then renamed.
"""

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
import types
import typing
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import filelock

LOG = "log.jsonl"
SCALES = ("smoke", "lab", "paper")  # seconds; minutes on two CPU cores; the paper's own size
LOCK = ".lock"  # in a folder in which only one process may write
STALE = 3600  # seconds after which a temporary file must be a killed run's
LARGEST = {int: 2**63, float: 1e300}  # numbers of a file are smaller

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
    """What is neither shipped nor made yet; the message says the command that makes it."""


def stored_files(folder: Path, pattern: str) -> list[Path]:
    """Files of a folder of data/: those made here, and those that come with the kit."""
    folders, own = [folder], HOME / "data"
    if folder.is_relative_to(own):
        folders = [DATA / folder.relative_to(own), folder]
    return list({path.name: path for one in folders for path in sorted(one.glob(pattern))}.values())


def stored(path: Path) -> Path:
    """The file made here, else the one that comes with the kit; `path` itself if there is none."""
    return next(iter(stored_files(path.parent, glob.escape(path.name))), path)


def require(path: Path, command: str) -> Path:
    """`stored`, if the file is there; else MissingError with the command."""
    if not stored(path).exists():
        make = f"python -m itekit {command}"
        raise MissingError(f"{path.name} is not in {path.parent}; make it: {make}")
    return stored(path)


def nearest(name: str, known: Iterable[str]) -> str:
    """The known names that are most like a mistyped one; the first ones where none is."""
    near = difflib.get_close_matches(name, known, 3, 0.4)
    return ", ".join(dict.fromkeys(near or list(known)[:20]))


@contextlib.contextmanager
def naming_full_disk(path: Path):
    """Raise OSError that says which file it was when the disk, or the quota, is full."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise OSError(error.errno, f"the disk is full: {path} was not written") from error
        raise


@contextlib.contextmanager
def atomic_path(path: Path, end: str = ".tmp"):
    """A temporary path beside `path` that takes its name if the block ends without an error.

    Temporary names close with `end` and cannot be foreseen, so that no link that lies there is
    followed; those of killed runs are removed. Raises OSError; a full disk is named as such.
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
            os.chmod(temporary, 0o644)  # temporary files can be read by their owner alone
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
    """The value of a JSON file; ValueError if it is damaged or not of `kind`."""
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: damaged JSON ({error})") from None
    if not isinstance(value, kind):
        raise ValueError(f"{path}: not the JSON value expected, found {type(value).__name__}")
    return value


@contextlib.contextmanager
def locked(directory: Path):
    """Keep other processes that ask for the same folder out; BlockingIOError if one is in."""
    Path(directory).mkdir(parents=True, exist_ok=True)
    try:
        lock = filelock.FileLock(Path(directory) / LOCK).acquire(timeout=0)
    except filelock.Timeout:
        raise BlockingIOError(f"{directory}: another process works here") from None
    with lock:
        yield


class Record(typing.TypedDict, total=False):
    """A record of a run's log; "loss" is the mean since the record before.

    "scale" where the loss has one; what begins with "validation" at a validation, the distance for
    copying (of strings of the evaluation grid's greatest length).
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
    """The records of a run's log.jsonl, none if there is no such file; ValueError if damaged.

    A half-written last line is left out.
    """
    path, records = Path(directory) / LOG, []
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.split("\n")[:-1], 1):
        try:
            records.append(typed(Record, json.loads(line)))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path}, line {number}: damaged record ({error})") from None
    return records


def typed(kind, value, name: str = ""):
    """A value of JSON as a `kind`, checked all the way down.

    A dataclass is built from its settings, and has no others; a TypedDict may have more entries
    than it names. Whole numbers pass for floats. What is neither of these, nor a list, a tuple, a
    dict, a union or a plain type, stays as it is.

    Raises:
        ValueError: it names the setting, such as "ModelConfig.layers", what was expected and what
            was found.
    """
    name = name or getattr(kind, "__name__", str(kind))
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if typing.is_typeddict(kind) or dataclasses.is_dataclass(kind):
        return _settings(kind, value, name)
    if origin in (types.UnionType, typing.Union):
        for part in parts:
            with contextlib.suppress(ValueError):
                return typed(part, value, name)
    elif origin is dict and isinstance(value, dict):
        return {key: typed(parts[1], one, f"{name}[{key!r}]") for key, one in value.items()}
    elif (plain := origin or kind) in (list, tuple) and isinstance(value, list | tuple):
        if plain is list or ... in parts or not parts:
            parts = [*parts, typing.Any][:1] * len(value)
        if len(parts) == len(value):
            items = enumerate(zip(parts, value, strict=True))
            return plain(typed(part, one, f"{name}[{i}]") for i, (part, one) in items)
    elif kind in LARGEST:
        if type(value) in (int, kind) and abs(value) < LARGEST[kind]:
            return value
    elif plain not in (str, bool, list, tuple, dict, type(None)) or type(value) is kind:
        return value
    said = getattr(kind, "__name__", "") if origin is None else str(kind)
    raise ValueError(f"{name} must be {said}, found {repr(value)[:200]}")


def _settings(kind, value, name: str):
    """A dataclass or a TypedDict of a JSON object; one that is built already as it is."""
    if dataclasses.is_dataclass(kind) and isinstance(value, kind):
        return value
    if not isinstance(value, dict):
        raise ValueError(f"{name} needs its settings, found {repr(value)[:200]}")
    hints, needed = typing.get_type_hints(kind), getattr(kind, "__required_keys__", ())
    if dataclasses.is_dataclass(kind):
        fields, none = dataclasses.fields(kind), dataclasses.MISSING
        hints = {field.name: hints[field.name] for field in fields}
        needed = [f.name for f in fields if f.default is f.default_factory is none]
        if unknown := sorted(value.keys() - hints.keys(), key=repr):
            raise ValueError(f"{name} has no setting {unknown[0]!r}")
    if missing := sorted(set(needed) - value.keys()):
        raise ValueError(f"{name} needs the setting {missing[0]!r}")
    found = {}
    for key in (key for key in hints if key in value):
        inner = "" if dataclasses.is_dataclass(hints[key]) else f"{name}.{key}"
        found[key] = typed(hints[key], value[key], inner)
    return kind(**found) if dataclasses.is_dataclass(kind) else value | found


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
    """Package -> its version, for those that are installed and those that are not."""
    found = dict.fromkeys(packages, "not installed as a package")
    for name in found:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def resolve_scale(scale: str | None = None) -> str:
    """The size to use: `scale` itself, else the variable ITEKIT_SCALE, else "lab".

    ValueError says where a wrong one came from.
    """
    source, found = "scale", scale
    if scale is None:
        source = "the environment variable ITEKIT_SCALE"
        found = os.environ.get("ITEKIT_SCALE") or "lab"
    if found not in SCALES:
        raise ValueError(f"{source} is {found!r}; expected one of {', '.join(SCALES)}")
    return found
