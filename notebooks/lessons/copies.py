"""Strings beside a network's copies of them, with every edit marked, as HTML and as plain text.

The edits are those of the edit distance (Levenshtein), the paper's measure of the copying task
(paper, appendix "Copying Task Experiments"). A sign stands under every edit, so that nothing
depends on colour: ≠ another character, − a character left out, + a character too many.
"""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein

from itekit.decoding import Solver
from itekit.network import Network
from itekit.vocabulary import Vocabulary
from lessons.tables import html_table

LONGEST = 60  # characters that a reader may type
GAP = "·"
# Okabe and Ito's colours, light enough to carry black text.
COLOURS = {"≠": "#E69F00", "−": "#CC79A7", "+": "#56B4E9"}
LEGEND = "≠ another character · − left out · + too many"
PRE = '<pre style="margin:0;background:none;white-space:pre;font-family:monospace">'


@dataclass(frozen=True)
class Copy:
    """A string and what a network answered; `problem` says why it could not read the string."""

    source: str
    answer: str
    problem: str = ""

    @property
    def distance(self) -> int:
        """The edit distance between string and answer."""
        return Levenshtein.distance(self.source, self.answer)

    @property
    def edits(self) -> list[tuple[str, str, str]]:
        """(sign, character of the string, character of the answer), with `GAP` for none.

        The sign is " " for a character that was kept, else one of `COLOURS`.
        """
        found = []
        for kind, i, i_end, j, j_end in Levenshtein.opcodes(self.source, self.answer):
            sign = {"equal": " ", "replace": "≠", "delete": "−", "insert": "+"}[kind]
            before, after = self.source[i:i_end], self.answer[j:j_end]
            width = max(len(before), len(after))
            pairs = zip(before.ljust(width, GAP), after.ljust(width, GAP), strict=True)
            found += [(sign, *pair) for pair in pairs]
        return found

    def marked(self) -> str:
        """HTML of the answer: characters coloured where edited, with the signs below them."""
        if self.problem:
            return f"<em>(empty: {html.escape(self.problem)})</em>"
        top = ""
        for sign, _, after in self.edits:
            text = html.escape(after)
            look = f"background:{COLOURS.get(sign)};color:black"
            top += f'<span style="{look}">{text}</span>' if sign in COLOURS else text
        below = ("\n" + "".join(sign for sign, *_ in self.edits)).rstrip()
        return f"{PRE}{top}{below}</pre>"


def check_text(text: str, vocabulary: Vocabulary) -> None:
    """Raise ValueError unless `text` has 1 to 60 characters, all of them in the vocabulary."""
    if not text:
        raise ValueError("the string is empty: type at least one character")
    if len(text) > LONGEST:
        raise ValueError(f"the string has {len(text)} characters: at most {LONGEST} here")
    vocabulary.encode(text)


def copies(network: Network, texts: Sequence[str], draw: int = 0) -> list[Copy]:
    """The network's copies of strings, under random draw `draw` of the evaluation.

    A string with characters for which the network has no embedding gets an empty answer and a
    `problem`, as in the paper.

    Raises:
        ValueError: an empty or long string, or a character outside the test vocabulary.
    """
    for text in texts:
        check_text(text, network.experiment.task.test_vocabulary)
    found, known = [], network.experiment.readable_vocabulary.tokens
    for text, answer in zip(texts, Solver(network, draw).answers(texts, skip=True), strict=True):
        strange = next((f"no embedding for {one!r}" for one in text if one not in known), "")
        found.append(Copy(text, answer, strange))
    return found


@dataclass(frozen=True)
class CopyTable:
    """Strings, each with the copies that networks made of it below: {network: copies}.

    Notebooks show it as HTML, everything else as plain text.
    """

    columns: Mapping[str, Sequence[Copy]]

    def _repr_html_(self) -> str:
        rows = [("", "<b>text</b>", "<b>distance</b>")]
        for row in zip(*self.columns.values(), strict=True):
            rows.append(("string", f"{PRE}{html.escape(row[0].source)}</pre>", ""))
            for name, copy in zip(self.columns, row, strict=True):
                rows.append((f"<b>{html.escape(name)}</b>", copy.marked(), copy.distance))
        table = html_table(rows)
        note = f"<small>{LEGEND}</small>" if "<span" in table else ""
        return f'<div style="overflow-x:auto">{table}{note}</div>'

    def __repr__(self) -> str:
        lines = []
        for row in zip(*self.columns.values(), strict=True):
            lines.append(row[0].source)
            for name, copy in zip(self.columns, row, strict=True):
                said = f"(empty: {copy.problem})" if copy.problem else copy.answer
                lines.append(f"  {name}: {said}  distance {copy.distance}")
        return "\n".join(lines)
