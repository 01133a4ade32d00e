"""The command line of the benchmarks: each command is a function in a module of its name."""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

import typer

from guideway.errors import GuidewayError

COMMANDS: Final = (
    *("masks", "batches", "cold", "tables", "warpers", "guidance", "watermark", "grammars"),
    *("split", "generation", "requests", "serving", "llama_cpp", "captured"),
)


def run(arguments: Sequence[str] | None = None) -> None:
    """Run the command that `arguments` (by default those of the process) name, and exit.

    Only its module is imported: torch in the process would disturb the times of masks.
    """
    given = [*(sys.argv[1:] if arguments is None else arguments)]
    named = [name for name in COMMANDS if name.replace("_", "-") in given[:1]]
    app = typer.Typer(
        help="Measure guideway, and print the figures.", no_args_is_help=True, add_completion=False
    )
    app.callback()(lambda: None)  # one command alone would have no name
    for name in named or COMMANDS:
        app.command()(getattr(import_module(f"benchmarks.{name}"), name))
    try:
        app(args=given, prog_name="python -m tests.benchmarks")
    except GuidewayError as error:
        typer.echo(f"{type(error).__name__}: {error}", err=True)
        sys.exit(1)
