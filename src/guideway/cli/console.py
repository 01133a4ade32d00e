"""Standard input and output of the commands."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import typer

from guideway.cli.sources import read_file


def print_line(text: str) -> None:
    typer.echo(text)


def print_piece(text: str) -> None:
    """Print a piece of the result on standard output, without delay."""
    typer.echo(text, nl=False)
    sys.stdout.flush()


def print_json(value: object) -> None:
    """Print one line of JSON; NaN and ∞ become null."""
    from pydantic_core import to_json

    typer.echo(to_json(value, inf_nan_mode="null", fallback=str).decode())
    sys.stdout.flush()


def warn(message: str) -> None:
    typer.echo(message, err=True)


@contextmanager
def busy(message: str) -> Generator[None]:
    """Show a spinner while the block runs, if standard error is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(message):
        yield


def read_prompt(written: str) -> str:
    """The prompt itself, or standard input for "-"."""
    return _standard_input() if written == "-" else written


def read_text(written: str) -> str:
    """The text of a file, of standard input ("-"), or `written` itself if it has several words.

    A single word is always the name of a file: a misspelled file name must not become the text.
    """
    if written == "-":
        return _standard_input()
    if len(written.split()) > 1 and not Path(written[:255]).is_file():
        return written
    return read_file(Path(written))


def read_lines(written: str) -> list[str]:
    """Lines of a file, or of standard input ("-"), without empty ones."""
    text = _standard_input() if written == "-" else read_file(Path(written))
    return [line for line in text.removeprefix("\ufeff").split("\n") if line.strip()]


def _standard_input() -> str:
    """The text on standard input; some locales let bytes in as lone surrogates."""
    try:
        text = sys.stdin.read()
        text.encode()
    except UnicodeError as error:
        raise typer.BadParameter(f"standard input cannot be read: {error}") from None
    return text
