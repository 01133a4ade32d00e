"""Case folding and character classes of regular expressions, as sets of code points."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import groupby, pairwise
from typing import Final, TypeAlias, assert_never

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


_SINCE_UNICODE_15_1: Final = {"\u1fd3": "\u0390", "\u1fe3": "\u03b0", "\ufb06": "\ufb05"}


def _fold(char: str) -> str:
    """Simple case folding: the full folding if it is one character, else lower case."""
    char = _SINCE_UNICODE_15_1.get(char, char)
    folded, low = char.casefold(), char.lower()
    return folded if len(folded) == 1 else low if len(low) == 1 else char


def members(ranges: CodePoints) -> Iterator[int]:
    return (code for low, high in ranges for code in range(low, high + 1))


@cache
def _cased_characters() -> str:
    everything = every_letter()
    blocks = (everything[start : start + 256] for start in range(0, len(everything), 256))
    cased = (block for block in blocks if block.lower() != block or block.upper() != block)
    return "".join(c for block in cased for c in block if c.lower() != c or c.upper() != c)


@cache
def _cased() -> CodePoints:
    return points(map(ord, _cased_characters()))


ClassItem: TypeAlias = int | Range | Shorthand

_NEWLINE = points([0x0A])
_ECMA_NEWLINES = points([0x0A, 0x0D, 0x2028, 0x2029])
_ASCII = {
    "digit": points(b"0123456789"),
    "space": points(b" \t\n\r\v\f"),
    "word": points(b"_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"),
}
_PYTHON = {"digit": r"\d+", "word": r"\w+"}
_LETTER = {"digit": "d", "space": "s", "word": "w"}
_SCANNED = 600  # fuel for looking at all cased characters: 3 ms


def literal_points(char: str, mode: Mode) -> CodePoints:
    code = ord(char)
    return _class_points((code,), False, mode) if mode.ignore_case else ((code, code),)


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
        found = _case_variants(found, mode)
    return _case_variants(inverse(found) if shorthand.negated else found, mode)


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
        found = _caseless(items, mode)
    else:
        found = _case_variants(union(*map(_plain, items)), mode)
    return inverse(found) if negated else found


def _case_variants(ranges: CodePoints, mode: Mode) -> CodePoints:
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


def _caseless(items: tuple[ClassItem, ...], mode: Mode) -> CodePoints:
    """The characters that `re` matches under flag i: it is asked about those that have a case.

    Properties, which `re` does not know, stay as they are.
    """
    spend(_SCANNED)
    flags = re.IGNORECASE | re.ASCII if mode.ascii else re.IGNORECASE
    known = [item for item in items if not isinstance(item, Shorthand) or item.name in _LETTER]
    pattern = f"[{''.join(map(_written, known))}]" if known else "(?!)"
    found = points(map(ord, re.findall(pattern, _cased_characters(), flags)))
    others = (
        shorthand_points(item)
        for item in items
        if isinstance(item, Shorthand) and item.name not in _LETTER
    )
    return union(difference(union(*map(_plain, known)), _cased()), found, *others)


def _written(item: ClassItem) -> str:
    """An item of a class as `re` reads it."""
    match item:
        case Range(low, high):
            return f"{_written(low)}-{_written(high)}"
        case Shorthand(name, negated):
            return "\\" + (_LETTER[name].upper() if negated else _LETTER[name])
        case _:
            return f"\\U{item:08x}"


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
