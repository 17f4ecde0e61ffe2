"""Text that a person typed: a formula or a trace in whichever notation it is.

Paper, appendices "Temporal logic overview" (prefix) and "LLM Setup" (infix). No text is a formula
in both notations with two meanings: in prefix notation a binary operator comes before its operands,
in infix notation never.
"""

import re

from itekit.logic.errors import FormulaError
from itekit.logic.formulas import Formula
from itekit.logic.infix import parse_infix
from itekit.logic.infix_traces import parse_infix_trace
from itekit.logic.operators import LTL, Language
from itekit.logic.prefix import parse_prefix
from itekit.logic.traces import Trace, parse_trace

_PREFIX = re.compile(r"[!XFG\s]*[&|=^>URWM]")


def form_of(text: str) -> str:
    """The form of prefix text: "spaced" if there is a blank in it, else "characters"."""
    return "spaced" if " " in text.strip() else "characters"


def formula_from_text(text: str, language: Language = LTL) -> Formula:
    """The formula that prefix or infix text stands for.

    Raises:
        FormulaError: it is none in the notation that it looks like.
    """
    if _PREFIX.match(text) or text.lstrip().startswith(("xor", "<->", "->")):
        return parse_prefix(text, language, format=form_of(text))
    return parse_infix(text, language)


def trace_from_text(text: str) -> Trace:
    """The trace that prefix text (`a;&ab;{b}`) or infix text (`a; a & b; cycle{b}`) stands for.

    Raises:
        FormulaError: it is none in either notation; the error of the reading that got further.
    """
    errors = []
    for read in (_read_prefix, parse_infix_trace):
        try:
            return read(text)
        except FormulaError as error:
            errors.append(error)
    raise max(errors, key=lambda error: error.position)


def _read_prefix(text: str) -> Trace:
    return parse_trace(text, format=form_of(text))
