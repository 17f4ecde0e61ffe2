"""Exercises of notebook 01: bijections, canonical pairs, names with scope, capture."""

from itekit.alpha import Renaming, canonical_renaming, used_tokens
from lessons.exercises import Exercise
from lessons.terms import (
    de_bruijn,
    free,
    naive_substitute,
    random_term,
    rebound,
    substitute,
)

NAMES = "abcdef"


def _judge_complete(answer, mapping, alphabet):
    if not isinstance(answer, dict) or set(answer) != set(alphabet):
        return f"expected a dict with a new name for each of {' '.join(alphabet)}"
    for old, new in mapping.items():
        if answer[old] != new:
            return f"{old!r} has to become {new!r}, as the map says; it becomes {answer[old]!r}"
    for i, one in enumerate(alphabet):
        for other in alphabet[i + 1 :]:
            if answer[one] == answer[other]:
                return f"{one!r} and {other!r} both become {answer[one]!r}: two names merge"
    if strange := set(answer.values()) - set(alphabet):
        return f"{sorted(strange)} is not in the alphabet"
    for name in alphabet:
        if name not in mapping and name not in mapping.values() and answer[name] != name:
            return f"nothing forces {name!r} to change, and it becomes {answer[name]!r}"
    return None


def _cases_complete(rng):
    yield {"a": "b"}, "abc"
    yield {"a": "b", "b": "c"}, "abc"
    for _ in range(40):
        alphabet = NAMES[: rng.randint(2, 6)]
        count = rng.randint(1, len(alphabet))
        olds, news = (rng.sample(alphabet, count) for _ in range(2))
        yield dict(zip(olds, news, strict=True)), alphabet


def _left_alone(mapping, alphabet):
    return {name: mapping.get(name, name) for name in alphabet}


def _turned_round(mapping, alphabet):
    return {name: name for name in alphabet} | {n: o for o, n in mapping.items()} | mapping


check_complete = Exercise(
    "complete",
    lambda mapping, alphabet: {name: Renaming(mapping)([name])[0] for name in alphabet},
    _cases_complete,
    {
        _left_alone: "names that the map does not mention stay, also where their name has been "
        "given away. A name that lost its place has to take one that became free.",
        _turned_round: "each arrow is turned round to send the new name back. That works for "
        "swaps, not for chains: with a → b and b → c, it is c that takes the name a.",
    },
    judge=_judge_complete,
)


def _by(order, source, target):
    mapping = dict(zip(order, NAMES, strict=False))
    return tuple("".join(mapping.get(t, t) for t in half) for half in (source, target))


def _halves_apart(source, target):
    return tuple(_by(used_tokens(half, NAMES), half, "")[0] for half in (source, target))


def _one_by_one(source, target):
    for old, new in zip(used_tokens(source + target, NAMES), NAMES, strict=False):
        source, target = source.replace(old, new), target.replace(old, new)
    return source, target


def _cases_pairs(rng):
    for _ in range(60):
        tokens = [*rng.sample(NAMES, rng.randint(1, 4)), *"&X;"]
        yield tuple("".join(rng.choices(tokens, k=rng.randint(1, 5))) for _ in range(2))


check_canonical_pair = Exercise(
    "canonical_pair",
    lambda s, t: canonical_renaming(s + t, NAMES, NAMES).apply_pair(s, t),
    _cases_pairs,
    {
        _halves_apart: "each half is renamed by itself. One renaming has to serve both, or the "
        "answer is about other letters than the question.",
        lambda s, t: _by(used_tokens(s, NAMES), s, t): "a letter that stands in the target only "
        "gets no new name, and may merge with one that has been given away.",
        _one_by_one: "letters are replaced one after the other, so that a new name is renamed "
        "again (part 1). Rename all letters at once.",
        lambda s, t: _by(sorted(used_tokens(s + t, NAMES)), s, t): "letters are numbered in the "
        "order of the alphabet: an order of names, which a canonical form has to get rid of.",
    },
)


