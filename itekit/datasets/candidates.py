"""Random formulas by Spot's generators, formulas that people wrote, and which a recipe takes.

The weights are those of the paper, section "LTL Solving" and appendix "Experimental Setup"
(DeepLTL's LTLRandom35 and PropRandom35). Some formulas Spot never builds, such as `&aa`, `!!a` and
`&1a`: a random tree of 35 nodes makes a formula of 18 tokens on average.

Spot draws from one global sequence of random numbers, and orders the operands of a conjunction by
the age of the formulas in the process. So formulas are drawn in batches, each from a seed of its
own and all at once, with names that nobody else uses, and operands without names (`X0`) are put
last: the formulas are the same whatever else the process does.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count, islice, repeat

import numpy as np
import spot
import spot.gen

from itekit.datasets.presets import Recipe
from itekit.logic.formulas import ARITY, LANGUAGES, LTL, Language, from_tokens, join, split
from itekit.logic.spot_bridge import FIRST, from_lbt
from itekit.tasks.propositional import TAUTOLOGY, UNSATISFIABLE
from itekit.tasks.verdicts import TIME_OUT
from itekit.vocabulary import proposition_names

BATCH = 1000  # trees that are drawn at once
STRIDE = 0x1E3779B1  # between the seeds of batches: odd, so that 2**31 of them are all different
NO_LABEL = (UNSATISFIABLE, TAUTOLOGY, TIME_OUT)  # none of which is the text of a label
_LTL_WEIGHTS = "false=1,true=1,not=1,X=1,U=1,and=1,F=0,G=0,R=0,W=0,M=0,or=0,xor=0,equiv=0,implies=0"
_BOOLEAN_WEIGHTS = "false=1,true=1,not=1,and=1,or=1,xor=0.5,equiv=0.5,implies=0"


def random_formulas(*args, limit: int | None = None, **options) -> Iterator[str]:
    """The formulas of `candidates` that fit, of at most `limit` trees."""
    return (text for text in islice(candidates(*args, **options), limit) if text is not None)


def candidates(
    language: Language,
    propositions: int,
    sizes: tuple[int, int],
    seed: int,
    *,
    fitting: bool | str = False,
    alphabet: int | None = None,
) -> Iterator[str | None]:
    """Endlessly, for each random tree, the prefix text of its formula, or None if it does not fit.

    The arguments alone decide the order; the same formula may come again. ValueError for arguments
    out of range.

    Args:
        propositions: the number of atomic propositions (APs), called a, b, ...
        sizes: low and high, in nodes of the tree, all equally likely; the formula may be smaller.
        fitting: only formulas of low to high tokens; if only one size fits, larger trees are drawn
            too, up to twice that size: more of their formulas have it. "all": only those of them in
            which all of the APs occur.
        alphabet: draw from so many APs, keep formulas that fit and in which at most `propositions`
            of them occur, and rename these to a, b, ... in their sorted order, as the authors do in
            their sets with 10 APs. With a large one many APs in few leaves are found much sooner;
            formulas of one shape stay equally likely.
    """
    low, high = sizes
    if not (1 <= low <= high and 1 <= propositions <= (alphabet or propositions) and seed >= 0):
        sizes = f"{propositions} of {alphabet or propositions}, sizes {low} to {high}, seed {seed}"
        raise ValueError(f"expected APs and sizes from 1 on, and a seed from 0 on, found {sizes}")
    names = proposition_names(propositions)
    every, fitting = fitting == "all", fitting or alphabet is not None
    spot_names = [f"p{FIRST + number}" for number in range(alphabet or propositions)]
    trees = (low, 2 * high if fitting and low == high else high)
    first = int(np.random.SeedSequence(seed).generate_state(1)[0])

    def text(formula: spot.formula) -> str | None:
        if fitting and not low <= spot.length(formula) <= high:
            return None
        tokens = spot.str_lbt_ltl(formula).split()
        used = spot_names
        if every or alphabet:
            occurring = sorted({token for token in tokens if token[0] == "p"})
            if len(occurring) > propositions or (every and len(occurring) < propositions):
                return None
            used = occurring if alphabet else used
        tokens = from_lbt(tokens, dict(zip(used, names, strict=False)))
        if ("X", "0") in zip(tokens, tokens[1:], strict=False):
            tokens = _nameless_last(tokens)
        return join(tokens)

    for number in count():
        drawn = _draw(language, spot_names, trees, (first + number * STRIDE) % 2**31)
        yield from [text(formula) for formula in drawn]  # a list: all at once


COLLECTIONS = {
    "Dwyer et al. 1998": spot.gen.LTL_DAC_PATTERNS,
    "Etessami and Holzmann 2000": spot.gen.LTL_EH_PATTERNS,
    "Somenzi and Bloem 2000": spot.gen.LTL_SB_PATTERNS,
    "Holeček et al. 2004": spot.gen.LTL_HKRSS_PATTERNS,
    "Pelánek 2007": spot.gen.LTL_P_PATTERNS,
}
"""Formulas that people wrote, from the literature on model checking and translation to automata."""


def patterns(collection: str) -> dict[str, str]:
    """Prefix text in the paper's operators, over a, b, ... -> the formula as Spot writes it."""
    texts = {}
    which = COLLECTIONS[collection]
    for number in range(1, spot.gen.ltl_pattern_max(which) + 1):
        formula = spot.gen.ltl_pattern(which, number)
        tokens = spot.str_lbt_ltl(spot.unabbreviate(formula, "eFGiMRW^")).split()
        used = sorted({t for t in tokens if t[0] == "p"}, key=lambda name: int(name[1:]))
        names = dict(zip(used, proposition_names(len(used)), strict=True))
        texts[join(from_tokens(from_lbt(tokens, names)).core().tokens())] = str(formula)
    return texts


