"""One server and one browser for all lessons; what they leave is in reports/browser."""

import pytest
from lab import ROOT, Lesson, find_browser, jupyter_lab
from playwright.sync_api import sync_playwright

PICTURES = ROOT / "reports" / "browser"


@pytest.fixture(scope="session")
def address(tmp_path_factory):
    PICTURES.mkdir(parents=True, exist_ok=True)
    with jupyter_lab(tmp_path_factory.mktemp("lab"), PICTURES / "server.log") as address:
        yield address


@pytest.fixture(scope="session")
def browser():
    quiet = ["--disable-background-networking", "--disable-component-update"]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=find_browser(), args=["--no-sandbox", "--disable-dev-shm-usage", *quiet]
        )
        yield browser
        browser.close()


@pytest.fixture
def open_lesson(browser, address):
    """Opens a notebook; after the test no dialog may be open, nor the console have errors."""
    pages, lessons = [], []

    def open_one(name: str) -> Lesson:
        pages.append(browser.new_page(viewport={"width": 1280, "height": 900}))
        lessons.append(Lesson(pages[-1], address, name, PICTURES))
        return lessons[-1]

    yield open_one
    for lesson in lessons:
        assert not lesson.page.locator(".jp-Dialog").all_inner_texts()
        assert not lesson.console
    for page in pages:
        page.close()
