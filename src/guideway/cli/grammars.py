"""`guideway grammars`: the grammars that come with guideway."""

from typing import Annotated

import typer

from guideway.cli.console import print_json, print_line


def grammars(
    name: Annotated[str | None, typer.Argument(help="Print the text of this grammar.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, with examples of one grammar.")
    ] = False,
) -> None:
    """List the shipped grammars, or print one. Each name is a source for the other commands."""
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
