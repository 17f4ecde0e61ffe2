"""Sets that are made from another set's pairs, without new formulas.

Paper, section "Dataset Perturbations", and appendix "LTL Experiment with Limited Dataset".
"""

from collections.abc import Mapping

from itekit.datasets.recipes import Derivation
from itekit.datasets.store import Pair
from itekit.logic.operators import proposition_names
from itekit.logic.perturbation import perturb
from itekit.logic.prefix import join, split


def derive(derivation: Derivation, source: Mapping[str, list[Pair]]) -> dict[str, list[Pair]]:
    """The derived splits from those of the source set."""
    if derivation.kind == "limited":
        return dict(source) | {"train": source["train"][: len(source["train"]) // 10]}
    names = proposition_names(derivation.source.propositions)
    form = derivation.source.format
    return {
        split_name: [_perturbed(pair, names, form) for pair in pairs]
        for split_name, pairs in source.items()
    }


def _perturbed(pair: Pair, names: tuple[str, ...], form: str) -> Pair:
    formula, label = perturb(split(pair[0], form), split(pair[1], form), names)
    return join(formula, form), join(label, form)
