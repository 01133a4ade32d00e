"""The tree of a regular expression, and its flags."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, TypeVar

from guideway.errors import SourceError, UnsupportedError
from guideway.language.values import by_value
from guideway.sources.reading import Cursor
from guideway.sources.sources import DIALECTS, Dialect, check_option

AnchorKind: TypeAlias = Literal["text start", "line start", "text end", "line end", "last line end"]


@by_value
class Mode:
    """Dialect and flags at a place; `ascii`: shorthands and case are ASCII's."""

    dialect: Dialect = "python"
    ignore_case: bool = False
    multiline: bool = False
    dot_all: bool = False
    verbose: bool = False
    ascii: bool = False


@by_value
class Text:
    """Characters or code points, lone surrogates included, as written."""

    text: str
    mode: Mode
    place: int


@by_value
class Range:
    """Code points `low` to `high`, both included."""

    low: int
    high: int


@by_value
class Shorthand:
    r"""A named set: "digit", "space", "word"; for \p{…} a category ("Lu"), Any, ASCII, Assigned."""

    name: str
    negated: bool
    mode: Mode
    place: int


@by_value
class Class:
    items: tuple[int | Range | Shorthand, ...]
    negated: bool
    mode: Mode
    place: int


@by_value
class Dot:
    mode: Mode
    place: int


@by_value
class Anchor:
    """A position; "last line end" is the end, or before a newline there."""

    kind: AnchorKind
    place: int


@by_value
class Boundary:
    """A boundary of a word, or any other position if negated."""

    negated: bool
    mode: Mode
    place: int


@by_value
class Back:
    number: int
    mode: Mode
    place: int


@by_value
class Look:
    """A lookahead (`ahead`) or lookbehind."""

    item: "Node"
    ahead: bool
    negated: bool
    place: int


@by_value
class Group:
    """Parentheses; `number` counts capturing groups from 1, and is 0 for others."""

    item: "Node"
    number: int
    name: str
    place: int


@by_value
class Repeat:
    item: "Node"
    low: int
    high: int | None
    lazy: bool
    place: int


@by_value
class Sequence:
    items: "tuple[Node, ...]"
    place: int


@by_value
class Alternation:
    options: "tuple[Node, ...]"
    place: int


Leaf: TypeAlias = Text | Class | Shorthand | Dot | Anchor | Boundary | Back
Node: TypeAlias = Leaf | Look | Group | Repeat | Sequence | Alternation


@by_value
class Pattern:
    """Text and tree of a pattern; hashes by text."""

    text: str
    body: Node = field(hash=False)

    def has(self, *kinds: type[Node]) -> bool:
        """Return True if the pattern has a node of these kinds."""
        return any(isinstance(node, kinds) for node in nodes_of(self.body))


Value = TypeVar("Value")


def children(node: Node) -> tuple[Node, ...]:
    match node:
        case Sequence(items):
            return items
        case Alternation(options):
            return options
        case Group(item) | Repeat(item) | Look(item):
            return (item,)
        case _:
            return ()


def nodes_of(root: Node, stop: frozenset[int] = frozenset()) -> list[Node]:
    """All nodes in preorder, without the subtrees with the ids `stop`."""
    found, todo = list[Node](), [root]
    while todo:
        node = todo.pop()
        if id(node) not in stop:
            found.append(node)
            todo += reversed(children(node))
    return found


def folded(
    root: Node,
    value: Callable[[Node, list[Value]], Value],
    below: Callable[[Node], tuple[Node, ...]] = children,
) -> Value:
    """The value of a tree from the values of the nodes below each; not recursive."""
    nodes, found = [root], dict[int, Value]()
    for node in nodes:  # grows
        nodes += below(node)
    for node in reversed(nodes):
        found[id(node)] = value(node, [found[id(each)] for each in below(node)])
    return found[id(root)]


def refers_by_number(pattern: Pattern) -> bool:
    r"""Return True for a back reference by number, such as \1."""
    return any(
        isinstance(node, Back) and pattern.text[node.place] == "\\"
        for node in nodes_of(pattern.body)
    )


