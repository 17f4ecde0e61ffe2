"""Strings beside a network's copies of them, with every edit marked, as HTML and as plain text.

For notebooks and panels: a few strings typed by a reader, not an evaluation (`evaluation.py`). The
edits are those of the edit distance (Levenshtein), the paper's measure of the copying task (paper,
appendix "Copying Task Experiments"). A sign stands under every edit, so that nothing depends on
colour: ≠ another character, − a character left out, + a character too many.

Shape letters: B strings, S source length, V vocabulary, D model.
"""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from rapidfuzz.distance import Levenshtein

from itekit.copying import copy_strings
from itekit.data import Batch
from itekit.evaluation import GridEvaluation
from itekit.network import Network
from itekit.vocabulary import UnknownTokenError, Vocabulary

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


def check_text(text: str, vocabulary: Vocabulary) -> None:
    """Raise ValueError unless `text` has 1 to 60 characters, all of them in the vocabulary."""
    if not text:
        raise ValueError("the string is empty: type at least one character")
    if len(text) > LONGEST:
        raise ValueError(f"the string has {len(text)} characters: at most {LONGEST} here")
    vocabulary.encode(text)


def copies(network: Network, texts: Sequence[str], draw: int = 0) -> list[Copy]:
    """The network's greedy copies of strings, under random draw `draw` of the evaluation.

    A string with characters for which the network has no embedding gets an empty answer and a
    `problem`, as in the paper.

    Args:
        network: a copying network, in evaluation mode.
        texts: strings over the experiment's test vocabulary, at most 60 characters each.

    Raises:
        ValueError: an empty or long string, or a character outside the test vocabulary.
    """
    evaluation = GridEvaluation(network, progress=False)
    vocabulary = evaluation.vocabulary
    found: list[Copy | None] = []
    for text in texts:
        check_text(text, network.experiment.test_vocabulary)
        found.append(_unreadable(text, vocabulary))
    rows = [i for i, copy in enumerate(found) if copy is None]
    if rows:
        batch = _batch([vocabulary.encode(texts[i]) for i in rows])
        answers = copy_strings(network, evaluation.matrix(draw), batch)
        for i, answer in zip(rows, answers.tolist(), strict=True):
            # As in the edit distances of the evaluation: padding is no part of an answer.
            tokens = vocabulary.decode(t for t in answer if t > vocabulary.end_id)
            found[i] = Copy(texts[i], "".join(tokens))
    return found


def _unreadable(text: str, vocabulary: Vocabulary) -> Copy | None:
    try:
        vocabulary.encode(text)
    except UnknownTokenError:
        known = "".join(vocabulary.tokens[vocabulary.learned_count :])
        strange = next(character for character in text if character not in known)
        return Copy(text, "", f"no embedding for {strange!r}")
    return None


def _batch(rows: list[list[int]]) -> Batch:
    """Identifiers, the end token and padding: int64 [B, S], as source and as target."""
    width = max(map(len, rows)) + 1
    padded = [[*row, Vocabulary.end_id] + [0] * (width - len(row) - 1) for row in rows]
    tokens = torch.tensor(padded)
    return Batch(tokens, tokens)


def rows_in_use(network: Network, text: str, draw: int = 0) -> tuple[np.ndarray, list[str]]:
    """The rows of U that a string uses, float [rows, D], and their tokens, in order of U.

    Raises:
        ValueError: an empty or long string, or one that the network has no embeddings for.
    """
    evaluation = GridEvaluation(network, progress=False)
    check_text(text, evaluation.vocabulary)
    tokens = ["<end>", "<start>", *dict.fromkeys(text)]
    ids = sorted(evaluation.vocabulary.encode(tokens))
    return evaluation.matrix(draw)[ids].numpy(), evaluation.vocabulary.decode(ids)


def marked(copy: Copy) -> str:
    """HTML of one answer: its characters, coloured where edited, with the signs below them."""
    if copy.problem:
        return f"<em>(empty: {html.escape(copy.problem)})</em>"
    top, signs = [], []
    for sign, _, after in copy.edits:
        style = f' style="background:{COLOURS[sign]};color:black"' if sign != " " else ""
        top.append(f"<span{style}>{html.escape(after)}</span>" if style else html.escape(after))
        signs.append(sign)
    below = "\n" + "".join(signs).rstrip() if copy.distance else ""
    return f"{PRE}{''.join(top)}{below}</pre>"


@dataclass(frozen=True)
class CopyTable:
    """A table of strings, a column for each network: {column: copies of the same strings}.

    Notebooks show it as HTML, everything else as plain text.

    Raises:
        ValueError: no columns, or columns of different strings.
    """

    columns: Mapping[str, Sequence[Copy]]

    def __post_init__(self):
        if not self.columns:
            raise ValueError("expected at least one column of copies, found none")
        sources = {name: [copy.source for copy in column] for name, column in self.columns.items()}
        if len({tuple(strings) for strings in sources.values()}) > 1:
            raise ValueError(f"the columns {', '.join(sources)} hold copies of different strings")

    def _repr_html_(self) -> str:
        cell = '<{0} style="text-align:left;padding:0.2em 1.5em 0.2em 0">{1}</{0}>'
        heads = ["string"]
        for name in self.columns:
            heads += [html.escape(name), "distance"]
        lines = ["".join(cell.format("th", head) for head in heads)]
        for row in zip(*self.columns.values(), strict=True):
            cells = [f"{PRE}{html.escape(row[0].source)}</pre>"]
            for copy in row:
                cells += [marked(copy), copy.distance]
            lines.append("".join(cell.format("td", content) for content in cells))
        table = "".join(f"<tr>{line}</tr>" for line in lines)
        note = f"<small>{LEGEND}</small>" if "<span" in table else ""
        return f'<div style="overflow-x:auto"><table>{table}</table>{note}</div>'

    def __repr__(self) -> str:
        lines = []
        for copies_of_one in zip(*self.columns.values(), strict=True):
            lines.append(copies_of_one[0].source)
            for name, copy in zip(self.columns, copies_of_one, strict=True):
                said = f"(empty: {copy.problem})" if copy.problem else copy.answer
                lines.append(f"  {name}: {said}  distance {copy.distance}")
        return "\n".join(lines)
