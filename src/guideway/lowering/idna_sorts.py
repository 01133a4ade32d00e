"""Classes of characters that follow the same rules in an internationalised label."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import final

from guideway.lowering.idna import PLAIN, letters
from guideway.lowering.unicode import CodePoints, points

_CONTEXTS = {
    0xB7: "middle dot",
    0x375: "keraia",
    0x5F3: "geresh",
    0x5F4: "geresh",
    0x30FB: "katakana dot",
    0x200D: "joiner",
    0x200C: "non-joiner",
    0x2D: "hyphen",
    ord("l"): "l",
    **dict.fromkeys(range(0x660, 0x66A), "arabic"),
    **dict.fromkeys(range(0x6F0, 0x6FA), "extended"),
}
_SCRIPTS = {"GREEK": "greek", "HEBREW": "hebrew", "HIRAGANA": "kana", "KATAKANA": "kana"}
# Letters of the Arabic block (ArabicShaping.txt): joining on both sides, and right-joining.
_DUAL = (
    *((0x620, 0x620), (0x626, 0x626), (0x628, 0x628), (0x62A, 0x62E), (0x633, 0x63F)),
    *((0x641, 0x647), (0x649, 0x64A), (0x66E, 0x66F), (0x678, 0x687), (0x69A, 0x6BF)),
    *((0x6C1, 0x6C2), (0x6CC, 0x6CC), (0x6CE, 0x6CE), (0x6D0, 0x6D1), (0x6FA, 0x6FC)),
    (0x6FF, 0x6FF),
)
_RIGHT = (
    *((0x622, 0x625), (0x627, 0x627), (0x629, 0x629), (0x62F, 0x632), (0x648, 0x648)),
    *((0x671, 0x673), (0x675, 0x677), (0x688, 0x699), (0x6C0, 0x6C0), (0x6C3, 0x6CB)),
    *((0x6CD, 0x6CD), (0x6CF, 0x6CF), (0x6D2, 0x6D3), (0x6D5, 0x6D5)),
)
_WAYS = {"R": "R", "AL": "R", "L": "L", "EN": "EN", "AN": "AN", "NSM": "NSM"}


@final
@dataclass(frozen=True, slots=True)
class Sort:
    """Properties of a character that the rules of labels use.

    kind: script or name if a context rule needs it, else "other"; way: Bidi class, with R for R and
    AL, N for no direction; mark: must not come first; combines: combining class is not 0.
    """

    kind: str
    way: str
    mark: bool = False
    combines: bool = False


@lru_cache(maxsize=1)
def sorts() -> dict[Sort, CodePoints]:
    left_out = _seconds()
    ascii_codes = b"abcdefghijklmnopqrstuvwxyz0123456789"
    found: dict[Sort, list[int]] = {}
    for code in chain(ascii_codes, _CONTEXTS, letters()):
        if code not in left_out:
            found.setdefault(_sort(code), []).append(code)
    grouped = {sort: set(codes) for sort, codes in found.items()}
    made = {sort: points(codes) for sort, codes in grouped.items()}
    for block in PLAIN:  # without marks, from left to right
        sort = Sort("other" if block[0] == _HANGUL else "kana", "L")
        made[sort] = (*made.get(sort, ()), block)
    return {sort: tuple(sorted(ranges)) for sort, ranges in made.items()}


_HANGUL = 0xAC00


def _sort(code: int) -> Sort:
    char = chr(code)
    mark = unicodedata.category(char).startswith("M")
    combines = unicodedata.combining(char) != 0
    return Sort(_kind(code), _WAYS.get(unicodedata.bidirectional(char), "N"), mark, combines)


def _kind(code: int) -> str:
    if code in _CONTEXTS:
        return _CONTEXTS[code]
    if unicodedata.combining(chr(code)) == 9:
        return "virama"
    if _within(code, _DUAL):
        return "dual"
    if _within(code, _RIGHT):
        return "right"
    return _SCRIPTS.get(unicodedata.name(chr(code), "").partition(" ")[0], "other")


def _within(code: int, ranges: Iterable[tuple[int, int]]) -> bool:
    return any(low <= code <= high for low, high in ranges)


def _seconds() -> frozenset[int]:
    found: set[int] = set()
    for code in chain(range(0xC0, 0x3100), range(0x11000, 0x11A00)):
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            found.add(int(parts[1], 16))
    return frozenset(found)
