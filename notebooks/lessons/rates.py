"""Rates of right answers with 95 % intervals."""

from scipy.stats import binomtest


def wilson(k: int, n: int) -> tuple[float, float]:
    """The 95 % interval of a rate, k of n."""
    return binomtest(int(k), int(n)).proportion_ci(method="wilson")
