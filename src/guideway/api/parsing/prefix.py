r"""The certain part of an incomplete JSON text.

    {"name": "Ada", "tags": ["a", "b

is an open object with a closed "name" and an open list of a closed and an open string. Values close
with their last character, numbers with the one after it; incomplete keys, numbers and words are no
values. In text that begins no JSON, only the part before the error counts.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any, TypeAlias, final

_BLANK = re.compile(r"[ \t\n\r]*")
_UNITS = r'(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*'
_STRING = re.compile(f'"{_UNITS}"')
_STRING_START = re.compile(f'"{_UNITS}')
_WORD = re.compile(r"[-+.0-9A-Za-z]+")
_CONSTANTS = ("true", "false", "null")


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


@final
@dataclass(slots=True)
class _Frame:
    """A bracket that is open."""

    start: int
    end: str
    items: list[Node] = field(default_factory=list["Node"])
    keys: list[str] = field(default_factory=list[str])

    def takes(self) -> str:
        """What may come next: "key" or "value"."""
        return "key" if self.end == "}" and len(self.keys) == len(self.items) else "value"

    def node(self) -> Node:
        """The open list or object."""
        if self.end == "]":
            return OpenList(tuple(self.items))
        return OpenObject(dict(zip(self.keys, self.items, strict=False)))


def read_prefix(text: str) -> Node | None:
    """The certain part of `text`, or None.

    >>> read_prefix('[1, 2')
    OpenList(items=(Closed(text='1'),))
    """
    frames: list[_Frame] = []
    found: Node | None = None
    at = _skip(text, 0)
    while at < len(text) and found is None:
        character = text[at]
        top = frames[-1] if frames else None
        if character in "{[":
            if top and top.takes() == "key":
                break
            frames.append(_Frame(at, "}" if character == "{" else "]"))
            at += 1
        elif character in "}]":
            if top is None or top.end != character:
                break
            frames.pop()
            at += 1
            found = _close(frames, Closed(text[top.start : at]))
        elif character in ",:":
            at += 1
        else:
            end = _read_leaf(text, at, top)
            if end is None:
                break
            leaf, at = end
            found = _close(frames, leaf) if leaf else None
            if isinstance(leaf, OpenString):
                break
        at = _skip(text, at)
    return found or _fold(frames)


def _skip(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at


def _read_leaf(text: str, at: int, top: _Frame | None) -> tuple[Node | None, int] | None:
    """The string, number or word at `at` and its end; None for the node of a key."""
    if text[at] != '"':
        word = _WORD.match(text, at)
        if word is None or (top and top.takes() == "key"):
            return None
        sure = word.end() < len(text) or word[0] in _CONSTANTS
        return (Closed(word[0]), word.end()) if sure else None
    whole = _STRING.match(text, at)
    if top and top.takes() == "key":
        if whole is None:
            return None
        top.keys.append(json.loads(whole[0]))
        return None, whole.end()
    if whole is not None:
        return Closed(whole[0]), whole.end()
    begun = _STRING_START.match(text, at)
    characters: str = json.loads(f'{begun[0] if begun else chr(34)}"')
    if characters and "\ud800" <= characters[-1] <= "\udbff":  # half a pair: the rest is to come
        characters = characters[:-1]
    return OpenString(characters), len(text)


def _close(frames: list[_Frame], node: Node) -> Node | None:
    """Put `node` where it belongs; the node itself if that is the top."""
    if not frames:
        return node
    frames[-1].items.append(node)
    return None


def _fold(frames: list[_Frame]) -> Node | None:
    node: Node | None = None
    for frame in reversed(frames):
        if node is not None:
            frame.items.append(node)
        node = frame.node()
    return node


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
