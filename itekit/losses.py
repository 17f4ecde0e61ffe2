"""Losses over sequences: cross-entropy of logits, or of scaled cosines.

Cosines lie between -1 and 1, so they need a scale s before the softmax. AdaCos (Zhang et al. 2019)
adapts it at each step; the paper (section "Projection", "Cosine loss") carries it to sequences by
treating batch and length as one dimension, padding left out, and by limiting s to 100. Instead s
can be learned, as in contrastive image-text models (Radford et al. 2021).

Shape letters: V vocabulary, N tokens; a loss takes any shapes [..., V] and [...], N tokens in all.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from itekit.vocabulary import Vocabulary

PAD_ID = Vocabulary.pad_id
LARGEST_SCALE = 100.0
SMALLEST_SCALE = 1e-2


def _mean_over_tokens(logits: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy of logits [..., V] and targets [...], over what is not padding; a scalar."""
    return cross_entropy(logits.flatten(0, -2), targets.flatten(), ignore_index=PAD_ID)


class CrossEntropy(nn.Module):
    """Mean cross-entropy over the tokens that are not padding; `classes` is not used."""

    scale = None  # what the log and samples read; the other losses have a number

    def __init__(self, classes: int = 0):
        super().__init__()

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """logits: [..., V]; targets: [...], 0 for padding; returns a scalar."""
        return _mean_over_tokens(logits, targets)


class LearnedScale(nn.Module):
    """Cross-entropy of s × cosines; ln s is learned as a weight, from ln 10 on; s at most 100."""

    cosines = True

    def __init__(self, classes: int = 0):
        super().__init__()
        self.log_scale = nn.Parameter(torch.tensor(math.log(10.0)))

    @property
    def scale(self) -> Tensor:
        """s, a scalar."""
        return self.log_scale.exp().clamp(max=LARGEST_SCALE)

    def forward(self, cosines: Tensor, targets: Tensor) -> Tensor:
        """cosines: [..., V], -inf: padding, start; targets: [...], 0 for padding; a scalar."""
        never = cosines.isinf()  # the gradient of s × (-inf) is not a number
        scaled = (self.scale * cosines.masked_fill(never, 0)).masked_fill(never, -torch.inf)
        return _mean_over_tokens(scaled, targets)


class AdaCos(nn.Module):
    """Cross-entropy of s × cosines, with the adaptive scale s of AdaCos.

    In training mode each call first updates s from the batch:
    s = ln(B_avg) / cos(min(π/4, median target angle)), kept within [0.01, 100], where B_avg is the
    mean over tokens of Σ exp(s_previous × cosine) over the classes other than the target, and the
    median is the lower one. In evaluation mode the last s is used. s is a buffer: it is saved with
    the model, and starts at √2 ln(classes - 1), for the tokens of the training vocabulary.
    ValueError: fewer than 3 classes.
    """

    cosines = True

    def __init__(self, classes: int):
        super().__init__()
        if classes < 3:
            raise ValueError(f"AdaCos needs at least 3 classes, found {classes}")
        self.register_buffer("scale", torch.tensor(math.sqrt(2) * math.log(classes - 1)))

    @torch.no_grad()
    def update(self, cosines: Tensor, targets: Tensor) -> None:
        """Update s from cosines [N, V] and targets [N], without reading s back to the host."""
        is_padding = targets == PAD_ID
        tokens = (~is_padding).sum()
        others = (self.scale * cosines).scatter_(1, targets[:, None], -torch.inf)
        sums = torch.logsumexp(others, dim=1).masked_fill_(is_padding, -torch.inf)
        log_b = torch.logsumexp(sums, dim=0) - tokens.log()
        target_cosine = cosines.gather(1, targets[:, None])[:, 0]
        angles = torch.acos(target_cosine.clamp(-1, 1)).masked_fill_(is_padding, torch.inf)
        middle = (tokens - 1).clamp(min=0) // 2  # the lower median: padding is sorted to the end
        angle = angles.sort().values.gather(0, middle[None])[0].clamp(max=math.pi / 4)
        self.scale.copy_((log_b / angle.cos()).clamp(SMALLEST_SCALE, LARGEST_SCALE))

    def forward(self, cosines: Tensor, targets: Tensor) -> Tensor:
        """cosines: [..., V], -inf: padding, start; targets: [...], 0 for padding; a scalar."""
        if self.training:
            self.update(cosines.detach().flatten(0, -2), targets.flatten())
        return _mean_over_tokens(self.scale * cosines, targets)


# The losses: a class, made with the number of tokens of the training vocabulary. Add your own: a
# module called with logits and targets; `cosines = True` if it needs f_fn, `scale` for the log.
LOSSES: dict[str, type[nn.Module]] = {
    "adacos": AdaCos,
    "learned_scale": LearnedScale,
    "cross_entropy": CrossEntropy,
}
