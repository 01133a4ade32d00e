r"""Bracketed classes of characters, [a-z_], [^"\d], in the two dialects.

python: `]` right after the opening is a character; a hyphen beside a shorthand is an error. ecma:
`[]` is no character and `[^]` any; a hyphen beside a shorthand is a hyphen (Annex B); `[[:alpha:]]`
is POSIX's class of ASCII, as in RE2. Neither has set operations ([a-z--b]).
"""

import re

from guideway.syntax.regex_escapes import read_class_escape
from guideway.syntax.regex_tree import Class, Mode, Range, Shorthand
from guideway.syntax.source import Cursor

_HYPHEN = ord("-")
_NAMED = re.compile(r"\[:(\^?)(\w+):\]")
POSIX = {
    "alnum": "09AZaz", "alpha": "AZaz", "ascii": "\0\x7f", "blank": "\t\t  ",
    "cntrl": "\0\x1f\x7f\x7f", "digit": "09", "graph": "!~", "lower": "az",
    "print": " ~", "punct": "!/:@[`{~",
    "space": "\t\r  ", "upper": "AZ", "word": "09AZ__az", "xdigit": "09AFaf",
}  # fmt: skip


def read_class(cursor: Cursor, mode: Mode) -> Class:
    """Read the class whose opening bracket was just read."""
    at = cursor.position - 1
    negated = cursor.match("^")
    items: list[int | Range | Shorthand] = []
    while True:
        if cursor.peek() == "]" and (items or mode.dialect == "ecma"):
            cursor.position += 1
            return Class(tuple(items), negated, mode, at)
        items += _read_items(cursor, mode, at)


def _read_items(cursor: Cursor, mode: Mode, opened: int) -> list[int | Range | Shorthand]:
    """Read a member, both ends of a range, or what only looks like a range."""
    at = cursor.position
    named = cursor.scan(_NAMED) if mode.dialect == "ecma" else None
    if named is not None and named[2] in POSIX:
        return _posix(cursor, named[1], named[2], at)
    cursor.position = at
    low = _read_member(cursor, mode, opened)
    if not cursor.match("-"):
        return [low]
    if cursor.peek() == "]":
        return [low, _HYPHEN]
    high = _read_member(cursor, mode, opened)
    written = cursor.text[at : cursor.position]
    if isinstance(low, Shorthand) or isinstance(high, Shorthand):
        if mode.dialect == "ecma":
            return [low, _HYPHEN, high]
        raise cursor.error(f"{written} is not a range: \\d, \\w and \\s are sets", at)
    if high < low:
        raise cursor.error(f"{written} is not a range: it ends before it begins", at)
    return [Range(low, high)]


def _posix(cursor: Cursor, negated: str, name: str, at: int) -> list[int | Range | Shorthand]:
    """Ranges of a POSIX class."""
    if negated:
        raise cursor.unsupported(
            f"[:^{name}:] within a class is not supported; write [^[:{name}:]]", "[:^…:]", at
        )
    ends = map(ord, POSIX[name])
    return [Range(low, next(ends)) for low in ends]


def _read_member(cursor: Cursor, mode: Mode, opened: int) -> int | Shorthand:
    character = cursor.take()
    if not character:
        raise cursor.error("this class is not closed: ] is missing", opened)
    return read_class_escape(cursor, mode) if character == "\\" else ord(character)
