"""`guideway detect`: a text and a key in, how likely it is that the key marked the text out."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from guideway.cli.console import print_json, print_line, read_text
from guideway.cli.models import open_model
from guideway.cli.options import BUILT_IN, AsJson, Model
from guideway.cli.sources import FORMS, read_source


def detect(
    text: Annotated[str, typer.Argument(help="The text, a file with it, or - for standard input.")],
    key: Annotated[
        str, typer.Option("--key", "-k", envvar="GUIDEWAY_WATERMARK_KEY", help="The secret key.")
    ],
    scheme: Annotated[
        str, typer.Option(help="left, min, self, unigram, synthid or gumbel.")
    ] = "left",
    gamma: Annotated[
        float | None, typer.Option(help="The share of green tokens, 0.25 if not given.")
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="Their bias, with --weighted; 2 if not given.")
    ] = None,
    depth: Annotated[
        int | None, typer.Option(help="Layers of synthid's tournament, 30 if not given.")
    ] = None,
    context: Annotated[
        int | None, typer.Option(help="Previous tokens that take part, if not the usual number.")
    ] = None,
    source: Annotated[
        str | None, typer.Option("--source", "-s", help=f"What held the text: {FORMS}.")
    ] = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="Green tokens were not chosen among those allowed.")
    ] = False,
    tokenizer: Annotated[
        Path | None, typer.Option(help="A tokenizer.json or its folder, instead of a model.")
    ] = None,
    weighted: Annotated[
        bool, typer.Option("--weighted", help="Weigh tokens by the model's entropy.")
    ] = False,
    prompt: Annotated[str, typer.Option(help="What the text follows, with --weighted.")] = "",
    model: Model = BUILT_IN,
    as_json: AsJson = False,
) -> None:
    """Look for a watermark in a text: z, and the probability of as much by chance.

    Example: guideway generate "Once" | guideway detect - --key secret --gamma 0.5
    """
    from guideway.api.watermark import Watermark

    held = None if source is None else read_source(source)
    read = read_text(text).removesuffix("\n")
    mark = Watermark(
        key=key,
        scheme=scheme,  # pyright: ignore[reportArgumentType]
        gamma=gamma,
        delta=delta,
        depth=depth,
        context=-1 if context is None else context,
        among="vocabulary" if plain else "allowed",
    )
    loaded = open_model(model) if tokenizer is None or weighted else None
    found = mark.detect(
        read,
        tokenizer or loaded,
        held,
        model=loaded if weighted else None,
        prompt=prompt,
    )
    if as_json:
        print_json(asdict(found))
        return
    print_line(f"z         {found.z:.2f}")
    print_line(f"p         {found.p:.3g}   (as much or more by chance)")
    print_line(f"green     {found.green_fraction:.3f}   (by chance {found.expected:.3f})")
    print_line(
        f"counted   {found.counted} of {found.tokens} tokens; {found.repeated} repeated, "
        f"{found.exempt} forced"
    )
    if found.weighted_z is not None:
        print_line(f"weighted  z {found.weighted_z:.2f}, p {found.weighted_p:.3g}")
    if (window := found.window) is not None:
        print_line(
            f"clearest  tokens {window.start} to {window.stop}: z {window.z:.2f}, p {window.p:.3g}"
        )
