"""The classes' slides (`make slides`): a page for each class, from the lessons' stored outputs.

The guide's first table says which lessons a class has. Each figure of a lesson becomes a slide, and
so does the first table or drawing of each part: the part's heading, what is shown, and the first
sentence after it.
Arrow keys and page keys turn; the page needs no network, and prints a slide a page.
"""

import html
import re
import sys
from pathlib import Path

import nbformat
from pages import FIGURE, draw, markdown_html
from plotly.offline import get_plotlyjs

from itekit.files import write_text

FOLDER = Path(__file__).parents[1] / "notebooks"
PAGE = """<!DOCTYPE html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>{title}</title>
<style>
html {{ scroll-snap-type: y mandatory; font: 22px/1.4 system-ui, sans-serif }}
body {{ margin: 0 }}
section {{ box-sizing: border-box; min-height: 100vh; padding: 4vh 6vw; scroll-snap-align: start;
  display: flex; flex-direction: column; justify-content: center; break-after: page }}
h1 {{ font-size: 2.2em }} h2 {{ margin: 0 0 .5em }} small {{ color: #666 }}
.shown {{ overflow-x: auto; font-size: 16px }}
</style><script>{plotly}</script><body>{slides}<script>
const slides = [...document.querySelectorAll("section")];
addEventListener("keydown", (event) => {{
  const step = {{ ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 }}[event.key];
  if (!step) return;
  event.preventDefault();
  const now = slides.findIndex((one) => one.getBoundingClientRect().bottom > 10);
  slides[now + step]?.scrollIntoView();
}});
</script></body></html>
"""


def first_sentence(text: str) -> str:
    """The first sentence of the first paragraph of Markdown; "" if it has none."""
    for paragraph in text.split("\n\n"):
        if paragraph.strip() and not re.match(r"#|\||[-*] |\d+\. |<|\$\$", paragraph.strip()):
            return re.split(r"(?<=[.!?])\s+(?=[A-Z`*])", paragraph.strip())[0].rstrip(":")
    return ""


def slides(path: Path) -> list[str]:
    """HTML of a lesson's slides, its title first."""
    notebook = nbformat.read(path, 4)
    outputs = [cell.get("outputs", []) for cell in notebook.cells]
    figures = [any(FIGURE in one.get("data", {}) for one in some) for some in outputs]
    draw(notebook, {"plotly": False})
    title = html.escape(re.match(r"# (.*)", notebook.cells[0].source)[1])
    found, heading, seen = [f"<h1>{title}</h1>"], "", ""
    for cell, figure in zip(notebook.cells[1:], figures[1:], strict=True):
        if cell.cell_type == "markdown":
            if found[-1].endswith("</div>"):
                found[-1] += markdown_html(first_sentence(cell.source))
            heading = next(iter(re.findall(r"^## (.*)", cell.source, re.M)[-1:]), heading)
        data = [output.get("data", {}) for output in cell.get("outputs", [])]
        shown = [one.get("text/html") or one.get("image/svg+xml") for one in data]
        if any(shown) and (figure or heading != seen):
            seen, shown = heading, next(filter(None, shown))
            small = f"<small>{title}</small><h2>{html.escape(heading)}</h2>"
            found.append(f'{small}<div class="shown">{shown}</div>')
    return [f"<section>{one}</section>" for one in found]


def main(output: Path) -> None:
    guide = (FOLDER / "README.md").read_text(encoding="utf-8")
    for number, tells, lessons in re.findall(r"^\| (\d) \| (.*?) \| (.*) \|$", guide, re.M):
        made = [f"<section><h1>Class {number}</h1><p>{html.escape(tells)}.</p></section>"]
        for name in re.findall(r"\]\((.*?)\)", lessons):
            made += slides(FOLDER / name)
        page, fill = output / f"class-{number}.html", {"title": f"Class {number}"}
        write_text(page, PAGE.format(**fill, slides="\n".join(made), plotly=get_plotlyjs()))
        print(f"{page}  {len(made)} slides")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
