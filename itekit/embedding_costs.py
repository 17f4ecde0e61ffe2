"""Embeddings against the size of the vocabulary: learned numbers, and the time to draw them.

Paper, appendix "Computational Efficiency Details", paragraph "Memory overhead"; for the random
vectors by themselves its figure on runtimes (section "Random embedding generation").

Shape letters: V vocabulary, D model, m interchangeable tokens.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median
from time import process_time

import torch

from itekit.embeddings import EmbeddingConfig
from itekit.network import seeded
from itekit.random_vectors import METHODS, random_vectors, sampling_set_size
from itekit.task_settings import LogicExperiment
from itekit.vocabulary import Vocabulary

SIZES = (5, 10, 100, 1000, 10_000)


def with_tokens(vocabulary: Vocabulary, count: int) -> Vocabulary:
    """The same other tokens, and a class of `count` interchangeable ones."""
    return replace(vocabulary, interchangeable=(tuple(f"x{i}" for i in range(count)),))


def smallest_dimension(method: str, count: int, at_least: int = 1) -> int:
    """The smallest d_beta whose sampling set holds `count` vectors."""
    dimensions = at_least
    while (size := sampling_set_size(method, dimensions)) is not None and size < count:
        dimensions += 1
    return dimensions


def vocabulary_costs(made: LogicExperiment, turns: int, sizes: Sequence[int] = SIZES) -> dict:
    """What embeddings of the width of an experiment with dual-part embeddings cost.

    Args:
        made: gives D, the other tokens, and d_beta, which grows where its set is too small.
        turns: of drawing each U; the median counts.

    Returns:
        "sizes"; "d_beta" for each; "bytes" of U; "parameters" and "seconds" by method.
    """
    D, config = made.model.d_model, made.embedding
    widths = [smallest_dimension(config.method, m, config.d_beta) for m in sizes]
    parameters, seconds = {}, {}
    for method in ("plain", "alpha-renaming", "proposed"):
        kind = {"plain": "learned", "alpha-renaming": "alpha_renaming"}.get(method)
        parameters[method], seconds[method] = [], []
        for m, width in zip(sizes, widths, strict=True):
            vocabulary = with_tokens(made.vocabulary, m)
            chosen = EmbeddingConfig(kind) if kind else replace(config, d_beta=width)
            maker = chosen.build(vocabulary, vocabulary, D).train()
            parameters[method].append(sum(p.numel() for p in maker.parameters()))
            generator = seeded(0, m)
            with torch.no_grad():
                call = _caller(maker.matrix, vocabulary, generator)
                seconds[method].append(_median_seconds(call, turns))
    others = made.vocabulary.learned_count
    return {
        "sizes": list(sizes),
        "d_beta": widths,
        "bytes": [4 * D * (others + m) for m in sizes],
        "parameters": parameters,
        "seconds": seconds,
    }


def draw_seconds(counts: Sequence[int], turns: int, dimensions: int = 20) -> dict:
    """Median seconds to draw different random vectors, by method and by their number."""
    generator = seeded(0, dimensions)
    seconds = {
        method: [
            _median_seconds(_caller(random_vectors, method, count, dimensions, generator), turns)
            for count in counts
        ]
        for method in METHODS
    }
    return {"dimensions": dimensions, "counts": list(counts), "seconds": seconds}


def _caller(function: Callable, *arguments) -> Callable[[], object]:
    return lambda: function(*arguments)


def _median_seconds(call: Callable[[], object], turns: int) -> float:
    """Of processor time, after one call to warm up."""
    call()
    times = []
    for _ in range(turns):
        start = process_time()
        call()
        times.append(process_time() - start)
    return median(times)
