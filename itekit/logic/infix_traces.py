"""Traces in infix notation, as Spot writes its words: `a; a & b; cycle{b}`.

Paper, appendix "LLM Setup": the form in which a general-purpose language model is asked for traces.
"""

import re

from itekit.logic.errors import FormulaError, quoted
from itekit.logic.formulas import Formula
from itekit.logic.infix import parse_part, to_infix
from itekit.logic.operators import STEPS
from itekit.logic.traces import Trace

_OPENING = re.compile(r"(?:\bcycle\s*)?\{")


def parse_infix_trace(text: str) -> Trace:
    """The trace that infix text stands for; the word `cycle` may be left out.

    Raises:
        FormulaError: the text is not a trace.
    """
    opening = _OPENING.search(text)
    if not opening:
        raise FormulaError(text, len(text), "the end", "'cycle{', the start of the cycle")
    prefix_end = text.rfind(";", 0, opening.start())
    prefix = () if prefix_end < 0 else _steps(text, 0, prefix_end)
    if text[prefix_end + 1 : opening.start()].strip():
        parse_part(text, prefix_end + 1, opening.start(), STEPS)
        found, expected = quoted(opening.group()), "';' to end the step before the cycle"
        raise FormulaError(text, opening.start(), found, expected)
    closing = text.find("}", opening.end())
    if closing < 0:
        raise FormulaError(text, len(text), "the end", "'}', the end of the cycle")
    cycle = _steps(text, opening.end(), closing)
    rest = text[closing + 1 :].lstrip()
    if rest:
        position, expected = len(text) - len(rest), "the end: the trace is complete"
        raise FormulaError(text, position, quoted(rest[0]), expected)
    return Trace(prefix, cycle)


def trace_to_infix(trace: Trace, *, unicode: bool = False) -> str:
    """The trace's infix text: in ASCII as Spot reads it, or with Unicode's symbols."""
    prefix = [to_infix(step, unicode=unicode) for step in trace.prefix]
    cycle = [to_infix(step, unicode=unicode) for step in trace.cycle]
    return "; ".join([*prefix, f"cycle{{{'; '.join(cycle)}}}"])


def _steps(text: str, start: int, end: int) -> tuple[Formula, ...]:
    """The steps between two positions, separated by semicolons."""
    steps = []
    while start <= end:
        stop = text.find(";", start, end)
        stop = end if stop < 0 else stop
        steps.append(parse_part(text, start, stop, STEPS))
        start = stop + 1
    return tuple(steps)
