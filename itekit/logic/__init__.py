"""Formulas, traces and assignments of linear temporal and propositional logic; no torch."""
