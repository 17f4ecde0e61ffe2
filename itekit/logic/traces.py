"""Symbolic lasso traces: what an LTL formula's solution looks like.

Paper, appendix "Temporal logic overview": a trace u v^ω is a finite prefix u and a cycle v that
repeats for ever; each step is a Boolean formula, and the trace stands for all words that satisfy
its steps. `a;&ab;{b}` is: a, then a and b, then b for ever.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from itekit.logic.errors import FormulaError, explain, quoted
from itekit.logic.formulas import Formula, from_tokens
from itekit.logic.operators import STEPS
from itekit.logic.prefix import join, split, units
from itekit.logic.rewriting import sorted_operands

_DELIMITERS = frozenset(";{}")


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
            if not isinstance(step, Formula) or not STEPS.foreign.isdisjoint(step.tokens()):
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
        """The step at any time from 0, the cycle repeated for ever.

        Raises:
            ValueError: a negative time.
        """
        if time < 0:
            raise ValueError(f"times start at 0, found {time}")
        if time < len(self.prefix):
            return self.prefix[time]
        return self.cycle[(time - len(self.prefix)) % len(self.cycle)]

    def suffix(self, time: int) -> "Trace":
        """The same trace from this time on.

        Raises:
            ValueError: a negative time.
        """
        if time < 0:
            raise ValueError(f"times start at 0, found {time}")
        turn = max(0, time - len(self.prefix)) % len(self.cycle)
        return Trace(self.prefix[time:], self.cycle[turn:] + self.cycle[:turn])

    def tokens(self) -> tuple[str, ...]:
        """The trace's tokens: prefix notation, with `;` `{` `}`."""
        tokens: list[str] = []
        for step in self.prefix:
            tokens += (*step.tokens(), ";")
        for number, step in enumerate(self.cycle):
            tokens += (";" if number else "{", *step.tokens())
        return (*tokens, "}")

    def text(self, *, format: str = "characters") -> str:
        """The trace's text.

        Raises:
            ValueError: a name longer than one character in the "characters" format, or an unknown
                format.
        """
        return join(self.tokens(), format)

    def rename(self, renaming) -> "Trace":
        """The trace with its atomic propositions renamed by an `itekit.alpha.Renaming`.

        Raises:
            ValueError: a new name is no name of an atomic proposition.
        """
        return Trace(
            tuple(step.rename(renaming) for step in self.prefix),
            tuple(step.rename(renaming) for step in self.cycle),
        )

    def normal(self) -> "Trace":
        """The trace with the operands of commutative operators in order (see `sorted_operands`)."""
        prefix, cycle = map(sorted_operands, self.prefix), map(sorted_operands, self.cycle)
        return Trace(tuple(prefix), tuple(cycle))

    def __str__(self) -> str:
        return " ".join(self.tokens())


def trace_equal(first: Trace, second: Trace) -> bool:
    """Whether the traces are the same up to the order of commutative operands in each step."""
    return first == second or first.normal() == second.normal()


def parse_trace(
    text: str | Sequence[str],
    *,
    format: str = "characters",
    propositions: Collection[str] | None = None,
) -> Trace:
    """The trace that the text, or a sequence of tokens, stands for.

    Args:
        format: "characters" or "spaced"; for a sequence of tokens it makes no difference.
        propositions: the names that atomic propositions may have; any if None.

    Raises:
        FormulaError: the text is not a trace.
        ValueError: an unknown format.
    """
    tokens = split(text, format)
    try:
        trace = _read(tokens)
    except ValueError:
        _explain_trace(*units(text, format), propositions)
        raise
    if propositions is not None and not set(trace.propositions) <= set(propositions):
        _explain_trace(*units(text, format), propositions)
    return trace


def _read(tokens: Sequence[str]) -> Trace:
    """The trace, or a ValueError that does not say what is wrong."""
    steps: list[Formula] = []
    start, cycle = 0, None
    for place, token in enumerate(tokens):
        if token in _DELIMITERS:
            if token != "{":
                steps.append(from_tokens(tokens[start:place]))
            elif place == start and cycle is None:
                cycle = len(steps)
            else:
                raise ValueError("a brace in a wrong place")
            start = place + 1
            if token == "}":
                break
    if cycle is None or start != len(tokens) or tokens[-1] != "}":
        raise ValueError("no cycle, or tokens left over")
    return Trace(tuple(steps[:cycle]), tuple(steps[cycle:]))


def _explain_trace(
    text: str, tokens: list[tuple[str, int]], propositions: Collection[str] | None
) -> None:
    """Read from left to right and raise a FormulaError for the first thing that is wrong."""
    step: list[tuple[str, int]] = []
    in_cycle = closed = False
    for token, position in tokens:
        if closed:
            expected = "the end: the trace is complete"
            raise FormulaError(text, position, quoted(token), expected)
        if token not in _DELIMITERS:
            step.append((token, position))
            continue
        if token == "{" and in_cycle:
            raise FormulaError(text, position, "'{'", "a step or '}': the cycle is open already")
        if token == "}" and not in_cycle:
            raise FormulaError(text, position, "'}'", "';', or '{' to open the cycle first")
        if token != "{" or step:
            explain(text, step, (quoted(token), position), STEPS, propositions)
        if token == "{" and step:
            raise FormulaError(text, position, "'{'", "';' to end the step before the cycle")
        step, in_cycle, closed = [], in_cycle or token == "{", token == "}"
    if step:
        explain(text, step, ("the end", len(text)), STEPS, propositions)
    if not closed:
        missing = "';' or '}', the end of the cycle" if in_cycle else "'{', the start of the cycle"
        raise FormulaError(text, len(text), "the end", missing)
