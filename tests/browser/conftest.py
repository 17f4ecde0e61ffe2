"""One server and one browser for all lessons; screenshots stay in reports/browser."""

import pytest
from lesson import Lesson
from playwright.sync_api import sync_playwright
from server import ROOT, find_browser, jupyter_lab

PICTURES = ROOT / "reports" / "browser"


@pytest.fixture(scope="session")
def address(tmp_path_factory):
    PICTURES.mkdir(parents=True, exist_ok=True)
    with jupyter_lab(tmp_path_factory.mktemp("lab"), PICTURES / "server.log") as address:
        yield address


@pytest.fixture(scope="session")
def browser():
    quiet = ["--disable-background-networking", "--disable-component-update"]
    options = ["--no-sandbox", "--disable-dev-shm-usage", *quiet]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=find_browser(), args=options)
        yield browser
        browser.close()


@pytest.fixture
def open_lesson(browser, address):
    """Opens a notebook, runs all of it and checks that no cell failed; gives the lesson.

    When the test is done, no dialog may be open and the console must be free of errors.
    """
    pages, lessons = [], []

    def open_one(name: str) -> Lesson:
        pages.append(browser.new_page(viewport={"width": 1300, "height": 1000}))
        lesson = Lesson(pages[-1], address, name, PICTURES)
        lessons.append(lesson)
        lesson.run_all()
        numbers, errors = lesson.look()
        assert not errors
        assert numbers == set(range(1, max(numbers, default=1) + 1))
        return lesson

    yield open_one
    for lesson in lessons:
        assert not lesson.dialogs()
        assert not lesson.console
    for page in pages:
        page.close()
