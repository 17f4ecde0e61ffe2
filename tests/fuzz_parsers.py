"""Random and mutated text through every parser: only FormulaError may come out.

    python tests/fuzz_parsers.py [COUNT] [SEED]

COUNT strings (100,000 if not given) go through every parser in every form. What parses must print
and parse again to the same value; what does not must raise FormulaError with a position inside the
text. Prints how many strings each parser took and refused; stops at the first fault with the string
that caused it. The unit tests run a small part of this.
"""

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator

from logical import random_formula

from itekit.logic.assignments import parse_assignment
from itekit.logic.errors import FormulaError
from itekit.logic.formulas import Formula
from itekit.logic.infix import TOKENS, parse_infix, to_infix
from itekit.logic.infix_traces import parse_infix_trace, trace_to_infix
from itekit.logic.operators import LTL, PROPOSITIONAL, STEPS
from itekit.logic.prefix import parse_prefix, to_prefix
from itekit.logic.traces import Trace, parse_trace

NAMES = ("a", "b", "e", "x", "o", "r", "z", "aa", "p0", "xo", "a_1")
ODD = ["\n", "\t", "\0", " ", "é", "İ", "ſ", "𝐚", "١", "²", "\ud800", "\u2028", "A", "Z", "?", "{}"]
PIECES = [*TOKENS, *LTL.tokens, *NAMES, *";{}()01", "  ", "<->", "xor", "cycle{", *ODD]


def parsers() -> dict[str, tuple[Callable, Callable]]:
    """Name -> parser, and the printer that must undo it."""
    table = {
        "infix": (parse_infix, to_infix),
        "infix, propositional": (lambda text: parse_infix(text, PROPOSITIONAL), to_infix),
        "infix, Unicode": (parse_infix, lambda f: to_infix(f, unicode=True)),
        "trace, infix": (parse_infix_trace, trace_to_infix),
    }
    for form in ("characters", "spaced"):
        table |= {
            f"prefix, {form}": (
                lambda text, form=form: parse_prefix(text, format=form),
                lambda value, form=form: to_prefix(value, format=form),
            ),
            f"prefix, {form}, propositional": (
                lambda text, form=form: parse_prefix(
                    text, PROPOSITIONAL, format=form, propositions="abxor"
                ),
                lambda value, form=form: to_prefix(value, format=form),
            ),
            f"trace, {form}": (
                lambda text, form=form: parse_trace(text, format=form),
                lambda value, form=form: value.text(format=form),
            ),
            f"assignment, {form}": (
                lambda text, form=form: parse_assignment(text, format=form),
                lambda value, form=form: value.text(format=form),
            ),
        }
    return table


def valid_text(rng: random.Random) -> str:
    """Text that some parser takes."""
    names = rng.choice(["ab", "abxor", NAMES])
    kind = rng.randrange(8)
    if kind < 4:
        language = rng.choice([LTL, PROPOSITIONAL])
        formula = random_formula(rng, rng.randint(1, 20), language, names)
        if kind < 2:
            return to_infix(formula, unicode=kind == 1)
        tokens = formula.tokens()
    elif kind < 6:
        steps = [random_formula(rng, rng.randint(1, 5), STEPS, names) for _ in range(4)]
        turn = rng.randrange(4)
        trace = Trace(tuple(steps[:turn]), tuple(steps[turn:]))
        if rng.random() < 0.4:
            return trace_to_infix(trace)
        tokens = trace.tokens()
    else:
        chosen = rng.sample(list(names), rng.randint(0, len(names)))
        tokens = tuple(token for name in chosen for token in (name, rng.choice("01")))
    return rng.choice(["", " "]).join(tokens)


def mutated(rng: random.Random, text: str) -> str:
    """The text with one to four small faults."""
    for _ in range(rng.randint(1, 4)):
        start = rng.randint(0, len(text))
        end = min(len(text), start + rng.choice([0, 0, 1, 1, 2, 5]))
        piece = rng.choice(["", rng.choice(PIECES), rng.choice(PIECES), text[start:end] * 2])
        text = text[:start] + piece + text[end:]
    return text


def random_text(rng: random.Random) -> str:
    """Pieces of syntax or any characters, sometimes many of one."""
    kind = rng.randrange(8)
    if kind == 0:
        return "".join(chr(rng.randrange(0x250)) for _ in range(rng.randint(0, 12)))
    if kind == 1:
        return rng.choice(PIECES) * rng.choice([50, 199, 200, 201, 400]) + rng.choice(["", "a"])
    gap = rng.choice(["", " "])
    return gap.join(rng.choice(PIECES) for _ in range(rng.randint(0, 15)))


def strings(count: int, seed: int) -> Iterator[str]:
    """Valid, mutated and random text."""
    rng = random.Random(seed)
    for number in range(count):
        kind = number % 5
        if kind < 2:
            yield valid_text(rng)
        elif kind < 4:
            yield mutated(rng, valid_text(rng))
        else:
            yield random_text(rng)


def judge(text: str, parse: Callable, show: Callable) -> bool:
    """Whether the parser takes the text.

    Raises:
        AssertionError: anything but a value that survives printing, or a sound FormulaError.
    """
    try:
        value = parse(text)
    except FormulaError as error:
        assert 0 <= error.position <= len(text), (text, error.position)
        assert error.text == text and error.found and error.expected, text
        assert "\n" not in str(error) and len(str(error)) < 1000, text
        return False
    except Exception as error:
        raise AssertionError(f"{text!r}: {type(error).__name__}: {error}") from error
    assert type(value) is not Formula or value.size <= len(text), text
    assert parse(show(value)) == value, (text, value)
    return True


def fuzz(count: int, seed: int) -> dict[str, Counter]:
    """Parser -> how many strings it took and refused.

    Raises:
        AssertionError: at the first fault.
    """
    table = parsers()
    counts = {name: Counter() for name in table}
    for text in strings(count, seed):
        for name, (parse, show) in table.items():
            counts[name]["taken" if judge(text, parse, show) else "refused"] += 1
    return counts


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    count, seed = given + [100_000, 0][len(given) :]
    for name, result in fuzz(count, seed).items():
        print(f"{name:36} {result['taken']:8} taken {result['refused']:8} refused")
