"""The spelling of JSON texts: strings, whitespace, arrays, JSON inside strings."""

import json
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final, TypeAlias, cast
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

from guideway.errors import GuidewayError
from guideway.json_schema.source import JsonSchema
from guideway.language.expr import (
    ALL_BYTES,
    EMPTY,
    EPSILON,
    ONE_BYTE,
    Uncaptured,
    alt,
    both,
    branching,
    byte_set,
    call,
    capture,
    complement,
    concat,
    either,
    literal,
    optional,
    repeat,
)
from guideway.language.nodes import (
    Alt,
    And,
    Bytes,
    Call,
    Capture,
    Concat,
    Empty,
    Epsilon,
    Expr,
    Least,
    Look,
    Not,
    Repeat,
    Rule,
    Template,
    Unsure,
)
from guideway.language.utf8 import SCALARS, CodePoints, character, difference, intersection, points
from guideway.sources.json_style import Whitespace

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
    raw = character(intersection(ranges, _RAW))
    if plain:
        escaped = [_plain_escape(code) for code in _members(intersection(ranges, _ESCAPED))]
        return alt(raw, *escaped)
    shorts = _members(intersection(ranges, _SHORTS))
    short = [literal(_SHORT_ANY[chr(code)]) for code in shorts]
    basic = concat(literal("u"), _hex(intersection(ranges, _BASIC), 4))
    astral = _surrogate_pairs(intersection(ranges, _ASTRAL))
    return alt(raw, concat(_BACKSLASH, alt(*short, basic, astral)))


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


Begun: TypeAlias = tuple[int, int, int]  # first word, one past the last word, letters read
Text: TypeAlias = Callable[[str], Expr]  # spelling of a word
Choose: TypeAlias = Callable[[Iterable[tuple[str, Expr]]], Expr]  # union of words and their rests

_FEW: Final = 64
_MANY: Final = 1024  # most options of a choice that is a regular expression
# A table has 24 bytes per letter, mostly untouched. 200,000 words of twelve letters take 0.7 s;
# with half this limit they took 6 s.
_MOST_LETTERS: Final = 1 << 22

_listed: "WeakKeyDictionary[Rule, tuple[tuple[str, ...], JsonStyle]]" = WeakKeyDictionary()


def words_rule(values: Iterable[str], style: JsonStyle) -> Rule | None:
    """Rule for any of some strings, with quotes; None for none, too many or lone surrogates."""
    words = tuple(dict.fromkeys(values))
    if not words or sum(map(len, words)) > _MOST_LETTERS or not is_written("".join(words)):
        return None

    def make() -> Expr:
        template = WordsTemplate(words, style.spelling.text, style.spelling.choose, QUOTE)
        return concat(QUOTE, template.rest((0, len(words), 0)))

    rule = Rule("words", inhabited=True, make=make)
    _listed[rule] = words, style
    return rule


def words_of(rule: Rule) -> tuple[tuple[str, ...], JsonStyle] | None:
    """Strings and style of a rule made by `words_rule`."""
    return _listed.get(rule)


def choice(options: Sequence[str], *, regular: bool) -> Expr:
    """Union of texts; many of them are no regular expression unless `regular` is set."""
    if regular or len(options) <= _MANY or sum(map(len, options)) > _MOST_LETTERS:
        return either(option.encode() for option in options)
    return WordsTemplate(options, literal, _choose, EPSILON).rest((0, len(options), 0))


def _choose(options: Iterable[tuple[str, Expr]]) -> Expr:
    return branching(options, literal)


