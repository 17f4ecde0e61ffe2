"""Panels of controls for notebooks: a string to type, a random draw, characters to rename.

Every panel is a thin shell around functions that return HTML or a figure (`copies_html`,
`rows_figure`, `renaming_html`), which a notebook also calls to show one setting of the panel for
readers without a running kernel. Whatever is wrong with the input is said inside the panel.
"""

import html
from collections.abc import Mapping, Sequence

import ipywidgets as widgets
import numpy as np
import plotly.graph_objects as go

from itekit.alpha import Renaming, sample_renamings, used_tokens
from lessons.copies import CopyTable, check_text, copies, rows_in_use
from itekit.network import Network
from lessons.panels import Panel
from itekit.plots import embedding_matrix
from itekit.vocabulary import Vocabulary

Networks = Mapping[str, Network]


def copies_html(networks: Networks, text: str, draw: int = 0) -> str:
    """HTML of a table: the string, each network's copy with its edits, the edit distance.

    Raises:
        ValueError: as `copies.copies`.
    """
    columns = {name: copies(network, [text], draw) for name, network in networks.items()}
    return CopyTable(columns)._repr_html_()


def rows_figure(network: Network, text: str, draw: int = 0) -> go.Figure:
    """The rows of the embedding matrix that a string uses, its two parts marked.

    Raises:
        ValueError: as `copies.rows_in_use`.
    """
    rows, tokens = rows_in_use(network, text, draw)
    embedding = network.experiment.embedding
    shared = rows.shape[1] - embedding.d_beta if embedding.kind == "dual_part" else None
    title = f"Rows in use, random draw {draw}"
    return embedding_matrix(
        rows, tokens, shared_dimensions=shared, first_interchangeable=2, title=title
    )


def random_renaming(text: str, vocabulary: Vocabulary, seed: int) -> Renaming:
    """A random renaming of the characters of `text` to any of its class in `vocabulary`."""
    available = vocabulary.decode(vocabulary.interchangeable_ids)
    used = used_tokens(text, available)
    return sample_renamings(used, available, 1, np.random.default_rng(seed))[0]


def renaming_to_new(chosen: Sequence[str], training: Vocabulary, test: Vocabulary) -> Renaming:
    """Rename the i-th chosen character to the i-th that the training vocabulary lacks.

    Raises:
        ValueError: there are not enough new characters, or a chosen one is not interchangeable.
    """
    new = [token for token in test.tokens if token not in training.tokens]
    if len(chosen) > len(new):
        raise ValueError(f"{len(chosen)} characters are chosen, but only {len(new)} are new")
    mapping = dict(zip(chosen, new, strict=False))
    return Renaming(mapping, test.interchangeable)


def renaming_html(networks: Networks, text: str, chosen: Sequence[str], draw: int = 0) -> str:
    """HTML: the renamed string and its copies, and whether undoing the renaming gives the old copy.

    Raises:
        ValueError: as `copies.copies` and `renaming_to_new`.
    """
    made = next(iter(networks.values())).experiment
    renaming = renaming_to_new(chosen, made.vocabulary, made.test_vocabulary)
    columns = {name: copies(n, [renaming(text), text], draw) for name, n in networks.items()}
    table = CopyTable({name: column[:1] for name, column in columns.items()})._repr_html_()
    lines = []
    for name, (after, before) in columns.items():
        same = renaming.inverse()(after.answer) == before.answer
        verdict = "✓ the same copy as before" if same else "✗ not the copy as before"
        lines.append(f"{html.escape(name)}, renaming undone: {verdict}")
    pairs = [f"{old} → {renaming(old)}" for old in chosen] or ["nothing is renamed"]
    return f"<p>{html.escape(', '.join(pairs))}</p>{table}<p>{'<br>'.join(lines)}</p>"


class CopyExplorer(Panel):
    """Type a string, move the random draw, rename at random; see the copies and the rows in use.

    Args:
        networks: {name: network}; the last one's embedding rows are drawn.
        text: the first string.
        draws: how many random draws the slider offers.
    """

    def __init__(self, networks: Networks, text: str = "abcfghxyz", draws: int = 10):
        self.networks, self.first, self.renamings = dict(networks), text, 0
        self.vocabulary = list(self.networks.values())[-1].experiment.test_vocabulary
        shared = {"continuous_update": False, "style": {"description_width": "7em"}}
        self.text = widgets.Text(text, description="string", **shared)
        self.random_draw = widgets.IntSlider(0, 0, draws - 1, description="random draw", **shared)
        wide = {"layout": {"width": "auto"}}
        self.rename = widgets.Button(description="Rename at random", icon="random", **wide)
        self.reset = widgets.Button(description="First string", icon="undo", **wide)
        self.note = widgets.HTML()
        buttons = widgets.HBox([self.rename, self.reset])
        super().__init__([self.text, self.random_draw, buttons, self.note])
        self.text.observe(self._update, "value")
        self.random_draw.observe(self._update, "value")
        self.rename.on_click(lambda _: self.safely(self._rename))
        self.reset.on_click(lambda _: self._set(self.first, ""))
        self._update()

    def _set(self, text: str, note: str) -> None:
        self.text.value = text
        self.note.value = note

    def _rename(self) -> str:
        old = self.text.value
        check_text(old, self.vocabulary)
        self.renamings += 1
        renaming = random_renaming(old, self.vocabulary, self.renamings)
        pairs = ", ".join(f"{token} → {renaming(token)}" for token in dict.fromkeys(old))
        self._set(renaming(old), html.escape(f"Renamed: {pairs}"))
        return self.answer.value

    def _update(self, change=None) -> None:
        if change and change["owner"] is self.text:
            self.note.value = ""
        self.safely(self._work)

    def _work(self) -> str:
        self.draw(None)
        text, draw = self.text.value, self.random_draw.value
        answer = copies_html(self.networks, text, draw)
        name, network = list(self.networks.items())[-1]
        alt = f"Embedding rows of the {name} model for {text!r}, random draw {draw}"
        self.draw(rows_figure(network, text, draw), alt)
        return answer


class RenamingChooser(Panel):
    """Choose which characters of a string are renamed to characters never seen in training.

    Args:
        networks: {name: network}, of one experiment family.
        text: a string over the training vocabulary.
    """

    def __init__(self, networks: Networks, text: str = "abcadbe"):
        self.networks, self.string = dict(networks), text
        self.boxes = [
            widgets.ToggleButton(description=f"rename {token}", layout={"width": "7em"})
            for token in sorted(dict.fromkeys(text))
        ]
        super().__init__([widgets.HBox(self.boxes)])
        for box in self.boxes:
            box.observe(self._update, "value")
        self._update()

    def _update(self, change=None) -> None:
        chosen = [box.description[-1] for box in self.boxes if box.value]
        self.safely(lambda: renaming_html(self.networks, self.string, chosen))
