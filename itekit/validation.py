"""How a network does on problems that training never sees, while it is trained."""

import torch

from itekit.network import Network, seeded

BATCHES, SIZE = 4, 256


@torch.no_grad()
def validate(network: Network, stream) -> dict:
    """Loss (with the last scale) and token accuracy on held-out problems of the stream.

    Computed as an evaluation computes, in float32, by each process for itself. Leaves the network
    in training mode.
    """
    network.train(False)
    U = network.matrix(network.experiment.vocabulary, seeded(network.experiment.seed, 3))
    loss = correct = count = 0
    for batch in stream.held_out(BATCHES, SIZE):
        batch = batch.to(U.device)
        logits, targets = network.logits(U, batch)
        loss += network.loss(logits, targets).item() / BATCHES
        real = targets != 0
        correct += (logits.argmax(-1) == targets)[real].sum().item()
        count += real.sum().item()
    network.train()
    return {"validation_loss": loss, "validation_accuracy": correct / count}
