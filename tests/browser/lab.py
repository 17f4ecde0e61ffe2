"""A JupyterLab of its own for the tests, and a notebook open in it.

JupyterLab renders only the cells near the middle of the window, so what is on a notebook's page is
collected by scrolling through it. Nothing here moves the mouse. Element names: JupyterLab's CSS
classes (`.jp-...`).
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
START, RUN, ANSWER = 120, 600, 60  # seconds to wait at most: to start, for a notebook, a cell
SCROLLED = ".jp-WindowedPanel-outer"
PANEL = ".jp-OutputArea-output:has(.jupyter-widgets)"
WIDGET = "application/vnd.jupyter.widget-view+json"
FIGURE = "application/vnd.plotly.v1+json"
CONTROLS = "input, select, .noUi-handle, .jupyter-button, [role=tab]"
RAIL = ".slider-rail-touch-rect"  # of a slider that plotly draws
SAID = "[role=alert], .jp-OutputArea-output[data-mime-type*='stderr']"
DEAD = re.compile(r"\b[A-Z]\w*(Error|Exception|Warning)\b")  # a name of Python's
IDLE = ".jp-Notebook-ExecutionIndicator[data-status='idle']"
# Outputs that are wider than the room in their cell: their text, their width and the room.
WIDE = """() => [...document.querySelectorAll('.jp-OutputArea-output')]
    .filter(out => out.scrollWidth > out.clientWidth + 1)
    .map(out => `${out.scrollWidth} in ${out.clientWidth}: ${out.innerText.slice(0, 60)}`)"""
SAVED = """async () => {
    const context = jupyterapp.shell.currentWidget.context;
    await context.save();
    const options = {type: 'file', format: 'text', content: true};
    return (await jupyterapp.serviceManager.contents.get(context.path, options)).content;
}"""
# What a panel shows: its text, and what its figures draw.
SHOWN = """panel => panel.innerText + JSON.stringify([...panel.querySelectorAll('.js-plotly-plot')]
    .map(plot => [plot.data.map(d => [d.x, d.y, d.z && d.z.bdata || d.z]), plot.layout.title]))"""


def find_browser() -> str:
    """The path of Chromium or Chrome; RuntimeError: there is none."""
    for found in (os.environ.get("ITEKIT_BROWSER"), *map(shutil.which, BROWSERS)):
        if found:
            return found
    advice = "install Chromium (Debian: apt-get install chromium), or name one in ITEKIT_BROWSER"
    raise RuntimeError(f"no browser found: {advice}")


@contextmanager
def jupyter_lab(folder: Path, log: Path) -> Iterator[str]:
    """A server on copies of the notebooks; gives the address of a notebook, to be formatted."""
    for part in ("notebooks", "data/pictures"):
        shutil.copytree(ROOT / part, folder / part)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port, token = free.getsockname()[1], secrets.token_hex(16)
    own = {f"JUPYTER_{kind}_DIR": str(folder / kind) for kind in ("CONFIG", "DATA", "RUNTIME")}
    given = [
        *("--no-browser", "--allow-root", "--LabApp.expose_app_in_browser=True"),
        *(f"--ServerApp.port={port}", f"--ServerApp.root_dir={folder}"),
        f"--IdentityProvider.token={token}",
    ]
    with log.open("w") as output:
        command = [sys.executable, "-m", "jupyter", "lab", *given]
        server = subprocess.Popen(command, env=os.environ | own, stdout=output, stderr=output)
        try:
            for _ in range(10 * START):
                with socket.socket() as client:
                    if client.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            else:
                raise TimeoutError(f"JupyterLab does not start: see {log}")
            yield f"http://127.0.0.1:{port}/lab/tree/notebooks/{{}}.ipynb?reset&token={token}"
        finally:
            server.terminate()
            server.wait(30)


class Lesson:
    """A notebook open in JupyterLab, by its name below the notebooks folder, without suffix."""

    def __init__(self, page: Page, address: str, name: str):
        self.page, self.name = page, name
        self.text = (ROOT / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8")
        self.console: list[str] = []
        page.on("console", lambda m: m.type == "error" and self.console.append(m.text))
        page.on("pageerror", lambda error: self.console.append(str(error)))
        page.goto(address.format(name), timeout=1000 * START)
        page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=1000 * START)
        self.wait_until_idle(START)

    def wait_until_idle(self, seconds: int) -> None:
        """Wait for a kernel that has had nothing to do for three seconds."""
        calm = 0
        for _ in range(seconds):
            self.page.wait_for_timeout(1000)
            # A slow start makes JupyterLab ask which kernel to start: the one that it offers.
            if self.page.locator(".jp-Dialog:has-text('Select Kernel')").count():
                self.page.keyboard.press("Enter")
            state = self.page.locator(".jp-Notebook-ExecutionIndicator").first
            calm = calm + 1 if state.get_attribute("data-status") == "idle" else 0
            if calm == 3:
                return
        raise TimeoutError(f"{self.name}: the kernel is still at work after {seconds} seconds")

    def saved(self) -> str:
        """The text of the notebook's file after it was saved."""
        return self.page.evaluate(SAVED)

    def run_all(self) -> None:
        """Run all cells, and wait until the last one has run."""
        self.page.evaluate("() => { jupyterapp.commands.execute('runmenu:run-all') }")
        busy = ".jp-Notebook-ExecutionIndicator[data-status='busy']"
        self.page.wait_for_selector(busy, state="attached", timeout=1000 * START)
        self.wait_until_idle(RUN)

    def parts(self) -> Iterator[None]:
        """Scroll through the notebook, a window at a time."""
        top, end = 0, 1
        while top < end:
            self.page.evaluate(f"top => document.querySelector('{SCROLLED}').scrollTop = top", top)
            self.page.wait_for_timeout(500)
            yield
            end = self.page.evaluate(f"document.querySelector('{SCROLLED}').scrollHeight")
            top += 700

    def failures(self) -> list[str]:
        """What went wrong in cells, and which code cells have not run."""
        cells = self.page.evaluate("() => jupyterapp.shell.currentWidget.content.model.toJSON()")
        found = []
        for number, cell in enumerate(cells["cells"]):
            for output in cell.get("outputs", []):
                if output["output_type"] == "error":
                    found.append(f"cell {number}: {output['ename']}: {output['evalue']}")
            if cell["cell_type"] == "code" and cell["source"] and not cell["execution_count"]:
                found.append(f"cell {number} has not run")
        return found

    def wide(self, width: int) -> list[str]:
        """The outputs that are wider than their cells, in a window of so many pixels."""
        self.page.set_viewport_size({"width": width, "height": 900})
        return sorted({text for _ in self.parts() for text in self.page.evaluate(WIDE)})

    def cell(self, code: str) -> Locator:
        """The first cell that contains `code`, scrolled into view."""
        cells = json.loads(self.text)["cells"]
        number = next(i for i, cell in enumerate(cells) if code in "".join(cell["source"]))
        found = self.page.locator(f".jp-Cell[data-windowed-list-index='{number}']")
        for _ in self.parts():
            if found.count():
                found.scroll_into_view_if_needed()
                return found
        raise LookupError(f"{self.name}: cell {number}, which holds {code!r}, is not shown")

    def write(self, cell: Locator, source: str) -> str:
        """Replace what stands in a code cell and run it; returns the text that it prints."""
        printed = cell.locator(".jp-OutputArea-output")
        before = printed.all_inner_texts()
        cell.locator(".cm-content").focus()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(source)
        self.page.keyboard.press("Control+Enter")
        changed(self.page, lambda: printed.all_inner_texts() or before, before)
        return "\n".join(printed.all_inner_texts())

    def panel(self, code: str) -> "Panel":
        """The panel of controls under the first cell that contains `code`."""
        return Panel(self.cell(code).locator(PANEL).first)

    def move_every_control(self) -> list[str]:
        """Move each control of each panel and each slider of a figure; what an error says."""
        cells = self.page.evaluate("() => jupyterapp.shell.currentWidget.content.model.toJSON()")
        found = []
        for cell in cells["cells"]:
            kinds = {kind for output in cell.get("outputs", []) for kind in output.get("data", {})}
            if WIDGET in kinds:
                found += self.panel("".join(cell["source"])).move_every_control()
            elif FIGURE in kinds:
                for rail in self.cell("".join(cell["source"])).locator(RAIL).all():
                    rail.dispatch_event("mousedown")
                    rail.dispatch_event("mouseup")
        self.wait_until_idle(RUN)
        shown = {text for _ in self.parts() for text in self.page.locator(SAID).all_inner_texts()}
        return found + [text for text in shown if DEAD.search(text)]


