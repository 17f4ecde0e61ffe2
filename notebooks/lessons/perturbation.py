"""The paper's perturbed data as the published tool makes it (notebook 11, appendices 07 and 09).

The published tool renames only the APs of the label and leaves the formula's other APs as they are,
so that two APs can become one; `itekit.datasets.presets.perturb` gives those the names that are
left.
"""

from collections.abc import Sequence

from itekit.alpha import used_tokens


def published_perturbation(
    source: Sequence[str], label: Sequence[str], names: Sequence[str]
) -> tuple[Sequence[str], Sequence[str]]:
    """What the published tool does: APs that the label lacks keep their names, and may merge.

    On token sequences only: it may give a formula that means something else.
    """
    new = dict(zip(used_tokens(label, names), names, strict=False))
    return _replace(source, new), _replace(label, new)


def collides(source: Sequence[str], label: Sequence[str], names: Sequence[str]) -> bool:
    """Whether the published tool makes one AP of two APs of the source."""
    published, _ = published_perturbation(source, label, names)
    return len(used_tokens(published, names)) < len(used_tokens(source, names))


def _replace(tokens: Sequence[str], new: dict[str, str]) -> Sequence[str]:
    replaced = [new.get(token, token) for token in tokens]
    return "".join(replaced) if isinstance(tokens, str) else type(tokens)(replaced)
