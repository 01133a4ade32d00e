"""Commands that ask a model: `guideway generate`, `extract` and `choose`."""

from typing import Annotated, Any, Final

import typer

from guideway.cli import models, options
from guideway.cli.console import print_json, print_line, read_lines, read_prompt, read_text
from guideway.cli.sources import FORMS, read_source


def choose(
    prompt: Annotated[str, typer.Argument(help="The prompt, or - for standard input.")],
    choices: Annotated[list[str], typer.Argument(help="The possible answers.")],
    plain: options.Plain = False,
    system: options.System = None,
    model: options.Model = options.BUILT_IN,
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
    loaded = models.open_model(model)
    chances = loaded.choose(models.as_prompt(loaded, text, system, plain=plain), choices)
    ranked = sorted(chances.items(), key=lambda pair: -pair[1])
    if as_json:
        print_json(dict(ranked))
        return
    for choice, chance in ranked:
        print_line(f"{chance:.4f}  {choice}")


REQUEST: Final = "Extract the information from this text as JSON.\n\nText: {text}"


@options.with_settings
def extract(
    text: Annotated[
        str,
        typer.Argument(
            help="A file, - for standard input, or the text itself if it has several words. With "
            "--jsonl a file of texts, or -."
        ),
    ],
    schema: Annotated[
        str, typer.Option("--schema", "-s", help=f"The form of the object: {FORMS}.")
    ],
    resources: options.Resources = None,
    heal: options.Heal = False,
    model: options.Model = options.BUILT_IN,
    max_new_tokens: options.MaxNewTokens = 512,
    as_json: options.AsJson = False,
    jsonl: options.Lines = False,
    batch_size: options.BatchSize = None,
    **settings: Any,
) -> None:
    """Extract an object from a text. It is always valid against the schema.

    Example: guideway extract examples/person.txt --schema examples/person.py:Person

    Many texts: guideway extract texts.jsonl --jsonl --schema schema.json > objects.jsonl
    """
    source = read_source(schema, resources)
    settings = options.given(**settings, max_new_tokens=max_new_tokens)
    lines, content = (read_lines(text), "") if jsonl else ([], read_text(text))
    models.check(source, settings)
    loaded = models.open_model(model)

    def asked(each: models.Prompt) -> models.Prompt:
        return models.as_prompt(loaded, REQUEST.format(text=str(each).strip()))

    settings |= models.healed(asked(content), heal=heal) | {"schema_in_prompt": True}
    if jsonl:
        rows = models.read_rows(lines, ("text",), asked)
        models.generate_rows(loaded, rows, source, settings, batch_size)
    else:
        models.show(models.answer(loaded, asked(content), source, settings), as_json=as_json)


@options.with_settings
def generate(
    prompt: Annotated[
        str,
        typer.Argument(
            help="The prompt, or - for standard input. With --jsonl a file of prompts, or -."
        ),
    ],
    source: options.Source = None,
    resources: options.Resources = None,
    plain: options.Plain = False,
    system: options.System = None,
    heal: options.Heal = False,
    stop: Annotated[
        list[str] | None, typer.Option(help="End the text before this string. Can be repeated.")
    ] = None,
    model: options.Model = options.BUILT_IN,
    max_new_tokens: options.MaxNewTokens = 256,
    as_json: options.AsJson = False,
    jsonl: options.Lines = False,
    batch_size: options.BatchSize = None,
    watermark_key: Annotated[
        str | None,
        typer.Option(help="Mark the text with this secret key.", rich_help_panel=options.MARK),
    ] = None,
    watermark_scheme: Annotated[
        str,
        typer.Option(
            help="left, min, self, unigram, synthid or gumbel; as for detect.",
            rich_help_panel=options.MARK,
        ),
    ] = "left",
    watermark_gamma: Annotated[
        float | None,
        typer.Option(
            help="The share of green tokens. 0.25 by default.", rich_help_panel=options.MARK
        ),
    ] = None,
    watermark_delta: Annotated[
        float | None,
        typer.Option(help="The bias of green tokens. 2 by default.", rich_help_panel=options.MARK),
    ] = None,
    **settings: Any,
) -> None:
    """Generate a text for a prompt. A source restricts the text to its language.

    Example: guideway generate "A year in the 18th century:" --source "/17[0-9]{2}/"

    Many prompts: guideway generate prompts.jsonl --jsonl > results.jsonl
    """
    held = None if source is None else read_source(source, resources)
    settings = options.given(**settings, stop=stop or None, max_new_tokens=max_new_tokens)
    mark = _watermark(watermark_key, watermark_scheme, watermark_gamma, watermark_delta)
    lines, text = (read_lines(prompt), "") if jsonl else ([], read_prompt(prompt))
    models.check(held, settings)
    loaded = models.open_model(model)
    loaded = loaded if mark is None else loaded.watermarked(mark)

    def asked(each: models.Prompt) -> models.Prompt:
        return models.as_prompt(loaded, each, system, plain=plain)

    settings |= models.healed(asked(text), heal=heal)
    if jsonl:
        rows = models.read_rows(lines, ("prompt", "messages"), asked)
        models.generate_rows(loaded, rows, held, settings, batch_size)
    elif as_json or options.SEARCHES & settings.keys():
        models.show(models.answer(loaded, asked(text), held, settings), as_json=as_json)
    else:
        models.show_parts(loaded.stream(asked(text), held, on_invalid="return", **settings))


def _watermark(key: str | None, scheme: str, gamma: float | None, delta: float | None) -> Any:
    """The watermark of the options, None without a key."""
    if key is None:
        if (scheme, gamma, delta) != ("left", None, None):
            raise typer.BadParameter("a watermark needs --watermark-key")
        return None
    from guideway.api.watermark import Watermark

    return Watermark(key=key, scheme=scheme, gamma=gamma, delta=delta)  # pyright: ignore[reportArgumentType]
