"""Formulas of linear temporal and propositional logic, and the prefix text that the models read.

Paper, appendices "Temporal logic overview" and "Propositional Logic". A formula is an immutable
tree: an operator and its operands. In prefix (Polish) notation operators precede their operands
(`U a b` is a until b), so that no parentheses are needed, and a formula *is* its sequence of prefix
tokens.

As text, each token is one character (`Uab`, as in the files of DeepLTL); text with a blank in it is
read as tokens separated by blanks, for names longer than a letter (`U request answer`). Depth and
size are limited, so that no text can exhaust the stack or the memory.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

Text = str | Sequence[str]  # prefix text, or its tokens
Names = Collection[str] | None  # the names that atomic propositions may have; any if None
PROPOSITION = "AP"  # the operator of a formula that is an atomic proposition
MAX_DEPTH = 200  # operators from the root to a leaf
MAX_SIZE = 100_000  # tokens in a formula
LIMITS = f"at most {MAX_SIZE} tokens, and at most {MAX_DEPTH} operators inside each other"
ALIASES = {"<->": "=", "->": ">", "xor": "^"}  # spellings of DeepLTL's files, and their tokens

_NAME = re.compile(
    "(?!(?:true|false|xor)$)[a-z\u4e00-\u9fff][a-z0-9_]*"
)  # see vocabulary.IDEOGRAPHS
NAME = "a small letter, then small letters, digits or _ (not true, false or xor)"
_WORD = re.compile(r"\S+")
_ALIAS = re.compile("|".join(ALIASES))


@dataclass(frozen=True)
class Operator:
    """One operator or constant."""

    token: str  # its spelling in prefix text
    arity: int  # 0 for a constant, 1 or 2
    name: str
    infix: str  # its spelling in infix text (ASCII, as Spot reads it)
    symbol: str  # and for people, with Unicode
    also: str = ""  # other spellings that are read
    binding: int = 0  # of binary operators the higher binds tighter; unary ones bind tightest
    right: bool = False  # whether `a op b op c` is `a op (b op c)`
    core: bool = True  # whether it is in the paper's vocabulary


@dataclass(frozen=True)
class Language:
    """A logic: its operators; everything else in a formula is a proposition."""

    operators: tuple[Operator, ...]

    @cached_property
    def by_token(self) -> dict[str, Operator]:
        """Prefix token -> operator."""
        return {operator.token: operator for operator in self.operators}


_OPERATORS = [  # binding and associativity are Spot's
    Operator("1", 0, "true", "1", "⊤", "true"),
    Operator("0", 0, "false", "0", "⊥", "false"),
    Operator("!", 1, "not", "!", "¬", "~"),
    Operator("&", 2, "and", "&", "∧", "&& /\\", 4),
    Operator("X", 1, "next", "X", "X", "○"),
    Operator("U", 2, "until", "U", "U", "", 5, True),
    Operator("|", 2, "or", "|", "∨", "|| \\/", 2),
    Operator(">", 2, "implies", "->", "→", "=> --> ⇒", 1, True),
    Operator("=", 2, "equivalent", "<->", "↔", "<=> <--> ⇔", 1, True),
    Operator("^", 2, "exclusive or", "^", "⊕", "xor", 3),
    Operator("F", 1, "eventually", "F", "F", "<> ◇"),
    Operator("G", 1, "always", "G", "G", "[] □"),
    Operator("R", 2, "release", "R", "R", "V", 5, True),
    Operator("W", 2, "weak until", "W", "W", "", 5, True),
    Operator("M", 2, "strong release", "M", "M", "", 5, True),
]


def _language(tokens: str, core: str) -> Language:
    chosen = [operator for operator in _OPERATORS if operator.token in tokens]
    return Language(tuple(replace(operator, core=operator.token in core) for operator in chosen))


LTL = _language("10!&XU|>=^FGRWM", "10!&XU")
PROPOSITIONAL = _language("10!&|=^", "10!&|=^")
STEPS = _language("10!&|>=^", "10!&")  # what a step of a trace may be: no temporal operators
LANGUAGES = {"ltl": LTL, "propositional": PROPOSITIONAL}  # of the two tasks
ARITY = {operator.token: operator.arity for operator in LTL.operators}  # of both logics
_CHANGE = {token: arity - 1 for token, arity in ARITY.items()}  # in the number of missing formulas


def fold(tokens: Sequence[str], combine: Callable) -> Any:
    """Apply `combine(token, *operands)` to a formula's tokens, from the leaves up."""
    stack: list = []
    push, pop, arity = stack.append, stack.pop, ARITY.get
    for token in reversed(tokens):
        count = arity(token, 0)
        if count == 2:
            push(combine(token, pop(), pop()))
        else:
            push(combine(token, pop()) if count else combine(token))
    return pop()


