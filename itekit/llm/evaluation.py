"""Evaluation of a language model on the problems that our own networks are evaluated on.

Paper, section "Comparison with LLMs": correct and exact answers on the test split, the grid of
atomic propositions × formula length, and alpha-covariance over all renamings within the training
vocabulary (5 names in the paper, 3 at lab size), each as in `itekit.logic_evaluation`. A language
model takes seconds for an answer, so that there are fewer problems.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from itekit.alpha import all_renamings, alpha_covariance, used_tokens
from itekit.datasets.checking import count_verdicts
from itekit.datasets.sets import read_set
from itekit.experiments import experiment
from itekit.llm.answers import comparable, rename_reply
from itekit.llm.asking import ask_all
from itekit.llm.client import LanguageModel, Reply
from itekit.llm.judging import GOOD, count_empty, judge
from itekit.llm.questions import Question
from itekit.pairs import Pair
from itekit.results import RUNS
from itekit.tasks.verdicts import EXACT
from itekit.tasks.vocabularies import PREFIXES

KEEP = RUNS / "llm"


@dataclass(frozen=True)
class Effort:
    """How many problems: of the test split, of each cell of the grid (0: no grid), and of each
    number of propositions for alpha-covariance."""

    samples: int
    cell: int
    renamed: int


EFFORTS: Mapping[str, Effort] = MappingProxyType(
    {"smoke": Effort(3, 0, 1), "lab": Effort(50, 0, 4), "paper": Effort(100_000, 100, 1000)}
)


def evaluation_name(model: str, task: str, held_to_form: bool = False) -> str:
    """What an evaluation is called, whatever its scale."""
    slug = re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-")
    return f"llm-{slug}-{PREFIXES[task]}" + "-held" * held_to_form


class LanguageModelEvaluation:
    """Evaluates a language model on one task; `run` gives the result as JSON.

    Args:
        task: "ltl" or "propositional".
        scale: of the sets, see `itekit.scale`.
        effort: how many problems; the scale's if None.
        held_to_form: hold traces to a JSON schema (ours).
        keep: a folder for folders of replies, so that an interrupted evaluation goes on; KEEP if
            None.
        parallel: questions that are asked at a time.
    """

    def __init__(
        self,
        model: LanguageModel,
        task: str,
        scale: str | None = None,
        effort: Effort | None = None,
        held_to_form: bool = False,
        keep: Path | None = None,
        parallel: int = 1,
        progress: bool = True,
    ):
        self.made = experiment(f"{PREFIXES[task]}/proposed", scale)
        self.model, self.task, self.held_to_form = model, task, held_to_form
        self.effort = effort or EFFORTS[self.made.scale]
        self.name = evaluation_name(model.name, task, held_to_form)
        self.keep, self.parallel, self.progress = Path(keep or KEEP) / self.name, parallel, progress

    def run(self) -> dict:
        """All parts."""
        result = self.test() | self.alpha_covariance()
        return result | (self.generalization() if self.effort.cell else {})

    def ask(self, formulas: Sequence[str], words: str) -> list[Reply]:
        """The reply to each formula."""
        questions = [Question(self.task, formula, self.held_to_form) for formula in formulas]
        progress = words if self.progress else None
        return ask_all(self.model, questions, self.keep, parallel=self.parallel, progress=progress)

    def _pairs(self, kind: str) -> list[Pair]:
        return read_set(self.made.set_name(kind), self.made.scale)["test"]

    def _propositions(self, formula: str) -> int:
        return len(used_tokens(formula, self.made.names))

    def _judged(self, pairs: Sequence[Pair], words: str) -> tuple[list[Reply], list[str]]:
        formulas, labels = zip(*pairs, strict=True)
        replies = self.ask(formulas, words)
        return replies, judge(self.task, formulas, [reply.text for reply in replies], labels)

    def test(self) -> dict:
        """Verdicts on the first problems of the test split, and every reply."""
        pairs = self._pairs("35")[: self.effort.samples]
        replies, verdicts = self._judged(pairs, "test")
        texts = [reply.text for reply in replies]
        good = np.array([verdict in GOOD for verdict in verdicts])
        counts = np.array([self._propositions(formula) for formula, _ in pairs])
        test = {
            "set": self.made.set_name("35"),
            "samples": len(pairs),
            "verdicts": count_verdicts(verdicts),
            "correct": float(good.mean()),
            "exact": verdicts.count(EXACT) / len(verdicts),
            "cut": sum(reply.finish == "length" for reply in replies),
            "seconds_a_reply": float(np.median([reply.seconds for reply in replies])),
            "by_propositions": {
                str(k): {"samples": int((counts == k).sum()), "correct": good[counts == k].mean()}
                for k in sorted(set(counts.tolist()))
            },
        }
        if self.task == "ltl":
            test["empty"] = count_empty(texts, verdicts)
        rows = zip(pairs, texts, verdicts, strict=True)
        said = [{"formula": f, "label": y, "reply": r, "verdict": v} for (f, y), r, v in rows]
        return {"test": test, "replies": said}

    def alpha_covariance(self) -> dict:
        """Mean alpha-covariance by number of propositions, over all renamings."""
        names, chosen = self.made.vocabulary.interchangeable[0], {}
        for formula, _ in self._pairs("35"):
            group = chosen.setdefault(self._propositions(formula), [])
            if len(group) < self.effort.renamed:
                group.append(formula)
        cells = {
            str(k): self._covariance(group, names, f"{k} APs renamed")
            for k, group in sorted(chosen.items())
            if 2 <= k <= len(names)
        }
        part = {"set": self.made.set_name("35"), "vocabulary": len(names), "by_propositions": cells}
        return {"alpha_covariance_training": part}

    def _covariance(self, formulas: Sequence[str], names: Sequence[str], words: str) -> dict:
        many = [list(all_renamings(used_tokens(f, names), names)) for f in formulas]
        asked = [r(f) for f, renamings in zip(formulas, many, strict=True) for r in renamings]
        replies = iter(self.ask(asked, words))
        undone = [[rename_reply(next(replies).text, r.inverse()) for r in rs] for rs in many]
        values = [alpha_covariance([comparable(self.task, text) for text in us]) for us in undone]
        return {
            "mean": float(np.mean(values)),
            "mean_text": float(np.mean([alpha_covariance(us) for us in undone])),
            "samples": len(formulas),
            "formulas": [
                {"formula": f, "value": value, "undone": us}
                for f, value, us in zip(formulas, values, undone, strict=True)
            ],
        }

    def generalization(self) -> dict:
        """Counts of correct answers over the grid, at most `effort.cell` problems a cell."""
        cells: dict[tuple[int, int], list[Pair]] = {}
        for pair in self._pairs("-generalization"):
            group = cells.setdefault((self._propositions(pair[0]), len(pair[0])), [])
            if len(group) < self.effort.cell:
                group.append(pair)
        places = [place for place, group in cells.items() for _ in group]
        _, verdicts = self._judged([pair for group in cells.values() for pair in group], "grid")
        shape = tuple(max(place[axis] for place in places) for axis in (0, 1))
        samples, correct = np.zeros(shape, int), np.zeros(shape, int)
        for (aps, length), verdict in zip(places, verdicts, strict=True):
            samples[aps - 1, length - 1] += 1
            correct[aps - 1, length - 1] += verdict in GOOD
        filled = samples > 0
        grid = {
            "set": self.made.set_name("-generalization"),
            "propositions": list(range(1, shape[0] + 1)),
            "lengths": list(range(1, shape[1] + 1)),
            "samples": samples.tolist(),
            "correct": correct.tolist(),
            "mean_correct_cells": float((correct[filled] / samples[filled]).mean()),
            "mean_correct_samples": float(correct.sum() / samples.sum()),
        }
        return {"generalization": grid}
