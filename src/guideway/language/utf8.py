"""Sets of code points, and their characters as UTF-8 bytes."""

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import TypeAlias

import numpy

from guideway.language.expr import alt, byte_set, concat, repeat
from guideway.language.nodes import Expr

CodePoints: TypeAlias = tuple[tuple[int, int], ...]

LAST = 0x10FFFF
ALL: CodePoints = ((0, LAST),)
_PLANES = 0x3FFFF  # the planes beyond have only tags, variations and private use, as tests check
SCALARS: CodePoints = ((0, 0xD7FF), (0xE000, LAST))

# (first byte, code point of its first character, number of bytes after it)
_LENGTHS = ((0x00, 0, 0), (0xC0, 0, 1), (0xE0, 0, 2), (0xF0, 0, 3))
_LENGTH_RANGES = ((0, 0x7F), (0x80, 0x7FF), (0x800, 0xFFFF), (0x10000, LAST))


def union(*sets: Iterable[tuple[int, int]]) -> CodePoints:
    """The union of sets, whose ranges may overlap and come in any order."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(part for ranges in sets for part in ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def points(characters: Iterable[int]) -> CodePoints:
    return union([(code, code) for code in characters])


def inverse(ranges: CodePoints) -> CodePoints:
    starts = [0, *(high + 1 for _, high in ranges)]
    ends = [*(low - 1 for low, _ in ranges), LAST]
    return tuple((low, high) for low, high in zip(starts, ends, strict=True) if low <= high)


def intersection(left: CodePoints, right: CodePoints) -> CodePoints:
    found: list[tuple[int, int]] = []
    here = there = 0
    while here < len(left) and there < len(right):
        (low, high), (least, most) = left[here], right[there]
        if low <= most and least <= high:
            found.append((max(low, least), min(high, most)))
        if high < most:
            here += 1
        else:
            there += 1
    return tuple(found)


def difference(left: CodePoints, right: CodePoints) -> CodePoints:
    return intersection(left, inverse(right))


def every_character(last: int = LAST) -> str:
    """All code points in order, surrogates included: 5 ms and 4 MiB each time."""
    return numpy.arange(last + 1, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")


@cache
def every_letter() -> str:
    """`every_character` up to the last plane with letters, digits and spaces: a quarter."""
    return every_character(_PLANES)


@lru_cache(maxsize=1024)
def character(ranges: CodePoints) -> Expr:
    """One character of the set, as UTF-8."""
    scalars = intersection(ranges, SCALARS)
    return alt(
        *(
            _spell(intersection(scalars, (span,)), *length)
            for length, span in zip(_LENGTHS, _LENGTH_RANGES, strict=True)
        )
    )


def _spell(ranges: Iterable[tuple[int, int]], first: int, base: int, following: int) -> Expr:
    """UTF-8 of code points from `base`: one byte from `first` on, then `following` more."""
    if following == 0:
        bits = (((2 << (high - low)) - 1) << (first + low - base) for low, high in ranges)
        return byte_set(sum(bits))
    shift = 6 * following
    cut = dict[int, list[tuple[int, int]]]()  # partial blocks
    whole = 0
    for low, high in ranges:
        begin, end = (low - base) >> shift, (high + 1 - base) >> shift  # whole blocks, if any
        start, stop = base + (begin << shift), base + (end << shift)
        if low > start:
            cut.setdefault(begin, []).append((low, min(high, start + (1 << shift) - 1)))
            begin += 1
        if high >= stop and end >= begin:
            cut.setdefault(end, []).append((stop, high))
        whole |= ((1 << max(end - begin, 0)) - 1) << (first + begin)
    leads = {_continuation_bytes(following): whole} if whole else dict[Expr, int]()
    for index, inside in cut.items():
        rest = _spell(inside, 0x80, base + (index << shift), following - 1)
        leads[rest] = leads.get(rest, 0) | 1 << (first + index)
    return alt(*(concat(byte_set(members), rest) for rest, members in leads.items()))


@lru_cache(maxsize=4)
def _continuation_bytes(following: int) -> Expr:
    return concat(*[byte_set(range(0x80, 0xC0))] * following)


TEXT_CHAR: Expr = character(SCALARS)
TEXT: Expr = repeat(TEXT_CHAR)
