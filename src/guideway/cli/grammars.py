"""`guideway grammars`: the grammars that are shipped."""

from typing import Annotated

import typer

from guideway.cli.console import print_json, print_line
from guideway.cli.options import AsJson


def grammars(
    name: Annotated[str | None, typer.Argument(help="Print this one's text.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the shipped grammars, or print one.

    Their names are sources wherever a command takes one.
    """
    from guideway.syntax.shipped import paths, shipped

    if name is not None:
        one = shipped(name)
        if as_json:
            examples = {"accepted": one.accepted, "rejected": one.rejected}
            print_json({"name": name, "title": one.title, "text": one.text, **examples})
        else:
            print_line(one.text.rstrip("\n"))
        return
    listed = [(name, shipped(name).title) for name in paths()]
    if as_json:
        print_json([{"name": name, "title": title} for name, title in listed])
        return
    width = max(len(name) for name in paths())
    for name, title in listed:
        print_line(f"{name:{width}}  {title}")
