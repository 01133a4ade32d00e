"""Arguments of a call by row: prompts, sources and settings.

A prompt is a text, or chat messages (`[{"role": "user", "content": "…"}]`). A list of either is a
batch; then sources and settings may be lists of the same length.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, TypeAlias, TypeVar, cast, get_args

from guideway.chat.messages import Message, are_messages
from guideway.chat.parts import with_parts
from guideway.errors import SourceError, brief
from guideway.json_schema.source import bare_schema
from guideway.sampling.settings import Sampling
from guideway.sources.sources import Choice, PythonType, Source, source

Prompt: TypeAlias = str | Sequence[Message]
Each = TypeVar("Each", bound=Prompt)
Prompts: TypeAlias = Prompt | list[Each]
Untyped: TypeAlias = Mapping[str, Any] | Callable[..., Any]
"""A source whose values have no type that is known: a JSON Schema, a callable."""


def _elements(value: object) -> list[object]:
    """The elements of a sequence that is no text, [] for anything else."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        return []
    return list(cast("Sequence[object]", value))


def split_prompts(given: object) -> tuple[list[Prompt], bool]:
    """The prompts, and True if they were given as a batch.

    >>> split_prompts("a"), split_prompts(["a", "b"])
    ((['a'], False), (['a', 'b'], True))
    """
    if isinstance(given, str) or are_messages(given):
        return [given], False
    listed = _elements(given)
    prompts: list[Prompt] = [p for p in listed if isinstance(p, str) or are_messages(p)]
    if listed and len(prompts) == len(listed):
        return prompts, True
    hint = "; one message is a list of one: [{...}]" if isinstance(given, Mapping) else ""
    raise SourceError(
        "a prompt must be a text, a list of chat messages with role and content, or a list of "
        f"prompts, not {brief(cast('object', given))}{hint}"
    )


def spread(given: object, count: int, *, batch: bool, what: str) -> list[object]:
    """One value for each row. A list in a batch has one for each; other values repeat."""
    if not (batch and isinstance(given, list)):
        return [given] * count
    each = _elements(cast("object", given))
    if len(each) != count:
        raise SourceError(
            f"{len(each)} {what} for {count} prompts: give one for all, or a list of {count}"
        )
    return each


def read_source(given: object) -> Source | None:
    """Return the source of a row, with the defaults of `generate`.

    Types and schemas given as a dict get the form that models write best: declared key order,
    natural whitespace, plain spelling. In such a schema, objects that list `properties` are closed.
    A source is used as it is.

    >>> read_source({"type": "integer"}).spelling
    'plain'
    >>> read_source(source(int, whitespace="compact")).style
    ('declared', 'compact', 'plain')
    """
    if given is None:
        return None
    if isinstance(given, dict):
        schema = cast("dict[str, object]", given)
        return bare_schema(schema)
    return plain(source(given))


def plain(given: Source) -> Source:
    """Return `given` with its Python types in plain form, also within combinations."""
    return given.plain_form if isinstance(given, PythonType) else with_parts(given, plain)


def read_choices(given: object) -> list[str]:
    """The texts of `choose`: different and not empty."""
    listed = list(cast("Iterable[object]", given)) if isinstance(given, Iterable) else []
    texts = [text for text in listed if isinstance(text, str) and text]
    right = bool(texts) and len(listed) == len(texts) == len(set(texts))
    if isinstance(given, str) or not right:
        raise SourceError(
            f"choices must be a list of different, non-empty texts, not "
            f"{brief(cast('object', given))}"
            f"{_choices_of(cast('object', given))}"
        )
    return texts


def _choices_of(given: object) -> str:
    """Code for a list of choices from another object, or ""."""
    if isinstance(given, str):
        options: list[object] = [given]
    elif isinstance(given, Choice):
        options = [*given.options]
    elif isinstance(given, type) and issubclass(given, Enum):
        options = [member.value for member in given]
    else:
        options = [*get_args(given)]
    return f"; write choose(prompt, {options})" if options else ""


def read_sampling(given: object, arguments: Mapping[str, object]) -> Sampling:
    """Settings of a row: a `Sampling`, overridden by keyword arguments."""
    if given is not None and not isinstance(given, Sampling):
        raise SourceError(f"sampling is {given!r}: it must be a guideway.Sampling")
    from guideway.api.arguments import OneArguments  # which needs torch; sources do not

    return Sampling.of(arguments, given, OneArguments.__annotations__)
