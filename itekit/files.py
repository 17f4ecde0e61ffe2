"""Files that are whole or not there, checkpoints and logs, where a result comes from, and sizes.

Everything is written beside its final name, synced, then renamed. A checkpoint is safetensors:
every tensor under a dotted name ("model.encoder.0...", "embedding.learned", "loss.scale") and one
metadata entry, "itekit", with JSON that says what the run was. Nothing is ever pickled. This file
loads torch only where a checkpoint is read or written.
"""

import contextlib
import errno
import fcntl
import importlib.metadata
import json
import os
import platform
import re
import sys
import tempfile
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

FORMAT, LOG = 1, "log.jsonl"
SCALES = ("smoke", "lab", "paper")  # seconds; minutes on two CPU cores; the paper's own size
STALE = 3600  # seconds after which a temporary file must be a killed run's

# What comes with the kit is in data/ beside the package; an installed one carries the small files.
# What is made goes to ITEKIT_HOME, else to the checkout, else (installed) to the working folder.
_PACKAGE = Path(__file__).resolve().parent
_CARRIED = _PACKAGE / "data_files"
DATA = _CARRIED if _CARRIED.exists() else _PACKAGE.parent / "data"
HOME = Path.cwd() if _CARRIED.exists() else _PACKAGE.parent
HOME = Path(os.environ.get("ITEKIT_HOME") or HOME).resolve()
RUNS, RESULTS = HOME / "runs", HOME / "data" / "results"


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
def atomic_path(path: Path):
    """A temporary path beside `path` that takes its name if the block ends without an error.

    Temporary names cannot be foreseen, so that no link that lies there is followed; those of
    killed runs are removed. Raises OSError; a full disk is named as such.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.glob(f".{path.name}.*.tmp"):
        with contextlib.suppress(OSError):
            if time.time() - left.lstat().st_mtime > STALE:
                left.unlink()
    with naming_full_disk(path):
        descriptor, name = tempfile.mkstemp(".tmp", f".{path.name}.", path.parent)
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
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise BlockingIOError(error.errno, f"{directory}: another process works here") from None
    finally:
        os.close(descriptor)


class CheckpointError(ValueError):
    """A checkpoint that cannot be used; the message names the file and what was expected."""


def save_checkpoint(path: Path, tensors: dict, metadata: dict) -> None:
    """Write tensors by name and JSON metadata to `path`, atomically."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    tensors = {name: x.detach().cpu().contiguous() for name, x in tensors.items()}
    with atomic_path(path) as temporary:
        try:
            save_file(tensors, temporary, {"itekit": json.dumps({"format": FORMAT, **metadata})})
        except SafetensorError as error:
            raise OSError(f"{path} was not written (is the disk full?): {error}") from error


def read_checkpoint(path: Path) -> tuple[dict, dict]:
    """All tensors of a checkpoint by name, and its metadata; CheckpointError if it is none."""
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise CheckpointError(f"{path}: no such checkpoint")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = json.loads((file.metadata() or {}).get("itekit", "null"))
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (SafetensorError, ValueError, RecursionError, OSError) as error:
        raise CheckpointError(f"{path}: damaged or truncated checkpoint ({error})") from None
    if not isinstance(metadata, dict):
        raise CheckpointError(f"{path}: a safetensors file, but not a checkpoint of itekit")
    if (found := metadata.pop("format", None)) != FORMAT:
        raise CheckpointError(f"{path}: expected checkpoint format {FORMAT}, found {found}")
    return tensors, metadata


def check_tensors(path: Path, expected: dict, found: dict) -> None:
    """Raise CheckpointError unless both hold the same names and shapes, and `found` no NaN."""
    for name in sorted(expected.keys() | found.keys()):
        shapes = [list(d[name].shape) if name in d else "none" for d in (expected, found)]
        if shapes[0] != shapes[1]:
            raise CheckpointError(
                f"{path}: tensor {name}: expected shape {shapes[0]}, found {shapes[1]}"
            )
        if not found[name].isfinite().all():
            raise CheckpointError(f"{path}: tensor {name}: expected finite numbers, found others")


def read_log(directory: Path) -> list[dict]:
    """The records of a run's log.jsonl, none if there is no such file; ValueError if damaged.

    A record has "step", "loss" (the mean since the record before), "learning_rate",
    "tokens_per_second", with AdaCos "scale", and at validation "validation_loss",
    "validation_accuracy" and, for copying, "validation_edit_distance" (of strings of the
    evaluation grid's greatest length). A half-written last line is left out.
    """
    path, records = Path(directory) / LOG, []
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.split("\n")[:-1], 1):
        try:
            records.append({"step": json.loads(line)["step"]} | json.loads(line))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ValueError(f"{path}, line {number}: damaged record ({error!r})") from None
    return records


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
