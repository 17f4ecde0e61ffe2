"""Lesson 15: a panel on terms, and exercises; what serves any task is in `itekit.tasks.own`."""

import html
import random
from collections import Counter, deque

import ipywidgets as widgets
import numpy as np

from itekit.alpha import canonical, sample_renamings, used_tokens
from itekit.tasks.verdicts import CORRECT, EXACT, INCORRECT
from lessons.exercises import Exercise, many, one_by_one, replaced
from lessons.panels import Panel, button, small_panel, typed
from lessons.tables import html_table


def _end(term: str, start: int) -> int:
    return _end(term, _end(term, start + 1)) if term[start] in "λ@" else start + 1


def pretty(term: str) -> str:
    """A term in prefix notation as books write it; a text that is no term as it stands."""
    try:
        cut = _end(term, 1)
        if term[0] not in "λ@" or _end(term, 0) != len(term):
            return term
    except IndexError:
        return term
    left, right = term[1:cut], term[cut:]
    if term[0] == "λ":
        return f"λ{left}.{pretty(right)}"
    function = f"({pretty(left)})" if left[0] == "λ" else pretty(left)
    return f"{function} ({pretty(right)})" if right[0] in "λ@" else f"{function} {right}"


def term_panel(solvers, meaning, normalise, term: str = "λa@λb@bba") -> Panel:
    """A term to type and to rename; its steps, and what each network makes of it."""
    names = max((s.vocabulary.interchangeable[0] for s in solvers.values()), key=len)
    box, rename = typed(term, "term", "24em"), button("New names", "random")
    rng = np.random.default_rng(0)

    def work(term: str) -> str:
        text = term.replace("\\", "λ")
        if meaning(text) is None:
            raise ValueError("expected a term such as λa@λb@bba; a backslash will do for λ")
        path = normalise(text)
        rows = [("steps", html.escape("   →   ".join(map(pretty, path))))]
        for name, solver in solvers.items():
            (answer,) = solver.answers([text])
            right = meaning(answer) == meaning(path[-1])
            said = f"{'✓' if right else '✗'} {pretty(answer)}" if answer else "cannot read this"
            rows.append((name, html.escape(said)))
        return html_table(rows, "th")

    def renamed(_) -> None:
        (renaming,) = sample_renamings(used_tokens(box.value, names), names, 1, rng)
        box.value = renaming(box.value)

    rename.on_click(renamed)
    return small_panel(work, box, rows=[widgets.HBox([box, rename])])


# exercises


def each_letter_once(problem):
    """Each letter once, in the order of their first places."""
    return "".join(dict.fromkeys(problem))


def sorted_letters(problem):
    """The letters in the order of the alphabet."""
    return "".join(sorted(problem))


def smallest_letter(problem):
    """The first letter of the alphabet that is there."""
    return min(problem)


def turned_round(problem):
    """The text from its end."""
    return problem[::-1]


def most_frequent(problem):
    """A most frequent letter; the first of the alphabet if there are several."""
    return max(sorted(set(problem)), key=problem.count)


def _commutes(label, problem, renaming):
    return label(replaced(problem, renaming)) == replaced(label(problem), renaming)


def _label_problem_renaming(rng):
    label = rng.choice(
        [each_letter_once, sorted_letters, smallest_letter, turned_round, most_frequent]
    )
    renaming = dict(zip("abc", rng.sample("abc", 3), strict=True))
    return label, "".join(rng.choices("abc", k=rng.randint(1, 5))), renaming


CHAIN = {"a": "b", "b": "c", "c": "a"}
check_commutes = Exercise(
    "commutes",
    _commutes,
    many(
        80, _label_problem_renaming, (each_letter_once, "ab", CHAIN), (smallest_letter, "ab", CHAIN)
    ),
)
check_commutes.mistakes = {
    lambda label, p, r: (
        label(replaced(p, r)) == label(p)
    ): "the label of the renamed problem has to be the renamed label, not the old one.",
    lambda label, p, r: label(one_by_one(r.items(), p)[0]) == one_by_one(r.items(), label(p))[0]: (
        "letters are replaced one after the other, so a new name is renamed again. Rename all at "
        "once (lesson 01, part 1)."
    ),
    lambda label, p, r: (
        replaced(label(replaced(p, r)), r) == label(p)
    ): "the renaming is done twice. "
    "Rename the label of the old problem, or undo the renaming in the new label.",
    lambda label, p, r: sorted(label(replaced(p, r))) == sorted(replaced(label(p), r)): "the same "
    "letters in another order are another label.",
}


