"""Lesson 00: what its figures show, in words."""

ALT = {
    "rows": "A heatmap with a row for each token. The six characters have identical values in the "
    "shared columns and different ones in the last six; the two special tokens have zeros there.",
    "grids": "Two heatmaps of the edit distance, different characters by length. Plain: 0 up to "
    "five characters; above, every cell holds the length. The other: 0.00 everywhere.",
}
