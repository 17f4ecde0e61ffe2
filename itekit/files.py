"""Files that are either whole or not there: written beside, synced, then renamed."""

import contextlib
import errno
import json
import os
from pathlib import Path


@contextlib.contextmanager
def naming_full_disk(path: Path):
    """Say which file it was when the disk, or the quota, is full.

    Raises:
        OSError: with the message "the disk is full" and the path.
    """
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise OSError(error.errno, f"the disk is full: {path} was not written") from error
        raise


@contextlib.contextmanager
def atomic_path(path: Path):
    """A temporary path beside `path` that takes its name if the block ends without an error.

    Raises:
        OSError: the file cannot be written; a full disk is named as such.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with naming_full_disk(path):
            yield temporary
            with open(temporary, "rb") as file:
                os.fsync(file.fileno())
            os.chmod(temporary, 0o644)  # some writers make files that only their owner can read
            os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value) -> None:
    """Write a JSON file atomically, indented, with a final newline."""
    write_text(path, json.dumps(value, indent=1) + "\n")
