"""The hand-out of a class (`make student`): the notebooks without outputs and solutions.

`python docs/handout.py FOLDER`, a folder beside `notebooks`, in which students work, so that their
copy of the repository stays as it is. Each link leads where it led; a link to solutions is text.
"""

import re
import sys
from pathlib import Path

import nbformat

from itekit.files import write_text

ROOT = Path(__file__).parents[1]
HANDED = ["*.ipynb", "appendix/*.ipynb", "cheat_sheet.md"]


def relinked(text: str, path: Path, handed: set[Path]) -> str:
    """The text of a page whose links to what is not handed out lead to the repository."""

    def link(found: re.Match) -> str:
        words, target = found.groups()
        file = (path.parent / target.partition("#")[0]).resolve()
        if "solutions/" in target:
            return words
        if file in handed or not file.exists():  # of the hand-out, or an address
            return found[0]
        up = "../" * len(path.relative_to(ROOT / "notebooks").parts)
        anchor = target.removeprefix(target.partition("#")[0])
        return f"[{words}]({up}{file.relative_to(ROOT).as_posix()}{anchor})"

    return re.sub(r"\[([^\]]*)\]\(([^)\s]+)\)", link, text)


def main(folder: Path) -> None:
    notebooks = ROOT / "notebooks"
    handed = {path for pattern in HANDED for path in notebooks.glob(pattern)}
    for path in sorted(handed):
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".md":
            text = relinked(text, path, handed)
        else:
            notebook = nbformat.reads(text, 4)
            tags = [cell.metadata.get("tags", []) for cell in notebook.cells]
            cells = zip(notebook.cells, tags, strict=True)
            notebook.cells = [cell for cell, its in cells if "solution" not in its]
            for cell in notebook.cells:
                if cell.cell_type == "markdown":
                    cell.source = relinked(cell.source, path, handed)
                elif cell.cell_type == "code":
                    cell.outputs, cell.execution_count = [], None
            text = nbformat.writes(notebook) + "\n"
        write_text(folder / path.relative_to(notebooks), text)
    print(f"hand-out  {folder.absolute()}  {len(handed)} files")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
