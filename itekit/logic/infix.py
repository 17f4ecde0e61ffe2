"""Infix notation: the text that people read and write, as Spot understands it.

Precedence and associativity are Spot's. From the tightest: unary operators; U R W M, from the right
(`a U b U c` is `a U (b U c)`); & ; xor ; | ; then -> and <-> together, from the right. Printed text
has parentheses wherever people disagree about the order: xor beside |, U inside &.

Names of atomic propositions have no capitals here, so that `aUb` and `X0` mean a U b and X 0; Spot
takes either for a name. Printed text has the spaces that Spot needs. Traces look like Spot's words,
`a; a & b; cycle{b}` (paper, appendix "LLM Setup").
"""

import re
from collections.abc import Callable

from itekit.logic.formulas import (
    ARITY,
    LTL,
    MAX_DEPTH,
    MAX_SIZE,
    STEPS,
    Formula,
    FormulaError,
    Language,
    is_name,
    parse_prefix,
    proposition,
    quoted,
)
from itekit.logic.traces import Trace, cut, parse_trace

TOKENS = {"(": "(", ")": ")"} | {
    spelling: operator.token
    for operator in LTL.operators
    for spelling in (operator.infix, operator.symbol, *operator.also.split())
}
"""Every infix spelling of an operator or a parenthesis -> its prefix token."""

_longest_first = sorted((s for s in TOKENS if not s.islower()), key=len, reverse=True)
_WORD = re.compile("|".join(["[a-z][a-z0-9_]*", *map(re.escape, _longest_first), r"\S"]))

_BARE = {"|&", ">&", "=&", ">|", "=|"}
"""Outer and inner operator where printed text needs no parentheses."""


def parse_infix(text: str, language: Language = LTL) -> Formula:
    """The formula that infix text stands for.

    Raises:
        FormulaError: not exactly one formula of the language, or one too deep or too large.
    """
    return _Reader(text, 0, len(text), language).formula()


class _Reader:
    """A part of a text read from left to right: an operator waits until its operands are there."""

    def __init__(self, text: str, start: int, end: int, language: Language):
        self.text, self.start, self.end, self.language = text, start, end, language
        self.operands: list[Formula] = []
        self.waiting: list[tuple[str, int, str]] = []  # token, position, spelling
        self.opened: list[int] = []  # where the open parentheses are
        self.complete = False  # whether the last word ended an operand

    def formula(self) -> Formula:
        for match in _WORD.finditer(self.text, self.start, self.end):
            self._read(match[0], match.start())
        if not self.complete or self.opened:
            raise self._error(self.end, None)
        while self.waiting:
            self._apply()
        return self.operands.pop()

    def _read(self, word: str, position: int) -> None:
        token = TOKENS.get(word, "")
        operator = self.language.by_token.get(token)
        arity = operator.arity if operator else None
        if not self.complete and (is_name(word) or arity == 0):
            self.operands.append(proposition(word) if is_name(word) else Formula(token))
            self.complete = True
        elif not self.complete and (token == "(" or arity == 1):
            self.waiting.append((token, position, word))
            if token == "(":
                self.opened.append(position)
        elif self.complete and token == ")" and self.opened:
            while self.waiting[-1][0] != "(":
                self._apply()
            self.waiting.pop()
            self.opened.pop()
        elif self.complete and arity == 2:
            while self.waiting and self._applies_first(self.waiting[-1][0], token):
                self._apply()
            self.waiting.append((token, position, word))
            self.complete = False
        else:
            raise self._error(position, word)

    def _applies_first(self, waiting: str, new: str) -> bool:
        """Whether the waiting operator takes the last operand before a new binary one does."""
        if waiting == "(":
            return False
        left, right = self.language.by_token[waiting], self.language.by_token[new]
        return left.arity == 1 or (left.binding, not left.right) > (right.binding, False)

    def _apply(self) -> None:
        token, position, word = self.waiting.pop()
        operands = self.operands[-ARITY[token] :]
        del self.operands[-ARITY[token] :]
        try:
            self.operands.append(Formula(token, operands))
        except ValueError:
            expected = f"at most {MAX_DEPTH} operators inside each other, {MAX_SIZE} tokens in all"
            raise FormulaError(self.text, position, quoted(word), expected) from None

    def _error(self, position: int, word: str | None) -> FormulaError:
        found = quoted(word or self.text[self.end : self.end + 1])
        if position == len(self.text):
            found = "the end"
        token = TOKENS.get(word or "", "")
        if token in ARITY and token not in self.language.by_token:
            found += f" ({LTL.by_token[token].name}, no operator of {self.language.name})"
        if self.complete:
            wanted = f"an operator ({self._spellings(2)}) or "
            wanted += f"')' for the '(' at position {self.opened[-1]}" if self.opened else "the end"
        else:
            wanted = "a formula"
            if self.waiting:
                _, place, spelling = self.waiting[-1]
                wanted += f" after {quoted(spelling)} at position {place}"
            wanted += f": a name in small letters, 1, 0, {self._spellings(1)} or ("
        return FormulaError(self.text, position, found, wanted)

    def _spellings(self, arity: int) -> str:
        return " ".join(o.infix for o in self.language.operators if o.arity == arity)


