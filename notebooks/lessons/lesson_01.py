"""Exercises and figures of notebook 01: bijections, canonical pairs, names with scope.

Terms of the lambda calculus are nested tuples: a variable is its name, "x"; a function is
("λ", "x", body); an application (function, argument).
"""

import random
from collections.abc import Mapping

import plotly.graph_objects as go

from itekit.alpha import Renaming, canonical_renaming, used_tokens
from lessons.exercises import Exercise, many, one_by_one, replaced
from lessons.plots import AMOUNTS, COLOURS, colour_bar, style
from lessons.plots.show import subplots

NAMES = "abcdef"
WHITE = {"color": "white", "width": 3}


def _letters(term, found: list, binders: Mapping[str, int]) -> list[tuple[str, int | None]]:
    """The pieces of a written term, each with the place of its binder, if it has one."""
    match term:
        case str(name):
            found.append((name, binders.get(name)))
        case ("λ", name, body):
            found.append((f"λ{name}.", len(found)))
            _letters(body, found, {**binders, name: len(found) - 1})
        case (function, argument):
            first = ("(", function, ")") if function[0] == "λ" else (function,)
            for part in ("(", *first, " ", argument, ")"):
                _letters(part, found, binders)
    return found


def spell(term) -> str:
    """The term as one writes it: λx.λy.x."""
    return "".join(piece for piece, _ in _letters(term, [], {}))


def owners_figure(terms: Mapping[str, tuple]) -> go.Figure:
    """{"what it is": term} side by side, with an arc from each bound variable to its binder."""
    titles = [f"<b>{spell(term)}</b><br>{said}" for said, term in terms.items()]
    figure, places = subplots(titles, len(titles))
    for term, place in zip(terms.values(), places, strict=True):
        pieces = _letters(term, [], {})
        for at, (piece, owner) in enumerate(pieces):
            colour = "black" if owner is None else COLOURS[owner % 6]
            font = {"size": 24, "color": colour}
            figure.add_annotation(x=at, y=0, text=piece, showarrow=False, font=font, **place)
            if owner not in (None, at):
                path = f"M {at},0.3 C {at},{at - owner} {owner},{at - owner} {owner},0.3"
                figure.add_shape(path=path, line={"color": colour, "width": 3}, **place)
        figure.update_xaxes(visible=False, range=[-0.8, len(pieces) - 0.2], **place)
        figure.update_yaxes(visible=False, range=[-0.5, 2.2], **place)
        figure.add_scatter(x=[0], y=[0], opacity=0, showlegend=False, hoverinfo="skip", **place)
    return style(figure, width=820, height=240, margin={"t": 70, "b": 10})


def answers_figure(made: Mapping[str, tuple], shown: int, letters: str) -> go.Figure:
    """{"rows": (U, W)} as probabilities of answers, with a frame around the letters shown."""
    right = []
    figure, places = subplots(list(made), len(made), shared_yaxes=True)
    names, end = list(letters), shown - 0.5
    for (U, W), place in zip(made.values(), places, strict=True):
        chances = (U @ W @ U.T).softmax(dim=1).detach().numpy().round(3)
        right.append(int((chances.argmax(axis=1) == range(len(letters))).sum()))
        figure.add_heatmap(z=chances, x=names, y=names, coloraxis="coloraxis", **place)
        figure.add_shape(type="rect", x0=-0.5, x1=end, y0=-0.5, y1=end, line=WHITE, **place)
    figure.update_xaxes(title_text="letter answered", showgrid=False)
    figure.update_yaxes(autorange="reversed", showgrid=False)
    figure.update_yaxes(title_text="letter asked", col=1)
    colours = {"colorscale": AMOUNTS, "cmin": 0, "cmax": 1, "colorbar": colour_bar("probability")}
    counts = (f"{name}: {n} of {len(letters)}" for name, n in zip(made, right, strict=True))
    alt = {"alt": f"Letters whose most probable answer is right. {'; '.join(counts)}"}
    return style(figure, width=820, height=320, coloraxis=colours, meta=alt)


def de_bruijn(term, binders: tuple[str, ...] = ()):
    """The term with an index for each bound variable, as in part 1 of the lesson's appendix."""
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
        return rng.choice("xyz")
    if size == 2 or rng.random() < 0.6:
        return ("λ", rng.choice("xyz"), random_term(rng, size - 1))
    left = rng.randint(1, size - 2)
    return (random_term(rng, left), random_term(rng, size - 1 - left))


def rebound(rng: random.Random, term, new: dict[str, str]):
    """The term with other names for its bound variables; now and then one is captured."""
    match term:
        case str(name):
            return new.get(name, name)
        case ("λ", name, body):
            new = new | {name: rng.choice("xyzpq")}
            return ("λ", new[name], rebound(rng, body, new))
    return tuple(rebound(rng, part, new) for part in term)


