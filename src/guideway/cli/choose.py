"""`guideway choose`: a prompt and some answers in, the probability of each out."""

from typing import Annotated

import typer

from guideway.cli.console import print_json, print_line, read_prompt
from guideway.cli.models import as_prompt, open_model
from guideway.cli.options import BUILT_IN, AsJson, Model, System


def choose(
    prompt: Annotated[str, typer.Argument(help="What to answer, or - for standard input.")],
    choices: Annotated[list[str], typer.Argument(help="The possible answers.")],
    plain: Annotated[
        bool, typer.Option("--plain", help="Go on from the prompt, without the chat format.")
    ] = False,
    system: System = None,
    model: Model = BUILT_IN,
    as_json: AsJson = False,
) -> None:
    """The exact probability of each choice as the answer, the likeliest first.

    Example: guideway choose "Is this review positive or negative? I loved it." positive negative
    """
    text = read_prompt(prompt)
    loaded = open_model(model)
    asked = text if plain else as_prompt(loaded, text, system)
    chances = loaded.choose(asked, choices)
    ranked = sorted(chances.items(), key=lambda pair: -pair[1])
    if as_json:
        print_json(dict(ranked))
        return
    for choice, chance in ranked:
        print_line(f"{chance:.4f}  {choice}")
