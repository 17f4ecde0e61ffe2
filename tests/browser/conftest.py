"""One server and one browser for all lessons; the server's log is reports/browser.log."""

import pytest
from lab import ROOT, Lesson, find_browser, jupyter_lab
from playwright.sync_api import sync_playwright


@pytest.fixture(scope="session")
def address(tmp_path_factory):
    (log := ROOT / "reports" / "browser.log").parent.mkdir(exist_ok=True)
    with jupyter_lab(tmp_path_factory.mktemp("lab"), log) as address:
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
def lesson(request, browser, address):
    """An open notebook; after the test no dialog may be open, nor the console have errors."""
    with browser.new_page(viewport={"width": 1280, "height": 900}) as page:
        opened = Lesson(page, address, request.param)
        yield opened
        assert not page.locator(".jp-Dialog").all_inner_texts()
        assert not opened.console
