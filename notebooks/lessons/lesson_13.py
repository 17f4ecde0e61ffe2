"""Exercises of notebook 13: weights against vocabulary size, a cache in bytes and in tokens."""

import math

from lessons.exercises import Exercise, many


def _dual_part(n, m, D, d_beta):
    return (n + 1) * (D - d_beta)


def _vocabulary(rng):
    D = rng.choice((64, 128, 132))
    return rng.randint(3, 14), rng.choice((5, 10, 100, 1000)), D, rng.randint(3, 16)


check_weights = Exercise(
    "weights",
    lambda *a: {"plain": (a[0] + a[1]) * a[2], "proposed": _dual_part(*a)},
    many(30, _vocabulary),
)
check_weights.mistakes = {
    lambda n, m, D, d: {"plain": (n + m) * D, "proposed": (n + 1) * D}: "the random part is drawn "
    "and not learned: learned rows have D - d_beta numbers.",
    lambda n, m, D, d: {"plain": (n + m) * D, "proposed": (n + m) * (D - d)}: "all interchangeable "
    "tokens share one learned row: their number does not come in.",
    lambda n, m, D, d: {"plain": (n + m) * D, "proposed": n * (D - d)}: "the row that the "
    "interchangeable tokens share is learned too.",
}


def _half(elsewhere, n, D):
    return max(0, math.ceil(elsewhere / D) - n)


def _model(rng):
    D = rng.choice((64, 128, 132))
    return D * rng.randint(20, 5000) + rng.choice((0, 0, 1, D // 2)), rng.randint(3, 14), D


check_half = Exercise("half", _half, many(30, _model, (640, 3, 64)))
check_half.mistakes = {
    lambda elsewhere, n, D: math.ceil(elsewhere / D): "the other tokens have rows too.",
    lambda elsewhere, n, D: elsewhere // D - n: "rounded down: with so many tokens the embedding "
    "is still a little smaller than the rest.",
    lambda elsewhere, n, D: math.ceil(elsewhere / 2 / D) - n: "half of *all* weights, and the "
    "embedding is a part of them: it has to hold as many as the rest does.",
}


def _cache(layers, D, rows, length, source):
    return 4 * 2 * layers * D * rows * (length + source)


def _decoding(rng):
    D, rows = rng.choice((64, 128)), rng.choice((1, 3, 96, 288))
    return rng.choice((2, 4, 6, 8)), D, rows, rng.randint(8, 128), rng.randint(5, 50)


check_cache_bytes = Exercise("cache_bytes", _cache, many(30, _decoding))
check_cache_bytes.mistakes = {
    lambda *a: _cache(*a) // 2: "keys *and* values are kept.",
    lambda *a: _cache(*a[:4], 0): "the keys and values of the source are kept as well, for "
    "cross-attention.",
    lambda *a: _cache(*a) // 4: "that is how many numbers there are: a float32 has 4 bytes.",
    lambda layers, *a: _cache(1, *a): "each layer has its own keys and values.",
}


def _tokens(lengths, cached, together=False):
    steps = [max(lengths)] * len(lengths) if together else lengths
    return sum(T if cached else T * (T + 1) // 2 for T in steps)


def _lengths(rng):
    return [rng.randint(1, 40) for _ in range(rng.randint(1, 4))], rng.random() < 0.5


check_tokens_decoded = Exercise("tokens_decoded", _tokens, many(30, _lengths))
check_tokens_decoded.mistakes = {
    lambda lengths, cached: _tokens(lengths, True): "without a cache step t runs t tokens through "
    "the layer: 1 + 2 + ... + T.",
    lambda lengths, cached: sum(T if cached else T * T for T in lengths): "step t runs t tokens "
    "through the layer, not T: early steps are short.",
    lambda lengths, cached: _tokens(lengths, cached, together=True): "every answer is run as long "
    "as the longest one. A row that has ended is dropped.",
    lambda lengths, cached: sum(T if cached else T * (T - 1) // 2 for T in lengths): "step t runs "
    "t tokens through the layer, the newest one included.",
}
