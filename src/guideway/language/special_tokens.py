"""Special tokens as bytes that UTF-8 never has: 0xFF, octal digits (0xF5 to 0xFC), 0xFD."""

import re
from typing import Final

from guideway.language.expr import literal
from guideway.language.nodes import Expr

FIRST_MARK: Final = 0xF5
"""Bytes from here on are in no text."""

_BEGIN, _DIGIT, _END = 0xFF, FIRST_MARK, 0xFD
_MARK: Final = re.compile(rb"\xff([\xf5-\xfc]*)\xfd")

MARKS: Final = sum(1 << byte for byte in range(FIRST_MARK, 0x100))
"""The bytes that are in no text, as a 256-bit mask."""


def mark(name: str) -> bytes:
    """Bytes of the special token of this name."""
    digits = (_DIGIT + (byte >> shift & 7) for byte in name.encode() for shift in (6, 3, 0))
    return bytes((_BEGIN, *digits, _END))


def special(name: str) -> Expr:
    return literal(mark(name))


def shown(data: bytes) -> bytes:
    """Replace marks by the names of their tokens."""
    return _MARK.sub(_name, data)


def beginning(data: bytes, length: int) -> bytes:
    """The longest prefix that shows at most `length` bytes and cuts no mark."""
    end = 0
    for found in _MARK.finditer(data):
        shows = found.start() - end + len(_name(found))
        if shows > length:
            return data[: min(end + length, found.start())]
        length -= shows
        end = found.end()
    return data[: end + length]


def unmarked(data: bytes) -> bytes:
    """Bytes before the first mark."""
    return data.partition(b"\xff")[0]


def split_marks(data: bytes) -> list[tuple[bytes, bool]]:
    """Split a text at its marks; True for marks."""
    found: list[tuple[bytes, bool]] = []
    end = 0
    for each in _MARK.finditer(data):
        found += [(data[end : each.start()], False), (each[0], True)]
        end = each.end()
    return [part for part in [*found, (data[end:], False)] if part[0]]


def _name(found: re.Match[bytes]) -> bytes:
    digits = [byte - _DIGIT for byte in found[1]]
    threes = zip(digits[::3], digits[1::3], digits[2::3], strict=True)
    return bytes(a << 6 | b << 3 | c for a, b, c in threes)
