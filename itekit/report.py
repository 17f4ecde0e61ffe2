"""Turn an executed notebook into one HTML file that needs nothing else, not even a network.

plotly figures stay interactive (plotly.js is put into the page once), pictures are embedded, and
LaTeX becomes MathML, which browsers show by themselves. A panel of widgets needs a kernel, so a
line of text stands in its place.
"""

import copy
import html as markup
from html.parser import HTMLParser
from pathlib import Path

from jinja2 import pass_context
from latex2mathml.converter import convert
from nbconvert.exporters import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from itekit.files import write_text

PLOTLY = "application/vnd.plotly.v1+json"
WIDGET = "application/vnd.jupyter.widget-view+json"
PANEL = "A panel of controls: open the notebook in JupyterLab and run it to use them."
# What the standard page would load from a network.
TEMPLATE = """{% extends 'lab/index.html.j2' %}
{% block html_head_js_requirejs %}{% endblock %}
{% block html_head_js_mathjax %}{% endblock %}
{% block html_head_js_mermaidjs %}{% endblock %}
{% block jupyter_widgets %}{% endblock %}
"""


def mathml(latex: str, block: bool) -> str | None:
    """Return MathML for a formula, or None for LaTeX that the converter cannot read whole."""
    try:
        found = convert(latex.strip(), display="block" if block else "inline")
    except Exception:  # the converter has no common base for its errors
        return None
    return None if "<mi>\\" in found else found


class _Renderer(IPythonRenderer):
    """nbconvert's Markdown renderer with formulas as MathML; unreadable ones stay as they are."""

    def block_math(self, body: str) -> str:
        return mathml(body, block=True) or super().block_math(body)

    def inline_math(self, body: str) -> str:
        return mathml(body, block=False) or super().inline_math(body)

    def latex_environment(self, name: str, body: str) -> str:
        whole = f"\\begin{{{name}}}{body}\\end{{{name}}}"
        return mathml(whole, block=True) or super().latex_environment(name, body)


class _Exporter(HTMLExporter):
    """nbconvert's HTML exporter with the renderer above."""

    @pass_context
    def markdown2html(self, context, source: str) -> str:
        renderer = _Renderer(
            escape=False,
            attachments=context.get("cell", {}).get("attachments", {}),
            embed_images=True,
            path=context.get("resources", {}).get("metadata", {}).get("path", ""),
            anchor_link_text=self.anchor_link_text,
            exclude_anchor_links=self.exclude_anchor_links,
        )
        return MarkdownWithMath(renderer=renderer).render(source)


def _figure(data: dict, number: int) -> str:
    """Return the HTML of one plotly figure, without plotly.js, labelled with its alt text."""
    from plotly.io import to_html

    alt = (data.get("layout", {}).get("meta") or {}).get("alt", "")
    figure = to_html(
        {key: data[key] for key in ("data", "layout", "frames") if key in data},
        config=data.get("config"),
        include_plotlyjs=False,
        full_html=False,
        validate=False,
        div_id=f"plotly-figure-{number}",
        default_height="450px",
    )
    return f'<div role="figure" aria-label="{markup.escape(alt)}">{figure}</div>'


def embed_outputs(notebook) -> int:
    """Replace plotly and widget outputs of a notebook by HTML; return the number of figures."""
    notebook.metadata.pop("widgets", None)
    figures = 0
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if PLOTLY in data:
                output.data = {"text/html": _figure(data[PLOTLY], figures)}
                figures += 1
            elif WIDGET in data:
                output.data = {"text/html": f"<p><em>{PANEL}</em></p>"}
    return figures


class _Sources(HTMLParser):
    """Collects the addresses that a page would load by itself."""

    def __init__(self):
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attrs):
        name = "href" if tag == "link" else "src"
        address = dict(attrs).get(name) or ""
        if tag != "a" and address.startswith(("http:", "https:", "//")):
            self.found.append(address)


def external_sources(page: str) -> list[str]:
    """Return the network addresses that scripts, styles, pictures and frames of a page name."""
    parser = _Sources()
    parser.feed(page)
    return parser.found


def report_html(executed: str | Path, html: str | Path) -> Path:
    """Write the executed notebook as one HTML file and return its path.

    Raises FileNotFoundError for a missing notebook, ValueError naming the addresses when the page
    would load something from a network (a picture by address in a Markdown cell, for example).
    """
    import nbformat
    from plotly.offline import get_plotlyjs

    executed, html = Path(executed), Path(html)
    notebook = copy.deepcopy(nbformat.read(executed, 4))
    figures = embed_outputs(notebook)
    exporter = _Exporter(raw_template=TEMPLATE)
    resources = {"metadata": {"name": executed.stem, "path": str(executed.parent)}}
    page, _ = exporter.from_notebook_node(notebook, resources)
    if figures:
        script = f'<script charset="utf-8">{get_plotlyjs()}</script>\n</head>'
        page = page.replace("</head>", script, 1)
    if addresses := external_sources(page):
        raise ValueError(f"{executed.name}: the page would load {', '.join(addresses)}")
    write_text(html, page)
    return html
