"""Figures hold what they were given, and `show` works with and without a browser."""

import base64
import json

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from itekit import plots
from itekit.plots import grids, heatmaps, png, static, style

NAN = float("nan")


def triangle(n: int, minimum: int = 3, value=lambda unique, length: unique + length / 100):
    grid = np.full((n, n), NAN)
    for i in range(n):
        for j in range(i, n):
            grid[i, j] = value(i + minimum, j + minimum)
    return grid


def traces(figure: go.Figure, kind: str) -> list:
    return [trace for trace in figure.data if trace.type == kind]


def named(figure: go.Figure, name: str) -> list:
    return [trace for trace in figure.data if (trace.name or "").startswith(name)]


def inside(x: float, y: float, outline_x, outline_y) -> bool:
    """Whether a point is in a polygon: an odd number of edges to its right."""
    crossings = 0
    for i in range(len(outline_x) - 1):
        (x1, y1), (x2, y2) = (outline_x[i], outline_y[i]), (outline_x[i + 1], outline_y[i + 1])
        if (y1 > y) != (y2 > y) and x < x1 + (y - y1) * (x2 - x1) / (y2 - y1):
            crossings += 1
    return crossings % 2 == 1


# heatmaps


def test_heatmap_holds_the_grid_and_its_axes():
    grid = triangle(28)
    figure = plots.edit_distance_heatmap(grid, title="Proposed")
    (heatmap,) = traces(figure, "heatmap")
    np.testing.assert_allclose(np.asarray(heatmap.z, float), grid, atol=1e-4)
    np.testing.assert_array_equal(heatmap.x, np.arange(3, 31))
    np.testing.assert_array_equal(heatmap.y, np.arange(3, 31))
    assert figure.layout.title.text == f"Proposed: mean {np.nanmean(grid):.2f}"
    assert list(figure.layout.yaxis.range) == [30.5, 2.5]  # rows go down, as in a matrix
    assert list(figure.layout.xaxis.range) == [2.5, 30.5]
    assert figure.layout.coloraxis.cmin == 0
    assert figure.layout.coloraxis.cmax == pytest.approx(np.nanmax(grid))
    assert figure.layout.coloraxis.colorbar.title.text == "mean edit distance"
    for part in ("unique characters", "length %{x}", "%{z"):
        assert part in heatmap.hovertemplate


def test_cells_say_their_numbers_where_they_are_legible():
    grid = triangle(3, value=lambda unique, length: {3: 0.0, 4: 0.26, 5: 12.4}[length])
    (heatmap,) = traces(plots.edit_distance_heatmap(grid), "heatmap")
    assert heatmap.text.tolist() == [["0", "0.3", "12"], ["", "0.3", "12"], ["", "", "12"]]
    (heatmap,) = traces(plots.edit_distance_heatmap(triangle(40)), "heatmap")
    assert heatmap.text is None


increasing = st.lists(st.integers(1, 60), min_size=1, max_size=12, unique=True).map(sorted)


@given(uniques=increasing, lengths=increasing)
def test_hatch_covers_exactly_the_impossible_cells(uniques, lengths):
    x, y = grids.impossible_outline(np.array(uniques, float), np.array(lengths, float))
    hatched = [[len(x) > 0 and inside(n, u, x, y) for n in lengths] for u in uniques]
    assert hatched == [[u > n for n in lengths] for u in uniques]


def test_hatch_is_drawn_as_a_pattern():
    (hatch,) = named(plots.edit_distance_heatmap(triangle(5)), "impossible")
    assert (hatch.fill, hatch.fillpattern.shape) == ("toself", "/")
    x, y = grids.impossible_outline(np.arange(3.0, 8), np.arange(3.0, 8))
    np.testing.assert_array_equal(hatch.x, x)
    np.testing.assert_array_equal(hatch.y, y)


@pytest.mark.parametrize(
    "length, unique, box",
    [
        ((5, 10), 5, (4.5, 10.5, 2.5, 5.5)),
        (10, 5, (2.5, 10.5, 2.5, 5.5)),
        ((1, 99), (4, 6), (2.5, 30.5, 3.5, 6.5)),
    ],
)
def test_box_is_around_the_training_region(length, unique, box):
    figure = plots.edit_distance_heatmap(
        triangle(28), training_length=length, training_unique=unique
    )
    (drawn,) = named(figure, "training data")
    assert (min(drawn.x), max(drawn.x), min(drawn.y), max(drawn.y)) == box
    assert (drawn.x[0], drawn.y[0]) == (drawn.x[-1], drawn.y[-1])


