"""`guideway choose`: the probability of each answer to a prompt."""

from typing import Annotated

import typer

from guideway.cli.console import print_json, print_line, read_prompt
from guideway.cli.models import as_prompt, open_model
from guideway.cli.options import BUILT_IN, Model, Plain, System


def choose(
    prompt: Annotated[str, typer.Argument(help="The prompt, or - for standard input.")],
    choices: Annotated[list[str], typer.Argument(help="The possible answers.")],
    plain: Plain = False,
    system: System = None,
    model: Model = BUILT_IN,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object with the probabilities.")
    ] = False,
) -> None:
    """Print the exact probability of each answer, the most probable first.

    Example: guideway choose "Is this review positive or negative? I loved it." positive negative
    """
    from guideway.api.prompts import read_choices

    text = read_prompt(prompt)
    read_choices(choices)
    loaded = open_model(model)
    chances = loaded.choose(as_prompt(loaded, text, system, plain=plain), choices)
    ranked = sorted(chances.items(), key=lambda pair: -pair[1])
    if as_json:
        print_json(dict(ranked))
        return
    for choice, chance in ranked:
        print_line(f"{chance:.4f}  {choice}")
