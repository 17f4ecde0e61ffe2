"""Greedy and beam-search decoding, all sources of a batch in parallel.

Sequences that have produced the end token (for beams: sources that are settled) leave the batch,
once an eighth of it has finished: leaving copies what is kept of the others.
Logits are the model's own: unscaled cosines where it normalises its features.

Shape letters: B sources, K beams, S source length, T length limit, D model, V vocabulary.
"""

import torch
from torch import Tensor

from itekit.model import Transformer
from itekit.stepping import Averaged, Cached, Uncached
from itekit.vocabulary import Vocabulary

END, START = Vocabulary.end_id, Vocabulary.start_id
GOING = 0.875  # rows leave the batch once no more of it than this goes on


def _check(source: Tensor, limit: int) -> None:
    if source.dim() != 2 or source.shape[1] == 0 or not source.shape[0]:
        raise ValueError(f"sources must be [B, S] with B, S > 0, found {list(source.shape)}")
    if limit < 1:
        raise ValueError(f"the length limit must be 1 or more, found {limit}")


def _stepper(U: Tensor, cached: bool) -> type[Averaged] | type[Cached] | type[Uncached]:
    if U.dim() == 3:
        return Averaged
    return Cached if cached else Uncached


def greedy(
    model: Transformer, U: Tensor, source: Tensor, limit: int, cached: bool = True
) -> Tensor:
    """The most probable token at each position, until the end token or `limit` tokens.

    Args:
        U: [V, D], or [any number, V, D]: the logits are then the mean under all of them.
        source: int64 [B, S], padded with 0.
        limit: largest number of tokens produced, the end token included.
        cached: False recomputes the prefix at each step, for comparison.

    Returns:
        int64 [B, limit]: tokens without the end token, padded with 0.

    Raises:
        ValueError: no sources, or a limit below 1.
    """
    _check(source, limit)
    output = torch.zeros(len(source), limit, dtype=torch.int64, device=source.device)
    with torch.inference_mode():
        _fill(output, _stepper(U, cached)(model, U, source, limit))
    return output


def _fill(output: Tensor, stepper: Averaged | Cached | Uncached) -> None:
    active = torch.arange(len(output), device=output.device)
    tokens = torch.full_like(active, START)
    going = torch.ones_like(active, dtype=torch.bool)
    for position in range(output.shape[1]):
        tokens = stepper.step(tokens, position).argmax(dim=-1)
        going &= tokens != END
        output[active, position] = tokens * going
        if going.sum() <= GOING * len(going):
            rows = going.nonzero()[:, 0]
            if not len(rows):
                break
            stepper.select(rows)
            active, tokens, going = active[rows], tokens[rows], going[rows]


def beam(
    model: Transformer,
    U: Tensor,
    source: Tensor,
    limit: int,
    size: int = 3,
    cached: bool = True,
    published: bool = False,
) -> tuple[Tensor, Tensor]:
    """Beam search with scores log-probability / length (paper, section "LTL Solving": size 3).

    At each step the 2 × K best continuations of a source are looked at: those of the first K that
    end are finished, the K best of the others go on. A source is settled when K finished sequences
    score at least as high as its best unfinished one does now. With size 1 this is greedy decoding.

    Args:
        U: [V, D], or [any number, V, D]: the logits are then the mean under all of them.
        source: int64 [B, S], padded with 0.
        limit: largest number of tokens produced, the end token included.
        size: K, the number of beams.
        cached: False recomputes the prefix at each step, for comparison.
        published: search as the paper's published code does. All of the 2 × K continuations that
            end are finished, and a source is settled when its best unfinished sequence could not
            score higher at the limit either. With size 1 that is not greedy: it passes over ends.

    Returns:
        tokens int64 [B, K, limit], best first, without the end token, padded with 0; and scores
        float [B, K]. Sequences that reached the limit stand only where none finished.

    Raises:
        ValueError: no sources, or a limit or size below 1.
    """
    _check(source, limit)
    if size < 1:
        raise ValueError(f"the beam size must be 1 or more, found {size}")
    search = _Beams(len(source), size, limit, U, published)
    with torch.inference_mode():
        search.run(_stepper(U, cached)(model, U, source, limit, size))
    return search.result()