def to_infix(formula: Formula, *, unicode: bool = False) -> str:
    """The formula's infix text: in ASCII as Spot reads it, or with Unicode's symbols."""
    stack: list[tuple[str, str]] = []  # an operand's operator, and its text
    for node in reversed(list(formula.nodes())):
        operator = LTL.by_token.get(node.operator)
        spelling = operator and (operator.symbol if unicode else operator.infix)
        if not node.operands:
            text = node.name or spelling
        elif operator.arity == 1:
            inner, operand = stack.pop()
            if ARITY.get(inner) == 2:
                operand = f"({operand})"
            gap = " " if spelling.isalpha() and operand[0].isdigit() else ""
            text = spelling + gap + operand
        else:
            left = _side(stack.pop(), operator.token, not operator.right)
            right = _side(stack.pop(), operator.token, False)
            text = f"{left} {spelling} {right}"
        stack.append((node.operator, text))
    return stack.pop()[1]


def _side(operand: tuple[str, str], outer: str, associates: bool) -> str:
    """An operand of a binary operator, in parentheses where they are needed or help."""
    inner, text = operand
    bare = ARITY.get(inner, 0) < 2 or outer + inner in _BARE or (associates and inner == outer)
    return text if bare else f"({text})"


def parse_infix_trace(text: str) -> Trace:
    """The trace that infix text stands for (FormulaError if none); `cycle` may be left out."""
    spans, start = cut(text, "cycle")
    steps = [_Reader(text, *span, STEPS).formula() for span in spans]
    return Trace(steps[:start], steps[start:])


def trace_to_infix(trace: Trace, *, unicode: bool = False) -> str:
    """The trace's infix text: in ASCII as Spot reads it, or with Unicode's symbols."""
    prefix = [to_infix(step, unicode=unicode) for step in trace.prefix]
    cycle = [to_infix(step, unicode=unicode) for step in trace.cycle]
    return "; ".join([*prefix, f"cycle{{{'; '.join(cycle)}}}"])


def formula_from_text(text: str, language: Language = LTL) -> Formula:
    """The formula that a person typed, in infix or in prefix notation.

    No text is a formula in both with two meanings: a binary operator comes before its operands in
    the one, and never in the other.

    Raises:
        FormulaError: it is none in either; the error of the reading that got further.
    """
    return _first(lambda: parse_infix(text, language), lambda: parse_prefix(text, language))


def trace_from_text(text: str) -> Trace:
    """The trace that prefix text (`a;&ab;{b}`) or infix text (`a; a & b; cycle{b}`) stands for.

    Raises:
        FormulaError: it is none in either notation; the error of the reading that got further.
    """
    return _first(lambda: parse_trace(text), lambda: parse_infix_trace(text))


def _first(*readings: Callable[[], Formula | Trace]) -> Formula | Trace:
    errors = []
    for read in readings:
        try:
            return read()
        except FormulaError as error:
            errors.append(error)
    raise max(errors, key=lambda error: error.position)
