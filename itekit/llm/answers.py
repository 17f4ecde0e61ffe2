"""What a language model's reply says: a trace or an assignment in our notation, or nothing.

Paper, appendix "LLM Setup": traces in Spot's infix notation, assignments as JSON. How the authors
read replies is not told. Here a reply must be the answer and nothing else ("Output the trace
only"), but a code fence around it is taken away, and so is the word that stands before the colon in
the prompt's examples.
"""

import json
import re

from itekit.alpha import Renaming
from itekit.logic.assignments import Assignment
from itekit.logic.errors import FormulaError
from itekit.logic.infix_traces import parse_infix_trace
from itekit.logic.operators import is_name
from itekit.logic.traces import Trace

_FENCE = re.compile(r"`{1,3}(?:[a-z]*\n)?([^`]*)`{1,3}")
_LABEL = re.compile(r"\A(?:trace|assignment)\s*:\s*", re.IGNORECASE)
_LETTER = re.compile(r"(?<![A-Za-z0-9_])[a-z](?![A-Za-z0-9_])")


class AnswerError(ValueError):
    """A reply that is no answer; the message says why."""


def read_answer(task: str, reply: str) -> str:
    """The trace or assignment of a reply, in prefix notation with one character a token.

    Args:
        task: "ltl" or "propositional".

    Raises:
        AnswerError: the reply is no trace, or no assignment.
    """
    text = _LABEL.sub("", reply.strip(), 1)
    if fenced := _FENCE.fullmatch(text):
        text = _LABEL.sub("", fenced[1].strip(), 1)
    try:
        answer = _trace(text) if task == "ltl" else _assignment(text)
        return answer.text()  # an error for names that are longer than a letter
    except FormulaError as error:
        raise AnswerError(str(error)) from error
    except (ValueError, TypeError, RecursionError) as error:
        raise AnswerError(f"{reply[:60]!r}: {error}") from error


def rename_reply(reply: str, renaming: Renaming) -> str:
    """The reply with each letter that stands alone renamed: answer or not, in whatever form."""
    return _LETTER.sub(lambda match: renaming([match[0]])[0], reply)


def comparable(task: str, reply: str) -> tuple:
    """What two replies are compared as: their answers (assignments in any order), else as text."""
    try:
        answer = read_answer(task, reply)
    except AnswerError:
        return ("no answer", *reply.split())
    if task == "propositional":
        return tuple(sorted(zip(answer[::2], answer[1::2], strict=True)))
    return tuple(answer)


def _trace(text: str) -> Trace:
    if text.startswith("{") and '"' in text:  # held to a JSON schema
        text = _object(text).get("trace")
        if not isinstance(text, str):
            raise AnswerError("expected a JSON object with a text named trace")
    return parse_infix_trace(text)


def _assignment(text: str) -> Assignment:
    values = _object(text)
    for name in values:
        if not is_name(name):
            raise AnswerError(f"{name!r} is no name of a proposition")
    return Assignment(tuple(values.items()))


def _object(text: str) -> dict:
    """A JSON object; unlike `json.loads`, no name twice."""

    def unique(pairs: list[tuple]) -> dict:
        if len(dict(pairs)) < len(pairs):
            raise AnswerError("a name stands twice")
        return dict(pairs)

    value = json.loads(text, object_pairs_hook=unique)
    if not isinstance(value, dict):
        raise AnswerError(f"expected a JSON object, found {type(value).__name__}")
    return value
