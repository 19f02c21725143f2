"""`python -m triptych`: versions, options, backends, and what happens to each op."""

from __future__ import annotations

import argparse
import os
import sys


def version() -> None:
    import platform

    import llvmlite.binding
    import torch

    from .versions import VERSION

    llvm = ".".join(map(str, llvmlite.binding.llvm_version_info))
    print(
        f"triptych {VERSION}, torch {torch.__version__}, LLVM {llvm}, "
        f"Python {platform.python_version()}"
    )


def list_options() -> None:
    from .options import TABLE, resolve

    values = resolve().as_dict()
    for option in TABLE.values():
        choices = f" ({', '.join(option.choices)})" if option.choices else ""
        print(f"{option.name:16} {values[option.name]!r:10} {option.doc}{choices}")


def list_backends() -> None:
    from .backends import list_backends

    print("\n".join(list_backends()))


def op_status(outcomes: str | None = None) -> None:
    from pathlib import Path

    from .op_status import page

    print(page(Path(outcomes) if outcomes else None))


def main(arguments: list[str] | None = None) -> int:
    commands = {
        "version": (version, "what this build is made of"),
        "options": (list_options, "every option with its value here"),
        "backends": (list_backends, "names that backend= accepts"),
        "ops": (op_status, "what becomes of each op: lowered, external, decomposed, fallback"),
    }
    parser = argparse.ArgumentParser(prog="python -m triptych", description=__doc__)
    parsers = parser.add_subparsers(dest="command")
    for name, (_, text) in commands.items():
        command = parsers.add_parser(name, help=text)
        if name == "ops":
            command.add_argument(
                "--outcomes", metavar="FOLDER", help="samples' outcomes, written by test_op_db.py"
            )
    given = vars(parser.parse_args(arguments))
    command_name = given.pop("command")
    if command_name is None:
        parser.print_help()
        return 0
    try:
        commands[command_name][0](**given)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough, as `head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main())
