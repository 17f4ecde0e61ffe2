"""The command efficiency: what the proposed embeddings cost beside the baselines."""

import argparse


def efficiency_command(arguments: argparse.Namespace) -> int:
    """Measure, print each quantity as it is known, and write the result."""
    import torch

    from itekit.efficiency import measure, result_path
    from itekit.files import write_json

    if arguments.threads < 1:
        raise ValueError(f"--threads must be 1 or more, found {arguments.threads}")
    torch.set_num_threads(arguments.threads)
    result = measure(arguments.scale, arguments.device, progress=True)
    path = result_path(result["scale"], arguments.directory)
    write_json(path, result)
    print(f"result    {path}")
    return 0


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    command = commands.add_parser("efficiency", help="measure what the embeddings cost")
    command.add_argument("--scale", help="smoke, lab or paper; default: ITEKIT_SCALE, else lab")
    command.add_argument("--device", default="cpu", help="cpu (the default) or cuda")
    command.add_argument("--threads", type=int, default=1, help="CPU threads; default: 1")
    command.add_argument("--directory", metavar="DIR", help="where to write")
    command.set_defaults(function=efficiency_command)
