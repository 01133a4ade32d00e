"""The command line of the benchmarks: each command is a module of this folder."""

import sys
from collections.abc import Sequence

import typer

from benchmarks.batches import batches
from benchmarks.captured import captured
from benchmarks.cold import cold
from benchmarks.generation import generation
from benchmarks.grammars import grammars
from benchmarks.guidance import guidance
from benchmarks.llama_cpp import llama_cpp
from benchmarks.masks import masks
from benchmarks.requests import requests
from benchmarks.serving import serving
from benchmarks.split import split
from benchmarks.tables import tables
from benchmarks.warpers import warpers
from benchmarks.watermark import watermark
from guideway.errors import GuidewayError

app = typer.Typer(
    help="Measure guideway, and print the figures.", no_args_is_help=True, add_completion=False
)
COMMANDS = (
    *(masks, batches, cold, tables, warpers, guidance, watermark, grammars),
    *(split, generation, requests, serving, llama_cpp, captured),
)
for command in COMMANDS:
    app.command()(command)


def run(arguments: Sequence[str] | None = None) -> None:
    """Run the command that `arguments` (by default those of the process) name, and exit."""
    try:
        app(args=arguments, prog_name="python -m tests.benchmarks")
    except GuidewayError as error:
        typer.echo(f"{type(error).__name__}: {error}", err=True)
        sys.exit(1)
