"""Vocabularies with interchangeable tokens (paper, section "Problem Definition"), and the tasks'.

A vocabulary is V = V_n ∪ V_i: the non-interchangeable tokens V_n are the special tokens and the
fixed ones (operators, constants); V_i holds one or more classes of interchangeable tokens, whose
members mean the same under any renaming within their class. Identifiers follow the order special,
fixed, class 0, class 1, ..., so that the interchangeable rows come last in the embedding matrix
(paper, equation "embed").
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product
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
        for token in self.tokens:
            if not isinstance(token, str) or not token:
                raise ValueError(f"a token must be a non-empty string, found {token!r}")
        if len(self._ids) < len(self.tokens):
            twice = next(t for i, t in enumerate(self.tokens) if self._ids[t] != i)
            raise ValueError(f"token {twice!r} occurs twice in the vocabulary")

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
        found = []
        for position, token in enumerate(tokens):
            if token not in self._ids:
                raise UnknownTokenError(
                    f"unknown token {token!r} at position {position}: expected one of "
                    f"{' '.join(self.tokens[len(SPECIAL) :])}"
                )
            found.append(self._ids[token])
        return found

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
        classes = self.interchangeable
        if not isinstance(more, Mapping):
            if len(classes) != 1:
                raise ValueError(
                    f"this vocabulary has {len(classes)} interchangeable classes: "
                    "say which to extend, as {class index: tokens}"
                )
            more = {0: more}
        for index in more:
            if index not in range(len(classes)):
                raise ValueError(
                    f"no interchangeable class {index}: expected 0 to {len(classes) - 1}"
                )
        longer = (c + tuple(more.get(i, ())) for i, c in enumerate(classes))
        return Vocabulary(self.fixed, tuple(longer))


LETTERS = ascii_letters + digits
OPERANDS = {
    "ltl": {1: "!XFG", 2: "&|=^>URWM"},
    "propositional": {1: "!", 2: "&|=^"},
}
"""Task -> number of operands -> the operators of its formulas; see `logic.formulas`."""


def alphabet(size: int) -> tuple[str, ...]:
    """`size` characters: letters and digits first, then one CJK ideograph each.

    Raises:
        ValueError: more than 10,000 are asked for, or fewer than 1.
    """
    if not 1 <= size <= 10_000:
        raise ValueError(f"an alphabet has 1 to 10000 characters, {size} were asked for")
    return tuple(LETTERS[:size]) + tuple(chr(0x4E00 + i) for i in range(size - len(LETTERS)))


def copying_vocabulary(characters: int) -> Vocabulary:
    """The vocabulary of the copying task: special tokens and one class of interchangeable ones."""
    return Vocabulary(interchangeable=(alphabet(characters),))


def proposition_names(count: int) -> tuple[str, ...]:
    """The first `count` names of atomic propositions: a, b, ..., z, aa, ab, ..., zz.

    Raises:
        ValueError: a negative count, or more than 702.
    """
    if not 0 <= count <= 702:
        raise ValueError(f"there are 0 to 702 names, {count} were asked for")
    pairs = ("".join(letters) for letters in product(ascii_lowercase, repeat=2))
    return tuple(ascii_lowercase[:count]) + tuple(islice(pairs, max(0, count - 26)))


def ltl_vocabulary(propositions: int) -> Vocabulary:
    """Constants, operators and `;` `{` `}` are fixed, propositions are one interchangeable class.

    `|` stands in traces only: Spot gives steps such as `|!ab`.
    """
    return Vocabulary(tuple("10!&|XU;{}"), (proposition_names(propositions),))


def propositional_vocabulary(propositions: int) -> Vocabulary:
    """Constants and operators are fixed, the propositions are one interchangeable class."""
    return Vocabulary(tuple("10!&|=^"), (proposition_names(propositions),))


def logic_vocabulary(task: str, propositions: int) -> Vocabulary:
    """The vocabulary of "ltl" or "propositional"."""
    return (ltl_vocabulary if task == "ltl" else propositional_vocabulary)(propositions)


def operand_counts(task: str, tokens: Iterable[str]) -> tuple[int, ...]:
    """How many operands each token takes in a formula of the task; 0 for what is no operator."""
    counts = {token: count for count, some in OPERANDS[task].items() for token in some}
    return tuple(counts.get(token, 0) for token in tokens)
