"""Options that several commands share: which model, how tokens are chosen, what is printed."""

from typing import Annotated, Any, Final

import typer

BUILT_IN: Final = "smollm2-135m"

Model = Annotated[
    str,
    typer.Option("--model", "-m", help="A built-in name, hub id, folder or .gguf file."),
]
MaxNewTokens = Annotated[int, typer.Option("--max-new-tokens", "-n", help="Tokens at most.", min=1)]
Temperature = Annotated[
    float | None, typer.Option("--temperature", "-t", help="0 is greedy.", min=0)
]
TopK = Annotated[int | None, typer.Option(help="Draw from the k likeliest tokens.", min=1)]
TopP = Annotated[float | None, typer.Option(help="Draw from the likeliest of this mass.")]
MinP = Annotated[
    float | None, typer.Option(help="Draw from those with this share of the likeliest.")
]
Seed = Annotated[int | None, typer.Option(help="The same seed gives the same text.")]
NumBeams = Annotated[int | None, typer.Option(help="Beam search with so many beams.", min=1)]
PenaltyAlpha = Annotated[
    float | None, typer.Option(help="Contrastive search: 0 is greedy, 0.6 usual.", min=0, max=1)
]
BestOf = Annotated[int | None, typer.Option(help="Draw so many texts, keep the best.", min=1)]
BestBy = Annotated[str | None, typer.Option(help="What is best: logprob or majority.")]
Exactness = Annotated[
    str | None, typer.Option(help="local, rejection, asap or smc: how exactly texts are drawn.")
]
System = Annotated[str | None, typer.Option(help="A system message for the model.")]
Heal = Annotated[
    bool,
    typer.Option("--heal", help="Write the end of the prompt again: a token may go on across it."),
]
SEARCHES: Final = frozenset({"num_beams", "penalty_alpha", "best_of", "exactness"})
"""Settings by which several texts are looked at: there is nothing to print before the end."""
AsJson = Annotated[bool, typer.Option("--json", help="Print everything known, as a JSON object.")]


def given(**settings: object) -> dict[str, Any]:
    """The settings that were given; what was not is left to the library.

    >>> given(temperature=None, seed=1)
    {'seed': 1}
    """
    return {name: value for name, value in settings.items() if value is not None}
