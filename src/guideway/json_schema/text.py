"""A strict JSON reader and writer: exact numbers, whole characters, any nesting."""

import gc
import json
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import MAX_EMAX, Decimal, InvalidOperation
from hashlib import blake2b
from json.scanner import make_scanner
from typing import Any, Final, NoReturn, TypeAlias, cast

from guideway.errors import LimitError, SourceError, brief

_Scan: TypeAlias = "Callable[[str, int], tuple[Any, int]]"

_GAP: Final = r"[ \t\n\r]*"
_space, _next, _colon = (  # which always match
    cast("Callable[[str, int], re.Match[str]]", re.compile(f"{_GAP}({mark}){_GAP}").match)
    for mark in ("", "[],}]?", ":?")
)
_KINDS: Final[dict[str, Any]] = {"[": list, "{": dict}
_ENDS: Final[dict[type, str]] = {list: "]", dict: "}"}
_NO_KEY: Final = "Expecting property name enclosed in double quotes"


def read_deep(text: str, decoder: json.JSONDecoder) -> Any:
    """The value of a JSON text, its scalars as `decoder` reads them.

    >>> read_deep('{"a": [1, {}], "b": "c"}', json.JSONDecoder())
    {'a': [1, {}], 'b': 'c'}
    """
    try:
        return _read(text, cast("Any", make_scanner)(decoder))
    except StopIteration as error:
        raise json.JSONDecodeError("Expecting value", text, error.value) from None


def _read(text: str, scan: _Scan) -> Any:
    """Read value by value in one loop: .6 of the time of a call for each."""
    root: list[Any] = []
    top: Any = root
    around: list[Any] = []
    key, at = "", _space(text, 0).end()
    while True:
        kind = _KINDS.get(text[at : at + 1])
        value, after = scan(text, at) if kind is None else (kind(), at + 1)
        if top.__class__ is list:
            top.append(value)
        else:
            top[key] = value
        if kind is not None:
            around.append(top)
            top = value
        found = _next(text, after)
        while around and found[1] == _ENDS[top.__class__]:
            top = around.pop()
            found = _next(text, found.end())
        at = found.end()
        if not around or found[1] != ("," if top else ""):
            return _ended(text, found.start(1), top, root)
        if top.__class__ is dict:
            key, at = _key(text, at, scan)


def _key(text: str, at: int, scan: _Scan) -> tuple[str, int]:
    """A key, and the start of its value."""
    if text[at : at + 1] != '"':
        raise json.JSONDecodeError(_NO_KEY, text, at)
    key, at = scan(text, at)
    found = _colon(text, at)
    if not found[1]:
        raise json.JSONDecodeError("Expecting ':' delimiter", text, found.end())
    return key, found.end()


def _ended(text: str, at: int, top: Any, root: list[Any]) -> Any:
    """The value if the text ends here, else an error."""
    if top is not root:
        empty = "Expecting value" if isinstance(top, list) else _NO_KEY
        raise json.JSONDecodeError("Expecting ',' delimiter" if top else empty, text, at)
    if at < len(text):
        raise json.JSONDecodeError("Extra data", text, at)
    return root[0]


def write_deep(root: object, encode: Callable[[object], str]) -> str:
    """The JSON text of a value without spaces; `encode` writes scalars and keys.

    >>> write_deep({"a": [1, {}]}, json.dumps)
    '{"a":[1,{}]}'
    """
    written: list[str] = []
    todo: list[tuple[object, Iterator[tuple[str, object]]]] = [(None, iter([("", root)]))]
    inside = set[int]()
    while todo:
        around, parts = todo[-1]
        before, value = next(parts, ("", parts))
        written.append(before)
        if value is parts:  # its end
            todo.pop()
            inside.discard(id(around))
            written.append("" if around is None else "}" if isinstance(around, dict) else "]")
        elif not isinstance(value, dict | list | tuple):
            written.append(encode(value))
        elif id(value) in inside:  # pyright: ignore[reportUnknownArgumentType]
            raise ValueError("Circular reference detected")
        else:
            inside.add(id(value))  # pyright: ignore[reportUnknownArgumentType]
            written.append("{" if isinstance(value, dict) else "[")
            todo.append((value, _members(value, encode)))  # pyright: ignore[reportUnknownArgumentType]
    return "".join(written)


