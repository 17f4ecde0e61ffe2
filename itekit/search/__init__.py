"""The copying search: which embedding settings copy best, and what that correlates with.

Paper, appendix "Hyperparameter Search". `settings` has the lists, `running` trains and evaluates
what is missing, `cluster` does so on Dask, `analysis` has the tables, correlations and sensitivity.
"""
