"""A model for a command: loaded without chatter, asked in its chat format, its result printed."""

import gc
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, cast

import typer

from guideway.cli.console import busy, print_json, print_line, print_piece, warn
from guideway.cli.exits import INTERRUPTED, INVALID
from guideway.errors import GenerationInterrupted, LimitError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from guideway.api.model import Model
    from guideway.api.result import Part, Result

Prompt: TypeAlias = str | Sequence[Mapping[str, Any]]


def open_model(name: str) -> "Model":
    """Load a model, without the messages of the libraries below."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    with _imports():
        import guideway

        return guideway.load(name)


def check(source: Any, settings: Mapping[str, Any]) -> None:
    """Find mistakes in a source and in settings before a model is loaded.

    The source is compiled for a vocabulary of bytes; special tokens and limits are checked later,
    with the model's vocabulary.
    """
    with _imports():
        import guideway
        from guideway.api.prompts import read_source

        guideway.Sampling.of(settings)
        read = read_source(source)
        if read is None:
            return
        letters = guideway.Vocabulary([bytes([byte]) for byte in range(256)])
        try:
            guideway.compile(read, letters)
        except LimitError:
            pass
        except UnsupportedError as error:
            if not error.feature.startswith("special token"):
                raise


def as_prompt(
    model: "Model", given: Prompt, system: str | None = None, *, plain: bool = False
) -> Prompt:
    """Chat messages if the model has a chat template, else a text; `plain` keeps a text."""
    if isinstance(given, str):
        if plain or not getattr(model.tokenizer, "chat_template", None):
            return f"{system}\n\n{given}" if system else given
        given = [{"role": "user", "content": given}]
    return [{"role": "system", "content": system}, *given] if system else given


def healed(prompt: Prompt, *, heal: bool) -> dict[str, bool]:
    """The setting that heals a prompt; chat prompts are refused."""
    if heal and not isinstance(prompt, str):
        raise typer.BadParameter(
            "--heal does not work with a chat prompt, because the answer begins after the tokens "
            "of the chat template; guideway generate has --plain, which continues a prompt as text"
        )
    return {"heal": True} if heal else {}


def answer(model: "Model", prompt: Prompt, source: Any, settings: dict[str, Any]) -> "Result":
    """The result for one prompt; after Ctrl-C, the result so far."""
    settings = {**settings, "on_invalid": "return"}
    try:
        with busy("generating"):
            return cast("Result", model.generate(prompt, source, **settings))
    except GenerationInterrupted as interrupt:
        if not interrupt.results:  # it has not begun
            raise
        return interrupt.results[0]


def show(result: "Result", *, as_json: bool) -> None:
    """Print a result, and leave as `leave` says."""
    if as_json:
        print_json(record(result))
    else:
        print_line(result.text)
    leave(result)


def show_parts(parts: "Iterator[Part]") -> None:
    """Print a text while it grows, and leave as `leave` says."""
    result = None
    try:
        for part in parts:
            print_piece(part.delta)
            result = part.result
    except KeyboardInterrupt:  # during a step, or while a part is printed
        print_line("")
        _leave_interrupted()
    print_line("")
    if result is not None:
        leave(result)


def leave(result: "Result") -> None:
    """Print on standard error how a result ended, unless the model ended it."""
    if result.finish_reason == "interrupted":
        _leave_interrupted()
    if result.shortened:
        warn(
            "shortened: the model would write more than --max-new-tokens allows "
            f"(this text has {len(result.tokens)} tokens)"
        )
    if result.error is not None:
        warn(f"a validator refused the value: {result.error}")
        raise typer.Exit(INVALID)


def _leave_interrupted() -> NoReturn:
    warn("interrupted")
    raise typer.Exit(INTERRUPTED)


def record(result: "Result") -> dict[str, object]:
    """The object that `--json` prints."""
    calls = [{"name": call.name, "arguments": call.arguments} for call in result.tool_calls]
    return {
        "value": calls or result.value,
        "text": result.text,
        "finish_reason": result.finish_reason,
        "shortened": result.shortened,
        "error": None if result.error is None else str(result.error),
        "tool_calls": calls,
        "captures": result.captures,
        "tokens": result.tokens,
        "logprobs": result.logprobs,
        "log_z": result.log_z,
        "score": result.score,
        "seed": result.seed,
        "stats": asdict(result.stats),
    }


@contextmanager
def _imports() -> Generator[None]:
    """Pause the garbage collector while a block imports libraries, and exclude their objects later.

    torch and transformers make a million permanent objects. Scanning them took 1.1 s of 8 s of CPU
    time (`guideway generate`, 2 cores, medians of 4 runs).
    """
    waits = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if waits:
            gc.enable()
