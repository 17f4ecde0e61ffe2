"""The slides of `make slides`, projected: one for each row of a timetable, and all fits."""

import re
import runpy
import sys

import pytest
from lab import ROOT

GUIDE = (ROOT / "notebooks" / "README.md").read_text(encoding="utf-8")
CLASSES = re.findall(r"^## Class (\d).*?\n(.*?)(?=^## )", GUIDE, re.M | re.S)
# The titles of slides on which something is cut off, or smaller than a hall can read.
CUT = """() => [...document.querySelectorAll("section")].filter((slide) => {
    const place = slide.querySelector(".shown"), edge = place.getBoundingClientRect();
    const parts = [...place.children, ...place.querySelectorAll(".main-svg, math, pre, table")];
    return slide.scrollHeight > innerHeight || parseFloat(place.style.fontSize || 26) < 18 ||
        parts.map((part) => part.getBoundingClientRect()).some((part) =>
            part.right > edge.right + 1 || part.bottom > edge.bottom + 1);
}).map((slide) => slide.querySelector("h1, h2").innerText)"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    sys.path.insert(0, str(ROOT / "docs"))
    folder = tmp_path_factory.mktemp("slides")
    runpy.run_path(str(ROOT / "docs" / "slides.py"))["main"](folder)
    return folder


@pytest.mark.parametrize(("number", "body"), CLASSES, ids=[number for number, _ in CLASSES])
def test_a_class_has_a_slide_for_each_row_and_nothing_is_cut_off(browser, folder, number, body):
    rows = re.findall(r"^\| \d+–\d+ \| ", body, re.M)
    said = re.findall(r"^\| \d+ \| ", body, re.M)
    with browser.new_page(viewport={"width": 1280, "height": 720}) as page:
        page.goto((folder / f"class-{number}.html").as_uri(), timeout=120_000)
        page.wait_for_timeout(2000)
        assert page.locator("section").count() == 1 + len(rows)
        assert page.evaluate(CUT) == []
        notes = page.locator("aside").filter(visible=True)
        assert notes.count() == 0 and len(said) > 2
        page.keyboard.press("n")
        assert notes.count() > 2
