"""One process and its device, or several that train together, each on a device of its own.

Several are started by torchrun and share every batch: process r of n takes its rows r, r + n, ...
Gradients are added up over all processes in one operation after the backward pass. That is what
DistributedDataParallel computes; its wrapper, for one module with one forward pass, would have to
go around the maker of U, the transformer and the loss, and gains little for networks this small.

Shape letters: B batch, N tokens.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.utils import parameters_to_vector, vector_to_parameters


def processes() -> int:
    """How many processes train together; 1 unless `joined`."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """The number of this process among them; 0 is the one that writes files."""
    return dist.get_rank() if processes() > 1 else 0


@contextmanager
def joined(device: str) -> Iterator[torch.device]:
    """Join the other processes, if torchrun started this one; gives the device of this one."""
    if not (dist.is_available() and dist.is_torchelastic_launched()):
        yield torch.device(device)
        return
    place = torch.device(device)
    if place.type == "cuda":
        place = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(place)
    dist.init_process_group("nccl" if place.type == "cuda" else "gloo")
    try:
        yield place
    finally:
        dist.destroy_process_group()


def share(x: Tensor) -> Tensor:
    """This process's rows of x [B, ...]."""
    return x[rank() :: processes()] if processes() > 1 else x


def gather(x: Tensor) -> Tensor:
    """[N] of each process -> [processes × N] of all; N must be the same in each."""
    if processes() == 1:
        return x
    parts = [torch.empty_like(x) for _ in range(processes())]
    dist.all_gather(parts, x.contiguous())
    return torch.cat(parts)


def add_up(x: Tensor) -> Tensor:
    """The sum of x over all processes, in place."""
    if processes() > 1:
        dist.all_reduce(x)
    return x


def add_up_gradients(parameters: list[torch.nn.Parameter]) -> None:
    """Add up the gradients of all processes, in place."""
    if processes() > 1:
        gradients = [p.grad for p in parameters]
        vector_to_parameters(add_up(parameters_to_vector(gradients)), gradients)


def wait() -> None:
    """Wait until all processes are here."""
    if processes() > 1:
        dist.barrier()


def send(x: Tensor, device: torch.device) -> Tensor:
    """x on a device; from the CPU to a GPU without waiting for what the GPU still has to do."""
    if device.type == "cuda" and not x.is_cuda:
        return x.pin_memory().to(device, non_blocking=True)
    return x.to(device)
