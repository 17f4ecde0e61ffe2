"""A notebook in a real JupyterLab: run it, look at it, write into its cells, use its panels.

JupyterLab renders only the cells near the middle of the window, so what is on a notebook's page is
collected by scrolling through it. Element names: JupyterLab's CSS classes (`.jp-...`).
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from panel import Panel
from playwright.sync_api import Locator, Page
from server import ROOT, START

SCROLLED = ".jp-WindowedPanel-outer"
ERROR = ".jp-RenderedText[data-mime-type='application/vnd.jupyter.error']"
PANEL = ".jp-OutputArea-output:has(.jupyter-widgets)"
RUN, ANSWER = 600, 60  # seconds to wait at most: for a notebook, a cell


class Lesson:
    """A notebook open in JupyterLab.

    Args:
        page: of the browser.
        address: of the server, from `server.jupyter_lab`.
        name: of the notebook, below the notebooks folder, without suffix.
        pictures: folder for screenshots.
    """

    def __init__(self, page: Page, address: str, name: str, pictures: Path):
        self.page, self.name, self.pictures, self.shots = page, name, pictures, 0
        self.console: list[str] = []
        page.on("console", lambda m: m.type == "error" and self.console.append(m.text))
        page.on("pageerror", lambda error: self.console.append(str(error)))
        page.goto(address.format(f"notebooks/{name}.ipynb"), timeout=1000 * START)
        page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=1000 * START)
        self._wait_until_idle(START)

    def _wait_until_idle(self, seconds: int) -> None:
        """Wait for a kernel that has had nothing to do for three seconds.

        A slow start makes JupyterLab ask which kernel to start: the one that it offers.
        """
        calm = 0
        for _ in range(seconds):
            self.page.wait_for_timeout(1000)
            offered = self.page.locator(".jp-Dialog:has-text('Select Kernel') .jp-mod-accept")
            if offered.count():
                offered.click()
            state = self.page.locator(".jp-Notebook-ExecutionIndicator").first
            calm = calm + 1 if state.get_attribute("data-status") == "idle" else 0
            if calm == 3:
                return
        raise TimeoutError(f"{self.name}: the kernel is still at work after {seconds} seconds")

    def run_all(self) -> None:
        """Run all cells from the menu, and wait until the last one has run."""
        menu = self.page.get_by_role("menubar")
        menu.get_by_text("Run", exact=True).click()
        self.page.locator("[data-command='runmenu:run-all']").click()
        busy = ".jp-Notebook-ExecutionIndicator[data-status='busy']"
        self.page.wait_for_selector(busy, state="attached", timeout=1000 * START)
        self._wait_until_idle(RUN)

    def parts(self) -> Iterator[None]:
        """Scroll through the notebook, a window at a time."""
        top, end = 0, 1
        while top < end:
            self.page.evaluate(f"top => document.querySelector('{SCROLLED}').scrollTop = top", top)
            self.page.wait_for_timeout(700)
            yield
            end = self.page.evaluate(f"document.querySelector('{SCROLLED}').scrollHeight")
            top += 800

    def look(self) -> tuple[set[int], list[str]]:
        """Which cells ran, by number, and all error outputs; takes screenshots on the way."""
        numbers, errors = set(), {}
        for _ in self.parts():
            prompts = " ".join(self.page.locator(".jp-InputPrompt").all_inner_texts())
            numbers |= {int(number) for number in re.findall(r"\[(\d+)\]", prompts)}
            errors |= dict.fromkeys(self.page.locator(ERROR).all_inner_texts())
            self.picture()
        return numbers, list(errors)

    def picture(self, of: str = "page") -> None:
        """A screenshot."""
        self.shots += 1
        self.page.screenshot(path=self.pictures / f"{self.name}-{self.shots:02}-{of}.png")

    def cell(self, code: str) -> Locator:
        """The first cell that contains `code`, scrolled into view.

        Raises:
            LookupError: there is none.
        """
        path = ROOT / "notebooks" / f"{self.name}.ipynb"
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        number = next(i for i, cell in enumerate(cells) if code in "".join(cell["source"]))
        found = self.page.locator(f".jp-Cell[data-windowed-list-index='{number}']")
        for _ in self.parts():
            if found.count():
                found.scroll_into_view_if_needed()
                return found
        raise LookupError(f"{self.name}: cell {number}, which holds {code!r}, is not shown")

    def panel(self, code: str) -> Panel:
        """The panel of controls under the first cell that contains `code`."""
        found = self.cell(code).locator(PANEL).first
        found.scroll_into_view_if_needed()
        return Panel(found, self.picture)

    def write(self, cell: Locator, source: str) -> str:
        """Replace what stands in a code cell and run it; returns the text that it prints."""
        printed = cell.locator(".jp-OutputArea-output")
        before = printed.all_inner_texts()
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(source)
        self.page.keyboard.press("Control+Enter")
        for _ in range(ANSWER * 10):
            self.page.wait_for_timeout(100)
            if (now := printed.all_inner_texts()) and now != before:
                printed.last.scroll_into_view_if_needed()
                self.picture("written")
                return "\n".join(now)
        raise TimeoutError(f"{self.name}: a cell says nothing new in {ANSWER} seconds")

    def dialogs(self) -> list[str]:
        """What open dialogs say."""
        return self.page.locator(".jp-Dialog").all_inner_texts()
