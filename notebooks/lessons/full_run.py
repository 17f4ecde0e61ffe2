"""One full run and its report: sets, training, evaluation, and the figures beside the paper's."""

import time
from pathlib import Path

import numpy as np
import torch
from IPython.display import Markdown

from itekit.datasets.generate import make_missing
from itekit.decoding import TEST_SEED
from itekit.files import RUNS, read_log
from itekit.network import Network
from itekit.plots import show, training_curves
from itekit.redraw import Retries
from itekit.results import (
    load_or_train,
    markdown_table,
    our_rate,
    our_value,
    paper_figures,
    save_result,
    trainer,
)
from itekit.tasks.verdicts import SOLVED
from itekit.training import FINISHED
from lessons import lesson_05, lesson_10

PAUSE = 5.0  # seconds between looks whether another process has trained a network
SHOWN = 6  # right and wrong answers, of so many problems:
ASKED = 100


def device_of(name: str | None) -> str:
    """The device with that name; None: cuda where there is one."""
    return name or ("cuda" if torch.cuda.is_available() else "cpu")


def print_record(record: dict) -> None:
    """Print a record of the training's log as one line."""
    rest = ("loss", "validation_loss", "validation_accuracy", "validation_edit_distance")
    words = [f"{key.replace('_', ' ')} {record[key]:.4f}" for key in rest if key in record]
    print(f"step {record['step']:,}", *words, sep="  ", flush=True)


def train(experiment, device: str | None = None) -> Network:
    """The network of a run: trained here, or gone on with; its sets are made where they are missing.

    Where another process trains it, or the network that it begins with, wait for that one.
    """
    make_missing(experiment.sets, experiment.scale)
    folder = RUNS / experiment.run
    while True:
        try:
            run = trainer(experiment, folder, device_of(device))
            return run.run(progress=False, on_record=print_record)
        except BlockingIOError as error:
            print(f"{error}; waiting for it", flush=True)
            time.sleep(PAUSE)


def trained(experiment, device: str | None = None) -> Network:
    """The network of a run that was trained before: here, or the shipped one."""
    finished = RUNS / experiment.run / FINISHED
    if finished.exists():
        return Network.load(finished, experiment).to(device_of(device))
    return load_or_train(experiment.name, experiment.scale, experiment.seed).to(device_of(device))


def show_curves(experiment) -> None:
    """Show the loss of the training, and its accuracy."""
    records = read_log(RUNS / experiment.run)
    if records:
        last = records[-1]
        alt = f"Training curves of {experiment.name}: the loss is {last['loss']:.3f} at the end"
        show(training_curves({experiment.name: records}), alt=f"{alt}.")


def save(result: dict, *suffixes: str) -> Path:
    """Write a result to the folder of results, and say where it is."""
    path = save_result(result, suffix="".join(suffixes))
    print(f"result    {path}")
    return path


def beside_paper(result: dict) -> Markdown:
    """Each figure that the paper has of this experiment, and ours."""
    name, rows = result["name"], []
    for key, figure in paper_figures().items():
        column = key.removeprefix(f"{name}/")
        if key == name:
            rows.append([figure["unit"], f"{our_value(result):.2f}", str(figure["value"])])
        elif column != key and (rate := our_rate(result, column)) is not None:
            rows.append([column, f"{100 * rate:.2f}", f"{figure['value']:g}"])
    return Markdown(markdown_table(("figure", "ours", "the paper's"), rows))


def heatmap(result: dict) -> None:
    """Show the heatmap of a result, as the paper draws it."""
    if "generalization" in result["result"]:
        lesson_10.heatmaps({result["name"]: result}, f"{result['name']}: right answers")
    else:
        lesson_05.heatmaps({result["name"]: result})


def answers_table(network: Network) -> Markdown:
    """The first problems that the network answers right, and the first that it answers wrong."""
    pairs = problems(network.experiment)
    answers = Retries(network, progress=False).answers(0, [problem for problem, _ in pairs])
    check, rows = network.experiment.check, {True: [], False: []}
    for (problem, label), beams in zip(pairs, answers, strict=True):
        answer = beams[0] if beams else ""
        verdict = check(problem, answer, label)
        rows[verdict in SOLVED].append([f"`{problem}`", f"`{answer}`", verdict, f"`{label}`"])
    head = ("problem", "answer", "verdict", "label")
    return Markdown(markdown_table(head, rows[True][:SHOWN] + rows[False][:SHOWN]))
