"""The explorer: one panel in which a person tries the shipped models by hand.

`panel` is what a notebook shows. `figures` and `texts` make the same pictures and tables for
readers without a running kernel, from a `question`: a model on its task (`models`, `subjects`), a
problem, a renaming and a random draw. `judging` asks the checkers in a process of its own, and
`steps` does the work without keeping the kernel from answering.
"""
