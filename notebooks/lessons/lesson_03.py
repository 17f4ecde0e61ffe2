"""Notebook 03: the push of a loss, a short training, its mistakes; exercises on U and AdaCos."""

import copy
import math
from collections import Counter

import ipywidgets as widgets
import numpy as np
import plotly.graph_objects as go
import torch
from torch.nn.functional import cosine_similarity, cross_entropy, normalize, pad

from itekit.data import Batch
from itekit.decoding import Solver
from itekit.losses import AdaCos
from itekit.names import experiment
from itekit.network import Network
from itekit.random_vectors import random_vectors, seeded
from itekit.tasks.copying import strings_with_unique
from itekit.training import adamw, learning_rate
from lessons.copies import copies
from lessons.exercises import Exercise, many, random_tensor
from lessons.panels import Panel, look, small_panel
from lessons.plots import COLOURS, DASHES, GREY, style
from lessons.plots.show import BELOW, WIDEST, subplots

CLASSES = 33  # of the push: a target and 32 others, at cosine 0
TOKENS = 100
ALT = {
    "matrix": "The matrix for three special tokens and the letters a to e. Each special token has "
    "a learned part of its own and zeros; the letters share a learned part and differ in the rest.",
    "cosines": "Cosines between the eight rows: one on the diagonal; each special token has the "
    "same cosine with all five letters; the letters have various cosines with each other.",
    "scales": "The push against the angle, 33 tokens: above 0.9 everywhere at scale 1; near 0 up "
    "to 60 degrees at scale 20; at scale 4.9 it rises in between, and is one half at 45 degrees.",
    "middles": "The push against the angle, with dots for 100 tokens. With the median the 70 "
    "tokens near 20 degrees get about one half; with the mean they get much less.",
    "run": "AdaCos and bare cosines over the steps: the scale jumps up and settles; the target's "
    "probability settles higher with AdaCos; both accuracies rise to about 1, bare cosines a "
    "little earlier.",
}


def push_figure(scales, angles=(), where=None) -> go.Figure:
    """1 - p of a target against its angle, a curve for each scale {name: s}; dots for tokens."""
    theta, figure = np.linspace(0, 120, 121), go.Figure()

    def push(s, degrees):
        lead = s * np.cos(np.radians(degrees)) - math.log(CLASSES - 1)
        return 1 / (1 + np.exp(np.clip(lead, -500, 500)))

    for i, (name, s) in enumerate(scales.items()):
        line = {"color": COLOURS[i], "dash": DASHES[i], "width": 2.5}
        figure.add_scatter(x=theta, y=push(s, theta), name=name, line=line, mode="lines")
        if len(angles):
            dots = {"color": COLOURS[i], "size": 7, "opacity": 0.5}
            dots = {"mode": "markers", "marker": dots, "showlegend": False}
            figure.add_scatter(x=angles, y=push(s, angles), **dots)
    if where is not None:
        line = {"color": GREY, "dash": "dot"}
        figure.add_vline(x=where, line=line, annotation_text=f"{where:.0f}°")
    figure.update_xaxes(title_text="angle of the target, degrees", dtick=15, range=[-2, 122])
    figure.update_yaxes(title_text="push, 1 - p", range=[-0.03, 1.05])
    return style(figure, width=760, height=360, showlegend=True)


def angles_of(lost: int) -> np.ndarray:
    """TOKENS angles in degrees: `lost` of them around 100, the others around 20; in order."""
    rng = np.random.default_rng(0)
    return np.sort(np.r_[rng.normal(20, 5, TOKENS - lost), rng.normal(100, 6, lost)])


def middle_panel(lost: int = 30) -> Panel:
    """Lose tokens one by one, and let the scale follow their median or their mean."""

    def work(lost: int, middle: str, least: bool) -> tuple[str, go.Figure, str]:
        angles = angles_of(lost)
        where = getattr(np, middle)(angles)
        counted = min(where, 45.0) if least else where
        s = math.log(CLASSES - 1) / math.cos(math.radians(counted))
        told = f"<p>{middle} {where:.0f}°, counted as {counted:.0f}°: scale {s:.1f}</p>"
        return told, push_figure({f"s = {s:.1f}": s}, angles, where), f"The push at scale {s:.1f}"

    return small_panel(
        work,
        widgets.IntSlider(lost, 0, TOKENS, **look("lost tokens", None, "8em")),
        widgets.ToggleButtons(options=("median", "mean"), **look("scale follows", None, "8em")),
        widgets.Checkbox(True, **look("count at most 45°", None, "8em")),
    )


