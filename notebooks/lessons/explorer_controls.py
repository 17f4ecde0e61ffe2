"""The controls of the explorer, without what they do."""

from collections.abc import Callable, Sequence

import ipywidgets as widgets

from lessons.explorer_names import NamesRow
from lessons.explorer_pages import Page

DRAWS = 10
WIDE = {"layout": {"width": "40em"}, "style": {"description_width": "7em"}}


class Controls(widgets.VBox):
    """The controls above, the answer below them, and the pages.

    Args:
        tasks: (what the reader sees, name) of each.
        task: the first one.
        pages: of the tabs.
        renamed: called when a new name was chosen.
    """

    def __init__(
        self,
        tasks: Sequence[tuple[str, str]],
        task: str,
        pages: Sequence[Page],
        renamed: Callable[[], None],
    ):
        self.task = widgets.ToggleButtons(options=tasks, value=task)
        self.model = widgets.Dropdown(description="model", **WIDE)
        self.text = widgets.Text(description="problem", continuous_update=False, **WIDE)
        auto = {"layout": {"width": "auto"}}
        self.random = widgets.Button(description="Draw a random one", icon="random", **auto)
        self.shuffle = widgets.Button(description="Shuffle the names", icon="exchange", **auto)
        self.reset = widgets.Button(description="Names as they were", icon="undo", **auto)
        self.names = NamesRow(renamed)
        self.draw = widgets.IntSlider(
            0, 0, DRAWS - 1, description="random part", continuous_update=False, **WIDE
        )
        self.answer = widgets.HTML()
        self.pages = list(pages)
        self.tabs = widgets.Tab(self.pages, titles=[page.title for page in pages])
        buttons = widgets.HBox([self.random, self.shuffle, self.reset])
        controls = [self.task, self.model, self.text, buttons, self.names, self.draw]
        super().__init__([*controls, self.answer, self.tabs])
