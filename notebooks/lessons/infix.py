"""Infix notation: the text that people read and write, as Spot understands it.

Precedence and associativity are Spot's (`itekit.logic.formulas.Operator`); printed text has
parentheses wherever people disagree about the order. Names have no capitals, so that `aUb` and `X0`
mean a U b and X 0, which Spot takes for names. Traces look like Spot's words (paper, appendix "LLM
Setup").
"""

import re

from itekit.logic.formulas import (
    ARITY,
    LIMITS,
    LTL,
    STEPS,
    Formula,
    FormulaError,
    Language,
    fold,
    is_name,
    parse_prefix,
    proposition,
    quoted,
)
from itekit.logic.traces import Trace, parse_trace, split_steps, step_span

TOKENS = {"(": "(", ")": ")"} | {  # infix spelling -> prefix token
    spelling: operator.token
    for operator in LTL.operators
    for spelling in (operator.infix, operator.symbol, *operator.also.split())
}
_longest_first = sorted((s for s in TOKENS if not s.islower()), key=len, reverse=True)
_WORD = re.compile("|".join(["[a-z][a-z0-9_]*", *map(re.escape, _longest_first), r"\S"]))

_BARE = {"|&", ">&", "=&", ">|", "=|"}  # outer and inner operator: printed without parentheses


def parse_infix(text: str, language: Language = LTL) -> Formula:
    """The formula that infix text stands for; FormulaError if it is none of the language."""
    return _read(text, 0, len(text), language)


def _read(text: str, start: int, stop: int, language: Language) -> Formula:
    """The formula of a part of the text: an operator waits until its operands are there."""
    operands: list[Formula] = []
    waiting: list[tuple[str, int]] = []  # operators and open parentheses, with their positions
    complete = False  # whether the last word ended an operand

    def apply() -> None:
        token, position = waiting.pop()
        second_first = [operands.pop() for _ in range(ARITY[token])]
        try:
            operands.append(Formula(token, second_first[::-1]))
        except ValueError:
            raise FormulaError(text, position, quoted(token), LIMITS) from None

    def error(position: int, word: str) -> FormulaError:
        kind = 2 if complete else 1
        known = " ".join(o.infix for o in language.operators if o.arity == kind)
        formula = f"a formula: a name in small letters, 1, 0, {known} or ("
        expected = f"an operator ({known}), ')' or the end" if complete else formula
        return FormulaError(text, position, quoted(word), expected)

    for match in _WORD.finditer(text, start, stop):
        word, position = match[0], match.start()
        token = TOKENS.get(word, "")
        arity = ARITY[token] if token in language.by_token else None
        if complete and arity == 2:
            while waiting and _takes_first(waiting[-1][0], token):
                apply()
            waiting.append((token, position))
            complete = False
        elif complete and token == ")":
            while waiting and waiting[-1][0] != "(":
                apply()
            if not waiting:
                raise error(position, word)
            waiting.pop()
        elif not complete and (token == "(" or arity == 1):
            waiting.append((token, position))
        elif not complete and (arity == 0 or is_name(word)):
            operands.append(proposition(word) if is_name(word) else Formula(token))
            complete = True
        else:
            raise error(position, word)
    if not complete:
        raise error(stop, text[stop : stop + 1])
    while waiting:
        if waiting[-1][0] == "(":
            raise error(stop, text[stop : stop + 1])
        apply()
    return operands.pop()


def _takes_first(waiting: str, new: str) -> bool:
    """Whether the waiting operator takes the last operand before a new binary one does."""
    if waiting == "(":
        return False
    left, right = LTL.by_token[waiting], LTL.by_token[new]
    return left.arity == 1 or (left.binding, not left.right) > (right.binding, False)


def to_infix(formula: Formula, *, unicode: bool = False) -> str:
    """The formula's infix text: in ASCII as Spot reads it, or with Unicode's symbols."""

    def side(outer: str, inner: str, text: str, associates: bool = False) -> str:
        bare = ARITY.get(inner, 0) < 2 or outer + inner in _BARE or (associates and inner == outer)
        return text if bare else f"({text})"

    def node(token: str, *operands: tuple[str, str]) -> tuple[str, str]:  # the operator, the text
        if token not in ARITY:
            return token, token
        operator = LTL.by_token[token]
        spelling = operator.symbol if unicode else operator.infix
        if operator.arity == 2:
            left = side(token, *operands[0], not operator.right)
            return token, f"{left} {spelling} {side(token, *operands[1])}"
        operand = side(token, *operands[0]) if operands else ""
        gap = " " if spelling.isalpha() and operand[:1].isdigit() else ""
        return token, spelling + gap + operand

    return fold(formula.tokens(), node)[1]


def parse_infix_trace(text: str) -> Trace:
    """The trace that infix text stands for (FormulaError if none); `cycle` may be left out."""
    texts, start = split_steps(text, "cycle")
    steps = tuple(_read(text, *step_span(text, texts, start, i), STEPS) for i in range(len(texts)))
    return Trace(steps[:start], steps[start:])


def trace_to_infix(trace: Trace) -> str:
    """The trace's infix text, as Spot reads it."""
    texts, start = list(map(to_infix, trace.steps)), len(trace.prefix)
    return "; ".join([*texts[:start], f"cycle{{{'; '.join(texts[start:])}}}"])


def formula_from_text(text: str, language: Language = LTL) -> Formula:
    """The formula that a person typed, in infix or in prefix notation; no text has two meanings."""
    return _either(lambda: parse_infix(text, language), lambda: parse_prefix(text, language))


def trace_from_text(text: str) -> Trace:
    """The trace that prefix text (`a;&ab;{b}`) or infix text (`a; a & b; cycle{b}`) stands for."""
    return _either(lambda: parse_trace(text), lambda: parse_infix_trace(text))


def _either(one, other) -> Formula | Trace:
    """What one reading gives, or else the other; else the error of the one that got further."""
    try:
        return one()
    except FormulaError as first:
        try:
            return other()
        except FormulaError as second:
            raise max(first, second, key=lambda error: error.position) from None
