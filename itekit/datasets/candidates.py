"""Random formulas, before anyone knows whether they have a label: Spot's random generators.

LTL (paper, section "LTL Solving"; DeepLTL's LTLRandom35): false, true, not, next, until and and,
each of weight 1, and so is each atomic proposition (AP). Propositional logic (paper, appendix
"Experimental Setup"; PropRandom35): false, true, not, and, or of weight 1, equivalence and
exclusive or of weight 0.5. Nothing is simplified on purpose, but some formulas Spot never builds,
such as `&aa`, `!!a` and `&1a`: a random tree of 35 nodes makes a formula of 18 tokens on average.

Spot draws from one global sequence of random numbers, and orders the operands of a conjunction by
the age of the formulas in the process. So formulas are drawn in batches, each from a seed of its
own and all at once, with names that nobody else uses, and operands without names (`X0`) are put
last: the formulas are the same whatever else the process does.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count

import numpy as np
import spot

from itekit.logic.formulas import ARITY
from itekit.logic.operators import LTL, PROPOSITIONAL, Language, proposition_names
from itekit.logic.prefix import join
from itekit.logic.spot_bridge import FIRST, from_lbt

BATCH = 1000  # trees that are drawn at once
STRIDE = 0x1E3779B1  # between the seeds of batches: odd, so that 2**31 of them are all different
_LTL_WEIGHTS = (
    "false=1,true=1,not=1,X=1,U=1,and=1",
    "F=0,G=0,R=0,W=0,M=0,or=0,xor=0,equiv=0,implies=0",
)
_BOOLEAN_WEIGHTS = "false=1,true=1,not=1,and=1,or=1", "xor=0.5,equiv=0.5,implies=0"


class RandomFormulas(Iterator[str]):
    """Prefix texts of random formulas; `random_formulas` makes it.

    Attributes:
        trees: how many trees were drawn so far, those whose formulas did not fit included.
    """

    def __init__(self, texts: Iterator[str | None], limit: int | None):
        self.trees = 0
        self._texts, self._limit = texts, limit

    def __next__(self) -> str:
        while self.trees != self._limit:
            self.trees += 1
            if (text := next(self._texts)) is not None:
                return text
        raise StopIteration


def random_formulas(
    language: Language,
    propositions: int,
    sizes: tuple[int, int],
    seed: int,
    *,
    fitting: bool = False,
    all_propositions: bool = False,
    alphabet: int | None = None,
    limit: int | None = None,
    rename_sorted: bool = False,
    format: str = "characters",
) -> RandomFormulas:
    """Random formulas of LTL or PROPOSITIONAL, in an order that the arguments decide.

    Endless unless there is a `limit`; the same formula may come again. Every size of the *tree*
    from low to high is equally likely; the formula may be smaller. `fitting` leaves out formulas
    that are too small; if only one size fits, larger trees are drawn too, up to twice that size:
    more of their formulas have it.

    Args:
        propositions: the number of APs, called a, b, ...
        sizes: low and high, in nodes of the tree, which are tokens of the formula.
        fitting: only formulas of low to high tokens.
        all_propositions: only those in which all of the APs occur; implies `fitting`.
        alphabet: draw from so many APs, and keep formulas in which at most `propositions` of them
            occur; implies `fitting` and `rename_sorted`. Formulas of one shape stay equally likely,
            and where they are to have many APs and few leaves, they are found much sooner.
        limit: the end comes after so many trees: what is asked for may not exist.
        rename_sorted: rename the APs of each formula to a, b, ... in their sorted order, as the
            authors do in their sets with 10 APs.

    Raises:
        ValueError: an argument out of range, another language, or names that do not fit `format`.
    """
    low, high = sizes
    if language not in (LTL, PROPOSITIONAL):
        raise ValueError(f"expected LTL or PROPOSITIONAL, found {language.name}")
    if not 1 <= low <= high:
        raise ValueError(f"sizes must satisfy 1 <= low <= high, found {low} and {high}")
    if propositions < 1 or (alphabet is not None and alphabet < propositions):
        raise ValueError(f"expected 1 <= propositions <= alphabet, not {propositions}, {alphabet}")
    if seed < 0 or (limit is not None and limit < 0):
        raise ValueError(f"seed and limit must be 0 or more, found {seed} and {limit}")
    names = proposition_names(propositions)
    join(names, format)
    fitting = fitting or all_propositions or alphabet is not None
    reader = _Reader(
        names=names,
        sizes=(low, high) if fitting else None,
        least=propositions if all_propositions else 0,
        rename=rename_sorted or alphabet is not None,
        format=format,
    )
    trees = (low, 2 * high if fitting and low == high else high)
    return RandomFormulas(reader.texts(language, alphabet or propositions, trees, seed), limit)


@dataclass(frozen=True)
class _Reader:
    """What becomes of Spot's formulas: their texts, or None for those that do not fit."""

    names: tuple[str, ...]
    sizes: tuple[int, int] | None
    least: int
    rename: bool
    format: str

    def texts(
        self, language: Language, alphabet: int, trees: tuple[int, int], seed: int
    ) -> Iterator[str | None]:
        spot_names = [f"p{FIRST + number}" for number in range(alphabet)]
        names = dict(zip(spot_names, self.names, strict=False))
        first = int(np.random.SeedSequence(seed).generate_state(1)[0])
        for number in count():
            drawn = _draw(language, spot_names, trees, (first + number * STRIDE) % 2**31)
            yield from [self.text(formula, names) for formula in drawn]  # a list: all at once

    def text(self, formula: spot.formula, names: dict[str, str]) -> str | None:
        if self.sizes and not self.sizes[0] <= spot.length(formula) <= self.sizes[1]:
            return None
        tokens = spot.str_lbt_ltl(formula).split()
        if self.rename or self.least:
            used = sorted({token for token in tokens if token[0] == "p"})
            if not self.least <= len(used) <= len(self.names):
                return None
            if self.rename:
                names = dict(zip(used, self.names, strict=False))
        tokens = from_lbt(tokens, names)
        if ("X", "0") in zip(tokens, tokens[1:], strict=False):
            tokens = _nameless_last(tokens)
        return join(tokens, self.format)


def _nameless_last(tokens: Sequence[str]) -> list[str]:
    """The formula with the operands of conjunctions that hold no proposition last, sorted.

    The order of the others is Spot's.
    """
    stack: list[list[list[str]]] = []  # formulas as the operands of a conjunction, perhaps only one
    for token in reversed(tokens):
        operands = [stack.pop() for _ in range(ARITY.get(token, 0))]
        if token == "&":
            stack.append(operands[0] + operands[1])
        else:
            stack.append([[token, *chain(*map(_conjunction, operands))]])
    return _conjunction(stack.pop())


def _conjunction(operands: list[list[str]]) -> list[str]:
    """The conjunction of formulas as tokens, nested to the left as Spot prints it."""
    operands.sort(key=lambda part: [] if set(part) - ARITY.keys() else part)
    return ["&"] * (len(operands) - 1) + list(chain(*operands))


def _draw(language: Language, names: list[str], trees: tuple[int, int], seed: int):
    """One batch. Spot writes into the text of the weights, so it gets a new one."""
    if language is LTL:
        options = {"output": "ltl", "ltl_priorities": ",".join(_LTL_WEIGHTS)}
    else:
        options = {"output": "bool", "boolean_priorities": ",".join(_BOOLEAN_WEIGHTS)}
    return spot.randltl(
        names, BATCH, seed=seed, tree_size=trees, simplify=0, allow_dups=True, **options
    )
