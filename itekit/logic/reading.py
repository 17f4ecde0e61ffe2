"""Prefix text as tokens that are known to be right, without building trees: for the fast paths.

`itekit.logic.prefix` and `itekit.logic.traces` are the authority: whatever is not plainly right
here is read by them, and they say what is wrong, and where.
"""

from collections.abc import Collection, Sequence
from string import ascii_lowercase

from itekit.logic.formulas import ARITY, MAX_DEPTH
from itekit.logic.operators import LTL, STEPS, is_name
from itekit.logic.prefix import parse_prefix, split
from itekit.logic.traces import parse_trace

Steps = tuple[list[Sequence[str]], int]
"""The tokens of each step of a trace, and the number of steps before the cycle."""

_LETTERS = frozenset(ascii_lowercase)
_CHANGE = {token: arity - 1 for token, arity in ARITY.items()}
_DELIMITERS = frozenset(";{}")


def read_formula(text: str, format: str) -> Sequence[str]:
    """The prefix tokens of an LTL formula.

    Raises:
        FormulaError: the text is not one LTL formula.
        ValueError: an unknown format.
    """
    tokens = split(text, format)
    if _is_formula(tokens, LTL.by_token):
        return tokens
    return parse_prefix(text, format=format).tokens()


def read_trace(text: str, format: str) -> Steps:
    """The steps of a trace.

    Raises:
        FormulaError: the text is not a trace.
        ValueError: an unknown format.
    """
    steps = _split_steps(split(text, format))
    if steps and all(_is_formula(step, STEPS.by_token) for step in steps[0]):
        return steps
    trace = parse_trace(text, format=format)
    return [step.tokens() for step in trace.steps], len(trace.prefix)


def _is_formula(tokens: Sequence[str], operators: Collection[str]) -> bool:
    """Whether tokens are one formula; if it is very large, the answer is no all the same."""
    missing = 1
    for token in tokens:
        if not missing:
            return False
        missing += _CHANGE.get(token, -1)
    if missing or len(tokens) > MAX_DEPTH:
        return False
    names = set(tokens).difference(operators)
    return names <= _LETTERS or (names.isdisjoint(ARITY) and all(map(is_name, names)))


def _split_steps(tokens: Sequence[str]) -> Steps | None:
    """Tokens cut at `;` `{` `}`; None if these do not stand as in a trace."""
    steps: list[Sequence[str]] = []
    begin, cycle = 0, None
    for place, token in enumerate(tokens):
        if token in _DELIMITERS:
            if token != "{":
                steps.append(tokens[begin:place])
            elif cycle is None and begin == place:
                cycle = len(steps)
            else:
                return None
            begin = place + 1
            if token == "}":
                break
    if cycle is None or begin != len(tokens) or tokens[-1] != "}":
        return None
    return steps, cycle
