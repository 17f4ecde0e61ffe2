"""Files of solved problems in the text format of DeepLTL.

A formula in prefix notation on one line, its label (a trace or an assignment) on the next, and so
on; UTF-8, plain or compressed, as the file's suffix says (`.gz`, `.xz`).  The form of the text is
"characters" (one character a token, as the original files) or "spaced" (for names past `z`).
Writing the same pairs gives the same bytes: nothing in the archive tells the time or the machine.
"""

import gzip
import io
import lzma
import zlib
from collections.abc import Collection, Iterable
from pathlib import Path

from itekit.files import atomic_path
from itekit.logic.assignments import Assignment, parse_assignment
from itekit.logic.formulas import Formula
from itekit.logic.operators import ALIASES, LTL, PROPOSITIONAL
from itekit.logic.prefix import FormulaError, parse_prefix, to_prefix
from itekit.logic.traces import Trace, parse_trace

Pair = tuple[str, str]

TASKS = ("ltl", "propositional")


class DataError(ValueError):
    """A file that does not hold what it should: the message names file and line.

    Attributes:
        path: the file.
        line: counted from 1; None if it is about the whole file.
    """

    def __init__(self, path: Path, line: int | None, problem: str):
        self.path, self.line, self.problem = Path(path), line, problem
        super().__init__(path, line, problem)

    def __str__(self) -> str:
        place = str(self.path) if self.line is None else f"{self.path}, line {self.line}"
        return f"{place}: {self.problem}"


def read_pairs(
    path: Path,
    task: str,
    *,
    format: str = "characters",
    propositions: Collection[str] | None = None,
    check: bool = True,
) -> list[Pair]:
    """The (formula, label) pairs of a file.

    Args:
        task: "ltl" (labels are traces) or "propositional" (labels are assignments).
        format: "characters" or "spaced".
        propositions: the names that may stand in the file; any if None.
        check: parse every line. DeepLTL's spellings `<->` and `xor` become `=` and `^` then.

    Raises:
        DataError: a line that is no formula or label, an empty line, a formula without its label,
            text that is not UTF-8, or a damaged archive.
        OSError: the file cannot be read.
        ValueError: an unknown task or format.
    """
    if task not in TASKS:
        raise ValueError(f"unknown task {task!r}: expected one of {', '.join(TASKS)}")
    return split_pairs(path, read_text(path), task, format, propositions, check)


def split_pairs(
    path: Path,
    text: str,
    task: str,
    format: str = "characters",
    propositions: Collection[str] | None = None,
    check: bool = True,
) -> list[Pair]:
    """The pairs of a text; `path` is what errors name.  See `read_pairs`."""
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []
    kinds = ("a formula", "a trace" if task == "ltl" else "an assignment")
    for number, line in enumerate(lines, 1) if "" in lines else ():
        if not line:
            raise DataError(path, number, f"an empty line, expected {kinds[number % 2 - 1]}")
    if len(lines) % 2:
        raise DataError(path, len(lines), f"the file ends here, expected {kinds[1]}")
    if check:
        _check(path, lines, task, format, propositions)
    return list(zip(lines[::2], lines[1::2], strict=True))


def _check(
    path: Path, lines: list[str], task: str, format: str, propositions: Collection[str] | None
) -> None:
    """Parse the lines, and respell in place what is in DeepLTL's spelling."""
    language = LTL if task == "ltl" else PROPOSITIONAL
    parse_label = parse_trace if task == "ltl" else parse_assignment
    for place in range(0, len(lines), 2):
        at = place
        try:
            formula = parse_prefix(lines[at], language, format=format, propositions=propositions)
            at += 1
            parse_label(lines[at], format=format, propositions=propositions)
        except FormulaError as error:
            raise DataError(path, at + 1, str(error)) from error
        if any(spelling in lines[place] for spelling in ALIASES):
            lines[place] = to_prefix(formula, format=format)


def read_text(path: Path) -> str:
    """The text of a file, decompressed as its suffix says.

    Raises:
        DataError: a damaged or truncated archive, or text that is not UTF-8.
        OSError: the file cannot be read.
    """
    path = Path(path)
    content = path.read_bytes()
    try:
        if path.suffix in (".gz", ".xz") and not content:
            raise EOFError("it is empty")
        if path.suffix == ".gz":
            content = gzip.decompress(content)
        elif path.suffix == ".xz":
            content = lzma.decompress(content, lzma.FORMAT_XZ)
    except (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
        raise DataError(path, None, f"a damaged or truncated archive ({error})") from error
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        found = f"found byte 0x{content[error.start]:02x}"
        raise DataError(path, line, f"{found}, expected text in UTF-8") from error


def write_pairs(path: Path, pairs: Iterable[tuple], *, format: str = "characters") -> None:
    """Write (formula, label) pairs, atomically, compressed as the file's suffix says.

    Args:
        pairs: text, which is written as it is, or values (Formula, Trace, Assignment), which are
            printed in `format`.

    Raises:
        ValueError: empty text, text of more than one line, or a name that does not fit `format`.
        OSError: the file cannot be written.
    """
    lines = [_line(value, format) for pair in pairs for value in pair]
    write_lines(path, "".join(f"{line}\n" for line in lines))


def write_lines(path: Path, text: str) -> None:
    """Write text atomically, compressed as the file's suffix says, always to the same bytes."""
    content = text.encode()
    with atomic_path(path) as temporary:
        if Path(path).suffix == ".gz":
            buffer = io.BytesIO()
            with gzip.GzipFile("", "wb", 9, buffer, mtime=0) as file:  # no name, no time
                file.write(content)
            content = buffer.getvalue()
        elif Path(path).suffix == ".xz":
            content = lzma.compress(content, lzma.FORMAT_XZ, lzma.CHECK_CRC32, preset=9)
        temporary.write_bytes(content)


def _line(value: str | Formula | Trace | Assignment, format: str) -> str:
    if isinstance(value, Formula):
        return to_prefix(value, format=format)
    line = value if isinstance(value, str) else value.text(format=format)
    if not line or "\n" in line or "\r" in line:
        raise ValueError(f"expected one line of text, found {line!r}")
    return line