def test_box_follows_the_cells_of_a_grid_with_a_stride():
    axis = np.arange(5, 165, 5)
    grid = np.where(axis[:, None] <= axis[None, :], 1.0, NAN)
    figure = plots.edit_distance_heatmap(
        grid, lengths=axis, uniques=axis, training_length=(20, 80), training_unique=20
    )
    (drawn,) = named(figure, "training data")
    assert (min(drawn.x), max(drawn.x), min(drawn.y), max(drawn.y)) == (17.5, 82.5, 2.5, 22.5)


def test_several_heatmaps_share_colours_and_axes():
    small, large = triangle(8), 10 * triangle(8)
    figure = plots.edit_distance_heatmaps(
        [("a", small, 5, (5, 10)), ("b", large, 5, (5, 10)), ("c", small, None, None)]
    )
    assert [heatmap.coloraxis for heatmap in traces(figure, "heatmap")] == ["coloraxis"] * 3
    assert figure.layout.coloraxis.cmax == pytest.approx(np.nanmax(large))
    assert [note.text[:6] for note in figure.layout.annotations] == ["a: mea", "b: mea", "c: mea"]
    for axis in ("x", "y"):  # all move with the lowest one of the first column
        group = [figure.layout[f"{axis}axis{i}"].matches or f"{axis}{i}" for i in ("", 2, 3)]
        assert group == [f"{axis}3"] * 3
    legend = [trace.name for trace in figure.data if trace.showlegend]
    assert sorted(name.split(":")[0] for name in legend) == ["impossible", "training data"]


@pytest.mark.parametrize(
    "grid, options, message",
    [
        ([1.0, 2.0], {}, r"2 axes, found shape \(2,\)"),
        ([["a"]], {}, "expected numbers"),
        (np.zeros((3, 3)), {}, r"cell \(1, 0\) holds 0, but a string of length 3 cannot have 4"),
        (np.full((3, 3), NAN), {}, "every cell is NaN"),
        ([[-1.0]], {}, r"cell \(0, 0\) holds -1, not an edit distance"),
        ([[np.inf]], {}, "holds inf, not an edit distance"),
        ([[1.0]], {"lengths": [3, 4]}, "lengths: expected a value for each of 1 cells, found 2"),
        ([[1.0, 1.0]], {"lengths": [4, 4]}, "lengths: expected increasing"),
        ([[1.0]], {"training_unique": 5}, "both training_unique and training_length"),
        ([[1.0]], {"training_unique": 5, "training_length": (5, 10)}, "covers no cell"),
        ([[1.0]], {"maximum": 0}, "maximum: expected a positive"),
    ],
)
def test_bad_grids_are_refused(grid, options, message):
    with pytest.raises(ValueError, match=message):
        plots.edit_distance_heatmap(grid, **options)


def test_bad_lists_of_heatmaps_are_refused():
    with pytest.raises(ValueError, match="at least one panel"):
        plots.edit_distance_heatmaps([])
    with pytest.raises(ValueError, match="tuples"):
        plots.edit_distance_heatmaps([("a", triangle(4))])
    with pytest.raises(ValueError, match="one shape"):
        plots.edit_distance_heatmaps(
            [("a", triangle(4), None, None), ("b", triangle(5), None, None)]
        )


# curves


def test_curves_hold_the_records():
    records = [{"step": s, "loss": 2.0**-s, "scale": 1.0 * s, "tokens": 7} for s in range(5)]
    records[4]["validation_loss"] = 0.5
    figure = plots.training_curves({"a": records, "b": [{"step": 1, "loss": 3.0}]})
    loss, validation, other, scale = figure.data
    assert list(loss.x) == [0, 1, 2, 3, 4] and list(loss.y) == [1, 0.5, 0.25, 0.125, 0.0625]
    assert list(validation.x) == [4] and list(validation.y) == [0.5]
    assert validation.mode == "markers" and validation.yaxis == loss.yaxis
    assert list(scale.y) == [0, 1, 2, 3, 4] and scale.yaxis != loss.yaxis
    assert list(other.y) == [3.0]
    assert (figure.layout.yaxis.type, figure.layout.yaxis2.type) == ("log", None)
    titles = [figure.layout[axis].title.text for axis in ("yaxis", "yaxis2")]
    assert titles == ["loss", "AdaCos scale"] and "yaxis3" not in figure.layout


