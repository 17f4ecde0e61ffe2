"""The training loop: logged, validated, checkpointed, and resumed exactly.

Everything random in step t (the batch, the random part of U, dropout) comes from generators seeded
by (seed, t). A resumed run therefore gives the same losses as an uninterrupted one, and a
checkpoint needs no generator state. Several processes can train together (see `devices`): each
computes its share of every step, and the first of them writes all files.
"""

import math
import time
from pathlib import Path

import torch
from torch.nn.utils import clip_grad_norm_
from tqdm.auto import tqdm

from itekit.checkpoints import CheckpointError, load_modules, read_checkpoint
from itekit.devices import add_up, add_up_gradients, rank, wait
from itekit.execution import Execution
from itekit.experiments import Experiment
from itekit.network import Network, check_settings, read_settings, seeded
from itekit.provenance import provenance
from itekit.runlog import append_record, truncate_log
from itekit.schedule import adamw, learning_rate, load_optimizer, optimizer_tensors, parameters
from itekit.validation import validate

CHECKPOINT, FINISHED = "checkpoint.safetensors", "model.safetensors"


class TrainingDivergedError(RuntimeError):
    """The loss or a weight is not finite; the message says where, and the last good checkpoint."""


class Trainer:
    """Trains one experiment in one directory.

    The directory holds checkpoint.safetensors (with the optimiser), log.jsonl (see `runlog`) and,
    at the end, model.safetensors. Starting again in the same directory resumes.

    Args:
        experiment: what to train.
        directory: made if it does not exist.
        device: "cpu" or "cuda".
        precision: "float32" or "bfloat16"; compiled: whether to compile the layers. None takes the
            default of the device (see `execution`); a resumed run may have other values.

    Raises:
        CheckpointError: the directory holds a run of another experiment, or a damaged checkpoint.
        ValueError: an unknown precision, or a batch that the processes cannot share evenly.
    """

    def __init__(
        self,
        experiment: Experiment,
        directory: Path,
        device: str | torch.device = "cpu",
        precision: str | None = None,
        compiled: bool | None = None,
    ):
        self.experiment, self.directory = experiment, Path(directory)
        self.execution = Execution.choose(device, precision, compiled)
        self.execution.check(experiment.training.batch_size)
        self.device = self.execution.device
        self.network = self.execution.prepare(Network.build(experiment))
        self.optimizer = adamw(list(self.network.modules.values()), 0.0)
        self.stream = experiment.stream().to(self.device)
        self.step, self.seconds, self.executed = 0, 0.0, []
        if (self.directory / CHECKPOINT).exists():
            self._resume()
        self.executed = self.execution.appended(self.executed, self.step)
        if rank() == 0:
            self.directory.mkdir(parents=True, exist_ok=True)
            truncate_log(self.directory, self.step)

    def run(self, until: int | None = None, progress: bool = True) -> Network:
        """Train to the end (or to step `until`), from wherever the directory stands.

        Returns:
            the network, in evaluation mode.

        Raises:
            ValueError: `until` is neither the end nor a multiple of `log_every`.
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
            disable=not progress or rank() > 0,
            unit="step",
            desc=self.experiment.name,
        )
        self.network.train()
        with bar:
            while self.step < last:
                record = self._interval(last, bar)
                if rank() == 0:
                    append_record(self.directory, record)
                bar.set_postfix(loss=f"{record['loss']:.4f}")
                if self.step % config.checkpoint_every == 0 or self.step == last:
                    self._save()
        if self.step == config.steps:
            self._finish()
        wait()  # for the process that writes the files
        return self.network.train(False)

    def _interval(self, last: int, bar: tqdm) -> dict:
        """Train to the next record of the log, and make the record."""
        config, first = self.experiment.training, self.step
        stop = min(last, (first // config.log_every + 1) * config.log_every)
        total, tokens, started = torch.zeros((), device=self.device), 0, time.perf_counter()
        while self.step < stop:
            loss, worked = self._train_step()
            total += loss
            tokens += worked
            bar.update()
        mean = add_up(total).item() / (stop - first)  # waits for the device
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

    def _train_step(self) -> tuple[torch.Tensor, int]:
        config, step = self.experiment.training, self.step
        rate = learning_rate(step, config.steps, config.learning_rate, config.warmup)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        batch, seed = self.stream.batch(step), self.experiment.seed
        if config.positions:
            batch = batch.at_random_positions(config.positions, seeded(seed, 4, step))
        batch = self.execution.batch(batch)
        dropout = self.execution.dropout(self.experiment.model.dropout, seed, step)
        loss = self.network.batch_loss(batch, seeded(seed, 1, step), dropout)
        self.optimizer.zero_grad()
        loss.backward()
        add_up_gradients(self.optimizer_parameters)
        clip_grad_norm_(self.optimizer_parameters, config.gradient_norm)
        self.optimizer.step()
        self.step += 1
        return loss.detach(), batch.tokens

    @property
    def optimizer_parameters(self) -> list[torch.nn.Parameter]:
        """All trained parameters, in the order of the optimiser."""
        return parameters(self.optimizer)

    def _diverged(self, what: str) -> None:
        path = self.directory / CHECKPOINT
        last = f"the last good checkpoint is {path}" if path.exists() else "there is no checkpoint"
        raise TrainingDivergedError(f"{self.experiment.name}: {what}; {last}")

    def _save(self) -> None:
        if not all(p.isfinite().all() for p in self.optimizer_parameters):
            self._diverged(f"a weight is infinite or not a number after step {self.step}")
        if rank() > 0:
            return
        extra = {"step": self.step, "seconds": self.seconds, "executed": self.executed}
        self.network.save(self.directory / CHECKPOINT, extra, optimizer_tensors(self.optimizer))

    def _resume(self) -> None:
        path = self.directory / CHECKPOINT
        tensors, metadata = read_checkpoint(path)
        saved = read_settings(path, metadata, self.experiment)
        check_settings(path, saved, self.experiment)
        if "step" not in metadata:
            raise CheckpointError(f"{path}: a network without the state of its training")
        load_modules(path, self.network.modules, tensors)
        load_optimizer(self.optimizer, tensors)
        self.step, self.seconds = metadata["step"], metadata["seconds"]
        self.executed = metadata.get("executed", [])

    def _finish(self) -> None:
        self.network.trained = {
            "steps": self.step,
            "seconds": round(self.seconds, 1),
            "threads": torch.get_num_threads(),
            "executed": self.executed,
            **provenance(self.device),
        }
        if rank() == 0:
            self.network.save(self.directory / FINISHED)
