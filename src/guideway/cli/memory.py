"""`guideway memory`: what a model needs, and what fits on a card."""

import re
from dataclasses import asdict
from typing import Annotated

import typer

from guideway.cli.console import print_json, print_line
from guideway.cli.options import BUILT_IN


def memory(
    model: Annotated[
        str, typer.Argument(help="A built-in name, a Hub id, a folder or a .gguf file.")
    ] = BUILT_IN,
    batch: Annotated[int, typer.Option("--batch", "-b", help="Rows at once.", min=1)] = 1,
    context: Annotated[
        int | None,
        typer.Option(
            "--context", "-c", help="Tokens of a row. By default the most of the model.", min=1
        ),
    ] = None,
    dtype: Annotated[
        str | None,
        typer.Option(help="Type of weights and cache: float32, bf16, … By default the model's."),
    ] = None,
    card: Annotated[
        str | None,
        typer.Option(help="List the batches and contexts that fit into this memory, e.g. 24GB."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object.")] = False,
) -> None:
    """Print the memory that a model needs. Weights are not read.

    Example: guideway memory smollm2-135m --batch 8 --context 2048 --card 4GB
    """
    held = None if card is None else _bytes(card)
    from guideway.api.memory import checked, fitting, planned, shown

    plan, longest = planned(model, dtype)
    need = plan(*checked(batch, context or longest))
    fits = [] if held is None else list(fitting(plan, held, longest or need.context))
    if as_json:
        print_json({**asdict(need), "total": need.total, "fits": fits})
        return
    print_line(str(need))
    if held is not None:
        print_line(f"\non {shown(held)}: " + ("batch × context" if fits else "nothing fits"))
    for rows, tokens in fits:
        print_line(f"{rows:9,} × {tokens:,}")


def _bytes(written: str) -> int:
    """A size as people write it: 24GB, 24 GiB."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kMGT]?)(i?)B?", written.strip(), re.IGNORECASE)
    if found is None:
        raise typer.BadParameter(f"--card must be a size such as 24GB or 24GiB, got {written!r}")
    number, unit, binary = found.groups()
    power = " kmgt".index((unit or " ").lower())
    return int(float(number) * (1024 if binary else 1000) ** power)
