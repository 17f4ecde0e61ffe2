"""The command line: `python -m itekit COMMAND`, or `itekit COMMAND` where it is installed.

Bad input ends with one message and exit code 2, a run that failed with exit code 1.
"""

import argparse
import sys

from itekit.commands import efficiency, kit, llm, notebooks, search, sets, student, training

MODULES = (notebooks, training, search, sets, efficiency, llm, student, kit)


def make_parser() -> argparse.ArgumentParser:
    """Return the parser; each command sets `function`, which takes the arguments."""
    parser = argparse.ArgumentParser(prog="itekit", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in MODULES:
        module.add(commands)
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run one command; return its exit code."""
    arguments = make_parser().parse_args(argv)
    try:
        return arguments.function(arguments)
    except (ValueError, OSError, ImportError) as error:
        print(f"itekit {arguments.command}: {error}", file=sys.stderr)
        return 2
    except RuntimeError as error:
        print(f"itekit {arguments.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"itekit {arguments.command}: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
