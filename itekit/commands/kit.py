"""Commands about the kit itself: readme, doctor."""

import argparse


def readme_command(arguments: argparse.Namespace) -> int:
    """Rewrite what README.md takes from the results, and its picture."""
    from itekit.readme import refresh

    print("\n".join(refresh()))
    return 0


def doctor_command(arguments: argparse.Namespace) -> int:
    """Print what works here."""
    from itekit.doctor import main as doctor

    return doctor()


def add(commands: argparse._SubParsersAction) -> None:
    """Add the commands to the parser."""
    readme = commands.add_parser("readme", help="rewrite README.md's tables from the results")
    readme.set_defaults(function=readme_command)

    doctor = commands.add_parser("doctor", help="say what works here and how to mend the rest")
    doctor.set_defaults(function=doctor_command)
