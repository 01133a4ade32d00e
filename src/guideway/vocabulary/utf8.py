"""Bytes as characters, where both ends may lie inside of one."""

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Parts:
    """Bytes of a text.

    Attributes:
        head: the end of a character begun before.
        chars: whole characters.
        tail: the beginning of an incomplete character.
    """

    head: bytes
    chars: str
    tail: bytes


def span(begun: bytes) -> tuple[int, int]:
    r"""The first and the last character that begin with these bytes.

    >>> [hex(code) for code in span(b"\xe2\x82")]
    ['0x2080', '0x20bf']
    """
    length = 2 if begun[0] < 0xE0 else 3 if begun[0] < 0xF0 else 4
    value = begun[0] & (0x7F >> length)
    for byte in begun[1:]:
        value = value << 6 | byte & 0x3F
    missing = 6 * (length - len(begun))
    low = max(value << missing, (0x80, 0x800, 0x10000)[length - 2])
    return low, min((value + 1 << missing) - 1, 0x10FFFF)


def parts(data: bytes) -> Parts | None:
    r"""The characters in `data`, None if no text contains these bytes.

    >>> parts("é€".encode()[1:-1])
    Parts(head=b'\xa9', chars='', tail=b'\xe2\x82')
    >>> parts(b"a\xff") is None
    True
    """
    head = 0
    while head < len(data) and 0x80 <= data[head] < 0xC0:
        head += 1
    if head > 3:
        return None
    rest = data[head:]
    try:
        return Parts(data[:head], rest.decode(), b"")
    except UnicodeDecodeError as error:
        if error.reason != "unexpected end of data":
            return None
        return Parts(data[:head], rest[: error.start].decode(), rest[error.start :])
