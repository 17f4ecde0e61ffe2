"""The paper's perturbed data: a bias in the order of atomic propositions (APs).

Paper, section "Experiments": APs are renamed so that their first appearances in the label are
always in the same order, a, b, c, ... The meaning stays if the renaming is one-to-one and renames
formula and label together. The published tool renames only the APs of the label and leaves the
formula's other APs as they are, so that two APs can become one: `published_perturbation` does the
same, to show it; `perturb` gives those APs the names that are left.
"""

from collections.abc import Sequence

from itekit.alpha import canonical_renaming, tokens_of, used_tokens


def perturb(
    source: Sequence[str], label: Sequence[str], names: Sequence[str]
) -> tuple[Sequence[str], Sequence[str]]:
    """Rename a pair so that the label's APs appear in the order of `names` (ValueError if one
    stands twice); APs that only the source has get the names that are left, by first appearance.

    A pair is two token sequences (strings, lists, tuples), or a formula and a trace or assignment.
    """
    joined = [*tokens_of(label), *tokens_of(source)]
    return canonical_renaming(joined, names, names).apply_pair(source, label)


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
