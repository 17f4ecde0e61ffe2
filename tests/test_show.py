"""`show` fits into JupyterLab, with and without a browser."""

import base64
import importlib
import io
import json

import numpy as np
import plotly.graph_objects as go
import pytest
from PIL import Image

from lessons import plots

look = importlib.import_module("lessons.plots.show")  # `plots.show` is the function
FIGURE = plots.runtime_figure({"a": ([1, 10], [1, 2])})
PLOTLY = "application/vnd.plotly.v1+json"


@pytest.fixture
def shown(monkeypatch):
    """What `show` hands to the notebook: a list of (data, metadata)."""
    import IPython
    import IPython.display

    outputs = []
    monkeypatch.delenv("ITEKIT_SCALE", raising=False)
    monkeypatch.setattr(IPython, "get_ipython", lambda: object())
    monkeypatch.setattr(
        IPython.display, "display", lambda data, metadata, raw: outputs.append((data, metadata))
    )
    return outputs


@pytest.mark.parametrize("scale", ["smoke", "lab"])
def test_show_without_chrome_or_at_smoke_size_is_interactive_only(shown, monkeypatch, scale):
    monkeypatch.setenv("ITEKIT_SCALE", scale)
    monkeypatch.setattr(look, "png_bytes", lambda figure: b"a" if scale == "smoke" else None)
    plots.show(FIGURE, "two points")
    ((data, metadata),) = shown
    assert set(data) == {PLOTLY, "text/plain"} and metadata == {}
    assert data["text/plain"] == data[PLOTLY]["layout"]["meta"]["alt"] == "two points"
    assert data[PLOTLY]["config"]["scrollZoom"] is False, "the wheel scrolls the page"
    json.dumps(data)
    assert FIGURE.layout.meta is None  # the caller's figure is left as it was


@pytest.mark.parametrize("width, expected", [(None, 700), (500, 500), (1700, look.WIDEST)])
def test_picture_and_figure_have_one_size_that_fits_into_jupyterlab(
    shown, monkeypatch, width, expected
):
    drawn = []
    monkeypatch.setattr(look, "png_bytes", lambda figure: drawn.append(figure) or b"picture")
    plots.show(go.Figure(layout={"width": width}), "nothing")
    ((data, metadata),) = shown
    size = {"width": expected, "height": 450}
    assert base64.b64decode(data["image/png"]) == b"picture"
    assert metadata == {"image/png": {"alt": "nothing", **size}}
    for layout in (drawn[0].layout, data[PLOTLY]["layout"]):
        assert {side: layout[side] for side in size} == size


def test_show_outside_a_notebook_prints_the_text(capsys):
    plots.show(FIGURE, "two points")
    assert capsys.readouterr().out == "two points\n"


@pytest.fixture
def browser(monkeypatch):
    """Sets which browser there is."""
    look._browser_works.cache_clear()
    yield lambda path: monkeypatch.setenv("BROWSER_PATH", str(path))
    look._browser_works.cache_clear()


def test_no_browser_is_no_picture_and_no_warning(browser, tmp_path):
    browser(tmp_path / "none")
    assert plots.png_bytes(FIGURE) is None


def test_a_browser_that_fails_warns_once(browser, tmp_path):
    chrome = tmp_path / "chrome"
    chrome.write_text("#!/bin/sh\nexit 3\n")
    chrome.chmod(0o755)
    browser(chrome)
    with pytest.warns(RuntimeWarning, match="interactive only: the browser made no picture"):
        assert plots.png_bytes(FIGURE) is None
    assert plots.png_bytes(FIGURE) is None


def test_a_found_chrome_draws_a_small_picture_pixel_for_pixel():
    axis, grid = range(3, 31), np.triu(np.arange(28.0)) + np.tril(np.full((28, 28), np.nan), -1)
    figure = plots.edit_distance_heatmaps([("a", grid, 5, (5, 10))], lengths=axis, uniques=axis)
    picture = plots.png_bytes(figure)
    if picture is None:
        pytest.skip("no Chrome or Chromium here")
    assert len(picture) < 60_000
    image = Image.open(io.BytesIO(picture))
    assert image.size == (figure.layout.width, figure.layout.height)
    pixels = np.asarray(image.convert("RGB")).astype(int)
    viridis_start, green = [68, 1, 84], [46, 204, 64]
    for colour in (viridis_start, green):
        assert (np.abs(pixels - colour).sum(axis=2) < 12).sum() > 100
