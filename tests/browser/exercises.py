"""The exercises of a lesson: a wrong answer typed into each, then a right one.

The wrong answer is the first mistake that the exercise knows, the right one is the solution's.
"""

import json
import re

from lesson import Lesson
from server import ROOT

WRONG = """from lessons.lesson_{number} import check_{name}


def {name}(*given):
    return next(iter(check_{name}.mistakes))(*given)


check_{name}({name})"""


def solutions(name: str) -> dict[str, str]:
    """Exercise -> the code that solves it, with what stands before it; none without exercises."""
    path = ROOT / "notebooks" / "solutions" / f"{name}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"] if path.exists() else []
    found, before = {}, ""
    for cell in cells:
        if cell["cell_type"] == "code":
            before += "".join(cell["source"]) + "\n\n\n"
            if exercise := re.search(r"^check_(\w+)\(", before, re.MULTILINE):
                found[exercise[1]], before = before.rstrip(), ""
    return found


def try_exercises(lesson: Lesson) -> None:
    """Check what each exercise says to a wrong and to a right answer."""
    for name, right in solutions(lesson.name).items():
        cell = lesson.cell(f"\ncheck_{name}(")
        said = lesson.write(cell, WRONG.format(number=lesson.name[:2], name=name))
        assert f"✗ {name}: wrong on" in said and "Hint:" in said
        assert f"✓ {name}: right on all" in lesson.write(cell, right)
