"""Formulas as immutable trees.

Paper, appendices "Temporal logic overview" and "Propositional Logic": true, atomic propositions
(APs), not, and, next, until; for propositional logic true, APs, not, and, or, equivalence,
exclusive or. A formula is its operator's prefix token and its operands; `itekit.logic.prefix` and
`itekit.logic.infix` read and print them.

Prefix notation needs no parentheses, so a formula *is* its sequence of prefix tokens: equality,
hashing and renaming work on that. No function here recurses, and depth and size are limited, so
that nothing a person or a model writes can exhaust the stack or the memory.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from string import ascii_lowercase

from itekit.logic.operators import LTL, NAME_RULE, is_name

PROPOSITION = "AP"
"""The operator of a formula that is an atomic proposition."""

MAX_DEPTH = 200
"""The most operators on a path from the root to a leaf."""

MAX_SIZE = 100_000
"""The most tokens in a formula."""

ARITY = {operator.token: operator.arity for operator in LTL.operators}
"""The number of operands of every operator of both logics."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Formula:
    """A formula of either logic.

    Attributes:
        operator: a prefix token, or PROPOSITION.
        operands: as many formulas as the operator takes.
        name: an atomic proposition's name, a small letter and then small letters, digits or _;
            empty for everything else.
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
        operands = tuple(self.operands)
        arity = 0 if self.operator == PROPOSITION else ARITY.get(self.operator)
        if arity is None:
            raise ValueError(f"unknown operator {self.operator!r}: expected {' '.join(ARITY)}")
        if len(operands) != arity:
            raise ValueError(f"{self.operator!r} takes {arity} operands, found {len(operands)}")
        for operand in operands:
            if not isinstance(operand, Formula):
                raise ValueError(f"an operand must be a Formula, found {operand!r}")
        if (self.operator == PROPOSITION) != bool(self.name):
            raise ValueError(f"operator {self.operator!r} does not go with name {self.name!r}")
        if self.name and not is_name(self.name):
            raise ValueError(f"{self.name!r} is no name of an atomic proposition: {NAME_RULE}")
        size = 1 + sum(operand.size for operand in operands)
        depth = max((operand.depth + 1 for operand in operands), default=0)
        if depth > MAX_DEPTH:
            raise ValueError(f"the formula is deeper than {MAX_DEPTH} operators")
        if size > MAX_SIZE:
            raise ValueError(f"the formula has {size} tokens, at most {MAX_SIZE} are allowed")
        for attribute, value in ("operands", operands), ("size", size), ("depth", depth):
            object.__setattr__(self, attribute, value)

    def tokens(self) -> tuple[str, ...]:
        """The formula's prefix tokens."""
        tokens, stack = [], [self]
        while stack:  # as in `nodes`, without the cost of a generator
            node = stack.pop()
            tokens.append(node.name or node.operator)
            if node.operands:
                stack += node.operands[::-1]
        return tuple(tokens)

    def nodes(self) -> Iterator["Formula"]:
        """Every node of the tree in prefix order: the formula first, repeated ones each time."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(node.operands[::-1])

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
        paths = []
        stack: list[tuple[Formula, tuple[int, ...]]] = [(self, ())]
        while stack:
            node, path = stack.pop()
            paths.append(path)
            for branch in reversed(range(len(node.operands))):
                stack.append((node.operands[branch], (*path, branch)))
        return paths

    def rename(self, renaming) -> "Formula":
        """The formula with its atomic propositions renamed by an `itekit.alpha.Renaming`.

        Raises:
            ValueError: a new name is no name of an atomic proposition.
        """
        tokens, images = self.tokens(), renaming.mapping
        new = {name: images[name] for name in images.keys() & set(tokens) - ARITY.keys()}
        for name in new.values():
            proposition(name)
        return from_tokens([new.get(token, token) for token in tokens])

    def core(self) -> "Formula":
        """The same meaning in LTL's core operators: true, false, AP, not, and, next, until.

        Raises:
            ValueError: the result would be deeper than MAX_DEPTH or larger than MAX_SIZE
                (an equivalence or exclusive or repeats both of its operands).
        """
        from itekit.logic.rewriting import to_core  # it builds formulas, so it needs this module

        return to_core(self)

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

    def __xor__(self, other: "Formula") -> "Formula":
        return Formula("^", (self, other))


@lru_cache(maxsize=4096)
def proposition(name: str) -> Formula:
    """The formula that is one atomic proposition.

    Raises:
        ValueError: `name` is no name of an atomic proposition.
    """
    return Formula(PROPOSITION, (), name)


TRUE, FALSE = Formula("1"), Formula("0")


def next_(f: Formula) -> Formula:
    """X f: f holds at the next step."""
    return Formula("X", (f,))


def until(f: Formula, g: Formula) -> Formula:
    """f U g: g holds at some step from now on, and f at every step before it."""
    return Formula("U", (f, g))


_LEAVES = {"1": TRUE, "0": FALSE} | {name: proposition(name) for name in ascii_lowercase}
_new = object.__new__
_operator, _operands = Formula.operator.__set__, Formula.operands.__set__
_name, _size, _depth = Formula.name.__set__, Formula.size.__set__, Formula.depth.__set__


def from_tokens(tokens: Sequence[str]) -> Formula:
    """The formula with these prefix tokens; fast, since nothing is checked twice.

    `itekit.logic.prefix.parse_prefix` does the same and says what is wrong, and where.

    Raises:
        ValueError: the tokens are not exactly one formula, or it is too large or too deep.
    """
    if len(tokens) > MAX_SIZE:
        raise ValueError(f"the formula has {len(tokens)} tokens, at most {MAX_SIZE} are allowed")
    stack: list[Formula] = []
    push, pop = stack.append, stack.pop
    try:
        for token in reversed(tokens):
            if token in _LEAVES:
                push(_LEAVES[token])
            elif token not in ARITY:
                push(proposition(token))
            else:
                first, node = pop(), _new(Formula)
                size, depth, operands = first.size + 1, first.depth, (first,)
                if ARITY[token] == 2:
                    second = pop()
                    size, operands = size + second.size, (first, second)
                    depth = depth if depth > second.depth else second.depth
                _operator(node, token)
                _operands(node, operands)
                _name(node, "")
                _size(node, size)
                _depth(node, depth + 1)
                push(node)
    except IndexError:
        raise ValueError("an operand is missing") from None
    if len(stack) != 1:
        raise ValueError(f"found {len(stack)} formulas, expected 1")
    if stack[0].depth > MAX_DEPTH:
        raise ValueError(f"the formula is deeper than {MAX_DEPTH} operators")
    return stack[0]
