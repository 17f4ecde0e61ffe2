"""The command student: write the student edition of the notebooks."""

import argparse


def student_command(arguments: argparse.Namespace) -> int:
    """Write the student edition, and say where it is."""
    from itekit.student import DEFAULT, write_edition

    folder = write_edition(arguments.folder or DEFAULT, arguments.overwrite)
    print(f"student edition  {folder}  ({len(list(folder.glob('*.ipynb')))} notebooks)")
    return 0


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    student = commands.add_parser("student", help="write the notebooks for students")
    student.add_argument("folder", nargs="?", metavar="FOLDER", help="default: reports/student")
    student.add_argument(
        "--overwrite", action="store_true", help="replace an edition that is there"
    )
    student.set_defaults(function=student_command)
