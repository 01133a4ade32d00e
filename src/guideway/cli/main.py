"""The command line: its commands, and the exit status of each kind of failure.

Results go to standard output, everything else to standard error, progress only to a terminal. Each
command is a module of this folder, and imports libraries when it runs, so that `--help` is quick.
"""

import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from guideway import __version__
from guideway.cli.detect import detect
from guideway.cli.exits import EXITS, NO_MODEL, REFUSED
from guideway.cli.explain import explain
from guideway.cli.generate import choose, extract, generate
from guideway.cli.serve import serve
from guideway.cli.tools import bench, grammars, lint, memory, warmup
from guideway.errors import GuidewayError, ModelError

app = typer.Typer(
    name="guideway",
    help="Generate text that matches a JSON Schema, a grammar, a regex or a Python type.",
    epilog=EXITS,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (extract, generate, choose, detect, explain, grammars, lint, memory, serve, warmup):
    app.command(epilog=EXITS)(command)
PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True}
app.command(add_help_option=False, context_settings=PASSED_ON)(bench)


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
    """Take the options of guideway itself."""


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command of `arguments` (default: those of the process), and exit with a status."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            app(args=arguments, prog_name="guideway")
    except GuidewayError as error:
        typer.echo(f"{type(error).__name__}: {error}", err=True)
        sys.exit(NO_MODEL if isinstance(error, ModelError) else REFUSED)
    sys.exit(0)  # for type checkers: app exits by itself


def _show_warning(message: Warning | str, *where: object, **more: object) -> None:
    """Print a warning without the line of the program that it points at."""
    typer.echo(f"warning: {message}", err=True)
