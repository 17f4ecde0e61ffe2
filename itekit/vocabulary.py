"""Vocabularies with interchangeable tokens (paper, section "Problem Definition").

A vocabulary is V = V_n ∪ V_i: the non-interchangeable tokens V_n are the special tokens and the
fixed ones (operators, constants); V_i holds one or more classes of interchangeable tokens, whose
members mean the same under any renaming within their class. Identifiers follow the order special,
fixed, class 0, class 1, ..., so that the interchangeable rows come last in the embedding matrix
(paper, equation "embed").
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

PAD, END, START = SPECIAL = ("<pad>", "<end>", "<start>")


class UnknownTokenError(ValueError):
    """A token that the vocabulary does not hold; the message names it and its position."""


@dataclass(frozen=True)
class Vocabulary:
    """Special, fixed and interchangeable tokens, in that order.

    Args:
        fixed: non-interchangeable tokens other than the special ones.
        interchangeable: one tuple of tokens for each class of interchangeable tokens.

    Raises:
        ValueError: a token occurs twice or is empty, or one string stands for the classes.
    """

    fixed: tuple[str, ...] = ()
    interchangeable: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self):
        if isinstance(self.interchangeable, str):
            raise ValueError(
                f"interchangeable must be a tuple of classes, found {self.interchangeable!r}: "
                f"one class is ({self.interchangeable!r},)"
            )
        object.__setattr__(self, "fixed", tuple(self.fixed))
        object.__setattr__(self, "interchangeable", tuple(map(tuple, self.interchangeable)))
        seen = set()
        for token in self.tokens:
            if not isinstance(token, str) or not token:
                raise ValueError(f"a token must be a non-empty string, found {token!r}")
            if token in seen:
                raise ValueError(f"token {token!r} occurs twice in the vocabulary")
            seen.add(token)

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """All tokens; a token's position is its identifier."""
        return SPECIAL + self.fixed + tuple(t for c in self.interchangeable for t in c)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {token: i for i, token in enumerate(self.tokens)}

    def __len__(self) -> int:
        return len(self.tokens)

    pad_id, end_id, start_id = 0, 1, 2

    @property
    def learned_count(self) -> int:
        """n, the number of non-interchangeable tokens: the special and the fixed ones."""
        return len(SPECIAL) + len(self.fixed)

    @property
    def class_sizes(self) -> tuple[int, ...]:
        """The number of tokens in each interchangeable class; their sum is the paper's m."""
        return tuple(map(len, self.interchangeable))

    def class_ids(self, index: int) -> range:
        """The identifiers of interchangeable class `index`."""
        start = self.learned_count + sum(self.class_sizes[:index])
        return range(start, start + self.class_sizes[index])

    @property
    def interchangeable_ids(self) -> range:
        """The identifiers of all interchangeable tokens, whatever their class."""
        return range(self.learned_count, len(self))

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """Identifiers of `tokens` (a string is read one character a token).

        Raises:
            UnknownTokenError: names the first unknown token and its position, from 0.
        """
        ids = []
        for position, token in enumerate(tokens):
            if token not in self._ids:
                raise UnknownTokenError(
                    f"unknown token {token!r} at position {position}: expected one of "
                    f"{' '.join(self.tokens[len(SPECIAL) :])}"
                )
            ids.append(self._ids[token])
        return ids

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Tokens of `ids`, all of them, special ones included.

        Raises:
            ValueError: an identifier is out of range.
        """
        found = [int(i) for i in ids]
        for position, i in enumerate(found):
            if not 0 <= i < len(self):
                raise ValueError(
                    f"no token has identifier {i} (position {position}): "
                    f"expected 0 to {len(self) - 1}"
                )
        return [self.tokens[i] for i in found]

    def extend(self, more: Sequence[str] | Mapping[int, Sequence[str]]) -> "Vocabulary":
        """The same vocabulary with further interchangeable tokens, V' of the paper.

        Args:
            more: new tokens of the only class, or a mapping from class index to its new tokens.

        Raises:
            ValueError: a token exists already, a class does not exist, or `more` names no class
                although there are several.
        """
        if not isinstance(more, Mapping):
            if len(self.interchangeable) != 1:
                raise ValueError(
                    f"this vocabulary has {len(self.interchangeable)} interchangeable classes: "
                    "say which to extend, as {class index: tokens}"
                )
            more = {0: more}
        for index in more:
            if index not in range(len(self.interchangeable)):
                raise ValueError(
                    f"no interchangeable class {index}: expected 0 to "
                    f"{len(self.interchangeable) - 1}"
                )
        return Vocabulary(
            self.fixed,
            tuple(c + tuple(more.get(i, ())) for i, c in enumerate(self.interchangeable)),
        )

    def to_json(self) -> dict:
        """A JSON value from which `from_json` rebuilds this vocabulary."""
        return {
            "fixed": list(self.fixed),
            "interchangeable": [list(c) for c in self.interchangeable],
        }

    @classmethod
    def from_json(cls, value: Mapping) -> "Vocabulary":
        """Rebuild a vocabulary from `to_json`'s value."""
        return cls(tuple(value["fixed"]), tuple(map(tuple, value["interchangeable"])))
