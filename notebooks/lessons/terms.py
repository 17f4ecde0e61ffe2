"""Terms of the lambda calculus as nested tuples, for the exercises of notebook 01.

A variable is its name, "x"; a function is ("λ", "x", body); an application (function, argument).
"""

import random

NAMES = "xyz"


def de_bruijn(term, binders: tuple[str, ...] = ()):
    """The term with an index for each bound variable, as in the notebook, part 5."""
    match term:
        case str(name):
            return binders.index(name) if name in binders else name
        case ("λ", name, body):
            return ("λ", de_bruijn(body, (name, *binders)))
        case (function, argument):
            return (de_bruijn(function, binders), de_bruijn(argument, binders))
    raise ValueError(f"not a term: {term!r}")


def free(term) -> set[str]:
    """The names of the free variables."""
    match term:
        case str():
            return {term}
        case ("λ", name, body):
            return free(body) - {name}
    return set().union(*map(free, term))


def random_term(rng: random.Random, size: int):
    """A term with `size` nodes over the names x, y and z."""
    if size <= 1:
        return rng.choice(NAMES)
    if size == 2 or rng.random() < 0.6:
        return ("λ", rng.choice(NAMES), random_term(rng, size - 1))
    left = rng.randint(1, size - 2)
    return (random_term(rng, left), random_term(rng, size - 1 - left))


def rebound(rng: random.Random, term, new: dict[str, str] | None = None):
    """The term with other names for its bound variables; now and then one is captured."""
    new = dict(new or {})
    match term:
        case str(name):
            return new.get(name, name)
        case ("λ", name, body):
            new[name] = rng.choice("xyzpq")
            return ("λ", new[name], rebound(rng, body, new))
    return tuple(rebound(rng, part, new) for part in term)


def naive_substitute(term, name: str, new: str):
    """term[name := new], where `new` may be captured by a binder of its name."""
    match term:
        case str():
            return new if term == name else term
        case ("λ", x, body):
            return term if x == name else ("λ", x, naive_substitute(body, name, new))
    return tuple(naive_substitute(part, name, new) for part in term)


def substitute(term, name: str, new: str):
    """term[name := new] without capture: a binder called `new` is renamed first."""
    match term:
        case str():
            return new if term == name else term
        case ("λ", x, body):
            if x == new:
                x, body = "other_" + new, naive_substitute(body, new, "other_" + new)
            return term if x == name else ("λ", x, substitute(body, name, new))
    return tuple(substitute(part, name, new) for part in term)