def short_run(
    adacos: bool, steps: int, size: int, seed: int, peak: float = 2e-3, warmup: int = 0
) -> tuple[Network, list[dict], Network]:
    """A short training of the paper's copying model, with AdaCos or on bare cosines.

    The learning rate rises to `peak` over `warmup` steps, by default a fifth of them.
    Returns the network, what was measured at each step, and the network after a third of them:
    scale, loss, and of the targets mean probability, accuracy, median and mean angle.
    """
    kind = "adacos" if adacos else "cross_entropy"
    base = experiment("copying-5-10/proposed", "paper", seed, loss=kind)
    task = base.task
    stream = task.stream(size, seed)
    network, records = Network(base).train(), []
    optimizer = adamw(network)
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, steps, peak, warmup or steps // 5)
        U = network.embedding.matrix(task.vocabulary, seeded(seed, 1, step))
        torch.manual_seed(step)  # of dropout
        batch = Batch.of(stream.batch(step))
        real = batch.target != 0
        logits, targets = network.logits(U, batch)[real], batch.target[real]
        loss = network.loss(logits, targets)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        s = network.loss.scale.item() if adacos else 1.0
        logits = logits.detach()
        angles = logits.gather(1, targets[:, None]).clamp(-1, 1).acos().rad2deg()
        found = {"scale": s, "loss": loss.item()}
        found["p"] = (s * logits).softmax(dim=1).gather(1, targets[:, None]).mean().item()
        found["accuracy"] = (logits.argmax(dim=1) == targets).float().mean().item()
        records.append(found | {"median": angles.median().item(), "mean": angles.mean().item()})
        if step == steps // 3 - 1:
            early = copy.deepcopy(network).train(False)
    return network.train(False), records, early


def run_figure(runs) -> go.Figure:
    """Scale, probability of the target and accuracy over the steps: {name: records}."""
    titles = {"scale": "scale", "p": "target's probability", "accuracy": "token accuracy"}
    figure, places = subplots(list(titles.values()), 3)
    for key, place in zip(titles, places, strict=True):
        for i, (name, records) in enumerate(runs.items()):
            line = {"color": COLOURS[i], "dash": DASHES[i]}
            y = [record[key] for record in records]
            shown = {"name": name, "showlegend": key == "scale"}
            x = list(range(1, len(y) + 1))
            figure.add_scatter(x=x, y=y, line=line, mode="lines", **shown, **place)
    figure.update_yaxes(range=[-0.03, 1.03]).update_yaxes(range=None, rangemode="tozero", col=1)
    figure.update_xaxes(title_text="step")
    figure.update_layout(meta={"alt": ALT["run"]})
    return style(figure, width=WIDEST, height=360, legend=BELOW, margin={"t": 50, "b": 90})


def print_mistakes(network: Network, count: int = 64) -> None:
    """Cosines of the rows of 30 letters: of all pairs, and of those that copies confuse."""
    vocabulary = network.experiment.task.test_vocabulary
    strings = strings_with_unique(count, 10, 10, np.random.default_rng(99))
    letters = vocabulary.interchangeable[0]
    texts = network.experiment.task.texts(strings)
    U = Solver(network).U
    cosines, mistakes = (U @ U.T).numpy().round(2) + 0.0, Counter()
    for one in copies(network, texts):
        if len(one.answer) == len(one.source):  # no letter left out, so that places match
            pairs = zip(vocabulary.encode(one.source), vocabulary.encode(one.answer), strict=True)
            mistakes.update(cosines[pair].item() for pair in pairs if pair[0] != pair[1])
    every = Counter(cosines[3:, 3:][~np.eye(len(letters), dtype=bool)].tolist())
    print(f"{mistakes.total()} mistakes\n\ncosine   share of all pairs   share of mistakes")
    for value in sorted(every, reverse=True):
        share = mistakes[value] / max(1, mistakes.total())
        print(f"{value:6.2f}{every[value] / every.total():15.0%}{share:20.0%}")


def as_it_is(x):
    return x


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
check_settled_scale.signs = {
    lambda answer, expected, c, theta, C: theta > math.pi / 4: "here theta is beyond π/4. The "
    "update counts it as π/4: min(theta, π/4).",
}


def _adacos_loss(s, cosines, targets):
    loss = AdaCos(cosines.shape[1])
    loss.scale.fill_(s)
    return loss(cosines, targets)


def _loss_with(
    s, cosines, targets, skip=(0, 0), late=True, whole=False, middle=torch.median, most=math.pi / 4
):
    """AdaCos by hand, with one thing or another done wrongly; `skip`: in the scale, in the loss."""
    in_scale, in_loss = (targets != padding for padding in skip)
    rows = torch.arange(len(targets))
    others = (s * cosines).exp()
    if not whole:
        others[rows, targets] = 0
    angle = middle(cosines[rows, targets][in_scale].acos()).clamp(max=most)
    new = (others[in_scale].sum(1).mean().log() / angle.cos()).clamp(0.01, 100)
    return cross_entropy((new if late else s) * cosines[in_loss], targets[in_loss])


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
    lambda *a: _loss_with(*a, skip=(-1, -1)): "padding (target 0) is counted. It belongs neither "
    "into B nor into the median nor into the loss.",
    lambda *a: _loss_with(*a, skip=(-1, 0)): "padding (target 0) is left out of the loss, but the "
    "scale still counts it, in B and in the median.",
    lambda *a: _loss_with(*a, whole=True): "B is the sum over the *other* classes, not the target.",
    lambda *a: _loss_with(*a, middle=torch.mean): "AdaCos takes the median angle, not the mean.",
    lambda *a: _loss_with(*a, most=math.inf): "the median angle is counted as π/4 at most.",
}
check_adacos_loss.signs = {
    lambda answer, *a: math.isnan(answer): "nan comes from the logarithm of a negative number, or "
    "from infinity less infinity.",
}


