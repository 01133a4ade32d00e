"""`guideway generate`: a prompt in, a text out, free or held to a source."""

from typing import Annotated

import typer

from guideway.cli.console import read_prompt
from guideway.cli.models import answer, as_prompt, healed, open_model, show, show_parts
from guideway.cli.options import (
    BUILT_IN,
    SEARCHES,
    AsJson,
    BestBy,
    BestOf,
    Exactness,
    Heal,
    MaxNewTokens,
    MinP,
    Model,
    NumBeams,
    PenaltyAlpha,
    Seed,
    System,
    Temperature,
    TopK,
    TopP,
    given,
)
from guideway.cli.sources import FORMS, read_source


def generate(
    prompt: Annotated[str, typer.Argument(help="What to answer, or - for standard input.")],
    source: Annotated[
        str | None, typer.Option("--source", "-s", help=f"{FORMS}. Free text if not given.")
    ] = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="Go on from the prompt, without the chat format.")
    ] = False,
    system: System = None,
    heal: Heal = False,
    stop: Annotated[
        list[str] | None, typer.Option(help="End before this text (may be repeated).")
    ] = None,
    model: Model = BUILT_IN,
    max_new_tokens: MaxNewTokens = 256,
    temperature: Temperature = None,
    top_k: TopK = None,
    top_p: TopP = None,
    min_p: MinP = None,
    seed: Seed = None,
    num_beams: NumBeams = None,
    penalty_alpha: PenaltyAlpha = None,
    best_of: BestOf = None,
    best_by: BestBy = None,
    exactness: Exactness = None,
    as_json: AsJson = False,
) -> None:
    """Answer a prompt: with any text, or with one that the source allows.

    Example: guideway generate "A year in the 18th century:" --source "/17[0-9]{2}/"
    """
    held = None if source is None else read_source(source)
    text = read_prompt(prompt)
    loaded = open_model(model)
    settings = given(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p, seed=seed)
    settings |= given(num_beams=num_beams, penalty_alpha=penalty_alpha, best_of=best_of)
    settings |= given(best_by=best_by, exactness=exactness)
    settings |= given(stop=stop or None, max_new_tokens=max_new_tokens)
    asked = text if plain else as_prompt(loaded, text, system)
    settings |= healed(asked, heal=heal)
    if as_json or SEARCHES & settings.keys():
        show(answer(loaded, asked, held, settings), as_json=as_json)
    else:
        show_parts(loaded.stream(asked, held, on_invalid="return", **settings))
