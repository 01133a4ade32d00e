"""JSON texts, read strictly: what two parsers might understand differently is refused.

Rules: no duplicate keys, no NaN or Infinity, no lone surrogates (RFC 7493), numbers exact (int or
Decimal, never rounded to a float), nesting counted, not run into. Python values are turned into
the text they stand for, so that one reader serves both.

What this module does not know: JSON Schema.
"""

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, NoReturn, TypeAlias, cast

from fairlead.errors import LimitError, SourceError

Json: TypeAlias = "bool | int | Decimal | str | list[Json] | dict[str, Json] | None"
"""A JSON value as `read_json` gives it."""

MAX_DEPTH = 500  # JSON levels; json's own scanner runs out of stack at about 1,000
MAX_DIGITS = 4000  # of one number, exponent included; Python's int() refuses 4,300


def read_json(text: str) -> Json:
    """The value of a JSON text.

    Raises:
        SourceError: the text is no JSON, or repeats a key, with the place.
        LimitError: nested too deep, or a number is too long.

    >>> read_json('{"a": [1, 2.50, null]}')
    {'a': [1, Decimal('2.50'), None]}
    """
    repeated: list[tuple[dict[str, Json], str]] = []

    def collect(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        found = dict(pairs)
        if len(found) < len(pairs):
            seen: set[str] = set()
            again = next(key for key, _ in pairs if key in seen or seen.add(key))
            repeated.append((found, again))
        return found

    try:
        value: Json = json.loads(
            text,
            object_pairs_hook=collect,
            parse_int=_integer,
            parse_float=_decimal,
            parse_constant=_constant,
        )
    except json.JSONDecodeError as error:
        raise SourceError(
            f"not JSON: {error.msg}",
            place=f"line {error.lineno}, column {error.colno}",
            text=text,
            position=error.pos,
        ) from None
    except RecursionError:
        raise _too_deep("") from None
    for pointer, part in walk(value):
        _check(pointer, part, repeated)
    return value


def write_json(value: object) -> str:
    """The JSON text of a Python value made of dicts, lists, tuples, str, int, float, bool, None.

    Raises:
        SourceError: another type, a key that is no string, NaN or infinity, with the place.
        LimitError: nested too deep (or containing itself).

    >>> write_json({"a": (1, 2.5)})
    '{"a":[1,2.5]}'
    """
    for pointer, part in walk(value):
        if not isinstance(part, dict | list | tuple | str | int | float | None):
            raise SourceError(
                f"a JSON value is a dict, list, str, number, bool or None, not {_kind(part)}",
                place=pointer,
            )
        for key in cast("dict[object, object]", part) if isinstance(part, dict) else ():
            if not isinstance(key, str):
                raise SourceError(
                    f"a JSON key is a string, not {key!r} ({_kind(key)})", place=pointer
                )
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    except ValueError:
        raise SourceError(
            f"a number is NaN, infinite or longer than {MAX_DIGITS} digits: no JSON"
        ) from None


def walk(root: object) -> Iterator[tuple[str, Any]]:
    """Every value inside `root` with its JSON pointer, in no particular order.

    Raises:
        LimitError: nested deeper than `MAX_DEPTH`.
    """
    todo: list[tuple[str, Any, int]] = [("", root, 0)]
    while todo:
        pointer, value, depth = todo.pop()
        yield pointer, value
        if depth == MAX_DEPTH and isinstance(value, dict | list | tuple):
            raise _too_deep(pointer)
        if isinstance(value, dict):
            items = cast("dict[object, object]", value).items()
            todo.extend((extend(pointer, str(key)), part, depth + 1) for key, part in items)
        elif isinstance(value, list | tuple):
            parts = enumerate(cast("list[object]", value))
            todo.extend((extend(pointer, str(index)), part, depth + 1) for index, part in parts)


def extend(pointer: str, key: str) -> str:
    """`pointer` with one more step (RFC 6901).

    >>> extend("/properties", "a/b")
    '/properties/a~1b'
    """
    return f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"


def show(value: object) -> str:
    """A value for a message: JSON, cut to 60 characters."""
    if isinstance(value, Mapping):
        text = "an object" if value else "{}"
    elif isinstance(value, list):
        text = "an array" if value else "[]"
    else:
        text = str(value) if isinstance(value, Decimal) else json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _check(pointer: str, part: object, repeated: list[tuple[dict[str, Json], str]]) -> None:
    if isinstance(part, str):
        _check_text(pointer, part)
    elif isinstance(part, dict):
        for key in cast("dict[str, Json]", part):
            _check_text(pointer, key)
        for found, again in repeated:
            if found is part:
                raise SourceError(
                    f"the key {show(again)} stands twice in one object", place=pointer
                )


def _check_text(pointer: str, text: str) -> None:
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise SourceError(
            "half of a surrogate pair is no character (RFC 7493): "
            f"{text.encode('ascii', 'backslashreplace').decode()[:60]}",
            place=pointer,
        )


def _integer(digits: str) -> int:
    _check_digits(len(digits))
    return int(digits)


def _decimal(digits: str) -> Decimal:
    _check_digits(len(digits))
    value = Decimal(digits)
    _check_digits(abs(value.adjusted()) if value else 0)
    return value


def _check_digits(count: int) -> None:
    if count > MAX_DIGITS:
        raise LimitError(
            f"a number of {count} digits is too long: at most {MAX_DIGITS}",
            limit="digits",
            needed=count,
            given=MAX_DIGITS,
        )


def _constant(name: str) -> NoReturn:
    raise SourceError(f"{name} is no JSON number")


def _too_deep(pointer: str) -> LimitError:
    shown = pointer if len(pointer) <= 60 else f"{pointer[:57]}..."
    return LimitError(
        f"nested deeper than {MAX_DEPTH} levels",
        limit="depth",
        given=MAX_DEPTH,
        place=shown,
    )


def _kind(value: object) -> str:
    return type(value).__name__
