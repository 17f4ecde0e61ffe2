"""Random vectors in the plane and in space, and the time that it takes to draw them.

Paper, section "Random embedding generation": its table of methods (normal distribution,
neighbouring points, hypercube vertices) and its figure of runtimes.

Shape letters: N vectors, P vectors of the whole sampling set.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from itekit.plots.style import COLOURS, DASHES, GREY, SYMBOLS, compact, floats, style

MOST_ARROWS = 60  # beyond this only the end points are drawn


def _points(name: str, vectors: Any, columns: tuple[int, ...]) -> np.ndarray:
    array = floats(name, vectors, dimensions=2)
    if array.shape[1] not in columns:
        expected = " or ".join(str(column) for column in columns)
        raise ValueError(
            f"{name}: expected vectors with {expected} dimensions, found shape {array.shape}"
        )
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: row {int(np.argwhere(~np.isfinite(array))[0, 0])} is not finite")
    return array


def _named(points: np.ndarray) -> dict[str, np.ndarray]:
    return dict(zip("xyz", compact(points).T, strict=False))


def _from_origin(points: np.ndarray) -> np.ndarray:
    """[N, d] -> [3 N, d]: origin, point, gap for each, so that one trace draws all the arrows."""
    lines = np.zeros((len(points), 3, points.shape[1]))
    lines[:, 1] = points
    lines[:, 2] = np.nan
    return lines.reshape(-1, points.shape[1])


def _arrows(points: np.ndarray) -> list:
    """The traces that draw an arrow from the origin to each of the points."""
    lines = _named(_from_origin(points))
    colour = COLOURS[0]
    if points.shape[1] == 2:
        head = {"symbol": "arrow", "angleref": "previous", "size": np.tile([0, 13, 0], len(points))}
        head |= {"color": colour, "opacity": 1, "line": {"width": 0}}
        line = {"color": colour, "width": 2}
        return [go.Scatter(**lines, mode="lines+markers", line=line, marker=head, hoverinfo="skip")]
    shaft = {"color": colour, "width": 5}
    tips = {**_named(points), **dict(zip("uvw", _named(points).values(), strict=True))}
    heads = go.Cone(
        **tips,
        anchor="tip",
        sizemode="raw",
        sizeref=0.15,
        colorscale=[[0, colour], [1, colour]],
        showscale=False,
        hoverinfo="skip",
    )
    return [go.Scatter3d(**lines, mode="lines", line=shaft, hoverinfo="skip"), heads]


def _ends(points: np.ndarray, labels: list[str] | None, arrows: bool) -> go.Scatter | go.Scatter3d:
    kind = go.Scatter if points.shape[1] == 2 else go.Scatter3d
    flat = points.shape[1] == 2
    where = ", ".join(f"%{{{axis}:.3g}}" for axis in "xyz"[: points.shape[1]])
    mode = "markers+text" if labels else "markers"
    if arrows and labels and not flat:
        mode = "text"  # in space, invisible markers would erase what is behind them
    return kind(
        **_named(points),
        mode=mode,
        text=labels,
        textposition=_label_places(points) if flat else "top center",
        textfont={"size": 14},
        marker={"color": COLOURS[0], "size": 7 if flat else 4, "opacity": 0 if arrows else 1},
        hovertemplate=("%{text}: " if labels else "") + f"({where})<extra></extra>",
    )


def _label_places(points: np.ndarray) -> list[str]:
    """Outside the arrow's head, away from the origin."""
    return [
        f"{'top' if y >= 0 else 'bottom'} {'right' if x > 0 else 'left' if x < 0 else 'center'}"
        for x, y in points
    ]


def random_vectors_figure(
    vectors: Any, *, labels: Sequence[str] | None = None, possible: Any = None, title: str = ""
) -> go.Figure:
    """Vectors in the plane or in space, as arrows from the origin (points when there are over 60).

    Args:
        vectors: float [N, 2] or [N, 3].
        labels: N names, written at the heads.
        possible: float [P, 2] or [P, 3], the whole sampling set, drawn faintly behind.

    Raises:
        ValueError: another number of dimensions or of labels, or a value that is not finite.
    """
    points = _points("vectors", vectors, (2, 3))
    flat = points.shape[1] == 2
    names = None if labels is None else [str(label) for label in labels]
    if names is not None and len(names) != len(points):
        raise ValueError(
            f"labels: expected one for each of {len(points)} vectors, found {len(names)}"
        )
    figure = go.Figure()
    reach = float(np.abs(points).max())
    if possible is not None:
        behind = _points("possible", possible, (points.shape[1],))
        reach = max(reach, float(np.abs(behind).max()))
        if flat:
            kind, mark = go.Scatter, {"size": 9, "symbol": "circle-open", "opacity": 0.6}
        else:  # see-through markers would erase parts of the arrows
            kind, mark = go.Scatter3d, {"size": 3, "symbol": "circle", "opacity": 1}
        mark["color"] = GREY
        figure.add_trace(kind(**_named(behind), mode="markers", marker=mark, hoverinfo="skip"))
    arrows = len(points) <= MOST_ARROWS
    if arrows:
        figure.add_traces(_arrows(points))
    figure.add_trace(_ends(points, names, arrows))
    _frame(figure, 1.2 * reach or 1.0, flat)
    figure.update_layout(showlegend=False)
    style(figure, title=title, width=460 if flat else 540, height=480)
    return figure if flat else figure.update_layout(margin={"l": 0, "r": 0, "b": 0, "t": 40})


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


def runtime_figure(
    runtimes: Mapping[str, tuple[Any, Any]], *, title: str = "", x_title: str = "number of vectors"
) -> go.Figure:
    """Seconds against counts on logarithmic axes: {"method": (counts [N], seconds [N])}.

    A method that did not finish at a count has NaN there, and its line a gap.

    Raises:
        ValueError: no methods, counts and seconds of different lengths, or a value not above 0.
    """
    if not runtimes:
        raise ValueError("runtimes: expected at least one method, found none")
    figure = go.Figure()
    for i, (name, (counts, seconds)) in enumerate(runtimes.items()):
        counts = floats(f"{name!r}, counts", counts, dimensions=1)
        seconds = floats(f"{name!r}, seconds", seconds, dimensions=1)
        if len(counts) != len(seconds):
            raise ValueError(f"{name!r}: {len(counts)} counts but {len(seconds)} times")
        if not (counts > 0).all() or (seconds <= 0).any():
            raise ValueError(f"{name!r}: logarithmic axes need counts and seconds above 0")
        colour = COLOURS[i % len(COLOURS)]
        figure.add_scatter(
            x=counts,
            y=seconds.astype(np.float32),
            name=name,
            mode="lines+markers",
            line={"color": colour, "width": 2, "dash": DASHES[i % len(DASHES)]},
            marker={"size": 8, "symbol": SYMBOLS[i % len(SYMBOLS)]},
            hovertemplate="%{x} vectors: %{y:.3g} s",
        )
    figure.update_xaxes(type="log", title_text=x_title, dtick=1, exponentformat="power")
    figure.update_yaxes(type="log", title_text="seconds", dtick=1, exponentformat="power")
    return style(figure, title=title, width=700, height=440)