_LETTERS = re.compile("[A-Za-z]*")
_FLAGS: dict[Dialect, str] = {"python": "aimsux", "ecma": "isu"}
_NAMED: dict[Dialect, str] = {
    "python": "Python are a, i, m, s, u, x",
    "ecma": "JSON Schema's patterns are i, s, u",
}
_SWITCHES = {"i": "ignore_case", "m": "multiline", "s": "dot_all", "x": "verbose"}
EXCLUSIVE = "flags a and u exclude each other"
_LINES = (
    "flag m has different lines in different engines: write (?m) at the start for Python's lines"
)
_LOCALE = "flag L is not supported: it depends on the locale, and Python allows it for bytes only"


@dataclass(frozen=True, slots=True)
class Change:
    """Effect of flags inside a pattern.

    Attributes:
        mode: the mode from there on.
        scoped: they apply to one group, (?i:…), not to the whole pattern, (?i).
        letters: the flags that are turned on.
    """

    mode: Mode
    scoped: bool
    letters: str


def start_mode(dialect: Dialect, flags: str) -> Mode:
    """The mode at the beginning of a pattern; unknown dialects and flags are refused."""
    check_option("dialect", dialect, DIALECTS)
    mode = Mode(dialect)
    for flag in flags:
        if flag == "L" or (dialect == "ecma" and flag in "mvygd"):
            other = f"flag {flag} is not supported for JSON Schema's patterns"
            why = {"L": _LOCALE, "m": _LINES}.get(flag, other)
            raise UnsupportedError(why, feature=f"flag {flag}")
        if flag not in _FLAGS[dialect]:
            raise SourceError(f"{flag!r} is not a flag; the flags of {_NAMED[dialect]}")
        mode = _switch(mode, flag, on=True)
    if "a" in flags and "u" in flags:
        raise SourceError(EXCLUSIVE)
    return mode


def read_flags(cursor: Cursor, mode: Mode, at: int) -> Change:
    """Read the flags after `(?`, up to their colon or parenthesis."""
    on = cursor.run(_LETTERS)
    turns_off = cursor.match("-")
    off = cursor.run(_LETTERS) if turns_off else ""
    end = cursor.take()
    _check(cursor, mode, on + off, at)
    _check_both(cursor, on, off, at)
    behind = end == ")" and mode.dialect == "python"  # there Python turns nothing off
    if end not in (":", ")") or (turns_off and (not off or behind)) or not (on or off):
        raise cursor.error(
            "unknown extension after (?; known are (?i), (?i-s:…), (?:…), (?P<name>…)", at
        )
    for flag in on + off:
        mode = _switch(mode, flag, on=flag in on)
    return Change(mode, end == ":", on)


def _check(cursor: Cursor, mode: Mode, letters: str, at: int) -> None:
    ecma = mode.dialect == "ecma"
    if "L" in letters:
        raise cursor.unsupported(_LOCALE, "flag L", at)
    if ecma and "m" in letters:
        raise cursor.unsupported(_LINES, "flag m", at)
    allowed = "is" if ecma else _FLAGS["python"]
    unknown = [flag for flag in letters if flag not in allowed]
    if unknown:
        listed = "i, s" if ecma else "a, i, m, s, u, x"
        raise cursor.error(f"(?{unknown[0]} is not a flag or extension; the flags are {listed}", at)


def _check_both(cursor: Cursor, on: str, off: str, at: int) -> None:
    if "a" in on and "u" in on:
        raise cursor.error(EXCLUSIVE, at)
    if "a" in off or "u" in off:
        raise cursor.error("flags a and u cannot be turned off; turn the other one on", at)
    both = [flag for flag in off if flag in on]
    if both:
        raise cursor.error(f"flag {both[0]} is turned both on and off", at)


def _switch(mode: Mode, flag: str, on: bool) -> Mode:
    if flag in "au":
        return replace(mode, ascii=flag == "a")
    return replace(mode, **{_SWITCHES[flag]: on})
