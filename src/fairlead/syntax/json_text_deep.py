"""JSON of any nesting: what `json` reads and writes, with a stack of its own instead of Python's.

The same texts and values as `json` has, more slowly; for what is nested deeper than Python's stack,
of which json has about 1,000 levels.

What this module does not know: what is strict about JSON here (`syntax.json_text`).
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, cast, final

_SPACE = re.compile(r"[ \t\n\r]*")


def read_deep(text: str, decoder: json.JSONDecoder) -> Any:
    """The value of a JSON text, its scalars as `decoder` reads them.

    >>> read_deep('{"a": [1, {}], "b": "c"}', json.JSONDecoder())
    {'a': [1, {}], 'b': 'c'}

    Raises:
        json.JSONDecodeError: it is none.
    """
    return _Reader(text, decoder).read()


@final
class _Reader:
    """Reads a text from left to right; `_open` are the containers that have no end yet."""

    def __init__(self, text: str, decoder: json.JSONDecoder) -> None:
        self._text, self._scalar, self._at = text, decoder.raw_decode, 0
        self._open: list[list[Any] | dict[str, Any]] = []

    def read(self) -> Any:
        self._skip()
        root = self._value()
        while self._open:
            top = self._open[-1]
            self._skip()
            if self._mark() == ("]" if isinstance(top, list) else "}"):
                self._at += 1
                self._open.pop()
            else:
                self._member(top)
        self._skip()
        if self._at < len(self._text):
            raise self._wrong("Extra data")
        return root

    def _member(self, top: list[Any] | dict[str, Any]) -> None:
        """The next member of a container, after a comma if one stands before it."""
        if top:
            self._pass(",")
        if isinstance(top, list):
            top.append(self._value())
            return
        if self._mark() != '"':
            raise self._wrong("Expecting property name enclosed in double quotes")
        key, self._at = self._scalar(self._text, self._at)
        self._skip()
        self._pass(":")
        top[key] = self._value()

    def _value(self) -> Any:
        """A scalar, which is read, or a container, which is opened."""
        mark = self._mark()
        if mark and mark in "[{":
            opened: list[Any] | dict[str, Any] = [] if mark == "[" else {}
            self._open.append(opened)
            self._at += 1
            return opened
        value, self._at = self._scalar(self._text, self._at)
        return value

    def _mark(self) -> str:
        """The character here, "" at the end."""
        return self._text[self._at : self._at + 1]

    def _pass(self, mark: str) -> None:
        if self._mark() != mark:
            raise self._wrong(f"Expecting {mark!r} delimiter")
        self._at += 1
        self._skip()

    def _skip(self) -> None:
        self._at = cast("re.Match[str]", _SPACE.match(self._text, self._at)).end()

    def _wrong(self, message: str) -> json.JSONDecodeError:
        return json.JSONDecodeError(message, self._text, self._at)


def write_deep(root: object, encode: Callable[[object], str]) -> str:
    """The JSON text of a value without spaces; `encode` gives those of scalars and keys.

    >>> write_deep({"a": [1, {}]}, json.dumps)
    '{"a":[1,{}]}'

    Raises:
        ValueError: a value contains itself, as `json` has it.
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
            todo.append((value, _parts(value, encode)))  # pyright: ignore[reportUnknownArgumentType]
    return "".join(written)


def _parts(value: object, encode: Callable[[object], str]) -> Iterator[tuple[str, object]]:
    """What a container holds, each after the text that stands before it."""
    comma = ""
    if isinstance(value, dict):
        for key, part in cast("dict[str, object]", value).items():
            yield f"{comma}{encode(key)}:", part
            comma = ","
    else:
        for part in cast("list[object]", value):
            yield comma, part
            comma = ","
