"""Propositional formulas as clauses for a SAT solver, straight from their prefix tokens.

The Tseitin encoding gives each binary operator a variable of its own, so that the clauses grow
with the formula and not with the number of assignments: 100 atomic propositions are no trouble.
The answers are those of `itekit.logic.bits`, defined without the solver: another solver, or
another release of it, gives the same ones.
"""

from collections.abc import Mapping, Sequence

from pysat.solvers import Minisat22

from itekit.logic.bits import PrefixError

Clause = tuple[int, ...]


def encode(tokens: Sequence[str], names: Sequence[str]) -> tuple[list[Clause], int]:
    """Clauses and the literal that stands for the formula.

    The variable of the j-th name is j + 1. Every assignment of the names extends to exactly one
    model of the clauses, in which the literal has the formula's value.

    Raises:
        PrefixError: a token is none of 1 0 ! & | = ^ and `names`, or operands are missing or left
            over.
    """
    true = len(names) + 1
    literals = {name: variable for variable, name in enumerate(names, 1)}
    literals.update({"1": true, "0": -true})
    clauses: list[Clause] = [(true,)]
    stack: list[int] = []
    last = true
    try:
        for token in reversed(tokens):
            if token in literals:
                stack.append(literals[token])
            elif token == "!":
                stack.append(-stack.pop())
            elif token in _GATES:
                last += 1
                clauses += _GATES[token](last, stack.pop(), stack.pop())
                stack.append(last)
            else:
                raise PrefixError(f"unknown token {token!r}")
    except IndexError:
        raise PrefixError("an operand is missing") from None
    if len(stack) != 1:
        raise PrefixError(f"{len(stack)} formulas, expected 1")
    return clauses, stack[0]


def _and(gate: int, left: int, right: int) -> list[Clause]:
    return [(-gate, left), (-gate, right), (gate, -left, -right)]


def _xor(gate: int, left: int, right: int) -> list[Clause]:
    return [
        (-gate, left, right),
        (-gate, -left, -right),
        (gate, -left, right),
        (gate, left, -right),
    ]


_GATES = {
    "&": _and,
    "|": lambda gate, left, right: _and(-gate, -left, -right),
    "^": _xor,
    "=": lambda gate, left, right: _xor(-gate, left, right),
}


def implied_by(tokens: Sequence[str], names: Sequence[str], values: Mapping[str, bool]) -> bool:
    """Whether the formula is true under `values` and every assignment of the other names.

    Raises:
        PrefixError: as `encode`.
        ValueError: `values` has a name that is not among `names`.
    """
    clauses, root = encode(tokens, names)
    literals = [
        names.index(name) + 1 if value else -names.index(name) - 1 for name, value in values.items()
    ]
    with Minisat22(bootstrap_with=clauses) as solver:
        return not solver.solve(assumptions=[-root, *literals])


def prime_implicant(tokens: Sequence[str], names: Sequence[str]) -> dict[str, bool] | None:
    """The same prime implicant as `itekit.logic.bits.prime_implicant` finds.

    Raises:
        PrefixError: as `encode`.
    """
    clauses, root = encode(tokens, names)
    with Minisat22(bootstrap_with=clauses) as solver:
        model = _first_model(solver, root, len(names))
        if model is None:
            return None
        kept = _without_superfluous(solver, root, model)
    return {names[abs(literal) - 1]: literal > 0 for literal in kept}


def _first_model(solver: Minisat22, root: int, count: int) -> list[int] | None:
    """The literals of the names in the first model, False before True, variable 1 slowest."""
    if not solver.solve(assumptions=[root]):
        return None
    model = solver.get_model()[:count]
    for place in range(count):
        if model[place] > 0:  # False needs another model, with the same literals before
            earlier = model[:place]
            if solver.solve(assumptions=[root, *earlier, -model[place]]):
                model = solver.get_model()[:count]
    return model


def _without_superfluous(solver: Minisat22, root: int, model: list[int]) -> list[int]:
    """Drop literals, the last first, where the others still imply the formula.

    A core that the solver reports spares questions: a literal outside it can go unasked.
    """
    left = list(model)
    core = set(left)
    for literal in reversed(model):
        others = [other for other in left if other != literal]
        if literal not in core:
            left = others
        elif not solver.solve(assumptions=[-root, *others]):
            left, core = others, set(solver.get_core() or ())
    return left
