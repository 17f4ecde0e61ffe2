"""How training is carried out: device, precision, compilation, number of processes.

None of this belongs to an experiment: it changes losses by rounding and by the dropout masks drawn,
no more. A run can be resumed with other choices; its network records which steps ran how.

On a CPU, by default: float32, padding left out, nothing compiled. On a GPU, by default: bfloat16
(see `linear`), padding kept so that few shapes occur, and every layer compiled. All layers of a
kind share their compiled code, so that a run waits seconds for the compiler, not minutes. What is
random in step t is drawn outside the compiled code, except for dropout, which torch draws from a
seed that depends on the experiment's seed, t and the process.

On one GPU, and on four (torchrun comes with torch):

    python -m itekit train ltl/proposed --scale paper
    torchrun --nproc-per-node 4 -m itekit train ltl/proposed --scale paper
"""

from dataclasses import dataclass

import torch

from itekit.data import Batch
from itekit.devices import processes, rank, send
from itekit.dropout import Dropout
from itekit.linear import Linear
from itekit.model import call
from itekit.network import Network, seeded

PRECISIONS = ("float32", "bfloat16")
BUCKET = 8  # lengths are rounded up to a multiple: what attention in bfloat16 wants on a GPU
BACKEND = "inductor"


@dataclass(frozen=True)
class Execution:
    """The choices for one run on one device; `choose` fills in the defaults."""

    device: torch.device
    precision: str
    compiled: bool

    @classmethod
    def choose(
        cls,
        device: str | torch.device = "cpu",
        precision: str | None = None,
        compiled: bool | None = None,
    ) -> "Execution":
        """The given choices; where None, the defaults for the device.

        Raises:
            ValueError: an unknown precision.
        """
        device = torch.device(device)
        on_gpu = device.type == "cuda"
        if precision is None:
            precision = "bfloat16" if on_gpu else "float32"
        if precision not in PRECISIONS:
            raise ValueError(
                f"unknown precision {precision!r}: expected one of {', '.join(PRECISIONS)}"
            )
        return cls(device, precision, on_gpu if compiled is None else compiled)

    def check(self, batch_size: int) -> None:
        """Raise ValueError unless every process gets as many rows of a batch as the others."""
        if batch_size % processes():
            raise ValueError(f"{processes()} processes cannot share batches of {batch_size} evenly")

    @property
    def static(self) -> bool:
        """Whether padding is kept, so that every process and every compiled shape agrees."""
        return self.device.type != "cpu" or self.compiled or processes() > 1

    def prepare(self, network: Network) -> Network:
        """Move a network to the device, and set how it works in training mode."""
        network.to(self.device)
        network.model.static = self.static
        for module in network.model.modules():
            if isinstance(module, Linear):
                module.bfloat16 = self.precision == "bfloat16"
        if self.compiled:
            # Beyond the limit torch would stop; sizes that vary soon share one compiled version.
            torch._dynamo.config.recompile_limit = 64
            network.model.call = torch.compile(call, fullgraph=True, backend=BACKEND)
        return network

    def batch(self, batch: Batch) -> Batch:
        """A batch on the device, in one of few shapes if shapes are static."""
        if self.static:
            batch = batch.padded(BUCKET)
        return batch.to(self.device, send)

    def dropout(self, p: float, seed: int, step: int) -> Dropout:
        """The dropout of a training step in this process."""
        stream = (2, step, rank()) if rank() else (2, step)
        if not self.compiled:
            return Dropout(p, seeded(seed, *stream, device=self.device))
        torch.manual_seed(seeded(seed, *stream).initial_seed())
        return Dropout(p, None)

    def appended(self, executed: list[dict], step: int) -> list[dict]:
        """How the steps of a run were carried out, JSON values, when it goes on from `step`."""
        how = {
            "device": self.device.type,
            "precision": self.precision,
            "compiled": self.compiled,
            "processes": processes(),
        }
        before = [part for part in executed if part["from_step"] < step]
        if before and how.items() <= before[-1].items():
            return before
        return [*before, {"from_step": step, **how}]
