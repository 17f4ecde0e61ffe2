"""Exercises that check themselves: a learner's function beside a reference, on random cases.

An `Exercise` is called with the learner's function, prints what it found, and never raises because
of it: "not solved yet", "right on all cases", or the smallest case that differs, with the
learner's value, the expected one, and a hint where a well-known mistake is recognised. What was
solved is kept in a file, and shown as a bar.
"""

import contextlib
import copy
import ctypes
import inspect
import io
import math
import random
import secrets
import sys
import textwrap
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from itekit.files import read_json, write_json

SOLVED = Path("solved.json")  # in the notebook's folder: lesson -> names of exercises
SECONDS = 10.0  # for one case
NO_VALUE = "no value: does every way through the function end in a return?"
DIFFERENT = "another value"
LONGEST, WIDEST = 600, 84  # characters of a value that is shown, and of a line


class EndlessError(Exception):
    """A function was stopped."""


class _Late(BaseException):
    """Raised in a thread whose time is over: `except Exception` in a solution does not stop it."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """EndlessError after so many seconds in this thread: a loop of Python's is stopped.

    (`_thread.interrupt_main` does nothing where a process ignores SIGINT, as in the background.)
    """
    thread, ended, lock = ctypes.c_ulong(threading.get_ident()), threading.Event(), threading.Lock()

    def stop() -> None:
        with lock:
            if not ended.is_set():
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(_Late))

    timer = threading.Timer(seconds, stop)
    timer.start()
    try:
        yield
        with lock:
            ended.set()
    except _Late:
        raise EndlessError(f"stopped after {seconds:g} seconds: does every loop end?") from None
    finally:
        ended.set()
        timer.cancel()


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
        empty = self.error is None and (self.answer is None or self.answer is ...)
        return empty or isinstance(self.error, NotImplementedError)


@dataclass
class Exercise:
    """A function to be written, and all that it takes to check one.

    Attributes:
        reference: a function that is right.
        cases: from a random generator to tuples of arguments; a few dozen small ones.
        judge: where several answers are right: from (answer, *arguments) to what is wrong with it
            in words, or None. Without it, an answer has to be the reference's.
        mistakes: {function: hint}: the hint is given to a learner whose answers to all cases are
            those of this function. Each has to be wrong.
        seconds: for one case; 0: SECONDS.
        signs: {predicate: hint}: the hint is given if predicate(answer, expected, *arguments) holds
            for the case that is shown. The first that fits is shown, mistakes before signs.
    """

    name: str
    reference: Callable
    cases: Callable[[random.Random], Iterable[tuple]]
    judge: Callable | None = None
    mistakes: Mapping[Callable, str] = field(default_factory=dict)
    signs: Mapping[Callable, str] = field(default_factory=dict)
    seconds: float = 0

    def run(self, function: Callable, *case):
        """What a function answers to a case."""
        return function(*case)

    def __call__(self, function: Callable, seed: int | None = None, must: bool = False) -> None:
        """Check a function and print what was found.

        Cases differ from call to call, unless a `seed` is given. With `must`, for solutions and for
        grading, NotSolvedError is raised unless it is right.
        """
        report = self.examine(function, seed)
        if must and not report.solved:
            raise NotSolvedError(report.text)
        print(report.text)
        if not must:
            self._note(report)

    def _note(self, report: Report) -> None:
        """Keep that it is solved, and print the lesson's exercises as a bar once one of them is."""
        for path, module in list(sys.modules.items()):
            if path.startswith("lessons.lesson_"):
                names = [one.name for one in vars(module).values() if isinstance(one, Exercise)]
                if self.name in names:
                    break
        else:
            return  # an exercise of no lesson
        lesson, known = path.rpartition(".")[2], read_json(SOLVED, dict) if SOLVED.exists() else {}
        solved = known.setdefault(lesson, [])
        if report.solved != (self.name in solved):
            (solved.append if report.solved else solved.remove)(self.name)
            write_json(SOLVED, known)
        if solved:
            print(f"  {lesson}:", *(f"{'■' if name in solved else '□'} {name}" for name in names))

    def examine(self, function: Callable, seed: int | None = None) -> Report:
        """Check a function; what the call prints, as a value."""
        if not callable(function):
            expected = "expected a function: hand it over without calling it, as in check(f)"
            return Report("wrong", f"✗ {self.name}: found {show(function)}; {expected}")
        seed = secrets.randbelow(10**6) if seed is None else seed
        attempts = []
        for case in self.cases(random.Random(seed)):
            attempts.append(self._attempt(function, case))
            if isinstance(attempts[-1].error, EndlessError):
                attempts = attempts[-1:]  # the others are not tried
                break
        if all(one.nothing for one in attempts):
            # Code uses a name other than its parameters; a function without any is still a stub.
            written = getattr(getattr(function, "__code__", None), "co_names", ())
            if written and all(one.error is None for one in attempts):
                return Report("wrong", f"✗ {self.name}: {NO_VALUE}")
            again = "Replace the ... by your own code, and run this cell again."
            return Report("not solved yet", f"○ {self.name}: not solved yet. {again}")
        wrong = [one for one in attempts if one.problem]
        if not wrong:
            every = f"all {len(attempts)} cases" if len(attempts) > 1 else "the case that was tried"
            return Report("solved", f"✓ {self.name}: right on {every}.")
        shown = min(wrong, key=lambda one: len(str(plain(one.arguments))))
        count = f"{len(wrong)} of {len(attempts)} cases"
        lines = [f"✗ {self.name}: wrong on {count}. The smallest of them:", ""]
        lines += self._case_lines(shown, function)
        if hint := self._hint(attempts, shown):
            lines += ["", textwrap.indent(textwrap.fill(f"Hint: {hint}", 90), "  ")]
        lines += ["", f"  The same cases again: check_{self.name}({self.name}, seed={seed})"]
        return Report("error" if shown.error else "wrong", "\n".join(lines))

    def _attempt(self, function: Callable, case: tuple) -> Attempt:
        """Call the function on copies of the arguments; judge what it gives."""
        right = None if self.judge else plain(self.run(self.reference, *copy.deepcopy(case)))
        attempt = Attempt(case, right)
        given, printed = copy.deepcopy(case), io.StringIO()
        try:
            with contextlib.redirect_stdout(printed), time_limit(self.seconds or SECONDS):
                attempt.answer = plain(self.run(function, *given))
        except Exception as error:
            attempt.error, attempt.problem = error, f"{type(error).__name__}: {error}"
        else:
            # What a learner emptied is whole again; what became of other objects, a judge may ask.
            again = zip(given, copy.deepcopy(case), strict=True)
            judged = (own if isinstance(own, (list, dict, set)) else mine for mine, own in again)
            attempt.problem = self._problem(attempt, tuple(judged))
        attempt.printed = printed.getvalue().strip()
        return attempt

    def _problem(self, attempt: Attempt, given: tuple) -> str:
        if attempt.nothing and (self.judge or attempt.expected is not None):
            return NO_VALUE
        try:
            if self.judge:
                return self.judge(attempt.answer, *given) or ""
            same = alike(attempt.answer, attempt.expected)
            return "" if same else difference(attempt.answer, attempt.expected)
        except Exception as error:  # a value that the judge cannot read
            return f"not of the form that is asked for ({type(error).__name__}: {error})"

    def _case_lines(self, shown: Attempt, function: Callable) -> list[str]:
        rows = [("", call_text(self.name, shown.arguments))]
        if shown.error:
            filename = getattr(getattr(function, "__code__", None), "co_filename", None)
            frames = traceback.extract_tb(shown.error.__traceback__)  # where in the learner's code
            own = [f.line for f in frames if f.filename == filename]
            place = f"\nin the line: {own[-1]}" if own and own[-1] else ""
            rows.append(("error", shown.problem + place))
        else:
            rows.append(("yours", show(shown.answer)))
        if self.judge:
            right = self.run(self.reference, *copy.deepcopy(shown.arguments))
            rows.append(("possible", show(right)))
        else:
            rows.append(("expected", show(shown.expected)))
        if not shown.error and shown.problem != DIFFERENT:
            rows.append(("wrong", shown.problem))
        if shown.printed:
            rows.append(("printed", shown.printed[:400]))
        return [_labelled("    " + f"{label:<10}" * bool(label), text) for label, text in rows]

    def _hint(self, attempts: list[Attempt], shown: Attempt) -> str:
        if shown.error is not None:
            return ""
        for wrong, text in self.mistakes.items():
            with contextlib.suppress(Exception):  # the mistake may have no answer to a case
                tried = ((one.answer, copy.deepcopy(one.arguments)) for one in attempts)
                if all(alike(mine, plain(self.run(wrong, *case))) for mine, case in tried):
                    return text
        for sign, text in self.signs.items():
            with contextlib.suppress(Exception):  # an answer of another form than expected
                if sign(shown.answer, shown.expected, *copy.deepcopy(shown.arguments)):
                    return text
        return ""


