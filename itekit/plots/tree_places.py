"""Where the nodes of a formula's tree stand in a figure, and a look at what is said of each.

A node is given as the path of branches from the root to it, 0 the left or only one, 1 the right
one, as `tree_paths()` of `itekit.logic.formulas.Formula` gives them.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from itekit.plots.style import floats

MOST_NODES = 200

Path = tuple[int, ...]


def path_text(path: Path) -> str:
    """The path in words: "root", or the branches from the root down, such as "0 1"."""
    return " ".join(map(str, path)) or "root"


def tree_places(paths: Sequence[Path]) -> list[tuple[float, int]]:
    """Where each node stands, (x, depth): leaves are one apart, an operator above their middle.

    Raises:
        ValueError: the paths are not those of one tree in prefix order.
    """
    paths = [tuple(path) for path in paths]
    below: dict[Path, list[Path]] = {path: [] for path in paths}
    if paths[:1] != [()] or len(below) < len(paths) or sorted(paths) != paths:
        raise ValueError("paths: expected those of one tree, each once, in prefix order")
    for path in paths[1:]:
        if path[:-1] not in below or path[-1] != len(below[path[:-1]]):
            raise ValueError(f"paths: {path} is there, but not the node above or left of it")
        below[path[:-1]].append(path)
    left = sum(not nodes for nodes in below.values())
    x: dict[Path, float] = {}
    for path in reversed(paths):
        left -= not below[path]
        ends = below[path][:1] + below[path][-1:]
        x[path] = sum(x[end] for end in ends) / 2 if ends else float(left)
    return [(x[path], len(path)) for path in paths]


def checked_weights(each: Mapping[str, Sequence | None], nodes: int) -> np.ndarray | None:
    """The weights as an array [N], after a look at everything that is given for each node.

    Raises:
        ValueError: more than `MOST_NODES` nodes, another number of labels, values, weights, notes
            or hover texts, both values and weights, or a weight below 0 or not finite.
    """
    for name, given in each.items():
        if given is not None and len(given) != nodes:
            raise ValueError(f"{name}: expected one for each of {nodes} nodes, found {len(given)}")
    if nodes > MOST_NODES:
        raise ValueError(f"a tree of {nodes} nodes: at most {MOST_NODES} are drawn")
    if each["weights"] is None:
        return None
    if each["values"] is not None:
        raise ValueError("values and weights: give one of them, both colour the nodes")
    shades = floats("weights", each["weights"], dimensions=1)
    for i in np.flatnonzero(~((shades >= 0) & (shades < np.inf))):
        raise ValueError(f"weights: expected numbers of 0 or more, found {shades[i]:g} at node {i}")
    return shades
