"""Exercises of notebook 05: edit distances, decoding a batch, a larger vocabulary."""

from operator import ne

import torch
from rapidfuzz.distance import OSA, Levenshtein
from torch.nn.functional import normalize

from lessons.exercises import Exercise, many, random_tensor
from lessons.lesson_03 import as_it_is, matrix


def _edited(rng, string):
    """The string after a few edits: swaps of neighbours among them."""
    for _ in range(rng.randint(0, 3)):
        i, new = rng.randrange(len(string) + 1), rng.choice("abcd")
        a, b = string[i : i + 1], string[i + 1 : i + 2]
        edit = rng.choice((b + a, b + a, new + b, new + a + b, b))  # swaps, other, more, fewer
        string = string[:i] + edit + string[i + 2 :]
    return string


def _string(rng, longest=5):
    return "".join(rng.choices("abcd", k=rng.randint(1, longest)))


def _mean(distance, strings, copies):
    return sum(map(distance, strings, copies)) / len(strings)


def _strings_and_copies(rng):
    strings = [_string(rng) for _ in range(rng.randint(1, 3))]
    return strings, [_edited(rng, string) for string in strings]


check_cell_mean = Exercise(
    "cell_mean",
    lambda strings, copies: _mean(Levenshtein.distance, strings, copies),
    many(40, _strings_and_copies, (["ab"], ["a"])),
)
check_cell_mean.mistakes = {
    lambda s, c: _mean(ne, s, c): "that is the share of wrong copies. The cell says how *many* "
    "edits a copy is away from its string.",
    lambda s, c: _mean(lambda a, b: sum(map(ne, a, b)), s, c): "positions are compared one by one. "
    "A letter left out moves all that follow, and letters at the end have no partner.",
}


def _two_strings(rng):
    string = _string(rng)
    return string, _edited(rng, string)


check_distance_with_swaps = Exercise(
    "distance_with_swaps",
    OSA.distance,
    many(60, _two_strings, ("ab", "ba"), ("ab", "bc"), ("ab", "ca"), ("a", "aaa")),
)
check_distance_with_swaps.mistakes = {
    Levenshtein.distance: "a swap of two neighbours still counts as two edits.",
}
check_distance_with_swaps.signs = {
    lambda answer, expected, a, b: answer < expected and min(len(a), len(b)) == 1: "one letter has "
    "no neighbour to be swapped with. Does an index of -1 take the last letter?",
    lambda answer, expected, a, b: answer < expected: "a swap may be used only where it makes both "
    "letters right: where each is the other's.",
}


class Writer:
    """A model for `decode`: writes its strings, token by token, and notes what it was asked."""

    def __init__(self, plans):
        self.plans, self.asked_again, self.calls, self.ended = plans, None, 0, set()

    def __call__(self, prefixes):
        self.calls, tokens = self.calls + 1, {}
        for row, prefix in prefixes.items():
            written, plan = "".join(prefix), self.plans[row] + "."
            if row in self.ended or not plan.startswith(written):
                self.asked_again = row
            tokens[row] = (plan + "?" * len(written))[len(written)]
        self.ended |= {row for row, token in tokens.items() if token == "."}
        return tokens

    def __repr__(self):
        return f"a model that writes {self.plans}"


def _decode(model, rows, limit):
    done, going = {}, {row: "" for row in range(rows)}
    while going and limit:
        limit -= 1
        for row, token in model(going).items():
            if token == ".":
                done[row] = going.pop(row)
            else:
                going[row] += token
    return [(done | going)[row] for row in range(rows)]


def _judge_decode(answer, model, rows, limit):
    expected = [plan[:limit] for plan in model.plans]
    if [*map("".join, answer)] != expected:
        return f"the strings should be {expected}"
    if model.asked_again is not None:
        return f"row {model.asked_again} had ended and was asked again: drop rows that are done"
    if model.calls > limit:
        return f"the model was asked {model.calls} times, the limit is {limit}: ask for all at once"
    return None


def _plans(rng):
    plans = [_string(rng, 4)[rng.randint(0, 1) :] for _ in range(rng.randint(1, 3))]
    return Writer(plans), len(plans), rng.randint(2, 6)


check_decode = Exercise("decode", _decode, many(30, _plans), judge=_judge_decode)
check_decode.mistakes = {
    lambda model, rows, limit: [(p + ".")[:limit] for p in model.plans]: "the end token is kept: "
    "it says that the copy is complete, it is not a part of it.",
    lambda model, rows, limit: [p[: min(limit, *map(len, model.plans))] for p in model.plans]: (
        "all rows stop as soon as one has ended."
    ),
}


def _extend(U, special, d_beta, betas, shared=normalize, random=normalize):
    """U with more rows; what is done to their shared part and to their random part."""
    alpha = shared(U[special : special + 1, :-d_beta]).expand(len(betas), -1)
    return torch.cat([U, normalize(torch.cat([alpha, random(betas)], dim=1))])


def _matrix_and_more(rng):
    special, d_alpha, d_beta = rng.randint(1, 2), rng.randint(2, 3), rng.randint(1, 3)
    L, alpha = random_tensor(rng, special, d_alpha), random_tensor(rng, d_alpha)
    betas, more = (random_tensor(rng, rng.randint(1, 2), d_beta) for _ in range(2))
    return matrix(L, [alpha], [betas]), special, d_beta, more


check_extend = Exercise("extend", _extend, many(25, _matrix_and_more))
check_extend.mistakes = {
    lambda *a: _extend(*a, random=as_it_is): "the random parts are not normalised before they are "
    "put beside the shared part (f_bn).",
    lambda *a: _extend(*a, shared=as_it_is): "in U the shared part has length 1/√2: normalise it "
    "again, and the whole row.",
    lambda U, *a: _extend(U, *a)[len(U) :]: "these are the new rows only; the old ones stay above.",
}
