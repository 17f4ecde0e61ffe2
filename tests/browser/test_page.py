"""The page that `make run` writes, opened as a file: one file, and it answers as torch does."""

import runpy

import numpy as np
import pytest
from lab import ROOT

from itekit.__main__ import main
from itekit.results import load_network
from lessons.copies import copies
from lessons.copying import NETWORKS

ASK = """questions => {
    const [box, slider] = document.querySelectorAll('.copies input');
    return questions.map(([text, draw]) => {
        [box.value, slider.value] = [text, draw];
        box.dispatchEvent(new Event('input'));
        const told = document.querySelectorAll('.copies [data-answer]');
        return [...told].map(one => [one.dataset.answer, Number(one.dataset.distance)]);
    });
}"""
WIDEST = """Math.max(...[...document.querySelectorAll('.js-plotly-plot .main-svg')].map(
    (figure) => figure.getBoundingClientRect().right))"""
SHOWN = "document.querySelector('.copies').innerText"


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    command = ["run", str(ROOT / "notebooks" / "00_tour.ipynb"), "--output"]
    assert main([*command, str(folder / "tour.ipynb")]) == 0
    write = runpy.run_path(str(ROOT / "docs" / "pages.py"))["write_page"]
    write(folder / "tour.ipynb", folder / "tour.html")
    with browser.new_page(viewport={"width": 390, "height": 844}) as page:
        page.told, page.asked = [], []
        page.on("console", lambda message: page.told.append(message.text))
        page.on("pageerror", lambda error: page.told.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto((folder / "tour.html").as_uri())
        page.wait_for_selector(".copies [data-answer]")
        yield page


def test_the_page_is_one_file_and_fits_a_phone(page):
    page.wait_for_timeout(2000)
    assert [url for url in page.asked if not url.startswith(("data:", "blob:"))] == [page.url]
    assert page.told == []
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.evaluate(WIDEST) <= 390
    assert "run this cell in JupyterLab" not in page.locator("body").inner_text()
    assert page.title() == page.locator("h1").inner_text().removesuffix("¶")
    assert page.locator(".js-plotly-plot .main-svg").count() >= 2


def test_it_answers_200_strings_as_torch_does(page):
    networks = [load_network(f"copying-5-10/{one}", "paper") for one in NETWORKS]
    names = networks[1].experiment.task.test_vocabulary.interchangeable[0]
    rng, asked = np.random.default_rng(0), []
    for number in range(200):  # half of them such that plain can read them
        some = rng.permutation(names[: 5 if number % 2 else 30])[: rng.integers(1, 31)]
        asked.append(["".join(rng.choice(some, rng.integers(1, 61))), int(rng.integers(10))])
    found = page.evaluate(ASK, asked)
    ours = [[copies(network, [text], draw)[0] for network in networks] for text, draw in asked]
    assert found == [[[one.answer, one.distance] for one in both] for both in ours]
    assert sum(both[0].distance > 0 and both[0].answer != "" for both in ours) > 20


def test_its_controls_answer(page):
    box = page.get_by_label("Type your name")
    box.fill("klmno")
    assert "no embedding for 'k'" in page.evaluate(SHOWN)
    page.get_by_text("Rename at random").click()
    renamed = box.input_value()
    assert (
        renamed != "klmno"
        and len(set(renamed)) == 5
        and f"k → {renamed[0]}" in page.evaluate(SHOWN)
    )
    rows = page.locator(".copies .rows")
    before = rows.inner_html()
    page.get_by_label("random draw").press("Home")
    page.get_by_label("random draw").press("ArrowRight")
    assert "random draw 1" in page.evaluate(SHOWN) and rows.inner_html() != before
    box.fill("".join(map(chr, range(0x4E00, 0x4E00 + 35))))
    assert "no vertex is left for '丢': 64 other characters have them" in page.evaluate(SHOWN)
    assert page.locator(".copies .old .rows").count() == 1, "what was found last stays, in grey"
    for name in ("Maria", "日本語", "😀", " ", '<b>&"'):
        box.fill(name)
        assert page.evaluate(ASK, [[name, 0]])[0][1] == [name, 0], name
