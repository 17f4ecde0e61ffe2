"""Symbolic lasso traces: what an LTL formula's solution looks like.

Paper, appendix "Temporal logic overview": a trace u v^ω is a finite prefix u and a cycle v that
repeats forever; each step is a Boolean formula, and the trace stands for all words that satisfy
its steps. `a;&ab;{b}` is: a, then a and b, then b forever.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from itekit.logic.formulas import (
    STEPS,
    Formula,
    FormulaError,
    Names,
    Text,
    fault,
    fold,
    from_tokens,
    is_formula,
    join,
    quoted,
)

Steps = tuple[list[Sequence[str]], int]  # each step's tokens; the number before the cycle


@dataclass(frozen=True)
class Trace:
    """A symbolic lasso of steps without temporal operators (`parse_trace` checks that)."""

    prefix: tuple[Formula, ...]  # the steps before the cycle; there may be none
    cycle: tuple[Formula, ...]  # at least one

    @property
    def steps(self) -> tuple[Formula, ...]:
        """The steps of the prefix, then those of the cycle."""
        return self.prefix + self.cycle

    @property
    def propositions(self) -> tuple[str, ...]:
        """The names of the atomic propositions, once each, by first appearance."""
        return tuple(dict.fromkeys(name for step in self.steps for name in step.propositions))

    def step_at(self, time: int) -> Formula:
        """The step at any time from 0, the cycle repeated forever."""
        if time < len(self.prefix):
            return self.prefix[time]
        return self.cycle[(time - len(self.prefix)) % len(self.cycle)]

    def tokens(self) -> tuple[str, ...]:
        """The trace's tokens: prefix notation, with `;` `{` `}`."""
        return trace_tokens([step.tokens() for step in self.steps], len(self.prefix))

    def text(self) -> str:
        """The trace's prefix text."""
        return join(self.tokens())

    def rename(self, renaming) -> "Trace":
        """The trace with its atomic propositions renamed by an `itekit.alpha.Renaming`."""
        parts = (self.prefix, self.cycle)
        return Trace(*(tuple(step.rename(renaming) for step in part) for part in parts))

    def __str__(self) -> str:
        return " ".join(self.tokens())


def trace_tokens(steps: Sequence[Sequence[str]], start: int) -> tuple[str, ...]:
    """The tokens of a trace from those of its steps; `start` of them are before the cycle."""
    before = [token for step in steps[:start] for token in (*step, ";")]
    cycle = [token for step in steps[start:] for token in (";", *step)]
    return (*before, "{", *cycle[1:], "}")


def trace_equal(first: Trace, second: Trace) -> bool:
    """Whether the traces are the same up to the order of commutative operands in each step."""
    if (len(first.prefix), len(first.cycle)) != (len(second.prefix), len(second.cycle)):
        return False
    return list(map(sorted_operands, first.steps)) == list(map(sorted_operands, second.steps))


def sorted_operands(formula: Formula) -> tuple:
    """A key that is equal for formulas that differ only in the order of commutative operands.

    The operands of `&`, `|`, `=` and `^` are sorted; nested `&` and nested `|` are first flattened,
    so that `&a&bc` and `&&cba` have one key too. Nothing else is simplified: `&aa` is not `a`.
    """

    def node(token: str, *parts: tuple) -> tuple:
        if token in "&|":
            flat = [part[1:] if part[0] == token else (part,) for part in parts]
            parts = [part for operands in flat for part in operands]
        return (token, *(sorted(parts) if token in "&|=^" else parts))

    return fold(formula.tokens(), node)


def parse_trace(text: Text) -> Trace:
    """The trace that prefix text stands for (FormulaError as `read_trace`)."""
    steps, start = read_trace(text)
    formulas = tuple(map(from_tokens, steps))
    return Trace(formulas[:start], formulas[start:])


def read_trace(text: Text, *, propositions: Names = None) -> Steps:
    """The steps of a trace as tokens, checked (FormulaError); no tree is built."""
    text = text if isinstance(text, str) else join(text)
    texts, start = split_steps(text)
    steps = list(map(str.split, texts)) if " " in text else texts
    for number, step in enumerate(steps):
        if not is_formula(step, STEPS, propositions):
            raise fault(text, *step_span(text, texts, start, number), STEPS, propositions)
    return steps, start


def split_steps(text: str, word: str = "") -> tuple[list[str], int]:
    """The texts of a trace's steps, and how many of them come before the cycle.

    `word` may precede the brace that opens the cycle. FormulaError if `;` `{` `}` are misplaced.
    """
    head, opening, rest = text.partition("{")
    cycle, closing, after = rest.partition("}")
    *steps, gap = head.split(";")
    if not opening:
        raise FormulaError(text, len(text), "the end", f"'{word}{{', the start of the cycle")
    if gap.strip() not in ("", word):
        raise FormulaError(text, len(head), "'{'", "';' to end the step before the cycle")
    if not closing:
        raise FormulaError(text, len(text), "the end", "'}', the end of the cycle")
    if after := after.lstrip():
        rest = quoted(after[0])
        raise FormulaError(text, len(text) - len(after), rest, "the end: the trace is complete")
    return steps + cycle.split(";"), len(steps)


def step_span(text: str, steps: list[str], start: int, number: int) -> tuple[int, int]:
    """Start and end in the text of a step from `split_steps`."""
    place, first = (text.index("{") + 1, start) if number >= start else (0, 0)
    place += sum(len(step) + 1 for step in steps[first:number])
    return place, place + len(steps[number])
