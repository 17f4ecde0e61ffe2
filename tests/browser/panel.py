"""A panel of controls on a notebook's page: what a reader does to it, and what it then shows."""

import re
from collections.abc import Callable

from playwright.sync_api import Locator

ANSWER = 30  # seconds to wait at most for an answer
# What a panel shows: its text, and what its figures draw.
SHOWN = """panel => panel.innerText + JSON.stringify([...panel.querySelectorAll('.js-plotly-plot')]
    .map(plot => [plot.data.map(d => [d.x, d.y, d.z && d.z.bdata || d.z]), plot.layout.title]))"""


class Panel:
    """A panel of controls; each action waits until the panel shows something else."""

    def __init__(self, panel: Locator, picture: Callable[[str], None]):
        self.locator, self.picture = panel, picture

    def text(self) -> str:
        return self.locator.inner_text()

    def _answer(self, action: Callable[[], object], what: str) -> str:
        before = self.locator.evaluate(SHOWN)
        action()
        wait = self.locator.page.wait_for_timeout
        for _ in range(ANSWER * 10):
            wait(100)
            if self.locator.evaluate(SHOWN) != before:
                wait(500)
                self.picture(re.sub(r"\W+", "-", what))
                return self.text()
        raise TimeoutError(f"{what}: no answer in {ANSWER} seconds")

    def shows(self, text: str) -> str:
        """Wait until the panel shows a text; returns all that it shows."""
        self.locator.get_by_text(text).first.wait_for(timeout=1000 * ANSWER)
        self.picture("shows " + re.sub(r"\W+", "-", text))
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
        """Choose from a list, by what it shows or by value."""
        box = self.locator.get_by_label(label, exact=True)
        return self._answer(lambda: box.select_option(option), f"choose {label}")

    def slide(self, number: int = 0) -> str:
        """Move a slider two steps to the right."""
        handle = self.locator.locator(".noUi-handle").nth(number)
        move = [handle.focus, *[lambda: handle.press("ArrowRight")] * 2]
        return self._answer(lambda: [step() for step in move], f"slide {number}")