def test_long_curves_are_thinned_and_keep_their_ends():
    records = [{"step": s, "loss": 1.0} for s in range(20_001)]
    steps = plots.training_curves({"a": records}).data[0].x
    assert len(steps) <= 802 and steps[0] == 0 and steps[-1] == 20_000


@pytest.mark.parametrize(
    "runs, message",
    [
        ({}, "at least one"),
        ({"a": []}, "run 'a': none of its 0 records has a 'loss'"),
        ({"a": [{"step": 1, "scale": 2}]}, "none of its 1 records has a 'loss'"),
        ({"a": [{"loss": 1.0}]}, r"run 'a', record 0: no 'step', found \['loss'\]"),
        ({"a": [{"step": 1, "loss": "x"}]}, "loss is no number: 'x'"),
    ],
)
def test_bad_records_are_refused(runs, message):
    with pytest.raises(ValueError, match=message):
        plots.training_curves(runs)


# matrices


def test_embedding_matrix_holds_U_and_the_lines():
    U = np.arange(20.0).reshape(4, 5) - 12
    figure = plots.embedding_matrix(
        U, ["<pad>", "x", "a", "b"], shared_dimensions=3, first_interchangeable=2
    )
    (heatmap,) = traces(figure, "heatmap")
    np.testing.assert_array_equal(heatmap.z, U)
    assert list(heatmap.y) == ["<pad>", "x", "a", "b"]
    assert figure.layout.yaxis.autorange == "reversed"
    assert (figure.layout.coloraxis.cmin, figure.layout.coloraxis.cmax) == (-12, 12)
    down, across = figure.layout.shapes
    assert (down.x0, down.x1) == (2.5, 2.5) and (across.y0, across.y1) == (1.5, 1.5)


def test_cosine_matrix_holds_the_cosines():
    U = [[1.0, 0.0], [2.0, 2.0], [0.0, -3.0]]
    (heatmap,) = plots.cosine_matrix(U, "abc").data
    half = 0.5**0.5
    expected = [[1, half, 0], [half, 1, -half], [0, -half, 1]]
    np.testing.assert_allclose(np.asarray(heatmap.z, float), expected, atol=1e-3)


@pytest.mark.parametrize(
    "U, tokens, options, message",
    [
        (np.ones(3), "abc", {}, "U: expected 2 axes"),
        (np.ones((3, 2)), "ab", {}, "tokens: expected one for each of 3 rows of U, found 2"),
        (np.ones((3, 2)), "aba", {}, "'a' is there more than once"),
        ([[1.0, NAN]], "a", {}, r"U: row 0 \('a'\), column 1 holds nan"),
        (np.ones((3, 2)), "abc", {"shared_dimensions": 2}, "shared_dimensions: .* found 2"),
        (np.ones((3, 2)), "abc", {"first_interchangeable": 0}, "first_interchangeable: .* found 0"),
    ],
)
def test_bad_matrices_are_refused(U, tokens, options, message):
    with pytest.raises(ValueError, match=message):
        plots.embedding_matrix(U, tokens, **options)


def test_cosines_of_a_zero_row_are_refused():
    with pytest.raises(ValueError, match=r"row 1 \('b'\) is all zeros"):
        plots.cosine_matrix([[1.0, 0.0], [0.0, 0.0]], "ab")


# vectors


@pytest.mark.parametrize("dimensions, arrows", [(2, ["scatter"]), (3, ["scatter3d", "cone"])])
def test_arrows_run_from_the_origin_to_the_vectors(dimensions, arrows):
    vectors = np.array([[1.0, -1.0, 0.5], [0.0, 2.0, 0.0]])[:, :dimensions]
    possible = np.eye(dimensions)
    figure = plots.random_vectors_figure(vectors, labels=["a", "b"], possible=possible)
    behind, lines, *heads, ends = figure.data
    assert [trace.type for trace in (lines, *heads)] == arrows
    for i, axis in enumerate("xyz"[:dimensions]):
        np.testing.assert_array_equal(behind[axis], possible[:, i])
        np.testing.assert_array_equal(ends[axis], vectors[:, i])
        path = np.array(lines[axis]).reshape(2, 3)
        np.testing.assert_array_equal(path[:, 0], [0, 0])
        np.testing.assert_array_equal(path[:, 1], vectors[:, i])
        assert np.isnan(path[:, 2]).all()
    assert list(ends.text) == ["a", "b"]
    if dimensions == 2:
        assert figure.layout.yaxis.scaleanchor == "x"
    else:
        assert figure.layout.scene.aspectmode == "cube"


