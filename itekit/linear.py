"""Linear layers whose products can be computed in bfloat16 (mixed precision) while training.

The weights stay in float32, and so does everything else on a CPU: attention, layer norms, the sums
of residual connections, the projection on U and the loss. (On a CPU with bfloat16 instructions the
step for LTL takes 0.68 times the time at the paper's size. Attention in bfloat16 would cost more
than it gains there: its backward pass is slow.) On a GPU attention follows the layers' precision.
"""

from torch import Tensor, nn
from torch.nn.functional import linear


class Linear(nn.Linear):
    """A linear layer; its attribute `bfloat16` makes its results bfloat16 in training mode."""

    bfloat16 = False

    def forward(self, x: Tensor) -> Tensor:
        if not (self.bfloat16 and self.training):
            return linear(x, self.weight, self.bias)
        return linear(x.bfloat16(), self.weight.bfloat16(), self.bias.bfloat16())
