"""`guideway lint`: what other engines enforce, refuse or drop of a JSON Schema."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Annotated, Final

import typer

from guideway.cli.console import print_json, print_line
from guideway.cli.sources import read_source

_WIDTH: Final = 36  # characters of the column of places, at least


def lint(
    schema: Annotated[
        str,
        typer.Argument(help="FILE.json, or a JSON Schema as text; module:Name for a Python type."),
    ],
    engine: Annotated[
        list[str] | None,
        typer.Option(
            "--engine",
            "-e",
            help="xgrammar, llguidance, outlines, openai, gemini or llama.cpp; may be repeated. "
            "All if not given.",
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also list the keywords that an engine enforces.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a list of JSON objects.")] = False,
) -> None:
    """Print which keywords of a schema other engines refuse, drop or enforce only partly.

    Verdicts marked with * are trials of the installed engine; the others are from a table.

    Example: guideway lint schema.json --engine xgrammar
    """
    from guideway.api.linting import lint as linter

    source = read_source(schema)
    with _quiet():
        found = linter.lint(source, engine or None)
    if as_json:
        print_json([asdict(one) for one in found])
        return
    for name, group in groupby(found, key=lambda one: one.engine):
        listed = list(group)
        versions = ", ".join(dict.fromkeys(one.sources[0] for one in listed))
        enforced = sum(one.verdict == "enforced" for one in listed)
        print_line(f"{name} ({versions}): {enforced} of {len(listed)} keywords enforced")
        for one in listed:
            if everything or not (one.verdict == "enforced" or one.why.startswith("within /")):
                mark = "*" if one.tried else " "
                print_line(f"  {one.place:<{_WIDTH}} {one.verdict + mark:<10}{one.why}".rstrip())


@contextmanager
def _quiet() -> Generator[None]:
    """Discard what libraries write to standard error: xgrammar warns each time it compiles."""
    kept = os.dup(2)
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
