"""Exercises of the lessons: a module of checkers for each notebook, on one framework."""