STEPS, LENGTH, D_BETA, LETTERS = 200, 8, 16, 26  # of the exercise that trains


class Toy(torch.nn.Module):
    """A small transformer for strings of 8 letters, with all that is learned, but no U."""

    def __init__(self, seed: int, d: int = 64):
        super().__init__()
        self.generator = seeded(seed)
        torch.manual_seed(seed)
        self.L = torch.nn.Parameter(torch.randn(3, d - D_BETA))
        self.alpha = torch.nn.Parameter(torch.randn(1, d - D_BETA))
        self.places = torch.nn.Parameter(torch.randn(LENGTH, d))
        self.body = torch.nn.Transformer(d, 4, 1, 1, 2 * d, dropout=0.0, batch_first=True)
        self.mask, self.adacos = self.body.generate_square_subsequent_mask(LENGTH), AdaCos(8)
        self.optimizer = torch.optim.AdamW(self.parameters(), 3e-3)

    def beta(self, count: int) -> torch.Tensor:
        """Random parts for so many letters, [count, 16]."""
        return random_vectors("hypercube_vertices", count, D_BETA, self.generator)

    def strings(self, count: int, first: int = 3, last: int = 7) -> torch.Tensor:
        """Strings over the tokens from first to last, [count, 8]; 3 to 7 are the letters a to e."""
        return torch.randint(first, last + 1, (count, LENGTH), generator=self.generator)

    def features(self, U, strings, answer) -> torch.Tensor:
        """What the last layer says of each place of the answer, from the tokens before it."""
        scaled, inputs = U.shape[1] ** 0.5 * U, pad(answer[:, :-1], (1, 0), value=2)
        read, write = scaled[strings] + self.places, scaled[inputs] + self.places
        return self.body(read, write, tgt_mask=self.mask)

    @torch.no_grad()
    def right(self, first: int, last: int) -> float:
        """The share of letters that are copied right, in 100 strings over some of 26 letters."""
        U = _matrix(self, self.beta(LETTERS))
        strings = self.strings(100, first, last)
        copied = torch.zeros_like(strings)
        for place in range(LENGTH):
            cosines = normalize(self.features(U, strings, copied), dim=-1) @ U.T
            copied[:, place] = cosines[:, place].argmax(dim=-1)
        return (copied == strings).float().mean().item()

    def __repr__(self) -> str:
        return "toy"


class Training(Exercise):
    """An exercise in which the learner writes one step of a training, which is done STEPS times."""

    def run(self, function, toy):
        losses, before = [], toy.alpha.detach().clone()
        for _ in range(STEPS):
            losses.append(function(toy, toy.strings(32)))
            if not isinstance(losses[-1], torch.Tensor) or (before == toy.alpha).all():
                return losses[-1]  # nothing is learned from the first step
        return [round(loss.item(), 3) for loss in losses[:: STEPS // 4]]


def _matrix(toy, beta):
    return matrix(toy.L, [toy.alpha[0]], [beta])


def _step(toy, strings, beta=None):
    U = _matrix(toy, toy.beta(5) if beta is None else beta)
    cosines = normalize(toy.features(U, strings, strings), dim=-1) @ U.T
    loss = toy.adacos(cosines.flatten(0, 1), strings.flatten())
    loss.backward()
    toy.optimizer.step()
    toy.optimizer.zero_grad()
    return loss


def _step_with_kept_beta(toy, strings):
    toy.kept = toy.kept if hasattr(toy, "kept") else toy.beta(5)
    return _step(toy, strings, toy.kept)


def _step_without_update(toy, strings):
    step, toy.optimizer.step = toy.optimizer.step, lambda: None
    loss = _step(toy, strings)
    toy.optimizer.step = step
    return loss


def _judge_step(answer, toy):
    if not isinstance(answer, list):
        return "α is as before: expected the loss, a tensor, after loss.backward() and a step"
    if (unseen := toy.right(8, 28)) < 0.95:
        seen = f"{toy.right(3, 7):.0%} of a to e"
        return f"{unseen:.0%} of the letters f to z are copied right, and {seen}"
    return None


check_step = Training(
    "step", _step, lambda rng: [(Toy(rng.randrange(100)),)], judge=_judge_step, seconds=60
)
check_step.mistakes = {
    _step_without_update: "the weights stay as they are: optimizer.step() is missing.",
    _step_with_kept_beta: "the random parts are drawn once and kept, so the network learns them by "
    "heart. Draw new ones in each step.",
}
