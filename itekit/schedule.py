"""Optimiser and learning-rate schedule (AdamW: Loshchilov and Hutter 2019).

Betas 0.9 and 0.95, weight decay 0.1 except on biases and layer norms, linear warm-up, cosine to 0.
"""

import math

import torch
from torch import Tensor, nn


def learning_rate(step: int, steps: int, peak: float, warmup: int) -> float:
    """Learning rate of step 0 .. steps - 1: linear to `peak` over `warmup`, then cosine to 0."""
    if step < warmup:
        return peak * (step + 1) / warmup
    progress = (step - warmup) / max(1, steps - warmup)
    return peak * 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's state as tensors under the names "optimizer.NUMBER.KEY"."""
    return {
        f"optimizer.{i}.{key}": value
        for i, p in enumerate(parameters(optimizer))
        for key, value in optimizer.state[p].items()
    }


def load_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Put back what `optimizer_tensors` gave."""
    for i, p in enumerate(parameters(optimizer)):
        names = [k for k in tensors if k.startswith(f"optimizer.{i}.")]
        optimizer.state[p] = {k.rsplit(".", 1)[1]: tensors[k].to(p.device) for k in names}


def parameters(optimizer: torch.optim.Optimizer) -> list[nn.Parameter]:
    """All trained parameters, in the order of the optimiser."""
    return [p for group in optimizer.param_groups for p in group["params"]]


def adamw(modules: list[nn.Module], peak: float) -> torch.optim.AdamW:
    """AdamW over the parameters of `modules`; no decay for tensors of one dimension."""
    trained = [p for module in modules for p in module.parameters()]
    groups = [
        {"params": [p for p in trained if p.dim() > 1], "weight_decay": 0.1},
        {"params": [p for p in trained if p.dim() <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=peak, betas=(0.9, 0.95), eps=1e-8, fused=True)
