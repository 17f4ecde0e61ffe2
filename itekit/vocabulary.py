"""Vocabularies with interchangeable tokens (paper, section "Problem Definition").

A vocabulary is V = V_n ∪ V_i: the non-interchangeable tokens V_n are the special tokens and the
fixed ones (operators, constants); V_i holds one or more classes of interchangeable tokens, whose
members mean the same under any renaming within their class. Identifiers follow the order special,
fixed, class 0, class 1, ..., so that the interchangeable rows come last in the embedding matrix
(paper, equation "embed").
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from string import ascii_letters, ascii_lowercase, digits

PAD, END, START = SPECIAL = ("<pad>", "<end>", "<start>")


class UnknownTokenError(ValueError):
    """A token that the vocabulary does not hold; the message names it and its position."""


@dataclass(frozen=True)
class Vocabulary:
    """Special, fixed and interchangeable tokens, in that order.

    Args:
        fixed: non-interchangeable tokens other than the special ones.
        interchangeable: one tuple of tokens for each class of interchangeable tokens.

    ValueError for a token that occurs twice, or one string in place of the classes.
    """

    fixed: tuple[str, ...] = ()
    interchangeable: tuple[tuple[str, ...], ...] = ()
    pad_id, end_id, start_id = 0, 1, 2

    def __post_init__(self):
        if isinstance(self.interchangeable, str):
            text = repr(self.interchangeable)
            raise ValueError(f"expected a tuple of classes, found {text}: one class is ({text},)")
        object.__setattr__(self, "fixed", tuple(self.fixed))
        object.__setattr__(self, "interchangeable", tuple(map(tuple, self.interchangeable)))
        for i, token in enumerate(self.tokens):
            if self._ids[token] != i:
                raise ValueError(f"token {token!r} occurs twice in the vocabulary")

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """All tokens; a token's position is its identifier."""
        return SPECIAL + self.fixed + tuple(t for c in self.interchangeable for t in c)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {token: i for i, token in enumerate(self.tokens)}

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def learned_count(self) -> int:
        """n, the number of special and fixed tokens, which have learned embeddings of their own."""
        return len(SPECIAL) + len(self.fixed)

    @property
    def class_sizes(self) -> tuple[int, ...]:
        """The number of tokens in each interchangeable class; their sum is the paper's m."""
        return tuple(map(len, self.interchangeable))

    def class_ids(self, index: int) -> range:
        """The identifiers of interchangeable class `index`."""
        start = self.learned_count + sum(self.class_sizes[:index])
        return range(start, start + self.class_sizes[index])

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """Identifiers of `tokens` (a string: of its characters); UnknownTokenError for others."""
        tokens = list(tokens)
        for position, token in enumerate(tokens):
            if token not in self._ids:
                known = " ".join(self.tokens[len(SPECIAL) :])
                place = f"{token!r} at position {position}"
                raise UnknownTokenError(f"unknown token {place}: expected one of {known}")
        return [self._ids[token] for token in tokens]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Tokens of `ids`, special ones included."""
        return [self.tokens[int(i)] for i in ids]

    def extend(self, more: Sequence[str], index: int = 0) -> "Vocabulary":
        """V' of the paper: `more` tokens in class `index`; ValueError for one that is there."""
        classes = list(self.interchangeable)
        classes[index] += tuple(more)
        return Vocabulary(self.fixed, tuple(classes))


IDEOGRAPHS = "".join(map(chr, range(0x4E00, 0x4E00 + 10_000)))  # one character each, like letters


def alphabet(size: int) -> tuple[str, ...]:
    """`size` characters, 1 to 10,000: letters and digits first, then one CJK ideograph each."""
    if not 1 <= size <= 10_000:
        raise ValueError(f"an alphabet has 1 to 10000 characters, {size} were asked for")
    return tuple((ascii_letters + digits + IDEOGRAPHS)[:size])


def copying_vocabulary(characters: int) -> Vocabulary:
    """The vocabulary of the copying task: special tokens and one class of interchangeable ones."""
    return Vocabulary(interchangeable=(alphabet(characters),))


def proposition_names(count: int) -> tuple[str, ...]:
    """The first `count` names of atomic propositions: a, b, ..., z, then one CJK ideograph each."""
    return tuple((ascii_lowercase + IDEOGRAPHS)[:count])
