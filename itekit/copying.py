"""Copies of the strings of an evaluation grid, and how far they are from the strings.

Paper, appendix "Copying Task Experiments": greedy decoding, edit distance. Its published code
decodes by another search, which an experiment can ask for.

Shape letters: N strings, S length, V vocabulary.
"""

import numpy as np
import torch
from rapidfuzz.distance import Levenshtein
from torch import Tensor

from itekit.data import Batch, copying_batch
from itekit.decoding import beam, greedy
from itekit.network import Network, seeded
from itekit.vocabulary import Vocabulary

VALIDATION_SEED = 1_000_033  # for choices: the strings and draws of a test stay unseen


def edit_distances(predictions: Tensor, targets: Tensor) -> np.ndarray:
    """Levenshtein distance of each row, padding (0) left out.

    Args:
        predictions: int64 [N, any]; targets: int64 [N, any].

    Returns:
        int64 [N].
    """
    pairs = zip(predictions.tolist(), targets.tolist(), strict=True)
    return np.array([Levenshtein.distance(_strip(p), _strip(t)) for p, t in pairs], dtype=np.int64)


def _strip(row: list[int]) -> list[int]:
    return [token for token in row if token > Vocabulary.end_id]


def copy_strings(network: Network, U: Tensor, batch: Batch) -> Tensor:
    """Copies of a batch's sources by the experiment's search: int64 [N, limit].

    The limit is twice the longest source; for the published search twice the grid's longest
    strings, and their end.
    """
    experiment = network.experiment
    if experiment.search == "published":
        limit = 2 * experiment.grid.maximum + 1
        return beam(network.model, U, batch.source, limit, size=1, published=True)[0][:, 0]
    return greedy(network.model, U, batch.source, 2 * (batch.source.shape[1] - 1))


def length_batch(network: Network, length: int, uniques: list[int], seed: int) -> Batch:
    """All strings of one length of the experiment's grid, cell after cell."""
    experiment = network.experiment
    strings = np.concatenate([experiment.grid.strings(u, length, seed) for u in uniques])
    lengths = np.full(len(strings), length)
    device = next(network.model.parameters()).device
    return copying_batch(strings, lengths, experiment.test_vocabulary).to(device)


def readable(network: Network) -> tuple[Vocabulary, int]:
    """The vocabulary to evaluate a network on, and how many characters of it it can read.

    Ordinary embeddings cannot read characters beyond those of training.
    """
    experiment = network.experiment
    if experiment.embedding.kind == "learned":
        return experiment.vocabulary, experiment.data.characters
    return experiment.test_vocabulary, experiment.test_characters


@torch.no_grad()
def longest_edit_distance(network: Network, strings: int = 4) -> float:
    """Mean edit distance of copies of the grid's longest strings, for one random draw.

    A glance while training, which may see no string of that length: `strings` validation strings
    for each number of characters that the network can read; the length itself if it can read none
    of them. The network is in evaluation mode.
    """
    grid, (vocabulary, known) = network.experiment.grid, readable(network)
    length = grid.axis[-1]
    uniques = [u for u in grid.axis if u <= known]
    if not uniques:
        return float(length)
    batch = length_batch(network, length, uniques, VALIDATION_SEED)
    some = slice(None, None, max(1, grid.samples // strings))
    U = network.matrix(vocabulary, seeded(VALIDATION_SEED, 0))
    copies = copy_strings(network, U, Batch(batch.source[some], batch.target[some]))
    return float(edit_distances(copies, batch.target[some]).mean())