def test_many_vectors_are_points_only():
    vectors = np.random.default_rng(0).normal(size=(500, 2))
    (points,) = plots.random_vectors_figure(vectors).data
    assert points.marker.opacity == 1 and len(points.x) == 500


@pytest.mark.parametrize(
    "vectors, options, message",
    [
        (np.ones((2, 4)), {}, r"2 or 3 dimensions, found shape \(2, 4\)"),
        (np.ones((2, 2)), {"possible": np.ones((2, 3))}, "possible: expected vectors with 2"),
        (np.ones((2, 2)), {"labels": ["a"]}, "one for each of 2 vectors, found 1"),
        ([[1.0, NAN]], {}, "row 0 is not finite"),
    ],
)
def test_bad_vectors_are_refused(vectors, options, message):
    with pytest.raises(ValueError, match=message):
        plots.random_vectors_figure(vectors, **options)


def test_runtimes_are_on_logarithmic_axes_with_gaps():
    figure = plots.runtime_figure({"naive": ([1, 10], [0.5, NAN]), "fast": ([1, 10], [0.1, 0.2])})
    naive, fast = figure.data
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")
    assert naive.name == "naive" and naive.y[0] == 0.5 and np.isnan(naive.y[1])
    np.testing.assert_allclose(fast.y, [0.1, 0.2], rtol=1e-6)
    assert naive.line.dash != fast.line.dash and naive.line.color != fast.line.color
    with pytest.raises(ValueError, match="'a': 2 counts but 1 times"):
        plots.runtime_figure({"a": ([1, 2], [1])})
    with pytest.raises(ValueError, match="above 0"):
        plots.runtime_figure({"a": ([0], [1])})


# pictures and display


def rgb(height: int, width: int, colours: int) -> np.ndarray:
    rng = np.random.default_rng(colours)
    palette = rng.integers(0, 256, (colours, 3)).astype(np.uint8)
    return palette[rng.integers(0, colours, (height, width))]


def chrome_png(pixels: np.ndarray, kinds: list[int]) -> bytes:
    """An RGBA PNG with the given filter type for each row, as a browser may write it."""
    height, width, _ = pixels.shape
    whole = np.concatenate([pixels, np.full((height, width, 1), 255, np.uint8)], axis=2)
    rows = b""
    for i, kind in enumerate(kinds):
        before = np.zeros_like(whole[i])
        if kind == 1:
            before[1:] = whole[i, :-1]
        elif kind == 2 and i:
            before = whole[i - 1]
        rows += bytes([kind]) + (whole[i] - before).tobytes()
    header = png.struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    out = png.SIGNATURE
    for name, data in ((b"IHDR", header), (b"IDAT", png.zlib.compress(rows, 1)), (b"IEND", b"")):
        check = png.struct.pack(">I", png.zlib.crc32(name + data))
        out += png.struct.pack(">I", len(data)) + name + data + check
    return out


def read_palette(picture: bytes) -> np.ndarray:
    chunks = png._chunks(picture)
    width, height = png.struct.unpack(">II", chunks[b"IHDR"][:8])
    palette = np.frombuffer(chunks[b"PLTE"], np.uint8).reshape(-1, 3)
    rows = np.frombuffer(png.zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, width + 1)
    return palette[rows[:, 1:]]


def test_shrinking_keeps_up_to_256_colours_exactly():
    pixels = rgb(12, 40, 200)
    whole = chrome_png(pixels, [0, 1, 2] * 4)
    np.testing.assert_array_equal(png.read_rgb(whole), pixels)
    np.testing.assert_array_equal(read_palette(png.write_palette(*png.to_palette(pixels))), pixels)


