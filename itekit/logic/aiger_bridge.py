"""Propositional formulas as py-aiger expressions, and py-aiger's answers about them.

The paper (appendix "Experimental Setup" of the propositional experiments) makes its labels and
judges answers with py-aiger and the SAT solver behind it (Glucose 4). So do these functions: the
authority that `truth_tables` is tested against, and for more propositions than a table can have.

py-aiger names wires by the clock, so that which model and which core come out differs from call to
call, and a quarter of the cores hold a literal that can be left out. All are right answers, but a
data set made with them cannot be made again.
"""

import operator
from collections.abc import Iterator
from contextlib import contextmanager

import aiger
from aiger_sat import SolverWrapper
from pysat.solvers import Glucose4

from itekit.logic.formulas import ARITY, Formula, fold
from itekit.logic.truth_tables import BOOLEAN, Assignment, sorted_assignment

_CONSTANTS = {"1": lambda: aiger.atom(True), "0": lambda: aiger.atom(False)}
_OPERATORS = BOOLEAN | _CONSTANTS | {"=": operator.eq}


def to_aiger(formula: Formula) -> aiger.BoolExpr:
    """A propositional formula as an expression whose inputs are the formula's propositions."""
    return fold(
        formula.tokens(),
        lambda token, *parts: _OPERATORS[token](*parts) if token in ARITY else aiger.atom(token),
    )


@contextmanager
def _solver(expression: aiger.BoolExpr) -> Iterator[SolverWrapper]:
    with Glucose4() as engine:
        wrapper = SolverWrapper(engine)
        wrapper.add_expr(expression)
        yield wrapper


def model(formula: Formula) -> Assignment | None:
    """An assignment that makes the formula true, what does not matter left out; None if none."""
    with _solver(to_aiger(formula)) as solver:
        values = solver.get_model()
    return None if values is None else sorted_assignment(values)  # their order decides the core


def core(formula: Formula, assignment: Assignment) -> Assignment:
    """Of an assignment that implies the formula, the literals with which the solver proves it."""
    with _solver(~to_aiger(formula)) as solver:
        solver.is_sat(assumptions=assignment.as_dict())  # it is not; the core says why
        return sorted_assignment(solver.get_unsat_core())


def implied_by(formula: Formula, assignment: Assignment) -> bool:
    """Whether every assignment that agrees with this partial one makes the formula true."""
    with _solver(~to_aiger(formula)) as solver:
        return not solver.is_sat(assumptions=assignment.as_dict())


def prime_implicant(formula: Formula) -> dict[str, bool] | None:
    """The implicant that `truth_tables.prime_implicant` finds, the same by any solver."""
    expression = to_aiger(formula)
    literals = {}
    with _solver(expression) as solver:
        if not solver.is_sat():
            return None
        for name in formula.propositions:  # the first model: False needs no True before it
            literals[name] = not solver.is_sat(assumptions=literals | {name: False})
    with _solver(~expression) as solver:
        for name in reversed(formula.propositions):
            fewer = {other: value for other, value in literals.items() if other != name}
            if not solver.is_sat(assumptions=fewer):
                literals = fewer
    return literals
