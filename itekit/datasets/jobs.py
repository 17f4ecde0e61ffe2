"""The functions that worker processes run for each task, by name, so that only they load its tools.

Items are JSON lists of text.  A `label` function takes [formula, method, format] and returns the
label, or one of `NO_LABEL`, none of which is the text of a label.  A `check` function takes
[formula, answer, label or None, format] and returns the verdict.
"""

from itekit.tasks.verdicts import TIME_OUT

UNSATISFIABLE, TAUTOLOGY = "unsatisfiable", "tautology"

NO_LABEL = (UNSATISFIABLE, TAUTOLOGY, TIME_OUT)
"""What may come instead of a label; a time-out comes from the worker that was ended."""

LABEL = {
    "ltl": "itekit.datasets.jobs_ltl:label",
    "propositional": "itekit.datasets.jobs_propositional:label",
}
CHECK = {
    "ltl": "itekit.datasets.jobs_ltl:check",
    "propositional": "itekit.datasets.jobs_propositional:check",
}