def _members(value: object, encode: Callable[[object], str]) -> Iterator[tuple[str, object]]:
    """Members of a container, each with the text before it."""
    comma = ""
    if isinstance(value, dict):
        for key, part in cast("dict[str, object]", value).items():
            yield f"{comma}{encode(key)}:", part
            comma = ","
    else:
        for part in cast("list[object]", value):
            yield comma, part
            comma = ","


Json: TypeAlias = "bool | int | Decimal | str | list[Json] | dict[str, Json] | None"
"""A JSON value as `read_json` gives it."""

MAX_DIGITS = 4000  # of one number, exponent included; Python's int() takes at most 4,300
LONGEST_POINTER: Final = 400  # characters; longer ones are shortened to a digest

_SCALAR: Final = (str, int, float, type(None))
_SCALARS: Final = frozenset((*_SCALAR, bool))
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d[-+.\deE]*')
_ESCAPED_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def read_json(text: str) -> Json:
    """Parse a JSON text; errors have the line and column.

    >>> read_json('{"a": [1, 2.50, null], "a": 3}')
    {'a': 3}
    """
    try:
        try:
            value: Json = _DECODER.decode(text)
        except RecursionError:
            value = read_deep(text, _DECODER)
    except json.JSONDecodeError as error:
        raise SourceError(
            f"not JSON: {error.msg}",
            place=f"line {error.lineno}, column {error.colno}",
            text=text,
            position=error.pos,
        ) from None
    except LimitError as error:
        long = next(filter(_is_long, _TOKEN.finditer(text)))
        raise error.at(text=text, position=long.start()) from None
    if "\\u" in text and _ESCAPED_HALF.search(text):
        for pointer, part in walk(value):
            _check(pointer, part)
    return value


def write_json(value: object) -> str:
    """Write a Python value of JSON types, tuples included."""
    return copy_json(value)[0]


def write_plain(value: Json) -> str | None:
    """Write a value from `read_json`; None if it nests deeply or has a Decimal."""
    try:
        return _ENCODER.encode(value)
    except (RecursionError, TypeError):
        return None


def copy_json(value: object) -> tuple[str, Json]:
    """Write a Python value as JSON; also return what `read_json` gives for it.

    If the value equals what is read back, its parts need no check; checks take ten times as long.
    """
    try:
        text = _ENCODER.encode(value)
        read = read_json(text)
        same = read == value or _FLOATS.decode(text) == value
    except (RecursionError, TypeError, ValueError):  # checked and written below
        _check_python(value)
        text = _write(value)
        return text, read_json(text)
    if not same:
        _check_python(value)
    return text, read


def _write(value: object) -> str:
    try:
        try:
            return _ENCODER.encode(value)
        except RecursionError:
            return write_deep(value, _ENCODER.encode)
    except ValueError as error:
        raise SourceError(
            "the value is not JSON: it contains itself"
            if "Circular" in str(error)
            else "the value is not JSON: a number is NaN, infinite or longer than "
            f"{MAX_DIGITS} digits"
        ) from None


def walk(root: object) -> Iterator[tuple[str, Any]]:
    """Every value inside `root` once, with a JSON pointer to it."""
    todo, entered = [("", root)], set[int]()
    while todo:
        pointer, value = todo.pop()
        yield pointer, value
        if id(value) in entered:
            continue
        entered.add(id(value))
        if isinstance(value, dict):
            items = cast("dict[object, object]", value).items()
            todo.extend((extend(pointer, str(key)), part) for key, part in items)
        elif isinstance(value, list | tuple):
            parts = enumerate(cast("list[object]", value))
            todo.extend((extend(pointer, str(index)), part) for index, part in parts)


