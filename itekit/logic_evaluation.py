"""Evaluation on LTL and propositional problems: what the paper's tables and heatmaps hold.

Paper, sections "LTL Solving" (correct and exact answers on the test split), "Generalization" (the
grid of atomic propositions × formula length), "Alpha-Covariance" (over all renamings within the
training vocabulary, and over `variants` random ones within the larger vocabulary). Greedy decoding
is judged beside the beam search. By the paper's definition a trace that stands for no word at all
(`&a!a;{1}`) is correct; "solved" leaves such answers out (notebook 08).

Shape letters: G rows (numbers of atomic propositions) and L columns (lengths) of the grid.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from itekit.alpha import used_tokens
from itekit.covariance import covariance
from itekit.datasets.checking import check_all, count_verdicts, solved
from itekit.datasets.sets import read_set
from itekit.files import write_json
from itekit.network import Network
from itekit.pairs import Pair
from itekit.solving import Solver, choose_solver
from itekit.tasks.verdicts import EXACT, GOOD
from itekit.vocabulary import Vocabulary

MISTAKES = 30


class LogicEvaluation:
    """Evaluates one network; `run` gives the result as JSON.

    Args:
        network: of a logic experiment, in evaluation mode.
        keep: a folder for finished parts, so that an interrupted evaluation goes on from there.
        progress: show bars.
    """

    def __init__(self, network: Network, keep: Path | None = None, progress: bool = True):
        self.network, self.experiment = network, network.experiment
        self.keep, self.progress = keep, progress
        self.names = self.experiment.names

    def run(self) -> dict:
        """All parts; "alpha_covariance" is None for a network that cannot read more tokens."""
        result = self._part("test", self.test)
        result |= self._part("generalization", self.generalization)
        result |= self._part("alpha-covariance", self.alpha_covariance)
        return result

    def _part(self, name: str, make: Callable[[], dict]) -> dict:
        path = self.keep and Path(self.keep) / f"evaluation-{name}.json"
        fingerprint = _fingerprint(self.network)
        if path and path.exists():
            found = json.loads(path.read_text(encoding="utf-8"))
            if found["fingerprint"] == fingerprint:
                return found["part"]
        part = make()
        if path:
            write_json(path, {"fingerprint": fingerprint, "part": part})
        return part

    def _verdicts(self, pairs: Sequence[Pair], answers: Sequence[str]) -> list[str]:
        items = [(f, answer, label) for (f, label), answer in zip(pairs, answers, strict=True)]
        progress = "text" if self.progress else None
        return check_all(self.experiment.task, items, progress=progress)

    def _greedy(self, solver: Solver, pairs: Sequence[Pair]) -> tuple[list[str], list[str]]:
        """What greedy decoding answers with the same embeddings, and the verdicts."""
        alone = Solver(self.network, solver.draw, solver.vocabulary, 1, self.progress)
        answers = alone.answers([formula for formula, _ in pairs])
        return answers, self._verdicts(pairs, answers)

    def _rates(self, verdicts: Sequence[str], answers: Sequence[str]) -> dict[str, float]:
        """The shares of correct answers, of those about some word, and of exact ones."""
        done = solved(self.experiment.task, verdicts, answers)
        return {
            "correct": sum(verdict in GOOD for verdict in verdicts) / len(verdicts),
            "solved": sum(done) / len(done),
            "exact": verdicts.count(EXACT) / len(verdicts),
        }

    def propositions(self, formula: str) -> int:
        """The number of different atomic propositions of a formula."""
        return len(used_tokens(formula, self.names))

    def test(self) -> dict:
        """Verdicts on the test split of the set without perturbation or limit."""
        name = self.experiment.set_name("35")
        pairs = read_set(name, self.experiment.scale)["test"][: self.experiment.samples]
        vocabulary = self.experiment.vocabulary
        solver, losses = choose_solver(self.network, pairs, vocabulary, self.progress)
        answers = solver.answers([formula for formula, _ in pairs])
        verdicts = self._verdicts(pairs, answers)
        greedy_answers, greedy = self._greedy(solver, pairs)
        good = np.array([verdict in GOOD for verdict in verdicts])
        counts = np.array([self.propositions(formula) for formula, _ in pairs])
        wrong = [
            {"formula": f, "label": label, "answer": answer, "verdict": verdict}
            for (f, label), answer, verdict in zip(pairs, answers, verdicts, strict=True)
            if verdict not in GOOD
        ]
        test = {
            "set": name,
            "samples": len(pairs),
            "verdicts": count_verdicts(verdicts),
            **self._rates(verdicts, answers),
            "greedy": self._rates(greedy, greedy_answers),
            "by_propositions": {
                str(k): {"samples": int((counts == k).sum()), "correct": good[counts == k].mean()}
                for k in sorted(set(counts.tolist()))
            },
        }
        return {
            "draws": [{"cross_entropy": loss} for loss in losses],
            "median_draw": solver.draw,
            "test": test,
            "mistakes": wrong[:MISTAKES],
        }

    def generalization(self) -> dict:
        """Counts of correct, solved and exact answers over the grid: [G][L] each."""
        name = self.experiment.set_name("-generalization")
        pairs = read_set(name, self.experiment.scale)["test"]
        solver, _ = choose_solver(self.network, pairs, None, self.progress)
        answers = solver.answers([formula for formula, _ in pairs])
        verdicts = self._verdicts(pairs, answers)
        done = solved(self.experiment.task, verdicts, answers)
        greedy = self._greedy(solver, pairs)[1]
        cells = [(self.propositions(f), len(f)) for f, _ in pairs]
        rows = list(range(1, max(aps for aps, _ in cells) + 1))
        columns = list(range(1, max(length for _, length in cells) + 1))
        counted = {
            "samples": [1] * len(pairs),
            "correct": [verdict in GOOD for verdict in verdicts],
            "solved": done,
            "exact": [verdict == EXACT for verdict in verdicts],
            "correct_greedy": [verdict in GOOD for verdict in greedy],
        }
        tables = {key: np.zeros((len(rows), len(columns)), int) for key in counted}
        for key, values in counted.items():
            np.add.at(tables[key], tuple(np.array(cells).T - 1), values)
        samples, correct = tables["samples"], tables["correct"]
        filled = samples > 0
        grid = {
            "set": name,
            "propositions": rows,
            "lengths": columns,
            **{key: table.tolist() for key, table in tables.items()},
            "mean_correct_cells": float((correct[filled] / samples[filled]).mean()),
            "mean_correct_samples": float(correct.sum() / samples.sum()),
            "by_propositions": {
                str(aps): float(correct[aps - 1].sum() / samples[aps - 1].sum()) for aps in rows
            },
        }
        return {"generalization": grid}

    def alpha_covariance(self) -> dict:
        """Mean alpha-covariance by number of propositions, in both vocabularies."""
        inside = self.experiment.vocabulary
        own = read_set(self.experiment.set_name("35"), self.experiment.scale)["test"]
        parts = {"alpha_covariance_training": self._covariances(own, inside, "35")}
        readable, kind = self.experiment.readable_vocabulary, "-alpha-covariance"
        larger = None
        if len(readable) > len(inside):
            pairs = read_set(self.experiment.set_name(kind), self.experiment.scale)["test"]
            larger = self._covariances(pairs, readable, kind)
        return parts | {"alpha_covariance": larger}

    def _covariances(self, pairs: Sequence[Pair], vocabulary: Vocabulary, kind: str) -> dict:
        names = vocabulary.interchangeable[0]
        chosen: dict[int, list[Pair]] = {}
        for pair in pairs:
            group = chosen.setdefault(self.propositions(pair[0]), [])
            if len(group) < self.experiment.renamed:
                group.append(pair)
        solver, _ = choose_solver(self.network, pairs, vocabulary, self.progress)
        means = {
            str(k): covariance(solver, group, names, self.experiment.variants)
            for k, group in sorted(chosen.items())
            if 2 <= k <= len(names)
        }
        return {
            "set": self.experiment.set_name(kind),
            "vocabulary": len(names),
            "variants": self.experiment.variants,
            "by_propositions": means,
        }


def _fingerprint(network: Network) -> str:
    """Tells apart networks and their settings."""
    digest = hashlib.sha256(json.dumps(network.experiment.to_json(), sort_keys=True).encode())
    for name, module in network.modules.items():
        for key, value in sorted(module.state_dict().items()):
            digest.update(f"{name}.{key}".encode())
            digest.update(value.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
