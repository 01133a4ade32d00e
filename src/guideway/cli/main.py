"""The command line: its commands, and how each kind of failure leaves it.

Results go to standard output, everything else to standard error, progress only to a terminal. A
command is a file of this folder; it imports what it needs when it runs, so that `--help` is quick.
"""

import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from guideway import __version__
from guideway.cli.choose import choose
from guideway.cli.detect import detect
from guideway.cli.exits import EXITS, NO_MODEL, REFUSED
from guideway.cli.explain import explain
from guideway.cli.extract import extract
from guideway.cli.generate import generate
from guideway.cli.grammars import grammars
from guideway.cli.warmup import warmup
from guideway.errors import GuidewayError, ModelError

app = typer.Typer(
    name="guideway",
    help="Text from language models that is held to a schema, a regex, or a Python type.",
    epilog=EXITS,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (extract, generate, choose, detect, explain, grammars, warmup):
    app.command(epilog=EXITS)(command)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"guideway {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Options of guideway itself; the work is done by its commands."""


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command that `arguments` (by default those of the process) name, and exit.

    Raises:
        SystemExit: always, with the status that `--help` explains.
    """
    try:
        app(args=arguments, prog_name="guideway")
    except GuidewayError as error:
        typer.echo(f"{type(error).__name__}: {error}", err=True)
        sys.exit(NO_MODEL if isinstance(error, ModelError) else REFUSED)
    sys.exit(0)  # unreachable in practice: app exits by itself