@lru_cache(maxsize=4096)
def is_name(text: str) -> bool:
    """Whether the text is a valid name of an atomic proposition (`NAME`)."""
    return _NAME.fullmatch(text) is not None


class FormulaError(ValueError):
    """Text that is no formula, trace or assignment: what was found and expected at a position."""

    def __init__(self, text: str, position: int, actual: str, expected: str):
        super().__init__(text, position, actual, expected)
        self.text, self.position, self.found, self.expected = self.args
        self._start = max(0, position - 30)
        self._shown = text[self._start : self._start + 60]

    def __str__(self) -> str:
        where = f"{self._shown!r}, position {self.position}"
        return f"{where}: found {self.found}, expected {self.expected}"

    @property
    def picture(self) -> str:
        """The text around the position, with a caret under it on a second line."""
        printable = "".join(c if c.isprintable() else "·" for c in self._shown)
        return f"{printable}\n{' ' * (self.position - self._start)}^"


def quoted(token: str) -> str:
    """The token in quotes, shortened if it is long; `the end` if it is empty."""
    return repr(token if len(token) <= 30 else token[:30] + "…") if token else "the end"


@dataclass(frozen=True, slots=True, repr=False)
class Formula:
    """A formula of either logic; ValueError for wrong operands, a bad name, or one too large.

    Attributes:
        operator: a prefix token, or PROPOSITION.
        operands: as many formulas as the operator takes.
        name: an atomic proposition's name (`NAME`); empty for everything else.
        size: the number of tokens: operators, constants and atomic propositions.
        depth: the number of operators on the longest path from the root to a leaf.
    """

    operator: str
    operands: tuple["Formula", ...] = ()
    name: str = ""
    size: int = field(init=False, compare=False)
    depth: int = field(init=False, compare=False)

    def __post_init__(self):
        operands = tuple(self.operands)
        is_proposition = self.operator == PROPOSITION
        arity = 0 if is_proposition else ARITY.get(self.operator)
        if len(operands) != arity or not all(isinstance(f, Formula) for f in operands):
            takes = f"takes {arity} formulas" if arity is not None else "is no operator"
            raise ValueError(f"{self.operator!r} {takes}, found {operands!r}")
        if is_proposition != bool(self.name) or (is_proposition and not is_name(self.name)):
            raise ValueError(f"{self.name!r} is no name of an atomic proposition: {NAME}")
        size = 1 + sum(f.size for f in operands)
        depth = max((f.depth + 1 for f in operands), default=0)
        if depth > MAX_DEPTH or size > MAX_SIZE:
            raise ValueError(f"a formula of {size} tokens and depth {depth}: {LIMITS}")
        object.__setattr__(self, "operands", operands)
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "depth", depth)

    def nodes(self) -> Iterator["Formula"]:
        """Every node of the tree in prefix order: the formula first, repeated ones each time."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(node.operands[::-1])

    def tokens(self) -> tuple[str, ...]:
        """The formula's prefix tokens."""
        return tuple([node.name or node.operator for node in self.nodes()])

    @property
    def propositions(self) -> tuple[str, ...]:
        """The names of the atomic propositions, once each, by first appearance in prefix order."""
        return tuple(dict.fromkeys(node.name for node in self.nodes() if node.name))

    def subformulas(self) -> tuple["Formula", ...]:
        """Every different subformula once, the smallest first, the formula itself last."""
        return tuple(sorted(dict.fromkeys(self.nodes()), key=lambda formula: formula.size))

    def tree_paths(self) -> list[tuple[int, ...]]:
        """For each token the branches from the root, 0 the left or only one: its tree position."""
        paths: list[tuple[int, ...]] = []
        waiting: list[tuple[int, ...]] = [()]
        for node in self.nodes():
            paths.append(path := waiting.pop())
            waiting.extend((*path, branch) for branch in reversed(range(len(node.operands))))
        return paths

    def rename(self, renaming) -> "Formula":
        """The formula renamed by an `itekit.alpha.Renaming`; ValueError for what is no name."""
        new = {name: renaming.mapping.get(name, name) for name in self.propositions}
        for name in new.values():
            proposition(name)
        return from_tokens([new.get(token, token) for token in self.tokens()])

    def core(self) -> "Formula":
        """The same with true, false, AP, not, and, next, until; ValueError if it is too large."""
        return fold(self.tokens(), lambda t, *f: _CORE[t](*f) if t in _CORE else _node(t, *f))

    def __str__(self) -> str:
        return " ".join(self.tokens())

    def __repr__(self) -> str:
        return f"<Formula {self}>"

    def __invert__(self) -> "Formula":
        return Formula("!", (self,))

    def __and__(self, other: "Formula") -> "Formula":
        return Formula("&", (self, other))


