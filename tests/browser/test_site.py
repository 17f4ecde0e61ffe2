"""The site of `make site`, on a phone: each page fits, is alive, and loads nothing else."""

import subprocess
import sys

import pytest
from lab import ROOT
from test_page import WIDEST

SITE = ROOT / "reports" / "site"
PAGES = ["README.html", "itekit/model.html"]
PAGES += [
    path.relative_to(ROOT).with_suffix(".html").as_posix()
    for path in sorted(ROOT.glob("notebooks/**/*.ipynb")) + sorted(ROOT.glob("notebooks/*.md"))
]


@pytest.fixture(scope="module")
def page(browser):
    command = ["-m", "sphinx", "--quiet", "--fresh-env", "--fail-on-warning", "--conf-dir", "docs"]
    subprocess.run([sys.executable, *command, ".", str(SITE)], cwd=ROOT, check=True)
    with browser.new_page(viewport={"width": 390, "height": 844}) as page:
        page.asked, page.told = [], []
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("pageerror", lambda error: page.told.append(str(error)))
        yield page


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_and_loads_nothing_from_elsewhere(page, name):
    page.asked.clear(), page.told.clear()
    page.goto((SITE / name).as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.evaluate(WIDEST) <= 390
    assert page.told == [] and all(url.startswith(("file:", "data:")) for url in page.asked)
    figures = page.locator(".plotly-graph-div").count()
    assert page.locator(".plotly-graph-div .main-svg:first-child").count() >= figures


@pytest.mark.parametrize("name", ["README.html", "notebooks/00_tour.html"])
def test_the_panel_answers(page, name):
    page.goto((SITE / name).as_uri())
    page.get_by_label("Type your name").fill("klmno")
    assert page.locator(".copies [data-answer]").last.get_attribute("data-answer") == "klmno"
