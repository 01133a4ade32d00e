r"""llama.cpp's grammars (GBNF) to a tree, as its parser reads them.

    root   ::= greeting ", " name "!"      # a comment
    name   ::= [A-Z] [a-z]* | "O'" [^\x00-\x40]{1,8}

- a rule ends with its line, unless a parenthesis is open or an alternative has just begun;
- names are letters, digits, dashes and underscores; `.` is any character; `"…"` and `[…]` know
  the escapes `\n \r \t \\ \" \[ \] \- \xHH \uHHHH \UHHHHHHHH`, of which the last three are
  code points;
- `<name>` and `<[7]>` are special tokens, by name or id; `!<name>*` and `!<[7]>+` are any others,
  text among them, as many as there are;
- `*`, `+`, `?`, `{m}`, `{m,}` and `{m,n}` count the item before them, a whole `"…"` included.

What this module does not know: bytes, automata, whether anything recurs.
"""

import difflib
import re
import string
from dataclasses import dataclass, field
from typing import Final, Never, final

from guideway.errors import SourceError, UnsupportedError
from guideway.syntax.grammar_tree import (
    Alternative,
    Atom,
    Characters,
    Grammar,
    Item,
    Name,
    Terminal,
    Word,
)
from guideway.syntax.sources import Source
from guideway.syntax.special import Others, Special

