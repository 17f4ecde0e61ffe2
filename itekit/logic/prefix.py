"""Prefix (Polish) notation: the text that the models read and write.

Paper, appendix "Temporal logic overview": operators precede their operands (`&ab` is a & b), so no
parentheses are needed. Two forms: "characters" as in the files of DeepLTL, one character a token,
and "spaced", tokens separated by spaces, for names past `z` (`& a ab`).
"""

import re
from collections.abc import Collection, Sequence

from itekit.logic.errors import FormulaError, explain
from itekit.logic.formulas import ARITY, Formula, from_tokens
from itekit.logic.operators import ALIASES, LTL, Language

__all__ = ["FORMATS", "FormulaError", "join", "parse_prefix", "split", "to_prefix", "units"]

FORMATS = ("characters", "spaced")
_WORD = re.compile("[^ ]+")
_LONG = re.compile("|".join(map(re.escape, ALIASES)) + "|.", re.DOTALL)


def parse_prefix(
    text: str | Sequence[str],
    language: Language = LTL,
    *,
    format: str = "characters",
    propositions: Collection[str] | None = None,
) -> Formula:
    """The formula that prefix text, or a sequence of tokens, stands for.

    The spellings of DeepLTL's files (`<->`, `->`, `xor`) are read as `=`, `>` and `^` where the
    text is no formula otherwise: `&&xor` is a conjunction of x, o and r, `xorab` is `^ab`.

    Args:
        format: "characters" or "spaced"; for a sequence of tokens it makes no difference.
        propositions: the names that atomic propositions may have; any if None.

    Raises:
        FormulaError: the text is not exactly one formula of the language.
        ValueError: an unknown format.
    """
    tokens = split(text, format)
    try:
        formula = from_tokens(tokens)
    except ValueError:
        return _read_slowly(text, language, format, propositions)
    if _belongs(tokens, language, propositions):
        return formula
    return _read_slowly(text, language, format, propositions)


def to_prefix(formula: Formula, *, format: str = "characters") -> str:
    """The formula's prefix text.

    Raises:
        ValueError: a name longer than one character in the "characters" format, or an unknown
            format.
    """
    return join(formula.tokens(), format)


def _belongs(
    tokens: Sequence[str], language: Language, propositions: Collection[str] | None
) -> bool:
    """Whether a formula's tokens are operators of the language and allowed propositions."""
    if not language.foreign.isdisjoint(tokens):
        return False
    return propositions is None or set(tokens) - ARITY.keys() <= set(propositions)


def split(text: str | Sequence[str], format: str) -> Sequence[str]:
    """Text as a sequence of tokens; a sequence of tokens as it is.

    Raises:
        ValueError: an unknown format.
    """
    if format not in FORMATS:
        raise ValueError(f"unknown format {format!r}: expected one of {', '.join(FORMATS)}")
    return _WORD.findall(text) if format == "spaced" and isinstance(text, str) else text


def join(tokens: Sequence[str], format: str) -> str:
    """Tokens as text.

    Raises:
        ValueError: a token longer than one character in the "characters" format, or an unknown
            format.
    """
    split("", format)
    if format == "spaced":
        return " ".join(tokens)
    for token in tokens:
        if len(token) > 1:
            raise ValueError(f"{token!r} is longer than one character: use format='spaced'")
    return "".join(tokens)


def units(text: str | Sequence[str], format: str) -> tuple[str, list[tuple[str, int]]]:
    """Text, and each of its tokens with its position; a sequence of tokens is joined to text."""
    if not isinstance(text, str):
        tokens = [str(token) for token in text]
        if all(len(token) == 1 for token in tokens):
            return units("".join(tokens), "characters")
        return units(" ".join(tokens), "spaced")
    if format == "characters":
        return text, list(zip(text, range(len(text)), strict=True))
    return text, [(match.group(), match.start()) for match in _WORD.finditer(text)]


def _read_slowly(
    text: str | Sequence[str],
    language: Language,
    format: str,
    propositions: Collection[str] | None,
) -> Formula:
    """Read again with DeepLTL's spellings, or raise the error of the reading that got furthest."""
    text, plain = units(text, format)
    respelled = [(ALIASES.get(token, token), position) for token, position in plain]
    if all(len(token) == 1 for token, _ in plain):
        found = _LONG.finditer(text)
        respelled = [(ALIASES.get(m.group(), m.group()), m.start()) for m in found]
    errors = []
    for reading in (plain, respelled):
        try:
            explain(text, reading, ("the end", len(text)), language, propositions)
        except FormulaError as error:
            errors.append(error)
        else:
            return from_tokens([token for token, _ in reading])
    raise max(errors, key=lambda error: error.position)