class _Beams:
    """The beams of all sources that are not settled, and what has finished so far."""

    def __init__(self, sources: int, size: int, limit: int, like: Tensor, published: bool):
        self.limit, self.published, device = limit, published, like.device
        self.active = torch.arange(sources, device=device)
        self.going = torch.ones(sources, dtype=torch.bool, device=device)
        self.tokens = torch.full((sources, size), START, device=device)
        self.prefixes = torch.zeros(sources, size, limit, dtype=torch.int64, device=device)
        self.scores = like.new_full((sources, size), -torch.inf)
        self.scores[:, 0] = 0.0  # all beams start alike: only one of them counts
        self.finished = self.prefixes.clone()
        self.finished_scores = torch.full_like(self.scores, -torch.inf)
        self._results = self.prefixes.clone(), self.finished_scores.clone()

    def run(self, stepper: Averaged | Cached | Uncached) -> None:
        """Search until every source is settled or the limit is reached."""
        for position in range(self.limit):
            logits = stepper.step(self.tokens.flatten(), position)
            came_from = self.extend(torch.log_softmax(logits, dim=-1), position)
            rows = self.drop_settled(position)
            if rows is None:
                stepper.select_prefix(came_from.flatten())
            elif len(rows):
                stepper.select(came_from[rows].flatten())
            else:
                break

    def extend(self, log_probabilities: Tensor, position: int) -> Tensor:
        """Extend by one token; returns for each beam [B, K] the row that it came from."""
        B, K = self.tokens.shape
        totals = self.scores[:, :, None] + log_probabilities.unflatten(0, (B, K))
        V = totals.shape[2]
        scores, index = totals.flatten(1).topk(min(2 * K, K * V), dim=1)
        parents, tokens = index // V, index % V
        prefixes = self._gather(self.prefixes, parents)
        ends = tokens == END

        done = (scores / (position + 1)).masked_fill(~ends, -torch.inf)
        if not self.published:
            done[:, K:] = -torch.inf
        self.finished_scores, best = torch.cat([self.finished_scores, done], 1).topk(K, dim=1)
        self.finished = self._gather(torch.cat([self.finished, prefixes], 1), best)

        self.scores, kept = scores.masked_fill(ends, -torch.inf).topk(K, dim=1)
        self.tokens = tokens.gather(1, kept)
        self.prefixes = self._gather(prefixes, kept)
        self.prefixes[:, :, position] = self.tokens
        first_row = torch.arange(B, device=tokens.device)[:, None] * K
        return first_row + parents.gather(1, kept)

    def drop_settled(self, position: int) -> Tensor | None:
        """Store the results of settled sources; the rows that go on, or None if all stay."""
        last = position + 1 == self.limit
        best_going = self.scores[:, 0] / (self.limit if self.published else position + 1)
        settled = (self.finished_scores[:, -1] >= best_going) | last
        self._store(settled & self.going, position + 1)
        self.going &= ~settled
        if self.going.sum() > GOING * len(self.going):
            return None
        rows = self.going.nonzero()[:, 0]
        names = ("active", "going", "tokens", "prefixes", "scores", "finished", "finished_scores")
        for name in names:
            setattr(self, name, getattr(self, name)[rows])
        return rows

    def _store(self, settled: Tensor, length: int) -> None:
        tokens, scores = self._results
        none = torch.isinf(self.finished_scores[settled, :1])  # at the limit: take what there is
        prefixes, going = self.prefixes[settled], self.scores[settled] / length
        tokens[self.active[settled]] = torch.where(
            none[..., None], prefixes, self.finished[settled]
        )
        scores[self.active[settled]] = torch.where(none, going, self.finished_scores[settled])

    def result(self) -> tuple[Tensor, Tensor]:
        """Tokens [B, K, T] and scores [B, K] of all sources."""
        return self._results

    @staticmethod
    def _gather(sequences: Tensor, index: Tensor) -> Tensor:
        return sequences.gather(1, index[..., None].expand(-1, -1, sequences.shape[2]))
