"""A trained network as a solver: formulas in, answers out, decoded in large batches.

Paper, section "LTL Solving": beam search with 3 beams; appendix "Sensitivity to randomness in
embeddings": of some random draws of the embedding matrix, the one of median loss is used.

Shape letters: B formulas, K beams, T length limit, V vocabulary, D model.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from tqdm.auto import tqdm

from itekit.alpha import canonical_renaming
from itekit.decoding import beam, greedy
from itekit.evaluation import TEST_SEED, median_draw
from itekit.network import Network, seeded
from itekit.pairs import Pair, encode_texts
from itekit.vocabulary import Vocabulary

DECODING_TOKENS = 8192  # formulas × beams × length decoded at once
LOSS_PROBLEMS = 512  # problems on which a draw's loss is measured


class Solver:
    """A network and an embedding matrix for a vocabulary.

    Args:
        network: a network of a logic experiment, in evaluation mode.
        draw: number of the random draw of U, or several: the logits are averaged over them.
        vocabulary: default: all that the network can read (`readable_vocabulary`).
        beams: default: the experiment's.
        progress: show a bar.
    """

    def __init__(
        self,
        network: Network,
        draw: int | Sequence[int] = 0,
        vocabulary: Vocabulary | None = None,
        beams: int | None = None,
        progress: bool = False,
    ):
        self.network, self.experiment, self.progress = network, network.experiment, progress
        self.vocabulary = vocabulary or self.experiment.readable_vocabulary
        self.beams = self.experiment.beam if beams is None else beams
        self.draw, draws = draw, [draw] if isinstance(draw, int) else draw
        drawn = [network.matrix(self.vocabulary, seeded(TEST_SEED, number)) for number in draws]
        self.U = drawn[0] if len(drawn) == 1 else torch.stack(drawn)

    def can_read(self, formula: str) -> bool:
        """Whether the network has an embedding for every token."""
        return set(formula) <= set(self.vocabulary.tokens)

    def answers(self, formulas: Sequence[str]) -> list[str]:
        """The best answer to each formula; empty where the network cannot read it.

        Each different formula is decoded once; for a canonical experiment, each different one
        after renaming.
        """
        return [beams[0] if beams else "" for beams in self.beam_answers(formulas)]

    def beam_answers(self, formulas: Sequence[str]) -> list[list[str]]:
        """The answers of all beams to each formula, best first; none where it cannot be read."""
        undo = {}
        for formula in dict.fromkeys(filter(self.can_read, formulas)):
            renaming = self._renaming(formula)
            undo[formula] = renaming(formula), renaming.inverse()
        distinct = sorted(dict.fromkeys(source for source, _ in undo.values()), key=len)
        solved = dict(zip(distinct, self._decode(distinct), strict=True))
        return [
            [undo[formula][1](answer) for answer in solved[undo[formula][0]]]
            if formula in undo
            else []
            for formula in formulas
        ]

    def _renaming(self, formula: str):
        names = self.vocabulary.interchangeable[0]
        used = formula if self.experiment.canonical else ""
        return canonical_renaming(used, names, names)

    def _decode(self, formulas: list[str]) -> list[list[str]]:
        """Answers to different formulas in order of length."""
        found: list[list[str]] = []
        with tqdm(total=len(formulas), disable=not self.progress, unit="formula") as bar:
            while len(found) < len(formulas):
                longest = len(formulas[min(len(found) + 255, len(formulas) - 1)]) + 1
                size = max(1, DECODING_TOKENS // (longest * self.beams))
                part = formulas[len(found) : len(found) + size]
                found += self._decode_batch(part)
                bar.update(len(part))
        return found

    def _decode_batch(self, formulas: list[str]) -> list[list[str]]:
        model, limit = self.network.model, self.experiment.limit
        source = self._sources(formulas)
        if self.beams == 1:
            tokens = greedy(model, self.U, source, limit)[:, None]
        else:
            tokens = beam(model, self.U, source, limit, self.beams)[0]
        return [[self._text(row) for row in rows] for rows in tokens.tolist()]

    def _sources(self, formulas: list[str]) -> Tensor:
        tokens, lengths = encode_texts(formulas, self.vocabulary)
        source = torch.zeros(len(tokens), tokens.shape[1] + 1, dtype=torch.int64)
        source[:, :-1] = torch.from_numpy(tokens.astype("int64"))
        source[torch.arange(len(tokens)), torch.from_numpy(lengths)] = Vocabulary.end_id
        return source.to(self.U.device)

    def _text(self, row: list[int]) -> str:
        return "".join(self.vocabulary.tokens[i] for i in row if i > Vocabulary.end_id)

    @torch.no_grad()
    def loss(self, pairs: Sequence[Pair]) -> float:
        """Mean cross-entropy of the unscaled logits on the labels of some problems."""
        problems = self.experiment.problems(pairs, self.vocabulary)
        total, count = 0.0, 0
        order = problems.source_lengths.argsort(kind="stable")
        for start in range(0, len(order), 128):
            batch = problems.batch(order[start : start + 128]).to(self.U.device)
            logits, targets = self.network.logits(self.U, batch)
            real = targets != Vocabulary.pad_id
            total += cross_entropy(logits[real], targets[real], reduction="sum").item()
            count += int(real.sum())
        return total / count


def choose_solver(
    network: Network,
    pairs: Sequence[Pair],
    vocabulary: Vocabulary | None = None,
    progress: bool = False,
) -> tuple[Solver, list[float]]:
    """The solver of the draw with the (upper) median loss on problems, and all draws' losses.

    Problems that the network cannot read are left out. Embeddings that are not random have one
    draw.
    """
    draws = network.experiment.draws if network.experiment.embedding.kind == "dual_part" else 1
    solvers = [Solver(network, draw, vocabulary, progress=progress) for draw in range(draws)]
    known = set(solvers[0].vocabulary.tokens)
    readable = [pair for pair in pairs if set(pair[0] + pair[1]) <= known][:LOSS_PROBLEMS]
    losses = [solver.loss(readable) for solver in solvers] if readable else [0.0] * draws
    return solvers[median_draw(losses)], losses
