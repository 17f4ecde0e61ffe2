"""One full run and its report: sets, training, evaluation, and the figures beside the paper's."""

import sys
import time
from pathlib import Path

import torch
from IPython.display import Markdown, display

from itekit import results
from itekit.datasets.generate import make_missing
from itekit.files import RUNS, read_log
from itekit.names import changes, result_name, run_name
from itekit.network import Network
from itekit.redraw import Retries, redraw_task
from itekit.tasks.verdicts import SOLVED
from itekit.training import FINISHED
from lessons import lesson_05, lesson_10
from lessons.paper import markdown_table, our_rate, our_value, paper_figures, run_line
from lessons.plots import show, training_curves

PAUSE = 5.0  # seconds between looks whether another process has trained a network
SHOWN = 6  # right and wrong answers, of so many problems:
ASKED = 100
REDRAWN = ("redraw", "patterns")
NAMES_OF_TRAINING = 5  # APs in the paper, within which it measures alpha-covariance


MEASURED = {  # notebook: the results that it keeps
    "06_copying_search": ("copying-search",),
    "07_labels_and_data": ("solving-time",),
    "13_efficiency": ("efficiency",),
    "14_language_model": tuple(f"llm-*-{one}" for one in ("ltl", "ltl-held", "prop")),
}


def results_of(run) -> set[str]:
    """The names of the results that a run of a list makes, as patterns of files without .json."""
    settings = run.parameters
    if Path(run.notebook).stem == "15_arena":
        return {"arena-{task}-{way}-{scale}-s{seed}".format(**settings)}
    if run.experiment is None:
        return {f"{name}-{settings['scale']}" for name in MEASURED[Path(run.notebook).stem]}
    if base := settings.get("rope_base"):
        return {f"{result_name(run.experiment)}-model.rope_base={base}"}
    do = settings.get("do", ["evaluate"])
    scaled = f"-scale{settings['logit_scale']}" if "logit_scale" in settings else ""
    return {result_name(run.experiment) + f"-{part}{scaled}" * (part in REDRAWN) for part in do}


def describe(experiment) -> None:
    """Print which run it is, and what is not as its name says."""
    about = f"{experiment.name}, {experiment.scale} size, seed {experiment.seed}"
    print(about, *changes(experiment).values(), sep=", ")


def device_of(name: str | None) -> str:
    """The device with that name; None: cuda where there is one."""
    return name or ("cuda" if torch.cuda.is_available() else "cpu")


def print_record(record: dict) -> None:
    """Print a record of the training's log as one line."""
    rest = ("loss", "validation_loss", "validation_accuracy", "validation_edit_distance")
    words = [f"{key.replace('_', ' ')} {record[key]:.4f}" for key in rest if key in record]
    print(f"step {record['step']:,}", *words, sep="  ", flush=True)


def train(experiment, device: str | None = None) -> Network:
    """The network of a run: trained here, or gone on with, after its sets are made.

    Where another process trains it, or the network that it begins with, wait for that one.
    """
    name_command("train", experiment)
    make_missing(experiment.task.set_names(), experiment.scale)
    folder = RUNS / run_name(experiment)
    while True:
        try:
            trainer = results.trainer(experiment, folder, device_of(device))
            return trainer.run(progress=False, on_record=print_record)
        except BlockingIOError as error:
            print(f"{error}; waiting for it", flush=True)
            time.sleep(PAUSE)


def name_command(command: str, experiment, *options: str) -> None:
    """What results say that they were made by: a kernel was started by another command."""
    words = [experiment.name, *changes(experiment).values(), "--scale", experiment.scale]
    sys.argv = ["__main__.py", command, *words, "--seed", str(experiment.seed), *options]


def trained(experiment, device: str | None = None) -> Network:
    """The network of a run that was trained before: here, or the shipped one."""
    finished = RUNS / run_name(experiment) / FINISHED
    if finished.exists():
        return Network.load(finished, experiment).to(device_of(device))
    name, scale, seed = experiment.name, experiment.scale, experiment.seed
    return results.load_network(name, scale, seed).to(device_of(device))


