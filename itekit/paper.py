"""The paper's figures, to be put beside ours: `paper_value("copying-5-10/proposed")`.

They are read from data/paper.json, where each has its unit, the section it stands in and what it
was measured on. A figure that belongs to one of the kit's experiments has the experiment's name.
"""

import difflib
import functools
import json
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).resolve().parent.parent / "data" / "paper.json"


@dataclass(frozen=True)
class PaperValue:
    """One figure of the paper.

    Attributes:
        value: as printed in the paper.
        unit: what is counted.
        section: title of the section of the paper's appendix "Copying Task Experiments".
        note: what it was measured on.
    """

    value: float
    unit: str
    section: str
    note: str


@functools.cache
def _contents() -> dict:
    return json.loads(FILE.read_text(encoding="utf-8"))


def paper_values() -> dict[str, PaperValue]:
    """All figures by key."""
    return {key: PaperValue(**entry) for key, entry in _contents()["values"].items()}


def paper_value(key: str) -> float:
    """The figure named `key`, for example "copying-5-10/proposed".

    Raises:
        ValueError: no such figure is recorded; the message lists the nearest keys.
    """
    found = _contents()["values"]
    if key not in found:
        near = difflib.get_close_matches(key, found, 3, 0.4) or list(found)
        raise ValueError(f"the paper's figure {key!r} is not in {FILE.name}: try {', '.join(near)}")
    return found[key]["value"]


def citation() -> str:
    """The paper, on one line."""
    source = _contents()["source"]
    authors = ", ".join(source["authors"])
    return f"{authors}: {source['title']}. {source['venue']}, {source['year']}."
