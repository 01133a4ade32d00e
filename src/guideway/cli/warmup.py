"""`guideway warmup`: do all slow first steps now."""

import time
from pathlib import Path
from typing import Annotated

import typer

from guideway.cli.console import print_line
from guideway.cli.models import open_model
from guideway.cli.options import BUILT_IN, Model


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
