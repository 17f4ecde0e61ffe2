"""Makers of the embedding matrix U (paper, section "Embedding matrix", equation "embed").

The embedding matrix is a value: a maker returns U of shape [V, D] for a vocabulary, and the model
takes U for encoder input, decoder input and output projection alike (three-way weight tying). The
proposed method and its baselines differ in the maker alone.

Shape letters: V vocabulary, D model, n non-interchangeable tokens, m interchangeable tokens.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from itekit.random_vectors import (
    check_set_size,
    fewest_dimensions,
    random_vectors,
    sampling_set_size,
)
from itekit.vocabulary import Vocabulary


def check_vocabulary(vocabulary: Vocabulary, training: Vocabulary) -> None:
    """ValueError unless a vocabulary differs from that of training in the size of classes alone."""
    if vocabulary.fixed != training.fixed:
        fixed, others = (" ".join(v.fixed) or "none" for v in (training, vocabulary))
        raise ValueError(f"expected the fixed tokens of training, {fixed}; found {others}")
    if len(vocabulary.class_sizes) != (classes := len(training.class_sizes)):
        other = len(vocabulary.class_sizes)
        raise ValueError(f"expected {classes} classes of interchangeable tokens, found {other}")


def send(x: Tensor, device: torch.device | str) -> Tensor:
    """x on a device; from the CPU to a GPU through pinned memory, without waiting."""
    if torch.device(device).type == "cuda" and torch.cuda.is_available() and not x.is_cuda:
        x = x.pin_memory()
    return x.to(device, non_blocking=True)


class DualPartEmbedding(nn.Module):
    """The proposed embedding: a shared learned part beside a random distinguishing part.

    Row i of U is f_fn([f_bn(L_i), 0]) for a non-interchangeable token and
    f_fn([f_bn(α), f_bn(β_i)]) for an interchangeable one, with α learned once for each class of
    interchangeable tokens and β_i drawn anew at each call, unique within its class. For another β,
    write a subclass with its own `draw`.

    Args:
        vocabulary: gives n and the number of classes; the sizes of the classes do not matter.
        d_beta: width of the random part, at least 1 and less than D.
        method: one of `random_vectors.METHODS`.
        f_bn: block normalisation, of the learned and of the random part by itself.
        f_fn: full normalisation, of each row (and, in the model, of the features that meet U).
    """

    extends = True  # U can be made for names that training did not have
    random = True  # U differs from draw to draw at evaluation
    resamples = True  # training draws at each call, so it can draw for each sequence
    transformer = None  # the class of the model that reads U; None: `model.Transformer`

    @classmethod
    def build(cls, config: "EmbeddingConfig", training: Vocabulary, test: Vocabulary, d_model: int):
        """From the settings of an experiment."""
        width = config.width(test)
        return cls(training, d_model, width, config.method, config.f_bn, config.f_fn)

    def __init__(
        self, vocabulary: Vocabulary, d_model: int, d_beta: int, method: str, f_bn=True, f_fn=True
    ):
        super().__init__()
        if not 0 < d_beta < d_model:
            raise ValueError(f"d_beta must be between 1 and {d_model - 1}, found {d_beta}")
        sampling_set_size(method, d_beta)  # checks the method
        if not vocabulary.class_sizes:
            raise ValueError("a dual-part embedding needs a class of interchangeable tokens")
        self.vocabulary, self.d_beta, self.method = vocabulary, d_beta, method
        self.f_bn, self.f_fn = f_bn, f_fn
        d_alpha = d_model - d_beta
        self.learned = nn.Parameter(torch.randn(vocabulary.learned_count, d_alpha))
        self.shared = nn.Parameter(torch.randn(len(vocabulary.class_sizes), d_alpha))

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """The random parts β of one class, [count, d_beta], all different."""
        return random_vectors(self.method, count, self.d_beta, generator)

    def matrix(
        self, vocabulary: Vocabulary, generator: torch.Generator, count: int | None = None
    ) -> Tensor:
        """U, [V, D], for the training vocabulary or an extension, with a fresh random part.

        The same state of `generator`, a CPU's, gives the same U on every device. With `count`:
        [count, V, D], matrices with the same learned part.
        SamplingSetTooSmallError: the sampling set has fewer vectors than a class has tokens.
        """
        check_vocabulary(vocabulary, self.vocabulary)
        learned, shared, sizes = self.learned, self.shared, vocabulary.class_sizes
        copies = 1 if count is None else count
        drawn = [self.draw(m, generator) for m in sizes * copies]
        random = send(torch.cat(drawn), learned.device).to(learned).unflatten(0, (copies, -1))
        if self.f_bn:
            learned, shared, random = (normalize(x, dim=-1) for x in (learned, shared, random))
        alphas = [alpha.expand(m, -1) for alpha, m in zip(shared, sizes, strict=True)]
        left = torch.cat([learned, *alphas]).expand(copies, -1, -1)
        zeros = learned.new_zeros(copies, len(learned), self.d_beta)
        U = torch.cat([left, torch.cat([zeros, random], dim=1)], dim=2)
        U = normalize(U, dim=-1) if self.f_fn else U
        return U[0] if count is None else U


class LearnedEmbedding(nn.Module):
    """Ordinary embeddings, one learned row a token of training: the plain baseline.

    Trained on data with all names of the test it is the full-vocabulary baseline.
    """

    extends = random = resamples = False
    transformer = None

    @classmethod
    def build(cls, config: "EmbeddingConfig", training: Vocabulary, test: Vocabulary, d_model: int):
        """From the settings of an experiment."""
        return cls(training, d_model, config.f_fn)

    def __init__(self, vocabulary: Vocabulary, d_model: int, f_fn: bool = True):
        super().__init__()
        self.vocabulary, self.f_fn = vocabulary, f_fn
        self.learned = nn.Parameter(torch.randn(len(vocabulary), d_model))

    def matrix(self, vocabulary: Vocabulary, generator: torch.Generator | None = None) -> Tensor:
        """U, [V, D]; `generator` is not used. ValueError for a token without a learned row."""
        check_vocabulary(vocabulary, self.vocabulary)
        if (tokens := len(vocabulary)) != (rows := len(self.learned)):
            why = f"there are rows for {rows} tokens, and the vocabulary has {tokens}"
            raise ValueError(f"learned embeddings cannot be extended: {why}")
        return normalize(self.learned, dim=-1) if self.f_fn else self.learned


class AlphaRenamingEmbedding(LearnedEmbedding):
    """The alpha-renaming baseline (paper, section "Experiments").

    One learned row for each token of the *test* vocabulary. In training mode each call gives the
    (smaller) training vocabulary a random ordered choice of rows, which renames its tokens at
    random; in evaluation mode rows go to tokens in order.
    """

    extends = resamples = True

    @classmethod
    def build(cls, config: "EmbeddingConfig", training: Vocabulary, test: Vocabulary, d_model: int):
        """From the settings of an experiment: a row for each name of the test."""
        return cls(test, d_model, config.f_fn)

    def matrix(
        self, vocabulary: Vocabulary, generator: torch.Generator, count: int | None = None
    ) -> Tensor:
        """U, [V, D], for a vocabulary with at most as many interchangeable tokens as rows.

        With `count`: [count, V, D], each with a choice of its own.
        """
        check_vocabulary(vocabulary, self.vocabulary)
        rows = torch.stack([self._rows(vocabulary, generator) for _ in range(count or 1)])
        chosen = self.learned[send(rows, self.learned.device)]  # [count, V, D]
        U = normalize(chosen, dim=-1) if self.f_fn else chosen
        return U[0] if count is None else U

    def _rows(self, vocabulary: Vocabulary, generator: torch.Generator) -> Tensor:
        """The learned row of each token: int64 [V]."""
        rows = [torch.arange(vocabulary.learned_count)]
        for index, size in enumerate(vocabulary.class_sizes):
            ids = torch.tensor(self.vocabulary.class_ids(index))
            if size > len(ids):
                known = f"learned rows for {len(ids)} interchangeable tokens"
                raise ValueError(f"there are {known}, and the vocabulary has {size}")
            if self.training:
                ids = ids[torch.randperm(len(ids), generator=generator)]
            rows.append(ids[:size])
        return torch.cat(rows)


# The kinds of embeddings; add your own class, with `build`, `matrix` and the four class attributes.
EMBEDDINGS: dict[str, type[nn.Module]] = {
    "dual_part": DualPartEmbedding,
    "learned": LearnedEmbedding,
    "alpha_renaming": AlphaRenamingEmbedding,
}


@dataclass(frozen=True)
class EmbeddingConfig:
    """Which maker of U; method, d_beta and f_bn are for the dual-part embedding alone.

    Attributes:
        kind: a key of EMBEDDINGS.
        method: of the random part, one of `random_vectors.METHODS`.
        d_beta: width of the random part; None: as few dimensions as the names of the test need.
        f_bn: block normalisation.
        f_fn: full normalisation, of rows and of the features that meet them: logits are cosines.
        per_sample: training draws for each sequence of a batch, instead of once for the batch.
    """

    kind: str = "dual_part"
    method: str = "hypercube_vertices"
    d_beta: int | None = None
    f_bn: bool = True
    f_fn: bool = True
    per_sample: bool = False

    def __post_init__(self):
        if self.kind not in EMBEDDINGS:
            known = ", ".join(EMBEDDINGS)
            raise ValueError(f"unknown embedding {self.kind!r}: expected one of {known}")
        if self.per_sample and not self.maker.resamples:
            raise ValueError(f"per_sample: a {self.kind} embedding draws nothing")
        size = sampling_set_size(self.method, 1 if self.d_beta is None else self.d_beta)
        if self.d_beta is None and size is None:
            raise ValueError(f"{self.method} has no smallest sampling set: give d_beta")

    @property
    def maker(self) -> type[nn.Module]:
        """The class of the embedding."""
        return EMBEDDINGS[self.kind]

    def width(self, test: Vocabulary) -> int:
        """d_beta, or the fewest dimensions whose sampling set has a vector for each test name."""
        names = max(test.class_sizes, default=1)
        return self.d_beta or fewest_dimensions(self.method, names)

    def check_names(self, test: Vocabulary) -> None:
        """SamplingSetTooSmallError where the sampling set has fewer vectors than the test names."""
        if self.maker.random and self.d_beta:
            names = max(test.class_sizes, default=1)
            check_set_size(self.method, self.d_beta, names)