def show_curves(experiment) -> None:
    """Show the loss of the training, and its accuracy."""
    records = read_log(RUNS / run_name(experiment))
    if records:
        last = records[-1]
        alt = f"Training curves of {experiment.name}: the loss is {last['loss']:.3f} at the end"
        show(training_curves({experiment.name: records}), alt=f"{alt}.")


def evaluate(network: Network, rope_base: float | None = None) -> dict:
    """Evaluate as the task asks, from the last part that was done on, and keep the result."""
    options = ["--rope-base", str(rope_base)] if rope_base else []
    name_command("evaluate", network.experiment, *options)
    make_missing(network.experiment.task.set_names(), network.experiment.scale)
    network = network.with_rope_base(rope_base) if rope_base else network
    folder = RUNS / result_name(network.experiment)
    result = results.evaluate(network, progress=False, folder=folder)
    print(run_line(result))
    print(f"result    {results.save_result(result)}")
    return result


def redraw(network: Network, part: str, tries: int, logit_scale: float | None = None) -> None:
    """Redraw and verify: on the kit's problems, or on those that people wrote; keep the result."""
    parts = ("patterns",) if part == "patterns" else ()
    settings = {"tries": tries, "parts": parts, "scale": logit_scale, "progress": False}
    result = results.evaluated(network, lambda network: redraw_task(network, **settings))
    suffix = f"-{part}" + f"-scale{logit_scale:g}" * bool(logit_scale)
    path = results.save_result(result, suffix=suffix)
    for name in parts or network.experiment.task.parts:
        rates = result["result"][name]["solved"]["all"]
        print(f"{name:<16}solved by 1 try {rates[0]:.1%}, by {len(rates)} {rates[-1]:.1%}")
    print(f"result    {path}")


def figure_of(result: dict, column: str) -> float | None:
    """A figure of a result by the paper's column; None where it is about other names than its."""
    measured = result["result"]
    if column == "mean edit distance":
        return our_value(result)
    if column == "training-minutes":
        return result["trained"]["seconds"] / 60
    if not column.startswith("alpha-covariance-"):
        rate = our_rate(result, {"test-correct": "correct"}.get(column, column))
        return None if rate is None else 100 * rate
    count, _, names = column.removeprefix("alpha-covariance-").partition("-of-")
    kinds = ("alpha_covariance_training", "alpha_covariance")[: 2 if names else 1]
    for part in (measured[kind] for kind in kinds):
        if part and part["vocabulary"] == int(names or NAMES_OF_TRAINING):
            value = part["by_propositions"].get(count)
            return value and 100 * value["mean"]
    return None


def show_beside_paper(result: dict) -> None:
    """Show each figure that the paper has of this experiment, and ours; a dash: of other names."""
    rows, name = [], result["name"]
    for key, figure in paper_figures().items():
        column = "mean edit distance" if key == name else key.removeprefix(f"{name}/")
        if column != key:
            ours = figure_of(result, column)
            text = "–" if ours is None else f"{ours:.2f}"
            rows.append([column, text, f"{figure['value']:g}"])
    display(Markdown(markdown_table(("figure", "ours", "the paper's"), rows)))


def show_heatmap(result: dict) -> None:
    """Show the heatmap of a result, as the paper draws it."""
    if "generalization" in result["result"]:
        lesson_10.heatmaps({result["name"]: result}, f"{result['name']}: right answers")
    else:
        lesson_05.heatmaps({result["name"]: result})


def problems(experiment) -> list:
    """Some problems of the test, with their labels, spread over all of them."""
    pairs = experiment.task.pairs(experiment.task.parts[0])
    return pairs[:: max(1, len(pairs) // ASKED)]


def answers_table(network: Network) -> Markdown:
    """Problems that the network answers right, and problems that it answers wrong."""
    pairs, rows = problems(network.experiment), {True: [], False: []}
    answers = Retries(network, progress=False).answers(0, [problem for problem, _ in pairs])
    for (problem, label), beams in zip(pairs, answers, strict=True):
        answer = beams[0] if beams else ""
        verdict = network.experiment.task.check(problem, answer, label)
        texts = (f"`{text}`" if text else "–" for text in (problem, answer, label))
        rows[verdict in SOLVED].append([*texts, verdict])
    head = ("problem", "answer", "label", "verdict")
    return Markdown(markdown_table(head, rows[True][:SHOWN] + rows[False][:SHOWN]))
