"""A model for a command: loaded without chatter, asked in its chat format, its result printed.

With `--jsonl` there are many prompts in one run. A line is a JSON string, or an object with the
prompt:

    "What is the capital of France?"
    {"id": 7, "prompt": "What is the capital of France?"}
    {"id": 8, "messages": [{"role": "user", "content": "Who are you?"}]}

One object is printed for each line, in the same order: the object that `--json` prints, with `row`
(the number of the line, from 0; empty lines do not count) and `id`. If a line fails, its object has
the `error`, and the other lines go on; the exit status says that there was one.
"""

import gc
import json
import os
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias, cast

import typer

from guideway.cli.console import busy, print_json, print_line, print_piece, warn
from guideway.cli.exits import INTERRUPTED, INVALID
from guideway.errors import (
    GenerationInterrupted,
    GuidewayError,
    LimitError,
    SourceError,
    UnsupportedError,
)

if TYPE_CHECKING:
    from guideway.api.model import Model
    from guideway.api.running import Part
    from guideway.generation.row.result import Result


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


AT_ONCE: Final = 64


@dataclass(frozen=True, slots=True)
class Row:
    """A line of input: its number, prompt (None if the line is wrong), `id`, and error."""

    number: int
    prompt: Any = None
    name: Any = None
    error: GuidewayError | None = None


def read_row(number: int, line: str, keys: Sequence[str]) -> Row:
    """The row of a line; `keys` may hold the prompt, "messages" chat messages.

    >>> read_row(0, '"Hi"', ["prompt"])
    Row(number=0, prompt='Hi', name=None, error=None)
    >>> print(read_row(0, '{"text": "Hi"}', ["prompt"]).error)
    a line is a JSON string, or an object with prompt, and perhaps id: got text
    """
    from guideway.chat.messages import are_messages

    try:
        value: object = json.loads(line)
    except (ValueError, RecursionError) as error:
        return Row(number, error=SourceError(f"the line is not JSON: {error}"))
    if isinstance(value, str):
        return Row(number, value)
    found = dict(cast("dict[str, Any]", value)) if isinstance(value, dict) else {"no object": None}
    name = found.pop("id", None)
    wanted = f"a line is a JSON string, or an object with {' or '.join(keys)}, and perhaps id"
    if len(found) != 1 or not found.keys() <= set(keys):
        return Row(number, None, name, SourceError(f"{wanted}: got {', '.join(found) or 'none'}"))
    ((key, prompt),) = found.items()
    if not (are_messages(prompt) if key == "messages" else isinstance(prompt, str)):
        kind = "a list of messages" if key == "messages" else "a string"
        return Row(number, None, name, SourceError(f"{key} must be {kind}"))
    return Row(number, prompt, name)


def read_rows(
    lines: Sequence[str], keys: Sequence[str], asked: Callable[[Prompt], Prompt]
) -> list[Row]:
    """The rows of lines; `asked` turns the prompt of a line into the model's prompt."""
    rows = (read_row(number, line, keys) for number, line in enumerate(lines))
    return [row if row.error else replace(row, prompt=asked(row.prompt)) for row in rows]


def generate_rows(
    model: "Model", rows: Sequence[Row], source: Any, settings: dict[str, Any], at_once: int | None
) -> None:
    """Generate a text for each row and print the results; `at_once` rows run at once."""
    from guideway.models.progress import rows_shown

    done = failed = shortened = 0
    try:
        with rows_shown(sys.stderr.isatty(), len(rows)) as add:
            for row, result in _results(model, rows, source, settings, at_once or AT_ONCE):
                print_json({"row": row.number, "id": row.name} | record(result))
                failed += result.error is not None
                shortened += result.shortened
                done += 1
                add(1)
    except KeyboardInterrupt:
        warn(f"interrupted after {done} of {len(rows)} rows")
        raise typer.Exit(INTERRUPTED) from None
    if shortened:
        warn(
            f"shortened: the model would write more than --max-new-tokens allows in {shortened} of "
            f"{len(rows)} texts"
        )
    if failed:
        warn(f"{failed} of {len(rows)} rows have an error")
        raise typer.Exit(INVALID)


def _results(
    model: "Model", rows: Sequence[Row], source: Any, settings: dict[str, Any], at_once: int
) -> "Iterator[tuple[Row, Result]]":
    """Rows with their results, in order, as soon as their batch is done.

    Ctrl-C is raised after the last row before the first unfinished one.
    """
    from guideway.generation.row.result import Result

    more: dict[str, Any] = {**settings, "on_error": "return", "batch_size": at_once}
    for first in range(0, len(rows), at_once):
        batch = rows[first : first + at_once]
        prompts = [row.prompt for row in batch if row.error is None]
        found: list[Result] = []
        interrupt: KeyboardInterrupt | None = None
        try:
            if prompts:
                found = cast("list[Result]", model.generate(prompts, source, **more))
        except GenerationInterrupted as error:
            found, interrupt = error.results, error
        results = iter(found)
        for row in batch:
            result = Result.failed(row.error) if row.error else next(results, None)
            if interrupt is not None and (result is None or result.finish_reason == "interrupted"):
                raise interrupt
            yield row, cast("Result", result)
