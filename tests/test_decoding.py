"""Decoding with what is kept against decoding without, and beam search against brute force."""

import math
from itertools import product
from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import seeded, tiny_logic_network, tiny_network
from torch.nn.functional import normalize

from itekit import decoding
from itekit.data import Batch
from itekit.decoding import Solver, _Steps, beam, greedy, published_search
from itekit.model import ModelConfig, Transformer

END, START, FIRST = 1, 2, 3
CONFIG = ModelConfig(d_model=16, layers=2, heads=2, d_ff=16)


def network(seed: int, size: int = 7, config: ModelConfig = CONFIG):
    """A random model and U.

    Random weights are doubled, and the end token's row is long: answers then vary in length.
    """
    torch.manual_seed(seed)
    model = Transformer(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)
    U = normalize(torch.randn(size, 16), dim=1)
    U[END] *= 1.5
    return model, U


def sources(seed: int, lengths: list[int], size: int = 7) -> torch.Tensor:
    rows = torch.randint(FIRST, size, (len(lengths), max(lengths) + 1), generator=seeded(seed))
    for row, length in zip(rows, lengths, strict=True):
        row[length], row[length + 1 :] = END, 0
    return rows


class Recomputed(_Steps):
    """The reference: nothing is kept, the whole prefix is decoded at each step."""

    def __init__(self, model, U, source, limit):
        super().__init__(model, U, source, limit)
        self.source, self.prefix = source, None

    def step(self, tokens):
        if self.prefix is None:
            self.source = self.source.repeat_interleave(len(tokens) // len(self.source), dim=0)
            self.prefix = tokens[:, None][:, :0]
        self.prefix = torch.cat([self.prefix, tokens[:, None]], dim=1)
        return self.model(self.U, self.source, self.prefix)[:, -1]

    def select(self, rows, sources=None):
        self.prefix, self.source = self.prefix[rows], self.source[rows]


def recomputed(search, *arguments):
    """The same search with `Recomputed` steps."""
    with mock.patch.object(decoding, "_Steps", Recomputed):
        return search(*arguments)


LENGTHS = [1, 9, 4, 17, 4, 2, 6, 6, 3, 12]
SEEDS = st.integers(0, 10_000)


@settings(max_examples=10)
@given(SEEDS, st.lists(st.integers(1, 20), min_size=1, max_size=10), st.integers(1, 20))
def test_greedy_with_a_past_equals_greedy_without(seed, lengths, limit):
    arguments = *network(seed), sources(seed, lengths), limit
    ours = greedy(*arguments)
    assert torch.equal(ours, recomputed(greedy, *arguments)) and ours.shape == (len(lengths), limit)


@pytest.mark.parametrize("search", [greedy, beam])
def test_answers_up_to_the_limit(search):
    model, U = network(0)
    U[END] = 0.01  # hardly ever: answers reach the limit
    arguments = model, U, sources(0, [3, 8]), 25
    ours, expected = search(*arguments), recomputed(search, *arguments)
    tokens, reference = (x if search is greedy else x[0] for x in (ours, expected))
    assert torch.equal(tokens, reference)
    assert (tokens != 0).sum(-1).max() == 25


def test_looking_rarely_as_on_a_gpu_changes_nothing(monkeypatch):
    model, U = network(0)
    arguments = model, U, sources(0, LENGTHS), 14
    expected = greedy(*arguments), *beam(*arguments)
    monkeypatch.setattr(decoding, "LOOK_EVERY", (16, 16))
    for ours, other in zip((greedy(*arguments), *beam(*arguments)), expected, strict=True):
        torch.testing.assert_close(ours, other)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("search", [greedy, lambda *arguments: beam(*arguments, size=3)[0]])
def test_every_source_has_the_answer_that_it_has_alone(search, seed):
    model, U = network(seed)
    source = sources(seed, LENGTHS)
    together = search(model, U, source, 14)
    order = torch.randperm(len(LENGTHS), generator=seeded(seed))
    assert torch.equal(search(model, U, source[order], 14), together[order])
    for i, length in enumerate(LENGTHS):
        assert torch.equal(search(model, U, source[i : i + 1, : length + 1], 14)[0], together[i])


@settings(max_examples=8)
@given(SEEDS, st.lists(st.integers(1, 12), min_size=1, max_size=6), st.integers(1, 4))
def test_beam_search_with_a_past_equals_beam_search_without(seed, lengths, size):
    model, U = network(seed)
    source = sources(seed, lengths)
    tokens, scores = beam(model, U, source, 9, size)
    others, other_scores = recomputed(beam, model, U, source, 9, size)
    torch.testing.assert_close(scores, other_scores)
    finite = scores.isfinite()
    assert torch.equal(tokens[finite], others[finite])
    assert (
        tokens.shape == (len(lengths), size, 9) and (scores.diff(dim=1) <= 0)[finite[:, 1:]].all()
    )


@pytest.mark.parametrize("seed", range(3))
def test_beam_of_size_one_is_greedy(seed):
    model, U = network(seed)
    source = sources(seed, LENGTHS)
    assert torch.equal(beam(model, U, source, 15, 1)[0][:, 0], greedy(model, U, source, 15))


def log_probability(model, U, source, tokens: tuple[int, ...]) -> float:
    """Of `tokens` after the start token, from one forward pass."""
    inputs = torch.tensor([[START, *tokens[:-1]]])
    logits = model(U, source, inputs)[0].log_softmax(dim=-1)
    return logits[range(len(tokens)), list(tokens)].sum().item()


@pytest.mark.parametrize("seed", range(4))
def test_a_wide_beam_finds_the_best_of_all_sequences(seed):
    """Two characters, at most 4 tokens: 1 + 2 + 4 + 8 sequences end in time."""
    model, U = network(seed, size=5)
    source, limit = sources(seed, [3], size=5), 4
    every = [s for n in range(limit) for s in product(range(FIRST, 5), repeat=n)]
    with torch.no_grad():
        brute = sorted(
            ((log_probability(model, U, source, (*s, END)) / (len(s) + 1), s) for s in every),
            reverse=True,
        )
    tokens, scores = beam(model, U, source, limit, size=32)
    assert torch.isfinite(scores[0]).sum() == len(every) == 15
    for (score, sequence), row, ours in zip(brute, tokens[0], scores[0], strict=False):
        assert ours.item() == pytest.approx(score, abs=1e-5)
        assert tuple(row[: len(sequence)].tolist()) == sequence and row[len(sequence) :].sum() == 0


def published_copy(model, U, source, limit: int) -> tuple[int, ...]:
    """One beam, token by token: every end among the two best continuations is noted."""
    prefix, noted = (), []
    for _ in range(limit):
        totals = {t: log_probability(model, U, source, (*prefix, t)) for t in range(len(U))}
        first, second = sorted(totals, key=totals.get, reverse=True)[:2]
        if END in (first, second):
            noted.append((totals[END] / (len(prefix) + 1), prefix))
        prefix += (second if first == END else first,)
    return max(noted)[1] if noted else prefix


@pytest.mark.parametrize("seed", [0, 4, 5])
def test_the_published_search_passes_over_ends_and_takes_the_best(seed):
    model, U = network(seed)
    source, limit = sources(seed, LENGTHS), 8
    ours = published_search(model, U, source, limit)
    with torch.no_grad():
        expected = [published_copy(model, U, row[row != 0][None], limit) for row in source]
    assert [tuple(row[row != 0].tolist()) for row in ours] == expected
    assert not torch.equal(ours, greedy(model, U, source, limit))


@pytest.mark.parametrize("search", [greedy, beam])
def test_no_sources_no_room_or_no_beams_are_an_error(search):
    for shape, limit, message in [
        ((0, 3), 5, r"B, S > 0, found \[0, 3\]"),
        ((1, 3), 0, "limit must be 1 or more, found 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            search(*network(0), torch.ones(shape, dtype=torch.int64), limit)
    with pytest.raises(ValueError, match="beam size must be 1 or more, found 0"):
        beam(*network(0), sources(0, [3]), 5, 0)


def test_a_formula_that_cannot_be_read_is_named_with_the_reason_or_skipped():
    solver = Solver(tiny_logic_network(), beams=2)  # D is 24: tree positions hold 12 branches
    deep, readable = "X" * 13 + "a", ["X" * 12 + "a", "Uab", "U" * 6 + "abababa"]
    beams = solver.beam_answers([readable[0], deep, "@a", *readable[1:]])
    assert beams[1] == beams[2] == [] and solver.answers([deep, "@a"], skip=True) == ["", ""]
    assert [beams[i] for i in (0, 3, 4)] == solver.beam_answers(readable)
    assert all(len(answers) == 2 for answers in solver.beam_answers(readable))
    assert not solver.can_read(deep) and solver.can_read(readable[0])
    for problem, reason in (("a U b", "unknown token ' ' at position 1"), (deep, "13 branches")):
        for ask in (solver.check_readable, lambda one: solver.answers(["a", one])):
            with pytest.raises(ValueError, match=reason):
                ask(problem)


def test_strings_are_copied_as_formulas_are_solved():
    solver = Solver(tiny_network())
    assert len(solver.answers(["abc"])[0]) <= 2 * 3, "the task says how long answers may be"
    tuples = solver.beam_answers([("a", "b", "c"), ("a", "é")])
    assert tuples == [[tuple(text) for text in solver.beam_answers(["abc"])[0]], []]


def test_a_solver_decodes_in_parts_whatever_their_size(monkeypatch):
    solver = Solver(tiny_logic_network(), beams=1)
    formulas = ["a", "Xa", "Uab", "&aXb", "XXXXXXXb", "UaXUab", "!a"]
    whole = solver.answers(formulas)
    monkeypatch.setattr(decoding, "DECODED", (12, 12))
    assert solver.answers(formulas) == whole == [solver.answers([f])[0] for f in formulas]


def test_the_loss_is_the_mean_over_tokens_of_the_unscaled_logits():
    solver = Solver(tiny_logic_network(), draw=3)
    pairs = [("Uab", "{b}"), ("Xa", "1;a;{1}"), ("&ab", "&ab;{1}")] * 50
    total = 0.0
    with torch.no_grad():
        for pair in pairs[:3]:
            packed = solver.task.pack([pair], solver.vocabulary)
            batch = Batch.of(packed.batch(np.array([0])))
            (logits,), (targets,) = solver.network.logits(solver.U, batch), batch.target
            total -= logits.log_softmax(-1)[range(len(targets)), targets].sum().item()
    tokens = sum(len(label) + 1 for _, label in pairs[:3])
    assert solver.loss(pairs) == pytest.approx(total / tokens, rel=1e-4)


def test_sampled_tokens_come_as_often_as_their_probability_says():
    model, U = network(2)
    source, count = sources(2, [5]), 20_000
    chances = torch.rand(count, 1, generator=seeded(0), dtype=torch.float64)
    arguments = source.repeat(count, 1), 1, chances, 4.0
    tokens = greedy(model, U, *arguments)[:, 0].bincount(minlength=7) / count
    start = torch.full((1, 1), START)
    expected = (4 * model(U, source, start)).softmax(-1)[0, 0]
    assert torch.allclose(tokens[FIRST:], expected[FIRST:], atol=0.015)
    assert tokens[0] == pytest.approx(expected[END].item(), abs=0.015)  # the end token is left out


def test_a_sampled_answer_depends_on_its_formula_and_the_seed_alone():
    network, formulas = tiny_logic_network(), ["Uab", "&aXb", "X!a", "XXXUab"]
    whole = Solver(network, sample=1).answers(formulas)
    assert whole == [Solver(network, sample=1).answers([f])[0] for f in formulas]
    assert whole != Solver(network, sample=2).answers(formulas)
    assert whole == Solver(network, sample=1).answers(formulas[::-1])[::-1]


@pytest.mark.parametrize("asked", [{"beams": 0}, {"scale": 0.0}, {"scale": math.nan}])
def test_a_solver_without_beams_or_a_scale_is_an_error(asked):
    with pytest.raises(ValueError, match="expected a beam, and a scale above 0, found"):
        Solver(tiny_logic_network(), **asked)