def _labelled(label: str, text: str) -> str:
    """A label and a text, the lines of which stand below each other."""
    return label + text.replace("\n", "\n" + " " * len(label))


# Values: made plain, compared, and written out.


def plain(value):
    """The value with tensors and arrays as nested lists, and iterators as lists."""
    if hasattr(value, "detach"):
        value = value.detach()
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return {plain(key): plain(one) for key, one in value.items()}
    if isinstance(value, Iterator) or type(value) in (list, tuple):
        return (tuple if type(value) is tuple else list)(map(plain, value))
    return value


def alike(answer, expected) -> bool:
    """Whether two plain values are equal: numbers up to rounding, lists and tuples alike."""
    if isinstance(expected, (list, tuple)):
        same = isinstance(answer, (list, tuple)) and len(answer) == len(expected)
        return same and all(map(alike, answer, expected))
    if isinstance(expected, Mapping):
        same = isinstance(answer, Mapping) and answer.keys() == expected.keys()
        return same and all(alike(answer[key], expected[key]) for key in expected)
    if isinstance(expected, (int, float)) and isinstance(answer, (int, float)):
        close = math.isclose(answer, expected, rel_tol=1e-4, abs_tol=1e-5)
        return close or (math.isnan(answer) and math.isnan(expected))
    return answer == expected