def _nameless_last(tokens: Sequence[str]) -> list[str]:
    """The formula with the operands of conjunctions that hold no proposition last, sorted."""

    def conjunction(operands: list[list[str]]) -> list[str]:
        """As tokens, nested to the left as Spot prints it."""
        operands.sort(key=lambda part: [] if set(part) - ARITY.keys() else part)
        return ["&"] * (len(operands) - 1) + list(chain(*operands))

    stack: list[list[list[str]]] = []  # formulas as the operands of a conjunction, perhaps only one
    for token in reversed(tokens):
        operands = [stack.pop() for _ in range(ARITY.get(token, 0))]
        if token == "&":
            stack.append(operands[0] + operands[1])
        else:
            stack.append([[token, *chain(*map(conjunction, operands))]])
    return conjunction(stack.pop())


def _draw(language: Language, names: list[str], trees: tuple[int, int], seed: int):
    """One batch. Spot writes into the text of the weights, so it gets a new one."""
    options = {"output": "bool", "boolean_priorities": ",".join(_BOOLEAN_WEIGHTS.split(","))}
    if language is LTL:
        options = {"output": "ltl", "ltl_priorities": ",".join(_LTL_WEIGHTS.split(","))}
    options |= {"seed": seed, "tree_size": trees, "simplify": 0, "allow_dups": True}
    return spot.randltl(names, BATCH, **options)


