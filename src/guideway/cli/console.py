"""Standard input and output of the commands, and the one place that asks what is a terminal."""

import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import typer

from guideway.cli.sources import read_file


def print_line(text: str) -> None:
    """A line of the result, on standard output."""
    typer.echo(text)


def print_piece(text: str) -> None:
    """A piece of the result, at once, on standard output."""
    typer.echo(text, nl=False)
    sys.stdout.flush()


def print_json(value: object) -> None:
    """The result as JSON, on standard output; text stays readable."""
    typer.echo(json.dumps(value, ensure_ascii=False))


def warn(message: str) -> None:
    """A line for the person, on standard error."""
    typer.echo(message, err=True)


@contextmanager
def busy(message: str) -> Generator[None]:
    """Show that something is going on, where a person is looking."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(message):
        yield


def read_prompt(written: str) -> str:
    """The prompt itself, or standard input for "-".

    Raises:
        typer.BadParameter: standard input is no UTF-8.
    """
    return _standard_input() if written == "-" else written


def read_text(written: str) -> str:
    """The text of a file, of standard input ("-"), or `written` itself if it is several words.

    A single word is always taken for a file: a file name with a typing error must not become the
    text.

    Raises:
        typer.BadParameter: there is no such file, or it is no UTF-8.
    """
    if written == "-":
        return _standard_input()
    if len(written.split()) > 1 and not Path(written[:255]).is_file():
        return written
    return read_file(Path(written))


def _standard_input() -> str:
    """What is there.

    Raises:
        typer.BadParameter: it is no UTF-8 (some locales let such bytes in, as lone surrogates).
    """
    try:
        text = sys.stdin.read()
        text.encode()
    except UnicodeError as error:
        raise typer.BadParameter(f"standard input cannot be read: {error}") from None
    return text
