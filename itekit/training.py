"""Networks and their training: logged, validated, checkpointed, and resumed exactly.

A network is a maker of U, a transformer and a loss, made for one experiment. Everything random in
step t comes from generators seeded by (seed, purpose, t): 0 weights, 1 the random part of U, 2
dropout, 3 validation, 4 randomized positions; `data` has its own for the batch. So a resumed run
gives the same losses as one that was never interrupted, and a checkpoint needs no generator state.
Optimiser: AdamW (Loshchilov and Hutter 2019), betas 0.9 and 0.95, weight decay 0.1 except on biases
and layer norms, linear warm-up, cosine to zero.

On a CPU the step runs in float32, or in bfloat16 where asked (`torch.autocast`). On a GPU it runs
in bfloat16, compiled where the machine has a C compiler (`torch.compile`), in batches padded to
few lengths, and never waits for the GPU between two records of the log.

Shape letters: B batch, V vocabulary, D model, N tokens.
"""

import json
import math
import shutil
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_
from tqdm.auto import tqdm

from itekit import files
from itekit.data import Batch, copying_batch, stream
from itekit.decoding import copy_strings
from itekit.experiments import CopyingExperiment, Experiment, from_json
from itekit.files import LOG, CheckpointError, check_tensors, read_checkpoint, read_log
from itekit.losses import AdaCos, CrossEntropy
from itekit.model import Dropout, Transformer
from itekit.random_vectors import seeded
from itekit.tasks.copying import edit_distances
from itekit.vocabulary import Vocabulary

CHECKPOINT, FINISHED = "checkpoint.safetensors", "model.safetensors"
STATE = ("step", "exp_avg", "exp_avg_sq")  # what AdamW keeps for each parameter
PRECISIONS = ("float32", "bfloat16")
LENGTHS = 8  # on a GPU, or compiled, lengths are rounded up to a multiple
VALIDATION_SEED = 1_000_033  # not the test's, so that no choice is ever made on test strings


# What an experiment's seed is used for: one stream of random numbers for each.
WEIGHTS, RANDOM_PARTS, DROPOUT, VALIDATION, POSITIONS = range(5)


class TrainingDivergedError(RuntimeError):
    """The loss or a weight is not finite; the message says where, and the last good checkpoint."""


