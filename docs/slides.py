"""The classes' slides (`make slides`): a page for each class, a slide for each row of the table.

The guide (notebooks/README.md) says what a slide shows. The row's words in bold are its title. A
comment `<!-- LESSON TEXT -->` names a cell by a part of its text: the slide has its figure, table
or formula, or those of several cells. Where students work, it has the exercise. What else the row
says, and what students say at that minute, are notes for the speaker: the key N shows them. Arrow
keys and page keys turn; the page needs no network, and prints a slide a page.
"""

import html
import re
import sys
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook
from pages import FIGURE, FIT, draw, markdown_html, mathml
from plotly.offline import get_plotlyjs

from itekit.files import write_text

FOLDER = Path(__file__).parents[1] / "notebooks"
KINDS = FIGURE, "text/html", "text/markdown"  # of an output, the best one first
PAGE = """<!DOCTYPE html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>{title}</title>
<style>
html {{ scroll-snap-type: y mandatory; font: 26px/1.4 system-ui, sans-serif }}
body {{ margin: 0 }}
section {{ box-sizing: border-box; height: 100vh; padding: 4vh 5vw; scroll-snap-align: start;
  display: flex; flex-direction: column; break-after: page }}
h1 {{ font-size: 2.2em }} h2 {{ margin: 0 0 .4em; font-size: 1.6em; line-height: 1.2 }}
small {{ color: #666 }}
.shown {{ flex: 1; min-height: 0; overflow: hidden; display: flex; flex-direction: column;
  justify-content: center; align-items: center }}
.text {{ align-items: stretch; justify-content: flex-start }}
.shown > * {{ max-width: 100% }}
math {{ font-size: 1.6em }}
table {{ border-collapse: collapse; font-size: .75em; text-align: left }}
td, th {{ padding: .25em .8em; border-bottom: 1px solid #ccc }}
pre {{ margin: 0; white-space: pre-wrap }} 
.shown > pre {{ font-size: 1.2em }} .text pre {{ background: #f4f4f4; padding: .6em }}
aside {{ display: none }}
.notes aside {{ display: block; position: absolute; left: 0; right: 0; padding: 1em 5vw;
  background: #fffbe6; border-top: 2px solid; font-size: .7em }}
@media print {{ aside {{ display: none !important }} }}
</style><script>{script}</script><body>{slides}<script>
const slides = [...document.querySelectorAll("section")];
addEventListener("keydown", (event) => {{
  if (event.key === "n") document.body.classList.toggle("notes");
  const step = {{ ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 }}[event.key];
  if (!step) return;
  event.preventDefault();
  const now = slides.findIndex((one) => one.getBoundingClientRect().bottom > 10);
  slides[now + step]?.scrollIntoView();
}});
// Text that is too long or too wide for its slide gets smaller.
for (const place of document.querySelectorAll(".shown")) {{
  if (place.querySelector(".plotly-graph-div")) continue;
  const large = () => [...place.children].some((one) => one.scrollWidth > place.clientWidth);
  for (let size = 30; size > 14 && (large() || place.scrollHeight > place.clientHeight); size--)
    place.style.fontSize = `${{size}}px`;
}}
</script></body></html>
"""


def cells(lesson: str) -> list:
    """The cells of a lesson, by its number, or of "appendix/" and a number."""
    (path,) = FOLDER.glob(f"{lesson}_*.ipynb")
    return nbformat.read(path, 4).cells


def shown(lesson: str, text: str) -> str:
    """HTML of the first formula that holds the text, or else of what the cell with it shows."""
    for cell in cells(lesson):
        for formula in re.findall(r"\$\$(.*?)\$\$", cell.source, re.S):
            if text in formula:
                return mathml(formula.strip(), "block")
    outputs = next(c.outputs for c in cells(lesson) if c.cell_type == "code" and text in c.source)
    kinds = [kind for kind in KINDS for output in outputs if kind in output.get("data", {})]
    if not kinds:
        return f"<pre>{html.escape(''.join(output.get('text', '') for output in outputs))}</pre>"
    best = next(output for output in outputs if kinds[0] in output.get("data", {}))
    draw(new_notebook(cells=[new_code_cell(outputs=[best])]), {"plotly": False})
    return best.data.get("text/html") or markdown_html(best.data["text/markdown"])


def exercise(lesson: str, name: str) -> tuple[str, str]:
    """The title of an exercise, and HTML of its text without hints and of what is to be written."""
    every = cells(lesson)
    number = next(i for i, cell in enumerate(every) if f"\ncheck_{name}({name})" in cell.source)
    text = re.sub(r"<details>.*?</details>", "", every[number - 1].source, flags=re.S)
    title, _, rest = text.partition("\n")
    code = re.search(rf"^def {name}.*?\n    \.\.\.", every[number].source, re.M | re.S)[0]
    title = re.sub(r".*· ", f"{lesson} · ", title)
    return title, markdown_html(rest) + f"<pre>{html.escape(code)}</pre>"


def slide(row: str, notes: list[str]) -> str:
    """HTML of the slide of a row: what stands in it, and what students say."""
    what = re.findall(r"<!-- (\S+) (.*?) -->", row)
    title, rest = re.match(r"\*\*(.*?)\*\* *(.*)", re.sub(r"<!--.*?-->", "", row)).groups()
    if task := re.match(r"`(\w+)` \((\d\d)\)", rest):
        title, body = exercise(task[2], task[1])
    else:
        body = "".join(shown(*one) for one in what) or markdown_html(rest)
    look = "shown" if what else "shown text"
    said = "".join(markdown_html(note) for note in [rest, *notes])
    heading = re.sub("</?p>", "", markdown_html(title))
    place = f'<div class="{look}">{body}</div>'
    return f"<section><h2>{heading}</h2>{place}<aside>{said}</aside></section>"


def main(output: Path) -> None:
    guide = (FOLDER / "README.md").read_text(encoding="utf-8")
    for number, tells, body in re.findall(
        r"^## Class (\d): (.*?) \(.*?\n(.*?)(?=^## )", guide, re.M | re.S
    ):
        notes: dict[str, list[str]] = {}
        for minute, said, helps in re.findall(r"^\| (\d+) \| (.*?) \| (.*) \|$", body, re.M):
            notes.setdefault(minute, []).append(f"**{said}** {helps}")
        goals = markdown_html(body.partition("\n|")[0])
        goals = f'<div class="shown text">{goals}</div>'
        made = [f"<section><h1>Class {number}: {tells}</h1>{goals}</section>"]
        for start, row in re.findall(r"^\| (\d+)–\d+ \| (.+) \|$", body, re.M):
            made.append(slide(row, notes.get(start, [])))
        fill = {"title": f"Class {number}: {tells}", "slides": "\n".join(made)}
        script = f"{get_plotlyjs()}\n{FIT.read_text(encoding='utf-8')}"
        write_text(output / f"class-{number}.html", PAGE.format(**fill, script=script))
        print(f"{output / f'class-{number}.html'}  {len(made)} slides")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
