"""Greedy and beam-search decoding, all sources of a batch in parallel, and networks as solvers.

Logits are the model's own: unscaled cosines where it normalises its features. Sequences that have
produced the end token (for beams: sources that are settled) stay in the batch until an eighth of it
has finished, because removing rows copies what is kept of the others. On a GPU, where looking means
waiting, that is looked at every few steps.

Shape letters: B sources, K beams, R rows (B, or B × K), S source length, T length limit, D model,
H heads, V vocabulary.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import groupby

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from tqdm.auto import tqdm

from itekit.alpha import Tokens, as_type_of
from itekit.data import Batch
from itekit.model import Past, Transformer
from itekit.random_vectors import seeded
from itekit.tasks.streams import Pair, encode_texts
from itekit.tasks.task import TEST_SEED
from itekit.vocabulary import Vocabulary

END, START = Vocabulary.end_id, Vocabulary.start_id
UNFINISHED = 0.875  # finished rows leave the batch once no larger share of it is unfinished
LOOK_EVERY = 1, 16  # (CPU, GPU): steps between looks at what has finished
DECODED = 2**13, 2**19  # (CPU, GPU): formulas × beams × length decoded at once


class _Steps:
    """The steps of decoding, keys and values kept; see `greedy`."""

    def __init__(self, model: Transformer, U: Tensor, source: Tensor, limit: int):
        if source.dim() != 2 or not source.numel():
            raise ValueError(f"sources must be [B, S] with B, S > 0, found {list(source.shape)}")
        if limit < 1:
            raise ValueError(f"the length limit must be 1 or more, found {limit}")
        self.model, self.U, self.source, self.limit = model, U, source, limit
        self.look_every = LOOK_EVERY[source.device.type != "cpu"]
        self.encoded, self.past = model.encode(U, source), Past()

    def step(self, tokens: Tensor) -> Tensor:
        """Logits [R, V] after one more token in each row, `tokens` [R]."""
        return self.model.predict(self.U, tokens[:, None], self.encoded, self.past)[:, 0]

    def leave(self, going: Tensor, position: int) -> Tensor | None:
        """Indices of unfinished rows if the batch should shrink now, else None."""
        if (position + 1) % self.look_every or going.sum() > UNFINISHED * len(going):
            return None
        return going.nonzero()[:, 0]

    def select(self, rows: Tensor, sources: Tensor | None = None) -> None:
        """Reorder the cache: row i continues row rows[i]; keep only `sources` (None: all)."""
        self.encoded, past_rows = self.encoded.select(rows, sources)
        self.past.select(past_rows)


@torch.inference_mode()
def greedy(
    model: Transformer,
    U: Tensor,
    source: Tensor,
    limit: int,
    chances: Tensor | None = None,
    scale: float = 1.0,
) -> Tensor:
    """The most probable token at each position, until the end token or `limit` tokens.

    Args:
        model: in evaluation mode.
        U: [V, D].
        source: int64 [B, S], padded with 0.
        limit: largest number of tokens produced, the end token included.
        chances: numbers from 0 to 1, [B, limit], one for each token: it is then drawn by its
            probability under scale × logits.

    Returns:
        int64 [B, limit]: tokens without the end token, padded with 0.
    """
    steps = _Steps(model, U, source, limit)
    with torch.inference_mode(False):  # callers may change the answers in place
        output = torch.zeros(len(source), limit, dtype=torch.int64, device=source.device)
    active = torch.arange(len(source), device=source.device)
    tokens = torch.full_like(active, START)
    going = torch.ones_like(active, dtype=torch.bool)
    for position in range(limit):
        logits = steps.step(tokens)
        if chances is None:
            tokens = logits.argmax(dim=-1)
        else:
            sums = (scale * logits.double()).softmax(-1).cumsum(-1)
            chance = chances[active, position, None] * sums[:, -1:]
            tokens = torch.searchsorted(sums, chance, right=True)[:, 0]
        going = going & (tokens != END)
        output[active, position] = tokens * going
        rows = steps.leave(going, position)
        if rows is not None:
            if not len(rows):
                break
            steps.select(rows, rows)
            active, tokens, going = active[rows], tokens[rows], going[rows]
    return output


@torch.inference_mode()
def beam(
    model: Transformer, U: Tensor, source: Tensor, limit: int, size: int = 3, scale: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Beam search with scores log-probability / length (paper, section "LTL Solving": size 3).

    At each step the 2 × K best continuations of a source are looked at. Among the first K, those
    that end are finished. Of all 2 × K, the K best that do not end go on. A source is settled when
    K finished sequences score at least as high as its best unfinished one does now. With size 1
    this is greedy decoding.

    Args:
        model, U, source, limit: as for `greedy`.
        size: K, the number of beams.
        scale: probabilities are those of scale × logits; cosines alone make flat ones.

    Returns:
        tokens int64 [B, K, limit], best first, without the end token, padded with 0; and scores
        float [B, K]. Sequences that reached the limit stand only where none finished; where
        some did, but fewer than K, the rest is empty, with the score minus infinity.
    """
    if size < 1:
        raise ValueError(f"the beam size must be 1 or more, found {size}")
    return _beam(_Steps(model, U, source, limit), size, scale)


