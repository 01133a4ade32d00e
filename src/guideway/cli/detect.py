"""`guideway detect`: whether a text has the watermark of a key."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from guideway.cli.console import print_json, print_line, read_text
from guideway.cli.models import open_model
from guideway.cli.options import BUILT_IN, Model, Resources
from guideway.cli.sources import FORMS, read_source


def detect(
    text: Annotated[
        str,
        typer.Argument(
            help="A file, - for standard input, or the text itself if it has several words."
        ),
    ],
    key: Annotated[
        str,
        typer.Option(
            "--key", "-k", envvar="GUIDEWAY_WATERMARK_KEY", help="The secret key of the watermark."
        ),
    ],
    scheme: Annotated[
        str, typer.Option(help="The watermark scheme: left, min, self, unigram, synthid or gumbel.")
    ] = "left",
    gamma: Annotated[
        float | None, typer.Option(help="The share of green tokens. 0.25 by default.")
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(help="The bias of green tokens, used by --weighted. 2 by default."),
    ] = None,
    depth: Annotated[
        int | None, typer.Option(help="The number of tournament layers of synthid. 30 by default.")
    ] = None,
    context: Annotated[
        int | None,
        typer.Option(
            help="The number of previous tokens in the hash. By default that of the scheme."
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--source", "-s", help=f"The constraint of the generated text: {FORMS}."),
    ] = None,
    resources: Resources = None,
    plain: Annotated[
        bool,
        typer.Option(
            "--plain", help='The watermark was made with among="vocabulary", not among="allowed".'
        ),
    ] = False,
    tokenizer: Annotated[
        Path | None, typer.Option(help="A tokenizer.json or its folder, instead of a model.")
    ] = None,
    weighted: Annotated[
        bool,
        typer.Option(
            "--weighted", help="Weight each token by the entropy of the model's prediction."
        ),
    ] = False,
    prompt: Annotated[str, typer.Option(help="The prompt of the text, for --weighted.")] = "",
    model: Model = BUILT_IN,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object.")] = False,
) -> None:
    """Look for a watermark in a text. Print its z-score and p-value.

    Example: guideway generate "Once" --temperature 1 --watermark-key secret |
    guideway detect - --key secret
    """
    from guideway.api.watermark import Watermark

    held = None if source is None else read_source(source, resources)
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
        read, tokenizer or loaded, held, model=loaded if weighted else None, prompt=prompt
    )
    if as_json:
        print_json(asdict(found))
        return
    print_line(f"z         {found.z:.2f}")
    print_line(f"p         {found.p:.3g}   (the probability of this z or more by chance)")
    print_line(f"green     {found.green_fraction:.3f}   (expected by chance {found.expected:.3f})")
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