@lru_cache(maxsize=4096)
def proposition(name: str) -> Formula:
    """The formula that is one atomic proposition; ValueError if `name` is none (`NAME`)."""
    return Formula(PROPOSITION, (), name)


_CORE = {
    "|": lambda f, g: ~(~f & ~g),
    ">": lambda f, g: ~(f & ~g),
    "=": lambda f, g: ~(f & ~g) & ~(~f & g),
    "^": lambda f, g: ~(f & g) & ~(~f & ~g),
    "F": lambda f: Formula("U", (Formula("1"), f)),
    "G": lambda f: ~Formula("U", (Formula("1"), ~f)),
    "R": lambda f, g: ~Formula("U", (~f, ~g)),
    "W": lambda f, g: ~Formula("U", (~g, ~f & ~g)),
    "M": lambda f, g: Formula("U", (g, f & g)),
}


def from_tokens(tokens: Sequence[str]) -> Formula:
    """The formula of prefix tokens that are known to be one; `parse_prefix` checks them."""
    return fold(tokens, _node)


def _node(token: str, *operands: Formula) -> Formula:
    return Formula(token, operands) if token in ARITY else proposition(token)


def parse_prefix(text: Text, language: Language = LTL, *, propositions: Names = None) -> Formula:
    """The formula that prefix text stands for (FormulaError as `read_tokens`)."""
    return from_tokens(read_tokens(text, language, propositions))


def to_prefix(formula: Formula) -> str:
    """The formula's prefix text."""
    return join(formula.tokens())


def split(text: Text) -> Sequence[str]:
    """The tokens of prefix text."""
    return text.split() if isinstance(text, str) and " " in text else text


def join(tokens: Text) -> str:
    """Prefix text of tokens: without blanks if each is one character, else with blanks."""
    text = "".join(tokens)
    if len(text) == len(tokens):
        return text
    return " ".join(tokens) if len(tokens) > 1 else f"{text} "  # the blank: this is one token


def positions(text: str, start: int, stop: int) -> list[tuple[str, int]]:
    """Each token of a part of a prefix text, with its position in the text."""
    if " " in text:
        return [(word[0], word.start()) for word in _WORD.finditer(text, start, stop)]
    return list(zip(text[start:stop], range(start, stop), strict=True))


def read_tokens(text: Text, language: Language, propositions: Names = None) -> Sequence[str]:
    """The prefix tokens of one formula, checked (FormulaError); no tree is built.

    ALIASES are read only if the text is no formula without them: `xorab` is `^ab`, and `&&xor` a
    conjunction of x, o and r.
    """
    tokens = split(text)
    if is_formula(tokens, language, propositions):
        return tokens
    text = join(text)
    respelled = split(_ALIAS.sub(lambda match: ALIASES[match[0]], text))
    if is_formula(respelled, language, propositions):
        return respelled
    raise fault(text, 0, len(text), language, propositions)


def is_formula(tokens: Sequence[str], language: Language, propositions: Names) -> bool:
    """Whether tokens are exactly one formula of the language, neither too large nor too deep."""
    missing = 1
    change = _CHANGE.get
    for token in tokens:
        if not missing:
            return False
        missing += change(token, -1)
    if missing or len(tokens) > MAX_SIZE:
        return False
    if len(tokens) > MAX_DEPTH and fold(tokens, lambda _, *d: 1 + max(d, default=-1)) > MAX_DEPTH:
        return False
    names = set(tokens).difference(language.by_token)
    return all(map(is_name, names)) if propositions is None else names.issubset(propositions)


def fault(
    text: str, start: int, stop: int, language: Language, propositions: Names
) -> FormulaError:
    """The first error, from left to right, in a part of a text that is not a formula."""
    operators = [""]  # for each missing formula, the operator that needs it
    for token, position in positions(text, start, stop):
        if not operators:
            return FormulaError(text, position, quoted(token), "the end: the formula is complete")
        operand = operators.pop()
        is_known = is_name(token) if propositions is None else token in propositions
        if token not in language.by_token and not is_known:
            names = "a small letter" if propositions is None else f"one of {' '.join(propositions)}"
            kinds = f"an operator ({' '.join(language.by_token)}) or a proposition ({names})"
            return FormulaError(text, position, quoted(token), f"a formula{operand}: {kinds}")
        operators += [f" for {token!r} at position {position}"] * ARITY.get(token, 0)
    if operators:
        return FormulaError(text, stop, quoted(text[stop : stop + 1]), f"a formula{operators[-1]}")
    return FormulaError(text, start, "a larger formula", LIMITS)
