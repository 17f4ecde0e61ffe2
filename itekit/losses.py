"""Losses over sequences: cross-entropy and AdaCos (paper, section "Projection", "Cosine loss").

AdaCos (Zhang et al. 2019) scales cosine logits by s, adapted at each step. The paper carries it to
sequences by treating batch and length as one dimension, padding left out, and by limiting s to 100.

Shape letters: V vocabulary, N tokens (of all sequences of a batch).
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from itekit.devices import add_up, gather, processes

PAD_ID = 0
LARGEST_SCALE = 100.0
SMALLEST_SCALE = 1e-2


def mean_loss(logits: Tensor, targets: Tensor, shared: bool) -> Tensor:
    """Mean cross-entropy over the tokens that are not padding.

    If the batch is `shared` by several processes, this one's part: the parts add up to the mean
    over the tokens of all of them.
    """
    if not shared or processes() == 1:
        return cross_entropy(logits, targets, ignore_index=PAD_ID)
    tokens = add_up((targets != PAD_ID).sum())
    return cross_entropy(logits, targets, ignore_index=PAD_ID, reduction="sum") / tokens


def median(values: Tensor) -> Tensor:
    """The lower median of the values [N] that are numbers."""
    if values.device.type == "cpu":
        return torch.nanmedian(values)
    return sorted_median(values)


def sorted_median(values: Tensor) -> Tensor:
    """`torch.nanmedian`, which on a GPU makes the host wait, by sorting: NaN comes last."""
    middle = (~values.isnan()).sum().sub(1).clamp(min=0) // 2
    return values.sort().values.gather(0, middle[None])[0]


class CrossEntropy(nn.Module):
    """Mean cross-entropy over the tokens that are not padding (see `mean_loss`)."""

    scale = None

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """logits: [N, V]; targets: [N], 0 for padding; returns a scalar."""
        return mean_loss(logits, targets, self.training)


class AdaCos(nn.Module):
    """Cross-entropy of s × cosines, with the adaptive scale s of AdaCos.

    In training mode each call first updates s from the batch:
    s = ln(B_avg) / cos(min(π/4, median target angle)), where B_avg is the mean over tokens of
    Σ exp(s_previous × cosine) over the classes other than the target. In evaluation mode the last
    s is used. s is a buffer: it is saved with the model.

    Args:
        classes: C, the number of tokens of the training vocabulary; s starts at √2 ln(C - 1).

    Raises:
        ValueError: fewer than 3 classes.
    """

    def __init__(self, classes: int):
        super().__init__()
        if classes < 3:
            raise ValueError(f"AdaCos needs at least 3 classes, found {classes}")
        self.register_buffer("scale", torch.tensor(math.sqrt(2) * math.log(classes - 1)))

    @torch.no_grad()
    def update(self, cosines: Tensor, targets: Tensor) -> None:
        """Update s from cosines [N, V] and targets [N], without reading s back to the host.

        Where processes share a batch, from the tokens of all of them (N is the same for all).
        """
        is_padding = targets == PAD_ID
        target_cosine = cosines.gather(1, targets[:, None])[:, 0]
        others = (self.scale * cosines).scatter_(1, targets[:, None], -torch.inf)
        sums = torch.logsumexp(others, dim=1).masked_fill_(is_padding, -torch.inf)
        angles = torch.acos(target_cosine.clamp(-1, 1)).masked_fill_(is_padding, torch.nan)
        sums, angles, is_padding = gather(sums), gather(angles), gather(is_padding)
        log_b = torch.logsumexp(sums, dim=0) - (~is_padding).sum().log()
        angle = median(angles).clamp(max=math.pi / 4)
        self.scale.copy_((log_b / angle.cos()).clamp(SMALLEST_SCALE, LARGEST_SCALE))

    def forward(self, cosines: Tensor, targets: Tensor) -> Tensor:
        """cosines: [N, V], -inf where impossible; targets: [N], 0 for padding; a scalar."""
        if self.training:
            self.update(cosines.detach(), targets)
        return mean_loss(self.scale * cosines, targets, self.training)
