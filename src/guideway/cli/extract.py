"""`guideway extract`: the object that a text describes, or one for each of many texts."""

from typing import Annotated, Final

import typer

from guideway.cli.console import read_lines, read_text
from guideway.cli.models import Prompt, answer, as_prompt, check, healed, open_model, show
from guideway.cli.options import (
    BUILT_IN,
    AsJson,
    BatchSize,
    BestBy,
    BestOf,
    Exactness,
    Heal,
    Lines,
    MaxNewTokens,
    MinP,
    Model,
    NumBeams,
    PenaltyAlpha,
    Resources,
    Seed,
    Temperature,
    TopK,
    TopP,
    given,
)
from guideway.cli.rows import generate_rows, read_rows
from guideway.cli.sources import FORMS, read_source

REQUEST: Final = "Extract the information from this text as JSON.\n\nText: {text}"


def extract(
    text: Annotated[
        str,
        typer.Argument(
            help="A file, - for standard input, or the text itself if it has several words. With "
            "--jsonl a file of texts, or -.",
        ),
    ],
    schema: Annotated[
        str, typer.Option("--schema", "-s", help=f"The form of the object: {FORMS}.")
    ],
    resources: Resources = None,
    heal: Heal = False,
    model: Model = BUILT_IN,
    max_new_tokens: MaxNewTokens = 512,
    as_json: AsJson = False,
    jsonl: Lines = False,
    batch_size: BatchSize = None,
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
) -> None:
    """Extract an object from a text. It is always valid against the schema.

    Example: guideway extract examples/person.txt --schema examples/person.py:Person

    Many texts: guideway extract texts.jsonl --jsonl --schema schema.json > objects.jsonl
    """
    source = read_source(schema, resources)
    settings = given(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p, seed=seed)
    settings |= given(num_beams=num_beams, penalty_alpha=penalty_alpha, best_of=best_of)
    settings |= given(best_by=best_by, exactness=exactness, max_new_tokens=max_new_tokens)
    lines, content = (read_lines(text), "") if jsonl else ([], read_text(text))
    check(source, settings)
    loaded = open_model(model)

    def asked(each: Prompt) -> Prompt:
        return as_prompt(loaded, REQUEST.format(text=str(each).strip()))

    settings |= healed(asked(content), heal=heal) | {"schema_in_prompt": True}
    if jsonl:
        rows = read_rows(lines, ("text",), asked)
        generate_rows(loaded, rows, source, settings, batch_size)
    else:
        show(answer(loaded, asked(content), source, settings), as_json=as_json)
