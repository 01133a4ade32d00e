"""Many prompts in one run: `--jsonl`.

A line is a JSON string, or an object with the prompt:

    "What is the capital of France?"
    {"id": 7, "prompt": "What is the capital of France?"}
    {"id": 8, "messages": [{"role": "user", "content": "Who are you?"}]}

One object is printed for each line, in the same order: the object that `--json` prints, with `row`
(the number of the line, from 0; empty lines do not count) and `id`. If a line fails, its object has
the `error`, and the other lines go on; the exit status says that there was one.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, cast, final

import typer

from guideway.cli.console import print_json, progress, warn
from guideway.cli.exits import INTERRUPTED, INVALID
from guideway.cli.models import Prompt, record
from guideway.errors import GenerationInterrupted, GuidewayError, SourceError

if TYPE_CHECKING:
    from guideway.api.model import Model
    from guideway.api.result import Result

AT_ONCE: Final = 64


@final
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
    from guideway.syntax.messages import are_messages

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
    """The rows of lines; `asked` makes the model's prompt of that of a line."""
    rows = (read_row(number, line, keys) for number, line in enumerate(lines))
    return [row if row.error else replace(row, prompt=asked(row.prompt)) for row in rows]


def generate_rows(
    model: "Model", rows: Sequence[Row], source: Any, settings: dict[str, Any], at_once: int | None
) -> None:
    """Generate a text for each row and print the results; `at_once` rows run at once."""
    done = failed = shortened = 0
    try:
        with progress(len(rows)) as report:
            for row, result in _results(model, rows, source, settings, at_once or AT_ONCE):
                print_json({"row": row.number, "id": row.name} | record(result))
                failed += result.error is not None
                shortened += result.shortened
                done += 1
                report(done)
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
    from guideway.api.result import Result

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
