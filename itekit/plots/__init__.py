"""Plotly figures: heatmaps, lines, matrices, trees, lassos.

Every function takes arrays and plain lists, and returns a ``plotly.graph_objects.Figure``, which
`show` displays in a notebook with a picture and a text alternative. Nothing here imports torch.
"""
# ruff: noqa: F401  (all names are for those who import them from here)

from itekit.plots.heatmaps import edit_distance_heatmaps, rate_heatmaps
from itekit.plots.lassos import lasso_figure, lasso_table
from itekit.plots.lines import (
    alpha_covariance_lines,
    rates_with_intervals,
    runtime_figure,
    solved_against_draws,
    training_curves,
)
from itekit.plots.matrices import cosine_matrix, embedding_matrix, light_rows
from itekit.plots.show import (
    AMOUNTS,
    COLOURS,
    DASHES,
    GREY,
    SIGNED,
    SYMBOLS,
    colour_bar,
    mime_bundle,
    png_bytes,
    show,
    style,
)
from itekit.plots.trees import formula_tree
