"""Characters that are equal when Python or ECMA-262 ignores case.

Tables come from `str.lower` and `str.upper`, which `re` uses too. ECMA-262 compares by simple case
folding.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from string import ascii_letters
from typing import final

from guideway.lowering.fuel import spend
from guideway.lowering.unicode import (
    CodePoints,
    difference,
    every_letter,
    intersection,
    inverse,
    points,
    union,
)


@final
@dataclass(frozen=True, slots=True)
class Case:
    """Case mappings of code points.

    lower: lower case, if different; alike: other lower-case letters with the same upper case;
    above: other characters with this lower case; cased: characters with a lower or an upper case;
    small: characters that are their own lower case.
    """

    lower: Mapping[int, int]
    alike: Mapping[int, tuple[int, ...]]
    above: Mapping[int, tuple[int, ...]]
    cased: CodePoints
    small: CodePoints

    def literal(self, code: int) -> CodePoints:
        """Characters that match `code`."""
        found = [code, *self.images([code])]
        return points(found + [above for low in found for above in self.above.get(low, ())])

    def images(self, codes: Iterable[int]) -> Iterator[int]:
        """Lower case of each character, and the letters alike."""
        for code in codes:
            low = self.lower.get(code, code)
            yield low
            yield from self.alike.get(low, ())

    def lowered(self, ranges: CodePoints) -> CodePoints:
        """The images of all characters of a set."""
        moving = list(members(intersection(ranges, self.cased)))
        spend(4 * len(moving))
        return union(difference(ranges, self.cased), points(self.images(moving)))

    def lowering_to(self, ranges: CodePoints) -> CodePoints:
        """The characters whose lower case is in the set."""
        cased = list(members(intersection(ranges, self.cased)))
        spend(4 * len(cased))
        above = points(code for low in cased for code in self.above.get(low, ()))
        return union(intersection(ranges, self.small), above)


@cache
def ascii_case() -> Case:
    """Case under flag a: ASCII letters only."""
    lower = {ord(c): ord(c.lower()) for c in ascii_letters if c != c.lower()}
    return _case(lower, points(map(ord, ascii_letters)), {})


@cache
def unicode_case() -> Case:
    """Case of all characters; takes 20 ms once."""
    lower: dict[int, int] = {}
    families: dict[str, set[int]] = {}
    for char in _cased_characters():
        # The simple mapping is the first character of the full one: İ lowers to i and a dot above.
        low = ord(char.lower()[0])
        lower |= {ord(char): low} if low != ord(char) else {}
        families.setdefault(char.upper(), set()).add(low)
    alike = {
        low: tuple(sorted(family - {low}))
        for family in families.values()
        if len(family) > 1
        for low in family
    }
    return _case(lower, points(map(ord, _cased_characters())), alike)


def folded_alike(ranges: CodePoints) -> CodePoints:
    """The characters of a set, and those that differ only in case from one of them (ECMA-262)."""
    families, within = _families()
    moving = list(members(intersection(ranges, within)))
    spend(4 * len(moving))
    return union(ranges, points(other for code in moving for other in families[code]))


@cache
def _families() -> tuple[Mapping[int, tuple[int, ...]], CodePoints]:
    found: dict[str, list[int]] = {}
    for char in _cased_characters():
        found.setdefault(_fold(char), []).append(ord(char))
    families = {
        code: tuple(family) for family in found.values() if len(family) > 1 for code in family
    }
    return families, points(families)


def _fold(char: str) -> str:
    """Simple case folding: the full folding if it is one character, else lower case."""
    folded, low = char.casefold(), char.lower()
    return folded if len(folded) == 1 else low if len(low) == 1 else char


@cache
def upper_case() -> Mapping[int, int]:
    """Simple upper case, if different."""
    upper = ((ord(char), ord(char.upper()[0])) for char in _cased_characters())
    return {code: high for code, high in upper if code != high}


def members(ranges: CodePoints) -> Iterator[int]:
    return (code for low, high in ranges for code in range(low, high + 1))


def _case(
    lower: Mapping[int, int], cased: CodePoints, alike: Mapping[int, tuple[int, ...]]
) -> Case:
    above: dict[int, tuple[int, ...]] = {}
    for code, low in lower.items():
        above[low] = (*above.get(low, ()), code)
    return Case(lower, alike, above, cased, inverse(points(lower)))


@cache
def _cased_characters() -> str:
    everything = every_letter()
    blocks = (everything[start : start + 256] for start in range(0, len(everything), 256))
    cased = (block for block in blocks if block.lower() != block or block.upper() != block)
    return "".join(c for block in cased for c in block if c.lower() != c or c.upper() != c)