def test_shrinking_more_colours_keeps_the_common_ones_and_stays_near():
    pixels = np.full((64, 64, 3), 255, np.uint8)
    shades = np.arange(32 * 64).reshape(32, 64)
    pixels[:32] = np.stack([shades % 256, shades // 8, np.full_like(shades, 90)], axis=2)
    colours, index = png.to_palette(pixels)
    assert len(colours) == 256
    near = colours[index].astype(int)
    assert (near[32:] == 255).all()
    assert np.abs(near - pixels).max() <= 24


def test_a_kind_of_png_that_is_not_understood_is_left_alone():
    whole = bytearray(chrome_png(rgb(2, 2, 4), [0, 0]))
    whole[24] = 16  # bits a channel
    assert png.shrink(bytes(whole)) == bytes(whole)


@pytest.fixture
def shown(monkeypatch):
    """What `show` hands to the notebook: a list of (data, metadata)."""
    import IPython
    import IPython.display

    outputs = []
    monkeypatch.delenv("ITEKIT_SCALE", raising=False)
    monkeypatch.setattr(IPython, "get_ipython", lambda: object())
    monkeypatch.setattr(
        IPython.display,
        "display",
        lambda data, metadata, raw: outputs.append((data, metadata)),
    )
    return outputs


FIGURE = plots.runtime_figure({"a": ([1, 10], [1, 2])})
PLOTLY = "application/vnd.plotly.v1+json"


def test_show_without_chrome_is_interactive_only(shown, monkeypatch):
    monkeypatch.setattr(static, "find_chrome", lambda: None)
    plots.show(FIGURE, "two points")
    ((data, metadata),) = shown
    assert set(data) == {PLOTLY, "text/plain"} and metadata == {}
    assert data["text/plain"] == data[PLOTLY]["layout"]["meta"]["alt"] == "two points"
    json.dumps(data)
    assert FIGURE.layout.meta is None  # the caller's figure is left as it was


def test_show_with_a_picture_carries_the_text(shown, monkeypatch):
    monkeypatch.setattr(static, "png_bytes", lambda figure: b"picture")
    plots.show(FIGURE, "two points")
    ((data, metadata),) = shown
    assert base64.b64decode(data["image/png"]) == b"picture"
    assert metadata == {"image/png": {"alt": "two points", "width": 700, "height": 440}}


def test_no_picture_at_smoke_size(shown, monkeypatch):
    monkeypatch.setenv("ITEKIT_SCALE", "smoke")
    monkeypatch.setattr(static, "png_bytes", lambda figure: pytest.fail("drew a picture"))
    plots.show(FIGURE, "two points")
    assert "image/png" not in shown[0][0]


def test_show_outside_a_notebook_prints_the_text(capsys):
    plots.show(FIGURE, "two points")
    assert capsys.readouterr().out == "two points\n"
    with pytest.raises(ValueError, match="alt"):
        plots.show(FIGURE, " ")


def test_a_browser_that_fails_warns_once(monkeypatch):
    def fails(chrome):
        raise OSError("will not start")

    monkeypatch.setattr(static, "find_chrome", lambda: "chrome")
    monkeypatch.setattr(static, "_Browser", fails)
    monkeypatch.setattr(static, "_browser", None)
    monkeypatch.setattr(static, "_broken", False)
    with pytest.warns(RuntimeWarning, match="chrome made no picture .OSError: will not start"):
        assert plots.png_bytes(FIGURE) is None
    assert plots.png_bytes(FIGURE) is None
    with pytest.raises(RuntimeError, match="no working Chrome"):
        plots.save_png(FIGURE, "never.png")


def test_a_found_chrome_draws_a_small_picture(tmp_path):
    if plots.find_chrome() is None:
        pytest.skip("no Chrome or Chromium here")
    figure = plots.edit_distance_heatmap(triangle(28), training_length=(5, 10), training_unique=5)
    path = plots.save_png(figure, tmp_path / "heatmap.png", scale=1)
    assert list(tmp_path.iterdir()) == [path]
    pixels = read_palette(path.read_bytes())
    assert pixels.shape == (figure.layout.height, figure.layout.width, 3)
    assert path.stat().st_size < static.MAXIMUM_BYTES
    viridis_start, green = [68, 1, 84], [46, 204, 64]
    for colour in (viridis_start, green):
        assert (np.abs(pixels.astype(int) - colour).sum(axis=2) < 12).sum() > 100


def test_no_figure_carries_the_default_template_or_doubles():
    figure = plots.edit_distance_heatmap(triangle(28))
    assert len(figure.to_json()) < 20_000
    assert style.compact(np.array([1 / 3])).dtype == np.float32
    assert heatmaps.HATCH["shape"]
