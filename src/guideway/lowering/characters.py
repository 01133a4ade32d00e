"""Sets of code points that the leaves of a regular expression match.

Under flag i, classes follow `re` exactly: beyond the BMP it compares ranges by upper case as well,
and does not lower single characters.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import groupby, pairwise
from typing import TypeAlias, assert_never

from guideway.lowering.case import Case, ascii_case, folded_alike, unicode_case, upper_case
from guideway.lowering.unicode import (
    ALL,
    CodePoints,
    every_character,
    every_letter,
    intersection,
    inverse,
    points,
    union,
)
from guideway.syntax.regex_tree import Class, Dot, Mode, Range, Shorthand

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
        return _case(mode).literal(code)
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
    case = _case(mode)
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


def _case(mode: Mode) -> Case:
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
