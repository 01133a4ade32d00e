"""Spelling of JSON: characters of strings, and whitespace.

No spelling of a character is a prefix of another's, so spelling commutes with all regular
operations. "plain" is the spelling of `json.dumps`, "any" allows all escapes.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, final
from weakref import WeakSet

from guideway.lowering.alternatives import branching
from guideway.lowering.expr import EPSILON, alt, byte_set, concat, lead, literal, repeat
from guideway.lowering.nodes import Alt, Concat, Expr
from guideway.lowering.unicode import (
    SCALARS,
    CodePoints,
    character,
    difference,
    intersection,
    points,
)
from guideway.syntax.json_schema_source import JsonSchema
from guideway.syntax.json_style import Whitespace

QUOTE = literal('"')
_BACKSLASH = literal("\\")
_HEX_DIGIT = byte_set(b"0123456789abcdefABCDEF")
_DIGITS = [1 << ord(f"{digit:x}") | 1 << ord(f"{digit:X}") for digit in range(16)]  # as byte sets
_SHORT = {'"': '"', "\\": "\\", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
_SHORT_ANY = {**_SHORT, "/": "/"}
_ESCAPED = points([*range(0x20), ord('"'), ord("\\")])  # RFC 8259 §7: U+007F needs no escape
_RAW = difference(SCALARS, _ESCAPED)
PLAIN: Final = intersection(_RAW, ((0, 0x7E),))
_SHORTS = points(map(ord, _SHORT_ANY))
_ASCII_ONLY = 0x80
_RAW_ASCII, _SHORT_ASCII = (
    sum((2 << min(high, 0x7F)) - (1 << low) for low, high in ranges if low < _ASCII_ONLY)
    for ranges in (_RAW, _SHORTS)
)
_U, _ZERO = literal("u"), literal("0")
_BASIC: CodePoints = ((0, 0xD7FF), (0xE000, 0xFFFF))
_ASTRAL: CodePoints = ((0x10000, 0x10FFFF),)


# Choices between words: walked word by word, while other regular choices become automata.
_WORDS: "WeakSet[Alt]" = WeakSet()


def is_choice_of_words(choice: Alt) -> bool:
    """Return True for a choice made by `Spelling.choose`."""
    return choice in _WORDS


def alternatives_in(sequence: Expr) -> list[Alt]:
    """The union at the end of a sequence, in a list."""
    while isinstance(sequence, Concat):
        sequence = sequence.tail
    return [sequence] if isinstance(sequence, Alt) else []


@lru_cache(maxsize=4096)
def spell_character(ranges: CodePoints, plain: bool) -> Expr:
    """The spellings of one character of a set."""
    if not plain and ranges and ranges[-1][1] < _ASCII_ONLY:
        return _spell_ascii(sum((2 << high) - (1 << low) for low, high in ranges))
    raw = character(intersection(ranges, _RAW))
    if plain:
        escaped = [_plain_escape(code) for code in _members(intersection(ranges, _ESCAPED))]
        return alt(raw, *escaped)
    shorts = _members(intersection(ranges, _SHORTS))
    short = [literal(_SHORT_ANY[chr(code)]) for code in shorts]
    basic = concat(literal("u"), _hex(intersection(ranges, _BASIC), 4))
    astral = _surrogate_pairs(intersection(ranges, _ASTRAL))
    return alt(raw, concat(_BACKSLASH, alt(*short, basic, astral)))


def _spell_ascii(members: int) -> Expr:
    """`spell_character` for sets of ASCII, twice as fast."""
    blocks: dict[int, int] = {}  # first of the last two digits, by the byte set of the second
    for digit in range(8):
        if inside := members >> 16 * digit & 0xFFFF:
            blocks[inside] = blocks.get(inside, 0) | _DIGITS[digit]
    pairs = (lead(byte_set(first), _digit(inside)) for inside, first in blocks.items())
    escaped = lead(_U, lead(_ZERO, lead(_ZERO, alt(*pairs))))
    if shorts := members & _SHORT_ASCII:
        spelled = (literal(s) for char, s in _SHORT_ANY.items() if shorts >> ord(char) & 1)
        escaped = alt(*spelled, escaped)
    return alt(byte_set(members & _RAW_ASCII), lead(_BACKSLASH, escaped))


@lru_cache(maxsize=256)
def _digit(members: int) -> Expr:
    return byte_set(sum(digit for value, digit in enumerate(_DIGITS) if members >> value & 1))


def _plain_escape(code: int) -> Expr:
    short = _SHORT.get(chr(code))
    return literal(f"\\u{code:04x}" if short is None else f"\\{short}")


def _members(ranges: CodePoints) -> Iterable[int]:
    return (code for low, high in ranges for code in range(low, high + 1))


@lru_cache(maxsize=1024)
def _hex(ranges: CodePoints, digits: int) -> Expr:
    """Codes as hexadecimal digits of either case."""
    size = 16 ** (digits - 1)
    cut: dict[int, list[tuple[int, int]]] = {}  # partial blocks
    whole = 0
    for low, high in ranges:
        begin, end = -(-low // size), (high + 1) // size  # the whole blocks
        if begin > end:
            cut.setdefault(end, []).append((low - end * size, high - end * size))
            continue
        if low < begin * size:
            cut.setdefault(begin - 1, []).append((low - (begin - 1) * size, size - 1))
        if end * size <= high:
            cut.setdefault(end, []).append((0, high - end * size))
        for digit in range(begin, end):
            whole |= _DIGITS[digit]
    leads = {concat(*[_HEX_DIGIT] * (digits - 1)): whole}
    for digit, inside in cut.items():
        rest = _hex(tuple(inside), digits - 1)
        leads[rest] = leads.get(rest, 0) | _DIGITS[digit]
    return alt(*(concat(byte_set(members), rest) for rest, members in leads.items()))


def _blocks(ranges: CodePoints, size: int) -> list[tuple[int, CodePoints]]:
    """Cut ranges at multiples of `size`: (multiple, ranges relative to it)."""
    blocks: dict[int, list[tuple[int, int]]] = {}
    for low, high in ranges:
        for number in range(low // size, high // size + 1):
            start = number * size
            part = max(low - start, 0), min(high - start, size - 1)
            blocks.setdefault(number, []).append(part)
    return [(number, tuple(parts)) for number, parts in blocks.items()]


@lru_cache(maxsize=256)
def _surrogate_pairs(ranges: CodePoints) -> Expr:
    """Escapes beyond U+FFFF, without the first backslash; equal second halves are shared."""
    seconds: dict[CodePoints, list[int]] = {}
    for number, block in _blocks(ranges, 1024):
        seconds.setdefault(block, []).append(0xD800 + number - 0x10000 // 1024)
    return alt(
        *(
            concat(
                literal("u"),
                _hex(points(firsts), 4),
                literal("\\u"),
                _hex(tuple((low + 0xDC00, high + 0xDC00) for low, high in block), 4),
            )
            for block, firsts in seconds.items()
        )
    )


# An ASCII character that needs no escape, in all spellings or only as itself. Counts of these count
# characters only in languages that contain all spellings of a text or none.
PLAIN_CHARACTERS: Final = (spell_character(PLAIN, False), spell_character(PLAIN, True))


@final
@dataclass(frozen=True, slots=True)
class Spelling:
    """Spelling of strings; `raw`: without escapes."""

    plain: bool
    raw: bool = False

    @property
    def content(self) -> Expr:
        """Any string, without its quotes."""
        return repeat(self.character(SCALARS))

    def character(self, ranges: CodePoints) -> Expr:
        return character(ranges) if self.raw else spell_character(ranges, self.plain)

    def text(self, text: str) -> Expr:
        """One string, without its quotes."""
        return concat(*(self.character(((ord(c), ord(c)),)) for c in text))

    def write(self, text: str) -> bytes:
        """One spelling of a string, without its quotes."""
        return json.dumps(text, ensure_ascii=False)[1:-1].encode()

    def choose(self, options: "Iterable[tuple[str, Expr]]") -> Expr:
        """A trie of strings without quotes, each followed by its expression."""
        made = branching(options, lambda char: self.character(((ord(char), ord(char)),)))
        _WORDS.update(alternatives_in(made))
        return made


@final
@dataclass(frozen=True, slots=True, eq=False)
class JsonStyle:
    """Style of JSON texts; all parts are whitespace, `comma` and `colon` with the character.

    `ordered`: keys come in declared order. `edge`: around the whole text. `opened` and `closing`:
    inside the brackets.
    """

    spelling: Spelling
    ordered: bool
    edge: Expr
    opened: Expr
    closing: Expr
    comma: Expr
    colon: Expr


def json_style(source: JsonSchema) -> JsonStyle:
    return _style(source.spelling == "plain", source.key_order == "declared", source.whitespace)


@lru_cache(maxsize=64)
def _style(plain: bool, ordered: bool, whitespace: "str | Whitespace") -> JsonStyle:
    spelling = Spelling(plain)
    comma, colon = literal(","), literal(":")
    if whitespace == "any":
        gap = repeat(byte_set(b" \t\r\n"))
        comma, colon = concat(gap, comma, gap), concat(gap, colon, gap)
        return JsonStyle(spelling, ordered, gap, gap, gap, comma, colon)
    line, space = _gaps(whitespace)
    comma, colon = concat(comma, line), concat(colon, space)
    return JsonStyle(spelling, ordered, EPSILON, line, line, comma, colon)


def _gaps(whitespace: "str | Whitespace") -> tuple[Expr, Expr]:
    if whitespace == "compact":
        return EPSILON, EPSILON
    bounds = whitespace if isinstance(whitespace, Whitespace) else Whitespace()
    space = repeat(literal(" "), 0, bounds.spaces)
    if not bounds.newline:
        return space, space
    return alt(space, concat(literal("\n"), repeat(literal(" "), 0, bounds.indent))), space
