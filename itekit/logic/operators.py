"""The operators of the two logics: one table that parsers, printers and evaluators share.

Paper, appendices "Temporal logic overview" and "Propositional Logic". A token is what stands in
prefix text (`U a b` is a until b), and every token of both logics is one character, as in the files
of DeepLTL. The paper's vocabulary holds the *core* operators only; LTL's derived ones are read
because people type them, and `Formula.core` rewrites them.

DeepLTL's propositional files spell equivalence `<->` and exclusive or `xor`; the paper's own
vocabulary has `=` and `^`. Here `=` and `^` are the tokens, and `ALIASES` are read as well.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product
from string import ascii_lowercase

ALIASES = {"<->": "=", "->": ">", "xor": "^"}
"""Spellings of DeepLTL's files, and the tokens that they stand for."""

NAME_RULE = "expected a small letter, then small letters, digits or _, and not true, false or xor"
_NAME = re.compile("(?!(?:true|false|xor)$)[a-z][a-z0-9_]*")  # the three mean something in infix


@dataclass(frozen=True)
class Operator:
    """One operator or constant.

    Attributes:
        token: its spelling in prefix text.
        arity: 0 for a constant, 1 or 2.
        name: what it is called.
        infix: its spelling in infix text (ASCII, as Spot reads it).
        symbol: its spelling in infix text for people, with Unicode.
        binding: a binary operator with a higher number binds tighter; unary ones bind tightest.
        right: whether `a op b op c` is `a op (b op c)`.
        core: whether it is in the paper's vocabulary.
        temporal: whether it looks past the current step.
    """

    token: str
    arity: int
    name: str
    infix: str
    symbol: str
    binding: int = 0
    right: bool = False
    core: bool = True
    temporal: bool = False


@dataclass(frozen=True)
class Language:
    """A logic: its name and its operators; everything else in a formula is a proposition."""

    name: str
    operators: tuple[Operator, ...]

    @cached_property
    def by_token(self) -> dict[str, Operator]:
        """Prefix token -> operator."""
        return {operator.token: operator for operator in self.operators}

    @property
    def tokens(self) -> tuple[str, ...]:
        """The prefix tokens of all operators."""
        return tuple(self.by_token)

    @cached_property
    def foreign(self) -> frozenset[str]:
        """Prefix tokens of operators that this language lacks."""
        return frozenset(LTL.tokens) - self.by_token.keys()


def _operators(*, derived: str) -> dict[str, Operator]:
    """Every operator by its token; those in `derived` are not core. Binding is Spot's."""
    table = [
        ("1", 0, "true", "1", "⊤"),
        ("0", 0, "false", "0", "⊥"),
        ("!", 1, "not", "!", "¬"),
        ("&", 2, "and", "&", "∧", 4),
        ("|", 2, "or", "|", "∨", 2),
        ("=", 2, "equivalent", "<->", "↔", 1, True),
        ("^", 2, "exclusive or", "^", "⊕", 3),
        (">", 2, "implies", "->", "→", 1, True),
        ("X", 1, "next", "X", "X"),
        ("F", 1, "eventually", "F", "F"),
        ("G", 1, "always", "G", "G"),
        ("U", 2, "until", "U", "U", 5, True),
        ("R", 2, "release", "R", "R", 5, True),
        ("W", 2, "weak until", "W", "W", 5, True),
        ("M", 2, "strong release", "M", "M", 5, True),
    ]
    return {
        row[0]: Operator(*row, core=row[0] not in derived, temporal=row[0] in "XFGURWM")
        for row in table
    }


def _language(name: str, tokens: str, derived: str = "") -> Language:
    operators = _operators(derived=derived)
    return Language(name, tuple(operators[token] for token in tokens))


LTL = _language("linear temporal logic", "10!&XU|>=^FGRWM", derived="|>=^FGRWM")
PROPOSITIONAL = _language("propositional logic", "10!&|=^")
STEPS = _language("the steps of a trace", "10!&|>=^", derived="|>=^")
"""LTL without its temporal operators: what a step of a trace may be."""

LARGEST_COUNT = 26 + 26 * 26


def is_name(text: str) -> bool:
    """Whether an atomic proposition can be called so: NAME_RULE."""
    return _NAME.fullmatch(text) is not None


def proposition_names(count: int) -> tuple[str, ...]:
    """The first `count` names of atomic propositions: a, b, ..., z, aa, ab, ..., zz.

    Raises:
        ValueError: a negative count, or more than 702.
    """
    if not 0 <= count <= LARGEST_COUNT:
        raise ValueError(f"there are 0 to {LARGEST_COUNT} names, {count} were asked for")
    pairs = ("".join(letters) for letters in product(ascii_lowercase, repeat=2))
    return tuple(ascii_lowercase[:count]) + tuple(islice(pairs, max(0, count - 26)))
