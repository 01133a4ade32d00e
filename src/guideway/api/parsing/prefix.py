r"""The certain part of an incomplete JSON text.

    {"name": "Ada", "tags": ["a", "b

is an open object with a closed "name" and an open list of a closed and an open string. Values close
with their last character, numbers with the one after it; incomplete keys, numbers and words are no
values. In text that begins no JSON, only the part before the error counts.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias, final

_DECODER = json.JSONDecoder()
_BLANK = re.compile(r"[ \t\n\r]*")
_BEGUN = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*')
_WORD = re.compile(r"[-+.0-9A-Za-z]+")
_CONSTANTS = ("true", "false", "null")
_BROKEN = -1  # the end of an open value, or of text that is no JSON


@final
@dataclass(frozen=True, slots=True)
class Closed:
    """A whole value, as it is written."""

    text: str


@final
@dataclass(frozen=True, slots=True)
class OpenString:
    """The characters of a string so far."""

    text: str


@final
@dataclass(frozen=True, slots=True)
class OpenList:
    """The items of a list so far; the last of them may be open."""

    items: "tuple[Node, ...]"


@final
@dataclass(frozen=True, slots=True)
class OpenObject:
    """The members of an object so far; the last of them may be open."""

    members: "dict[str, Node]"


Node: TypeAlias = Closed | OpenString | OpenList | OpenObject


def read_prefix(text: str) -> Node | None:
    """The certain part of `text`, or None.

    >>> read_prefix('[1, 2')
    OpenList(items=(Closed(text='1'),))
    """
    return _value(text, _skip(text, 0))[0]


def _skip(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at


def _value(text: str, at: int) -> tuple[Node | None, int]:
    """The certain part of the value at `at`, and its end if it is closed."""
    word = _WORD.match(text, at)
    if word is not None:
        sure = word.end() < len(text) or word[0] in _CONSTANTS
        return (Closed(word[0]), word.end()) if sure else (None, _BROKEN)
    try:
        end = _DECODER.raw_decode(text, at)[1]
        return Closed(text[at:end]), end
    except ValueError:
        pass
    match text[at : at + 1]:
        case '"':
            return OpenString(_begun(text, at)), _BROKEN
        case "[":
            return OpenList(tuple(node for _, node in _parts(text, at + 1))), _BROKEN
        case "{":
            return OpenObject(dict(_parts(text, at + 1, named=True))), _BROKEN
        case _:
            return None, _BROKEN


def _begun(text: str, at: int) -> str:
    """The characters of the string that begins at `at`."""
    begun = _BEGUN.match(text, at)
    characters: str = json.loads(f'{begun[0] if begun else chr(34)}"')
    half = characters and "\ud800" <= characters[-1] <= "\udbff"  # the rest of a pair is to come
    return characters[:-1] if half else characters


def _parts(text: str, at: int, *, named: bool = False) -> Iterator[tuple[str, Node]]:
    """The items of an open list, or the members of an open object, with their keys."""
    at, key = _skip(text, at), ""
    while at < len(text):
        if named:
            try:
                key, at = _DECODER.raw_decode(text, at)
            except ValueError:
                return
            at = _skip(text, at)
            if text[at : at + 1] != ":":
                return
            at = _skip(text, at + 1)
        node, at = _value(text, at)
        if node is not None:
            yield key, node
        if at == _BROKEN:
            return
        at = _skip(text, at)
        if text[at : at + 1] != ",":
            return
        at = _skip(text, at + 1)


def plain(node: Node) -> Any:
    """The Python data of a node.

    >>> plain(read_prefix('{"a": [1, tr'))
    {'a': [1]}
    """
    match node:
        case Closed(text):
            return json.loads(text)
        case OpenString(text):
            return text
        case OpenList(items):
            return [plain(item) for item in items]
        case OpenObject(members):
            return {key: plain(member) for key, member in members.items()}