def _judge_complete(answer, mapping, alphabet):
    if not isinstance(answer, dict) or set(answer) != set(alphabet):
        return f"expected a dict with a new name for each of {' '.join(alphabet)}"
    for old, new in mapping.items():
        if answer[old] != new:
            return f"{old!r} has to become {new!r}, as the map says; it becomes {answer[old]!r}"
    for old, new in answer.items():
        if new not in alphabet:
            return f"{old!r} becomes {new!r}, which is not in the alphabet"
        if [*answer.values()].count(new) > 1:
            return f"two names become {new!r}: they merge"
        if old != new and old not in {*mapping, *mapping.values()}:
            return f"nothing forces {old!r} to change, and it becomes {new!r}"
    return None


def _partial_map(rng):
    alphabet = NAMES[: rng.randint(2, 6)]
    count = rng.randint(1, len(alphabet))
    olds, news = (rng.sample(alphabet, count) for _ in range(2))
    return dict(zip(olds, news, strict=True)), alphabet


check_complete = Exercise(
    "complete",
    lambda mapping, alphabet: {name: Renaming(mapping)([name])[0] for name in alphabet},
    many(40, _partial_map, ({"a": "b"}, "abc"), ({"a": "b", "b": "c"}, "abc")),
    judge=_judge_complete,
)
check_complete.mistakes = {
    lambda mapping, alphabet: {name: name for name in alphabet} | mapping: "names that the map "
    "does not mention stay, though their name may be given away. Those take one that became free.",
    lambda mapping, alphabet: (
        {name: name for name in alphabet} | {n: o for o, n in mapping.items()} | mapping
    ): "each new name is sent back to the old one. That works for swaps, not for chains: with "
    "a → b and b → c, it is c that takes the name a.",
}


def _by(order, *halves):
    """The halves with the names in this order called a, b, c, ..."""
    return tuple(replaced(half, dict(zip(order, NAMES, strict=False))) for half in halves)


def _pair(rng):
    tokens = [*rng.sample(NAMES, rng.randint(1, 4)), *"&X;"]
    return tuple("".join(rng.choices(tokens, k=rng.randint(1, 5))) for _ in range(2))


check_canonical_pair = Exercise(
    "canonical_pair",
    lambda s, t: canonical_renaming(s + t, NAMES, NAMES).apply_pair(s, t),
    many(60, _pair),
)
check_canonical_pair.mistakes = {
    lambda *halves: tuple(_by(used_tokens(half, NAMES), half)[0] for half in halves): "each half "
    "is renamed by itself, so the answer is about other letters than the question. Use one map.",
    lambda s, t: _by(used_tokens(s, NAMES), s, t): "a letter of the target only gets no new name, "
    "and may merge with one that has been given away.",
    lambda s, t: one_by_one(zip(used_tokens(s + t, NAMES), NAMES, strict=False), s, t): "letters "
    "are replaced one by one, so a new name is renamed again (part 1). Rename all at once.",
    lambda s, t: _by(sorted(used_tokens(s + t, NAMES)), s, t): "letters are numbered by the "
    "alphabet: an order of names, which a canonical form has to get rid of.",
}


def _one_map(s, t, forth):
    """Both terms at once, with a map from names of s to those of t, and none back."""
    match s, t:
        case str(), str():
            return forth.get(s, s) == t
        case ("λ", x, f), ("λ", y, g):
            return _one_map(f, g, forth | {x: y})
        case (f, a), (g, b):
            return _one_map(f, g, forth) and _one_map(a, b, forth)
    return False


def _two_terms(rng):
    term = random_term(rng, rng.randint(2, 6))
    return term, rebound(rng, term, {}) if rng.random() < 0.9 else random_term(rng, 3)


check_equal_up_to_names = Exercise(
    "equal_up_to_names",
    lambda s, t: de_bruijn(s) == de_bruijn(t),
    many(140, _two_terms, ("x", "y"), (("λ", "x", ("λ", "y", "x")), ("λ", "z", ("λ", "z", "z")))),
)
check_equal_up_to_names.mistakes = {
    lambda s, t: s == t: "this compares the text; bound variables may have other names.",
    lambda s, t: _one_map(s, t, {}): "one map, from the names of s to those of t, lets two "
    "variables become one: λx.λy.x and λz.λz.z pass. Keep a map back as well.",
}
check_equal_up_to_names.signs = {
    lambda answer, expected, s, t: answer and isinstance(s, str): "these are free variables: they "
    "mean something outside, and may not be renamed.",
}
