"""Case folding and character classes of regular expressions, as sets of code points."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import groupby, pairwise
from string import ascii_letters
from typing import TypeAlias, assert_never, final

from guideway.language.fuel import spend
from guideway.language.utf8 import (
    ALL,
    CodePoints,
    difference,
    every_character,
    every_letter,
    intersection,
    inverse,
    points,
    union,
)
from guideway.regex.tree import Class, Dot, Mode, Range, Shorthand


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


ClassItem: TypeAlias = int | Range | Shorthand

_BMP_END = 0xFFFF
_BMP: CodePoints = ((0, _BMP_END),)
_NEWLINE = points([0x0A])
_ECMA_NEWLINES = points([0x0A, 0x0D, 0x2028, 0x2029])
_ASCII = {
    "digit": points(b"0123456789"),
    "space": points(b" \t\n\r\v\f"),
    "word": points(b"_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"),
}
_PYTHON = {"digit": r"\d+", "word": r"\w+"}


def literal_points(char: str, mode: Mode) -> CodePoints:
    code = ord(char)
    if mode.ignore_case and mode.dialect == "python":
        return _characters_case(mode).literal(code)
    return _alike(((code, code),), mode)


def dot_points(dot: Dot) -> CodePoints:
    if dot.mode.dot_all:
        return ALL
    return inverse(_NEWLINE if dot.mode.dialect == "python" else _ECMA_NEWLINES)


def shorthand_points(shorthand: Shorthand) -> CodePoints:
    r"""Code points of \d, \w, \s, \p{…} or their complements."""
    mode = shorthand.mode
    if shorthand.name not in _ASCII:
        found = _property(shorthand.name)
    elif mode.dialect == "ecma":
        found = _ecma_space() if shorthand.name == "space" else _ASCII[shorthand.name]
    else:
        found = _ASCII[shorthand.name] if mode.ascii else _python(shorthand.name)
    if shorthand.name == "word":  # without case it has ſ and the Kelvin sign, too
        found = _alike(found, mode)
    return _alike(inverse(found) if shorthand.negated else found, mode)


def leaf_points(node: Class | Shorthand | Dot) -> CodePoints:
    match node:
        case Class():
            return class_points(node)
        case Shorthand():
            return shorthand_points(node)
        case Dot():
            return dot_points(node)
        case _:
            assert_never(node)


def word_points(mode: Mode) -> CodePoints:
    r"""Word characters, by which \b is defined."""
    return shorthand_points(Shorthand("word", False, mode, 0))


def class_points(node: Class) -> CodePoints:
    return _class_points(node.items, node.negated, node.mode)


@lru_cache(maxsize=512)
def _class_points(items: tuple[ClassItem, ...], negated: bool, mode: Mode) -> CodePoints:
    if mode.ignore_case and mode.dialect == "python":
        found = _folded(items, mode)
    else:
        found = _alike(union(*map(_plain, items)), mode)
    return inverse(found) if negated else found


def _alike(ranges: CodePoints, mode: Mode) -> CodePoints:
    return folded_alike(ranges) if mode.ignore_case and mode.dialect == "ecma" else ranges


def _plain(item: ClassItem) -> CodePoints:
    match item:
        case Range(low, high):
            return ((low, high),)
        case Shorthand():
            return shorthand_points(item)
        case int():
            return ((item, item),)
        case _:
            assert_never(item)


def _folded(items: tuple[ClassItem, ...], mode: Mode) -> CodePoints:
    case = _characters_case(mode)
    first, *others = dict.fromkeys(items)
    if isinstance(first, int) and not others:  # [x] is compared like x
        return case.literal(first)
    if not any(_has_case(item, case) for item in items):
        return union(*map(_plain, items))
    return case.lowering_to(union(*(_lowered(item, case) for item in items)))


def _has_case(item: ClassItem, case: Case) -> bool:
    """Return True if `re` compares a class with this item by lower case."""
    if isinstance(item, Shorthand):
        return False
    (part,) = _plain(item)
    return part[1] > _BMP_END or bool(intersection((part,), case.cased))


def _lowered(item: ClassItem, case: Case) -> CodePoints:
    if isinstance(item, Shorthand):
        return shorthand_points(item)
    (part,) = _plain(item)
    found = case.lowered(intersection((part,), _BMP))
    if part[1] <= _BMP_END:
        return found
    if isinstance(item, int):
        return (part,)
    raised = (code for code, upper in upper_case().items() if part[0] <= upper <= part[1])
    return union(found, (part,), points(raised))


def _characters_case(mode: Mode) -> Case:
    return ascii_case() if mode.ascii else unicode_case()


@cache
def _python(name: str) -> CodePoints:
    text = every_letter()
    if name == "space":  # `split` splits there; the index of a character is its code point
        words = text.split()
        return tuple((ord(word[-1]) + 1, ord(after[0]) - 1) for word, after in pairwise(words))
    found = re.compile(_PYTHON[name]).finditer
    within = _python("word") if name == "digit" else [(0, len(text))]
    matches = (match for low, high in within for match in found(text, low, high + 1))
    return tuple((match.start(), match.end() - 1) for match in matches)


@cache
def _ecma_space() -> CodePoints:
    """White space and line terminators, ECMA-262 §12.2 and §12.3."""
    spaces = (code for low, high in _python("space") for code in range(low, high + 1))
    separators = [code for code in spaces if unicodedata.category(chr(code)) == "Zs"]
    return union(points([0x09, 0x0B, 0x0C, 0xFEFF, *separators]), _ECMA_NEWLINES)


@cache
def _property(name: str) -> CodePoints:
    match name:
        case "Any":
            return ALL
        case "ASCII":
            return ((0, 0x7F),)
        case "Assigned":
            return inverse(_property("Cn"))
        case "LC":
            return union(*map(_property, ("Lu", "Ll", "Lt")))
        case _:
            return union(*(s for short, s in _categories().items() if short.startswith(name)))


@cache
def _categories() -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {}
    start = 0
    kinds: Iterable[str] = map(unicodedata.category, every_character())
    for kind, run in groupby(kinds):
        length = sum(1 for _ in run)
        found.setdefault(kind, []).append((start, start + length - 1))
        start += length
    return found
