"""Executed notebooks as pages that need no network: what the site, the slides and the tour share.

`python docs/pages.py EXECUTED.ipynb PAGE.html` writes one page; plotly figures stay interactive.
"""

import re
import sys
from pathlib import Path

from latex2mathml.converter import convert
from nbconvert.exporters import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from plotly.io import to_html

from itekit.files import write_text
from itekit.notebooks import NO_PANEL, PANEL

FIGURE = "application/vnd.plotly.v1+json"
FIT = Path(__file__).with_name("_static") / "fit.js"  # figures as wide as their place
LAB_ONLY = {"parameters", "injected-parameters", "lab-only"}  # tags of cells that a page leaves out
NO_PROMPTS = "exclude_input_prompt", "exclude_output_prompt"
# nbconvert's page without what it loads from the net; require.js would hide plotly.js from figures.
OFFLINE = """{% extends "lab/index.html.j2" %}
{% block html_head_js_requirejs %}{% endblock %}
{% block html_head_js_mathjax %}{% endblock %}
{% block html_head_js_mermaidjs %}{% endblock %}
{% block notebook_css %}{{ super() }}<style>
body.jp-Notebook { max-width: 900px; margin: 0 auto; padding: 1em 10px; font-size: 16px }
.jp-Cell { padding-inline: 0 }
.jp-Collapser { display: none }
.jp-OutputArea-child, .jp-OutputArea-output {
  display: block !important; box-sizing: border-box; width: 100%; overflow-x: auto }
/* long lines of code scroll on a phone */
.jp-InputArea-editor { display: block; width: 100%; box-sizing: border-box; overflow-x: auto }
</style><script>{{ resources.fit }}</script>{% endblock %}"""


def draw(notebook, resources):
    """A preprocessor of nbconvert: plotly's figures as HTML; plotly.js stands in the page once.

    Panels that need a kernel become a line of text.
    """
    library = resources.get("plotly", True)  # as `to_html` wants it for the first figure
    for output in (o for cell in notebook.cells for o in cell.get("outputs", [])):
        if figure := output.get("data", {}).get(FIGURE):
            text = to_html(figure, include_plotlyjs=library, full_html=False, validate=False)
            output.data, library = {"text/html": text}, False
        if output.get("data", {}).pop(PANEL, None):
            output.data = {"text/plain": NO_PANEL}
    notebook.metadata.pop("widgets", None)
    return notebook, resources


def as_page(notebook, resources):
    """A preprocessor of nbconvert: a page's title; no cells that are for JupyterLab alone.

    Links lead to the notebooks as seen from the page's folder.
    """
    tags = [{*cell.metadata.get("tags", [])} for cell in notebook.cells]
    notebook.cells = [c for c, its in zip(notebook.cells, tags, strict=True) if not its & LAB_ONLY]
    resources["metadata"]["name"] = re.match("# (.*)", notebook.cells[0].source)[1]
    for cell in notebook.cells:
        if "remove-input" in cell.metadata.get("tags", []):
            cell.transient = {"remove_source": True}
        cell.source = re.sub(r"\]\((?=[\w/]+\.ipynb)", "](../notebooks/", cell.source)
    return notebook, resources | {"fit": FIT.read_text(encoding="utf-8")}


def mathml(latex: str, display: str = "inline") -> str:
    """A formula as MathML, "inline" or a "block"; bold letters and the like as Unicode has them.

    The converter does so where the letter stands in braces; browsers know no `mathvariant`.
    """
    letter = r"(\\(?:math[a-z]+|boldsymbol)(?![a-z])) *(\\[a-z]+|[A-Za-z0-9])"
    made = convert(re.sub(letter, r"\1{\2}", latex), display=display)
    made = re.sub(r'mathvariant="bold[a-z-]*"', 'style="font-weight:bold"', made)
    return f'<div style="overflow-x:auto;margin:1em 0">{made}</div>' if display == "block" else made


class Renderer(IPythonRenderer):
    """nbconvert's, with formulas as MathML."""

    def inline_math(self, body: str) -> str:
        return mathml(body)

    def block_math(self, body: str) -> str:
        return mathml(body, "block")


def markdown_html(source: str) -> str:
    """Markdown as HTML, with formulas as MathML."""
    return MarkdownWithMath(renderer=Renderer(escape=False)).render(source)


def write_page(executed: str | Path, page: str | Path) -> Path:
    """Write an executed notebook as one HTML file by nbconvert, which needs no network.

    Plotly figures stay interactive.
    """
    filters, quiet = {"markdown2html": markdown_html}, dict.fromkeys(NO_PROMPTS, True)
    steps = {"preprocessors": [as_page, draw]}
    exporter = HTMLExporter(embed_images=True, filters=filters, **steps, **quiet)
    exporter.raw_template = OFFLINE
    write_text(page, exporter.from_filename(str(executed))[0])
    return Path(page).absolute()


if __name__ == "__main__":
    print(f"page      {write_page(*sys.argv[1:])}")
