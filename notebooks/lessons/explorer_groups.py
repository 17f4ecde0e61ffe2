"""One problem under many renamings: what its answers are once the renaming is undone.

Paper, section "Alpha-Covariance". An answer that survives a renaming falls into one group with the
others, so that the groups are the measure as a picture: 1 - (groups - 1) / (renamings - 1).
"""

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

import numpy as np

from itekit.alpha import Renaming, all_renamings, alpha_covariance, sample_renamings
from itekit.evaluation import TEST_SEED
from lessons.explorer_subjects import Subject

VARIANTS = 120  # renamings of a problem at most, as in the evaluations
AT_ONCE = 12  # problems that are decoded in one step


def renamings_of(subject: Subject, problem: str, variants: int = VARIANTS) -> list[Renaming]:
    """All renamings of the problem to names that the network can read, or random ones of them.

    They are those on which `itekit.covariance` measures it.

    Raises:
        ValueError: the problem has no names, or more than the network can read.
    """
    used, names = subject.used(problem), subject.readable_names
    if not used:
        raise ValueError(f"this {subject.noun} has no name that could be renamed")
    if math.perm(len(names), len(used)) <= variants or len(used) > len(names):
        return list(all_renamings(used, names))
    return sample_renamings(used, names, variants, np.random.default_rng(TEST_SEED))


@dataclass
class Groups:
    """The answers so far, with the renaming undone, in groups that are the same.

    Attributes:
        undone: the answers, one for each renaming.
        compared: what each of them is compared as.
    """

    undone: list[str] = field(default_factory=list)
    compared: list[Hashable] = field(default_factory=list)

    def sorted(self) -> list[tuple[str, list[int]]]:
        """The first answer of each group and the numbers of its renamings, the largest first."""
        members: dict[Hashable, list[int]] = {}
        for number, value in enumerate(self.compared):
            members.setdefault(value, []).append(number)
        groups = sorted(members.values(), key=len, reverse=True)
        return [(self.undone[numbers[0]], numbers) for numbers in groups]

    @property
    def covariance(self) -> float:
        """Alpha-covariance over the answers so far.

        Raises:
            ValueError: fewer than two answers.
        """
        return alpha_covariance(self.compared)


def grouped(
    subject: Subject, problem: str, renamings: list[Renaming], draw: int = 0
) -> Iterator[Groups]:
    """Answer the problem under each renaming, some at a time; what there is after each step."""
    groups = Groups()
    for start in range(0, len(renamings), AT_ONCE):
        part = renamings[start : start + AT_ONCE]
        answers = subject.answers([renaming(problem) for renaming in part], draw)
        for renaming, answer in zip(part, answers, strict=True):
            undone = renaming.inverse()(answer)
            groups.undone.append(undone)
            groups.compared.append(subject.compared(undone))
        yield groups
