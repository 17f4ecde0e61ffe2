"""Normal forms of lambda terms, the task that lesson 15 builds step by step.

A term in prefix notation is λ, a name and the body; or @, the function and the argument:
`λa@λb@bba` -> `λa@aa`. Bound variables are interchangeable; terms are equal by de Bruijn forms.
"""

import re
from contextlib import suppress
from dataclasses import dataclass

from itekit.tasks.own import OwnTask
from itekit.tasks.verdicts import EXACT, INCORRECT, INVALID
from lessons.lesson_01 import de_bruijn


def end(term, start):
    """The place after the term that begins at `start`; IndexError if the text is too short."""
    return end(term, end(term, start + 1)) if term[start] in "λ@" else start + 1


def read(term):
    """A term in prefix notation as tuples."""
    if term[0] not in "λ@":
        return term
    parts = read(term[1 : end(term, 1)]), read(term[end(term, 1) :])
    return ("λ", *parts) if term[0] == "λ" else parts


def meaning(answer):
    """The de Bruijn form of a term in prefix notation; None if the text is no term."""
    with suppress(IndexError):
        if end(answer, 0) == len(answer) and not re.search("λ[λ@]", answer):
            return de_bruijn(read(answer))


def check(problem, answer, label):
    """The verdict on a term: it has the meaning of the label."""
    if meaning(answer) is None:
        return INVALID
    return EXACT if meaning(answer) == meaning(label) else INCORRECT


def step(term):
    """The term after its leftmost outermost step; the same term where a capture threatens."""
    before, _, after = term.partition("@λ")
    cut = end(after, 1)
    stop = end(after, cut)
    name, body, argument = after[0], after[1:cut], after[cut:stop]
    captured = set(re.findall("λ(.)", body)) & set(name + argument)
    return term if captured else before + body.replace(name, argument) + after[stop:]


def normalise(term, most=5, longest=23):
    """The terms from this one to its normal form, a step each; [term] if it gets lost."""
    path = [term]
    while "@λ" in path[-1] and len(path) <= most and len(path[-1]) <= longest:
        path.append(step(path[-1]))
    return [term] if "@λ" in path[-1] or len(path[-1]) > longest else path


def random_term(rng, names, leaves, scope=""):
    """A term whose free names are in `scope`, a λ for each of `names`, and `leaves` variables."""
    if names and (leaves == 1 or not scope or rng.random() < 0.4):
        return "λ" + names[0] + random_term(rng, names[1:], leaves, scope + names[0])
    if leaves == 1:
        return rng.choice(scope)
    left, cut = rng.randint(1, leaves - 1), rng.randint(0, len(names))
    function = random_term(rng, names[:cut], left, scope)
    return "@" + function + random_term(rng, names[cut:], leaves - left, scope)


@dataclass(frozen=True)
class Terms(OwnTask):
    """Terms with `leaves` variables at most."""

    limit: int = 24
    leaves: int = 6
    fixed = ("λ", "@")
    operands = {"λ": 2, "@": 2}
    names = tuple("abcdefgh")
    counts = (2, 3, 4, 5)
    share = 0.01
    check = staticmethod(check)

    def draw(self, rng, names):
        """A term with one binder for each name that is not in normal form."""
        term = random_term(rng, names, rng.randint(2, min(self.leaves, 11 - len(names))))
        return term if len(normalise(term)) > 1 else None

    def label(self, problem):
        """The normal form."""
        return normalise(problem)[-1]

    def form(self, tokens):
        """The de Bruijn form."""
        return meaning(tokens)
