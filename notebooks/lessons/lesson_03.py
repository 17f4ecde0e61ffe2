"""Exercises of notebook 03: rows of U, their cosines, the AdaCos scale and loss."""

import math

import torch
from torch.nn.functional import cosine_similarity, cross_entropy, normalize

from itekit.losses import AdaCos
from lessons.exercises import Exercise, many, random_tensor


def as_it_is(x):
    return x


def matrix(L, alphas, betas, parts=normalize, whole=normalize):
    """U of several classes; what is done to the parts of a row, and to the whole row."""
    zeros = torch.zeros(len(L), betas[0].shape[1])
    rows = [torch.cat([parts(L), zeros], dim=1)]
    for alpha, beta in zip(alphas, betas, strict=True):
        shared = parts(alpha[None]).expand(len(beta), -1)
        rows.append(torch.cat([shared, parts(beta)], dim=1))
    return whole(torch.cat(rows))


def _parts(rng):
    d_alpha, d_beta = rng.randint(1, 3), rng.randint(1, 3)
    betas = [random_tensor(rng, rng.randint(1, 3), d_beta) for _ in range(rng.randint(1, 2))]
    alphas = [random_tensor(rng, d_alpha) for _ in betas]
    return random_tensor(rng, rng.randint(1, 3), d_alpha), alphas, betas


check_matrix = Exercise("matrix", matrix, many(25, _parts))
check_matrix.mistakes = {
    lambda *a: matrix(*a, whole=as_it_is): "f_fn is missing: normalise the full rows too.",
    lambda *a: matrix(*a, parts=as_it_is): "f_bn is missing: L, alpha and beta are normalised by "
    "themselves before they are put together.",
    lambda L, alphas, betas: matrix(L, alphas[:1] * len(alphas), betas): "all classes share one "
    "alpha, so that a variable cannot be told from a function.",
}


check_letter_cosine = Exercise(
    "letter_cosine",
    lambda b, c: (1 + cosine_similarity(b, c, dim=0)) / 2,
    many(30, lambda rng: tuple(random_tensor(rng, 2, rng.randint(2, 5)))),
)
check_letter_cosine.mistakes = {
    lambda b, c: cosine_similarity(b, c, dim=0): "that is the cosine of the random parts. Half of "
    "each row's squared length is the shared part, which is the same in both.",
    lambda b, c: (1 + b @ c) / 2: "f_bn divides the random parts by their lengths first.",
}


def _adacos_loss(s, cosines, targets):
    loss = AdaCos(cosines.shape[1])
    loss.scale.fill_(s)
    return loss(cosines, targets)


def _loss_with(
    s, cosines, targets, padding=0, late=True, whole=False, middle=torch.median, most=math.pi / 4
):
    """AdaCos by hand, with one thing or another done wrongly."""
    kept = targets != padding
    cosines, targets = cosines[kept], targets[kept]
    rows = torch.arange(len(targets))
    others = (s * cosines).exp()
    if not whole:
        others[rows, targets] = 0
    angle = middle(cosines[rows, targets].acos()).clamp(max=most)
    new = (others.sum(1).mean().log() / angle.cos()).clamp(0.01, 100)
    return cross_entropy((new if late else s) * cosines, targets)


def _logits(rng):
    N, V = rng.randint(3, 6), rng.randint(4, 6)
    targets = [rng.randrange(1, V), 0] + [rng.randrange(V) for _ in range(N - 2)]
    cosines = (random_tensor(rng, N, V) / 3).clamp(-0.95, 0.95).mul(100).round() / 100
    for row, target in enumerate(targets):
        cosines[row, target] = round(rng.uniform(0.3, 0.98), 2)
    return round(rng.uniform(1, 6), 1), cosines, torch.tensor(targets)


CAP = 90.0, torch.tensor([[0.2, 0.93, 0.3, 0.9], [0.1, 0.4, 0.92, 0.3]]), torch.tensor([2, 3])
FLOOR = torch.tensor([[-0.9, 0.9, -0.95, -0.95], [-0.95, -0.9, 0.8, -0.95]])
FLOOR = 6.0, FLOOR, torch.tensor([1, 2])

check_adacos_loss = Exercise("adacos_loss", _adacos_loss, many(40, _logits, CAP, FLOOR))
check_adacos_loss.mistakes = {
    lambda *a: _loss_with(*a, late=False): "the loss uses the scale of the step before. The new "
    "one is found first, and used in the same step.",
    lambda *a: _loss_with(*a, padding=-1): "padding (target 0) is counted. It belongs neither into "
    "B nor into the median nor into the loss.",
    lambda *a: _loss_with(*a, whole=True): "B is the sum over the *other* classes, not the target.",
    lambda *a: _loss_with(*a, middle=torch.mean): "AdaCos takes the median angle, not the mean.",
    lambda *a: _loss_with(*a, most=math.inf): "the median angle is counted as π/4 at most.",
}


def _settled(c, theta, classes, largest=100.0, beyond=False, most=math.pi / 4):
    """The scale; `beyond`: no cap where others are closer than the target."""
    cosine = math.cos(min(theta, most))
    if c < cosine or beyond:
        return min(largest, math.log(classes - 1) / (cosine - c))
    return 100.0


def _means(rng):
    c, theta = round(rng.uniform(-0.5, 0.95), 2), round(rng.uniform(0, 1.5), 2)
    return c, theta, rng.choice((3, 8, 33, 1000))


check_settled_scale = Exercise("settled_scale", _settled, many(40, _means, (0.0, 0.0, 8)))
check_settled_scale.mistakes = {
    lambda c, theta, C: _settled(0, theta, C, math.inf): "that is one step with c = 0. B holds s "
    "itself: B = (C - 1) exp(s c). Put that in and solve for s.",
    lambda *a: _settled(*a, math.inf, beyond=True): "where the others are closer than the target "
    "the scale grows without end: the cap of 100 stops it.",
    lambda *a: _settled(*a, most=math.inf): "the angle is counted as π/4 at most.",
}