class WordsTemplate(Uncaptured):
    """Template for the rests of distinct words, then `end`, after a common prefix."""

    def __init__(self, words: Sequence[str], text: Text, choose: Choose, end: Expr) -> None:
        self._words, self._text, self._choose, self._end = sorted(words), text, choose, end

    def rest(self, begun: Begun) -> Expr:
        """Expression after a prefix: explicit for few words, else a call."""
        low, high, depth = begun
        if high - low <= _FEW:
            rests = ((word, EPSILON) for word in self._rests(begun))
            return concat(self._choose(rests), self._end)
        if len(self._words[low]) > depth:
            return call(self, begun)
        return alt(self._end, call(self, (low + 1, high, depth)))

    def verbatim(self, argument: Hashable) -> list[str] | None:
        """The texts of `unfold`, if words are spelled as they are."""
        return self._rests(argument) if self._text is literal else None

    def unfold(self, argument: Hashable, look: Look) -> Expr:
        """One letter and the expression after it."""
        low, high, depth = cast("Begun", argument)
        words, options = self._words, list[Expr]()
        while low < high:
            letter, first = words[low][depth], low
            low = bisect_right(words, letter, low, high, key=lambda word: word[depth])
            options.append(concat(self._text(letter), self.rest((first, low, depth + 1))))
        return alt(*options)

    def lives(self, argument: Hashable, look: Look) -> bool | None:
        """Return True if one of the words can be spelled, None if that is unknown."""
        if look.spellable == ALL_BYTES:
            return True
        rests = (concat(self._text(rest), self._end) for rest in self._rests(argument))
        return next((found for rest in rests if (found := look(rest)) is not False), False)

    def least(self, argument: Hashable, least: Least) -> bytes | None:
        """The rest of the shortest word, spelled letter by letter."""
        rests, end = self._rests(argument), least(self._end)
        letters = {letter: least(self._text(letter)) for letter in set("".join(rests))}
        table = {ord(letter): (text or b"").decode() for letter, text in letters.items()}
        lost = {letter for letter, text in letters.items() if text is None}
        texts = (rest.translate(table).encode() for rest in rests if lost.isdisjoint(rest))
        best = min(texts, key=lambda text: (len(text), text), default=None)
        return None if best is None or end is None else best + end

    def _rests(self, argument: Hashable) -> list[str]:
        low, high, depth = cast("Begun", argument)
        return [word[depth:] for word in self._words[low:high]]


