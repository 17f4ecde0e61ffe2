"""Static pictures of plotly figures: PNG bytes by kaleido and an installed Chrome or Chromium.

GitHub and `nbconvert` show a plotly figure only as a picture. Kaleido makes it by drawing the
figure in a headless browser. Starting one takes seconds, so it is started once per process, at the
first picture, and kept until the process ends. Without kaleido or a browser there is no picture,
and no error. Nothing is fetched: plotly.js is the one in the plotly package, MathJax is off.
"""

import asyncio
import atexit
import importlib.util
import os
import threading
import warnings
from collections.abc import Coroutine
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import plotly.graph_objects as go

from itekit.plots.png import shrink

SCALES = (2.0, 1.5, 1.0)  # pixels per plotly pixel, sharpest first
MAXIMUM_BYTES = 60_000
SECONDS = 60.0  # the longest wait for the browser to start, or for one picture


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


class _Browser:
    """A kaleido browser on its own event loop in a thread: a notebook's own loop is taken."""

    def __init__(self, chrome: str):
        from kaleido import Kaleido

        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True, name="itekit-png").start()

        async def started() -> Kaleido:
            kaleido = Kaleido(path=chrome, mathjax=False, timeout=SECONDS)
            await kaleido.open()
            return kaleido

        self._kaleido = self._wait(started())
        atexit.register(self.close)

    def _wait(self, work: Coroutine) -> Any:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(SECONDS)
        except BaseException:
            future.cancel()
            raise

    def draw(self, figure: go.Figure, scale: float) -> bytes:
        return self._wait(self._kaleido.calc_fig(figure, opts={"format": "png", "scale": scale}))

    def close(self) -> None:
        with suppress(Exception):  # the process is ending: nobody is left to tell
            self._wait(self._kaleido.close())


_browser: _Browser | None = None
_broken = False


def png_bytes(
    figure: go.Figure, *, scale: float | None = None, maximum_bytes: int = MAXIMUM_BYTES
) -> bytes | None:
    """The figure as PNG, or None when no browser is found or it does not work.

    Args:
        figure: what to draw, at the width and height of its layout.
        scale: pixels per plotly pixel. None: the first of `SCALES` whose picture has at most
            `maximum_bytes` bytes, else the one that has the fewest.
        maximum_bytes: used with ``scale=None`` only.

    A browser that is found but fails gives one warning (RuntimeWarning) per process, then None.
    """
    global _browser, _broken
    chrome = find_chrome()
    if chrome is None or _broken:
        return None
    try:
        _browser = _browser or _Browser(chrome)
        pictures = []
        for one in SCALES if scale is None else (scale,):
            pictures.append(shrink(_browser.draw(figure, one)))
            if len(pictures[-1]) <= maximum_bytes:
                return pictures[-1]
        return min(pictures, key=len)
    except Exception as error:
        _broken = True
        reason = f"{type(error).__name__}: {next(iter(error.args), '')}"
        message = f"figures are interactive only: {chrome} made no picture ({reason})"
        warnings.warn(message, RuntimeWarning, stacklevel=2)
        return None


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
