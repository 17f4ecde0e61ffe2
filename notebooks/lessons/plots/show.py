"""The look of all figures, and `show`, which displays one in a notebook.

The categorical colours are Okabe and Ito's (2008), which colour-blind readers can tell apart; the
continuous scales are viridis (amounts) and reversed RdBu (signed values around 0).

A figure is shown as an interactive one with a PNG of exactly its size beside it, which GitHub and
nbconvert show.
"""

import base64
import io
import json
import logging
import os
import warnings
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "solid")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star")
AMOUNTS, SIGNED = "Viridis", "RdBu_r"
GREY, GRID, DARK = "#8A8A8A", "#E6E6E6", "#222222"
WIDEST = 840  # pixels: JupyterLab's output in a window of 1,280
BELOW = {"orientation": "h", "x": 0.5, "xanchor": "center", "yref": "container", "y": 0.01}
PLAIN = {"showgrid": False, "showline": False, "ticks": ""}  # an axis of names
SECONDS = 60.0  # the longest wait for one picture

_LINES = {"linecolor": "#444444", "tickcolor": "#444444", "gridcolor": GRID}
_TICKS = {"showline": True, "ticks": "outside", "ticklen": 4, "automargin": True}
_AXIS = {**_LINES, **_TICKS, "zeroline": False, "title": {"standoff": 8}}
_FONT = {"family": "Helvetica, Arial, Liberation Sans, sans-serif", "size": 14, "color": DARK}
TEMPLATE = go.layout.Template(
    layout={
        "font": _FONT,
        "title": {"font": {"size": 16}, "x": 0.5, "xanchor": "center"},
        "colorway": list(COLOURS),
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "margin": {"l": 60, "r": 20, "t": 60, "b": 55},
        "xaxis": _AXIS,
        "yaxis": _AXIS,
        "hoverlabel": {"font": {"size": 13}},
        "legend": {"bgcolor": "rgba(255,255,255,0.8)"},
    }
)


def style(
    figure: go.Figure, *, title: str = "", width: float, height: float, **layout: Any
) -> go.Figure:
    """Give `figure` the shared template, a title, a size (at most WIDEST), and `layout`."""
    width, height = min(round(width), WIDEST), round(height)
    figure.update_layout(template=TEMPLATE, title_text=title or None, width=width, height=height)
    return figure.update_layout({} if title else {"margin_t": 30}).update_layout(**layout)


def look(number: int) -> tuple[str, str, str]:
    """Colour, symbol and dash of a figure's series `number`."""
    return tuple(some[number % len(some)] for some in (COLOURS, SYMBOLS, DASHES))


def colour_bar(title: str, side: str = "right", **more: Any) -> dict:
    """A thin colour bar as tall as the plot, with its title along it or on top."""
    text = {"text": title, "side": side}
    return {"title": text, "thickness": 14, "outlinewidth": 0, "ypad": 0, **more}


def colours(scale: str, low: float, high: float, bar: dict) -> dict:
    """The colour axis of a figure's heatmaps, from `low` to `high`, with its colour bar."""
    return {"colorscale": scale, "cmin": low, "cmax": high, "colorbar": bar}


