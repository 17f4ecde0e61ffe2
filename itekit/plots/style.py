"""The look shared by all figures, and `show`, which displays one in a notebook.

The categorical colours are Okabe and Ito's (2008), which colour-blind readers can tell apart; the
continuous scales are viridis (amounts) and reversed RdBu (signed values around 0).
"""

import base64
import json
import os
from typing import Any

import numpy as np
import plotly.graph_objects as go

from itekit.plots import static

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "solid")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star")
AMOUNTS = "Viridis"
SIGNED = "RdBu_r"
GREY = "#8A8A8A"
GRID = "#E6E6E6"

_AXIS = {
    "showline": True,
    "linecolor": "#444444",
    "ticks": "outside",
    "tickcolor": "#444444",
    "ticklen": 4,
    "gridcolor": GRID,
    "zeroline": False,
    "automargin": True,
    "title": {"standoff": 8},
}
_SCENE_AXIS = {
    "backgroundcolor": "white",
    "gridcolor": GRID,
    "zerolinecolor": GREY,
    "showbackground": False,
}

TEMPLATE = go.layout.Template(
    layout={
        "font": {
            "family": "Helvetica, Arial, Liberation Sans, sans-serif",
            "size": 14,
            "color": "#222222",
        },
        "title": {"font": {"size": 16}, "x": 0.5, "xanchor": "center"},
        "colorway": list(COLOURS),
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "margin": {"l": 60, "r": 20, "t": 60, "b": 55},
        "xaxis": _AXIS,
        "yaxis": _AXIS,
        "scene": {"xaxis": _SCENE_AXIS, "yaxis": _SCENE_AXIS, "zaxis": _SCENE_AXIS},
        "hoverlabel": {"font": {"size": 13}},
        "legend": {"bgcolor": "rgba(255,255,255,0.8)"},
    }
)


def style(figure: go.Figure, *, title: str = "", width: int, height: int) -> go.Figure:
    """Give `figure` the shared template, a title and a size in pixels; return it."""
    figure.update_layout(template=TEMPLATE, title_text=title or None, width=width, height=height)
    if not title:
        figure.update_layout(margin_t=30)
    return figure


def colour_bar(title: str, side: str = "right", **more: Any) -> dict:
    """A thin colour bar as tall as the plot, with its title along it or on top."""
    return {
        "title": {"text": title, "side": side},
        "thickness": 14,
        "outlinewidth": 0,
        "ypad": 0,
        **more,
    }


def floats(name: str, values: Any, *, dimensions: int) -> np.ndarray:
    """`values` as a float64 array with `dimensions` axes, none of them empty.

    Raises:
        ValueError: not numbers, another number of axes, or an empty axis; it says `name`.
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name}: expected numbers, found {type(values).__name__}: {error}"
        ) from None
    if array.ndim != dimensions:
        raise ValueError(f"{name}: expected {dimensions} axes, found shape {array.shape}")
    if array.size == 0:
        raise ValueError(f"{name}: empty, shape {array.shape}")
    return array


def compact(array: np.ndarray, decimals: int = 4) -> np.ndarray:
    """The array as rounded float32: what a reader can see, in half the bytes of float64."""
    return np.round(array, decimals).astype(np.float32)


def mime_bundle(figure: go.Figure, alt: str, *, static_picture: bool = True) -> tuple[dict, dict]:
    """The data and the metadata of one notebook output: plotly figure, PNG if there is one, text.

    The text alternative is in three places: the ``alt`` of the picture's metadata, which a
    converter can put into the page (nbconvert's classic template does, its lab template does not);
    the plain text, for readers without pictures; the figure's ``layout.meta``.
    """
    figure = go.Figure(figure)
    figure.update_layout(meta={"alt": alt})
    spec = json.loads(figure.to_json())
    spec["config"] = {"displaylogo": False, "showSendToCloud": False}  # figures stay here
    data = {"application/vnd.plotly.v1+json": spec, "text/plain": alt}
    metadata = {}
    picture = static.png_bytes(figure) if static_picture else None
    if picture is not None:
        data["image/png"] = base64.b64encode(picture).decode("ascii")
        metadata["image/png"] = {"alt": alt}
        for side in ("width", "height"):
            if figure.layout[side]:
                metadata["image/png"][side] = figure.layout[side]
    return data, metadata


def show(figure: go.Figure, alt: str, *, static_picture: bool | None = None) -> None:
    """Display `figure` in a notebook as one output: interactive, and a PNG when a Chrome is found.

    Args:
        figure: any plotly figure.
        alt: one or two sentences that say what the figure shows, for readers who cannot see it.
        static_picture: False leaves the PNG out, as behind a slider, where it would cost time at
            each move. None: made unless ITEKIT_SCALE is "smoke".

    Outside IPython the text is printed instead.

    Raises:
        ValueError: `alt` is empty.
    """
    if not isinstance(alt, str) or not alt.strip():
        raise ValueError(f"alt: expected a sentence that says what the figure shows, found {alt!r}")
    if static_picture is None:
        static_picture = os.environ.get("ITEKIT_SCALE") != "smoke"
    from IPython import get_ipython
    from IPython.display import display

    if get_ipython() is None:
        print(alt)
        return
    data, metadata = mime_bundle(figure, alt, static_picture=static_picture)
    display(data, metadata=metadata, raw=True)
