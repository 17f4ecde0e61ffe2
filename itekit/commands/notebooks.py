"""Commands that execute notebooks: run, batch, refresh."""

import argparse
import os

from itekit.batch.command import add_parser as add_batch


def run_command(arguments: argparse.Namespace) -> int:
    """Execute a notebook with papermill and, on request, write it as one HTML file."""
    from itekit.notebooks import parse_value, run_notebook
    from itekit.report import report_html

    name = os.path.basename(arguments.notebook)
    output = arguments.output or os.path.join("reports", name)
    parameters = {key: parse_value(value) for key, value in arguments.parameter}
    print(f"notebook  {run_notebook(arguments.notebook, output, parameters)}")
    if arguments.html:
        print(f"page      {report_html(output, arguments.html).absolute()}")
    return 0


def refresh_command(arguments: argparse.Namespace) -> int:
    """Execute notebooks in place at lab size."""
    from itekit.refresh import refresh

    refresh(arguments.notebooks)
    return 0


def add(commands: argparse._SubParsersAction) -> None:
    """Add the commands to the parser."""
    run = commands.add_parser("run", help="execute a notebook headless, with parameters")
    run.add_argument("notebook")
    run.add_argument(
        "-p", "--parameter", nargs=2, action="append", default=[], metavar=("NAME", "VALUE")
    )
    run.add_argument("--output", metavar="FILE", help="default: reports/ and the notebook's name")
    run.add_argument("--html", metavar="FILE", help="also write one self-contained page")
    run.set_defaults(function=run_command)

    add_batch(commands)

    refresh = commands.add_parser("refresh", help="execute notebooks in place at lab size")
    refresh.add_argument("notebooks", nargs="*", metavar="NOTEBOOK", help="default: all")
    refresh.set_defaults(function=refresh_command)
