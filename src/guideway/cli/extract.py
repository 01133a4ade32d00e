"""`guideway extract`: a text and a type in, one valid JSON object out."""

from typing import Annotated, Final

import typer

from guideway.cli.console import read_text
from guideway.cli.models import answer, as_prompt, healed, open_model, show
from guideway.cli.options import (
    BUILT_IN,
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
    Temperature,
    TopK,
    TopP,
    given,
)
from guideway.cli.sources import FORMS, read_source

REQUEST: Final = "Extract the information from this text as JSON.\n\nText: {text}"


def extract(
    text: Annotated[
        str, typer.Argument(help="A file, - for standard input, or the text itself in quotes.")
    ],
    schema: Annotated[str, typer.Option("--schema", "-s", help=f"{FORMS}.")],
    heal: Heal = False,
    model: Model = BUILT_IN,
    max_new_tokens: MaxNewTokens = 512,
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
    """Read an object out of a text: valid against the schema, whatever the model.

    Example: guideway extract examples/person.txt --schema examples/person.py:Person
    """
    source, content = read_source(schema), read_text(text)
    loaded = open_model(model)
    settings = given(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p, seed=seed)
    settings |= given(num_beams=num_beams, penalty_alpha=penalty_alpha, best_of=best_of)
    settings |= given(best_by=best_by, exactness=exactness)
    prompt = as_prompt(loaded, REQUEST.format(text=content.strip()), None)
    settings |= healed(prompt, heal=heal)
    settings |= {"max_new_tokens": max_new_tokens, "schema_in_prompt": True}
    show(answer(loaded, prompt, source, settings), as_json=as_json)
