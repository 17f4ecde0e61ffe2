"""Infix notation: the text that people read and write, as Spot understands it.

Precedence and associativity are Spot's. From the tightest: unary operators; U R W M, from the right
(`a U b U c` is `a U (b U c)`); & ; xor ; | ; then -> and <-> together, from the right. Printed text
has parentheses wherever people disagree about the order: xor beside |, U inside &.

Names of atomic propositions have no capitals here, so that `aUb` and `X0` mean a U b and X 0; Spot
takes either for a name. Printed text has the spaces that Spot needs.
"""

import re

from itekit.logic.errors import FormulaError, quoted
from itekit.logic.formulas import ARITY, MAX_DEPTH, MAX_SIZE, Formula, proposition
from itekit.logic.operators import LTL, Language, is_name

_SPELLINGS = {
    "1": "1 true ⊤",
    "0": "0 false ⊥",
    "!": "! ~ ¬",
    "&": "& && /\\ ∧",
    "|": "| || \\/ ∨",
    "=": "<-> <=> <--> ↔ ⇔",
    "^": "^ xor ⊕",
    ">": "-> => --> → ⇒",
    "X": "X ○",
    "F": "F <> ◇",
    "G": "G [] □",
    "U": "U",
    "R": "R V",
    "W": "W",
    "M": "M",
    "(": "(",
    ")": ")",
}
TOKENS = {spelling: token for token, row in _SPELLINGS.items() for spelling in row.split()}
"""Every infix spelling of an operator or a parenthesis -> its prefix token."""

_longest_first = sorted((s for s in TOKENS if not s.islower()), key=len, reverse=True)
_WORD = re.compile("|".join(["[a-z][a-z0-9_]*", *map(re.escape, _longest_first), r"\S"]))

_BARE = {"|&", ">&", "=&", ">|", "=|"}
"""Outer and inner operator where printed text needs no parentheses."""


def parse_infix(text: str, language: Language = LTL) -> Formula:
    """The formula that infix text stands for.

    Raises:
        FormulaError: the text is not exactly one formula of the language, or it is too deep or
            too large.
    """
    return parse_part(text, 0, len(text), language)


def parse_part(text: str, start: int, end: int, language: Language) -> Formula:
    """The formula in a part of a text; errors are as `parse_infix`'s, and about the whole text."""
    reader = _Reader(text, end, language)
    for match in _WORD.finditer(text, start, end):
        reader.read(match.group(), match.start())
    return reader.finish()


class _Reader:
    """Operands that are complete, and operators and parentheses that wait for more of them."""

    def __init__(self, text: str, end: int, language: Language):
        self.text, self.end, self.language = text, end, language
        self.operands: list[Formula] = []
        self.waiting: list[tuple[str, int, str]] = []  # token, position, spelling
        self.opened: list[int] = []  # where the open parentheses are
        self.complete = False  # whether the last word ended an operand

    def read(self, word: str, position: int) -> None:
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

    def finish(self) -> Formula:
        if not self.complete or self.opened:
            raise self._error(self.end, None)
        while self.waiting:
            self._apply()
        return self.operands.pop()

    def _applies_first(self, waiting: str, new: str) -> bool:
        """Whether the waiting operator takes the last operand before a new binary one does."""
        if waiting == "(":
            return False
        left, right = self.language.by_token[waiting], self.language.by_token[new]
        return left.arity == 1 or (left.binding, not left.right) > (right.binding, False)

    def _apply(self) -> None:
        token, position, word = self.waiting.pop()
        arity = self.language.by_token[token].arity
        operands = tuple(self.operands[-arity:])
        del self.operands[-arity:]
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
        if token in self.language.foreign:
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
        if operator is None:
            stack.append(("", node.name))
            continue
        spelling = operator.symbol if unicode else operator.infix
        if operator.arity == 0:
            text = spelling
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
