"""Formulas of linear temporal and propositional logic, and the prefix text that the models read.

Paper, appendices "Temporal logic overview" and "Propositional Logic". A formula is an immutable
tree: an operator and its operands. In prefix (Polish) notation operators precede their operands
(`U a b` is a until b), so that no parentheses are needed, and a formula *is* its sequence of prefix
tokens: equality, hashing and renaming work on that.

As text, each token is one character (`Uab`, as in the files of DeepLTL); text with a blank in it is
read as tokens separated by blanks, for names longer than a letter (`U request answer`).

The paper's vocabulary holds the *core* operators only; LTL's derived ones are read because people
type them, and `Formula.core` rewrites them. No function here recurses, and depth and size are
limited, so that nothing a person or a model writes can exhaust the stack or the memory.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from string import ascii_lowercase

PROPOSITION = "AP"
"""The operator of a formula that is an atomic proposition."""

MAX_DEPTH = 200
"""The most operators on a path from the root to a leaf."""

MAX_SIZE = 100_000
"""The most tokens in a formula."""

ALIASES = {"<->": "=", "->": ">", "xor": "^"}
"""Spellings of DeepLTL's files, and the tokens that they stand for."""

_NAME = re.compile("(?!(?:true|false|xor)$)[a-z][a-z0-9_]*")  # the three mean something in infix
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
    def one_character(self) -> frozenset[str]:
        """The prefix tokens of all operators, and the names of one letter."""
        return frozenset([*self.by_token, *ascii_lowercase])


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


def _language(name: str, tokens: str, core: str) -> Language:
    table = {operator.token: operator for operator in _OPERATORS}
    return Language(name, tuple(replace(table[token], core=token in core) for token in tokens))


LTL = _language("linear temporal logic", "10!&XU|>=^FGRWM", "10!&XU")
PROPOSITIONAL = _language("propositional logic", "10!&|=^", "10!&|=^")
STEPS = _language("the steps of a trace", "10!&|>=^", "10!&")
"""LTL without its temporal operators: what a step of a trace may be."""

LANGUAGES = {"ltl": LTL, "propositional": PROPOSITIONAL}
"""The languages of the two tasks."""

ARITY = {operator.token: operator.arity for operator in LTL.operators}
"""The number of operands of every operator of both logics."""

_CHANGE = {token: arity - 1 for token, arity in ARITY.items()}


@lru_cache(maxsize=4096)
def is_name(text: str) -> bool:
    """Whether an atomic proposition can be called so.

    A small letter, then small letters, digits or _; and not true, false or xor.
    """
    return _NAME.fullmatch(text) is not None


