"""From a generated text to the value that was asked for.

a Python type          what pydantic reads from the JSON
a JsonSchema           the JSON's data
`a | b`                the value as the first of them that the text belongs to
`a & b`                the value as the first of them that is a type or a schema
everything else        the text itself
"""

import json
from typing import Any

from fairlead.errors import FairleadError
from fairlead.syntax.json_schema_source import JsonSchema
from fairlead.syntax.sources import Both, Either, PythonType, Source


def read_value(source: Source, text: str) -> tuple[Any, FairleadError | None]:
    """The value of a whole text of `source`, and why there is none where there is none.

    A text of the language has a value, unless a validator that the user wrote refuses it, or the
    text is beyond what pydantic's and Python's JSON readers take (200 levels, 4,300 digits).

    >>> read_value(PythonType(int), "12")
    (12, None)
    """
    match source:
        case PythonType(type_):
            return _read_type(type_, text)
        case JsonSchema():
            return _read_json(text)
        case Either(parts):
            return read_value(_first(parts, text), text)
        case Both(parts):
            typed = [part for part in parts if _is_typed(part)]
            return read_value(typed[0], text) if typed else (text, None)
        case _:
            return text, None


def partial_value(source: Source | None, text: str) -> Any:
    """What the beginning of a text of `source` already shows; None where that is nothing.

    >>> partial_value(JsonSchema({}), '{"a": "b')
    {'a': 'b'}
    """
    match source:
        case PythonType(type_):
            from fairlead.api.partial import read_partial
            from fairlead.syntax.python_types import type_schema

            return read_partial(type_schema(type_).adapter, text)
        case JsonSchema():
            return _partial_json(text)
        case Either(parts) | Both(parts):
            typed = [part for part in parts if _is_typed(part)]
            return partial_value(typed[0], text) if typed else text
        case _:
            return text


def _is_typed(source: Source) -> bool:
    match source:
        case Either(parts) | Both(parts):
            return any(map(_is_typed, parts))
        case _:
            return isinstance(source, PythonType | JsonSchema)


def _read_type(type_: object, text: str) -> tuple[Any, FairleadError | None]:
    from fairlead.syntax.python_types import type_schema

    try:
        return type_schema(type_).adapter.validate_json(text), None
    except Exception as error:  # noqa: BLE001  a validator is the user's code: the text is kept
        return None, _refused(error)


def _refused(error: Exception) -> FairleadError:
    wrapped = FairleadError(f"the text is refused: {error}")
    wrapped.__cause__ = error
    return wrapped


def _read_json(text: str) -> tuple[Any, FairleadError | None]:
    try:
        return json.loads(text), None
    except (ValueError, RecursionError) as error:
        return None, _refused(error)


def _partial_json(text: str) -> Any:
    from fairlead.api.prefix import plain, read_prefix

    try:
        node = read_prefix(text)
        return None if node is None else plain(node)
    except (ValueError, RecursionError):  # too deep, or a number too long, for Python
        return None


def _first(parts: tuple[Source, ...], text: str) -> Source:
    """The first part that the text belongs to."""
    from fairlead.automata.derivative import Derivatives
    from fairlead.lowering.sources import lower_source

    for part in parts:
        machine = Derivatives(lower_source(part))
        state = machine.start()
        for byte in text.encode():
            following = machine.step(state, byte)
            if following is None:
                break
            state = following
        else:
            if machine.accepts(state):
                return part
    return parts[0]
