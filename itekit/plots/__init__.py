"""Plotly figures (heatmaps, curves, rates, matrices, trees, lassos), and drawings by Graphviz.

Every function takes NumPy arrays (or anything that ``numpy.asarray`` takes) and plain lists, checks
their shapes, and returns a ``plotly.graph_objects.Figure``; `graph_svg` takes and returns text.
`show` displays a figure in a notebook, with a static picture and a text alternative beside the
interactive one. Nothing here imports torch.
"""

from itekit.plots.correlations import correlation_bars
from itekit.plots.curves import training_curves
from itekit.plots.graphviz import find_dot, graph_svg, show_graph
from itekit.plots.heatmaps import edit_distance_heatmap, edit_distance_heatmaps
from itekit.plots.lasso_tables import lasso_table
from itekit.plots.lassos import lasso_figure
from itekit.plots.matrices import cosine_matrix, embedding_matrix
from itekit.plots.rate_lines import (
    alpha_covariance_lines,
    rates_by_propositions,
    solved_against_draws,
)
from itekit.plots.rates import rate_heatmaps
from itekit.plots.search import search_scatter
from itekit.plots.solving_time import solving_time_heatmaps
from itekit.plots.static import find_chrome, png_bytes, save_png
from itekit.plots.style import COLOURS, show
from itekit.plots.trees import formula_tree
from itekit.plots.vectors import random_vectors_figure, runtime_figure

__all__ = [
    "COLOURS",
    "alpha_covariance_lines",
    "correlation_bars",
    "cosine_matrix",
    "edit_distance_heatmap",
    "edit_distance_heatmaps",
    "embedding_matrix",
    "find_chrome",
    "find_dot",
    "formula_tree",
    "graph_svg",
    "lasso_figure",
    "lasso_table",
    "png_bytes",
    "random_vectors_figure",
    "rate_heatmaps",
    "rates_by_propositions",
    "runtime_figure",
    "save_png",
    "search_scatter",
    "show",
    "show_graph",
    "solved_against_draws",
    "solving_time_heatmaps",
    "training_curves",
]
