"""What a checker can say about answers, and how that is counted.

Paper, sections "LTL Solving", "Propositional Logic" and, for counts by names and length,
"Generalization". Shape letters: N answers, G numbers of names, L lengths.

From best to worst: an exact answer is also correct, and everything else is wrong. A trace that
stands for no word at all, such as `{&a!a}`, satisfies every formula: by the paper's definition it
is correct, but it solves nothing. Its verdict is *vacuous*.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from itekit.alpha import used_tokens

EXACT = "exact"  # the label, up to what the task calls the same
CORRECT = "correct"  # another answer that solves the problem
VACUOUS = "vacuous"  # correct by the definition alone: it satisfies the formula by no word
INCORRECT = "incorrect"  # a well-formed answer that does not solve the problem
INVALID = "invalid"  # no answer: it does not parse, or names what the problem does not hold
TIME_OUT = "time-out"  # the check took too long; nothing is known
UNSATISFIABLE = "unsatisfiable"  # of a problem without a label
VERDICTS = (EXACT, CORRECT, VACUOUS, INCORRECT, INVALID, TIME_OUT)
SOLVED = (EXACT, CORRECT)
GOOD = (*SOLVED, VACUOUS)  # what the paper counts as correct


def count_names(pairs: Sequence[tuple], names: Sequence[str]) -> np.ndarray:
    """How many of the names each problem holds: int64 [N]."""
    return np.array([len(used_tokens(problem, names)) for problem, _ in pairs])


@dataclass(frozen=True, eq=False)
class Judged:
    """Answers to problems, each with what the checker says about it."""

    pairs: Sequence[tuple]
    answers: Sequence
    verdicts: Sequence[str]

    def __post_init__(self):
        for (problem, _), verdict in zip(self.pairs, self.verdicts, strict=True):
            if verdict not in VERDICTS:
                known = ", ".join(VERDICTS)
                raise ValueError(
                    f"the checker says {verdict!r} of {problem!r}: expected one of {known}"
                )

    @cached_property
    def marks(self) -> dict[str, np.ndarray]:
        """bool [N] each: "correct" by the paper's definition; not vacuous too; the label itself."""
        marks = {"correct": GOOD, "solved": SOLVED, "exact": EXACT}
        return {name: np.isin(self.verdicts, kinds) for name, kinds in marks.items()}

    @property
    def good(self) -> np.ndarray:
        """bool [N]: whether each answer is correct."""
        return self.marks["correct"]

    @property
    def solved(self) -> np.ndarray:
        """bool [N]: whether it is correct and not vacuous."""
        return self.marks["solved"]

    def rates(self, rows: np.ndarray | slice = slice(None)) -> dict[str, float]:
        """The shares of correct answers, of those that are not vacuous, and of exact ones."""
        return {name: float(marks[rows].mean()) for name, marks in self.marks.items()}

    def mistakes(self, most: int) -> list[tuple]:
        """The first problems without a correct answer: (problem, label, answer, verdict)."""
        rows = np.flatnonzero(~self.good)[:most]
        return [(*self.pairs[i], self.answers[i], self.verdicts[i]) for i in rows]

    def table(self, names: Sequence[str], **others) -> dict:
        """Verdicts, rates, `others`, and the rate of correct answers by number of names."""
        counts = count_names(self.pairs, names)
        good = {str(k): self.good[counts == k] for k in np.unique(counts)}
        rows = {k: {"samples": len(g), "correct": float(g.mean())} for k, g in good.items()}
        verdicts = {verdict: list(self.verdicts).count(verdict) for verdict in VERDICTS}
        table = {"samples": len(self.pairs), "verdicts": verdicts} | self.rates() | others
        return table | {"by_propositions": rows}

    def grid(self, names: Sequence[str], **others: np.ndarray) -> dict:
        """Counts over names × length, [G][L] each, and the mean rates of correct answers.

        Of correct, solved and exact answers, and of what is true in `others`, bool [N].
        """
        aps = count_names(self.pairs, names)
        lengths = np.array([len(problem) for problem, _ in self.pairs])
        tables = {"samples": np.ones_like(self.good), **self.marks, **others}
        for key, values in tables.items():
            tables[key] = np.zeros((aps.max(), lengths.max()), dtype=int)
            np.add.at(tables[key], (aps - 1, lengths - 1), values)
        samples, correct = tables["samples"], tables["correct"]
        filled = samples > 0
        totals = samples.sum(axis=1)
        rates = correct.sum(axis=1) / np.maximum(totals, 1)
        return {
            "propositions": list(range(1, aps.max() + 1)),
            "lengths": list(range(1, lengths.max() + 1)),
            **{key: table.tolist() for key, table in tables.items()},
            "mean_correct_cells": float((correct[filled] / samples[filled]).mean()),
            "mean_correct_samples": float(correct.sum() / samples.sum()),
            "by_propositions": {str(row + 1): float(rates[row]) for row in np.flatnonzero(totals)},
        }


def packed_bits(marks: np.ndarray) -> str:
    """bool [N] as hexadecimal digits, a bit for each, for a file."""
    return np.packbits(marks).tobytes().hex()


def unpacked_bits(digits: str, count: int) -> np.ndarray:
    """The bool [count] that `packed_bits` packed."""
    return np.unpackbits(np.frombuffer(bytes.fromhex(digits), np.uint8))[:count].astype(bool)


def paired_interval(first: np.ndarray, second: np.ndarray) -> tuple[float, float, float]:
    """How much more of the same problems is right in the first marks, and its 95 % interval.

    bool [N] each. The interval is the mean's, plus and minus 1.96 standard errors, after one more
    problem for each side (Bonett and Price 2012), so that it has a width where all marks agree.
    """
    gains = np.asarray(first, float) - np.asarray(second, float)
    more = np.append(gains, (1, -1))
    half = 1.959964 * more.std() / math.sqrt(len(more))
    return float(gains.mean()), float(more.mean() - half), float(more.mean() + half)
