"""What the benchmarks share: options of their commands, turns, and tables of figures."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

import typer

from guideway.cli.console import print_json, print_line

T = TypeVar("T")
Line: TypeAlias = Mapping[str, Any]
"""Figures by the names of their columns, which have the units."""

TokenizerFile = Annotated[
    Path | None,
    typer.Option(help="A tokenizer.json, or its folder; the built-in model's if not given."),
]
ModelName = Annotated[str, typer.Option("--model", "-m", help="What to load.")]
Rounds = Annotated[int, typer.Option(help="How often each is measured.", min=1)]
Batches = Annotated[
    list[int] | None,
    typer.Option("--batch", help="Rows of a batch; several times for several.", min=1),
]
Engines = Annotated[
    list[str] | None, typer.Option("--engine", help="Only this engine; may be given several times.")
]


def rotated(names: Sequence[T], turn: int) -> list[T]:
    """All in order, another one first in each turn."""
    first = turn % len(names)
    return [*names[first:], *names[:first]]


def in_turns(
    works: Mapping[str, Callable[[], T]], rounds: int, *, warm: int = 0
) -> dict[str, list[T]]:
    """The results of all works in each round; the first `warm` rounds do not count."""
    found: dict[str, list[T]] = {name: [] for name in works}
    for turn in range(-warm, rounds):
        for name in rotated([*works], turn):
            result = works[name]()
            if turn >= 0:
                found[name].append(result)
    return found


def chosen(found: Mapping[str, T], names: Sequence[str] | None) -> dict[str, T]:
    """The engines of these names, all if none is given.

    Raises:
        typer.BadParameter: there is no such engine here.
    """
    for name in names or ():
        if name not in found:
            raise typer.BadParameter(f"there is no engine {name!r} here, only {list(found)}")
    return {name: found[name] for name in names or found}


def show(lines: Sequence[Line], *, as_json: bool) -> None:
    if as_json:
        print_json(lines)
    else:
        print_line(table(lines))


def table(lines: Sequence[Line]) -> str:
    """Lines as a Markdown table, with a column for each name."""
    names = [*dict.fromkeys(name for line in lines for name in line)]
    cells = [names, *([cell(line.get(name)) for name in names] for line in lines)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    head, *rows = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in cells]
    return "\n".join([head, f"|{'|'.join('-' * (width + 2) for width in widths)}|", *rows])


def cell(value: object) -> str:
    match value:
        case None:
            return "–"
        case float():
            return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
        case list():
            return ", ".join(map(str, value))
        case _:
            return str(value)
