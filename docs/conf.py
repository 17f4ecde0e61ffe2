"""The site (`make site`): all notebooks with the outputs that they are stored with, and the source.

Nothing is executed, and no page loads anything from elsewhere: plotly.js is here once, formulas are
MathML, and the copying networks of the tour run in its page.
"""

import re
import sys
from pathlib import Path

import nbformat
from docutils import nodes
from plotly.offline import get_plotlyjs
from sphinx.parsers import Parser

sys.path.insert(0, str(Path(__file__).parent))
from pages import draw, mathml  # noqa: E402

from lessons.copying import CopyExplorer  # noqa: E402

ROOT = Path(__file__).parents[1]
CONTENTS = {  # caption -> documents in the sidebar
    "Lessons": ["notebooks/[0-9]*", "notebooks/explorer", "notebooks/cheat_sheet"],
    "Full runs": ["notebooks/running", "notebooks/run", "notebooks/paper_tables"],
    "Appendix": ["notebooks/appendix/*"],
    "For lecturers": ["notebooks/README", "notebooks/questions", "notebooks/solutions/*"],
    "Data": ["data/README", "data/results/README", "CHANGELOG"],
    "Source": ["itekit/**", "notebooks/lessons/**"],
}

# The site's first page begins with the panel. A copy on GitHub's pages knows its address on Binder.
START = """<p><b>Type your name.</b> Two networks copy it, and both learned from strings over the
letters <code>a</code> to <code>e</code> alone.
<a id="binder" hidden>Binder: all notebooks in JupyterLab, with nothing installed</a></p>{}<script>
const [owner, site] = location.hostname.split(/\\.(.*)/), copy = location.pathname.split("/")[1];
binder.href = `https://mybinder.org/v2/gh/${{owner}}/${{copy}}/HEAD?labpath=notebooks/00_tour.ipynb`;
binder.hidden = site !== "github.io";
</script>"""

project, author, html_title = "itekit", "the itekit authors", "itekit"
project_copyright = "the itekit authors, MIT licence"
extensions = ["myst_nb"]
root_doc = "README"
include_patterns = ["**.md", "notebooks/**", "itekit/**", "LICENSE"]
exclude_patterns = [".*", "**/.*", "**/__pycache__", "docs", "reports", "runs", "tests", "**/*.txt"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb", ".py": "python", ".js": "javascript"}

nb_execution_mode, nb_render_markdown_format = "off", "myst"
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
html_theme = "sphinx_book_theme"
html_theme_options = {"use_download_button": False, "home_page_in_toc": True}
html_context = {"default_mode": "auto"}
html_static_path, html_css_files, html_extra_path = ["_static"], ["itekit.css"], ["index.html"]
html_js_files = ["fit.js"]
html_math_renderer, html_show_sphinx, html_copy_source = "mathml", False, False
suppress_warnings = ["mystnb.unknown_mime_type"]


class SourceParser(Parser):
    """A file of the kit as a page: its text, coloured, under its path."""

    def parse(self, inputstring, document):
        section = nodes.section(ids=["source"])
        path = Path(document["source"]).relative_to(ROOT)
        section += nodes.title(text=path.as_posix())
        section += nodes.literal_block(text=inputstring, language=self.supported[0])
        document += section


class PythonParser(SourceParser):
    supported = ("python",)


class JavaScriptParser(SourceParser):
    supported = ("javascript",)


def alive(notebook: nbformat.NotebookNode, docname: str) -> None:
    """Bring figures to life, and the panel that needs no kernel."""
    library = "../" * docname.count("/") + "_static/plotly.min.js"
    draw(notebook, {"plotly": library})
    for cell in notebook.cells:
        if "CopyExplorer()" in cell.source:
            cell.outputs[0].data = {"text/html": CopyExplorer()._repr_html_()}


def read(app, docname: str, source: list[str]) -> None:
    """Prepare the text of a document as it is read."""
    if docname == root_doc:
        panel = f"```{{raw}} html\n{START.format(CopyExplorer()._repr_html_())}\n```\n\n"
        for_github = r"(?s)\*\*Type your name.*?\n\n"
        source[0] = re.sub(for_github, lambda _: panel, source[0], count=1)
        for folder in ("notebooks/appendix", "notebooks/solutions"):
            first = min((ROOT / folder).glob("*.ipynb")).relative_to(ROOT).as_posix()
            source[0] = source[0].replace(f"]({folder})", f"]({first})")
        source[0] = source[0].replace("](itekit)", "](itekit/vocabulary.py)")
        for caption, documents in CONTENTS.items():
            lines = [":hidden:", ":glob:", f":caption: {caption}", "", *documents, "```"]
            source[0] += "\n".join(["\n```{toctree}", *lines, ""])
    if app.env.doc2path(docname).suffix == ".ipynb":
        notebook = nbformat.reads(source[0], 4)
        alive(notebook, docname)
        source[0] = nbformat.writes(notebook)


def inline(self, node) -> None:
    self.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def block(self, node) -> None:
    self.body.append(mathml(node.astext(), "block"))
    raise nodes.SkipNode


def finish(app, error) -> None:
    if not error:
        library = Path(app.outdir) / "_static" / "plotly.min.js"
        library.write_text(get_plotlyjs(), encoding="utf-8")


def setup(app) -> None:
    app.add_source_parser(PythonParser)
    app.add_source_parser(JavaScriptParser)
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    app.connect("source-read", read)
    app.connect("build-finished", finish)
