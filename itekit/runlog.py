"""The log of a training run: log.jsonl, one JSON record a line, appended to while training.

A record has "step", "loss" (the mean since the record before), "learning_rate",
"tokens_per_second", with AdaCos "scale", and at validation "validation_loss",
"validation_accuracy" and, for copying, "validation_edit_distance" (of strings of the evaluation
grid's greatest length).
"""

import json
from collections.abc import Iterator
from pathlib import Path

from itekit.files import naming_full_disk, write_text

LOG = "log.jsonl"


def read_lines(path: Path, last_step: int | None = None) -> Iterator[str]:
    """The lines of a log up to a step; a half-written last line is left out."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            if not line.endswith("\n"):
                return
            if last_step is None or json.loads(line)["step"] <= last_step:
                yield line


def read_log(directory: Path) -> list[dict]:
    """The records of a run's log.jsonl, none if there is no such file."""
    path = Path(directory) / LOG
    return [json.loads(line) for line in read_lines(path)] if path.exists() else []


def append_record(directory: Path, record: dict) -> None:
    """Append a record to a run's log.

    Raises:
        OSError: the file cannot be written; a full disk is named as such.
    """
    path = Path(directory) / LOG
    with naming_full_disk(path), open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def truncate_log(directory: Path, last_step: int) -> None:
    """Drop the records after a step, which a resumed run will write again."""
    path = Path(directory) / LOG
    if path.exists():
        write_text(path, "".join(read_lines(path, last_step)))
