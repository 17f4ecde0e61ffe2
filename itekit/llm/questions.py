"""One question to a language model: the prompt, and the JSON schema that its reply must fit.

Paper, appendix "LLM Setup": assignments are asked for as JSON, held to a schema, traces as text.
The paper does not print its schema. Ours has a Boolean for each proposition of the formula, none of
them required (an assignment may be partial), in the order in which the formula names them, so that
renaming the formula renames the schema and does nothing else.

Ours, not the paper's: `held_to_form` holds traces to a schema too, so that what is wrong with an
answer is its meaning, never its form.
"""

from dataclasses import dataclass

from itekit.alpha import used_tokens
from itekit.llm.prompts import prompt
from itekit.logic.operators import proposition_names
from itekit.tasks.vocabularies import LANGUAGES

LETTERS = proposition_names(26)
MOST = {"literals": 4, "prefix": 8, "cycle": 4}
"""The largest trace that the schema allows: literals a step, steps before the cycle, and in it."""


@dataclass(frozen=True)
class Question:
    """A problem as it is put to a language model.

    Attributes:
        task: "ltl" or "propositional".
        formula: in prefix notation, one character a token.
        held_to_form: hold a trace to a JSON schema, as an assignment always is.

    Raises:
        ValueError: an unknown task.
    """

    task: str
    formula: str
    held_to_form: bool = False

    def __post_init__(self):
        if self.task not in LANGUAGES:
            known = ", ".join(LANGUAGES)
            raise ValueError(f"unknown task {self.task!r}: expected one of {known}")

    @property
    def prompt(self) -> str:
        """The user message."""
        return prompt(self.task, self.formula)

    @property
    def schema(self) -> dict | None:
        """The JSON schema of the reply; None: any text."""
        names = used_tokens(self.formula, LETTERS)
        if self.task == "propositional":
            return _object({name: {"type": "boolean"} for name in names}, [])
        if not self.held_to_form:
            return None
        return _object({"trace": {"type": "string", "pattern": trace_pattern(names)}}, ["trace"])

    def to_json(self) -> dict:
        """All that is sent of it."""
        return {"prompt": self.prompt, "schema": self.schema}


def trace_pattern(names: list[str]) -> str:
    """A regular expression of traces over propositions: steps of a few literals (see MOST)."""
    letters = f"[{''.join(sorted(names))}]" if names else ""
    literal = f"({'!?' + letters + '|' if names else ''}1|0)"
    step = f"{literal}( (&|[|]) {literal}){{0,{MOST['literals'] - 1}}}"
    cycle = f"cycle[{{]{step}(; {step}){{0,{MOST['cycle'] - 1}}}[}}]"
    return f"^({step}; ){{0,{MOST['prefix']}}}{cycle}$"


def _object(properties: dict, required: list[str]) -> dict:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
