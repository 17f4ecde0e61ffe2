"""A row of menus that renames: one for each name of a problem."""

from collections.abc import Callable, Sequence

import ipywidgets as widgets

from itekit.alpha import Renaming

MOST = 12  # menus; a problem with more names is only shuffled


class NamesRow(widgets.HBox):
    """Menus "a → [d]". Whoever gets a name that another one has gives it the old one in exchange.

    Args:
        changed: called when the reader has chosen.
    """

    def __init__(self, changed: Callable[[], None]):
        self.changed, self.quiet, self.used = changed, False, []
        self.images: dict[str, str] = {}
        self.menus = [widgets.Dropdown(layout={"width": "7em"}) for _ in range(MOST)]
        for number, menu in enumerate(self.menus):
            menu.style.description_width = "2.2em"
            menu.observe(lambda change, number=number: self._chosen(number, change), "value")
        self.note = widgets.HTML()
        super().__init__([*self.menus, self.note], layout={"flex_flow": "row wrap"})

    @property
    def renaming(self) -> Renaming:
        """What is chosen."""
        return Renaming(self.images)

    def show(self, used: Sequence[str], names: Sequence[str], renaming: Renaming) -> None:
        """Offer the names to each used one, set to a renaming; `changed` is not called."""
        self.used, self.quiet = list(used), True
        self.images = {name: renaming([name])[0] for name in used}
        few = len(used) <= MOST
        for number, menu in enumerate(self.menus):
            seen = few and number < len(used)
            menu.layout.display = None if seen else "none"
            if seen:
                menu.description = f"{used[number]} →"
                menu.options = list(names)
                menu.value = self.images[used[number]]
        pairs = " ".join(f"{old} → {new}" for old, new in self.images.items())
        self.note.value = "" if few else f"{len(used)} names: {pairs}"
        self.quiet = False

    def _chosen(self, number: int, change) -> None:
        if self.quiet or number >= len(self.used):
            return
        name, new, old = self.used[number], change["new"], change["old"]
        for other, image in self.images.items():
            if other != name and image == new:
                self.images[other] = old
        self.images[name] = new
        self.show(self.used, self.menus[number].options, self.renaming)
        self.changed()