def extend(pointer: str, key: str) -> str:
    """Append a step to a JSON pointer (RFC 6901).

    Copies of long pointers would take quadratic memory: beyond `LONGEST_POINTER` they become a
    beginning and a digest, which cannot be followed.

    >>> extend("/properties", "a/b")
    '/properties/a~1b'
    """
    if len(pointer) > LONGEST_POINTER:
        digest = blake2b(pointer.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        pointer = f"{pointer[:40]}…{digest}"
    return f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"


def steps(pointer: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def find(root: object, pointer: str) -> Any:
    """The value at a JSON pointer; raises LookupError."""
    found: Any = root
    for step in steps(pointer):
        if isinstance(found, list):
            found = {str(place): one for place, one in enumerate(cast("list[Any]", found))}
        if not isinstance(found, dict):
            raise KeyError(step)
        found = cast("dict[str, Any]", found)[step]
    return found


def show(value: object) -> str:
    """A value for a message: JSON, cut to 60 characters."""
    if isinstance(value, Mapping):
        text = "an object" if value else "{}"
    elif isinstance(value, list):
        text = "an array" if value else "[]"
    else:
        text = str(value) if isinstance(value, Decimal) else json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _check(pointer: str, part: object) -> None:
    """Refuse strings and keys with a lone surrogate."""
    for text in cast("dict[str, Json]", part) if isinstance(part, dict) else (part,):
        if isinstance(text, str) and any("\ud800" <= letter <= "\udfff" for letter in text):
            raise SourceError(
                "a lone surrogate is not a character (RFC 7493): "
                f"{text.encode('ascii', 'backslashreplace').decode()[:60]}",
                place=pointer,
            )


def _check_python(root: object) -> None:
    """Check that a value is made of JSON types."""
    todo, entered = [root], set[int]()
    while todo:
        value = todo.pop()
        if isinstance(value, _SCALAR) or id(value) in entered:
            continue
        if not isinstance(value, dict | list | tuple):
            message = f"a JSON value is a dict, list, str, number, bool or None, not {_kind(value)}"
            raise SourceError(message, place=_pointer_to(value, root))
        entered.add(id(cast("object", value)))
        if isinstance(value, dict):
            members = cast("dict[object, object]", value)
            for key in members:
                if key.__class__ is not str and not isinstance(key, str):
                    message = f"a JSON key is a string, not {brief(key)} ({_kind(key)})"
                    raise SourceError(message, place=_pointer_to(members, root))
            parts = members.values()
        else:
            parts = cast("list[object]", value)
        todo += [part for part in parts if part.__class__ not in _SCALARS]


def _pointer_to(value: object, root: object) -> str:
    return next(pointer for pointer, part in walk(root) if part is value)


def _integer(digits: str) -> int:
    _check_digits(len(digits))
    return int(digits)


def _decimal(digits: str) -> Decimal:
    _check_digits(len(digits))
    mantissa = digits.lower().partition("e")[0]
    if not mantissa.strip("-0."):
        return Decimal(mantissa)
    try:
        value = Decimal(digits)
    except InvalidOperation:  # its exponent is more than a Decimal can hold
        raise _too_long(MAX_EMAX) from None
    _check_digits(abs(value.adjusted()))
    return value


def _is_long(token: re.Match[str]) -> bool:
    try:
        if token[0][0] != '"':
            _decimal(token[0])
    except LimitError:
        return True
    return False


def _check_digits(count: int) -> None:
    if count > MAX_DIGITS:
        raise _too_long(count)


def _too_long(count: int) -> LimitError:
    return LimitError(
        f"a number of {count} digits is too long: at most {MAX_DIGITS}",
        limit="digits",
        needed=count,
        given=MAX_DIGITS,
    )


def _constant(name: str) -> NoReturn:
    raise SourceError(f"{name} is not a JSON number")


def _kind(value: object) -> str:
    return type(value).__name__


_DECODER = json.JSONDecoder(parse_int=_integer, parse_float=_decimal, parse_constant=_constant)
_FLOATS = json.JSONDecoder()  # to compare values with floats, which differ from exact Decimals
# `write_deep` finds a value that contains itself, since that nests too deeply for `json`. Checking
# each part takes a fifth of the time.
_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False)


def pause() -> bool:
    """Pause the collector; return whether it was running.

    No context manager: that makes an object (a bound method, a tuple) before the collector is
    paused, which may trigger it. Of the 66 slowest first masks of 1,883, 15 were so.
    """
    if gc.isenabled():
        gc.disable()
        return True
    return False


def resume(paused: bool) -> None:
    """Let the collector run again, if `pause` returned True."""
    if paused:
        gc.enable()
