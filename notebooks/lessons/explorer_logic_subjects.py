"""LTL and propositional logic as the explorer sees them (see `subjects`)."""

import re
from collections.abc import Hashable, Sequence
from contextlib import suppress

import numpy as np

from itekit.alpha import Renaming, canonical_renaming
from lessons.copies import LONGEST
from itekit.datasets.sets import MissingSetError, read_set
from lessons.explorer_judging import Judge
from lessons.explorer_subjects import Subject, Tree
from itekit.logic.assignments import parse_assignment
from itekit.logic.errors import FormulaError, quoted
from itekit.logic.formulas import Formula
from itekit.logic.infix import to_infix
from itekit.logic.infix_traces import trace_to_infix
from itekit.logic.notation import formula_from_text
from itekit.logic.prefix import parse_prefix, to_prefix
from itekit.logic.traces import parse_trace
from itekit.network import Network
from itekit.pairs import Pair
from itekit.scale import SCALES
from itekit.solving import Solver
from itekit.tasks.vocabularies import LANGUAGES

WITHOUT_LABEL = {
    "ltl": "nothing satisfies the formula",
    "propositional": "nothing satisfies the formula, or everything does",
}
EXAMPLES = {"ltl": "a & (c U b)", "propositional": "(a | b) & (b ^ c)"}


class LogicSubject(Subject):
    """LTL or propositional logic; `task` is the experiment's."""

    noun = "formula"

    def __init__(self, network: Network):
        super().__init__(network)
        self.task = self.experiment.task
        self.language = LANGUAGES[self.task]
        self.example, self.without_label = EXAMPLES[self.task], WITHOUT_LABEL[self.task]

    def read(self, text: str) -> str:
        formula = formula_from_text(text, self.language)
        for name in formula.propositions:
            if name not in self.names:
                place = re.search(rf"(?<![a-z0-9_]){name}(?![a-z0-9_])", text)
                at = place.start() if place else text.find(name)
                raise FormulaError(text, at, quoted(name), f"one of {' '.join(self.names)}")
        problem = to_prefix(formula)
        if self._is_rewritten(formula):
            problem = to_prefix(formula.core()).replace("!!", "")  # as in no formula of training
        if len(problem) > LONGEST:
            typed = f" ({formula.size} as typed)" * (len(problem) > formula.size)
            raise ValueError(f"{len(problem)} tokens to read{typed}: at most {LONGEST} here")
        return problem

    def _is_rewritten(self, formula: Formula) -> bool:
        """Whether there are operators in it that the models have never met."""
        known = self.language.by_token
        return not all(known[token].core for token in formula.tokens() if token in known)

    def remark(self, text: str) -> str:
        formula = formula_from_text(text, self.language)
        if not self._is_rewritten(formula):
            return ""
        spelled = to_infix(formula, unicode=True)
        return f"{spelled}, rewritten into what the models know: ! & X U 1 0"

    def shown(self, problem: str, unicode: bool = True) -> str:
        return to_infix(parse_prefix(problem, self.language), unicode=unicode)

    def spelled(self, answer: str) -> str:
        with suppress(FormulaError):
            if self.task == "ltl":
                return f" = {trace_to_infix(parse_trace(answer))}"
            if answer:
                pairs = parse_assignment(answer).values
                return " = " + ", ".join(f"{name} {value}" for name, value in pairs).lower()
        return ""

    def random(self, rng: np.random.Generator) -> str:
        """A problem of the generalization set, one that the network can read."""
        known = set(self.vocabulary.tokens)
        pairs = _problems(self.experiment.set_name("-generalization"), self.experiment.scale)
        readable = [formula for formula, _ in pairs if set(formula) <= known]
        return readable[rng.integers(len(readable))]

    def answers(self, problems: Sequence[str], draw: int = 0) -> list[str]:
        return Solver(self.network, draw).answers(problems)

    def label(self, judge: Judge, problem: str) -> str | None:
        return judge.label(self.task, problem)

    def verdict(self, judge: Judge, problem: str, answer: str) -> str:
        return judge.verdict(self.task, problem, answer)

    def compared(self, answer: str) -> Hashable:
        if self.task == "propositional":
            with suppress(FormulaError):
                return parse_assignment(answer)
        return answer

    def as_read(self, problem: str) -> Renaming:
        names = self.readable_names
        return canonical_renaming(problem if self.experiment.canonical else "", names, names)

    def tree(self, problem: str) -> Tree:
        symbols = {operator.token: operator.symbol for operator in self.language.operators}
        paths = parse_prefix(problem, self.language).tree_paths()
        return [symbols.get(token, token) for token in problem], paths


def _problems(name: str, scale: str) -> list[Pair]:
    """The test split of a set; where it is not there, that of a smaller scale."""
    for smaller in SCALES[SCALES.index(scale) :: -1]:
        with suppress(MissingSetError):
            return read_set(name, smaller)["test"]
    raise MissingSetError(f"the set {name} is there at no scale: python -m itekit generate {name}")
