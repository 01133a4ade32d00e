"""From a generated text to the value that was asked for.

a Python type          what pydantic reads from the JSON
a JsonSchema           the JSON's data
`a | b`                the value as the first of them that the text belongs to
`a & b`                the value as the first of them that is a type or a schema
`a + b`                where one of them is a type or a schema: its value
regions, tools         the list of the values of the regions; the calls
thinking, captures     the value of the answer, of what is captured
everything else        the text itself
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from hashlib import blake2b
from typing import Any, TypeAlias, TypeGuard, cast

from guideway.api.parsing.lark import counted
from guideway.api.parsing.source import belongs, find_places, has_places, parts_read
from guideway.chat.tools import ToolCall, Tools
from guideway.context_free.lark.source import Lark
from guideway.errors import GuidewayError, InvalidValueError
from guideway.json_schema.source import JsonSchema
from guideway.language.special_tokens import shown
from guideway.sources.regions import Captured, Composed, Region, Regions, Tag, Thinking
from guideway.sources.sources import Both, Either, PythonType, Repetition, Sequence, Source
from guideway.vocabulary.vocabulary import Vocabulary

Value: TypeAlias = tuple[Any, GuidewayError | None]


def read_value(source: Source, text: str | bytes, vocabulary: Vocabulary | None = None) -> Value:
    """The value of a whole text of `source`, or the error if there is none.

    A text of the language has a value unless a user's validator refuses it, or it exceeds the
    limits of pydantic's and Python's JSON readers (200 levels, 4,300 digits). Bytes have marks for
    special tokens (`language.special_tokens`).

    >>> read_value(PythonType(int), "12")
    (12, None)
    """
    data = text.encode() if isinstance(text, str) else text
    match source:
        case PythonType(type_):
            return _read_type(type_, _plain(data))
        case JsonSchema():
            return _read_json(_plain(data))
        case Either(parts):
            first = next((p for p in parts if belongs(data, p, vocabulary)), parts[0])
            return read_value(first, data, vocabulary)
        case Both(parts):
            typed = [part for part in parts if _is_typed(part)]
            return read_value(typed[0], data, vocabulary) if typed else (_plain(data), None)
        case Captured(_, item):
            return read_value(item, data, vocabulary)
        case _:
            return _read_places(source, data, vocabulary)


def read_captures(
    source: Source, data: bytes, vocabulary: Vocabulary | None = None
) -> tuple[Mapping[str, Any], GuidewayError | None]:
    """The values of captures by name, and the first error.

    A name has a list if it may occur several times.

    >>> from guideway.sources.regions import capture
    >>> read_captures(capture("a", int) + "," + capture("b", bool), b"1,true")
    ({'a': 1, 'b': True}, None)
    """
    most = _counts(source)
    captures: dict[str, Any] = {name: [] for name, count in most.items() if count > 1}
    if not most:
        return captures, None
    failed: GuidewayError | None = None
    for found in find_places(source, data, vocabulary) or ():
        if isinstance(found.place, Captured):
            name = found.place.name
            value, error = read_value(found.place.item, found.data, vocabulary)
            failed = failed or error
            if most[name] > 1:
                captures[name].append(value)
            else:
                captures[name] = value
    return captures, failed


def _counts(source: Source) -> dict[str, int]:
    """The most occurrences of each capture: 1, or 2 for more."""
    if isinstance(source, Lark):
        return counted(source, _counts) if has_places(source) else {}
    each = [_counts(part) for part in parts_read(source)]
    names = dict.fromkeys(name for counts in each for name in counts)
    join = max if isinstance(source, Either) else sum
    counts = {name: join([counts.get(name, 0) for counts in each]) for name in names}
    if isinstance(source, Repetition) and source.high != 1:
        counts = dict.fromkeys(counts, 2)
    if isinstance(source, Captured):
        counts[source.name] = counts.get(source.name, 0) + 1
    return counts


def _read_places(source: Source, data: bytes, vocabulary: Vocabulary | None) -> Value:
    """The value of a source whose value is that of its parts."""
    match source:
        case Regions():
            return _region_values(source.spelled_out, data, vocabulary)
        case Tools():
            return _called(source, data, vocabulary)
        case Sequence(parts) if sum(map(_is_typed, parts)) == 1:
            within = Sequence(tuple(Region(0, p) if _is_typed(p) else p for p in parts))
        case Tag() | Thinking():
            within = source.spelled_out
        case _:
            return _plain(data), None
    values, error = _region_values(within, data, vocabulary)
    return (values[0] if values else _plain(data)), error


def _region_values(source: Source, data: bytes, vocabulary: Vocabulary | None) -> Value:
    """The values of the regions of a source itself, not of those that its parts have."""
    own = {id(region) for region in _regions_of(source)}
    read = [
        read_value(found.place.item, found.data, vocabulary)
        for found in find_places(source, data, vocabulary, deep=False) or ()
        if id(found.place) in own
    ]
    return [value for value, _ in read], next((error for _, error in read if error), None)


def _regions_of(source: Source) -> Iterator[Region]:
    if isinstance(source, Region):
        yield source
    elif not isinstance(source, Composed):
        for part in parts_read(source):
            yield from _regions_of(part)


def _called(source: Tools, data: bytes, vocabulary: Vocabulary | None) -> Value:
    """The calls of a reply."""
    tools = {tool.name: tool for tool in source.tools}
    calls: list[ToolCall] = []
    failed: GuidewayError | None = None
    for found in find_places(source, data, vocabulary, deep=False) or ():
        if isinstance(found.place, Region):
            tool = tools[str(found.place.label)]
            written = source.read(tool, _plain(found.data))
            value, error = read_value(tool.arguments, written)
            calls.append(ToolCall(tool.name, value, written, tool.given))
            failed = failed or error
    ids = source.ids(_plain(data))
    if len(ids) == len(calls):
        calls = [replace(call, id=each) for call, each in zip(calls, ids, strict=True)]
    return tuple(calls), failed


def called(value: object, seed: object) -> tuple[ToolCall, ...]:
    """The tool calls in a value, or ().

    Missing ids become nine letters and digits, as Mistral's templates require. `seed` determines
    them and must differ from turn to turn.
    """
    calls = value if _are_calls(value) else ()
    return tuple(replace(call, id=call.id or _id((seed, n))) for n, call in enumerate(calls))


def _id(seed: object) -> str:
    return blake2b(repr(seed).encode(), digest_size=5).hexdigest()[:9]


def as_message(source: Source | None, text: str, calls: tuple[ToolCall, ...]) -> dict[str, Any]:
    """A text as an assistant's message in OpenAI's form, with its calls of tools."""
    if not calls:
        return {"role": "assistant", "content": text}
    said = "" if source is None else _before(source, text).strip()
    listed = [call.message for call in calls]
    return {"role": "assistant", "content": said or None, "tool_calls": listed}


def _before(source: Source, text: str) -> str:
    if isinstance(source, Tools):
        return source.before(text)
    return next(filter(None, (_before(part, text) for part in parts_read(source))), "")


def _are_calls(value: object) -> TypeGuard[tuple[ToolCall, ...]]:
    items = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (None,)
    return all(isinstance(item, ToolCall) for item in items)


def _plain(data: bytes) -> str:
    return shown(data).decode(errors="replace")


def partial_value(source: Source | None, text: str) -> Any:
    """The value of the beginning of a text, None if there is none yet.

    >>> partial_value(JsonSchema({}), '{"a": "b')
    {'a': 'b'}
    """
    match source:
        case PythonType(type_):
            from guideway.api.parsing.partial import read_partial
            from guideway.python_types.source import type_schema

            return read_partial(type_schema(type_).adapter, text)
        case JsonSchema():
            from guideway.api.parsing.partial import NOTHING, read_prefix

            data, _ = read_prefix(text)
            return None if data is NOTHING else data
        case Either(parts) | Both(parts):
            typed = [part for part in parts if _is_typed(part)]
            return partial_value(typed[0], text) if typed else text
        case Captured(_, item):
            return partial_value(item, text)
        case Thinking():
            answer = source.answer(text)
            return None if answer is None else partial_value(source.item, answer)
        case _:
            return None if source is not None and _is_typed(source) else text


def _is_typed(source: Source) -> bool:
    match source:
        case Either(parts) | Both(parts):
            return any(map(_is_typed, parts))
        case Sequence(parts):
            return sum(map(_is_typed, parts)) == 1
        case Captured(_, item):
            return _is_typed(item)
        case _:
            return isinstance(source, PythonType | JsonSchema | Composed)


def _read_type(type_: object, text: str) -> tuple[Any, GuidewayError | None]:
    from guideway.python_types.source import type_schema

    try:
        return type_schema(type_).adapter.validate_json(text), None
    except Exception as error:  # noqa: BLE001  a validator is the user's code: the text is kept
        return None, _refused(error)


def _refused(error: Exception) -> GuidewayError:
    wrapped = InvalidValueError(f"the value is refused: {error}")
    wrapped.__cause__ = error
    return wrapped


def _read_json(text: str) -> tuple[Any, GuidewayError | None]:
    try:
        return json.loads(text), None
    except (ValueError, RecursionError) as error:
        return None, _refused(error)
