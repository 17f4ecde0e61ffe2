"""How a network does on problems that training never sees, while it is trained."""

import torch

from itekit.copying import longest_edit_distance
from itekit.network import Network, seeded
from itekit.task_settings import CopyingExperiment

BATCHES, SIZE = 4, 256


@torch.no_grad()
def validate(network: Network, stream) -> dict:
    """Loss (with the last scale) and token accuracy on held-out problems of the stream.

    For copying also the edit distance of the evaluation's longest strings. Computed as an
    evaluation computes, in float32, by each process for itself. Leaves the network in training
    mode.
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
    record = {"validation_loss": loss, "validation_accuracy": correct / count}
    if isinstance(network.experiment, CopyingExperiment):
        record["validation_edit_distance"] = longest_edit_distance(network)
    network.train()
    return record
