"""The finished chunks of a job, so that a run that was killed goes on where it stopped.

Each chunk is one small file in the work folder, written whole or not at all.  Its name is a
checksum of everything that decides its answers, so that a changed recipe or another version of a
tool never finds answers that are not its own.
"""

import hashlib
import json
import shutil
from pathlib import Path

from itekit.files import write_json


class Journal:
    """The work folder of one job.

    Args:
        folder: made if it is not there.
        key: JSON value of what decides all answers besides the items: function, limits, versions.

    Raises:
        RuntimeError: another process is at work in the folder.
    """

    def __init__(self, folder: Path, key):
        self.folder = Path(folder)
        self._key = json.dumps(key, sort_keys=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = _lock(self.folder / "lock")

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_) -> None:
        self._lock.close()

    def read(self, items: list) -> tuple[list, float] | None:
        """Answers and CPU seconds of a chunk that was finished before, else None."""
        try:
            entry = json.loads(self._path(items).read_text(encoding="utf-8"))
            answers, spent = entry["answers"], entry["spent"]
        except (FileNotFoundError, ValueError, KeyError, TypeError):  # none, or a damaged one
            return None
        return (answers, spent) if len(answers) == len(items) else None

    def write(self, items: list, answers: list, spent: float) -> None:
        """Keep the answers of a finished chunk."""
        write_json(self._path(items), {"answers": answers, "spent": spent})

    def remove(self) -> None:
        """Delete the folder: the job is finished."""
        shutil.rmtree(self.folder)

    def _path(self, items: list) -> Path:
        digest = hashlib.sha256(f"{self._key}\n{json.dumps(items)}".encode()).hexdigest()
        return self.folder / f"{digest[:32]}.json"


def _lock(path: Path):
    """An open file that no other process has locked; the lock ends with the process."""
    import fcntl

    file = path.open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise RuntimeError(f"another process is at work in {path.parent}") from error
    return file
