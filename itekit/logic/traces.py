"""Symbolic lasso traces: what an LTL formula's solution looks like.

Paper, appendix "Temporal logic overview": a trace u v^ω is a finite prefix u and a cycle v that
repeats for ever; each step is a Boolean formula, and the trace stands for all words that satisfy
its steps. `a;&ab;{b}` is: a, then a and b, then b for ever.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from itekit.logic.formulas import (
    ARITY,
    STEPS,
    Formula,
    FormulaError,
    explain,
    from_tokens,
    is_formula,
    join,
    quoted,
)

Steps = tuple[list[Sequence[str]], int]
"""The tokens of each step of a trace, and the number of steps before the cycle."""


@dataclass(frozen=True)
class Trace:
    """A symbolic lasso.

    Attributes:
        prefix: the steps before the cycle; there may be none.
        cycle: the steps that repeat; at least one.

    Raises:
        ValueError: an empty cycle, or a step with a temporal operator.
    """

    prefix: tuple[Formula, ...]
    cycle: tuple[Formula, ...]

    def __post_init__(self):
        object.__setattr__(self, "prefix", tuple(self.prefix))
        object.__setattr__(self, "cycle", tuple(self.cycle))
        if not self.cycle:
            raise ValueError("a trace needs at least one step in its cycle")
        for number, step in enumerate(self.steps):
            if not isinstance(step, Formula) or set(step.tokens()) & ARITY.keys() - STEPS.by_token:
                raise ValueError(f"step {number} must be a Boolean formula, found {step!r}")

    @property
    def steps(self) -> tuple[Formula, ...]:
        """The steps of the prefix, then those of the cycle."""
        return self.prefix + self.cycle

    @property
    def propositions(self) -> tuple[str, ...]:
        """The names of the atomic propositions, once each, by first appearance."""
        return tuple(dict.fromkeys(name for step in self.steps for name in step.propositions))

    def step_at(self, time: int) -> Formula:
        """The step at any time from 0, the cycle repeated for ever."""
        if time < 0:
            raise ValueError(f"times start at 0, found {time}")
        if time < len(self.prefix):
            return self.prefix[time]
        return self.cycle[(time - len(self.prefix)) % len(self.cycle)]

    def tokens(self) -> tuple[str, ...]:
        """The trace's tokens: prefix notation, with `;` `{` `}`."""
        tokens: list[str] = []
        for step in self.prefix:
            tokens += (*step.tokens(), ";")
        for number, step in enumerate(self.cycle):
            tokens += (";" if number else "{", *step.tokens())
        return (*tokens, "}")

    def text(self) -> str:
        """The trace's prefix text."""
        return join(self.tokens())

    def rename(self, renaming) -> "Trace":
        """The trace with its atomic propositions renamed by an `itekit.alpha.Renaming`."""
        prefix, cycle = ([s.rename(renaming) for s in part] for part in (self.prefix, self.cycle))
        return Trace(prefix, cycle)

    def __str__(self) -> str:
        return " ".join(self.tokens())


def trace_equal(first: Trace, second: Trace) -> bool:
    """Whether the traces are the same up to the order of commutative operands in each step."""
    if (len(first.prefix), len(first.cycle)) != (len(second.prefix), len(second.cycle)):
        return False
    return list(map(sorted_operands, first.steps)) == list(map(sorted_operands, second.steps))


def sorted_operands(formula: Formula) -> tuple:
    """One value for all formulas that differ in the order of commutative operands only.

    The operands of `&`, `|`, `=` and `^` are sorted; nested `&` and nested `|` are first laid flat,
    so that `&a&bc` and `&&cba` get one value too. Nothing else is the same: `&aa` is not `a`.
    """
    stack: list[tuple] = []
    for token in reversed(formula.tokens()):
        operands = [stack.pop() for _ in range(ARITY.get(token, 0))]
        if token in ("&", "|"):
            flat = [part[1:] if part[0] == token else (part,) for part in operands]
            operands = [part for parts in flat for part in parts]
        if token in ("&", "|", "=", "^"):
            operands.sort()
        stack.append((token, *operands))
    return stack.pop()


def parse_trace(text: str | Sequence[str], *, propositions: Collection[str] | None = None) -> Trace:
    """The trace that prefix text, or a sequence of tokens, stands for (see `read_trace`)."""
    steps, start = read_trace(text, propositions=propositions)
    formulas = list(map(from_tokens, steps))
    return Trace(formulas[:start], formulas[start:])


def read_trace(text: str | Sequence[str], *, propositions: Collection[str] | None = None) -> Steps:
    """The steps of a trace as tokens, checked; no tree is built.

    `propositions` are the names that atomic propositions may have; any if None.

    Raises:
        FormulaError: the text is not a trace.
    """
    text = text if isinstance(text, str) else join([str(token) for token in text])
    head, _, rest = text.partition("{")
    *steps, gap = head.split(";")
    start = len(steps)
    steps += rest[:-1].split(";")
    if " " in text:
        steps = list(map(str.split, steps))
    if (
        gap.strip()
        or not rest.endswith("}")
        or not all(is_formula(step, STEPS, propositions) for step in steps)
    ):
        spans, start = cut(text)
        steps = [explain(text, *span, STEPS, propositions) for span in spans]
    return steps, start


def cut(text: str, word: str = "") -> tuple[list[tuple[int, int]], int]:
    """Where the steps of a trace stand in its text, and how many of them come before the cycle.

    `word` is what may stand before the brace that opens the cycle. FormulaError if `;` `{` `}` do
    not stand as in a trace.
    """
    opening, closing = text.find("{"), text.find("}")
    if opening < 0:
        raise FormulaError(text, len(text), "the end", f"'{word}{{', the start of the cycle")
    if closing < opening:
        place, found = (len(text), "the end") if closing < 0 else (closing, "'}'")
        raise FormulaError(text, place, found, "a '}' after the '{', the end of the cycle")
    before = text.rfind(";", 0, opening) + 1
    if text[before:opening].strip() not in ("", word):
        raise FormulaError(text, opening, "'{'", "';' to end the step before the cycle")
    if rest := text[closing + 1 :].lstrip():
        position = len(text) - len(rest)
        raise FormulaError(text, position, quoted(rest[0]), "the end: the trace is complete")
    stops = [place for place in range(closing) if text[place] == ";" or place == opening]
    starts = [0, *(place + 1 for place in stops)]
    spans = [span for span in zip(starts, [*stops, closing], strict=True) if span[1] != opening]
    return spans, text.count(";", 0, opening)
