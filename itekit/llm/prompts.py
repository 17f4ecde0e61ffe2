"""The paper's two prompts, and formulas in the notation that they use.

Paper, appendix "LLM Setup", its two listings, kept to the letter (spelling included). "{formula}"
is replaced by the formula in infix notation, and the prompt is a user message.

The first listing writes braces twice, `cycle{{1}}`. That is how a Python format string spells one
brace, and Spot's notation for traces has one: what is sent has one. The second listing's braces
stand once, and stay.
"""

from itekit.logic.infix import to_infix
from itekit.logic.prefix import parse_prefix
from itekit.tasks.vocabularies import LANGUAGES

LTL_PROMPT = """\
Your task is to generate a satisfying trace for a given LTL (Linear Temporal Logic) formula.
Lowercase letters denote the atomic propositions.
The output trace should be in lasso form composed of two parts: the prefix part and the cycle part.
Timesteps in the trace should be separated by semicolons, and the cycle part should be enclosed in curly braces, preceeded by the keyword "cycle".

Temporal operators:
X: Next operator
U: Until operator

Logical operators:
&: AND operator
|: OR operator
!: NOT operator
The output trace is a symbolic trace, which means that the logical operators are allowed, but not temporal operators.

Constants:
0: False
1: True
Note that other numbers are invalid.

Example 1
Formula: X((a & Xa) U XXb)
Trace: 1; 1; 1; b; cycle{{1}}

Example 2
Formula: !c U X(1 U b)
Trace: 1; b; cycle{{1}}

Example 3
Formula: X!X!(b & Xb)
Trace: 1; 1; b; b; cycle{{1}}

Example 4
Formula: !(1 U !c)
Trace: cycle{{c}}

Your Turn
Formula: {formula}
Please generate the corresponding trace. Output the trace only."""  # noqa: E501

PROPOSITIONAL_PROMPT = """\
Your task is to generate an assignment that satisfies a given propositional logic formula.
Lowercase letters denote the atomic propositions.
The output is a JSON object representing the assignment.

Logical operators (ordered from highest precedence to lowest):
!: NOT operator
&: AND operator
|: OR operator
xor: Exclusive OR operator
<->: Logical equivalence operator (biconditional)

Constants:
0: False
1: True
Note that other numbers are invalid.

Example 1
Formula: !a | c & (b <-> c)
Assignment: { "a": false }

Example 2
Formula: !(a <-> (!a xor !e))
Assignment: { "a": true, "e": true }

Example 3
Formula: a & (!a <-> !c | d)
Assignment: { "a": true, "c": true, "d": false }

Example 4
Formula: !(a | !(!d | b & d))
Assignment: { "a": false, "d": false }

Your Turn
Formula: {formula}
Please generate an assignment that satisfies this formula. Output the assignment only, in JSON format."""  # noqa: E501


def infix(task: str, formula: str) -> str:
    """A formula in prefix notation as the prompts write it: Spot's infix, and `xor`.

    The propositional prompt ranks | above xor, Spot the other way round; `to_infix` has parentheses
    where that would matter.

    Raises:
        FormulaError: `formula` is no formula of the task's language.
    """
    text = to_infix(parse_prefix(formula, LANGUAGES[task]))
    return text.replace("^", "xor") if task == "propositional" else text


def prompt(task: str, formula: str) -> str:
    """The message that asks for a solution of a formula in prefix notation.

    Args:
        task: "ltl" or "propositional".

    Raises:
        FormulaError: `formula` is no formula of the task's language.
    """
    text = PROPOSITIONAL_PROMPT
    if task == "ltl":
        text = LTL_PROMPT.replace("{{", "{").replace("}}", "}")
    return text.replace("{formula}", infix(task, formula))
