"""Characters of internationalised names (RFC 5892), computed from Python's Unicode tables."""

import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import chain

from guideway.lowering.unicode import CodePoints, points, union

_EXCEPTIONS = (0xDF, 0x3C2, 0x6FD, 0x6FE, 0xF0B, 0x3007)
_CONTEXT = (0xB7, 0x375, 0x5F3, 0x5F4, 0x30FB, *range(0x660, 0x66A), *range(0x6F0, 0x6FA))
_DISALLOWED = (0x640, 0x7FA, 0x302E, 0x302F, *range(0x3031, 0x3036), 0x303B)
_IGNORABLE = (
    *(0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x3164, 0xFFA0),
    *(*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)),
    *(*range(0x20D0, 0x2100), *range(0x1D100, 0x1D250)),  # the ignorable blocks
    *(*range(0x1100, 0x1200), *range(0xA960, 0xA97D), *range(0xD7B0, 0xD7FC)),  # old Hangul
)
_NEVER = frozenset((*_CONTEXT, *_DISALLOWED, *_IGNORABLE))
_CATEGORIES = frozenset(("Ll", "Lu", "Lo", "Nd", "Lm", "Mn", "Mc"))
# Ideographs and Hangul syllables of Unicode 13, all permitted; checking each took 0.4 s.
PLAIN: CodePoints = (
    *((0x3400, 0x4DBF), (0x4E00, 0x9FFC), (0xAC00, 0xD7A3), (0x20000, 0x2A6DD)),
    *((0x2A700, 0x2B734), (0x2B740, 0x2B81D), (0x2B820, 0x2CEA1), (0x2CEB0, 0x2EBE0)),
    (0x30000, 0x3134A),
)
_OTHERS = (range(0x80, 0x3400), range(0xA000, 0xAC00), range(0xF900, 0x20000))


@lru_cache(maxsize=1)
def permitted_code_points() -> tuple[CodePoints, CodePoints]:
    """Permitted code points beyond ASCII: those that may begin a label (no marks), and all."""
    found = letters()
    first = select(found, lambda char: not unicodedata.category(char).startswith("M"))
    return union(first, PLAIN), union(points(found), PLAIN)


@lru_cache(maxsize=1)
def letters() -> tuple[int, ...]:
    """Permitted code points beyond ASCII and outside PLAIN."""
    return tuple(code for code in chain(*_OTHERS) if _is_permitted(code))


def select(codes: Iterable[int], holds: Callable[[str], bool]) -> CodePoints:
    """The code points whose character satisfies `holds`."""
    return points([code for code in codes if holds(chr(code))])


def code_class(*sets: CodePoints) -> tuple[str, ...]:
    """Each set as ranges inside an ECMA character class."""
    return tuple(
        "".join(rf"\u{{{low:x}}}-\u{{{high:x}}}" for low, high in ranges) for ranges in sets
    )


def _is_permitted(code: int) -> bool:
    char = chr(code)
    if unicodedata.category(char) not in _CATEGORIES or code in _NEVER:
        return code in _EXCEPTIONS
    return code in _EXCEPTIONS or _is_stable(char)


def _is_stable(char: str) -> bool:
    folded = unicodedata.normalize("NFKC", char).casefold()
    return unicodedata.normalize("NFKC", folded) == char
