"""The symbol-invariant transformer: exact under renaming, and equal to its definition."""

import random

import pytest
import torch
from tiny import tiny_experiment
from torch.nn.functional import layer_norm, normalize

from itekit.alpha import Renaming
from itekit.data import Batch
from itekit.datasets.sets import read_set
from itekit.decoding import Solver, beam, greedy
from itekit.invariant import Streams
from itekit.model import Past
from itekit.names import change
from itekit.network import Network
from itekit.results import load_network
from itekit.tasks.ltl import Ltl
from itekit.vocabulary import Vocabulary


def vocabulary_of(names: int) -> Vocabulary:
    return Ltl(propositions=names, test_propositions=names).vocabulary


NAMES = vocabulary_of(26).interchangeable[0]


def network(aggregation: str = "both") -> Network:
    """Untrained; weights are large, so that different formulas have different answers."""
    settings = change(tiny_experiment("ltl/symbol-invariant", seed=5), "task", limit=8)
    network = Network(change(settings, "model", aggregation=aggregation)).eval()
    with torch.no_grad():
        for tensor in network.model.parameters():
            if tensor.dim() > 1:
                tensor.mul_(5)
    return network


def formula(rng: random.Random, names: str, size: int) -> str:
    if size == 1:
        return rng.choice(names + "1")
    if size == 2:
        return rng.choice("!X") + formula(rng, names, 1)
    left = rng.randrange(1, size - 1)
    return rng.choice("&U") + formula(rng, names, left) + formula(rng, names, size - 1 - left)


def random_texts(count: int, seed: int = 0, names: str = "abc") -> list[str]:
    rng = random.Random(seed)
    return [formula(rng, names, rng.randint(3, 12)) for _ in range(count)]


def batch(texts, vocabulary, labels=None) -> Batch:
    sides = []
    for side in (texts, labels or texts):
        rows = [torch.tensor([*vocabulary.encode(text), Vocabulary.end_id]) for text in side]
        sides.append(torch.nn.utils.rnn.pad_sequence(rows, batch_first=True))
    return Batch(*sides)


def logits(network, vocabulary, inputs: Batch) -> torch.Tensor:
    """[B, T, V]."""
    with torch.no_grad():
        return network.logits(network.matrix(vocabulary, None), inputs)


@pytest.mark.parametrize("aggregation", ["encoder", "both"])
def test_a_renamed_problem_has_the_renamed_answer(aggregation):
    texts, rng, trained = random_texts(200), random.Random(1), network(aggregation)
    vocabulary = vocabulary_of(26)
    order = [dict(zip("abc", rng.sample(NAMES, 3), strict=True)) for _ in texts]
    renamings = [Renaming(to) for to in order]
    others = [rename(text) for rename, text in zip(renamings, texts, strict=True)]
    scores = logits(trained, vocabulary, batch(texts, vocabulary))
    renamed = logits(trained, vocabulary, batch(others, vocabulary))
    fixed = vocabulary.learned_count
    real = batch(texts, vocabulary).target != 0
    assert torch.allclose(scores[real][:, :fixed], renamed[real][:, :fixed], atol=1e-5)
    for i, to in enumerate(order):
        before, after = (vocabulary.encode(side) for side in (to.keys(), to.values()))
        of = real[i]
        assert torch.allclose(scores[i][of][:, before], renamed[i][of][:, after], atol=1e-5)
    solver = Solver(trained, vocabulary=vocabulary)
    answers, undone = solver.answers(texts), []
    for rename, answer in zip(renamings, solver.answers(others), strict=True):
        undone.append(rename.inverse()(answer))
    assert answers == undone and len(set(answers)) > 30


def test_the_shipped_network_answers_renamed_problems_alike():
    trained, vocabulary = load_network("ltl/symbol-invariant", "lab"), vocabulary_of(26)
    rng = random.Random(0)
    texts = [formula for formula, _ in read_set("ltl-generalization", "lab")["test"][::40]]
    renamings = [Renaming(dict(zip("abcdef", rng.sample(NAMES, 6), strict=True))) for _ in texts]
    solver = Solver(trained, vocabulary=vocabulary)
    asked = [rename(text) for rename, text in zip(renamings, texts, strict=True)]
    undone = [r.inverse()(a) for r, a in zip(renamings, solver.answers(asked), strict=True)]
    assert undone == solver.answers(texts) and len(set(undone)) > 30


def test_a_symbol_that_the_problem_does_not_hold_is_never_the_answer():
    trained, vocabulary = network(), vocabulary_of(4)
    scores = logits(trained, vocabulary, batch(["Ua1", "&ab", "X1"], vocabulary))[:, 0]
    held = [vocabulary.encode(text) for text in ("a", "ab", "")]
    for row, symbols in zip(scores, held, strict=True):
        expected = [i in symbols for i in range(vocabulary.learned_count, len(vocabulary))]
        assert row[vocabulary.learned_count :].isfinite().tolist() == expected