class FormulaError(ValueError):
    """Text that is no formula, trace or assignment.

    Attributes:
        text: the whole text; for a sequence of tokens, the tokens joined.
        position: where in it, from 0.
        found: what stands there.
        expected: what should.
    """

    SHOWN = 60  # the most characters of the text that a message shows

    def __init__(self, text: str, position: int, found: str, expected: str):
        self.text, self.position, self.found, self.expected = text, position, found, expected
        super().__init__(text, position, found, expected)

    def __str__(self) -> str:
        shown, _ = self._window()
        return f"{shown!r}, position {self.position}: found {self.found}, expected {self.expected}"

    @property
    def picture(self) -> str:
        """The text, shortened around the position, with a caret under it on a second line."""
        shown, place = self._window()
        printable = "".join(c if c.isprintable() else "·" for c in shown)
        return f"{printable}\n{' ' * place}^"

    def _window(self) -> tuple[str, int]:
        """At most SHOWN characters around the position, and the position among them."""
        start = max(0, min(self.position - self.SHOWN // 2, len(self.text) - self.SHOWN))
        before, after = "…" * (start > 0), "…" * (start + self.SHOWN < len(self.text))
        shown = before + self.text[start : start + self.SHOWN] + after
        return shown, self.position - start + len(before)


def quoted(token: str) -> str:
    """The token in quotes, shortened if it is long."""
    return repr(token if len(token) <= 30 else token[:30] + "…")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Formula:
    """A formula of either logic.

    Attributes:
        operator: a prefix token, or PROPOSITION.
        operands: as many formulas as the operator takes.
        name: an atomic proposition's name (`is_name`); empty for everything else.
        size: the number of tokens: operators, constants and atomic propositions.
        depth: the number of operators on the longest path from the root to a leaf.

    Raises:
        ValueError: an unknown operator, a wrong number of operands, a bad name, or a formula
            deeper than MAX_DEPTH or larger than MAX_SIZE.
    """

    operator: str
    operands: tuple["Formula", ...] = ()
    name: str = ""
    size: int = field(init=False)
    depth: int = field(init=False)

    def __post_init__(self):
        operands, is_proposition = tuple(self.operands), self.operator == PROPOSITION
        arity = 0 if is_proposition else ARITY.get(self.operator)
        if arity is None:
            raise ValueError(f"unknown operator {self.operator!r}: expected {' '.join(ARITY)}")
        if len(operands) != arity:
            raise ValueError(f"{self.operator!r} takes {arity} operands, found {len(operands)}")
        if is_proposition != bool(self.name) or (self.name and not is_name(self.name)):
            rule = "a small letter, then small letters, digits or _ (not true, false or xor)"
            raise ValueError(f"{self.name!r} is no name of an atomic proposition: {rule}")
        size, depth = 1, 0
        for operand in operands:
            if not isinstance(operand, Formula):
                raise ValueError(f"an operand must be a Formula, found {operand!r}")
            size, depth = size + operand.size, max(depth, operand.depth + 1)
        if depth > MAX_DEPTH:
            raise ValueError(f"the formula is deeper than {MAX_DEPTH} operators")
        if size > MAX_SIZE:
            raise ValueError(f"the formula has {size} tokens, at most {MAX_SIZE} are allowed")
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
        """For each token in prefix order, the branches taken from the root: 0 the left or only one.

        Paper, section "Experiments": what tree positions encode.
        """
        paths: list[tuple[int, ...]] = []
        waiting: list[tuple[int, ...]] = [()]
        for node in self.nodes():
            paths.append(path := waiting.pop())
            waiting.extend((*path, branch) for branch in reversed(range(len(node.operands))))
        return paths

    def rename(self, renaming) -> "Formula":
        """The formula with its atomic propositions renamed by an `itekit.alpha.Renaming`.

        ValueError if a new name is no name of an atomic proposition.
        """
        new = {name: renaming.mapping.get(name, name) for name in self.propositions}
        for name in new.values():
            proposition(name)
        return from_tokens([new.get(token, token) for token in self.tokens()])

    def core(self) -> "Formula":
        """The same meaning in true, false, AP, not, and, next, until (paper, equation "ltl").

        ValueError if the result is too deep or too large: an equivalence or an exclusive or repeats
        both of its operands.
        """
        stack: list[Formula] = []
        for node in reversed(list(self.nodes())):
            operands = [stack.pop() for _ in node.operands]
            rewrite = _CORE.get(node.operator)
            again = rewrite(*operands) if rewrite else Formula(node.operator, operands, node.name)
            stack.append(again)
        return stack.pop()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Formula):
            return NotImplemented
        return self is other or (self.size == other.size and self.tokens() == other.tokens())

    def __hash__(self) -> int:
        return hash(self.tokens())

    def __str__(self) -> str:
        return " ".join(self.tokens())

    def __repr__(self) -> str:
        return f"<Formula {self}>"

    def __reduce__(self) -> tuple:  # flat, so that a deep formula can be copied
        return from_tokens, (self.tokens(),)

    def __invert__(self) -> "Formula":
        return Formula("!", (self,))

    def __and__(self, other: "Formula") -> "Formula":
        return Formula("&", (self, other))

    def __or__(self, other: "Formula") -> "Formula":
        return Formula("|", (self, other))


@lru_cache(maxsize=4096)
def proposition(name: str) -> Formula:
    """The formula that is one atomic proposition; ValueError if `name` is no name (`is_name`)."""
    return Formula(PROPOSITION, (), name)


def _until(f: Formula, g: Formula) -> Formula:
    return Formula("U", (f, g))


_CORE = {
    "|": lambda f, g: ~(~f & ~g),
    ">": lambda f, g: ~(f & ~g),
    "=": lambda f, g: ~(f & ~g) & ~(~f & g),
    "^": lambda f, g: ~(f & g) & ~(~f & ~g),
    "F": lambda f: _until(Formula("1"), f),
    "G": lambda f: ~_until(Formula("1"), ~f),
    "R": lambda f, g: ~_until(~f, ~g),
    "W": lambda f, g: ~_until(~g, ~f & ~g),
    "M": lambda f, g: _until(g, f & g),
}


def from_tokens(tokens: Sequence[str]) -> Formula:
    """The formula of prefix tokens that are known to be one; `parse_prefix` checks them."""
    stack: list[Formula] = []
    for token in reversed(tokens):
        if token in ARITY:
            stack.append(Formula(token, [stack.pop() for _ in range(ARITY[token])]))
        else:
            stack.append(proposition(token))
    return stack.pop()


def parse_prefix(
    text: str | Sequence[str],
    language: Language = LTL,
    *,
    propositions: Collection[str] | None = None,
) -> Formula:
    """The formula that prefix text, or a sequence of tokens, stands for (see `read_tokens`)."""
    return from_tokens(read_tokens(text, language, propositions=propositions))


def to_prefix(formula: Formula) -> str:
    """The formula's prefix text."""
    return join(formula.tokens())


def split(text: str | Sequence[str]) -> Sequence[str]:
    """The tokens of prefix text; a sequence of tokens as it is."""
    return text.split() if isinstance(text, str) and " " in text else text


def join(tokens: Sequence[str]) -> str:
    """Tokens as text: one character each, or with blanks if one of them is longer."""
    text = "".join(tokens)
    if len(text) == len(tokens):
        return text
    return " ".join(tokens) if len(tokens) > 1 else f"{text} "  # the blank: this is one token


def positions(text: str, start: int, stop: int) -> list[tuple[str, int]]:
    """Each token of a part of a prefix text, with its position in the text."""
    if " " in text:
        return [(word[0], word.start()) for word in _WORD.finditer(text, start, stop)]
    return list(zip(text[start:stop], range(start, stop), strict=True))


def read_tokens(
    text: str | Sequence[str],
    language: Language = LTL,
    *,
    propositions: Collection[str] | None = None,
) -> Sequence[str]:
    """The prefix tokens of one formula, checked; no tree is built.

    The spellings of DeepLTL's files (`<->`, `->`, `xor`) are read as `=`, `>` and `^` where the
    text is no formula otherwise: `&&xor` is a conjunction of x, o and r, `xorab` is `^ab`.
    `propositions` are the names that atomic propositions may have; any if None.

    Raises:
        FormulaError: not exactly one formula of the language, or one too deep or too large.
    """
    tokens = split(text)
    if is_formula(tokens, language, propositions):
        return tokens
    text = text if isinstance(text, str) else join([str(token) for token in text])
    respelled = split(_ALIAS.sub(lambda match: ALIASES[match[0]], text))
    if is_formula(respelled, language, propositions):
        return respelled
    return explain(text, 0, len(text), language, propositions)


def is_formula(
    tokens: Sequence[str], language: Language, propositions: Collection[str] | None = None
) -> bool:
    """Whether tokens are exactly one formula of the language, neither too large nor too deep."""
    missing, change = 1, _CHANGE.get
    for token in tokens:
        if not missing:
            return False
        missing += change(token, -1)
    if missing or (len(tokens) > MAX_DEPTH and not _fits(tokens)):
        return False
    if propositions is None and language.one_character.issuperset(tokens):
        return True
    names = set(tokens).difference(language.by_token)
    return all(map(is_name, names)) if propositions is None else names.issubset(propositions)


def _fits(tokens: Sequence[str]) -> bool:
    """Whether a formula's tokens are neither too many nor too deep."""
    if len(tokens) > MAX_SIZE:
        return False
    depths: list[int] = []
    for token in reversed(tokens):
        operands = [depths.pop() for _ in range(ARITY.get(token, 0))]
        depths.append(max(operands, default=-1) + 1)
    return depths[0] <= MAX_DEPTH


def explain(
    text: str, start: int, stop: int, language: Language, propositions: Collection[str] | None
) -> list[str]:
    """The tokens of a part of a text, read from left to right to say what is wrong with them.

    Raises:
        FormulaError: the part is not exactly one formula; the position is one in the whole text.
    """
    end = "the end" if stop == len(text) else quoted(text[stop])
    pending: list[list] = []  # operator, its position, the number of its operand that comes next
    complete = False

    def place() -> str:
        if not pending:
            return ""
        token, position, number = pending[-1]
        which = "the" if ARITY[token] == 1 else ("the first", "the second")[number - 1]
        return f" ({which} operand of {token!r} at position {position})"

    tokens = positions(text, start, stop)
    for count, (token, position) in enumerate(tokens, 1):
        if complete:
            before = text[start:position].strip()
            whole = repr(before) if len(before) < 30 else "what stands before it"
            raise FormulaError(
                text, position, quoted(token), f"{end}, as {whole} is a whole formula"
            )
        if token not in language.by_token and (
            not is_name(token) or (propositions is not None and token not in propositions)
        ):
            foreign = (
                token in ARITY and f" ({LTL.by_token[token].name}, no operator of {language.name})"
            )
            names = "a small letter" if propositions is None else f"one of {' '.join(propositions)}"
            operators = f"an operator ({' '.join(language.tokens)})"
            expected = f"a formula{place()}: {operators} or an atomic proposition ({names})"
            raise FormulaError(text, position, quoted(token) + (foreign or ""), expected)
        if count > MAX_SIZE:
            raise FormulaError(text, position, quoted(token), f"at most {MAX_SIZE} tokens")
        if ARITY.get(token):
            if len(pending) == MAX_DEPTH:
                expected = f"at most {MAX_DEPTH} operators inside each other"
                raise FormulaError(text, position, quoted(token), expected)
            pending.append([token, position, 1])
            continue
        while pending and pending[-1][2] == ARITY[pending[-1][0]]:
            pending.pop()
        if pending:
            pending[-1][2] += 1
        complete = not pending
    if not complete:
        raise FormulaError(text, stop, end, f"a formula{place()}")
    return [token for token, _ in tokens]
