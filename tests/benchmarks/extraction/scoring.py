"""Answers read leniently and compared with the key: the same for every engine.

Lenient: the answer is the longest JSON object anywhere in the text, whatever stands around it (code
fences, sentences), and if it is cut off, what there is of it. Fields are compared one leaf at a
time, lists by position:

    null        null, or a field that is not there
    numbers     by value, whether written as a number or as a text: 3.2 = "3.20"
    times       by the clock: seconds and an offset may be there or not, the texts name neither
    texts       without regard to case, to white space and to a full stop at the end

Validity is less so: the object must be whole, and one of the type as pydantic reads JSON.
"""

import datetime
import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

NUMBER: Final = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
TIME: Final = re.compile(r"(\d{4}-\d\d-\d\dT)?\d\d:\d\d(:\d\d)?.*")


def find_object(text: str) -> tuple[str, Any]:
    """The longest JSON object in a text, and its value; if it is cut off at the end, what there is.

    >>> find_object('Sure! ```json\\n{"a": {"b": 1}}\\n``` I hope {this} helps.')
    ('{"a": {"b": 1}}', {'a': {'b': 1}})
    >>> find_object('{"a": {"b": 1}, "c": "d')
    ('{"a": {"b": 1}, "c": "d', {'a': {'b': 1}, 'c': 'd'})
    """
    found: list[tuple[str, Any]] = [("", None)]
    at = text.find("{")
    while at >= 0:
        piece, value = _object_at(text, at)
        found.append((piece, value))
        at = text.find("{", at + max(1, len(piece)))
    return max(found, key=lambda pair: len(pair[0]))


def _object_at(text: str, at: int) -> tuple[str, Any]:
    """The object that begins at a place, ("", None) if there is none."""
    try:
        value, end = json.JSONDecoder().raw_decode(text, at)
        return text[at:end], value
    except ValueError:
        pass
    try:
        return text[at:], from_json(text[at:], allow_partial="trailing-strings")
    except ValueError:  # broken elsewhere than at its end
        return "", None


def is_valid(text: str, kind: type[BaseModel]) -> bool:
    """Whether the object in the text is one of the type."""
    try:
        kind.model_validate_json(find_object(text)[0])
    except ValidationError:
        return False
    return True


def agreement(text: str, expected: dict[str, Any]) -> tuple[int, int]:
    """How many leaves of the key the text agrees with, and how many there are.

    >>> agreement('{"a": "X.", "b": [1, 5]}', {"a": "x", "b": ["1.0", 2], "c": None})
    (3, 4)
    >>> agreement('{"a": "x", "b": [1, 2', {"a": "x", "b": [1, 2, 3]})
    (3, 4)
    """
    wanted = dict(_leaves(expected))
    _, found = find_object(text)
    if found is None:
        return 0, len(wanted)
    given = dict(_leaves(found))
    return sum(_same(given.get(path), leaf) for path, leaf in wanted.items()), len(wanted)


def _leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[Any, Any]]:
    """Every value that holds no others, an empty list or object included, with its path."""
    match value:
        case dict() if value:
            for name, part in value.items():
                yield from _leaves(part, (*path, name))
        case list() if value:
            for index, part in enumerate(value):
                yield from _leaves(part, (*path, index))
        case _:
            yield path, value


def _same(given: Any, wanted: Any) -> bool:
    if given is None or isinstance(wanted, bool) or isinstance(given, bool):
        return given is wanted
    return _plain(given) == _plain(wanted)


def _plain(leaf: Any) -> object:
    """What two leaves that mean the same have in common."""
    text = " ".join(str(leaf).casefold().split()).rstrip(" .")
    if NUMBER.fullmatch(text):
        return Decimal(text)
    if TIME.fullmatch(text.upper()):
        return _clock(text.upper()) or text
    return text


def _clock(text: str) -> object:
    for kind in (datetime.datetime, datetime.time):
        try:
            return kind.fromisoformat(text).replace(tzinfo=None)
        except ValueError:
            continue
    return None