def _leaks(training, test, form=lambda problem: canonical(problem, "abcdef", "abcdef")):
    known = set(map(form, training))
    return [problem for problem in test if form(problem) in known]


def _counts(problem):
    return tuple(sorted(Counter(problem).values()))


def _merges(old, new):
    """Whether some map of letters, one-to-one or not, makes one text of the other."""
    return len(old) == len(new) and len(set(zip(old, new, strict=True))) == len(set(old))


def _two_sides(rng):
    def draw(count):
        return ["".join(rng.choices("abcd", k=rng.randint(1, 4))) for _ in range(count)]

    training = draw(rng.randint(1, 4))
    orders = (dict(zip("abcd", rng.sample("abcdef", 4), strict=True)) for _ in range(9))
    moved = [replaced(rng.choice(training), next(orders)) for _ in range(rng.randint(0, 2))]
    return training, draw(rng.randint(0, 2)) + moved


check_leaks = Exercise(
    "leaks",
    _leaks,
    many(60, _two_sides, (["aab"], ["ccd"]), (["aab"], ["aba"]), (["ab"], ["cc"])),
)
check_leaks.mistakes = {
    lambda training, test: [p for p in test if p in training]: "these are the ones with the same "
    "names. Other names make no other problem.",
    lambda training, test: _leaks(training, test, _counts): "the counts of the letters say nothing "
    "about their places: aab and aba are two problems.",
    lambda training, test: _leaks(training, test, len): "a problem of the same length may be "
    "another problem. Look at the places where a name comes again.",
    lambda training, test: [
        p for p in test if any(_merges(q, p) for q in training)
    ]: "your map may send two names to one. A renaming never merges names.",
}


def _steps(text, edges, both=True):
    """Whether each step of a path is an edge."""
    known = {*edges, *(edge[::-1] for edge in edges if both)}
    return all(a + b in known for a, b in zip(text, text[1:], strict=False))


def _judged(edges, answer, label, ends=True, long=True, both=True):
    if answer == label:
        return EXACT
    right = answer != "" and _steps(answer, edges, both)
    right = right and (not ends or (answer[0], answer[-1]) == (label[0], label[-1]))
    return CORRECT if right and (not long or len(answer) == len(label)) else INCORRECT


def _shortest(edges, start, goal):
    """The shortest paths from one node to another."""
    queue, found = deque([start]), []
    while queue:
        path = queue.popleft()
        if found and len(path) > len(found[0]):
            break
        if path[-1] == goal:
            found.append(path)
        around = {b for edge in edges for a, b in (edge, edge[::-1]) if a == path[-1]}
        queue.extend(path + node for node in sorted(around - set(path)))
    return found


def _graph_and_answer(rng: random.Random):
    pairs = [a + b for a in "abcd" for b in "abcd" if a < b]
    edges = [edge[:: rng.choice((1, -1))] for edge in rng.sample(pairs, rng.randint(3, 5))]
    start, goal = rng.sample("abcd", 2)
    paths = _shortest(edges, start, goal)
    if not paths:
        return None
    walk = start + "".join(rng.choices("abcd", k=rng.randint(0, 3)))
    detour = paths[0][:1] + paths[0][1:2] + paths[0]
    return edges, rng.choice([*paths, detour, walk + goal, paths[0][:-1], ""]), paths[0]


SQUARE = ["ab", "bd", "ac", "cd"]
check_route = Exercise(
    "route",
    _judged,
    many(
        80,
        _graph_and_answer,
        (SQUARE, "acd", "abd"),
        (["ba", "bd", "ca", "cd"], "acd", "abd"),
        (SQUARE, "ababd", "abd"),
        (SQUARE, "cdb", "abd"),
    ),
)
check_route.mistakes = {
    lambda edges, answer, label: (
        EXACT if answer == label else INCORRECT
    ): "two paths may be equally "
    "short. A path that does what is asked for is correct, whatever the label says.",
    lambda edges, answer, label: _judged(edges, answer, label, ends=False): "a path between two "
    "other nodes is no answer. The label says where it starts and where it ends.",
    lambda edges, answer, label: _judged(edges, answer, label, long=False): "a longer path is not "
    "a shortest one. The label says how long that is.",
    lambda edges, answer, label: _judged(edges, answer, label, both=False): "an edge can be walked "
    "in both directions: ab is also ba.",
}