SPACE: Final = re.compile(r"(?:[ \t]|#[^\r\n]*)*")
SPACE_AND_LINES: Final = re.compile(r"(?:[ \t\r\n]|#[^\r\n]*)*")
WORD: Final = re.compile(r"[A-Za-z0-9_-]+")
PLAIN: Final = re.compile(r'[^"\\]+')
COUNT: Final = re.compile(r"[0-9]+")
TOKEN: Final = re.compile(
    r"(?P<but>!)?(?P<name><(?:\[(?P<id>[0-9]{1,9})\]|(?!\[)[^<>\s]+)>)(?(but)[ \t]*(?P<count>[*+]))"
)
# What is never closed goes to the end: from each quote of 100,000 it would be looked for anew.
_TOLD: Final = re.compile(
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
MOST_NAMES: Final = 12  # that are listed where none is near


def parse_gbnf(text: str, root: str = "root") -> Grammar:
    r"""The tree of a grammar.

    Example:
        >>> grammar = parse_gbnf('root ::= "a" [0-9]+ | root "b"')
        >>> grammar.rules["root"][1]
        (Item(atom=Name(rule='root'), low=1, high=1), Item(atom=Word(text='b'), low=1, high=1))
        >>> parse_gbnf('root ::= digit+\ndigits ::= [0-9]')
        Traceback (most recent call last):
        guideway.errors.SourceError: there is no rule 'digit'; did you mean 'digits'? (at line 1...
          root ::= digit+
                   ^

    Args:
        text: the grammar.
        root: the rule of whole texts.

    Raises:
        SourceError: it is no grammar, with line, column and a caret.
        UnsupportedError: it asks for so many tokens of any text.
    """
    return _Parser(text).grammar(root)


def tokens_of(text: str) -> dict[str, Source]:
    r"""The special tokens that a grammar names, as they are written.

    >>> tokens_of('root ::= <think> "<a>" [<b>] <[7]> # <c>')
    {'<think>': Special(token='<think>', required=True), '<[7]>': Special(token=7, required=True)}
    """
    found = dict[str, Source]()
    for told in _TOLD.finditer(text) if "<" in text else ():
        token = TOKEN.fullmatch(told["token"] or "")
        if token is not None:
            named = int(token["id"]) if token["id"] else token["name"]
            but = token["but"] is not None
            found[token[0]] = (
                Others((named,), int(token["count"] == "+")) if but else Special(named)
            )
    return found


@final
@dataclass(slots=True)
class _Open:
    """A rule or a group while it is read.

    Attributes:
        name: of the rule.
        begin: where it begins.
        done: its alternatives before the one that is read.
        items: of the alternative that is read.
    """

    name: str
    begin: int
    done: list[Alternative] = field(default_factory=list[Alternative])
    items: list[Item] = field(default_factory=list[Item])

    def alternatives(self) -> tuple[Alternative, ...]:
        """All of them, the last one ended."""
        return (*self.done, tuple(self.items))


@final
class _Parser:
    """A place in a text, and the rules before it."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self._rules = dict[str, tuple[Alternative, ...]]()
        self._groups = set[str]()
        self._places = dict[str, int]()  # where each name is first used

    def grammar(self, root: str) -> Grammar:
        """The whole text."""
        self._skip(lines=True)
        while self._at < len(self._text):
            self._rule()
            self._skip(lines=True)
        written = [name for name in self._rules if name not in self._groups]
        for name, place in self._places.items():
            if name not in self._rules:
                self._wrong(f"there is no rule {name!r}{_near(name, written)}", place)
        if root not in self._rules:
            said = f"there is no rule {root!r} to start with{_near(root, written)}"
            raise SourceError(said, text=self._text)
        return Grammar(self._rules, root, frozenset(self._groups))

    def _rule(self) -> None:
        begin = self._at
        ended = (
            "; a new line ends a rule, except in parentheses and after `|`" if self._rules else ""
        )
        name = self._word(f"the name of a rule: letters, digits, - and _{ended}")
        if name in self._rules:
            self._wrong(f"the rule {name!r} is defined twice", begin)
        self._skip()
        if not self._text.startswith("::=", self._at):
            self._wrong(f"`::=` must follow the name of the rule {name!r}")
        self._at += 3
        self._skip(lines=True)
        self._rules[name] = self._alternatives(name)
        if self._at < len(self._text) and self._text[self._at] not in "\r\n":
            self._wrong(f"unexpected {self._text[self._at]!r}")

    def _alternatives(self, name: str) -> tuple[Alternative, ...]:
        """What is on the right of a rule; its groups become rules."""
        opened = [_Open(name, self._at)]
        while True:
            now, inside = opened[-1], len(opened) > 1
            char = self._text[self._at : self._at + 1]
            if char == "|":
                now.done.append(tuple(now.items))
                now.items = []
                self._at += 1
                self._skip(lines=True)
            elif char == "(":
                opened.append(_Open(f"{name}({len(self._groups) + 1}", self._at))
                self._groups.add(opened[-1].name)
                self._at += 1
                self._skip(lines=True)
            elif char == ")" and inside:
                self._rules[now.name] = now.alternatives()
                opened.pop()
                opened[-1].items.append(Item(Name(now.name)))
                self._at += 1
                self._skip(lines=len(opened) > 1)
            elif char and (char in '"[.<!' or WORD.match(char)):
                now.items.extend(self._atoms())
                self._skip(lines=inside)
            elif char and char in "*+?{":
                self._count(now.items, lines=inside)
                self._skip(lines=inside)
            elif inside:
                self._wrong("this parenthesis is never closed", now.begin)
            else:
                return now.alternatives()

    def _atoms(self) -> list[Item]:
        char = self._text[self._at]
        if char == '"':
            return [Item(self._quoted())]
        atom: Atom
        if char in "<!":
            atom = self._token()
        elif char == "[":
            atom = self._class()
        elif char == ".":
            self._at += 1
            atom = Characters((), negated=True)
        else:
            begin = self._at
            atom = Name(self._word("a name"))
            self._places.setdefault(atom.rule, begin)
        return [Item(atom)]

    def _token(self) -> Terminal:
        found = TOKEN.match(self._text, self._at)
        if found is None and self._text.startswith("!<", self._at):
            raise UnsupportedError(
                "!<token> for one token is not supported, because the tokens of a text vary; write "
                "!<token>* or !<token>+",
                feature="!<token>", place=self._place(self._at), text=self._text,
                position=self._at,
            )  # fmt: skip
        if found is None:
            self._wrong("a special token is written <name>, or <[7]> by its id")
        self._at = found.end()
        return Terminal(found[0])

    def _quoted(self) -> Word:
        begin = self._at
        self._at += 1
        found = list[str]()
        while not self._text.startswith('"', self._at):
            plain = PLAIN.match(self._text, self._at)
            found.append(self._char(begin, '"') if plain is None else plain[0])
            self._at += 0 if plain is None else len(plain[0])
        self._at += 1
        return Word("".join(found))

    def _class(self) -> Characters:
        begin = self._at
        self._at += 1
        negated = self._text.startswith("^", self._at)
        self._at += negated
        ranges = list[tuple[int, int]]()
        while not self._text.startswith("]", self._at):
            place = self._at
            low = high = ord(self._char(begin, "]"))
            if self._text.startswith("-", self._at) and self._text[self._at + 1 :][:1] != "]":
                self._at += 1
                high = ord(self._char(begin, "]"))
            if high < low:
                self._wrong("this range ends before it begins", place)
            ranges.append((low, high))
        self._at += 1
        if not ranges:
            self._wrong("a class needs characters; `.` is any character", begin)
        return Characters(tuple(ranges), negated)

    def _char(self, begin: int, closing: str) -> str:
        """One character of a text or a class, which is closed by `closing`."""
        char = self._text[self._at : self._at + 1]
        if not char:
            self._wrong(f"the closing {closing!r} is missing", begin)
        self._at += 1
        if char != "\\":
            return char
        kind = self._text[self._at : self._at + 1]
        self._at += 1
        if kind in SIMPLE:
            return SIMPLE[kind]
        digits = self._text[self._at : self._at + HEX.get(kind, 0)]
        if kind not in HEX or len(digits) < HEX[kind] or set(digits) - set(string.hexdigits):
            known = ", ".join(f"\\{each}" for each in SIMPLE)
            self._wrong(
                f"unknown escape; the escapes are {known}, \\xHH, \\uHHHH, \\UHHHHHHHH",
                self._at - 2,
            )
        point = int(digits, 16)
        if point > 0x10FFFF or 0xD800 <= point < 0xE000:
            self._wrong(f"U+{point:04X} is not a character", self._at - 2)
        self._at += HEX[kind]
        return chr(point)

    def _count(self, items: list[Item], *, lines: bool) -> None:
        """The last item, counted."""
        begin, char = self._at, self._text[self._at]
        if not items:
            self._wrong(f"{char!r} has no item before it to repeat")
        self._at += 1
        low, high = COUNTS[char] if char in COUNTS else self._bounds(begin, lines=lines)
        if high is not None and high < low:
            self._wrong(f"{low} to {high} times: the lower bound comes first", begin)
        last = items.pop()
        if (last.low, last.high) != (1, 1):  # a count of what is counted
            name = f"{len(self._groups) + 1})"
            self._groups.add(name)
            self._rules[name] = ((last,),)
            last = Item(Name(name))
        items.append(Item(last.atom, low, high))

    def _bounds(self, begin: int, *, lines: bool) -> tuple[int, int | None]:
        self._skip(lines=lines)
        low = self._digits()
        self._skip(lines=lines)
        high = low
        comma = self._text.startswith(",", self._at)
        if comma:
            self._at += 1
            self._skip(lines=lines)
            high = self._digits()
            self._skip(lines=lines)
        if not self._text.startswith("}", self._at) or (low is None and high is None):
            self._wrong("a count is written {m}, {m,} or {m,n}", begin)
        self._at += 1
        return low or 0, high

    def _digits(self) -> int | None:
        found = COUNT.match(self._text, self._at)
        if found is None:
            return None
        if len(found[0]) > MOST_DIGITS:
            self._wrong(f"this count has more than {MOST_DIGITS} digits")
        self._at = found.end()
        return int(found[0])

    def _word(self, what: str) -> str:
        found = WORD.match(self._text, self._at)
        if found is None:
            char = self._text[self._at : self._at + 1]
            given = "" if char.isprintable() else f", not {char!r}"  # as the mark of a byte order
            self._wrong(f"expected {what}{given}")
        self._at = found.end()
        return found[0]

    def _skip(self, *, lines: bool = False) -> None:
        found = (SPACE_AND_LINES if lines else SPACE).match(self._text, self._at)
        self._at = self._at if found is None else found.end()

    def _wrong(self, message: str, position: int | None = None) -> Never:
        place = self._at if position is None else position
        raise SourceError(message, place=self._place(place), text=self._text, position=place)

    def _place(self, position: int) -> str:
        line = self._text.count("\n", 0, position) + 1
        return f"line {line}, column {position - self._text.rfind(chr(10), 0, position)}"


def _near(name: str, names: list[str]) -> str:
    near = difflib.get_close_matches(name, names, 1)
    if near or not names:
        return f"; did you mean {near[0]!r}?" if near else ""
    more = f" and {len(names) - MOST_NAMES} others" if len(names) > MOST_NAMES else ""
    return f"; there are {', '.join(names[:MOST_NAMES])}{more}"
