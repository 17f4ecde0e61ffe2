"""What the copying search has found so far: data/results/copying-search-SCALE.json.

A list with a record for each finished setting: the fields of `Setting`, "edit_distance" (the mean
over the validation grid and all draws), and "result", "experiment", "trained" and "evaluated" as in
the other result files.
"""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

from itekit.experiments import from_json
from itekit.files import write_json
from itekit.results import RESULTS
from itekit.scale import resolve_scale
from itekit.search.settings import Setting, search_settings

LOCK = ".lock.tmp"  # ends as temporary files do, so that git ignores it


class BusyError(RuntimeError):
    """Another process is working on this."""


def result_path(scale: str | None = None, directory: Path = RESULTS) -> Path:
    """The file with the records of a search."""
    return Path(directory) / f"copying-search-{resolve_scale(scale)}.json"


def load_search(scale: str | None = None, directory: Path = RESULTS) -> list[dict]:
    """The records of a search that are there, in the order of `search_settings`; [] if none.

    Raises:
        ValueError: a damaged file, or a record that was made with other settings than today's.
    """
    scale = resolve_scale(scale)
    path = result_path(scale, directory)
    if not path.exists():
        return []
    try:
        found = {Setting.of(record): record for record in json.loads(path.read_text("utf-8"))}
        made = {setting: from_json(record["experiment"]) for setting, record in found.items()}
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: damaged results of a search ({error!r})") from error
    for setting, experiment in made.items():
        if experiment != setting.experiment(scale):
            raise ValueError(
                f"{path}: {setting} was made with other settings than the search has now at "
                f"{scale} size; move the file away, or choose another directory"
            )
    order = {setting: place for place, setting in enumerate(search_settings(scale))}
    return [found[setting] for setting in sorted(found, key=lambda s: order.get(s, len(order)))]


def missing(scale: str | None = None, directory: Path = RESULTS) -> list[Setting]:
    """The settings of a search without a record."""
    done = {Setting.of(record) for record in load_search(scale, directory)}
    return [setting for setting in search_settings(scale) if setting not in done]


def add_record(record: dict, scale: str | None = None, directory: Path = RESULTS) -> None:
    """Write the file again with one more record, unless it has one of this setting; atomically."""
    path = result_path(scale, directory)
    with claimed(path.with_name(f".{path.stem}{LOCK}"), wait=True):
        records = load_search(scale, directory)
        if Setting.of(record) not in map(Setting.of, records):
            write_json(path, [*records, record])


@contextlib.contextmanager
def claimed(path: Path, wait: bool = False) -> Iterator[None]:
    """Hold a lock file, which stays there; where there are no locks (Windows), do nothing.

    Raises:
        BusyError: another process holds it, and `wait` is False.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise BusyError(f"another process is at work in {path.parent}") from None
        yield
