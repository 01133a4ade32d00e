"""Options that several commands share, and the settings that they give."""

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from guideway.cli.sources import FORMS

BUILT_IN: Final = "smollm2-135m"
SAMPLING: Final = "Sampling"
SEARCH: Final = "Search"
MARK: Final = "Watermark"

Model = Annotated[
    str,
    typer.Option(
        "--model", "-m", help="The model: a built-in name, a Hub id, a folder or a .gguf file."
    ),
]
System = Annotated[str | None, typer.Option(help="A system message before the prompt.")]
Plain = Annotated[
    bool, typer.Option("--plain", help="Continue the prompt as text, without the chat template.")
]
Heal = Annotated[
    bool,
    typer.Option(
        "--heal",
        help="Take back the prompt's last token, so that the text can complete it. Not for chat.",
    ),
]
Source = Annotated[
    str | None,
    typer.Option(
        "--source", "-s", help=f"The language of the text: {FORMS}. Any text if not given."
    ),
]
Resources = Annotated[
    Path | None,
    typer.Option(
        help="A file, or a folder, to which $ref in a JSON Schema refers. "
        "The folder of a schema file is searched anyway."
    ),
]
MaxNewTokens = Annotated[
    int, typer.Option("--max-new-tokens", "-n", help="The maximum number of tokens.", min=1)
]
Temperature = Annotated[
    float | None,
    typer.Option(
        "--temperature",
        "-t",
        help="0 always takes the most probable token.",
        min=0,
        rich_help_panel=SAMPLING,
    ),
]
TopK = Annotated[
    int | None,
    typer.Option(help="Sample from the k most probable tokens.", min=1, rich_help_panel=SAMPLING),
]
TopP = Annotated[
    float | None,
    typer.Option(
        help="Sample from the most probable tokens whose probabilities add up to this.",
        rich_help_panel=SAMPLING,
    ),
]
MinP = Annotated[
    float | None,
    typer.Option(
        help="Drop tokens less probable than this share of the most probable one.",
        rich_help_panel=SAMPLING,
    ),
]
Seed = Annotated[
    int | None, typer.Option(help="The same seed gives the same text.", rich_help_panel=SAMPLING)
]
NumBeams = Annotated[
    int | None,
    typer.Option(help="Beam search with this number of beams.", min=1, rich_help_panel=SEARCH),
]
PenaltyAlpha = Annotated[
    float | None,
    typer.Option(
        help="Contrastive search: the weight of its repetition penalty. 0.6 is usual.",
        min=0,
        max=1,
        rich_help_panel=SEARCH,
    ),
]
BestOf = Annotated[
    int | None,
    typer.Option(
        help="Sample this number of texts and keep the best.", min=1, rich_help_panel=SEARCH
    ),
]
BestBy = Annotated[
    str | None,
    typer.Option(help="How --best-of picks the best: logprob or majority.", rich_help_panel=SEARCH),
]
Exactness = Annotated[
    str | None,
    typer.Option(
        help="How closely texts follow the model's probabilities: local, rejection, asap, smc.",
        rich_help_panel=SEARCH,
    ),
]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json", help="Print a JSON object with the text, its value, tokens and statistics."
    ),
]
Lines = Annotated[
    bool,
    typer.Option(
        "--jsonl",
        help="Read one prompt from each line of a JSON Lines file, and print one object for each.",
    ),
]
BatchSize = Annotated[
    int | None, typer.Option(help="With --jsonl: the number of prompts that run at once.", min=1)
]
SEARCHES: Final = frozenset({"num_beams", "penalty_alpha", "best_of", "exactness"})
"""Settings that compare several texts: there is nothing to print before the end."""


def given(**settings: object) -> dict[str, Any]:
    """The settings that were given; the library's defaults apply to the others."""
    return {name: value for name, value in settings.items() if value is not None}
