"""The vocabularies of the two logic tasks: operators fixed, propositions interchangeable."""

from itekit.logic.operators import LTL, PROPOSITIONAL, Language, proposition_names
from itekit.vocabulary import Vocabulary

LANGUAGES: dict[str, Language] = {"ltl": LTL, "propositional": PROPOSITIONAL}
PREFIXES = {"ltl": "ltl", "propositional": "prop"}  # of the names of sets and experiments


def ltl_vocabulary(propositions: int) -> Vocabulary:
    """Constants, operators and `;` `{` `}` are fixed, propositions are one interchangeable class.

    `|` stands in traces only: Spot gives steps such as `|!ab`.

    Raises:
        ValueError: more propositions than there are names, or a negative number.
    """
    return Vocabulary(tuple("10!&|XU;{}"), (proposition_names(propositions),))


def propositional_vocabulary(propositions: int) -> Vocabulary:
    """Constants and operators are fixed, the propositions are one interchangeable class.

    Raises:
        ValueError: more propositions than there are names, or a negative number.
    """
    return Vocabulary(PROPOSITIONAL.tokens, (proposition_names(propositions),))


def logic_vocabulary(task: str, propositions: int) -> Vocabulary:
    """The vocabulary of "ltl" or "propositional"."""
    return (ltl_vocabulary if task == "ltl" else propositional_vocabulary)(propositions)


def operand_counts(task: str, tokens: tuple[str, ...]) -> tuple[int, ...]:
    """How many operands each token takes in a formula; 0 for what is no operator."""
    known = LANGUAGES[task].by_token
    return tuple(known[token].arity if token in known else 0 for token in tokens)
