"""Commands that train and evaluate networks: train, evaluate, redraw."""

import argparse
from pathlib import Path


def train_command(arguments: argparse.Namespace) -> int:
    """Train one experiment, or resume it; on request copy it to data/."""
    import torch

    from itekit.devices import joined, rank
    from itekit.experiments import experiment
    from itekit.results import RUNS, publish
    from itekit.training import Trainer

    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    made = experiment(arguments.name, arguments.scale, arguments.seed)
    directory = Path(arguments.directory or RUNS / made.slug)
    with joined(_device(arguments)) as device:
        Trainer(made, directory, device, arguments.precision, arguments.compile).run()
        if rank() > 0:
            return 0
    print(f"run       {directory}")
    for path in publish(made, directory) if arguments.publish else []:
        print(f"published {path}")
    return 0


def evaluate_command(arguments: argparse.Namespace) -> int:
    """Evaluate a trained experiment as its task asks, and write the result."""
    from itekit.results import RESULTS, RUNS, evaluate, headline, save_result

    network = _network(arguments)
    if arguments.rope_base:
        network = network.with_rope_base(arguments.rope_base)
    if arguments.search:
        network = network.with_search(arguments.search)
    result = evaluate(network, keep=RUNS / network.experiment.slug)
    print(headline(result))
    print(f"result    {save_result(result, arguments.directory or RESULTS)}")
    return 0


def redraw_command(arguments: argparse.Namespace) -> int:
    """Solve problems with several random embeddings, verify, and write the result."""
    from itekit.redraw import redraw
    from itekit.results import RESULTS, evaluated, save_result

    result = evaluated(_network(arguments), lambda n: redraw(n, arguments.tries))
    for part in ("test", "generalization"):
        first, *_, last = result["result"][part]["solved"]["all"]
        print(f"{part:<16}solved by 1 try {first:.1%}, by {arguments.tries} {last:.1%}")
    print(f"result    {save_result(result, arguments.directory or RESULTS, '-redraw')}")
    return 0


def _network(arguments: argparse.Namespace):
    """The network that a command is about: a given checkpoint, the own run, or the shipped one."""
    from itekit.experiments import experiment
    from itekit.network import Network
    from itekit.results import RUNS, load_network
    from itekit.training import FINISHED

    if arguments.threads:
        import torch

        torch.set_num_threads(arguments.threads)
    made = experiment(arguments.name, arguments.scale, arguments.seed)
    own = RUNS / made.slug / FINISHED
    if arguments.checkpoint or own.exists():
        network = Network.load(arguments.checkpoint or own, made)
    else:
        network = load_network(arguments.name, arguments.scale, arguments.seed)
    return network.to(_device(arguments))


def _device(arguments: argparse.Namespace) -> str:
    import torch

    return arguments.device or ("cuda" if torch.cuda.is_available() else "cpu")


def _add_experiment(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", help="an experiment, such as copying-5-10/proposed")
    command.add_argument("--scale", help="smoke, lab or paper; default: ITEKIT_SCALE, else lab")
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--device", help="cpu or cuda; default: cuda where there is one")
    command.add_argument("--directory", metavar="DIR", help="where to write")
    command.add_argument("--threads", type=int, help="CPU threads")


def add(commands: argparse._SubParsersAction) -> None:
    """Add the commands to the parser."""
    train = commands.add_parser("train", help="train an experiment, or resume it")
    _add_experiment(train)
    train.add_argument("--publish", action="store_true", help="copy the finished run to data/")
    train.add_argument(
        "--precision", help="float32 or bfloat16; default: bfloat16 on cuda, else float32"
    )
    train.add_argument(
        "--compile",
        action=argparse.BooleanOptionalAction,
        help="compile the layers; default: on cuda",
    )
    train.set_defaults(function=train_command)

    evaluate = commands.add_parser("evaluate", help="evaluate a trained experiment")
    _add_experiment(evaluate)
    evaluate.add_argument("--checkpoint", metavar="FILE", help="default: the own or shipped run")
    evaluate.add_argument(
        "--rope-base", type=float, metavar="BASE", help="of the rotary positions; default: trained"
    )
    evaluate.add_argument(
        "--search",
        help="of copies: greedy, or published, as the paper's code does; default: greedy",
    )
    evaluate.set_defaults(function=evaluate_command)

    redraw = commands.add_parser("redraw", help="solve with several random embeddings, and verify")
    _add_experiment(redraw)
    redraw.add_argument("--checkpoint", metavar="FILE", help="default: the own or shipped run")
    redraw.add_argument("--tries", type=int, default=10, help="default: 10")
    redraw.set_defaults(function=redraw_command)
