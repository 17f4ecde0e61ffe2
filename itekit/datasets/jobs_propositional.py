"""What a worker process does with a propositional item (see `jobs`)."""

from itekit.tasks import propositional


def label(item: list) -> str:
    """The assignment of a formula, UNSATISFIABLE or TAUTOLOGY."""
    formula, method, form = item
    assignment = propositional.solve(formula, method, format=form)
    return propositional.classify(formula, format=form) if assignment is None else assignment


def check(item: list) -> str:
    """The verdict on an answer."""
    formula, answer, correct, form = item
    return propositional.check(formula, answer, correct, format=form)