class Network(nn.Module):
    """What is trained, saved and evaluated together, untrained at first.

    Args:
        experiment: the settings from which the parts are built; its seed decides the weights.

    Attributes:
        embedding, model, loss: the maker of U; the transformer; cross-entropy or AdaCos.
        trained: what is known about the training: steps, seconds, versions, hardware, command.
    """

    def __init__(self, experiment: Experiment):
        super().__init__()
        self.experiment, self.trained = experiment, {}
        with torch.random.fork_rng(devices=[]):
            weights = seeded(experiment.seed, WEIGHTS)
            torch.random.default_generator.manual_seed(weights.initial_seed())
            self.embedding = experiment.embedding.build(
                experiment.vocabulary, experiment.test_vocabulary, experiment.model.d_model
            )
            self.model = self._transformer()
        self.loss = AdaCos(len(experiment.vocabulary)) if experiment.adacos else CrossEntropy()

    def _transformer(self) -> Transformer:
        made = self.experiment.model, self.experiment.operands
        if not self.experiment.model.aggregation:
            return Transformer(*made)
        from itekit.invariant import SymbolInvariantTransformer

        return SymbolInvariantTransformer(*made, self.experiment.vocabulary.learned_count)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.model.parameters()).device

    def batch_loss(
        self, batch: Batch, generator: torch.Generator, dropout: Dropout | None = None
    ) -> Tensor:
        """Loss of a batch over the training vocabulary, with U drawn from `generator`."""
        count = {"count": len(batch.source)} if self.experiment.per_sample else {}
        U = self.embedding.matrix(self.experiment.vocabulary, generator, **count)
        return self.loss(*self.logits(U, batch, dropout))

    def logits(
        self, U: Tensor, batch: Batch, dropout: Dropout | None = None
    ) -> tuple[Tensor, Tensor]:
        """Logits [N, V] and targets [N] of a batch's tokens."""
        layout = self.model.layout(batch.target != 0, batch.positions)
        logits = self.model(U, batch.source, batch.inputs, layout, dropout, batch.positions)
        return logits, layout.pack(batch.target)

    @torch.no_grad()
    def matrix(self, vocabulary: Vocabulary, generator: torch.Generator) -> Tensor:
        """U [V, D] for evaluation on `vocabulary`."""
        return self.embedding.matrix(vocabulary, generator)

    def with_experiment(self, experiment: Experiment) -> "Network":
        """The same weights under other settings, in evaluation mode, on the same device."""
        other = Network(experiment).to(self.device)
        other.load_state_dict(self.state_dict())
        other.trained = self.trained
        return other.eval()

    def begin_as(self, other: "Network") -> None:
        """Take the weights of a network of the same sizes.

        A symbol-invariant network can begin as an ordinary one: the first of its interchangeable
        rows becomes *actual*, the second *placeholder*, and streams do not look at one another yet.
        """
        weights = other.state_dict()
        if self.experiment.model.aggregation and not other.experiment.model.aggregation:
            rows = len(self.embedding.learned)
            weights["embedding.learned"] = weights["embedding.learned"][:rows]
            self.load_state_dict(self.state_dict() | weights)
            self.model.keep_apart()
        else:
            self.load_state_dict(weights)

    def with_rope_base(self, base: float) -> "Network":
        """The same weights with another base of RoPE, likewise."""
        return self.with_experiment(self.experiment.with_rope_base(base))

    def with_search(self, search: str) -> "Network":
        """The same weights with another search of copies (see `CopyingExperiment`), likewise.

        Raises:
            ValueError: an unknown search, or the task is not copying.
        """
        if not isinstance(self.experiment, CopyingExperiment):
            raise ValueError(f"{self.experiment.name} is not about copying: it has no other search")
        return self.with_experiment(replace(self.experiment, search=search))

    def save(self, path: Path, extra: dict | None = None, tensors=None, dtype=None) -> None:
        """Write a checkpoint, atomically.

        Args:
            extra, tensors: further metadata and tensors.
            dtype: what the weights are rounded to; default: nothing.
        """
        weights = {k: v.to(dtype or v.dtype) for k, v in self.state_dict().items()}
        metadata = {"experiment": self.experiment.to_json(), "trained": self.trained}
        files.save_checkpoint(path, weights | (tensors or {}), metadata | (extra or {}))

    @classmethod
    def load(cls, path: Path, experiment: Experiment | None = None) -> "Network":
        """Read a checkpoint, in evaluation mode.

        Args:
            experiment: what the checkpoint is expected to be of, the evaluation's settings
                left aside; by default whatever it says. For a task of your own it is needed.

        Raises:
            CheckpointError: missing, damaged, of other settings than expected, or with weights
                that are not finite.
        """
        tensors, metadata = read_checkpoint(path)
        settings = read_settings(path, metadata, experiment)
        with torch.device("meta"):  # nothing is allocated before sizes are compared
            sizes = cls(settings).state_dict()
        check_tensors(path, sizes, _weights(tensors))
        network = cls(settings)
        network.fill(path, tensors)
        network.trained = metadata.get("trained", {})
        return network.eval()

    def fill(self, path: Path, tensors: dict[str, Tensor]) -> None:
        """Take the weights from a checkpoint's tensors; CheckpointError names one that is wrong."""
        check_tensors(path, self.state_dict(), _weights(tensors))
        self.load_state_dict(_weights(tensors))


def _weights(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: x for name, x in tensors.items() if not name.startswith("optimizer.")}


