"""Propositional formulas as truth tables in Python integers, straight from their prefix tokens.

Bit i of a table is the formula's value under the assignment that gives the j-th name the value of
bit j of i, as in `itekit.logic.semantics.truth_table`. Here no tree is built: one pass over the
tokens from right to left, one integer operation a token, so that 5 atomic propositions (32 bits)
take microseconds. Tables double with each name: `itekit.logic.cnf` answers the same questions with
a SAT solver.

An implicant of a formula is a partial assignment under which it is true whatever the rest; it is
prime if no literal can be left out. A prime implicant inside a model is what the paper (appendix
"Experimental Setup" of the propositional experiments) calls a minimal unsatisfiable core of the
negated formula.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache

LARGEST = 16
"""Names up to which a table (65,536 bits) is quicker than the solver."""


class PrefixError(ValueError):
    """The tokens are not exactly one formula; `itekit.logic.prefix` says where and why."""


@lru_cache
def columns(count: int) -> tuple[int, ...]:
    """The tables of `count` names themselves."""
    full = (1 << (1 << count)) - 1
    return tuple(full ^ full // ((1 << (1 << place)) + 1) for place in range(count))


def table(
    tokens: Sequence[str], names: Sequence[str], values: Mapping[str, bool] | None = None
) -> int:
    """The truth table over `names`, the names in `values` replaced by their values.

    Raises:
        PrefixError: a token is none of 1 0 ! & | = ^, `names` and `values`, or operands are
            missing or left over.
    """
    full = (1 << (1 << len(names))) - 1
    known = {"0": 0, "1": full}
    if values:
        known.update((name, full if value else 0) for name, value in values.items())
    known.update(zip(names, columns(len(names)), strict=True))
    stack: list[int] = []
    push, pop = stack.append, stack.pop
    try:
        for token in reversed(tokens):
            if token in known:
                push(known[token])
            elif token == "!":
                push(full ^ pop())
            elif token == "&":
                push(pop() & pop())
            elif token == "|":
                push(pop() | pop())
            elif token == "=":
                push(full ^ pop() ^ pop())
            elif token == "^":
                push(pop() ^ pop())
            else:
                raise PrefixError(f"unknown token {token!r}")
    except IndexError:
        raise PrefixError("an operand is missing") from None
    if len(stack) != 1:
        raise PrefixError(f"{len(stack)} formulas, expected 1")
    return stack[0]


def implied_by(tokens: Sequence[str], free: Sequence[str], values: Mapping[str, bool]) -> bool:
    """Whether the formula is true under `values` and every assignment of the `free` names.

    Raises:
        PrefixError: as `table`.
    """
    return table(tokens, free, values) == (1 << (1 << len(free))) - 1


def prime_implicant(tokens: Sequence[str], names: Sequence[str]) -> dict[str, bool] | None:
    """One prime implicant, fixed by the formula and the order of the names; None if there is none.

    The first model, counting with False before True and the first name changing slowest, loses
    its literals one at a time, the last name first, where the others still imply the formula.
    Empty for a tautology.

    Raises:
        PrefixError: as `table`.
    """
    truth = table(tokens, names[::-1])  # so that the first name has the highest place
    if not truth:
        return None
    model = (truth & -truth).bit_length() - 1
    cube = 1 << model  # the assignments that agree with the literals that are left
    kept = {}
    for place, name in enumerate(reversed(names)):
        value = model >> place & 1
        wider = cube | (cube >> (1 << place) if value else cube << (1 << place))
        if wider & truth == wider:
            cube = wider
        else:
            kept[name] = bool(value)
    return kept
