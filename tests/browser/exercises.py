"""The exercises of a lesson: a wrong answer typed into each, then a right one.

The wrong answer is the first mistake that the exercise knows, the right one is the solution's.
"""

import json
import re

from lab import ROOT, Lesson

WRONG = """from itekit.exercises.lesson_{number} import check_{name}


def {name}(*given):
    return next(iter(check_{name}.mistakes))(*given)


check_{name}({name})"""


def solutions(name: str) -> list[str]:
    """The code cells of a lesson's solutions; none if it has no exercises."""
    path = ROOT / "notebooks" / "solutions" / f"{name}.ipynb"
    if not path.exists():
        return []
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def try_exercises(lesson: Lesson) -> None:
    """Check what each exercise says to a wrong and to a right answer."""
    for right in solutions(lesson.name):
        (name,) = re.findall(r"^check_(\w+)\(", right, re.MULTILINE)
        cell = lesson.cell(f"\ncheck_{name}(")
        said = lesson.write(cell, WRONG.format(number=lesson.name[:2], name=name))
        assert f"✗ {name}: wrong on" in said and "Hint:" in said
        assert f"✓ {name}: right on all" in lesson.write(cell, right)
