"""Commands that ask no model for a text: `grammars`, `lint`, `memory`, `warmup` and `bench`."""

import os
import re
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Annotated, Final

import typer

from guideway.cli.console import print_json, print_line
from guideway.cli.models import open_model
from guideway.cli.options import BUILT_IN, Model
from guideway.cli.sources import read_source
from guideway.errors import UnsupportedError

ROOT = Path(__file__).resolve().parents[3]


def bench(context: typer.Context) -> None:
    """Run a benchmark of a checkout (`pip install -e .`); `--help` lists them."""
    tests = ROOT / "tests"
    if not (tests / "benchmarks" / "commands.py").is_file():
        raise UnsupportedError(
            "the benchmarks are in the repository, not in the package: clone it, and install it "
            "there with pip install -e .",
            feature="benchmarks outside of a checkout",
        )
    sys.path.insert(0, str(tests))
    import_module("benchmarks.commands").run(context.args)


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
    from guideway.api.memory import as_size, fitting, needed, planned

    plan, longest = planned(model, dtype)
    need = needed(plan, batch, context or longest)
    fits = [] if held is None else list(fitting(plan, held, longest or need.context))
    if as_json:
        print_json({**asdict(need), "total": need.total, "fits": fits})
        return
    print_line(str(need))
    if held is not None:
        print_line(f"\non {as_size(held)}: " + ("batch × context" if fits else "nothing fits"))
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
