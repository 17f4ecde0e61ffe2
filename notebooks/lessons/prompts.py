"""What a language model is asked, and what its replies say.

Paper, appendix "LLM Setup": its two prompts, kept to the letter (spelling included) in
data/prompts.
"""

import json
import re
from contextlib import suppress
from dataclasses import dataclass

from itekit.alpha import Renaming, used_tokens
from itekit.files import DATA
from itekit.logic.formulas import LANGUAGES, parse_prefix
from itekit.logic.truth_tables import parse_assignment
from itekit.vocabulary import proposition_names
from lessons.infix import parse_infix_trace, to_infix

NAMES = proposition_names(26)
LTL_PROMPT, PROPOSITIONAL_PROMPT = (
    (DATA / "prompts" / f"{task}.txt").read_text("utf-8").rstrip("\n")
    for task in ("ltl", "propositional")
)


class AnswerError(ValueError):
    """A reply that is no answer; the message says why."""


def prompt(task: str, formula: str) -> str:
    """The message that asks for a solution of a formula in prefix notation.

    The propositional prompt ranks | above xor, Spot the other way round; `to_infix` has parentheses
    where that would matter. The LTL listing is a Python format string, `cycle{{1}}`.
    """
    infix = to_infix(parse_prefix(formula, LANGUAGES[task]))
    if task == "propositional":
        return PROPOSITIONAL_PROMPT.replace("{formula}", infix.replace("^", "xor"))
    return LTL_PROMPT.format(formula=infix)


@dataclass(frozen=True)
class Question:
    """A formula in prefix notation; `held_to_form` holds a trace to a JSON schema too (ours)."""

    task: str
    formula: str
    held_to_form: bool = False

    prompt = property(lambda self: prompt(self.task, self.formula))  # the user message

    @property
    def schema(self) -> dict | None:
        """The JSON schema of the reply, ours, for the paper prints none; None: any text.

        A Boolean for each proposition, none required, in the order of the formula. Traces have at
        most 4 literals a step, 8 steps before the cycle, 4 in it.
        """
        names = used_tokens(self.formula, NAMES)
        if self.task == "propositional":
            parts, required = {name: {"type": "boolean"} for name in names}, []
        elif self.held_to_form:
            literal = f"(!?[{''.join(sorted(names))}]|1|0)" if names else "(1|0)"
            step = f"{literal}( (&|[|]) {literal}){{0,3}}"
            pattern = f"^({step}; ){{0,8}}cycle[{{]{step}(; {step}){{0,3}}[}}]$"
            parts, required = {"trace": {"type": "string", "pattern": pattern}}, ["trace"]
        else:
            return None
        schema = {"type": "object", "properties": parts, "required": required}
        return schema | {"additionalProperties": False}


def read_answer(task: str, reply: str) -> str:
    """The trace or assignment of a reply, in prefix notation with one character a token.

    A reply must be the answer and nothing else, but a code fence around it is taken away, and so is
    the word before the colon in the prompt's examples. AnswerError if it is no answer.
    """
    label, fence = r"(?i)\A(trace|assignment)\s*:\s*", r"`{1,3}(?:[a-z]*\n)?([^`]*)`{1,3}"
    text = re.sub(label, "", reply.strip())
    if fenced := re.fullmatch(fence, text):
        text = re.sub(label, "", fenced[1].strip())
    try:
        if task == "ltl":
            if text.startswith("{") and '"' in text:  # held to a JSON schema
                text = str(_object(text)["trace"])
            tokens = parse_infix_trace(text).tokens()
            if long := [token for token in tokens if len(token) > 1]:
                raise AnswerError(f"names are single letters, found {long[0]!r}")
            return "".join(tokens)
        values = _object(text)
        for name, value in values.items():
            if name not in NAMES or not isinstance(value, bool):
                raise AnswerError(f"expected a letter and true or false, found {name!r}: {value!r}")
        return "".join(f"{name}{value:d}" for name, value in values.items())
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise AnswerError(f"{reply[:60]!r}: {error}") from error


def _object(text: str) -> dict:
    """A JSON object; unlike `json.loads`, no name twice."""
    pairs = json.loads(text, object_pairs_hook=list)
    if not text.startswith("{") or len(dict(pairs)) < len(pairs):
        raise AnswerError("expected a JSON object that has no name twice")
    return dict(pairs)


def answer_of(task: str, reply: str) -> str | None:
    """The answer of a reply, if it is one."""
    with suppress(AnswerError):
        return read_answer(task, reply)


def rename_reply(renaming: Renaming, reply: str) -> str:
    """The reply with each letter that stands alone renamed: answer or not, in whatever form."""
    letter = r"(?<![A-Za-z0-9_])[a-z](?![A-Za-z0-9_])"
    return re.sub(letter, lambda match: renaming(match[0]), reply)


def comparable(task: str, reply: str):
    """What two replies are compared as: their answers (assignments in any order), else as text."""
    answer = answer_of(task, reply)
    if answer is None:
        return "no answer", *reply.split()
    return parse_assignment(answer) if task == "propositional" else answer
