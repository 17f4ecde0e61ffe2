"""AdaCos against the recipe written out one number at a time; the schedule and the optimiser."""

import math

import pytest
import torch
from tiny import seeded
from torch import nn

from itekit.losses import AdaCos, CrossEntropy, LearnedScale
from itekit.training import adamw, learning_rate


def recipe(scale: float, cosines: list[list[float]], targets: list[int]) -> tuple[float, float]:
    """The next scale, and the loss with it (Zhang et al. 2019; padding removed, cap 100)."""
    tokens = [(row, target) for row, target in zip(cosines, targets, strict=True) if target]
    sums = [sum(math.exp(scale * c) for k, c in enumerate(row) if k != t) for row, t in tokens]
    angles = sorted(math.acos(row[t]) for row, t in tokens)
    median = angles[(len(angles) - 1) // 2]
    scale = min(100.0, math.log(sum(sums) / len(sums)) / math.cos(min(math.pi / 4, median)))
    losses = [math.log(sum(math.exp(scale * (c - row[t])) for c in row)) for row, t in tokens]
    return scale, sum(losses) / len(losses)


def training_batches(steps: int, classes: int = 9, tokens: int = 40):
    """Cosines that come closer to the targets from step to step, some tokens padding."""
    generator = seeded(3)
    for step in range(steps):
        targets = torch.randint(3, classes, (tokens,), generator=generator)
        targets[::7], targets[3::7] = 0, 1
        cosines = torch.rand(tokens, classes, generator=generator) * 1.6 - 0.8
        cosines[torch.arange(tokens), targets] += 0.9 * step / steps
        cosines = cosines.clamp(-1, 0.999)
        cosines[:, [0, 2]] = -torch.inf
        yield cosines, targets


def test_scale_and_loss_follow_the_recipe_step_after_step():
    adacos, scale = AdaCos(9), math.sqrt(2) * math.log(8)
    assert adacos.scale.item() == pytest.approx(scale)
    trajectory = []
    for cosines, targets in training_batches(12):
        loss = adacos(cosines, targets)
        scale, expected = recipe(scale, cosines.tolist(), targets.tolist())
        assert adacos.scale.item() == pytest.approx(scale, rel=1e-4)
        assert loss.item() == pytest.approx(expected, rel=1e-4)
        trajectory.append(scale)
    assert max(trajectory) - min(trajectory) > 0.5


def test_padding_does_not_move_the_scale_or_the_loss():
    cosines, targets = next(training_batches(1))
    real = targets != 0
    padded, short = AdaCos(9), AdaCos(9)
    losses = padded(cosines, targets), short(cosines[real], targets[real])
    torch.testing.assert_close(*losses)
    torch.testing.assert_close(padded.scale, short.scale)


def test_the_scale_is_at_most_100_and_stays_positive():
    targets = torch.tensor([1, 2, 3])
    adacos, alike = AdaCos(5), torch.full((3, 5), 0.9)
    for _ in range(80):
        adacos(alike, targets)
    assert adacos.scale.item() == 100
    apart = torch.full((3, 5), -0.9).scatter(1, targets[:, None], 0.9)
    for _ in range(60):
        assert adacos(apart, targets).isfinite() and 0 < adacos.scale.item() <= 100


def test_evaluation_uses_the_last_scale_and_keeps_it_and_it_is_saved():
    adacos, other, batches = AdaCos(9), AdaCos(9), list(training_batches(3))
    adacos(*batches[0])
    scale = adacos.scale.item()
    loss = adacos.eval()(*batches[2])
    assert adacos.scale.item() == scale
    torch.testing.assert_close(loss, CrossEntropy()(scale * batches[2][0], batches[2][1]))
    other.load_state_dict(adacos.state_dict())
    assert other.scale.item() == scale != AdaCos(9).scale.item()
    with pytest.raises(ValueError, match="at least 3 classes, found 2"):
        AdaCos(2)


def test_the_gradient_sees_the_scale_as_a_constant():
    cosines, targets = next(training_batches(1))
    cosines = cosines[:, [1, *range(3, 9)]].requires_grad_()
    targets = (targets - 2).clamp(min=0)
    adacos = AdaCos(7)
    adacos(cosines, targets).backward()
    fixed = cosines.detach().clone().requires_grad_()
    CrossEntropy()(adacos.scale.item() * fixed, targets).backward()
    torch.testing.assert_close(cosines.grad, fixed.grad)


def test_cross_entropy_is_the_mean_over_tokens_that_are_not_padding():
    logits, targets = torch.randn(4, 5, generator=seeded()), torch.tensor([3, 0, 1, 4])
    losses = [-math.log(logits[i].softmax(0)[t]) for i, t in enumerate(targets.tolist()) if t]
    assert CrossEntropy()(logits, targets).item() == pytest.approx(sum(losses) / 3, rel=1e-5)


def test_a_learned_scale_is_a_weight_and_at_most_100():
    learned, (cosines, targets) = LearnedScale(), next(training_batches(1))
    loss = learned(cosines, targets)
    torch.testing.assert_close(loss, CrossEntropy()(10 * cosines, targets))
    loss.backward()
    assert learned.log_scale.grad.isfinite() and learned.log_scale.grad != 0
    learned.log_scale.data.fill_(9.0)
    assert learned.scale.item() == pytest.approx(100)


def test_the_learning_rate_rises_in_a_line_and_falls_in_a_cosine():
    rates = [learning_rate(step, 100, 2.0, 20) for step in range(101)]
    assert rates[:20] == pytest.approx([2.0 * (step + 1) / 20 for step in range(20)])
    assert rates[20] == pytest.approx(2.0) and rates[60] == pytest.approx(1.0)
    assert rates[40] == pytest.approx(1 + math.cos(math.pi / 4))
    assert rates[100] == pytest.approx(0.0) and min(rates[:100]) > 0
    assert rates[20:] == sorted(rates[20:], reverse=True)
    assert learning_rate(0, 10, 2.0, 0) == 2.0


def test_biases_and_norms_do_not_decay():
    modules = nn.ModuleList([nn.Linear(3, 4), nn.LayerNorm(4)])
    optimizer = adamw(modules)
    decay = {id(p): g["weight_decay"] for g in optimizer.param_groups for p in g["params"]}
    assert {decay[id(p)] for m in modules for p in m.parameters() if p.dim() == 1} == {0.0}
    assert decay[id(modules[0].weight)] == 0.1 and len(decay) == 4
    group = optimizer.param_groups[0]
    assert group["betas"] == (0.9, 0.95) and group["eps"] == 1e-8
