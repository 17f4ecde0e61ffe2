"""What a checker can say about an answer (paper, sections "LTL Solving" and "Propositional Logic").

From best to worst: an exact answer is also correct, and everything else is wrong.
"""

EXACT = "exact"  # the label, up to what the task calls the same
CORRECT = "correct"  # another answer that solves the problem
INCORRECT = "incorrect"  # a well-formed answer that does not solve the problem
INVALID = "invalid"  # no answer: it does not parse, or names what the problem does not hold
TIME_OUT = "time-out"  # the check took too long; nothing is known
VERDICTS = (EXACT, CORRECT, INCORRECT, INVALID, TIME_OUT)
GOOD = (EXACT, CORRECT)  # what counts as correct
