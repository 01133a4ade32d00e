"""Parser of llama.cpp's grammars (GBNF), and the tree of rules, which Lark's Earley part uses."""

import re
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Never, TypeAlias

from guideway.errors import SourceError
from guideway.sources.names import did_you_mean
from guideway.sources.reading import Cursor
from guideway.sources.regions import Others, Special
from guideway.sources.sources import Source


@dataclass(frozen=True, slots=True)
class Word:
    """Exactly this text."""

    text: str


@dataclass(frozen=True, slots=True)
class Characters:
    """One character of these ranges of code points, ends included; of all others if negated."""

    ranges: tuple[tuple[int, int], ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Name:
    """A text of the rule of this name."""

    rule: str


@dataclass(frozen=True, slots=True)
class Terminal:
    """A non-empty match of the terminal of this name, which lowering defines."""

    name: str


Atom: TypeAlias = Word | Characters | Name | Terminal


@dataclass(frozen=True, slots=True)
class Item:
    """An atom, `low` to `high` times in a row (None: any number)."""

    atom: Atom
    low: int = 1
    high: int | None = 1


Alternative: TypeAlias = tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Grammar:
    """Alternatives of each rule, start rule, and names of the rules made from groups."""

    rules: Mapping[str, tuple[Alternative, ...]]
    start: str
    groups: frozenset[str]


SPACE: Final = re.compile(r"(?:[ \t]|#[^\r\n]*)*")
SPACE_AND_LINES: Final = re.compile(r"(?:[ \t\r\n]|#[^\r\n]*)*")
WORD: Final = re.compile(r"[A-Za-z0-9_-]+")
PLAIN: Final = re.compile(r'[^"\\]+')
COUNT: Final = re.compile(r"[0-9]+")
TOKEN: Final = re.compile(
    r"(?P<but>!)?(?P<name><(?:\[(?P<id>[0-9]{1,9})\]|(?!\[)[^<>\s]+)>)(?(but)[ \t]*(?P<count>[*+]))"
)
# An unclosed quote matches to the end: its end would be searched anew from each of 100,000 quotes.
_NOTATION: Final = re.compile(
    r"""(?P<skipped>"(?:\\.|[^"\\])*+"?|\[(?:\\.|[^\]\\])*+\]?|\#[^\r\n]*)
    |(?P<token>!<[^<>\s]+>[ \t]*[*+]|<[^<>\s]+>)""",
    re.DOTALL | re.VERBOSE,
)
SIMPLE: Final = {
    "n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"', "[": "[", "]": "]", "-": "-",
}  # fmt: skip
HEX: Final = {"x": 2, "u": 4, "U": 8}
COUNTS: Final[dict[str, tuple[int, int | None]]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
MOST_DIGITS: Final = 9  # of a count
MOST_NAMES: Final = 12  # listed in a message without a near name


def parse_gbnf(text: str, root: str = "root") -> Grammar:
    r"""The tree of a grammar; `root` is the rule of whole texts.

    >>> parse_gbnf('root ::= digit+\ndigits ::= [0-9]')
    Traceback (most recent call last):
    guideway.errors.SourceError: there is no rule 'digit'; did you mean 'digits'? (at line 1...
      root ::= digit+
               ^
    """
    return _Parser(text).grammar(root)


def tokens_of(text: str) -> dict[str, Source]:
    r"""Special tokens in a grammar, by their notation.

    >>> tokens_of('root ::= <think> "<a>" [<b>] <[7]> # <c>')
    {'<think>': Special(token='<think>', required=True), '<[7]>': Special(token=7, required=True)}
    """
    found = dict[str, Source]()
    for told in _NOTATION.finditer(text) if "<" in text else ():
        token = TOKEN.fullmatch(told["token"] or "")
        if token is not None:
            named = int(token["id"]) if token["id"] else token["name"]
            but = token["but"] is not None
            found[token[0]] = (
                Others((named,), int(token["count"] == "+")) if but else Special(named)
            )
    return found


@dataclass(slots=True)
class _Open:
    """A rule or a group while it is read: finished alternatives, and items of the current one."""

    name: str
    begin: int
    done: list[Alternative] = field(default_factory=list[Alternative])
    items: list[Item] = field(default_factory=list[Item])

    def alternatives(self) -> tuple[Alternative, ...]:
        return (*self.done, tuple(self.items))


class _Parser:
    def __init__(self, text: str) -> None:
        self._cursor = Cursor(text)
        self._rules = dict[str, tuple[Alternative, ...]]()
        self._groups = set[str]()
        self._places = dict[str, int]()  # where each name is first used

    def grammar(self, root: str) -> Grammar:
        self._skip(lines=True)
        while self._cursor.peek():
            self._rule()
            self._skip(lines=True)
        written = [name for name in self._rules if name not in self._groups]
        for name, place in self._places.items():
            if name not in self._rules:
                self._wrong(f"there is no rule {name!r}{_near(name, written)}", place)
        if root not in self._rules:
            said = f"there is no rule {root!r} to start with{_near(root, written)}"
            raise SourceError(said, text=self._cursor.text)
        return Grammar(self._rules, root, frozenset(self._groups))

    def _rule(self) -> None:
        begin = self._cursor.position
        ended = (
            "; a new line ends a rule, except in parentheses and after `|`" if self._rules else ""
        )
        name = self._word(f"the name of a rule: letters, digits, - and _{ended}")
        if name in self._rules:
            self._wrong(f"the rule {name!r} is defined twice", begin)
        self._skip()
        if not self._cursor.match("::="):
            self._wrong(f"`::=` must follow the name of the rule {name!r}")
        self._skip(lines=True)
        self._rules[name] = self._alternatives(name)
        if self._cursor.peek() not in ("", "\r", "\n"):
            self._wrong(f"unexpected {self._cursor.peek()!r}")

    def _alternatives(self, name: str) -> tuple[Alternative, ...]:
        """The right side of a rule; its groups become rules."""
        opened = [_Open(name, self._cursor.position)]
        while True:
            now, inside = opened[-1], len(opened) > 1
            begin, char = self._cursor.position, self._cursor.peek()
            if self._cursor.match("|"):
                now.done.append(tuple(now.items))
                now.items = []
                self._skip(lines=True)
            elif self._cursor.match("("):
                opened.append(_Open(f"{name}({len(self._groups) + 1}", begin))
                self._groups.add(opened[-1].name)
                self._skip(lines=True)
            elif inside and self._cursor.match(")"):
                self._rules[now.name] = now.alternatives()
                opened.pop()
                opened[-1].items.append(Item(Name(now.name)))
                self._skip(lines=len(opened) > 1)
            elif char and (char in '"[.<!' or WORD.match(char)):
                now.items.append(Item(self._atom(char)))
                self._skip(lines=inside)
            elif char and char in "*+?{":
                self._count(now.items, lines=inside)
                self._skip(lines=inside)
            elif inside:
                self._wrong("this parenthesis is never closed", now.begin)
            else:
                return now.alternatives()

    def _atom(self, char: str) -> Atom:
        begin = self._cursor.position
        if char in "<!":
            return self._token()
        if self._cursor.match('"'):
            return self._quoted(begin)
        if self._cursor.match("["):
            return self._class(begin)
        if self._cursor.match("."):
            return Characters((), negated=True)
        name = self._word("a name")
        self._places.setdefault(name, begin)
        return Name(name)

    def _token(self) -> Terminal:
        cursor = self._cursor
        found = cursor.scan(TOKEN)
        if found is None and cursor.text.startswith("!<", cursor.position):
            raise cursor.unsupported(
                "!<token> for one token is not supported, because the tokens of a text vary; write "
                "!<token>* or !<token>+",
                "!<token>",
                cursor.position,
            )
        if found is None:
            self._wrong("a special token is written <name>, or <[7]> by its id")
        return Terminal(found[0])

    def _quoted(self, begin: int) -> Word:
        found = list[str]()
        while not self._cursor.match('"'):
            found.append(self._cursor.run(PLAIN) or self._char(begin, '"'))
        return Word("".join(found))

    def _class(self, begin: int) -> Characters:
        cursor = self._cursor
        negated = cursor.match("^")
        ranges = list[tuple[int, int]]()
        while not cursor.match("]"):
            place = cursor.position
            low = high = ord(self._char(begin, "]"))
            if not cursor.text.startswith("-]", cursor.position) and cursor.match("-"):
                high = ord(self._char(begin, "]"))
            if high < low:
                self._wrong("this range ends before it begins", place)
            ranges.append((low, high))
        if not ranges:
            self._wrong("a class needs characters; `.` is any character", begin)
        return Characters(tuple(ranges), negated)

    def _char(self, begin: int, closing: str) -> str:
        """One character of a text or a class, which is closed by `closing`."""
        cursor, place = self._cursor, self._cursor.position
        char = cursor.take()
        if not char:
            self._wrong(f"the closing {closing!r} is missing", begin)
        if char != "\\":
            return char
        kind = cursor.take()
        if kind in SIMPLE:
            return SIMPLE[kind]
        digits = cursor.text[cursor.position : cursor.position + HEX.get(kind, 0)]
        if kind not in HEX or len(digits) < HEX[kind] or set(digits) - set(string.hexdigits):
            known = ", ".join(f"\\{each}" for each in SIMPLE)
            self._wrong(
                f"unknown escape; the escapes are {known}, \\xHH, \\uHHHH, \\UHHHHHHHH", place
            )
        point = int(digits, 16)
        if point > 0x10FFFF or 0xD800 <= point < 0xE000:
            self._wrong(f"U+{point:04X} is not a character", place)
        cursor.position += HEX[kind]
        return chr(point)

    def _count(self, items: list[Item], *, lines: bool) -> None:
        """Repeat the last item."""
        begin, char = self._cursor.position, self._cursor.peek()
        if not items:
            self._wrong(f"{char!r} has no item before it to repeat")
        self._cursor.position += 1
        low, high = COUNTS[char] if char in COUNTS else self._bounds(begin, lines=lines)
        if high is not None and high < low:
            self._wrong(f"{low} to {high} times: the lower bound comes first", begin)
        last = items.pop()
        if (last.low, last.high) != (1, 1):  # a count of a counted item
            name = f"{len(self._groups) + 1})"
            self._groups.add(name)
            self._rules[name] = ((last,),)
            last = Item(Name(name))
        items.append(Item(last.atom, low, high))

    def _bounds(self, begin: int, *, lines: bool) -> tuple[int, int | None]:
        low = high = self._digits(lines=lines)
        if self._cursor.match(","):
            high = self._digits(lines=lines)
        if (low is None and high is None) or not self._cursor.match("}"):
            self._wrong("a count is written {m}, {m,} or {m,n}", begin)
        return low or 0, high

    def _digits(self, *, lines: bool) -> int | None:
        self._skip(lines=lines)
        place, digits = self._cursor.position, self._cursor.run(COUNT)
        if len(digits) > MOST_DIGITS:
            self._wrong(f"this count has more than {MOST_DIGITS} digits", place)
        self._skip(lines=lines)
        return int(digits) if digits else None

    def _word(self, what: str) -> str:
        found = self._cursor.run(WORD)
        if not found:
            char = self._cursor.peek()
            given = "" if char.isprintable() else f", not {char!r}"  # such as a byte order mark
            self._wrong(f"expected {what}{given}")
        return found

    def _skip(self, *, lines: bool = False) -> None:
        self._cursor.run(SPACE_AND_LINES if lines else SPACE)

    def _wrong(self, message: str, position: int | None = None) -> Never:
        raise self._cursor.error(message, self._cursor.position if position is None else position)


def _near(name: str, names: list[str]) -> str:
    if (meant := did_you_mean(name, names)) or not names:
        return meant
    more = f" and {len(names) - MOST_NAMES} others" if len(names) > MOST_NAMES else ""
    return f"; there are {', '.join(names[:MOST_NAMES])}{more}"
