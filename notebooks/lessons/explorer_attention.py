"""Cross-attention: how much each token of an answer looks at each token of the problem.

Vaswani et al. 2017, section 3.2. The model that answers is not changed: its decoder runs once over
the finished answer, and a hook on each layer's cross-attention computes softmax(query keyᵀ + mask)
from what the layer was given.

Shape letters: B batch (1 here), S source length, T target length, L layers, H heads.
"""

import torch
from torch import Tensor

from itekit.model import Transformer
from itekit.vocabulary import Vocabulary


@torch.no_grad()
def cross_attention(model: Transformer, U: Tensor, source: Tensor, inputs: Tensor) -> Tensor:
    """The weights with which each layer and head mixes the encoded source.

    Args:
        model: in evaluation mode.
        U: [V, D].
        source: int64 [B, S]; inputs: int64 [B, T], the start token, then the target; no padding.

    Returns:
        float [L, B, H, T, S]; the weights of each token of the target sum to 1.
    """
    found = []

    def keep(cross, given, _output) -> None:
        x, layout, (keys, _values), bias = given
        query = cross.split_query(cross.query(x), layout)
        weights = torch.softmax(query @ keys.transpose(-1, -2) + bias, dim=-1)
        found.append(weights[..., : source.shape[1]])

    hooks = [layer.cross.register_forward_hook(keep) for layer in model.decoder]
    try:
        model.decode(U, inputs, model.layout(inputs != 0), model.encode(U, source))
    finally:
        for hook in hooks:
            hook.remove()
    return torch.stack(found)


def answer_attention(
    model: Transformer, U: Tensor, vocabulary: Vocabulary, problem: str, answer: str
) -> Tensor:
    """The same for a problem and an answer as text: float [L, H, T, S].

    T: the answer's tokens, then its end; S: the problem's tokens, then its end.

    Raises:
        UnknownTokenError: a token outside the vocabulary.
    """
    source = torch.tensor([[*vocabulary.encode(problem), vocabulary.end_id]])
    inputs = torch.tensor([[vocabulary.start_id, *vocabulary.encode(answer)]])
    return cross_attention(model, U, source, inputs)[:, 0]