@torch.inference_mode()
def published_search(model: Transformer, U: Tensor, source: Tensor, limit: int) -> Tensor:
    """The search of copies in the paper's published code: int64 [B, limit], as `greedy`.

    One beam, and not greedy: of the two best continuations those that end are finished, another
    goes on, and a source is settled when its unfinished sequence could not score higher at the
    limit.
    """
    return _beam(_Steps(model, U, source, limit), 1, published=True)[0][:, 0]


def _beam(steps: _Steps, size: int, scale: float = 1.0, published: bool = False):
    """See `beam` and `published_search`."""
    limit, B, K, device = steps.limit, len(steps.source), size, steps.source.device
    active = torch.arange(B, device=device)
    with torch.inference_mode(False):
        answers = torch.zeros(B, K, limit, dtype=torch.int64, device=device)
        answer_scores = torch.full((B, K), -torch.inf, dtype=steps.U.dtype, device=device)
    going = torch.ones_like(active, dtype=torch.bool)  # is not settled
    tokens = torch.full((B, K), START, device=device)
    scores = answer_scores.clone()
    scores[:, 0] = 0.0  # all beams start alike: only one of them counts
    prefixes, finished, finished_scores = answers.clone(), answers.clone(), answer_scores.clone()
    for position in range(limit):
        logits = steps.step(tokens.flatten())
        totals = scores[..., None] + torch.log_softmax(scale * logits, dim=-1).unflatten(0, (-1, K))
        V = totals.shape[2]
        best, index = totals.flatten(1).topk(2 * K, dim=1)
        parents, tokens = index // V, index % V
        prefixes, ends = prefixes.take_along_dim(parents[..., None], 1), tokens == END

        done = (best / (position + 1)).masked_fill(~ends | ~going[:, None], -torch.inf)
        if not published:
            done[:, K:] = -torch.inf
        finished_scores, order = torch.cat([finished_scores, done], 1).topk(K, dim=1)
        finished = torch.cat([finished, prefixes], 1).take_along_dim(order[..., None], 1)

        scores, order = best.masked_fill(ends, -torch.inf).topk(K, dim=1)
        tokens, prefixes = tokens.gather(1, order), prefixes.take_along_dim(order[..., None], 1)
        prefixes[:, :, position] = tokens
        came_from = torch.arange(len(active), device=device)[:, None] * K + parents.gather(1, order)

        length = limit if published else position + 1
        going = going & (finished_scores[:, -1] < scores[:, 0] / length)
        rows = steps.leave(going, position)
        if rows is None:
            steps.select(came_from.flatten())
            continue
        answers[active], answer_scores[active] = finished, finished_scores
        if not len(rows):
            return answers, answer_scores
        steps.select(came_from[rows].flatten(), rows)
        state = active, going, tokens, scores, prefixes, finished, finished_scores
        state = [x[rows] for x in state]
        active, going, tokens, scores, prefixes, finished, finished_scores = state
    none = finished_scores[:, :1].isinf()  # at the limit: take what there is
    finished = finished.masked_fill(finished_scores.isinf()[..., None], 0)
    answers[active] = torch.where(none[..., None], prefixes, finished)
    answer_scores[active] = torch.where(none, scores / limit, finished_scores)
    return answers, answer_scores


