"""Every link of the pages and of the notebooks' text leads somewhere; the site has every page."""

import re
import runpy
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *ROOT.glob("data/**/*.md"), *ROOT.glob("notebooks/*.md")]
PAGES += sorted(ROOT.glob("notebooks/**/*.ipynb"))
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)")


def text_of(page: Path) -> str:
    """What a page says, without code."""
    if page.suffix == ".md":
        return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    cells = nbformat.read(page, 4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    for path, anchor in LINK.findall(text_of(page)):
        target = page.parent / path if path else page
        assert target.exists(), (path, anchor)
        if anchor:
            headings = re.findall(r"^#+ (.*)$", text_of(target), re.M)
            found = {re.sub(r"[^\w -]", "", one).lower().replace(" ", "-") for one in headings}
            assert anchor in found, (path, anchor)


def test_the_sidebar_of_the_site_has_every_page(monkeypatch):
    """Needs what `make site` installs; without it the site itself is the test."""
    pytest.importorskip("myst_nb")
    conf = runpy.run_path(str(ROOT / "docs" / "conf.py"))
    listed = [d for documents in conf["CONTENTS"].values() for d in documents]
    for page in PAGES[1:]:
        name = page.relative_to(ROOT).with_suffix("")
        assert any(name.match(pattern) for pattern in listed), name
