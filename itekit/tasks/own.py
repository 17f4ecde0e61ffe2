"""What a task of one's own needs beside its class (`itekit.tasks.task`): two sides apart, tests for
each number of names, the five ways to train it, and a checklist.

A problem and its label are strings or tuples of tokens. The *form* of a problem is what two
problems share that are one up to renaming, such as `alpha.canonical`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from zlib import crc32

import numpy as np

from itekit.alpha import renamed_among, sample_renamings, used_tokens
from itekit.experiments import Experiment, from_json
from itekit.network import Network
from itekit.random_vectors import seeded
from itekit.tasks.streams import Pair
from itekit.tasks.verdicts import EXACT

WAYS = ("plain", "proposed", "alpha-renaming", "symbol-invariant", "converted")


def split(
    pairs: Iterable[Pair], form: Callable, count: int, most: int | None = None
) -> tuple[list[Pair], list[Pair]]:
    """Problems for training, `count` of them, and others for the test, an eighth as many.

    No two have the same form, whose checksum says on which side a problem is, and no answer belongs
    to more than `most`. ValueError: there are too few different problems.
    """
    sides: tuple[dict, dict] = {}, {}
    answers = Counter()
    for problem, label in pairs:
        key, answer = form(problem), form(label)
        side = sides[crc32(repr(key).encode()) % 8 == 0]
        if key not in side and (most is None or answers[answer] < most):
            side[key] = problem, label
            answers[answer] += 1
        if len(sides[0]) == count:
            return list(sides[0].values()), list(sides[1].values())
    raise ValueError(f"only {len(sides[0])} of {count} different problems: allow more names")


def tests_by_names(
    problems: Callable[[int], Iterable[Pair]], counts: Iterable[int], form: Callable, each: int
) -> list[Pair]:
    """Test problems, `each` of them for each number of names; `problems(number)` draws them.

    They are from the test side of `split`, so that training has none of them under any names.
    """
    pairs = []
    for number in counts:
        pairs += split(problems(number), form, 11 * each)[1][:each]
    return pairs


def five_ways(base: Experiment, streams: str = "encoder") -> dict[str, Experiment]:
    """The ways to train a task: way -> experiment, called NAME/WAY for a base called NAME.

    `streams`: where the streams of symbols look at one another, "encoder" or "both". A step of
    theirs takes longer, so they get a third of the steps, and a tenth where they begin with the
    weights of plain.
    """

    def way(name: str, times: int = 1, start: str = "", **embedding) -> Experiment:
        training = replace(base.training, steps=max(1, base.training.steps // times))
        return replace(
            base,
            name=f"{base.name}/{name}",
            embedding=replace(base.embedding, **embedding),
            model=replace(base.model, aggregation=streams),
            training=training,
            start=start,
        )

    plain = f"{base.name}/plain"
    return {
        "plain": way("plain", kind="learned"),
        "proposed": way("proposed", kind="dual_part", per_sample=True),
        "alpha-renaming": way("alpha-renaming", kind="alpha_renaming", per_sample=True),
        "symbol-invariant": way("symbol-invariant", 3, kind="invariant"),
        "converted": way("converted", 10, plain, kind="invariant"),
    }


def audit(experiment: Experiment, label: Callable) -> dict[str, bool]:
    """The questions of the checklist about an experiment; True is good.

    `label(problem)` is the right answer, which need not be unique.
    """
    task = experiment.task
    training, _ = task.sides(experiment.seed)
    test = list(task.pairs())
    known, names = (v.interchangeable[0] for v in (task.vocabulary, task.test_vocabulary))
    matrix = Network(experiment).matrix(experiment.readable_vocabulary, seeded(0))
    streams = experiment.embedding.maker.transformer  # in streams all names share one row
    renamed = [_renamed(pair, names, number) for number, pair in enumerate(test)]
    others = [check == EXACT for check in _other_labels(task, test)]
    first, again = (task.stream(2, experiment.seed).batch(1) for _ in range(2))
    problems = [[problem for problem, _ in side] for side in (test, training)]
    answers = [answer for _, answer in [*training, *test]]
    return {
        "vocabulary: the test has all names of training, and more": set(known) < set(names),
        "vocabulary: every token has an embedding of its own": bool(streams)
        or len(matrix.unique(dim=0)) == len(matrix),
        "labels: renaming and solving commute": all(
            task.check(problem, label(problem), answer) == EXACT for problem, answer in renamed
        ),
        "labels: they fit the limit": max(map(len, answers)) < task.limit,
        "checker: most labels of other problems are wrong": float(np.mean(others)) < 0.2,
        "stream: a batch depends on the seed and the step": all(
            np.array_equal(a, b) for a, b in zip(first, again, strict=True)
        ),
        "stream: no test problem is in training, whatever its names": not any(
            renamed_among(*problems, names)
        ),
        "experiment: its settings survive JSON": from_json(experiment.to_json(), type(task))
        == experiment,
    }


def _renamed(pair: Pair, names: Sequence[str], seed: int) -> Pair:
    """A pair under a random renaming."""
    used = used_tokens(pair[0], names)
    (renaming,) = sample_renamings(used, names, 1, np.random.default_rng(seed))
    return renaming.apply_pair(*pair)


def _other_labels(task, pairs: Sequence[Pair]) -> list[str]:
    """The verdict on each problem's next neighbour's label."""
    neighbours = zip(pairs, pairs[1:], strict=False)
    return [task.check(problem, other, label) for (problem, label), (_, other) in neighbours]
