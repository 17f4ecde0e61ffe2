"""Sets of solved problems: generated, stored, read and checked on all cores; no torch."""