def test_aggregated_attention_by_hand():
    """One layer of the encoder for "&ab": streams a and b, each on its own."""
    trained, vocabulary = network("encoder"), vocabulary_of(3)
    model, D = trained.model, trained.experiment.model.d_model
    layer = model.encoder[0]
    U = trained.matrix(vocabulary, None)
    a, b, placeholder = *vocabulary.encode("ab"), len(U) - 1
    both = vocabulary.encode("&")[0]
    streams = [[both, a, placeholder], [both, placeholder, b]]
    x = torch.stack([U[rows] for rows in streams]) * D**0.5  # [streams, tokens, D]

    def attend(attention, queries, keys_values):
        if hasattr(attention, "query"):
            query, (key, value) = (
                attention.query(queries),
                attention.key_value(keys_values).chunk(2, -1),
            )
        else:
            query, key, value = attention.query_key_value(queries).chunk(3, -1)
        heads = [
            part.unflatten(-1, (attention.heads, -1)).movedim(-2, 0) for part in (query, key, value)
        ]
        weights = (heads[0] @ heads[1].mT / heads[0].shape[-1] ** 0.5).softmax(-1)
        return attention.output((weights @ heads[2]).movedim(0, -2).flatten(-2))

    def norm(x, module):
        return layer_norm(x, (D,), module.weight, module.bias, 1e-6)

    expected = norm(
        x + torch.stack([attend(layer.attention, s, s) for s in x]), layer.norm_attention
    )
    mean = torch.stack([expected[:, 0].mean(0), expected[0, 1], expected[1, 2]])  # own streams back
    seen = torch.stack([attend(layer.aggregated, s, mean) for s in expected])
    expected = norm(expected + seen, layer.norm_aggregated)
    expected = norm(expected + layer.feed_forward(expected), layer.norm_feed_forward)

    source = torch.tensor([[both, a, b]])
    streams = Streams.of(source, model.fixed)
    ours = layer(x, None, torch.zeros(1, 1, 1, 3), (streams, streams.shares(source)))
    assert torch.allclose(ours, expected, atol=1e-5)


def test_logits_are_cosines_of_the_mean_and_of_each_symbol():
    trained, vocabulary = network(), vocabulary_of(3)
    problems, U = batch(["Uab"], vocabulary), trained.matrix(vocabulary_of(3), None)
    with torch.no_grad():
        encoded = trained.model.encode(U, problems.source)
        x = trained.model.decode(U, problems.inputs, encoded)
        (ours,) = trained.model.predict(U, problems.inputs, encoded)
    n, (a, b) = vocabulary.learned_count, vocabulary.encode("ab")
    assert torch.allclose(ours[:, 3:n], normalize(x.mean(0), dim=-1) @ U[3:n].T, atol=1e-5)
    for stream, symbol in enumerate((a, b)):
        assert torch.allclose(ours[:, symbol], normalize(x[stream], dim=-1) @ U[symbol], atol=1e-5)


@pytest.mark.parametrize("aggregation", ["encoder", "both"])
def test_decoding_step_by_step_and_in_a_batch_changes_nothing(aggregation):
    trained, vocabulary = network(aggregation), vocabulary_of(5)
    problems = batch(random_texts(12), vocabulary)
    U = trained.matrix(vocabulary, None)
    with torch.no_grad():
        encoded, past = trained.model.encode(U, problems.source), Past()
        whole = logits(trained, vocabulary, problems)
        for t in range(problems.target.shape[1]):
            ours = trained.model.predict(U, problems.inputs[:, t : t + 1], encoded, past)
            rows = problems.target[:, t] != 0
            assert torch.allclose(ours[rows, 0], whole[rows, t], atol=1e-4)
    together = beam(trained.model, U, problems.source, 8, 3)[0]
    first = greedy(trained.model, U, problems.source, 8)
    for i, source in enumerate(problems.source):
        one = source[None, source != 0]
        assert torch.equal(beam(trained.model, U, one, 8, 3)[0][0], together[i])
        assert torch.equal(greedy(trained.model, U, one, 8)[0], first[i])


def test_several_classes_are_refused():
    config, two = network().experiment.embedding, Vocabulary((), (("a",), ("b",)))
    with pytest.raises(ValueError, match="one class of interchangeable tokens, found 2"):
        config.maker.build(config, two, two, 8)


def test_a_converted_network_begins_where_the_ordinary_one_stood():
    """In the stream of a, a formula of a and b is read as by the ordinary network."""
    ordinary = Network(tiny_experiment("ltl/plain", seed=5)).eval()
    converted = Network(tiny_experiment("ltl/converted", seed=6)).eval()
    converted.load_weights_from(ordinary)
    vocabulary = ordinary.experiment.task.vocabulary
    problems = batch(random_texts(50, names="ab"), vocabulary, ["1;{1}"] * 50)
    (a,), expected = vocabulary.encode("a"), logits(ordinary, vocabulary, problems)
    ours = logits(converted, vocabulary, problems)[..., a]
    holds = (problems.source == a).any(1)
    real = (problems.target != 0) & holds[:, None]
    assert torch.allclose(ours[real], expected[real][:, a], atol=1e-4)
    assert torch.isinf(ours[~holds]).all()
