"""What a task of one's own needs beside its experiment: two sides apart, and a checklist.

A task's `check` gives a verdict from a problem, an answer and a label; its `form` is what two
problems share that are one up to renaming.
"""

import json
from collections import Counter
from zlib import crc32

import numpy as np

from itekit.alpha import renamed_among, sample_renamings, used_tokens
from itekit.tasks.verdicts import EXACT


def split(pairs, form, count: int, most: int):
    """Problems for training, `count` of them, and others for the test.

    No two have the same form, whose checksum says on which side a problem is, and no answer belongs
    to more than `most`. ValueError: there are too few different problems.
    """
    sides, answers = ({}, {}), Counter()
    for problem, label in pairs:
        key, answer = form(problem), form(label)
        side = sides[crc32(repr(key).encode()) % 8 == 0]
        if key not in side and answers[answer] < most:
            side[key] = problem, label
            answers[answer] += 1
        if len(sides[0]) == count:
            return [list(side.values()) for side in sides]
    raise ValueError(f"only {len(sides[0])} of {count} different problems: allow more names")


def audit(made, sides, check, label) -> dict[str, bool]:
    """The questions of the checklist about an experiment and its two sides; True is good."""
    from itekit.data import stream  # these load torch, which no module of tasks does
    from itekit.network import Network
    from itekit.random_vectors import seeded

    names, known = (v.interchangeable[0] for v in (made.test_vocabulary, made.vocabulary))
    readable, streams = made.readable_vocabulary, made.embedding.kind == "invariant"
    U = Network(made).matrix(readable, seeded(0))  # in streams all names share one row
    training, test = sides
    rng, pairs = np.random.default_rng(0), zip(test, test[1:], strict=False)
    moved = [(sample_renamings(used_tokens(p, names), names, 1, rng)[0], p, y) for p, y in test]
    mixed = np.mean([check(p, other, y) == EXACT for (p, y), (_, other) in pairs])
    once, again = (stream(made).batch(1).source for _ in range(2))
    problems = [[problem for problem, _ in side] for side in (test, training)]
    leaks = any(renamed_among(*problems, names))
    copy = type(made).from_json(json.loads(json.dumps(made.to_json())))
    return {
        "vocabulary: the test has all names of training, and more": set(known) < set(names),
        "vocabulary: every token has an embedding of its own": streams
        or len(U.unique(dim=0)) == len(U),
        "labels: renaming and solving commute": all(
            check(r(p), label(r(p)), r(y)) == EXACT for r, p, y in moved
        ),
        "labels: they fit the limit": max(len(y) for _, y in training + test) < made.limit,
        "checker: most labels of other problems are wrong": bool(mixed < 0.2),
        "stream: a batch depends on the seed and the step": once.equal(again),
        "stream: no test problem is in training, whatever its names": not leaks,
        "experiment: its settings survive JSON": copy == made,
    }
