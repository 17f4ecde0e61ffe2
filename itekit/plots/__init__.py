"""Plotly figures: heatmaps, training curves, embedding matrices, random vectors.

Every function takes NumPy arrays (or anything that ``numpy.asarray`` takes) and plain lists, checks
their shapes, and returns a ``plotly.graph_objects.Figure``. `show` displays one in a notebook, with
a static picture and a text alternative beside the interactive figure. Nothing here imports torch.
"""

from itekit.plots.curves import training_curves
from itekit.plots.heatmaps import edit_distance_heatmap, edit_distance_heatmaps
from itekit.plots.matrices import cosine_matrix, embedding_matrix
from itekit.plots.static import find_chrome, png_bytes, save_png
from itekit.plots.style import COLOURS, show
from itekit.plots.vectors import random_vectors_figure, runtime_figure

__all__ = [
    "COLOURS",
    "cosine_matrix",
    "edit_distance_heatmap",
    "edit_distance_heatmaps",
    "embedding_matrix",
    "find_chrome",
    "png_bytes",
    "random_vectors_figure",
    "runtime_figure",
    "save_png",
    "show",
    "training_curves",
]