class Drawing:
    """The formulas of a recipe, drawn in rounds in one process, and the outcome of each.

    Each round draws what is missing, and formulas without a label are replaced in the next. `kept`
    has the pairs of each stratum in the order drawn. Formulas in `late` are known time-outs.
    """

    def __init__(self, recipe: Recipe, late: Iterable[str] = ()):
        self.recipe, self._late = recipe, frozenset(late)
        self._drawn: list[tuple[int, str]] = []  # of this round: strata and formulas
        self.counts: Counter[str] = Counter()  # outcomes of all formulas
        self.kept: list[list[tuple[str, str]]] = [[] for _ in recipe.strata]
        self.time_outs: list[str] = []
        self._tries = [0] * len(recipe.strata)
        self._sizes = [Counter() for _ in recipe.strata]  # kept, and without a label so far
        self._seen: set[str] = set()
        self._sources = []
        for number, stratum in enumerate(recipe.strata):
            text = f"{recipe.name} {recipe.scale} {recipe.seed} {number}"
            seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
            sizes = (stratum.low, stratum.largest_tree or stratum.high)
            alphabet = stratum.alphabet or (stratum.propositions if recipe.sorted_names else None)
            fitting = "all" if stratum.all_propositions else True
            if stratum.collection:
                fit = dict.fromkeys(proposition_names(stratum.propositions))
                source = chain(patterns(stratum.collection), repeat(None))
                source = (f if f and set(f) - ARITY.keys() <= fit.keys() else None for f in source)
            else:
                where = LANGUAGES[recipe.task], stratum.propositions, sizes, seed
                source = candidates(*where, fitting=fitting, alphabet=alphabet)
            self._sources.append(source)

    def missing(self) -> list[int]:
        """How many pairs each stratum lacks."""
        strata = zip(self.recipe.strata, self.kept, strict=True)
        return [stratum.count - len(pairs) for stratum, pairs in strata]

    def next_round(self) -> Iterator[str]:
        """The formulas to label next, without known time-outs."""
        self._drawn = []
        for number, missing in enumerate(self.missing()):
            for formula in islice(self._draw(number), missing):
                self._drawn.append((number, formula))
                if formula not in self._late:
                    yield formula

    def record(self, labels: Iterable[str]) -> bool:
        """Take the labels (or NO_LABEL) of a round; False if the drawing is over."""
        labels = iter(labels)
        for number, formula in self._drawn:
            answer = TIME_OUT if formula in self._late else next(labels)
            without = self.recipe.task == "ltl" and "0" in answer  # a step that nothing satisfies
            outcome = answer if answer in NO_LABEL else "traces with 0" if without else "kept"
            self.counts[outcome] += 1
            if outcome == "kept":
                self.kept[number].append((formula, answer))
                continue
            self._sizes[number][len(split(formula))] -= 1
            if outcome == TIME_OUT:
                self.time_outs.append(formula)
        return bool(self._drawn)

    def facts(self) -> dict:
        """For the manifest: outcomes of the candidates, time-outs, and strata that are not full."""
        short = []
        for stratum, pairs, tries in zip(self.recipe.strata, self.kept, self._tries, strict=True):
            if (count := len(pairs)) < stratum.count:
                cell = {"propositions": stratum.propositions}
                cell["sizes"] = f"{stratum.low} to {stratum.high}"
                short.append(cell | {"wanted": stratum.count, "found": count, "candidates": tries})
        total = sum(self._tries)
        unfit = total - sum(self.counts.values())  # too small, or not with all APs
        counts = {"candidates": total, "unfit": unfit} | dict(sorted(self.counts.items()))
        return {"counts": counts, "time_outs": self.time_outs, "short": short}

    def _draw(self, number: int) -> Iterator[str]:
        """The formulas of a stratum that are wanted, until it is full or out of tries."""
        stratum, sizes = self.recipe.strata[number], self._sizes[number]
        cap, high, first = stratum.cap, stratum.high, stratum.full_from

        def is_full() -> bool:
            return first is not None and min(sizes[s] for s in range(first, high + 1)) >= cap

        while not is_full() and self._tries[number] < stratum.tries:
            self._tries[number] += 1
            formula = next(self._sources[number])
            size = len(split(formula)) if formula else high + 1
            if size > high:
                continue
            if cap is not None and sizes[size] >= cap:
                self.counts["over quota"] += 1
            elif formula in self._seen:
                self.counts["duplicates"] += 1
            else:
                self._seen.add(formula)
                sizes[size] += 1
                yield formula
