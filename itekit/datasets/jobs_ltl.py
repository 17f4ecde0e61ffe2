"""What a worker process does with an LTL item (see `jobs`); importing it loads Spot."""

from itekit.datasets.jobs import UNSATISFIABLE
from itekit.tasks import ltl


def label(item: list) -> str:
    """The trace of a formula, or UNSATISFIABLE."""
    formula, method, form = item
    trace = ltl.solve(formula, method, format=form)
    return UNSATISFIABLE if trace is None else trace


def check(item: list) -> str:
    """The verdict on an answer."""
    formula, answer, correct, form = item
    return ltl.check(formula, answer, correct, format=form)
