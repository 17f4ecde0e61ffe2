"""Random vectors in the plane and in space (paper, section "Random embedding generation").

Shape letters: N vectors, P vectors of the whole sampling set.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from itekit.plots.show import COLOURS, GREY, arrow, compact, style

MOST_ARROWS = 60  # beyond this only the end points are drawn


def _named(points: np.ndarray, names: str = "xyz") -> dict[str, np.ndarray]:
    return dict(zip(names, compact(points).T, strict=False))


def random_vectors_figure(
    vectors: Any, *, labels: Sequence[str] | None = None, possible: Any = None, title: str = ""
) -> go.Figure:
    """Vectors [N, 2] or [N, 3] as arrows from the origin (points when there are over 60).

    `possible`: [P, 2] or [P, 3], the whole sampling set, drawn faintly behind.
    """
    points = np.asarray(vectors, float)
    count, dimensions = points.shape
    flat = dimensions == 2
    figure, scatter = go.Figure(), go.Scatter if flat else go.Scatter3d
    reach = float(np.abs(points).max())
    if possible is not None:
        behind = np.asarray(possible, float)
        reach = max(reach, float(np.abs(behind).max()))
        # in space, see-through markers would erase parts of the arrows
        look = {"size": 9, "symbol": "circle-open"} if flat else {"size": 3, "symbol": "circle"}
        mark = {"color": GREY, "opacity": 0.6 if flat else 1, **look}
        figure.add_trace(scatter(**_named(behind), mode="markers", marker=mark, hoverinfo="skip"))
    arrows = count <= MOST_ARROWS
    if arrows:
        figure.add_traces(_arrows(points))
    mode = "markers+text" if labels else "markers"
    if arrows and labels and not flat:
        mode = "text"  # in space, invisible markers would erase what is behind them
    outside = [
        f"{'top' if y >= 0 else 'bottom'} {'right' if x > 0 else 'left' if x < 0 else 'center'}"
        for x, y in points[:, :2]
    ]
    where = ", ".join(f"%{{{axis}:.3g}}" for axis in "xyz"[:dimensions])
    ends = scatter(
        **_named(points),
        mode=mode,
        text=labels,
        textposition=outside if flat else "top center",
        textfont={"size": 14},
        marker={"color": COLOURS[0], "size": 7 if flat else 4, "opacity": 0 if arrows else 1},
        hovertemplate=("%{text}: " if labels else "") + f"({where})<extra></extra>",
    )
    figure.add_trace(ends)
    reach = 1.2 * reach or 1.0
    axis = {"range": [-reach, reach], "dtick": 1 if reach <= 4 else None}
    if flat:
        axis |= {"zeroline": True, "zerolinecolor": GREY, "zerolinewidth": 1, "constrain": "domain"}
        figure.update_xaxes(**axis, title_text="dimension 1")
        figure.update_yaxes(**axis, title_text="dimension 2", scaleanchor="x")
        return style(figure, title=title, width=460, height=480, showlegend=False)
    axes = {
        f"{name}axis": {**axis, "title": {"text": f"dimension {i}"}}
        for i, name in enumerate("xyz", 1)
    }
    scene = {**axes, "aspectmode": "cube", "camera_center": {"x": 0, "y": 0, "z": -0.1}}
    figure.update_scenes(**scene, camera_eye={"x": 1.9, "y": 0.8, "z": 0.7})
    margin = {"l": 0, "r": 0, "b": 0, "t": 40}
    return style(figure, title=title, width=540, height=480, showlegend=False, margin=margin)


def _arrows(points: np.ndarray) -> list:
    """The traces that draw an arrow from the origin to each of the points."""
    steps = np.zeros((len(points), 3, points.shape[1]))  # origin, point, gap for each
    steps[:, 1], steps[:, 2] = points, np.nan
    lines, colour = _named(steps.reshape(-1, points.shape[1])), COLOURS[0]
    if points.shape[1] == 2:
        return [go.Scatter(**lines, **arrow(colour, np.tile([0, 13, 0], len(points))))]
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
