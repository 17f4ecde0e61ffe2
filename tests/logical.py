"""Formulas, traces and assignments for tests, as hypothesis strategies."""

import spot
from hypothesis import strategies as st

from itekit.logic.formulas import LTL, PROPOSITION, STEPS, Formula, Language, proposition
from itekit.logic.traces import Trace
from itekit.logic.truth_tables import Assignment

LONG_NAMES = ("a", "b", "aa", "p0", "q_1", "xo", "xorb", "x")


def formulas(language: Language = LTL, names=("a", "b", "c"), leaves: int = 12):
    """Formulas of the language; `leaves` bounds their size."""
    by_arity = {n: [o.token for o in language.operators if o.arity == n] for n in (0, 1, 2)}
    constants = st.sampled_from(by_arity[0]).map(Formula)
    return st.recursive(
        st.one_of(st.sampled_from(names).map(proposition), constants),
        lambda inner: st.one_of(
            st.builds(lambda o, f: Formula(o, (f,)), st.sampled_from(by_arity[1]), inner),
            st.builds(
                lambda o, f, g: Formula(o, (f, g)), st.sampled_from(by_arity[2]), inner, inner
            ),
        ),
        max_leaves=leaves,
    )


def traces(names=("a", "b", "c"), leaves: int = 4, longest: int = 3):
    steps = formulas(STEPS, names, leaves)
    return st.builds(
        Trace,
        st.lists(steps, max_size=longest).map(tuple),
        st.lists(steps, min_size=1, max_size=longest).map(tuple),
    )


def assignments(names=("a", "b", "c")):
    return st.dictionaries(st.sampled_from(names), st.booleans()).map(
        lambda values: Assignment(tuple(values.items()))
    )


def lassos(names=("a", "b", "c"), longest: int = 3):
    """Concrete lassos: prefix letters, cycle letters."""
    letters = st.frozensets(st.sampled_from(names))
    return st.tuples(
        st.lists(letters, max_size=longest), st.lists(letters, min_size=1, max_size=longest)
    )


_UNARY = {"!": "Not", "X": "X", "F": "F", "G": "G"}
_BINARY = {"|": "Or", "&": "And", "^": "Xor", ">": "Implies", "=": "Equiv"}


def spot_formula(formula: Formula) -> spot.formula:
    """The formula made with Spot's constructors: no text, hence no parser, is involved."""
    operator, operands = formula.operator, [spot_formula(f) for f in formula.operands]
    if operator == PROPOSITION:
        return spot.formula.ap(formula.name)
    if not operands:
        return spot.formula.tt() if operator == "1" else spot.formula.ff()
    if len(operands) == 1:
        return getattr(spot.formula, _UNARY[operator])(*operands)
    make = getattr(spot.formula, _BINARY.get(operator, operator))
    return make(operands) if operator in "&|" else make(*operands)
