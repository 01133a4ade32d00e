"""A model for a command: loaded quietly, asked in its own chat format, its answer printed."""

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

import typer

from guideway.cli.console import busy, print_json, print_line, print_piece, warn
from guideway.cli.exits import INTERRUPTED, INVALID

if TYPE_CHECKING:
    from collections.abc import Iterator

    from guideway.api.model import Model
    from guideway.api.result import Part, Result


def open_model(name: str) -> "Model":
    """The model called `name`, without the chatter of the libraries below."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    import guideway

    return guideway.load(name)


def as_prompt(model: "Model", text: str, system: str | None) -> "str | list[dict[str, str]]":
    """Chat messages where the model has a chat template, plain text otherwise."""
    if not getattr(model.tokenizer, "chat_template", None):
        return f"{system}\n\n{text}" if system else text
    asked = [{"role": "user", "content": text}]
    return [{"role": "system", "content": system}, *asked] if system else asked


def healed(prompt: "str | list[dict[str, str]]", *, heal: bool) -> dict[str, bool]:
    """The setting that heals a prompt, where that is asked for.

    Raises:
        typer.BadParameter: the prompt is a message, whose end is the chat template's.
    """
    if heal and not isinstance(prompt, str):
        raise typer.BadParameter(
            "--heal is about a text that goes on; here the prompt is a message of a chat, and the "
            "answer begins behind the template's own tokens (generate has --plain)"
        )
    return {"heal": True} if heal else {}


def answer(
    model: "Model",
    prompt: "str | list[dict[str, str]]",
    source: Any,
    settings: dict[str, Any],
) -> "Result":
    """One result for one prompt; after Ctrl-C the one so far."""
    from guideway.errors import GenerationInterrupted

    settings = {**settings, "on_invalid": "return"}
    try:
        with busy("generating"):
            return cast("Result", model.generate(prompt, source, **settings))
    except GenerationInterrupted as interrupt:
        return interrupt.results[0]


def show(result: "Result", *, as_json: bool) -> None:
    """Print a result, and leave as `leave` says."""
    if as_json:
        print_json(record(result))
    else:
        print_line(result.text)
    leave(result)


def show_parts(parts: "Iterator[Part]") -> None:
    """Print a text as it comes, and leave as `leave` says."""
    from guideway.errors import GenerationInterrupted

    result = None
    try:
        for part in parts:
            print_piece(part.delta)
            result = part.result
    except GenerationInterrupted as interrupt:
        result = interrupt.results[0]
    print_line("")
    if result is not None:
        leave(result)


def leave(result: "Result") -> None:
    """Say how the result ended, where that was not as it should.

    Raises:
        typer.Exit: a validator refused the value, or the keyboard interrupted.
    """
    if result.finish_reason == "interrupted":
        warn("interrupted")
        raise typer.Exit(INTERRUPTED)
    if result.error is not None:
        warn(f"a validator refused the value: {result.error}")
        raise typer.Exit(INVALID)


def record(result: "Result") -> dict[str, object]:
    """What `--json` prints: the value as JSON has it, the text, how it ended, what it cost."""
    from pydantic_core import to_jsonable_python

    return {
        "value": to_jsonable_python(result.value),
        "text": result.text,
        "finish_reason": result.finish_reason,
        "score": result.score,
        "error": None if result.error is None else str(result.error),
        "stats": asdict(result.stats),
    }
