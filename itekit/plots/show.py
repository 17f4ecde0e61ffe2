"""The look of all figures, and `show`, which displays one in a notebook.

The categorical colours are Okabe and Ito's (2008), which colour-blind readers can tell apart; the
continuous scales are viridis (amounts) and reversed RdBu (signed values around 0).

A figure is shown as an interactive one with a PNG beside it. GitHub and nbconvert show the PNG;
JupyterLab shows it too, pixel for pixel, until the pointer comes to the figure. So the picture has
exactly the figure's size, and no figure is wider than `WIDEST`, which fits into JupyterLab's output
in a window of 1,280 pixels with the file browser open.
"""

import base64
import importlib.util
import io
import json
import os
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "solid")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star")
AMOUNTS, SIGNED = "Viridis", "RdBu_r"
GREY, GRID, DARK = "#8A8A8A", "#E6E6E6", "#222222"
WIDEST = 840  # pixels
BELOW = {"orientation": "h", "x": 0.5, "xanchor": "center", "yref": "container", "y": 0.01}
SECONDS = 60.0  # the longest wait for one picture

_LINES = {"linecolor": "#444444", "tickcolor": "#444444", "gridcolor": GRID}
_TICKS = {"showline": True, "ticks": "outside", "ticklen": 4, "automargin": True}
_AXIS = {**_LINES, **_TICKS, "zeroline": False, "title": {"standoff": 8}}
_SPACE = {"backgroundcolor": "white", "showbackground": False}
_SPACE |= {"gridcolor": GRID, "zerolinecolor": GREY}
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
        "scene": {"xaxis": _SPACE, "yaxis": _SPACE, "zaxis": _SPACE},
        "hoverlabel": {"font": {"size": 13}},
        "legend": {"bgcolor": "rgba(255,255,255,0.8)"},
    }
)


def style(figure: go.Figure, *, title: str = "", width: float, height: float) -> go.Figure:
    """Give `figure` the shared template, a title and a size in pixels; return it.

    A figure is at most `WIDEST` pixels wide.
    """
    width, height = min(round(width), WIDEST), round(height)
    figure.update_layout(template=TEMPLATE, title_text=title or None, width=width, height=height)
    return figure if title else figure.update_layout(margin_t=30)


def colour_bar(title: str, side: str = "right", **more: Any) -> dict:
    """A thin colour bar as tall as the plot, with its title along it or on top."""
    text = {"text": title, "side": side}
    return {"title": text, "thickness": 14, "outlinewidth": 0, "ypad": 0, **more}


def floats(name: str, values: Any, *, dimensions: int) -> np.ndarray:
    """`values` as a float64 array with `dimensions` axes, none of them empty; else a ValueError."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        found = f"found {type(values).__name__}: {error}"
        raise ValueError(f"{name}: expected numbers, {found}") from None
    if array.ndim != dimensions:
        raise ValueError(f"{name}: expected {dimensions} axes, found shape {array.shape}")
    if array.size == 0:
        raise ValueError(f"{name}: empty, shape {array.shape}")
    return array


def compact(array: np.ndarray, decimals: int = 4) -> np.ndarray:
    """The array as rounded float32: what a reader can see, in half the bytes of float64."""
    return np.round(array, decimals).astype(np.float32)


@lru_cache(maxsize=1)
def find_chrome() -> str | None:
    """Path of a Chrome or Chromium that kaleido can use, or None. Searched for once per process.

    The environment variable BROWSER_PATH names one; otherwise kaleido's own download
    (``kaleido_get_chrome``), the PATH, and the usual places are tried.
    """
    if not importlib.util.find_spec("kaleido"):
        return None
    from choreographer.browsers.chromium import Chromium

    path = Chromium.find_browser(skip_local=False)
    return path if path and os.access(path, os.X_OK) and Path(path).is_file() else None


def _no_picture(error: Exception) -> None:
    reason = f"{find_chrome()} made no picture ({type(error).__name__}: {error})"
    warnings.warn(f"figures are interactive only: {reason}", RuntimeWarning, stacklevel=4)


@lru_cache(maxsize=1)
def _browser_works() -> bool:
    """Start kaleido's server, which keeps one browser until the process ends; False if it fails.

    The server would wait for ever for a browser that does not start: so it is tried alone first.
    Nothing is fetched: plotly.js is the one in the plotly package, MathJax is off.
    """
    import kaleido

    options = {"path": find_chrome(), "mathjax": False, "timeout": SECONDS}
    try:
        kaleido.calc_fig_sync(go.Figure(), opts={"format": "png"}, kopts=dict(options))
    except Exception as error:
        _no_picture(error)
        return False
    kaleido.start_sync_server(silence_warnings=True, **options)
    return True


def png_bytes(figure: go.Figure, *, scale: float = 1.0) -> bytes | None:
    """The figure as PNG in at most 256 colours, `scale` pixels for each of its own.

    None without a browser; also, with a warning (RuntimeWarning), when it does not work.
    """
    if find_chrome() is None or not _browser_works():
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


def save_png(figure: go.Figure, path: str | Path, *, scale: float = 2.0) -> Path:
    """Write the figure to `path` as PNG, and return the path.

    Raises:
        RuntimeError: no Chrome or Chromium was found, or it does not work.
    """
    path = Path(path)
    picture = png_bytes(figure, scale=scale)
    if picture is None:
        raise RuntimeError(
            f"cannot write {path}: no working Chrome or Chromium was found; install one, run "
            "kaleido_get_chrome, or name one in the environment variable BROWSER_PATH"
        )
    part = path.with_name(path.name + ".part")
    part.write_bytes(picture)
    os.replace(part, path)
    return path


def mime_bundle(figure: go.Figure, alt: str, *, static_picture: bool = True) -> tuple[dict, dict]:
    """The data and the metadata of one notebook output: plotly figure, PNG if there is one, text.

    The text alternative is in three places: the ``alt`` of the picture's metadata, which a
    converter can put into the page; the plain text, for readers without pictures; the figure's
    ``layout.meta``.
    """
    figure = go.Figure(figure)
    width, height = min(figure.layout.width or 700, WIDEST), figure.layout.height or 450
    figure.update_layout(meta={"alt": alt}, width=width, height=height)
    spec = json.loads(figure.to_json())
    # Figures stay here, and the wheel scrolls the page in three dimensions too.
    spec["config"] = {"displaylogo": False, "showSendToCloud": False, "scrollZoom": False}
    data, metadata = {"application/vnd.plotly.v1+json": spec, "text/plain": alt}, {}
    picture = png_bytes(figure) if static_picture else None
    if picture is not None:
        data["image/png"] = base64.b64encode(picture).decode("ascii")
        metadata["image/png"] = {"alt": alt, "width": width, "height": height}
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
