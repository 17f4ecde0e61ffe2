"""Exercises that check themselves: a learner's function beside a reference, on random cases.

An `Exercise` is called with the learner's function, prints what it found, and never raises because
of it: "not solved yet", "right on all cases", or the smallest case that differs, with the
learner's value, the expected one, and a hint where a well-known mistake is recognised.
"""

import contextlib
import copy
import io
import random
import secrets
import textwrap
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from lessons.values import DIFFERENT, alike, call_text, difference, plain, show

RUN_AGAIN = "Replace the ... by your own code, and run this cell again."
NO_VALUE = "no value: does every way through the function end in a return?"
NOT_A_FUNCTION = "expected a function: hand it over without calling it, as in check(f)"

INDENT = {"initial_indent": "  ", "subsequent_indent": "  "}


class NotSolvedError(AssertionError):
    """A function that was handed over with `must=True` is not right."""


@dataclass(frozen=True)
class Report:
    """What was found: `status` is "solved", "not solved yet", "wrong" or "error"."""

    status: str
    text: str

    @property
    def solved(self) -> bool:
        return self.status == "solved"


@dataclass
class Attempt:
    """One case: the arguments, the learner's answer, and what is wrong with it."""

    arguments: tuple
    expected: object
    answer: object = None
    printed: str = ""
    error: Exception | None = None
    problem: str = ""  # empty: the answer is right

    @property
    def nothing(self) -> bool:
        """Whether the function has not been written: it gave no value at all."""
        return isinstance(self.error, NotImplementedError) or (
            self.error is None and (self.answer is None or self.answer is ...)
        )

    @property
    def size(self) -> int:
        return len(str(plain(self.arguments)))


@dataclass(frozen=True)
class Exercise:
    """A function to be written, and all that it takes to check one.

    Attributes:
        name: of the function.
        reference: a function that is right.
        cases: from a random generator to tuples of arguments; a few dozen small ones.
        mistakes: {function: hint}: the hint is given to a learner whose answers to all cases are
            those of this function. Each has to be wrong.
        signs: {predicate: hint}: the hint is given if predicate(answer, expected, *arguments) holds
            for the case that is shown. The first that fits is shown, mistakes before signs.
        judge: where several answers are right: from (answer, *arguments) to what is wrong with it
            in words, or None. Without it, an answer has to be the reference's.
        same: whether an answer is the expected one.
    """

    name: str
    reference: Callable
    cases: Callable[[random.Random], Iterable[tuple]]
    mistakes: Mapping[Callable, str] = field(default_factory=dict)
    signs: Mapping[Callable, str] = field(default_factory=dict)
    judge: Callable | None = None
    same: Callable = field(default=alike)

    def __call__(self, function: Callable, seed: int | None = None, must: bool = False) -> None:
        """Check a function and print what was found.

        Args:
            seed: of the random cases; other ones at each call by default.
            must: raise NotSolvedError unless it is right (for solutions, and for grading).
        """
        report = self.examine(function, seed)
        if must and not report.solved:
            raise NotSolvedError(report.text)
        print(report.text)

    def examine(self, function: Callable, seed: int | None = None) -> Report:
        """Check a function; what the call prints, as a value."""
        if not callable(function):
            return Report("wrong", f"✗ {self.name}: found {show(function)}; {NOT_A_FUNCTION}")
        seed = secrets.randbelow(10**6) if seed is None else seed
        cases = list(self.cases(random.Random(seed)))
        attempts = [self._attempt(function, case) for case in cases]
        if all(one.nothing for one in attempts):
            if all(one.error is None for one in attempts) and _written(function):
                return Report("wrong", f"✗ {self.name}: {NO_VALUE}")
            return Report("not solved yet", f"○ {self.name}: not solved yet. {RUN_AGAIN}")
        wrong = [one for one in attempts if one.problem]
        if not wrong:
            return Report("solved", f"✓ {self.name}: right on all {len(cases)} cases.")
        shown = min(wrong, key=lambda one: one.size)
        lines = [
            f"✗ {self.name}: wrong on {len(wrong)} of {len(cases)} cases. The smallest of them:",
            "",
            *self._case_lines(function, shown),
        ]
        if hint := self._hint(attempts, shown):
            lines += ["", *textwrap.wrap(f"Hint: {hint}", 92, **INDENT)]
        lines += ["", f"  The same cases again: check_{self.name}({self.name}, seed={seed})"]
        return Report("error" if shown.error else "wrong", "\n".join(lines))

    def _attempt(self, function: Callable, case: tuple) -> Attempt:
        """Call the function on copies of the arguments; judge what it gives."""
        attempt = Attempt(case, plain(self.reference(*copy.deepcopy(case))))
        given, printed = copy.deepcopy(case), io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                attempt.answer = plain(function(*given))
        except Exception as error:
            attempt.error, attempt.problem = error, f"{type(error).__name__}: {error}"
        else:
            attempt.problem = self._problem(attempt, given)
        attempt.printed = printed.getvalue()
        return attempt

    def _problem(self, attempt: Attempt, given: tuple) -> str:
        if attempt.nothing and attempt.expected is not None:
            return NO_VALUE
        try:
            if self.judge:
                return self.judge(attempt.answer, *given) or ""
            same = self.same(attempt.answer, attempt.expected)
            return "" if same else difference(attempt.answer, attempt.expected)
        except Exception as error:  # a value that the judge cannot read
            return f"not of the form that is asked for ({type(error).__name__}: {error})"

    def _case_lines(self, function: Callable, shown: Attempt) -> list[str]:
        rows = [("", call_text(self.name, function, shown.arguments))]
        if shown.error is None:
            rows.append(("yours", show(shown.answer)))
        else:
            rows.append(("error", shown.problem + _place(shown.error, function)))
        rows.append(("possible" if self.judge else "expected", show(shown.expected)))
        if shown.error is None and shown.problem != DIFFERENT:
            rows.append(("wrong", shown.problem))
        if shown.printed.strip():
            rows.append(("printed", shown.printed.strip()[:400]))
        return [_labelled(label, text) for label, text in rows]

    def _hint(self, attempts: list[Attempt], shown: Attempt) -> str:
        if shown.error is not None:
            return ""
        for wrong, text in self.mistakes.items():
            if all(one.error is None and self._agrees(wrong, one) for one in attempts):
                return text
        for sign, text in self.signs.items():
            with contextlib.suppress(Exception):  # an answer of another form than expected
                if sign(shown.answer, shown.expected, *copy.deepcopy(shown.arguments)):
                    return text
        return ""

    def _agrees(self, wrong: Callable, attempt: Attempt) -> bool:
        try:
            return alike(attempt.answer, plain(wrong(*copy.deepcopy(attempt.arguments))))
        except Exception:  # the mistake has no answer here
            return False


def _labelled(label: str, text: str) -> str:
    indent = "    " if not label else f"    {label:<10}"
    return indent + text.replace("\n", "\n" + " " * len(indent))


def _written(function: Callable) -> bool:
    """Whether there is code in a function: it uses a name other than its parameters."""
    return bool(getattr(getattr(function, "__code__", None), "co_names", ()))


def _place(error: Exception, function: Callable) -> str:
    """Where in the learner's own code an error came up, if that can be told."""
    filename = getattr(getattr(function, "__code__", None), "co_filename", None)
    own = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == filename]
    return f"\nin the line: {own[-1].line}" if own and own[-1].line else ""