def read_settings(path: Path, metadata: dict, expected: Experiment | None) -> Experiment:
    """The experiment to rebuild a checkpoint by: `expected` if the weights are of such a run."""
    try:
        found = metadata["experiment"]
        if expected is None:
            return from_json(found)
        of_its_kind = set(found) <= set(expected.to_json())
        saved = type(expected).from_json(found) if of_its_kind else from_json(found)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CheckpointError(f"{path}: no readable settings ({error!r})") from error
    wanted, saved = _flat(expected.to_json()), _flat(saved.to_json())
    for name in wanted:
        if wanted[name] != saved.get(name) and name.split(".")[0] not in expected.EVALUATION:
            raise CheckpointError(
                f"{path}: a run with other settings: expected {name} {wanted[name]}, "
                f"found {saved.get(name)}; choose another file or directory"
            )
    return expected


def _flat(value: dict, prefix: str = "") -> dict:
    flat = {}
    for key, v in value.items():
        flat |= _flat(v, f"{prefix}{key}.") if isinstance(v, dict) else {prefix + key: v}
    return flat


def learning_rate(step: int, steps: int, peak: float, warmup: int) -> float:
    """Learning rate of step 0 .. steps - 1: linear to `peak` over `warmup`, then cosine to 0."""
    if step < warmup:
        return peak * (step + 1) / warmup
    progress = (step - warmup) / (steps - warmup)
    return peak * 0.5 * (1 + math.cos(math.pi * progress))


