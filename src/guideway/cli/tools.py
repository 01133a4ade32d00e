"""Commands that ask no model for a text: `guideway grammars`, `memory` and `warmup`."""

import re
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from guideway.cli.console import print_json, print_line
from guideway.cli.models import open_model
from guideway.cli.options import BUILT_IN, Model


def grammars(
    name: Annotated[str | None, typer.Argument(help="Print the text of this grammar.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, with examples of one grammar.")
    ] = False,
) -> None:
    """List the shipped grammars, or print one. Each name is a source for the other commands."""
    from guideway.context_free.shipped import paths, shipped

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


def warmup(
    model: Model = BUILT_IN,
    tokenizer: Annotated[
        list[Path] | None,
        typer.Option(
            help="Prepare this tokenizer.json (or its folder) instead of a model. Can be repeated."
        ),
    ] = None,
    constraints_only: Annotated[
        bool, typer.Option("--constraints-only", help="Compile the mask kernels only.")
    ] = False,
) -> None:
    """Compile the mask kernels, and prepare a model, so that later runs start quickly."""
    import guideway

    begun = time.perf_counter()
    guideway.warmup()
    ready = ["the constraint engine"] if constraints_only else list[str]()
    for path in tokenizer or ():
        guideway.Vocabulary.from_tokenizer_json(path)
        ready.append(str(path))
    if not tokenizer and not constraints_only:
        loaded = open_model(model)
        loaded.generate("a", max_new_tokens=1)
        ready.append(model)
    took = time.perf_counter() - begun
    print_line(f"{', '.join(ready)} {'is' if len(ready) == 1 else 'are'} ready ({took:.1f} s)")