def _walk(s, t, forth=None, back=None):
    """Both terms at once, with a map from names of s to those of t, and perhaps one back."""
    forth = forth or {}
    match s, t:
        case str(), str():
            return forth.get(s, s) == t and (back is None or back.get(t, t) == s)
        case ("λ", x, f), ("λ", y, g):
            return _walk(f, g, forth | {x: y}, None if back is None else back | {y: x})
        case (f, a), (g, b):
            return _walk(f, g, forth, back) and _walk(a, b, forth, back)
    return False


def _nameless(term):
    if isinstance(term, str):
        return "x"
    return tuple(map(_nameless, term[2:] if term[0] == "λ" else term))


def _cases_two_terms(rng):
    yield "x", "y"
    yield ("λ", "x", ("λ", "y", "x")), ("λ", "z", ("λ", "z", "z"))
    for _ in range(120):
        term = random_term(rng, rng.randint(2, 6))
        yield term, rebound(rng, term)
    for _ in range(20):
        yield random_term(rng, 3), random_term(rng, 3)


check_equal_up_to_names = Exercise(
    "equal_up_to_names",
    lambda s, t: de_bruijn(s) == de_bruijn(t),
    _cases_two_terms,
    {
        lambda s, t: s == t: "this compares the text; bound variables may have other names.",
        lambda s, t: _nameless(s) == _nameless(t): "the same tree is not enough: the links from "
        "variables to their binders count too.",
        lambda s, t: _walk(s, t): "one map, from the names of s to those of t, lets two variables "
        "become one: λx.λy.x and λz.λz.z pass. Keep a map back as well.",
    },
    {
        lambda answer, expected, s, t: answer and isinstance(s, str): "these are free variables: "
        "they mean something outside, and may not be renamed."
    },
)


def _everywhere(term, name, new):
    if isinstance(term, str):
        return new if term == name else term
    return tuple(part if part == "λ" else _everywhere(part, name, new) for part in term)


def _stops(term, name, new):
    """Nothing is put in under a binder called `new`, so that nothing is captured."""
    match term:
        case str():
            return new if term == name else term
        case ("λ", x, body):
            return term if x in (name, new) else ("λ", x, _stops(body, name, new))
    return tuple(_stops(part, name, new) for part in term)


def _cases_substitute(rng):
    yield ("λ", "y", "x"), "x", "y"
    for a, b, c, d, e in ("abcde", "fghij", "klmno", "pqrst", "uvwza"):  # no name is always fresh
        yield ("λ", "y", ("x", (a, (b, (c, (d, e)))))), "x", "y"
    for _ in range(80):
        yield random_term(rng, rng.randint(1, 6)), *rng.sample("xyz", 2)


def _judge_substitute(answer, *arguments):
    same = de_bruijn(answer) == de_bruijn(substitute(*arguments))
    return None if same else "another function, whatever its bound variables are called"


check_substitute = Exercise(
    "substitute",
    substitute,
    _cases_substitute,
    {
        naive_substitute: "the new variable is captured: it walks under a λ of its own name. "
        "Rename that binder first, to a name that occurs nowhere near.",
        _everywhere: "every occurrence is replaced. Only free ones may be: under a λ of the same "
        "name it is another variable, and the λ itself keeps its name.",
        _stops: "under a λ called like the new variable nothing is replaced. Rename that λ first, "
        "with its variables, then go on below it.",
    },
    {
        lambda answer, expected, term, name, new: free(expected) - free(answer) - {new}: "a free "
        "variable is captured by the name that a binder got. Take one that occurs nowhere in the "
        "term.",
        lambda answer, expected, term, name, new: new in free(answer) - free(expected): "a λ got "
        "another name, and its variables kept the old one: they are free now. Rename both.",
    },
    judge=_judge_substitute,
)
