"""A real JupyterLab in a headless browser: a server on copies of the notebooks, and a page to use.

JupyterLab renders only the cells near the middle of the window, so what is on a notebook's page is
collected by scrolling through it. Element names: JupyterLab's CSS classes (`.jp-...`).
"""

import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from panel import Panel
from playwright.sync_api import Locator, Page

ROOT = Path(__file__).resolve().parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SCROLLED = ".jp-WindowedPanel-outer"
ERROR = ".jp-RenderedText[data-mime-type='application/vnd.jupyter.error']"
PANEL = ".jp-OutputArea-output:has(.jupyter-widgets)"
START, RUN, ANSWER = (
    120,
    600,
    60,
)  # seconds to wait at most: for a page, a notebook, a cell's answer


def find_browser() -> str:
    """The path of Chromium or Chrome.

    Raises:
        RuntimeError: there is none.
    """
    found = os.environ.get("ITEKIT_BROWSER") or next(
        filter(None, map(shutil.which, BROWSERS)), None
    )
    if not found:
        raise RuntimeError(
            "no browser found: install Chromium (Debian: apt-get install chromium), "
            "or name one in ITEKIT_BROWSER"
        )
    return found


@contextmanager
def jupyter_lab(folder: Path, log: Path) -> Iterator[str]:
    """A server on copies of the notebooks without outputs; gives the address of /lab/tree/."""
    for path in [*ROOT.glob("notebooks/*.ipynb"), *ROOT.glob("notebooks/solutions/*.ipynb")]:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                cell["outputs"], cell["execution_count"] = [], None
        copy = folder / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(json.dumps(notebook), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port, token = free.getsockname()[1], secrets.token_hex(16)
    own = {f"JUPYTER_{kind}_DIR": str(folder / kind) for kind in ("CONFIG", "DATA", "RUNTIME")}
    options = {
        "ServerApp.port": port,
        "ServerApp.root_dir": folder,
        "IdentityProvider.token": token,
    }
    given = [f"--{name}={value}" for name, value in options.items()]
    command = [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root", *given]
    with log.open("w") as output:
        server = subprocess.Popen(command, env=os.environ | own, stdout=output, stderr=output)
        try:
            _wait(lambda: _answers(port), START, f"JupyterLab does not start: see {log}")
            yield f"http://127.0.0.1:{port}/lab/tree/{{}}?reset&token={token}"
        finally:
            server.terminate()
            server.wait(30)


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def _wait(done: Callable[[], bool], seconds: float, problem: str) -> None:
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            raise TimeoutError(problem)
        time.sleep(0.1)


class Lesson:
    """A notebook open in JupyterLab.

    Args:
        page: of the browser.
        address: of the server, from `jupyter_lab`.
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