def changed(page: Page, look: Callable[[], object], before: object) -> None:
    """Wait until `look` sees something else than before."""
    for _ in range(ANSWER * 10):
        page.wait_for_timeout(100)
        if look() != before:
            return
    raise TimeoutError(f"nothing new in {ANSWER} seconds; what is shown: {str(before)[:2000]}")


class Panel:
    """A panel of controls, used by keyboard; each action waits until it shows something else."""

    def __init__(self, panel: Locator):
        self.locator = panel
        panel.scroll_into_view_if_needed()

    def after(self, action: Callable[[], object]) -> str:
        """What the panel shows when it shows something new."""
        before = self.locator.evaluate(SHOWN)
        action()
        changed(self.locator.page, lambda: self.locator.evaluate(SHOWN), before)
        self.locator.page.wait_for_timeout(500)
        return self.locator.inner_text()

    def shows(self, text: str) -> str:
        """Wait until the panel shows a text; returns all that it shows."""
        self.locator.get_by_text(text).first.wait_for(timeout=1000 * ANSWER)
        return self.locator.inner_text()

    def type(self, text: str, label: str) -> str:
        """Type into a text box."""
        box = self.locator.get_by_label(label, exact=True)
        return self.after(lambda: (box.fill(text), box.press("Enter")))

    def press(self, label: str) -> str:
        """Press a button, by keyboard."""
        button = self.locator.locator("button", has_text=label).first
        return self.after(lambda: button.press("Space"))

    def move_every_control(self) -> list[str]:
        """Move each control, then move it back; what the panel says of an error of its own."""
        dead = []
        for control in self.locator.locator(CONTROLS).all():
            if not (control.is_visible() and control.is_enabled()):
                continue
            kind = control.evaluate("e => e.type || e.className")
            if kind == "text":
                before = control.input_value()
                for text in ("F d", "a", "", before):
                    control.fill(text)
                    control.press("Enter")
                    dead += self.errors()
            elif kind == "select-one":
                options = control.locator("option").count()
                for number in (*range(min(options, 4)), 0):
                    control.select_option(index=number)
                    dead += self.errors()
            elif "noUi" in kind:
                for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft"):
                    control.press(key)
                    dead += self.errors()
            else:
                control.press("Space")
                dead += self.errors()
        return dead

    def errors(self) -> list[str]:
        """Wait for the kernel; what it says of an error other than a reader's."""
        self.locator.page.wait_for_timeout(100)
        self.locator.page.wait_for_selector(IDLE, state="attached", timeout=1000 * ANSWER)
        self.locator.page.wait_for_timeout(100)
        return [text for text in self.locator.all_inner_texts() if DEAD.search(text)]

    def turn(self, page: str) -> str:
        """Turn to the next of the panel's tabs, by keyboard; it is the one called `page`."""
        chosen = self.locator.locator("[role=tab][aria-selected=true]")

        def go() -> None:
            chosen.focus()
            self.locator.page.keyboard.press("ArrowRight")
            self.locator.page.keyboard.press("Enter")

        shown = self.after(go)
        assert chosen.inner_text() == page
        return shown