class Solver:
    """A network and an embedding matrix for a vocabulary: problems in, answers out.

    A problem is a string, whose characters are its tokens, or a tuple of tokens; the answer is of
    the same kind. Paper, section "LTL Solving": beam search with 3 beams.

    Args:
        network: a `Network` in evaluation mode: maker of U (`matrix`), model and loss.
        draw: number of the random draw of U; seed: of the draws.
        vocabulary, beams: by default all that the network can read, and the task's.
        progress: show a bar.
        sample: draw answers by their probability with this seed, instead of searching the best; a
            problem's answer does not depend on what else is asked.
        scale: of the logits, for probabilities; by default 1 in a search, as the paper, and that of
            the loss in samples.
    """

    def __init__(
        self,
        network,
        draw: int = 0,
        vocabulary: Vocabulary | None = None,
        beams: int | None = None,
        progress: bool = False,
        sample: int | None = None,
        scale: float | None = None,
        seed: int = TEST_SEED,
    ):
        self.network, self.experiment, self.progress = network, network.experiment, progress
        self.task = self.experiment.task
        self.vocabulary = vocabulary or self.experiment.readable_vocabulary
        self.beams = self.task.beam if beams is None else beams
        self.draw, self.sample = draw, sample
        if self.beams < 1 or not (scale is None or 0 < scale < math.inf):
            options = f"{self.beams} beams, scale {scale}"
            raise ValueError(f"expected a beam, and a scale above 0, found {options}")
        self.scale = scale or 1.0
        if sample is not None:
            self.beams = 1
            self.scale = scale or getattr(network.loss, "scale", None) or 1.0
        self.U = network.matrix(self.vocabulary, seeded(seed, draw))

    def check_readable(self, problem: Tokens) -> None:
        """ValueError that names a token without an embedding, or a tree too deep for positions."""
        tokens = self.vocabulary.encode(problem)
        model = self.network.model
        if model.config.tree_positions and len(tokens) > model.deepest:
            model.tree_paths(torch.tensor([tokens], device=self.U.device))

    def can_read(self, problem: Tokens) -> bool:
        """Whether the network has an embedding for every token, and a position for it."""
        try:
            self.check_readable(problem)
        except ValueError:
            return False
        return True

    def answers(self, problems: Sequence[Tokens], skip: bool = False) -> list[Tokens]:
        """The best answer to each problem.

        Give all problems at once: one at a time they take 8 to 12 times as long. ValueError says
        why one cannot be read; with `skip`, its answer is empty.
        """
        if not skip:
            for problem in problems:
                self.check_readable(problem)
        beams = zip(problems, self.beam_answers(problems), strict=True)
        return [answers[0] if answers else as_type_of(problem, ()) for problem, answers in beams]

    def beam_answers(self, problems: Sequence[Tokens]) -> list[list[Tokens]]:
        """The answers of all beams to each problem, best first; none where it cannot be read.

        Each different problem, for a canonical task after renaming, is decoded once.
        """
        names = self.vocabulary.interchangeable[0]
        renamed = {}
        for problem in dict.fromkeys(filter(self.can_read, problems)):
            renaming = self.task.renaming(problem, names)
            renamed[problem] = renaming(problem), renaming.inverse()
        solved = self._decode({source for source, _ in renamed.values()})
        answers = {p: [undo(a) for a in solved[source]] for p, (source, undo) in renamed.items()}
        return [answers.get(problem, []) for problem in problems]

    def _decode(self, problems: set[Tokens]) -> dict[Tokens, list[Tokens]]:
        """The answers of all beams to each problem, those of like lengths decoded together."""

        def alike(problem: Tokens) -> tuple[int, int]:  # what one call of a search has one of
            names = self.task.names_of(problem) if self.experiment.embedding.maker.extends else None
            return self.task.longest(len(problem)), names or 0

        answers = {}
        at_once = DECODED[self.U.device.type != "cpu"] // self.beams
        ordered = sorted(problems, key=lambda problem: (alike(problem), len(problem), problem))
        hidden = None if self.progress else True  # None: where there is no terminal or notebook
        with tqdm(total=len(ordered), disable=hidden, unit="problem") as bar:
            for (limit, names), group in groupby(ordered, alike):
                group = list(group)
                U = self.U[: self.vocabulary.learned_count + names] if names else self.U
                while group:
                    longest = len(group[min(255, len(group) - 1)]) + 1
                    size = max(1, at_once // longest)
                    part, group = group[:size], group[size:]
                    beams = self._search(U, encode_texts(part, self.vocabulary), limit)
                    for problem, rows in zip(part, beams.tolist(), strict=True):
                        texts = [self.vocabulary.decode(i for i in row if i > END) for row in rows]
                        texts = [text for n, text in enumerate(texts) if text or n == 0]
                        answers[problem] = [as_type_of(problem, text) for text in texts]
                    bar.update(len(part))
        return answers

    def _search(self, U: Tensor, sources: np.ndarray, limit: int) -> Tensor:
        """The answers of all beams to sources [B, S]: int64 [B, K, limit]."""
        source = torch.from_numpy(sources).to(U.device)
        model = self.network.model
        if self.sample is not None:
            chances = self._chances(sources, limit)
            return greedy(model, U, source, limit, chances, self.scale)[:, None]
        if self.task.published:
            return published_search(model, U, source, limit)[:, None]
        if self.beams == 1:
            return greedy(model, U, source, limit)[:, None]
        return beam(model, U, source, limit, self.beams, self.scale)[0]

    def _chances(self, sources: np.ndarray, limit: int) -> Tensor:
        """Uniform numbers for sampling [B, limit], seeded by the sample and the problem."""
        rows = [[i for i in row if i] for row in sources.tolist()]
        draws = [seeded(TEST_SEED, self.sample, *row) for row in rows]
        chances = [torch.rand(limit, generator=draw, dtype=torch.float64) for draw in draws]
        return torch.stack(chances).to(self.U.device)

    def loss(self, pairs: Sequence[Pair]) -> float:
        """Mean cross-entropy of the unscaled logits on the labels of problems, for one draw."""
        packed = self.task.pack(pairs, self.vocabulary)
        return cross_entropy(self.network, self.U, map(Batch.of, packed.by_length(128)))


@torch.no_grad()
def cross_entropy(network, U: Tensor, batches: Iterable[Batch]) -> float:
    """Mean cross-entropy of the unscaled logits over all tokens of some batches."""
    total, count = 0.0, 0
    for batch in batches:
        logits = network.logits(U, batch).flatten(0, 1)
        targets = batch.target.flatten()
        losses = F.cross_entropy(logits, targets.to(U.device), ignore_index=0, reduction="sum")
        total += losses.item()
        count += int((targets != Vocabulary.pad_id).sum())
    return total / max(1, count)