def is_written(text: str) -> bool:
    """Return False for texts with a lone surrogate, which UTF-8 cannot encode."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def json_array(
    item: Callable[[int], Expr], prefix: int, low: int, high: int | None, style: JsonStyle
) -> Expr:
    """The arrays of `low` to `high` items, made from the last to the first.

    Args:
        item: the values at a position.
        prefix: from this position on all items are the same.
        low: how many there are at least.
        high: how many at most, None for any number.
        style: how they are written.
    """
    single = max(1, prefix)  # how many items are written one by one
    if high is not None:
        single = min(single, high)
    more = concat(style.comma, item(single))
    found = repeat(more, max(low - single, 0), None if high is None else high - single)
    for position in range(single - 1, -1, -1):
        found = concat(item(position), found)
        if position:
            found = concat(style.comma, found)
            found = found if position < low else optional(found)
    filled = concat(found, style.closing) if single else EMPTY
    empty = EPSILON if low == 0 else EMPTY
    return concat(literal("["), style.opened, alt(filled, empty), literal("]"))


_ASCII: Final = (1 << 128) - 1


def quoted(texts: Expr, spelling: Spelling) -> Expr:
    """JSON texts as the content of a JSON string, without its quotes."""
    return _quoting(spelling).of(texts)


def _escaped(text: bytes | None) -> bytes | None:
    """The spelling of a text inside a JSON string."""
    if text is None:
        return None
    return json.dumps(text.decode("latin-1"), ensure_ascii=False)[1:-1].encode("latin-1")


def _unescaped(text: bytes | None) -> bytes | None:
    """The text that is spelled so inside a JSON string."""
    if text is None:
        return None
    return str(json.loads(f'"{text.decode("latin-1")}"')).encode("latin-1")


@cache
def _quoting(spelling: Spelling) -> "_Quoting":
    return _Quoting(spelling)


class _Quoting:
    def __init__(self, spelling: Spelling) -> None:
        self._bytes = [
            spelling.character(((byte, byte),)) if byte < 128 else ONE_BYTE[byte]
            for byte in range(256)
        ]
        self._any = repeat(alt(*self._bytes))
        self._rules: WeakValueDictionary[int, Rule] = WeakValueDictionary()
        self._templates: WeakValueDictionary[int, _Quoted] = WeakValueDictionary()
        self._spelling = spelling

    def of(self, expr: Expr) -> Expr:
        return self._cached(expr, {})

    def _cached(self, expr: Expr, made: dict[int, Expr]) -> Expr:
        found = made.get(id(expr))
        if found is None:
            found = made[id(expr)] = self._quoted_node(expr, made)
        return found

    def _quoted_node(self, expr: Expr, made: dict[int, Expr]) -> Expr:  # noqa: C901, PLR0911  an arm for each
        match expr:
            case Empty() | Epsilon() | Unsure():
                return expr
            case Bytes(members):
                return self._byte(members)
            case Concat():
                parts = list[Expr]()
                while isinstance(expr, Concat):
                    parts.append(self._cached(expr.head, made))
                    expr = expr.tail
                return concat(*parts, self._cached(expr, made))
            case Alt(options):
                return alt(*(self._cached(option, made) for option in options))
            case Repeat(item, low, high):
                return repeat(self._cached(item, made), low, high)
            case And(left, right):
                return both(self._cached(left, made), self._cached(right, made))
            case Not(item):
                return both(self._any, complement(self._cached(item, made)))
            case Rule():
                return self._rule(expr)
            case Call(template, argument):
                return call(self._template(template), argument, inhabited=expr.inhabited)
            case Capture(item, read, template, argument):
                template = self._template(template)
                return capture(self._cached(item, made), _escaped(read), template, argument)
            case _:
                raise GuidewayError(f"{type(expr).__name__} has no place in a JSON text")

    def _byte(self, members: int) -> Expr:
        ascii_only = members & _ASCII
        ranges = tuple((byte, byte) for byte in range(128) if ascii_only >> byte & 1)
        return alt(self._spelling.character(ranges), byte_set(members & ~_ASCII & ALL_BYTES))

    def _rule(self, rule: Rule) -> Rule:
        found = self._rules.get(id(rule))
        if found is None:
            make = lambda: self.of(rule.body)  # noqa: E731
            found = Rule(
                rule.name, [], rule.nullable, rule.regular, rule.inhabited, make, read=rule
            )
            self._rules[id(rule)] = found
        return found

    def _template(self, template: Template) -> "_Quoted":
        found = self._templates.get(id(template))
        if found is None:
            found = self._templates[id(template)] = _Quoted(template, self)
        return found

    def spellable(self, spellable: int) -> int:
        found = spellable & ~_ASCII
        for byte in range(128):
            letters = _escaped(bytes((byte,))) or b""
            found |= all(spellable >> letter & 1 for letter in letters) << byte
        return found


class _Look:
    """A `Look` for a template: spells the parts that it asks about."""

    def __init__(self, look: Look, quoting: _Quoting) -> None:
        self._look, self._quoting = look, quoting

    @property
    def spellable(self) -> int:
        return self._quoting.spellable(self._look.spellable)

    @property
    def settled(self) -> bool:
        return self._look.settled

    def __call__(self, part: Expr) -> bool | None:
        return self._look(self._quoting.of(part))

    def word(self, part: Expr) -> bytes | None:
        return _unescaped(self._look.word(self._quoting.of(part)))


class _Quoted:
    """Wraps a template: spells its expressions and decodes captures."""

    def __init__(self, template: Template, quoting: _Quoting) -> None:
        self._template, self._quoting = template, quoting

    def unfold(self, argument: Hashable, look: Look) -> Expr:
        return self._quoting.of(self._template.unfold(argument, _Look(look, self._quoting)))

    def resume(self, argument: Hashable, captured: bytes | None) -> Expr:
        return self._quoting.of(self._template.resume(argument, _unescaped(captured)))

    def remembers(self, argument: Hashable) -> bool:
        return self._template.remembers(argument)

    def depends(self, argument: Hashable) -> bool:
        return self._template.depends(argument)

    def lives(self, argument: Hashable, look: Look) -> bool | None:
        return self._template.lives(argument, _Look(look, self._quoting))

    def lives_after(
        self, argument: Hashable, look: Look, captured: Callable[[], bytes | None]
    ) -> bool | None:
        inner = _Look(look, self._quoting)
        return self._template.lives_after(argument, inner, lambda: _unescaped(captured()))

    def parts(self, argument: Hashable) -> Iterable[Expr]:
        return map(self._quoting.of, self._template.parts(argument))

    def least(self, argument: Hashable, least: Least) -> bytes | None:
        inner = self._template.least(
            argument, lambda part: _unescaped(least(self._quoting.of(part)))
        )
        return _escaped(inner)