def subplots(titles: list[str], columns: int, **layout: Any) -> tuple[go.Figure, list[dict]]:
    """A figure with a panel for each title in rows of `columns`, and the panels' places in it."""
    down = -(-len(titles) // columns)
    figure = make_subplots(down, columns, subplot_titles=titles, **layout)
    places = [{"row": i // columns + 1, "col": i % columns + 1} for i in range(down * columns)]
    for place in places[len(titles) :]:
        figure.update_xaxes(visible=False, **place).update_yaxes(visible=False, **place)
    return figure, places[: len(titles)]


def in_legend(traces: Iterable) -> None:
    """Only the first trace of each name stands in the legend."""
    for trace in {trace.name: trace for trace in reversed(list(traces))}.values():
        trace.showlegend = True


def arrow(colour: str, sizes: Sequence[float], **line: Any) -> dict:
    """The look of a path with arrow heads of these sizes at its points, 0 for none."""
    marker = {"symbol": "arrow", "angleref": "previous", "size": sizes, "color": colour}
    marker |= {"opacity": 1, "line": {"width": 0}}
    line = {"color": colour, "width": 2, **line}
    return {"mode": "lines+markers", "line": line, "marker": marker, "hoverinfo": "skip"}


def compact(array: np.ndarray, decimals: int = 4) -> np.ndarray:
    """The array as rounded float32: what a reader can see, in half the bytes of float64."""
    return np.round(array, decimals).astype(np.float32)


def _no_picture(error: Exception) -> None:
    reason = f"the browser made no picture ({type(error).__name__}: {error})"
    warnings.warn(f"figures are interactive only: {reason}", RuntimeWarning, stacklevel=4)


@lru_cache(maxsize=1)
def _browser_works() -> bool:
    """Start kaleido's server, which keeps one browser until the process ends; False if it fails.

    The server would wait forever for a browser that does not start: so it is tried alone first.
    Nothing is fetched. The environment variable BROWSER_PATH names a Chrome or Chromium.
    """
    import kaleido
    from choreographer.errors import ChromeNotFoundError

    # A browser's goodbye, {bye}, may be logged as an error of JSON, with its traceback.
    logging.getLogger("choreographer").setLevel(logging.CRITICAL)
    options = {"mathjax": False, "timeout": SECONDS}
    try:
        kaleido.calc_fig_sync(go.Figure(), opts={"format": "png"}, kopts=dict(options))
    except ChromeNotFoundError:
        return False
    except Exception as error:
        _no_picture(error)
        return False
    kaleido.start_sync_server(silence_warnings=True, **options)
    return True


def png_bytes(figure: go.Figure, *, scale: float = 1.0) -> bytes | None:
    """The figure as PNG in at most 256 colours; None without a browser that works."""
    if not _browser_works():
        return None
    import kaleido
    from PIL import Image

    try:
        picture = kaleido.calc_fig_sync(figure, opts={"format": "png", "scale": scale})
    except Exception as error:
        return _no_picture(error)
    image, small = Image.open(io.BytesIO(picture)).convert("RGB"), io.BytesIO()
    few = image.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(small, "PNG", optimize=True)
    return small.getvalue()


def mime_bundle(figure: go.Figure, alt: str, *, static_picture: bool = True) -> tuple[dict, dict]:
    """The data and the metadata of a notebook output: plotly figure, PNG if there is one, text."""
    figure = go.Figure(figure)
    width, height = min(figure.layout.width or 700, WIDEST), figure.layout.height or 450
    figure.update_layout(meta={"alt": alt}, width=width, height=height)
    spec = json.loads(figure.to_json())
    # figures stay here, and the wheel scrolls the page in three dimensions too
    spec["config"] = {"displaylogo": False, "showSendToCloud": False, "scrollZoom": False}
    if width < 600:  # the buttons would lie on the title
        spec["config"]["displayModeBar"] = False
    data, metadata = {"application/vnd.plotly.v1+json": spec, "text/plain": alt}, {}
    picture = png_bytes(figure) if static_picture else None
    if picture is not None:
        data["image/png"] = base64.b64encode(picture).decode("ascii")
        metadata["image/png"] = {"alt": alt, "width": width, "height": height}
    return data, metadata


def show(figure: go.Figure, alt: str = "", *, static_picture: bool = True) -> None:
    """Display `figure` in a notebook as one output: interactive, and a PNG when a Chrome is found.

    `alt` says what the figure shows, for readers who cannot see it; without one the figure says it
    itself, in `layout.meta`. Outside IPython it is printed instead. There is no PNG at smoke size,
    nor where `static_picture` is off, as behind a slider.
    """
    from IPython import get_ipython
    from IPython.display import display

    alt = alt or figure.layout.meta["alt"]
    if get_ipython() is None:
        print(alt)
        return
    drawn = static_picture and os.environ.get("ITEKIT_SCALE") != "smoke"
    data, metadata = mime_bundle(figure, alt, static_picture=drawn)
    display(data, metadata=metadata, raw=True)
