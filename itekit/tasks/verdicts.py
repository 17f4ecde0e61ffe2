"""What a checker can say about an answer (paper, sections "LTL Solving" and "Propositional Logic").

From best to worst: an exact answer is also correct, and everything else is wrong.
"""

EXACT = "exact"
"""The answer is the label, up to what the task calls the same."""

CORRECT = "correct"
"""Another answer that solves the problem."""

INCORRECT = "incorrect"
"""A well-formed answer that does not solve the problem."""

INVALID = "invalid"
"""Not an answer at all: it does not parse, or it names what the problem does not hold."""

TIME_OUT = "time-out"
"""The check took too long; nothing is known."""

VERDICTS = (EXACT, CORRECT, INCORRECT, INVALID, TIME_OUT)

GOOD = (EXACT, CORRECT)
"""What counts as correct."""