def adamw(module: nn.Module, peak: float) -> torch.optim.AdamW:
    """AdamW over the parameters of `module`; no decay for tensors of one dimension."""
    trained = list(module.parameters())
    groups = [
        {"params": [p for p in trained if p.dim() > 1], "weight_decay": 0.1},
        {"params": [p for p in trained if p.dim() <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=peak, betas=(0.9, 0.95), eps=1e-8, fused=True)


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's state as tensors under the names "optimizer.NUMBER.KEY"."""
    return {
        f"optimizer.{i}.{key}": optimizer.state[p][key]
        for i, p in enumerate(parameters(optimizer))
        for key in STATE
    }


def load_optimizer(path: Path, optimizer: torch.optim.Optimizer, tensors: dict) -> None:
    """Put back what `optimizer_tensors` gave; CheckpointError names a tensor that is wrong."""
    found = {name: x for name, x in tensors.items() if name.startswith("optimizer.")}
    expected = {
        f"optimizer.{i}.{key}": torch.zeros(()) if key == "step" else p
        for i, p in enumerate(parameters(optimizer))
        for key in STATE
    }
    check_tensors(path, expected, found)
    for i, p in enumerate(parameters(optimizer)):
        optimizer.state[p] = {k: found[f"optimizer.{i}.{k}"].to(p.device) for k in STATE}


def parameters(optimizer: torch.optim.Optimizer) -> list[nn.Parameter]:
    """All trained parameters, in the order of the optimiser."""
    return [p for group in optimizer.param_groups for p in group["params"]]


class Trainer:
    """Trains one experiment in one directory.

    The directory holds checkpoint.safetensors (with the optimiser), log.jsonl (see `read_log`)
    and, at the end, model.safetensors. Starting again in the same directory resumes.

    Args:
        experiment: what to train.
        directory: made if it does not exist.
        device: "cpu" or "cuda".
        precision: one of PRECISIONS; compiled: whether to compile the model. None takes the
            default of the device; a resumed run may have other values.
        start: the network with whose weights the training begins (see `Network.begin_as`).

    Raises:
        CheckpointError: the directory holds a run of another experiment, or a damaged checkpoint.
        ValueError: an unknown precision.
    """

    def __init__(
        self,
        experiment: Experiment,
        directory: Path,
        device: str | torch.device = "cpu",
        precision: str | None = None,
        compiled: bool | None = None,
        start: Network | None = None,
    ):
        self.experiment, self.directory = experiment, Path(directory)
        self.device = torch.device(device)
        on_gpu = self.device.type == "cuda"
        self.precision = precision or ("bfloat16" if on_gpu else "float32")
        if self.precision not in PRECISIONS:
            known = ", ".join(PRECISIONS)
            raise ValueError(f"unknown precision {precision!r}: expected one of {known}")
        self.compiled = on_gpu if compiled is None else compiled
        if compiled is None and on_gpu and not (shutil.which("cc") or shutil.which("gcc")):
            print("no C compiler here: the model is not compiled, and trains slower")
            self.compiled = False
        self.network = Network(experiment).to(self.device)
        if start:
            self.network.begin_as(start)
        self.static = self.network.model.static = on_gpu or self.compiled
        if self.compiled:
            self.network.model.compile()
        self.optimizer = adamw(self.network, 0.0)
        self.stream = stream(experiment)
        self.step, self.seconds, self.executed = 0, 0.0, []
        if (self.directory / CHECKPOINT).exists():
            self._resume()
        how = {"device": self.device.type, "precision": self.precision, "compiled": self.compiled}
        if not self.executed or not how.items() <= self.executed[-1].items():
            self.executed = [*self.executed, {"from_step": self.step, **how}]

    def run(self, until: int | None = None, progress: bool = True) -> Network:
        """Train to the end (or to step `until`), from wherever the directory stands.

        Returns:
            the network, in evaluation mode.

        Raises:
            ValueError: `until` is neither the end nor a multiple of `log_every`.
            BlockingIOError: another process trains in this directory.
            TrainingDivergedError: the loss or a weight became NaN or infinite.
            OSError: a checkpoint cannot be written; the one before it is still whole.
        """
        config = self.experiment.training
        last = config.steps if until is None else min(until, config.steps)
        if last % config.log_every and last != config.steps:
            raise ValueError(f"until must be a multiple of {config.log_every}, found {until}")
        bar = tqdm(
            total=last,
            initial=self.step,
            disable=not progress,
            unit="step",
            desc=self.experiment.name,
        )
        with files.locked(self.directory), bar:
            kept = [r for r in read_log(self.directory) if r["step"] <= self.step]
            files.write_text(self.directory / LOG, "".join(json.dumps(r) + "\n" for r in kept))
            self.network.train()
            while self.step < last:
                record = self._interval(last, bar)
                with files.naming_full_disk(log := self.directory / LOG), open(log, "a") as file:
                    file.write(json.dumps(record) + "\n")
                bar.set_postfix(loss=f"{record['loss']:.4f}")
                if self.step % config.checkpoint_every == 0 or self.step == last:
                    self._save()
            if self.step == config.steps:
                self._finish()
        return self.network.train(False)

    def _interval(self, last: int, bar: tqdm) -> dict:
        """Train to the next record of the log, and make the record."""
        config, first = self.experiment.training, self.step
        stop = min(last, (first // config.log_every + 1) * config.log_every)
        total, tokens, started = torch.zeros((), device=self.device), 0, time.perf_counter()
        while self.step < stop:
            loss, worked = self.train_step()
            total += loss
            tokens += worked
            bar.update()
        mean = total.item() / (stop - first)  # waits for the device
        seconds = time.perf_counter() - started
        self.seconds += seconds
        if not math.isfinite(mean):
            self._diverged(f"the loss is {mean} in steps {first + 1} to {stop}")
        record = {
            "step": self.step,
            "loss": mean,
            "learning_rate": self.optimizer.param_groups[0]["lr"],
            "tokens_per_second": round(tokens / seconds),
        }
        if self.network.loss.scale is not None:
            record["scale"] = self.network.loss.scale.item()
        if self.step % config.validate_every == 0 or self.step == config.steps:
            record |= validate(self.network, self.stream)
        return record

    def train_step(self) -> tuple[Tensor, int]:
        """One step: a batch, its loss, the gradients, the update; waits for nothing on a GPU.

        (Formulas longer than tree positions are deep are looked at, which is a wait.)

        Returns:
            the loss, a scalar on the device, and the number of positions worked on.
        """
        config, step, seed = self.experiment.training, self.step, self.experiment.seed
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(step, config.steps, config.learning_rate, config.warmup)
        batch = self.stream.batch(step)
        if config.positions:
            batch = batch.at_random_positions(config.positions, seeded(seed, POSITIONS, step))
        batch = (batch.padded(LENGTHS) if self.static else batch).to(self.device)
        generator = seeded(seed, DROPOUT, step)
        if self.static:  # compilers and GPUs take torch's own dropout, from torch's own generator
            torch.manual_seed(generator.initial_seed())
            generator = None
        dropout = Dropout(self.experiment.model.dropout, generator)
        half = self.precision == "bfloat16"
        with torch.autocast(self.device.type, torch.bfloat16, enabled=half):
            loss = self.network.batch_loss(batch, seeded(seed, RANDOM_PARTS, step), dropout)
        self.optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(parameters(self.optimizer), config.gradient_norm)
        self.optimizer.step()
        self.step += 1
        return loss.detach(), batch.tokens

    def _diverged(self, what: str) -> None:
        path = self.directory / CHECKPOINT
        last = f"the last good checkpoint is {path}" if path.exists() else "there is no checkpoint"
        raise TrainingDivergedError(f"{self.experiment.name}: {what}; {last}")

    def _save(self) -> None:
        if not all(p.isfinite().all() for p in parameters(self.optimizer)):
            self._diverged(f"a weight is infinite or not a number after step {self.step}")
        extra = {"step": self.step, "seconds": self.seconds, "executed": self.executed}
        state = optimizer_tensors(self.optimizer)
        self.network.save(self.directory / CHECKPOINT, extra, state)

    def _resume(self) -> None:
        path = self.directory / CHECKPOINT
        tensors, metadata = read_checkpoint(path)
        read_settings(path, metadata, self.experiment)
        if not isinstance(metadata.get("step"), int):
            raise CheckpointError(f"{path}: a network without the state of its training")
        self.network.fill(path, tensors)
        load_optimizer(path, self.optimizer, tensors)
        self.step, self.seconds = metadata["step"], metadata["seconds"]
        self.executed = metadata.get("executed", [])

    def _finish(self) -> None:
        self.network.trained = {
            "steps": self.step,
            "seconds": round(self.seconds, 1),
            "threads": torch.get_num_threads(),
            "executed": self.executed,
            **files.provenance(self.device),
        }
        self.network.save(self.directory / FINISHED)


@torch.no_grad()
def validate(network: Network, stream, batches: int = 4, size: int = 256) -> dict:
    """Loss (with the last scale) and token accuracy on problems that are not for training.

    For copying also the edit distance of strings as long as the evaluation's longest. Computed as
    an evaluation computes, in float32. Leaves the network in training mode.
    """
    network.train(False)
    U = network.matrix(network.experiment.vocabulary, seeded(network.experiment.seed, VALIDATION))
    losses, correct, count = [], 0, 0
    for batch in stream.held_out(batches, size):
        logits, targets = network.logits(U, batch.to(U.device))
        losses.append(network.loss(logits, targets).item())
        real = targets != Vocabulary.pad_id
        correct += (logits.argmax(-1) == targets)[real].sum().item()
        count += real.sum().item()
    loss = sum(losses) / len(losses)
    record = {"validation_loss": loss, "validation_accuracy": correct / count}
    if isinstance(network.experiment, CopyingExperiment):
        record["validation_edit_distance"] = _longest_edit_distance(network)
    network.train()
    return record


def _longest_edit_distance(network: Network, samples: int = 4) -> float:
    """Mean edit distance of copies of the grid's longest strings, for one random draw.

    A few validation strings for each number of characters that the network can read; the length
    itself if it can read none of them.
    """
    grid, vocabulary = network.experiment.grid, network.experiment.readable_vocabulary
    length, known = grid.axis[-1], len(vocabulary.interchangeable[0])
    uniques = [u for u in grid.axis if u <= known]
    if not uniques:
        return float(length)
    every = max(1, grid.samples // samples)
    strings = np.concatenate([grid.strings(u, length, VALIDATION_SEED) for u in uniques])[::every]
    batch = copying_batch(strings, np.full(len(strings), length), vocabulary).to(network.device)
    U = network.matrix(vocabulary, seeded(VALIDATION_SEED, 0))
    return float(edit_distances(copy_strings(network, U, batch), batch.target).mean())
