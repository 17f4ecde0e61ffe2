"""What a checker can say about an answer (paper, sections "LTL Solving" and "Propositional Logic").

From best to worst: an exact answer is also correct, and everything else is wrong. A trace that
stands for no word at all, such as `{&a!a}`, satisfies every formula: by the paper's definition it
is correct, but it solves nothing. Its verdict is *vacuous*.
"""

EXACT = "exact"  # the label, up to what the task calls the same
CORRECT = "correct"  # another answer that solves the problem
VACUOUS = "vacuous"  # correct by the definition alone: it satisfies the formula by no word
INCORRECT = "incorrect"  # a well-formed answer that does not solve the problem
INVALID = "invalid"  # no answer: it does not parse, or names what the problem does not hold
TIME_OUT = "time-out"  # the check took too long; nothing is known
VERDICTS = (EXACT, CORRECT, VACUOUS, INCORRECT, INVALID, TIME_OUT)
SOLVED = (EXACT, CORRECT)
GOOD = (*SOLVED, VACUOUS)  # what the paper counts as correct
