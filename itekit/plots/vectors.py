"""Random vectors in the plane and in space.

Paper, section "Random embedding generation": its table of methods (normal distribution,
neighbouring points, hypercube vertices).

Shape letters: N vectors, P vectors of the whole sampling set.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from itekit.plots.show import COLOURS, GREY, compact, floats, style

MOST_ARROWS = 60  # beyond this only the end points are drawn


def _checked(name: str, vectors: Any, columns: tuple[int, ...]) -> np.ndarray:
    array = floats(name, vectors, dimensions=2)
    if array.shape[1] not in columns:
        expected = f"expected vectors with {' or '.join(map(str, columns))} dimensions"
        raise ValueError(f"{name}: {expected}, found shape {array.shape}")
    return array


def _named(points: np.ndarray, names: str = "xyz") -> dict[str, np.ndarray]:
    return dict(zip(names, compact(points).T, strict=False))


def random_vectors_figure(
    vectors: Any, *, labels: Sequence[str] | None = None, possible: Any = None, title: str = ""
) -> go.Figure:
    """Vectors in the plane or in space, as arrows from the origin (points when there are over 60).

    Args:
        vectors: float [N, 2] or [N, 3].
        labels: N names, written at the heads.
        possible: float [P, 2] or [P, 3], the whole sampling set, drawn faintly behind.

    Raises:
        ValueError: another number of dimensions or of labels.
    """
    points = _checked("vectors", vectors, (2, 3))
    flat = points.shape[1] == 2
    names = None if labels is None else [str(label) for label in labels]
    if names is not None and len(names) != len(points):
        found = f"one for each of {len(points)} vectors, found {len(names)}"
        raise ValueError(f"labels: expected {found}")
    figure, scatter = go.Figure(), go.Scatter if flat else go.Scatter3d
    reach = float(np.abs(points).max())
    if possible is not None:
        behind = _checked("possible", possible, (points.shape[1],))
        reach = max(reach, float(np.abs(behind).max()))
        # in space, see-through markers would erase parts of the arrows
        look = {"size": 9, "symbol": "circle-open"} if flat else {"size": 3, "symbol": "circle"}
        mark = {"color": GREY, "opacity": 0.6 if flat else 1, **look}
        figure.add_trace(scatter(**_named(behind), mode="markers", marker=mark, hoverinfo="skip"))
    arrows = len(points) <= MOST_ARROWS
    if arrows:
        figure.add_traces(_arrows(points))
    mode = "markers+text" if names else "markers"
    if arrows and names and not flat:
        mode = "text"  # in space, invisible markers would erase what is behind them
    outside = [
        f"{'top' if y >= 0 else 'bottom'} {'right' if x > 0 else 'left' if x < 0 else 'center'}"
        for x, y in points[:, :2]
    ]
    where = ", ".join(f"%{{{axis}:.3g}}" for axis in "xyz"[: points.shape[1]])
    ends = scatter(
        **_named(points),
        mode=mode,
        text=names,
        textposition=outside if flat else "top center",
        textfont={"size": 14},
        marker={"color": COLOURS[0], "size": 7 if flat else 4, "opacity": 0 if arrows else 1},
        hovertemplate=("%{text}: " if names else "") + f"({where})<extra></extra>",
    )
    figure.add_trace(ends)
    _frame(figure, 1.2 * reach or 1.0, flat)
    figure.update_layout(showlegend=False)
    style(figure, title=title, width=460 if flat else 540, height=480)
    return figure if flat else figure.update_layout(margin={"l": 0, "r": 0, "b": 0, "t": 40})


def _arrows(points: np.ndarray) -> list:
    """The traces that draw an arrow from the origin to each of the points."""
    steps = np.zeros((len(points), 3, points.shape[1]))  # origin, point, gap for each
    steps[:, 1], steps[:, 2] = points, np.nan
    lines, colour = _named(steps.reshape(-1, points.shape[1])), COLOURS[0]
    if points.shape[1] == 2:
        head = {"symbol": "arrow", "angleref": "previous", "size": np.tile([0, 13, 0], len(points))}
        head |= {"color": colour, "opacity": 1, "line": {"width": 0}}
        line = {"color": colour, "width": 2}
        return [go.Scatter(**lines, mode="lines+markers", line=line, marker=head, hoverinfo="skip")]
    heads = go.Cone(
        **_named(points),
        **_named(points, "uvw"),
        anchor="tip",
        sizemode="raw",
        sizeref=0.15,
        colorscale=[[0, colour], [1, colour]],
        showscale=False,
        hoverinfo="skip",
    )
    shaft = {"color": colour, "width": 5}
    return [go.Scatter3d(**lines, mode="lines", line=shaft, hoverinfo="skip"), heads]


def _frame(figure: go.Figure, reach: float, flat: bool) -> None:
    """Axes from -reach to reach, equally scaled, with lines through the origin."""
    axis = {"range": [-reach, reach], "dtick": 1 if reach <= 4 else None}
    if flat:
        axis |= {"zeroline": True, "zerolinecolor": GREY, "zerolinewidth": 1, "constrain": "domain"}
        figure.update_xaxes(**axis, title_text="dimension 1")
        figure.update_yaxes(**axis, title_text="dimension 2", scaleanchor="x")
        return
    axes = {
        f"{name}axis": axis | {"title": {"text": f"dimension {i}"}}
        for i, name in enumerate("xyz", 1)
    }
    figure.update_scenes(**axes, aspectmode="cube", camera_eye={"x": 1.9, "y": 0.8, "z": 0.7})
    figure.update_scenes(camera_center={"x": 0, "y": 0, "z": -0.1})
