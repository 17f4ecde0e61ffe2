"""Plotly figures: heatmaps, lines, matrices, trees, lassos.

Every function takes arrays and plain lists, and returns a ``plotly.graph_objects.Figure``, which
`show` displays in a notebook with a picture and a text alternative. Nothing here imports torch.
"""
# ruff: noqa: F401  (all names are for those who import them from here)

from lessons.plots.heatmaps import edit_distance_heatmaps, rate_heatmaps
from lessons.plots.lassos import lasso_figure, lasso_table
from lessons.plots.lines import (
    alpha_covariance_lines,
    rates_with_intervals,
    runtime_figure,
    solved_against_draws,
    training_curves,
)
from lessons.plots.matrices import cosine_matrix, embedding_matrix, light_rows
from lessons.plots.show import (
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
from lessons.plots.trees import formula_tree