def shape(value) -> list[int]:
    """The lengths of nested lists, as far as they are regular."""
    if not isinstance(value, list):
        return []
    inner = [shape(one) for one in value]
    return [len(value), *(inner[0] if inner and all(one == inner[0] for one in inner) else [])]


def difference(answer, expected, place: str = "") -> str:
    """What tells two plain values apart, where a glance at both does not."""
    if isinstance(answer, list) and isinstance(expected, list):
        if shape(answer) != shape(expected):
            return f"shape {shape(answer)}, expected {shape(expected)}"
        for i, (mine, right) in enumerate(zip(answer, expected, strict=True)):
            if not alike(mine, right):
                if isinstance(mine, list) and shape(mine) == shape(right):
                    return difference(mine, right, f"{place}[{i}]")
                return f"at {place}[{i}]: {show(mine)}, expected {show(right)}"
        return DIFFERENT
    if type(answer) is not type(expected) and isinstance(expected, (set, dict)):
        return f"a value of type {type(answer).__name__}, expected {type(expected).__name__}"
    if not isinstance(expected, set):
        return DIFFERENT
    parts = {"missing": expected - answer, "too many": answer - expected}
    return "; ".join(f"{word}: {show(one)}" for word, one in parts.items() if one)


def show(value) -> str:
    """A value as text: numbers short, a row of a matrix to a line, nothing endless."""
    value = plain(value)
    if isinstance(value, list) and value and all(isinstance(row, (list, dict)) for row in value):
        text = "[" + ",\n ".join(map(_flat, value)) + "]"
    else:
        text = _flat(value)
    return text if len(text) <= LONGEST else text[:LONGEST] + " …"


def _flat(value) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_flat(k)}: {_flat(v)}" for k, v in value.items()) + "}"
    if not value or type(value) not in (list, tuple, set, frozenset):
        return value.__name__ if inspect.isfunction(value) else repr(value)
    parts = list(map(_flat, value))
    if isinstance(value, list):
        return "[" + ", ".join(parts) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(parts) + ("," if len(value) == 1 else "") + ")"
    return "{" + ", ".join(sorted(parts)) + "}"


def call_text(name: str, arguments: tuple) -> str:
    """A call as it would be written: in one line if it fits, else a line for each argument."""
    values = [show(one) for one in arguments]
    line = f"{name}({', '.join(values)})"
    if len(line) <= WIDEST and "\n" not in line:
        return line
    return "\n".join([f"{name}(", *(_labelled("    ", f"{text},") for text in values), ")"])


# Cases: small random arguments, short to write out.


def many(count: int, draw: Callable[[random.Random], tuple | None], *first: tuple) -> Callable:
    """The cases of an exercise: some that always come, then `count` drawn ones, None left out."""
    return lambda rng: [*first, *(case for _ in range(count) if (case := draw(rng)) is not None)]


def random_formula(
    rng: random.Random, size: int, unary: str = "!X", binary: str = "&U", names: str = "abc"
) -> str:
    """A formula in prefix notation with `size` tokens."""
    if size == 1:
        return rng.choice(names)
    if size == 2 or (unary and rng.random() < 0.4):
        return rng.choice(unary) + random_formula(rng, size - 1, unary, binary, names)
    left = rng.randint(1, size - 2)
    parts = (random_formula(rng, n, unary, binary, names) for n in (left, size - 1 - left))
    return rng.choice(binary) + "".join(parts)


def random_tensor(rng: random.Random, *shape: int):
    """Numbers from N(0, 1) with one decimal, float [*shape]; never 0, so that no row is."""
    import torch  # here, so that lessons without tensors start at once

    numbers = [round(rng.gauss(0, 1), 1) or 0.1 for _ in range(math.prod(shape))]
    return torch.tensor(numbers).reshape(shape)


def replaced(text: str, table: Mapping[str, str]) -> str:
    """The text with its letters renamed all at once; letters that the table lacks stay."""
    return "".join(table.get(token, token) for token in text)


def one_by_one(arrows: Iterable[tuple[str, str]], *texts: str) -> tuple[str, ...]:
    """A frequent mistake: letters renamed one after the other, so that new names change again."""
    for old, new in arrows:
        texts = tuple(text.replace(old, new) for text in texts)
    return texts
