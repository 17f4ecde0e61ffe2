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

from itekit.random_vectors import random_vectors, sampling_set_size
from itekit.vocabulary import Vocabulary


def check_vocabulary(vocabulary: Vocabulary, learned_count: int, classes: int) -> None:
    """Only the sizes of the classes may differ from those at construction."""
    found = vocabulary.learned_count, len(vocabulary.class_sizes)
    if found != (learned_count, classes):
        made = f"{learned_count} non-interchangeable tokens and {classes} interchangeable classes"
        raise ValueError("this embedding was made for {}, found {} and {}".format(made, *found))


def send(x: Tensor, device: torch.device | str) -> Tensor:
    """x on a device; from the CPU to a GPU through pinned memory, without waiting."""
    if torch.device(device).type == "cuda" and torch.cuda.is_available() and not x.is_cuda:
        x = x.pin_memory()
    return x.to(device, non_blocking=True)


class DualPartEmbedding(nn.Module):
    """The proposed embedding: a shared learned part beside a random distinguishing part.

    Row i of U is f_fn([f_bn(L_i), 0]) for a non-interchangeable token and
    f_fn([f_bn(α), f_bn(β_i)]) for an interchangeable one, with α learned once for each class of
    interchangeable tokens and β_i drawn anew at each call, unique within its class.

    Args:
        vocabulary: gives n and the number of classes; the sizes of the classes do not matter.
        d_beta: width of the random part, at least 1 and less than D.
        method: one of `random_vectors.METHODS`.
        f_bn: block normalisation, of the learned and of the random part by itself.
        f_fn: full normalisation, of each row (and, in the model, of the features that meet U).
    """

    def __init__(
        self, vocabulary: Vocabulary, d_model: int, d_beta: int, method: str, f_bn=True, f_fn=True
    ):
        super().__init__()
        if not 0 < d_beta < d_model:
            raise ValueError(f"d_beta must be between 1 and {d_model - 1}, found {d_beta}")
        sampling_set_size(method, d_beta)  # checks the method
        if not vocabulary.class_sizes:
            raise ValueError("a dual-part embedding needs a class of interchangeable tokens")
        self.d_beta, self.method, self.f_bn, self.f_fn = d_beta, method, f_bn, f_fn
        d_alpha = d_model - d_beta
        self.learned = nn.Parameter(torch.randn(vocabulary.learned_count, d_alpha))
        self.shared = nn.Parameter(torch.randn(len(vocabulary.class_sizes), d_alpha))

    def matrix(
        self, vocabulary: Vocabulary, generator: torch.Generator, count: int | None = None
    ) -> Tensor:
        """U, [V, D], for the training vocabulary or an extension, with a fresh random part.

        The same state of `generator`, a CPU's, gives the same U on every device. With `count`:
        [count, V, D], so many matrices that differ in the random part alone.
        SamplingSetTooSmallError: the sampling set has fewer vectors than a class has tokens.
        """
        check_vocabulary(vocabulary, len(self.learned), len(self.shared))
        learned, shared, sizes = self.learned, self.shared, vocabulary.class_sizes
        copies = 1 if count is None else count
        drawn = [random_vectors(self.method, m, self.d_beta, generator) for m in sizes * copies]
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

    def __init__(self, vocabulary: Vocabulary, d_model: int, f_fn: bool = True):
        super().__init__()
        self.vocabulary, self.f_fn = vocabulary, f_fn
        self.learned = nn.Parameter(torch.randn(len(vocabulary), d_model))

    def matrix(self, vocabulary: Vocabulary, generator: torch.Generator | None = None) -> Tensor:
        """U, [V, D]; `generator` is not used. ValueError for a token without a learned row."""
        if (found := len(vocabulary)) != (rows := len(self.learned)):
            why = f"there are rows for {rows} tokens, and the vocabulary has {found}"
            raise ValueError(f"learned embeddings cannot be extended: {why}")
        return normalize(self.learned, dim=-1) if self.f_fn else self.learned


class AlphaRenamingEmbedding(LearnedEmbedding):
    """The alpha-renaming baseline (paper, section "Experiments").

    One learned row for each token of the *test* vocabulary. In training mode each call gives the
    (smaller) training vocabulary a random ordered choice of rows, which renames its tokens at
    random; in evaluation mode rows go to tokens in order.
    """

    def matrix(self, vocabulary: Vocabulary, generator: torch.Generator) -> Tensor:
        """U, [V, D], for a vocabulary with at most as many interchangeable tokens as rows."""
        known = self.vocabulary
        check_vocabulary(vocabulary, known.learned_count, len(known.class_sizes))
        rows = [torch.arange(known.learned_count)]
        for index, wanted in enumerate(vocabulary.class_sizes):
            ids = torch.tensor(known.class_ids(index))
            if wanted > len(ids):
                rows = f"learned rows for {len(ids)} interchangeable tokens"
                raise ValueError(f"there are {rows}, and the vocabulary has {wanted}")
            if self.training:
                ids = ids[torch.randperm(len(ids), generator=generator)]
            rows.append(ids[:wanted])
        chosen = self.learned[send(torch.cat(rows), self.learned.device)]
        return normalize(chosen, dim=-1) if self.f_fn else chosen


KINDS = ("dual_part", "learned", "alpha_renaming", "invariant")


@dataclass(frozen=True)
class EmbeddingConfig:
    """Which maker of U, one of `KINDS`; f_fn is for all, the other settings for dual_part alone."""

    kind: str = "dual_part"
    method: str = "hypercube_vertices"
    d_beta: int = 6
    f_bn: bool = True
    f_fn: bool = True

    def __post_init__(self):
        if self.kind not in KINDS:
            raise ValueError(f"unknown embedding {self.kind!r}: expected one of {', '.join(KINDS)}")
        sampling_set_size(self.method, self.d_beta)  # checks both

    def build(self, training: Vocabulary, test: Vocabulary, d_model: int) -> nn.Module:
        """The maker for a training vocabulary; only alpha-renaming needs to know the test one."""
        if self.kind == "dual_part":
            settings = self.d_beta, self.method, self.f_bn, self.f_fn
            return DualPartEmbedding(training, d_model, *settings)
        if self.kind == "alpha_renaming":
            return AlphaRenamingEmbedding(test, d_model, self.f_fn)
        if self.kind == "learned":
            return LearnedEmbedding(training, d_model, self.f_fn)
        from itekit.invariant import InvariantEmbedding  # streams, not vectors

        return InvariantEmbedding(training, d_model, self.f_fn)
