"""Assignments of truth values to atomic propositions: the solutions of propositional formulas.

Paper, appendix "Propositional Logic": `a1b0` is a = 1, b = 0. An assignment may be partial: what it
leaves out may have any value. The order does not matter.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from itekit.logic.errors import FormulaError, quoted
from itekit.logic.operators import NAME_RULE, is_name
from itekit.logic.prefix import join, split, units


@dataclass(frozen=True, eq=False)
class Assignment:
    """A partial assignment; equal to another one with the same values in any order.

    Attributes:
        values: pairs of a name and its truth value, in the order in which they are printed.

    Raises:
        ValueError: a bad or repeated name, or a value that is not True or False.
    """

    values: tuple[tuple[str, bool], ...] = ()

    def __post_init__(self):
        object.__setattr__(self, "values", tuple((name, value) for name, value in self.values))
        for name, value in self.values:
            if not isinstance(name, str) or not is_name(name):
                raise ValueError(f"{name!r} is no name of an atomic proposition: {NAME_RULE}")
            if not isinstance(value, bool):
                raise ValueError(f"the value of {name!r} must be True or False, found {value!r}")
        if len(self.as_dict()) < len(self.values):
            raise ValueError(f"a name stands twice in {' '.join(self.propositions)}")

    def as_dict(self) -> dict[str, bool]:
        """Name -> value."""
        return dict(self.values)

    @property
    def propositions(self) -> tuple[str, ...]:
        """The names that have a value, in order."""
        return tuple(name for name, _ in self.values)

    def tokens(self) -> tuple[str, ...]:
        """Each name followed by 0 or 1."""
        return tuple(token for name, value in self.values for token in (name, "01"[value]))

    def text(self, *, format: str = "characters") -> str:
        """The assignment's text.

        Raises:
            ValueError: a name longer than one character in the "characters" format, or an unknown
                format.
        """
        return join(self.tokens(), format)

    def rename(self, renaming) -> "Assignment":
        """The assignment with its names changed by an `itekit.alpha.Renaming`.

        Raises:
            ValueError: a new name is no name of an atomic proposition.
        """
        new = renaming.mapping
        return Assignment(tuple((new.get(name, name), value) for name, value in self.values))

    def __getitem__(self, name: str) -> bool:
        return self.as_dict()[name]

    def __contains__(self, name: object) -> bool:
        return name in self.propositions

    def __iter__(self) -> Iterator[str]:
        return iter(self.propositions)

    def __len__(self) -> int:
        return len(self.values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Assignment):
            return NotImplemented
        return self.as_dict() == other.as_dict()

    def __hash__(self) -> int:
        return hash(frozenset(self.values))

    def __str__(self) -> str:
        return " ".join(self.tokens())


def parse_assignment(
    text: str | Sequence[str],
    *,
    format: str = "characters",
    propositions: Collection[str] | None = None,
) -> Assignment:
    """The assignment that the text, or a sequence of tokens, stands for.

    Args:
        format: "characters" or "spaced"; for a sequence of tokens it makes no difference.
        propositions: the names that may have a value; any if None.

    Raises:
        FormulaError: an odd length, a value other than 0 and 1, or a name that is unknown or
            stands twice.
        ValueError: an unknown format.
    """
    split("", format)
    shown, tokens = units(text, format)
    values: dict[str, bool] = {}
    name = None
    for token, position in tokens:
        if name is not None:
            if token not in ("0", "1"):
                raise FormulaError(
                    shown, position, quoted(token), f"0 or 1, the value of {quoted(name)}"
                )
            values[name] = token == "1"
            name = None
        elif not is_name(token) or (propositions is not None and token not in propositions):
            names = "a small letter" if propositions is None else f"one of {' '.join(propositions)}"
            raise FormulaError(shown, position, quoted(token), f"a name of a proposition ({names})")
        elif token in values:
            raise FormulaError(shown, position, f"{quoted(token)} again", "each name at most once")
        else:
            name = token
    if name is not None:
        raise FormulaError(shown, len(shown), "the end", f"0 or 1, the value of {quoted(name)}")
    return Assignment(tuple(values.items()))
