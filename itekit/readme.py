"""Write what README.md takes from elsewhere: results, package map, picture (`itekit readme`).

The tables stand between HTML comments, `<!-- NAME -->` and `<!-- /NAME -->`; the rest of the
file is written by hand and left alone.
"""

import ast
import re
from pathlib import Path

import plotly.graph_objects as go

from itekit.files import write_text
from itekit.logic_summary import logic_table
from itekit.plots import edit_distance_heatmaps, save_png
from itekit.results import MissingResultError, load_result
from itekit.summary import comparison_table, markdown_table

ROOT = Path(__file__).resolve().parent.parent
PICTURE = Path("data") / "pictures" / "copying.png"
FAMILY, VARIANTS = "copying-5-10", ("plain", "proposed", "randomized-positions")


def module_map(package: Path = ROOT / "itekit") -> str:
    """A Markdown table of the package's files with the first sentence of each docstring.

    Raises:
        ValueError: a file without a docstring.
    """
    rows = []
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package.parent).as_posix()
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        if not text:
            raise ValueError(f"{name} has no docstring: its first sentence is the map's line")
        rows.append([f"[{name}]({name})", first_sentence(text)])
    return markdown_table(("file", "what it does"), rows)


def first_sentence(text: str) -> str:
    """The first sentence of the first paragraph, on one line, without its full stop."""
    paragraph = " ".join(text.split("\n\n")[0].split())
    return re.split(r"\.(?= [A-Z])|\.$", paragraph)[0]


def replaced(text: str, name: str, content: str) -> str:
    """`text` with the lines between the comments `<!-- name -->` and `<!-- /name -->` replaced.

    Raises:
        ValueError: the two comments are not there exactly once, in this order.
    """
    begin, end = f"<!-- {name} -->\n", f"\n<!-- /{name} -->"
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise ValueError(f"README.md: expected one {begin.strip()} with {end.strip()} after it")
    return text[: text.index(begin) + len(begin)] + content + text[text.index(end) :]


def filled(text: str) -> str:
    """README.md's text with the results and the package map as they are now."""
    text = replaced(text, "results", comparison_table())
    text = replaced(text, "logic", logic_table())
    return replaced(text, "map", module_map())


def picture() -> go.Figure:
    """The shipped heatmaps at paper size beside each other.

    Raises:
        MissingResultError: one of the results is not shipped.
    """
    panels = []
    for variant in VARIANTS:
        result = load_result(f"{FAMILY}/{variant}", "paper")
        data = result["experiment"]["data"]
        length = (data["minimum"], data["maximum"])
        panels.append((variant, result["result"]["grid"], data["characters"], length))
    axis = result["result"]["axis"]
    return edit_distance_heatmaps(panels, columns=len(panels), lengths=axis, uniques=axis)


def refresh(root: Path = ROOT) -> list[str]:
    """Rewrite README.md's tables and the picture; return a line on each.

    The picture stays as it is where its results are missing or there is no browser to draw it.

    Raises:
        FileNotFoundError: no README.md in `root`.
        ValueError: README.md lacks a pair of comments.
    """
    readme = Path(root) / "README.md"
    write_text(readme, filled(readme.read_text(encoding="utf-8")))
    said = [f"written   {readme}"]
    target = Path(root) / PICTURE
    try:
        figure = picture()
        target.parent.mkdir(parents=True, exist_ok=True)
        said.append(f"written   {save_png(figure, target)}")
    except (MissingResultError, RuntimeError) as error:
        said.append(f"kept      {target}: {error}")
    return said
