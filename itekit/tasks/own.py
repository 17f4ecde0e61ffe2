"""A task of one's own: what its class has to say, the five ways to train it, and a checklist.

`OwnTask` draws problems, keeps training and test apart up to renaming, and tests with as many names
as in training, with new ones, and with more. For another shape of task, begin at `task.Task`.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import ClassVar
from zlib import crc32

import numpy as np

from itekit.alpha import Renaming, canonical, renamed_among, sample_renamings, used_tokens
from itekit.experiments import Experiment, from_json
from itekit.network import Network
from itekit.random_vectors import seeded
from itekit.tasks.streams import Pair
from itekit.tasks.task import TEST_SEED, Evaluation, Task, at_least
from itekit.tasks.verdicts import EXACT
from itekit.vocabulary import Vocabulary

TRIES = 1000  # problems that are drawn for each one that is wanted
TRAINING, VALIDATION, TEST = range(3)


@dataclass(frozen=True)
class OwnTask(Task):
    """A task whose problems are drawn at random.

    A subclass says `fixed`, `names`, `draw` and `label`; where more than the label is right, also
    `check`. Problems and answers are strings or tuples of tokens.

    Attributes:
        problems: for training; tested: for the test, with each number of names.
    """

    problems: int = 20_000
    tested: int = 200

    fixed: ClassVar[Sequence[str]] = ()  # tokens that are no names
    names: ClassVar[Sequence[str]]  # all names, those of training first
    known: ClassVar[int] = 5  # how many of the names training has
    counts: ClassVar[Sequence[int]] = (3, 4, 5)  # names in a training problem
    tests: ClassVar[Sequence[int]] = (3, 4, 5, 6, 7, 8)  # names in a test problem
    share: ClassVar[float] = 1.0  # the largest share of the problems with one answer
    parts = ("test", "new")

    def __post_init__(self):
        super().__post_init__()
        at_least(self, 1, "problems", "tested")

    def draw(self, rng: random.Random, names: list[str]):
        """A random problem with these names; None where this attempt gave none."""
        raise NotImplementedError

    def label(self, problem):
        """The right answer; of several, one that a renaming renames."""
        raise NotImplementedError

    def form(self, tokens):
        """What two problems, or two answers, share that are one up to renaming."""
        return canonical(tokens, self.names, self.names)

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.fixed, (self.names[: self.known],))

    @property
    def test_vocabulary(self) -> Vocabulary:
        return Vocabulary(self.fixed, (self.names,))

    def sides(self, seed: int) -> tuple[list[Pair], list[Pair]]:
        sides = _sides(self, seed)
        return sides[TRAINING], sides[VALIDATION]

    def pairs(self, part: str = "test") -> list[Pair]:
        """"test": for each number of names; "new": with names that training never had."""
        if part == "test":
            return [pair for count in self.tests for pair in _test(self, count)]
        new = self.names[self.known :]
        count = min(len(new), max(self.counts))
        renamed = []
        for problem, label in _test(self, count):
            used = used_tokens(problem, self.names)
            renaming = Renaming(dict(zip(used, new, strict=False)))
            renamed.append(renaming.apply_pair(problem, label))
        return renamed

    def evaluate(self, evaluation: Evaluation) -> dict:
        """As `Evaluation.test`, by number of names; "new" has the rates with new names."""
        return evaluation.test(self.pairs()) | {"new": evaluation.test(self.pairs("new"))["test"]}


def _drawn(task: OwnTask, seed: int, counts: Sequence[int], names: Sequence[str]) -> Iterator[Pair]:
    """Problems and their labels, without end."""
    rng = random.Random(seed)
    while True:
        problem = task.draw(rng, rng.sample(list(names), rng.choice(list(counts))))
        if problem is not None:
            yield problem, task.label(problem)


@lru_cache(maxsize=8)
def _sides(task: OwnTask, seed: int) -> tuple[list[Pair], ...]:
    drawn = _drawn(task, seed, task.counts, task.names[: task.known])
    most = max(4, int(task.share * task.problems))
    return split(islice(drawn, TRIES * task.problems), task.form, task.problems, most)


@lru_cache(maxsize=32)
def _test(task: OwnTask, count: int) -> list[Pair]:
    """Test problems with a number of names."""
    names = task.names if count > task.known else task.names[: task.known]
    drawn = islice(_drawn(task, TEST_SEED, (count,), names), TRIES * task.tested)
    pairs, answers = {}, Counter()
    most = max(4, int(task.share * task.tested))
    for problem, label in drawn:
        key = task.form(problem)
        answer = task.form(label)
        if _side(key) == TEST and key not in pairs and answers[answer] < most:
            pairs[key] = problem, label
            answers[answer] += 1
        if len(pairs) == task.tested:
            return list(pairs.values())
    raise ValueError(f"only {len(pairs)} of {task.tested} test problems with {count} names")


def split(
    pairs: Iterable[Pair], form: Callable, count: int, most: int
) -> tuple[list[Pair], list[Pair], list[Pair]]:
    """Problems for training, `count` of them, for validation and for the test.

    No two have the same form, whose checksum says on which side a problem is, and no answer belongs
    to more than `most`. ValueError: there are too few different problems.
    """
    sides: tuple[dict, dict, dict] = {}, {}, {}
    answers = Counter()
    for problem, label in pairs:
        key = form(problem)
        answer = form(label)
        side = sides[_side(key)]
        if key not in side and answers[answer] < most:
            side[key] = problem, label
            answers[answer] += 1
        if len(sides[TRAINING]) == count:
            return tuple(list(side.values()) for side in sides)
    raise ValueError(f"only {len(sides[TRAINING])} of {count} different problems: allow more names")


def _side(form) -> int:
    """An eighth of all forms each is for validation and for the test."""
    return {0: TEST, 1: VALIDATION}.get(crc32(repr(form).encode()) % 8, TRAINING)


def five_ways(base: Experiment, streams: str = "encoder") -> dict[str, Experiment]:
    """The ways to train a task: way -> experiment, called NAME/WAY for a base called NAME.

    `streams`: where the streams of symbols look at one another, "encoder" or "both". A step of
    theirs takes longer, so they get a third of the steps, and a tenth where they begin with the
    weights of plain.
    """

    def way(name: str, times: int = 1, start: str = "", **embedding) -> Experiment:
        steps = max(1, base.training.steps // times)
        return replace(
            base,
            name=f"{base.name}/{name}",
            embedding=replace(base.embedding, **embedding),
            model=replace(base.model, aggregation=streams),
            training=replace(base.training, steps=steps),
            start=start,
        )

    return {
        "plain": way("plain", kind="learned"),
        "proposed": way("proposed", kind="dual_part", per_sample=True),
        "alpha-renaming": way("alpha-renaming", kind="alpha_renaming", per_sample=True),
        "symbol-invariant": way("symbol-invariant", 3, kind="invariant"),
        "converted": way("converted", 10, f"{base.name}/plain", kind="invariant"),
    }


def audit(experiment: Experiment) -> dict[str, bool]:
    """The questions of the checklist about an experiment on an `OwnTask`; True is good."""
    task = experiment.task
    training, _ = task.sides(experiment.seed)
    test = task.pairs()
    known, names = (v.interchangeable[0] for v in (task.vocabulary, task.test_vocabulary))
    matrix = Network(experiment).matrix(experiment.readable_vocabulary, seeded(0))
    streams = experiment.embedding.maker.transformer  # in streams all names share one row
    rng = np.random.default_rng(0)
    renamings = [sample_renamings(used_tokens(p, names), names, 1, rng)[0] for p, _ in test]
    renamed = [r.apply_pair(*pair) for r, pair in zip(renamings, test, strict=True)]
    neighbours = zip(test, test[1:], strict=False)
    others = [task.check(problem, other, label) for (problem, label), (_, other) in neighbours]
    first, again = (task.stream(2, experiment.seed).batch(1) for _ in range(2))
    problems = [[problem for problem, _ in side] for side in (test, training)]
    return {
        "vocabulary: the test has all names of training, and more": set(known) < set(names),
        "vocabulary: every token has an embedding of its own": bool(streams)
        or len(matrix.unique(dim=0)) == len(matrix),
        "labels: renaming and solving commute": all(
            task.check(problem, task.label(problem), label) == EXACT for problem, label in renamed
        ),
        "labels: they fit the limit": max(len(y) for _, y in [*training, *test]) < task.limit,
        "checker: most labels of other problems are wrong": others.count(EXACT) < 0.2 * len(others),
        "stream: a batch depends on the seed and the step": all(map(np.array_equal, first, again)),
        "stream: no test problem is in training, whatever its names": not any(
            renamed_among(*problems, names)
        ),
        "experiment: its settings survive JSON": from_json(experiment.to_json(), type(task))
        == experiment,
    }
