"""Which formulas of a recipe get a label: random ones in order, less what is not wanted.

Drawing is cheap and happens in one process, so that the formulas are the same whatever number of
workers makes the labels.  It goes in rounds: each draws what is missing, and formulas that turn out
to have no label are replaced in the next.
"""

import hashlib
from collections import Counter

from itekit.datasets.candidates import RandomFormulas, random_formulas
from itekit.datasets.jobs import NO_LABEL
from itekit.datasets.recipes import Recipe
from itekit.logic.operators import LTL, PROPOSITIONAL
from itekit.logic.prefix import split
from itekit.tasks.verdicts import TIME_OUT


class Drawing:
    """The formulas of a recipe and what became of them.

    Attributes:
        counts: formulas that are "over quota" or "duplicates", and of the rest, by outcome,
            "unsatisfiable", "tautology", "time-out", "traces with 0" and "kept".
        kept: for each stratum, the pairs of a formula and its label, in the order drawn.
        time_outs: formulas that ran out of time.
    """

    def __init__(self, recipe: Recipe):
        self.recipe = recipe
        self.counts: Counter[str] = Counter()
        self.kept: list[list[tuple[str, str]]] = [[] for _ in recipe.strata]
        self.time_outs: list[str] = []
        self._sizes = [Counter() for _ in recipe.strata]  # kept, and without a label so far
        self._seen: set[str] = set()
        self._sources = [self._source(number) for number in range(len(recipe.strata))]

    def next_round(self) -> list[tuple[int, str]]:
        """(stratum, formula) of what is to be labelled next; empty when the drawing is over."""
        drawn: list[tuple[int, str]] = []
        for number, stratum in enumerate(self.recipe.strata):
            missing = stratum.count - len(self.kept[number])
            for _ in range(min(missing, (self.recipe.round or missing + len(drawn)) - len(drawn))):
                formula = self._draw(number)
                if formula is None:
                    break
                drawn.append((number, formula))
        return drawn

    def record(self, number: int, formula: str, answer: str) -> None:
        """Take a label, or what came instead, for a formula of stratum `number`."""
        outcome = "kept"
        if answer in NO_LABEL:
            outcome = answer
        elif self.recipe.task == "ltl" and "0" in answer:  # a step that nothing satisfies
            outcome = "traces with 0"
        self.counts[outcome] += 1
        if outcome == "kept":
            self.kept[number].append((formula, answer))
            return
        self._sizes[number][len(split(formula, self.recipe.format))] -= 1
        if outcome == TIME_OUT:
            self.time_outs.append(formula)

    def facts(self) -> dict:
        """For the manifest: what became of the candidates, and which strata are not full."""
        tries = [source.trees for source in self._sources]
        short = [
            {
                "propositions": stratum.propositions,
                "sizes": f"{stratum.low} to {stratum.high}",
                "wanted": stratum.count,
                "found": len(kept),
                "candidates": drawn,
            }
            for stratum, kept, drawn in zip(self.recipe.strata, self.kept, tries, strict=True)
            if len(kept) < stratum.count
        ]
        unfit = sum(tries) - sum(self.counts.values())  # too small, or not with all APs
        counts = {"candidates": sum(tries), "unfit": unfit} | dict(sorted(self.counts.items()))
        return {"counts": counts, "time_outs": self.time_outs, "short": short}

    def _draw(self, number: int) -> str | None:
        """The next formula of a stratum that is wanted; None if it is full or out of tries."""
        stratum, sizes = self.recipe.strata[number], self._sizes[number]
        cap, high = stratum.cap, stratum.high
        if stratum.full_from and min(sizes[s] for s in range(stratum.full_from, high + 1)) >= cap:
            return None
        for formula in self._sources[number]:
            size = len(split(formula, self.recipe.format))
            if size > high:
                continue
            if cap is not None and sizes[size] >= cap:
                self.counts["over quota"] += 1
            elif formula in self._seen:
                self.counts["duplicates"] += 1
            else:
                self._seen.add(formula)
                sizes[size] += 1
                return formula
        return None

    def _source(self, number: int) -> RandomFormulas:
        """The random formulas of a stratum, at most as many as its tries."""
        recipe, stratum = self.recipe, self.recipe.strata[number]
        text = f"{recipe.name} {recipe.scale} {recipe.seed} {number}"
        return random_formulas(
            LTL if recipe.task == "ltl" else PROPOSITIONAL,
            stratum.propositions,
            (stratum.low, stratum.largest_tree or stratum.high),
            int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]),
            fitting=True,
            all_propositions=stratum.all_propositions,
            alphabet=stratum.alphabet,
            limit=stratum.tries,
            rename_sorted=recipe.sorted_names,
            format=recipe.format,
        )
