"""What is said about text that is no formula: where, what was found, and what was expected."""

from collections.abc import Collection, Iterable

from itekit.logic.formulas import ARITY, MAX_DEPTH, MAX_SIZE
from itekit.logic.operators import ALIASES, LTL, Language, is_name

SHOWN = 60
"""The most characters of the text that a message shows."""


class FormulaError(ValueError):
    """Text that is no formula, trace or assignment.

    Attributes:
        text: the whole text; for a sequence of tokens, the tokens joined.
        position: where in it, from 0.
        found: what stands there.
        expected: what should.
    """

    def __init__(self, text: str, position: int, found: str, expected: str):
        self.text, self.position, self.found, self.expected = text, position, found, expected
        super().__init__(text, position, found, expected)

    def __str__(self) -> str:
        shown, _ = self._window()
        return f"{shown!r}, position {self.position}: found {self.found}, expected {self.expected}"

    @property
    def picture(self) -> str:
        """The text, shortened around the position, with a caret under it on a second line."""
        shown, place = self._window()
        printable = "".join(c if c.isprintable() else "·" for c in shown)
        return f"{printable}\n{' ' * place}^"

    def _window(self) -> tuple[str, int]:
        """At most SHOWN characters around the position, and the position among them."""
        start = max(0, min(self.position - SHOWN // 2, len(self.text) - SHOWN))
        before, after = "…" * (start > 0), "…" * (start + SHOWN < len(self.text))
        shown = before + self.text[start : start + SHOWN] + after
        return shown, self.position - start + len(before)


def quoted(token: str) -> str:
    """The token in quotes, shortened if it is long."""
    return repr(token if len(token) <= SHOWN // 2 else token[: SHOWN // 2] + "…")


def explain(
    text: str,
    units: Iterable[tuple[str, int]],
    end: tuple[str, int],
    language: Language,
    propositions: Collection[str] | None,
) -> None:
    """Read prefix tokens from left to right and say what is wrong with them, if anything is.

    Args:
        text: what the messages show.
        units: each token and its position in the text.
        end: what comes after the last token, in words, and its position.

    Raises:
        FormulaError: the tokens are not exactly one formula, or it is too deep or too large.
    """
    pending: list[list] = []  # operator, its position, the number of its operand that comes next
    complete = False
    for count, (token, position) in enumerate(units, 1):
        if complete:
            before = text[:position].strip()
            whole = repr(before) if len(before) < SHOWN // 2 else "what stands before it"
            expected = f"{end[0]}, as {whole} is a whole formula"
            raise FormulaError(text, position, quoted(token), expected)
        if token not in language.by_token:
            _check_proposition(text, position, token, language, propositions, _place(text, pending))
        if count > MAX_SIZE:
            raise FormulaError(text, position, quoted(token), f"at most {MAX_SIZE} tokens")
        if language.by_token.get(token) and ARITY[token]:
            if len(pending) == MAX_DEPTH:
                expected = f"at most {MAX_DEPTH} operators inside each other"
                raise FormulaError(text, position, quoted(token), expected)
            pending.append([token, position, 1])
            continue
        while pending and pending[-1][2] == ARITY[pending[-1][0]]:
            pending.pop()
        if pending:
            pending[-1][2] += 1
        complete = not pending
    if not complete:
        raise FormulaError(text, end[1], end[0], f"a formula{_place(text, pending)}")


def _place(text: str, pending: list[list]) -> str:
    """Which operand is to come, in words."""
    if not pending:
        return ""
    token, position, number = pending[-1]
    spellings = (other for other in ALIASES if text.startswith(other, position))
    which = "the" if ARITY[token] == 1 else ("the first", "the second")[number - 1]
    return f" ({which} operand of {next(spellings, token)!r} at position {position})"


def _check_proposition(
    text: str,
    position: int,
    token: str,
    language: Language,
    propositions: Collection[str] | None,
    place: str,
) -> None:
    """Raise a FormulaError if `token` cannot be an atomic proposition."""
    found, operators = quoted(token), " ".join(language.tokens)
    if token in LTL.by_token:
        found = f"{quoted(token)} ({LTL.by_token[token].name}, no operator of {language.name})"
    elif is_name(token) and (propositions is None or token in propositions):
        return
    names = "a small letter" if propositions is None else f"one of {' '.join(propositions)}"
    hint = " (tokens separated by spaces need format='spaced')" if token == " " else ""
    expected = f"a formula{place}: an operator ({operators}) or an atomic proposition ({names})"
    raise FormulaError(text, position, found + hint, expected)
