"""Options that several commands share, and the settings that they give."""

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Final, cast

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


def _setting(
    name: str, kind: type, about: str, *short: str, panel: str = SAMPLING, **limits: float
) -> Parameter:
    flags, more = (f"--{name.replace('_', '-')}", *short), cast("dict[str, Any]", limits)
    option = typer.Option(*flags, help=about, rich_help_panel=panel, **more)
    annotation = Annotated[kind | None, option]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


SETTINGS: Final = (
    _setting("temperature", float, "0 always takes the most probable token.", "-t", min=0),
    _setting("top_k", int, "Sample from the k most probable tokens.", min=1),
    _setting(
        "top_p",
        float,
        "Sample from the most probable tokens whose probabilities add up to this.",
    ),
    _setting("min_p", float, "Drop tokens less probable than this share of the most probable one."),
    _setting("seed", int, "The same seed gives the same text."),
    _setting("num_beams", int, "Beam search with this number of beams.", panel=SEARCH, min=1),
    _setting(
        "penalty_alpha",
        float,
        "Contrastive search: the weight of its repetition penalty. 0.6 is usual.",
        panel=SEARCH,
        min=0,
        max=1,
    ),
    _setting("best_of", int, "Sample this number of texts and keep the best.", panel=SEARCH, min=1),
    _setting("best_by", str, "How --best-of picks the best: logprob or majority.", panel=SEARCH),
    _setting(
        "exactness",
        str,
        "How closely texts follow the model's probabilities: local, rejection, asap, smc.",
        panel=SEARCH,
    ),
)
"""The options of settings, by the names of `guideway.Sampling`."""


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with `SETTINGS` as the options that its `**settings` stand for."""
    own = [each for each in signature(command).parameters.values() if each.kind != each.VAR_KEYWORD]
    command.__dict__["__signature__"] = Signature([*own, *SETTINGS])
    return command


def given(**settings: object) -> dict[str, Any]:
    """The settings that were given; the library's defaults apply to the others."""
    return {name: value for name, value in settings.items() if value is not None}
