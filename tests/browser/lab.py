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

from playwright.sync_api import Locator, Page

ROOT = Path(__file__).resolve().parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SCROLLED = ".jp-WindowedPanel-outer"
ERROR = ".jp-RenderedText[data-mime-type='application/vnd.jupyter.error']"
PANEL = ".jp-OutputArea-output:has(.jupyter-widgets)"
START, RUN, ANSWER = 120, 600, 30  # seconds to wait at most: for a page, a notebook, an answer
# What a panel shows: its text, and what its figures draw.
SHOWN = """panel => panel.innerText + JSON.stringify([...panel.querySelectorAll('.js-plotly-plot')]
    .map(plot => [plot.data.map(d => [d.x, d.y, d.z && d.z.bdata || d.z]), plot.layout.title]))"""


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

    def panel(self, code: str) -> "Panel":
        """The panel of controls under the first cell that contains `code`.

        Raises:
            LookupError: there is none.
        """
        path = ROOT / "notebooks" / f"{self.name}.ipynb"
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        number = next(i for i, cell in enumerate(cells) if code in "".join(cell["source"]))
        found = self.page.locator(f".jp-Cell[data-windowed-list-index='{number}']").locator(PANEL)
        for _ in self.parts():
            if found.count():
                found.first.scroll_into_view_if_needed()
                return Panel(self, found.first)
        raise LookupError(f"{self.name}: no panel under cell {number}, which holds {code!r}")

    def dialogs(self) -> list[str]:
        """What open dialogs say."""
        return self.page.locator(".jp-Dialog").all_inner_texts()


class Panel:
    """A panel of controls; each action waits until the panel shows something else."""

    def __init__(self, lesson: Lesson, panel: Locator):
        self.lesson, self.locator = lesson, panel

    def text(self) -> str:
        return self.locator.inner_text()

    def _answer(self, action: Callable[[], object], what: str) -> str:
        before = self.locator.evaluate(SHOWN)
        action()
        _wait_page = self.lesson.page.wait_for_timeout
        for _ in range(ANSWER * 10):
            _wait_page(100)
            if self.locator.evaluate(SHOWN) != before:
                _wait_page(500)
                self.lesson.picture(re.sub(r"\W+", "-", what))
                return self.text()
        raise TimeoutError(f"{self.lesson.name}: {what}: no answer in {ANSWER} seconds")

    def shows(self, text: str) -> str:
        """Wait until the panel shows a text; returns all that it shows."""
        self.locator.get_by_text(text).first.wait_for(timeout=1000 * ANSWER)
        self.lesson.picture("shows " + re.sub(r"\W+", "-", text))
        return self.text()

    def turn(self, page: str) -> str:
        """Turn to a page of the panel's tabs."""
        return self._answer(self.locator.get_by_role("tab", name=page).click, f"turn to {page}")

    def type(self, text: str, label: str) -> str:
        """Type into a text box; returns what the panel then shows."""
        box = self.locator.get_by_label(label, exact=True)
        return self._answer(lambda: (box.fill(text), box.press("Enter")), f"type {label}")

    def press(self, label: str) -> str:
        """Press a button."""
        button = self.locator.locator("button", has_text=label).first
        return self._answer(button.click, f"press {label}")

    def choose(self, option: str, label: str) -> str:
        """Choose from a list."""
        box = self.locator.get_by_label(label, exact=True)
        return self._answer(lambda: box.select_option(option), f"choose {label}")

    def slide(self, number: int = 0) -> str:
        """Move a slider two steps to the right."""
        handle = self.locator.locator(".noUi-handle").nth(number)
        move = [handle.focus, *[lambda: handle.press("ArrowRight")] * 2]
        return self._answer(lambda: [step() for step in move], f"slide {number}")
